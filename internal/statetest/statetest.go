// Package statetest has helpers for tests of the state and of the directory around it.
package statetest

import (
	"errors"
	"io/fs"
	"os"
	"testing"

	"github.com/permesso-crawler/permesso/frontier"
)

// Settle waits until n calls of Submit are acknowledged. It returns the sites that have new
// entries.
func Settle(t testing.TB, b frontier.Backlog, n int) map[frontier.Site]frontier.SiteState {
	t.Helper()
	sites := map[frontier.Site]frontier.SiteState{}
	for n > 0 {
		g := <-b.Grown()
		if g.Err != nil {
			t.Fatal(g.Err)
		}
		n -= g.Settled
		for _, st := range g.Sites {
			sites[st.Site] = st
		}
	}
	return sites
}

// Crash returns a copy of a crawl's directory as a kill would leave it.
func Crash(t testing.TB, dir string) string {
	t.Helper()
	for {
		to := t.TempDir()
		err := os.CopyFS(to, os.DirFS(dir))
		if err == nil {
			return to
		}
		// While the copy is made, the committer may finish a WARC file and rename it. Then copy
		// again.
		if !errors.Is(err, fs.ErrNotExist) {
			t.Fatal(err)
		}
	}
}

// Entry returns an entry for the URL raw, as a seed has it.
func Entry(t testing.TB, raw string) frontier.Entry {
	t.Helper()
	u, err := frontier.ParseURL(raw)
	if err != nil {
		t.Fatal(err)
	}
	return frontier.Entry{URL: u}
}

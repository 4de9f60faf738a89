// Package statetest has helpers for tests of the state and of the directory around it.
package statetest

import (
	"errors"
	"io/fs"
	"os"
	"testing"

	"github.com/permesso-crawler/permesso/frontier"
)

// Settle waits until n submits are acknowledged and returns the sites that grew.
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
		// The committer may finish a WARC file, and rename it, while the copy is made.
		if !errors.Is(err, fs.ErrNotExist) {
			t.Fatal(err)
		}
	}
}

// Entry returns a seed.
func Entry(t testing.TB, raw string) frontier.Entry {
	t.Helper()
	u, err := frontier.ParseURL(raw)
	if err != nil {
		t.Fatal(err)
	}
	return frontier.Entry{URL: u}
}

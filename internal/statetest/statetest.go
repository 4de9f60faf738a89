// Package statetest has functions for tests of the state, and of the directory of a crawl.
package statetest

import (
	"errors"
	"io/fs"
	"os"
	"testing"

	"github.com/permesso-crawler/permesso/frontier"
)

// Settle waits until n calls of Submit are acknowledged and merged. It returns the states of
// the sites that have changed.
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

// Crash copies the directory of a crawl as a kill would leave it, and returns the copy.
func Crash(t testing.TB, dir string) string {
	t.Helper()
	for {
		to := t.TempDir()
		err := os.CopyFS(to, os.DirFS(dir))
		if err == nil {
			return to
		}
		// The committer may rename a WARC file during the copy. Then copy again.
		if !errors.Is(err, fs.ErrNotExist) {
			t.Fatal(err)
		}
	}
}

// Entry returns the entry of a seed with the URL raw.
func Entry(t testing.TB, raw string) frontier.Entry {
	t.Helper()
	u, err := frontier.ParseURL(raw)
	if err != nil {
		t.Fatal(err)
	}
	return frontier.Entry{URL: u}
}

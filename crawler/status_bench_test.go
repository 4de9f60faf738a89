package crawler

import (
	"fmt"
	"log/slog"
	"testing"

	"github.com/permesso-crawler/permesso/frontier"
	"github.com/permesso-crawler/permesso/internal/store"
)

// BenchmarkStatus measures Status and ReadStatus for a crawl of a million URLs on a hundred
// thousand sites.
func BenchmarkStatus(b *testing.B) {
	const sites, each = 100_000, 10
	dir := b.TempDir()
	db, err := store.Open(dir, store.Options{NoPages: true})
	if err != nil {
		b.Fatal(err)
	}
	f, err := frontier.New(db, frontier.Options{})
	if err != nil {
		b.Fatal(err)
	}
	for i := range sites {
		var entries []frontier.Entry
		for n := range each {
			u, err := frontier.ParseURL(fmt.Sprintf("http://h%d.example/%d", i, n))
			if err != nil {
				b.Fatal(err)
			}
			entries = append(entries, frontier.Entry{URL: u})
		}
		if err := f.Add(entries...); err != nil {
			b.Fatal(err)
		}
	}
	f.Settle(b.Context())
	c, err := New(Options{Identity: partsIdentity, Seeds: []string{"http://h0.example/"}, Hooks: Hooks{Logger: slog.New(slog.DiscardHandler)}})
	if err != nil {
		b.Fatal(err)
	}
	if c.visits, err = newJob(c.opts, nil, jobDeps{}); err != nil {
		b.Fatal(err)
	}
	c.frontier = f
	close(c.started)
	look := func(b *testing.B, s Status) {
		if s.Crawl.Queued != sites*each || s.Sites.Left != sites {
			b.Fatalf("%+v", s)
		}
	}
	b.Run("running", func(b *testing.B) {
		for b.Loop() {
			look(b, c.Status())
		}
	})
	if err := db.Put(keyStoredRun, c.storedRun()); err != nil { // a run does this at its start
		b.Fatal(err)
	}
	if err := db.Close(); err != nil {
		b.Fatal(err)
	}
	b.Run("directory", func(b *testing.B) {
		for b.Loop() {
			s, err := ReadStatus(dir)
			if err != nil {
				b.Fatal(err)
			}
			look(b, s)
		}
	})
}

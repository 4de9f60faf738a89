package store

import (
	"errors"
	"fmt"
	"io/fs"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/permesso-crawler/permesso/frontier"
)

// A backup is copied while the crawl runs: first state.db, then the other files, which grow
// between the copies. The backup is like a crawl that was killed when state.db was copied, so a
// run can resume it. If the crawl has finished WARC files during the backup, a repair must
// truncate them first. Nothing is lost.
func TestACopyOfARunningCrawlIsWhole(t *testing.T) {
	for seed := range uint64(6) {
		t.Run(fmt.Sprint(seed), func(t *testing.T) {
			r := rand.New(rand.NewPCG(seed, 6))
			dir, backup := filepath.Join(t.TempDir(), "a.crawl"), filepath.Join(t.TempDir(), "a.crawl")
			opts := Options{Gather: -1, Links: true, Archive: &Archive{}}
			finished := seed%2 == 1 // the crawl finishes WARC files during the backup, so the copies of these files are longer than the copied state says
			if finished {
				opts.Archive.MaxSize = 3000
			}
			db, err := Open(dir, opts)
			if err != nil {
				t.Fatal(err)
			}
			defer db.Close()
			var known []frontier.Entry
			for i := range 40 {
				known = append(known, entry(t, fmt.Sprintf("http://a.example/%d", i)))
			}
			if err := db.Submit(frontier.Completion{Links: known}); err != nil {
				t.Fatal(err)
			}
			settle(t, db, 1)
			hand := make([]frontier.Entry, len(known))
			if n, err := db.Read(known[0].URL.Site(), time.Now(), hand); err != nil || n != len(known) {
				t.Fatal(n, err)
			}
			fetch := func() {
				mixedVisit(t, db, r, hand[0])
				hand = hand[1:]
			}
			for range 5 {
				fetch()
			}
			before := pagesOf(t, dir)
			for _, name := range filesOf(t, dir) {
				raw, err := os.ReadFile(filepath.Join(dir, name))
				if errors.Is(err, fs.ErrNotExist) {
					name = strings.TrimSuffix(name, openSuffix)
					raw, err = os.ReadFile(filepath.Join(dir, name))
				}
				if err != nil {
					t.Fatal(err)
				}
				path := filepath.Join(backup, name)
				if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
					t.Fatal(err)
				}
				if err := os.WriteFile(path, raw, 0o644); err != nil {
					t.Fatal(err)
				}
				fetch()
			}
			if finished {
				repair, err := NewRepair(t.Context(), backup, RepairOptions{})
				if err != nil || len(repair.Lost)+len(repair.Left)+repair.Again > 0 {
					t.Fatalf("%+v, %v", repair, err)
				}
				if err := repair.Commit(); err != nil {
					t.Fatal(err)
				}
			}
			verified(t, backup)
			again, err := Open(backup, opts)
			if err != nil {
				t.Fatal(err)
			}
			if !again.Unclean() && !finished { // a repair closes the crawl, so that it is clean
				t.Error("it is not one that was killed")
			}
			if err := again.Close(); err != nil {
				t.Fatal(err)
			}
			verified(t, backup)
			if after := pagesOf(t, backup); after != before {
				t.Errorf("it has %d pages, and there were %d when state.db was copied", after, before)
			}
		})
	}
}

// pagesOf returns how many pages a crawl has.
func pagesOf(t *testing.T, dir string) (n int) {
	t.Helper()
	for _, err := range ReadPages(t.Context(), dir) {
		if n++; err != nil {
			t.Fatal(err)
		}
	}
	return n
}

// filesOf returns the files of a crawl, state.db first.
func filesOf(t *testing.T, dir string) []string {
	t.Helper()
	names := []string{StateFile}
	err := filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		name, err := filepath.Rel(dir, path)
		if name != StateFile && !strings.HasPrefix(name, "control") {
			names = append(names, name)
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return names
}

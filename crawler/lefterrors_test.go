package crawler_test

import (
	"context"
	"errors"
	"io"
	"os"
	"path/filepath"
	"testing"
	"testing/synctest"

	"github.com/permesso-crawler/permesso/crawler"
	"github.com/permesso-crawler/permesso/crawler/crawltest"
	"github.com/permesso-crawler/permesso/internal/store"
)

// leaving returns a crawl that has ended with three URLs in the queue, to which its first page
// links.
func leaving(t *testing.T, change func(*crawler.Options)) *crawler.Crawler {
	t.Helper()
	w := crawltest.New(t)
	w.Site("http://a.example").Page("/", "<a href=/1>1</a><a href=/2>2</a><a href=/3>3</a>")
	o := crawler.Options{Identity: testIdentity, Seeds: []string{"http://a.example/"}, Wire: crawler.Wire{Network: w}, Budget: crawler.Budget{Limit: 1}}
	change(&o)
	c, err := crawler.New(o)
	if err != nil {
		t.Fatal(err)
	}
	return c
}

// listed returns the number of URLs that Left yields, and its errors.
func listed(c *crawler.Crawler) (n int, errs []error) {
	for s, err := range c.Left() {
		if err != nil {
			errs = append(errs, err)
		} else if !s.URL.IsZero() {
			n++
		}
	}
	return n, errs
}

// If the queue cannot be read, Left and Run return an error. Entries that can be read are still
// reported.
func TestErrorsOfReadingTheQueue(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		told := 0
		c := leaving(t, func(o *crawler.Options) { o.OnSkip = func(crawler.Skip) { told++ } })
		err := c.Run(t.Context(), crawler.HandlerFunc(func(context.Context, *crawler.Page) error {
			crawler.TearQueue(c)
			return nil
		}))
		if !errors.Is(err, io.ErrUnexpectedEOF) || told != 1 {
			t.Errorf("Run: %v; OnSkip got %d", err, told)
		}
		if n, errs := listed(c); n != 1 || len(errs) != 1 || !errors.Is(errs[0], io.ErrUnexpectedEOF) {
			t.Errorf("Left tells of %d, and %v", n, errs)
		}
	})
}

// If the directory is missing, Left yields one error.
func TestLeftOfAMissingDirectory(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		dir := t.TempDir()
		c := leaving(t, func(o *crawler.Options) { o.Dir = dir })
		if err := c.Run(t.Context(), nil); err != nil {
			t.Fatal(err)
		}
		if n, errs := listed(c); n != 3 || len(errs) != 0 {
			t.Errorf("Left tells of %d, and %v", n, errs)
		}
		if err := os.Remove(filepath.Join(dir, store.StateFile)); err != nil {
			t.Fatal(err)
		}
		if n, errs := listed(c); n != 0 || len(errs) != 1 {
			t.Errorf("Left tells of %d, and %v", n, errs)
		}
	})
}

// Left closes the directory at its end, or when the loop is left.
func TestLeftClosesTheDirectory(t *testing.T) {
	for _, most := range []int{1, 3, 4} {
		synctest.Test(t, func(t *testing.T) {
			dir := t.TempDir()
			c := leaving(t, func(o *crawler.Options) { o.Dir = dir })
			if err := c.Run(t.Context(), nil); err != nil {
				t.Fatal(err)
			}
			n := 0
			for _, err := range c.Left() {
				if err != nil {
					t.Error(err)
				}
				if n++; n == most {
					break
				}
			}
			if n != min(most, 3) {
				t.Errorf("Left tells of %d, want %d", n, min(most, 3))
			}
			db, err := store.Open(dir, store.Options{})
			if err != nil {
				t.Fatal(err)
			}
			if err := db.Close(); err != nil {
				t.Error(err)
			}
		})
	}
}

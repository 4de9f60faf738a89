package crawler_test

import (
	"os"
	"path/filepath"
	"testing"
	"testing/synctest"

	"github.com/permesso-crawler/permesso/crawler"
	"github.com/permesso-crawler/permesso/crawler/crawltest"
	"github.com/permesso-crawler/permesso/internal/crawllog"
	"github.com/permesso-crawler/permesso/internal/store"
)

// If crawl.log was removed or cut, the next run reports this.
func TestARemovedOrCutLogIsReported(t *testing.T) {
	for name, damage := range map[string]func(path string) error{
		"nothing":  nil,
		"removed":  os.Remove,
		"cut":      func(path string) error { return os.Truncate(path, 300) },
		"added to": func(path string) error { return appendTo(path, "torn") },
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				w := crawltest.New(t)
				book(w, "http://a.example", 5)
				dir := t.TempDir()
				for run := range 2 {
					if run == 1 && damage != nil {
						if err := damage(filepath.Join(dir, store.LogFile)); err != nil {
							t.Fatal(err)
						}
					}
					c, err := crawler.New(crawler.Options{Identity: testIdentity, Seeds: []string{"http://a.example/0"}, Wire: crawler.Wire{Network: w}, Dir: dir, Budget: crawler.Budget{Limit: 2 + run}})
					if err != nil {
						t.Fatal(err)
					}
					if err := c.Run(t.Context(), nil); err != nil {
						t.Fatal(err)
					}
				}
				lost := false
				for _, l := range logLines(t, dir) {
					if _, is := l.Annotation("lost"); is && l.URL == crawllog.RunURL {
						lost = true
					}
				}
				if want := name == "removed" || name == "cut"; lost != want {
					t.Errorf("said that lines are lost: %v, want %v", lost, want)
				}
			})
		})
	}
}

func appendTo(path, text string) error {
	f, err := os.OpenFile(path, os.O_WRONLY|os.O_APPEND, 0)
	if err != nil {
		return err
	}
	defer f.Close()
	_, err = f.WriteString(text)
	return err
}

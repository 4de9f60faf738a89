package report_test

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/permesso-crawler/permesso/crawler"
	"github.com/permesso-crawler/permesso/crawler/crawltest"
	"github.com/permesso-crawler/permesso/crawler/revisit"
	"github.com/permesso-crawler/permesso/internal/report"
	"github.com/permesso-crawler/permesso/internal/store"
)

// Pages with nearly the same text are listed in groups, with the first page of each group. A
// record that cannot be read is counted, and does not make the report fail.
func TestNearDuplicatesAreTold(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "near.crawl")
	text := "<p>" + strings.Repeat("Each of these words is in the text of several pages of this site, which differ a little. ", 40)
	synctest.Test(t, func(t *testing.T) {
		w := crawltest.New(t)
		w.Site("http://a.example").
			Page("/", `<title>Home</title><a href=/1>1</a><a href=/2>2</a><a href=/3>3</a><a href=/4>4</a>`).
			Page("/1", "<title>First</title>"+text).Page("/2", text+"Two.").Page("/3", text+"Three.").
			Page("/4", "<p>"+strings.Repeat("Nothing of this is the same as in any other text. ", 40))
		c, err := crawler.New(crawler.Options{
			Identity: testIdentity, Seeds: []string{"http://a.example/"}, Wire: crawler.Wire{Network: w}, Dir: dir,
			Keep: crawler.Keep{Output: []crawler.Output{crawler.OutputWARC, crawler.OutputPages}},
		})
		if err != nil {
			t.Fatal(err)
		}
		if err := c.Run(t.Context(), nil); err != nil {
			t.Fatal(err)
		}
	})
	near := func() *report.Near {
		r, err := report.Dir(t.Context(), dir, report.Options{Temp: t.TempDir(), Near: true})
		if err != nil {
			t.Fatal(err)
		}
		return r.Near
	}
	got := near()
	urls := []string{"http://a.example/1", "http://a.example/2", "http://a.example/3"}
	if got.Pages != 2 || got.Unread != 0 || got.Groups.All != 1 || got.Groups.Rows[0].Pages != 3 || !reflect.DeepEqual(got.Groups.Rows[0].URLs, urls) {
		t.Errorf("%+v", got)
	}
	files, err := filepath.Glob(filepath.Join(dir, store.ArchiveDir, "*.gz"))
	if err != nil || len(files) != 1 {
		t.Fatal(files, err)
	}
	raw, err := os.ReadFile(files[0])
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(files[0], raw[:len(raw)-100], 0o644); err != nil {
		t.Fatal(err)
	}
	if got := near(); got.Unread == 0 || got.Groups.All != 1 {
		t.Errorf("of a damaged archive: %+v", got)
	}
	if err := os.RemoveAll(filepath.Join(dir, store.ArchiveDir)); err != nil {
		t.Fatal(err)
	}
	for range 2 { // first with pages.jsonl, and then without it
		if _, err := report.Dir(t.Context(), dir, report.Options{Near: true}); !errors.Is(err, report.ErrNoArchive) {
			t.Errorf("without an archive: %v", err)
		}
		if err := os.RemoveAll(filepath.Join(dir, store.PagesFile)); err != nil {
			t.Fatal(err)
		}
	}
}

// If a page was fetched several times, it counts once and is no near-duplicate of itself.
func TestAPageIsNoNearDuplicateOfItself(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "again.crawl")
	text := "<p>" + strings.Repeat("Each of these words is in the text of two pages of this site, and stays as it is. ", 40)
	synctest.Test(t, func(t *testing.T) {
		w := crawltest.New(t)
		w.Site("http://a.example").Page("/1", text).Page("/2", text+"Two.")
		c, err := crawler.New(crawler.Options{
			Identity: testIdentity, Seeds: []string{"http://a.example/1", "http://a.example/2"}, Wire: crawler.Wire{Network: w}, Dir: dir,
			Keep:    crawler.Keep{Output: []crawler.Output{crawler.OutputWARC, crawler.OutputPages}},
			Revisit: revisit.Fixed{Every: 24 * time.Hour},
		})
		if err != nil {
			t.Fatal(err)
		}
		ctx, cancel := context.WithTimeout(t.Context(), 50*time.Hour)
		defer cancel()
		if err := c.Run(ctx, nil); !errors.Is(err, context.DeadlineExceeded) {
			t.Fatal(err)
		}
		if n := w.Fetched("http://a.example/1"); n < 3 {
			t.Fatalf("fetched %d times", n)
		}
	})
	r, err := report.Dir(t.Context(), dir, report.Options{Temp: t.TempDir(), Near: true})
	if err != nil {
		t.Fatal(err)
	}
	want := []report.NearDuplicate{{Pages: 2, URLs: []string{"http://a.example/1", "http://a.example/2"}}}
	if r.Near.Pages != 1 || !reflect.DeepEqual(r.Near.Groups.Rows, want) {
		t.Errorf("%+v, want %+v", r.Near, want)
	}
}

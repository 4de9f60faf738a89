package crawler_test

import (
	"bytes"
	"compress/gzip"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"testing/synctest"

	"github.com/permesso-crawler/permesso/crawler"
	"github.com/permesso-crawler/permesso/crawler/crawltest"
	"github.com/permesso-crawler/permesso/internal/store"
)

// rescanWeb returns a web with links of every kind that a run may refuse.
func rescanWeb(t *testing.T) *crawltest.Web {
	w := crawltest.New(t)
	filler := "<!-- " + strings.Repeat("x", 4096) + " -->"
	w.Site("http://a.example").
		Page("/", `<a href="/gzip">g</a><a href="/one/">1</a><a href="/two/">2</a><a href="/nofollow" rel="nofollow">n</a><a href="/moved">m</a>`).
		Page("/nofollow", "x").Redirect("/moved", "http://b.example/new").
		Page("/one/", filler+`<a href="same">relative</a>`).Page("/one/same", "x").
		Page("/two/", filler+`<a href="same">relative</a>`).Page("/two/same", "x"). // archived as a revisit record
		Page("/deep", `<a href="/deeper">x</a>`).Page("/deeper", "x").
		Func("/gzip", func(rw http.ResponseWriter, r *http.Request) {
			rw.Header().Set("Content-Type", "text/html")
			rw.Header().Set("Content-Encoding", "gzip")
			z := gzip.NewWriter(rw)
			io.WriteString(z, `<a href="/deep">d</a><a href="http://b.example/">b</a>`)
			z.Close()
		})
	w.Site("http://b.example").Page("/", "x").Page("/new", "x")
	return w
}

// With Rescan, links that a narrower run has refused are queued, as if they were found now.
func TestRescanBringsRefusedLinksBack(t *testing.T) {
	everything := func(o *crawler.Options) { o.Scope, o.FollowNoFollow = crawler.Anywhere(), true }
	var want []string
	wants := map[string]store.PageRecord{}
	plain := t.TempDir()
	synctest.Test(t, func(t *testing.T) {
		want, _ = crawl(t, rescanWeb(t), func(o *crawler.Options) { everything(o); o.Dir = plain }, "http://a.example/\ttag")
		for _, r := range records(t, plain) {
			wants[r.URL] = r
		}
	})
	for name, narrow := range map[string]func(*crawler.Options){
		"depth":   func(o *crawler.Options) { everything(o); o.Depth = 1 },
		"scope":   func(o *crawler.Options) {},
		"exclude": func(o *crawler.Options) { everything(o); o.Exclude = regexp.MustCompile("same|deep|b.example") },
	} {
		t.Run(name, func(t *testing.T) {
			dir := filepath.Join(t.TempDir(), "no[pattern]")
			synctest.Test(t, func(t *testing.T) {
				w := rescanWeb(t)
				first, _ := crawl(t, w, func(o *crawler.Options) { o.Dir = dir; narrow(o) }, "http://a.example/\ttag")
				without, _ := crawl(t, w, func(o *crawler.Options) { o.Dir = dir; everything(o) }, "http://a.example/\ttag")
				if len(without) != 0 {
					t.Errorf("%v come back without a rescan: the test would prove nothing", without)
				}
				with, sum := crawl(t, w, func(o *crawler.Options) { o.Dir, o.Rescan = dir, true; everything(o) }, "http://a.example/\ttag")
				wantPages(t, slices.Sorted(slices.Values(append(first, with...))), want...)
				if sum.Rescanned == 0 || len(first) == len(want) {
					t.Errorf("%d pages were rescanned; the first run has all %d pages", sum.Rescanned, len(first))
				}
				again, _ := crawl(t, w, func(o *crawler.Options) { o.Dir, o.Rescan = dir, true; everything(o) }, "http://a.example/\ttag")
				if len(again) != 0 {
					t.Errorf("a rescan too many: %v", again)
				}
				w.AssertPolite()
			})
			for _, r := range records(t, dir) {
				if is := wants[r.URL]; r.Depth != is.Depth || r.Hops != is.Hops || r.Tag != is.Tag || r.Via != is.Via {
					t.Errorf("%s: depth %d, hops %q, tag %q, via %q; want %d, %q, %q, %q", r.URL, r.Depth, r.Hops, r.Tag, r.Via, is.Depth, is.Hops, is.Tag, is.Via)
				}
			}
		})
	}
}

// A rescan logs damaged records, and queues the links of the other records. If the crawl has no
// archive, it queues nothing.
func TestRescanOfADamagedArchive(t *testing.T) {
	dir := t.TempDir()
	var said bytes.Buffer
	synctest.Test(t, func(t *testing.T) {
		w := crawltest.New(t)
		for i := range 4 {
			w.Site("http://a.example").Page(fmt.Sprintf("/%d", i), fmt.Sprintf(`<a href="http://b.example/%d">b</a>`, i))
			w.Site("http://b.example").Page(fmt.Sprintf("/%d", i), "x")
		}
		seeds := []string{"http://a.example/0", "http://a.example/1", "http://a.example/2", "http://a.example/3"}
		crawl(t, w, func(o *crawler.Options) { o.Dir = dir }, seeds...)
		wide := func(o *crawler.Options) {
			o.Dir, o.Scope, o.Rescan, o.Logger = dir, crawler.Anywhere(), true, slog.New(slog.NewTextHandler(&said, nil))
		}
		var record store.PageRecord
		for _, r := range records(t, dir) {
			if r.URL == "http://a.example/1" {
				record = r
			}
		}
		path := filepath.Join(dir, store.ArchiveDir, record.WARC)
		raw, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		raw[record.Offset+record.Length/2] ^= 0x55
		if err := os.WriteFile(path, raw, 0o644); err != nil {
			t.Fatal(err)
		}
		pages, _ := crawl(t, w, wide, seeds...)
		wantPages(t, pages, "http://b.example/0", "http://b.example/2", "http://b.example/3")
		if !strings.Contains(said.String(), "cannot be read again") {
			t.Errorf("logged %s", said.String())
		}
		said.Reset()
		dir = t.TempDir()
		crawl(t, w, func(o *crawler.Options) { wide(o); o.Output = []crawler.Output{} }, seeds...)
		if !strings.Contains(said.String(), "no archive") {
			t.Errorf("logged %s", said.String())
		}
	})
}

package crawler_test

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"testing/synctest"

	"github.com/google/go-cmp/cmp"
	"github.com/permesso-crawler/permesso/crawler"
	"github.com/permesso-crawler/permesso/crawler/crawltest"
	"github.com/permesso-crawler/permesso/frontier"
	"github.com/permesso-crawler/permesso/internal/store"
	"github.com/permesso-crawler/permesso/robots"
)

// A seenPage holds the facts about a page that must be the same in a handler and in ReadPages.
type seenPage struct {
	URL, Type, Location, Tag, Hops, Via, Title, Truncated, Text, Canonical string
	Status, Depth                                                          int
	Head                                                                   bool
	Change                                                                 crawler.ChangeClass
	Signals, Licenses, Links                                               []string
}

func pageSeen(p *crawler.Page) seenPage {
	s := seenPage{
		URL: p.URL.String(), Type: p.Type, Location: p.Location.String(), Tag: p.Entry.Tag, Hops: p.Entry.Hops, Via: p.Entry.Via,
		Title: p.Title(), Truncated: p.Truncated, Text: string(p.Text()), Canonical: p.Canonical().String(), Status: p.Status,
		Depth: p.Entry.Depth, Head: p.Exchange.Head, Change: p.Change(),
	}
	for _, one := range p.Signals().Deciding() {
		s.Signals = append(s.Signals, fmt.Sprintf("%s %v %v", one.Use, one.Granted, one))
	}
	s.Licenses = append(s.Licenses, p.Signals().Licenses...)
	for _, l := range p.Links() {
		if l.Hop == frontier.HopLink {
			s.Links = append(s.Links, l.URL.String()+" "+l.Text())
		}
	}
	return s
}

func bySeenURL(a, b seenPage) int { return strings.Compare(a.URL, b.URL) }

// storedWeb returns a web with pages of each kind. One page contains version.
func storedWeb(t *testing.T, version string) *crawltest.Web {
	w := crawltest.New(t)
	s := w.Site("http://a.example").Robots("Sitemap: /map.txt\nUser-agent: *\nContent-Signal: ai-train=no, search=yes\nAllow: /").File("/map.txt", "text/plain", "http://a.example/listed").
		Page("/", `<title>Start</title><a href=/gone>1</a><a href=/moved>2</a><a href=/latin>3</a><a href=/zip>4</a><a href=/big>5</a><a href=/no>6</a>
			<a href=/copy1>7</a><a href=/copy2>8</a><a href=/empty>9</a><a href=/old>10</a><a href=/news>12</a><a href=/head>11</a><img src=/i.png>`).
		Redirect("/moved", "/target?x=é").Status("/gone", 404).Page("/listed", "<title>Listed</title><meta name=robots content=noindex>").
		File("/i.png", "image/png", "\x89PNG\r\n\x1a\n\x00\xff").File("/empty", "text/html", "").
		Bomb("/zip", 5000, "gzip").File("/big", "text/plain", strings.Repeat("0123456789", 20_000)).
		Page("/target?x=%C3%A9", "<title>Target</title><link rel=canonical href=/t>").
		Page("/copy1", "<title>"+strings.Repeat("same ", 50)+"</title>").Page("/copy2", "<title>"+strings.Repeat("same ", 50)+"</title>").
		Page("/head", "<title>Head</title>")
	s.Func("/latin", func(rw http.ResponseWriter, _ *http.Request) {
		rw.Header().Set("Content-Type", "text/html; charset=iso-8859-1")
		fmt.Fprint(rw, "<title>Caf\xe9</title><a href='/?q=\xe9'>\xe9</a>")
	})
	s.Func("/no", func(rw http.ResponseWriter, _ *http.Request) {
		rw.Header().Set("X-Robots-Tag", "noarchive")
		rw.Header().Set("Content-Type", "text/html")
		fmt.Fprint(rw, "<title>Not kept</title>")
	})
	s.Func("/old", func(rw http.ResponseWriter, r *http.Request) {
		rw.Header().Set("ETag", `"1"`)
		rw.Header().Set("Link", `</license>; rel="license"`)
		rw.Header().Set("Content-Type", "text/html")
		if r.Header.Get("If-None-Match") == `"1"` {
			rw.WriteHeader(http.StatusNotModified)
			return
		}
		fmt.Fprint(rw, "<title>Old</title>")
	})
	s.Page("/news", "<title>News "+version+"</title>")
	return w
}

// ReadPages yields the pages that the handler of the crawl got. This holds for each way of storing
// bodies, and for a crawl whose archive refers to bodies of an earlier crawl.
func TestReadPagesGivesThePagesOfTheHandler(t *testing.T) {
	for name, out := range map[string][]crawler.Output{
		"warc": {crawler.OutputWARC, crawler.OutputPages}, "bodies": {crawler.OutputBodies}, "both": {crawler.OutputWARC, crawler.OutputBodies},
		"pages": {crawler.OutputPages},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			first, second := filepath.Join(t.TempDir(), "1"), filepath.Join(t.TempDir(), "2")
			synctest.Test(t, func(t *testing.T) {
				testReadPages(t, storedWeb(t, "1"), first, "", out)
				testReadPages(t, storedWeb(t, "2"), second, first, out)
			})
		})
	}
}

func testReadPages(t *testing.T, w *crawltest.Web, dir, previous string, out []crawler.Output) {
	var want []seenPage
	o := crawler.Options{
		Identity: testIdentity, Seeds: []string{"http://a.example/\tstart"}, Dir: dir, Wire: crawler.Wire{Network: w, MaxSize: 100_000},
		Follow: crawler.Follow{Requisites: true, Links: func(p *crawler.Page, l *crawler.Link) bool {
			l.Head = l.URL.Target() == "/head"
			return true
		}},
		Robots: crawler.Robots{Purpose: robots.PurposeArchive}, Keep: crawler.Keep{Output: out, Previous: previous}, Pace: crawler.Pace{Concurrency: 1},
	}
	c, err := crawler.New(o)
	if err == nil {
		err = c.Run(t.Context(), crawler.HandlerFunc(func(ctx context.Context, p *crawler.Page) error {
			want = append(want, pageSeen(p))
			return nil
		}))
	}
	if err != nil {
		t.Fatal(err)
	}
	if !slices.ContainsFunc(want, func(s seenPage) bool { return len(s.Signals) == 2 && len(s.Licenses) == 1 }) {
		t.Errorf("no page has statements about use and a license: %+v", want)
	}
	warc, bodies := slices.Contains(out, crawler.OutputWARC), slices.Contains(out, crawler.OutputBodies)
	var got []seenPage
	others := map[string]int{}
	for p, err := range crawler.ReadPages(t.Context(), dir) {
		if err != nil {
			t.Fatal(err)
		}
		if !strings.HasPrefix(p.Exchange.Started.String(), "2000-") {
			t.Errorf("%s: was requested at %v", p.URL, p.Exchange.Started)
		}
		switch {
		case p.Entry.Sitemap():
			others["sitemap"]++
			continue
		case p.URL.Target() == "/no":
			others["refused"]++
			if len(p.Body) > 0 || p.Title() != "" {
				t.Errorf("a refused page has a body: %q", p.Body)
			}
			continue
		}
		got = append(got, pageSeen(p))
	}
	if others["sitemap"] != 1 || others["refused"] != 1 {
		t.Errorf("others: %v", others)
	}
	for i := range want {
		if !warc && bodies {
			// pages.jsonl has texts in UTF-8, so the queries of links are resolved in UTF-8, too.
			want[i].Links = slices.Clone(want[i].Links)
			for k, l := range want[i].Links {
				want[i].Links[k] = strings.Replace(l, "q=%E9", "q=%C3%A9", 1)
			}
		}
		if !warc && strings.HasSuffix(want[i].URL, "/old") {
			want[i].Links = nil // these links are in the header, which only an archive has
		}
		if !warc && !bodies {
			want[i].Text, want[i].Links, want[i].Title, want[i].Canonical = "", nil, "", ""
		}
	}
	slices.SortFunc(got, bySeenURL)
	slices.SortFunc(want, bySeenURL)
	if d := cmp.Diff(want, got); d != "" {
		t.Errorf("%s (-handler +read):\n%s", filepath.Base(dir), d)
	}
}

// The errors of ReadPages name the data that cannot be read. The other pages are still yielded. If
// the loop is left, the crawl is closed.
func TestErrorsOfReadPages(t *testing.T) {
	dir := t.TempDir()
	read := func(ctx context.Context, dir string) (pages, bodies int, errs []error) {
		for p, err := range crawler.ReadPages(ctx, dir) {
			if err != nil {
				errs = append(errs, err)
			}
			if p != nil {
				pages++
				bodies += min(1, len(p.Body))
			}
		}
		return pages, bodies, errs
	}
	synctest.Test(t, func(t *testing.T) {
		w := crawltest.New(t)
		s := w.Site("http://a.example").Page("/", "<a href=/1>1</a><a href=/2>2</a>")
		s.Page("/1", strings.Repeat("one ", 100)).Page("/2", strings.Repeat("two ", 100))
		c, err := crawler.New(crawler.Options{Identity: testIdentity, Seeds: []string{"http://a.example/"}, Dir: dir, Wire: crawler.Wire{Network: w}})
		if err == nil {
			err = c.Run(t.Context(), crawler.HandlerFunc(func(context.Context, *crawler.Page) error {
				_, _, errs := read(t.Context(), dir)
				var inUse *store.InUseError
				if len(errs) != 1 || !errors.As(errs[0], &inUse) {
					t.Errorf("of a running crawl: %v", errs)
				}
				return nil
			}))
		}
		if err != nil {
			t.Fatal(err)
		}
	})
	for range crawler.ReadPages(t.Context(), dir) {
		break
	}
	if pages, bodies, errs := read(t.Context(), dir); pages != 3 || bodies != 3 || len(errs) > 0 {
		t.Errorf("%d pages, %d bodies, %v", pages, bodies, errs)
	}
	ended, cancel := context.WithCancel(t.Context())
	cancel()
	if pages, _, errs := read(ended, dir); pages != 0 || len(errs) != 1 || !errors.Is(errs[0], context.Canceled) {
		t.Errorf("with an ended context: %d pages, %v", pages, errs)
	}
	if pages, _, errs := read(nil, dir); pages != 0 || len(errs) != 1 {
		t.Errorf("without a context: %d pages, %v", pages, errs)
	}
	if _, _, errs := read(t.Context(), t.TempDir()); len(errs) != 1 || !errors.Is(errs[0], fs.ErrNotExist) {
		t.Errorf("without a crawl: %v", errs)
	}
	// Damages a line of pages.jsonl, and replaces bytes in a record of the archive.
	file := filepath.Join(dir, store.PagesFile)
	lines, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(file, append([]byte("{\"url\":\n"), lines...), 0o644); err != nil {
		t.Fatal(err)
	}
	if pages, bodies, errs := read(t.Context(), dir); pages != 3 || bodies != 3 || len(errs) != 1 || !strings.Contains(errs[0].Error(), "1 lines are damaged") {
		t.Errorf("with a damaged line: %d pages, %d bodies, %v", pages, bodies, errs)
	}
	archives, err := store.ArchiveFiles(dir)
	if err != nil || len(archives) != 1 {
		t.Fatal(archives, err)
	}
	if err := os.Truncate(archives[0], 2500); err != nil {
		t.Fatal(err)
	}
	if pages, bodies, errs := read(t.Context(), dir); pages != 3 || bodies >= 3 || len(errs) != 1+3-bodies {
		t.Errorf("with a cut archive: %d pages, %d bodies, %v", pages, bodies, errs)
	}
	if err := os.Remove(file); err != nil {
		t.Fatal(err)
	}
	if _, _, errs := read(t.Context(), dir); len(errs) != 1 || !errors.Is(errs[0], fs.ErrNotExist) {
		t.Errorf("without pages.jsonl: %v", errs)
	}
}

package provenance_test

import (
	"io"
	"log/slog"
	"maps"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/synctest"

	"github.com/permesso-crawler/permesso/crawler"
	"github.com/permesso-crawler/permesso/crawler/crawltest"
	"github.com/permesso-crawler/permesso/internal/provenance"
	"github.com/permesso-crawler/permesso/internal/store"
)

// shelf returns a handler that serves pages. It answers 304 if the client has the page already,
// 410 for /out, 400 for a page whose body is "400", and 404 for other paths.
func shelf(pages map[string]string) http.HandlerFunc {
	return func(w http.ResponseWriter, req *http.Request) {
		body, ok := pages[req.URL.Path]
		switch tag := `"` + body + `"`; {
		case req.URL.Path == "/out" && !ok:
			w.WriteHeader(http.StatusGone)
		case !ok:
			http.NotFound(w, req)
		case body == "400":
			w.WriteHeader(http.StatusBadRequest)
		case req.Header.Get("If-None-Match") == tag:
			w.WriteHeader(http.StatusNotModified)
		default:
			w.Header().Set("ETag", tag)
			if w.Header().Set("Content-Type", "text/html"); strings.HasSuffix(req.URL.Path, ".txt") {
				w.Header().Set("Content-Type", "text/plain")
			}
			io.WriteString(w, body)
		}
	}
}

// snapshots makes two crawls of a site, the second with the first as its previous crawl, and
// returns their directories. In the second crawl two pages have not changed, one has another
// text, one has the same text in other bytes, one is new, and two are gone.
func snapshots(t *testing.T) (was, is string) {
	t.Helper()
	root := t.TempDir()
	was, is = filepath.Join(root, "was.crawl"), filepath.Join(root, "is.crawl")
	home := ""
	for _, to := range []string{"/1", "/2", "/gone", "/out", "/never", "/bad", "/new", "/text.txt"} {
		home += "<a href=" + to + ">x</a>"
	}
	crawl := func(dir, previous string, pages map[string]string) {
		synctest.Test(t, func(t *testing.T) {
			w := crawltest.New(t)
			w.Site("http://a.example").Default(shelf(pages))
			c, err := crawler.New(crawler.Options{
				Identity: testIdentity, Seeds: []string{"http://a.example/"}, Wire: crawler.Wire{Network: w}, Dir: dir, Keep: crawler.Keep{Previous: previous}, Hooks: crawler.Hooks{Logger: slog.New(slog.DiscardHandler)},
			})
			if err != nil {
				t.Fatal(err)
			}
			if err := c.Run(t.Context(), nil); err != nil {
				t.Fatal(err)
			}
		})
	}
	crawl(was, "", map[string]string{"/": home, "/1": "one", "/2": "<p>two", "/gone": "g", "/out": "o", "/bad": "400", "/text.txt": "t"})
	crawl(is, was, map[string]string{"/": home, "/1": "another", "/2": "<p class=x>two", "/new": "n", "/text.txt": "t"})
	return was, is
}

// provenance.json and the datasheet count pages by how they have changed since the previous
// crawl. A page with a 304 answer counts under the type of the archived page.
func TestAProvenanceCountsWhatHasChanged(t *testing.T) {
	was, is := snapshots(t)
	f := write(t, is, provenance.Options{}).Figures
	if want := map[string]int64{"new": 1, "modified": 1, "same-text": 1, "not-modified": 2}; !maps.Equal(f.PageChanges, want) {
		t.Errorf("%v", f.PageChanges)
	}
	if want := map[string]int64{"text/html": 4, "text/plain": 1}; !maps.Equal(f.Types, want) || f.Statuses["304"] != 2 {
		t.Errorf("types %v of %v", f.Types, f.Statuses)
	}
	if f.Gone == nil || *f.Gone != 2 {
		t.Errorf("gone: %v", f.Gone)
	}
	sheet := sheetOf(t, is)
	for _, row := range []string{
		"| another body, with the same text for readers | `same-text` | 1 |", "| the same | `not-modified` | 2 |",
		"| 404 or 410, and answered without an error in the crawl before | `gone` | 2 |", "| `text/plain` | 1 |",
	} {
		if !strings.Contains(sheet, row+"\n") {
			t.Errorf("the datasheet has no row %s", row)
		}
	}
	first := write(t, was, provenance.Options{}).Figures
	if first.Gone != nil || len(first.PageChanges) > 0 || strings.Contains(sheetOf(t, was), "what became of pages since") {
		t.Errorf("a crawl that knows none before it: %+v", first)
	}
}

// If the previous crawl cannot be read, the number of pages that are gone is not known, and the
// datasheet says so. If both crawls were moved, the previous one is found beside the later one.
func TestWhatIsGoneIsKnownWhereTheCrawlBeforeIs(t *testing.T) {
	was, is := snapshots(t)
	root := t.TempDir()
	moved := filepath.Join(root, "is.crawl")
	move := func(from, to string) {
		t.Helper()
		if err := os.Rename(from, to); err != nil {
			t.Fatal(err)
		}
	}
	move(is, moved)
	unknown := func(why string) {
		t.Helper()
		if f := write(t, moved, provenance.Options{}).Figures; f.Gone != nil || f.PageChanges["modified"] != 1 ||
			!strings.Contains(sheetOf(t, moved), "How many pages are gone is not known: the crawl before cannot be read.") {
			t.Errorf("%s: %v, %v", why, f.Gone, f.PageChanges)
		}
	}
	move(was, filepath.Join(root, "was.crawl"))
	write(t, filepath.Join(root, "was.crawl"), provenance.Options{})
	if p := write(t, moved, provenance.Options{}); p.Figures.Gone == nil || *p.Figures.Gone != 2 || p.Previous.Dir != was || p.Previous.Provenance == "" {
		t.Errorf("both were moved: %v, %+v", p.Figures.Gone, p.Previous)
	}
	db, err := store.Open(filepath.Join(root, "was.crawl"), store.Options{})
	if err != nil {
		t.Fatal(err)
	}
	unknown("it runs")
	if err := db.Close(); err != nil {
		t.Fatal(err)
	}
	state := filepath.Join(root, "was.crawl", store.StateFile)
	spoil(t, state, func(b []byte) []byte { return make([]byte, len(b)) })
	unknown("its state is damaged")
	if err := os.Remove(state); err != nil {
		t.Fatal(err)
	}
	unknown("its state is missing")
}

// The datasheet shows each changed setting and its default.
func TestADatasheetTellsWhatIsUsual(t *testing.T) {
	dir := crawled(t)
	p := write(t, dir, provenance.Options{}).Provenance
	for _, s := range p.Settings {
		if s.Given != (s.Value != s.Usual) || s.Name == "delay" && s.Usual != "1s" {
			t.Errorf("%+v", s)
		}
	}
	sheet := sheetOf(t, dir)
	for _, row := range []string{"| setting that is not the usual one | value | usual value |", "| `delay` | `2s` | `1s` |", "| `allow-private` | `yes` | `no` |"} {
		if !strings.Contains(sheet, row+"\n") {
			t.Errorf("the datasheet has no row %s", row)
		}
	}
}

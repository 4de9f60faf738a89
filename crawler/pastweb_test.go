package crawler_test

import (
	"bytes"
	"compress/gzip"
	"context"
	"fmt"
	"log/slog"
	"maps"
	"net/http"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"testing/synctest"

	"github.com/permesso-crawler/permesso/crawler"
	"github.com/permesso-crawler/permesso/crawler/crawltest"
	"github.com/permesso-crawler/permesso/internal/audit"
	"github.com/permesso-crawler/permesso/internal/store"
)

// filler makes a body long enough for a revisit record, which refers to an equal body in place of a
// copy.
var filler = "<p>" + strings.Repeat("words that stand still ", 8)

// A resource is one page, which may change between two crawls.
type resource struct {
	body, etag, modified string
	header               http.Header // further header fields, which a 304 has, too
	status               int         // status of the answer; 0 means 200
	ignoresConditions    bool        // the server ignores conditions and always sends the body
	says304              bool        // the server always answers 304
}

// A shelf serves resources, and records the requests.
type shelf struct {
	mu    sync.Mutex
	has   map[string]resource
	asked map[string][]http.Header
}

func newShelf(site *crawltest.Site) *shelf {
	s := &shelf{has: map[string]resource{}, asked: map[string][]http.Header{}}
	site.Default(s.serve)
	return s
}

func (s *shelf) put(target string, r resource) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.has[target] = r
}

// requests returns the kinds of the requests for a target in the last crawl: "c" for a conditional
// one, "-" for another.
func (s *shelf) requests(target string) (kinds string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, h := range s.asked[target] {
		if h.Get("If-None-Match") != "" || h.Get("If-Modified-Since") != "" {
			kinds += "c"
		} else {
			kinds += "-"
		}
	}
	return kinds
}

func (s *shelf) forget() {
	s.mu.Lock()
	defer s.mu.Unlock()
	clear(s.asked)
}

func (s *shelf) serve(w http.ResponseWriter, req *http.Request) {
	target := req.URL.RequestURI()
	s.mu.Lock()
	r, ok := s.has[target]
	s.asked[target] = append(s.asked[target], req.Header)
	s.mu.Unlock()
	if !ok {
		http.NotFound(w, req)
		return
	}
	h := w.Header()
	h.Set("Content-Type", "text/html; charset=utf-8")
	for name, value := range map[string]string{"ETag": r.etag, "Last-Modified": r.modified} {
		if value != "" {
			h.Set(name, value)
		}
	}
	maps.Copy(h, r.header)
	is, since := req.Header.Get("If-None-Match"), req.Header.Get("If-Modified-Since")
	same := is != "" && is == r.etag || is == "" && since != "" && since == r.modified
	if r.says304 || same && !r.ignoresConditions {
		h.Del("Content-Type")
		w.WriteHeader(http.StatusNotModified)
		return
	}
	if r.status != 0 {
		w.WriteHeader(r.status)
	}
	if h.Get("Content-Encoding") == "gzip" {
		z := gzip.NewWriter(w)
		z.Write([]byte(r.body))
		z.Close()
		return
	}
	w.Write([]byte(r.body))
}

// A visitedPage holds the facts about a page that its handler got.
type visitedPage struct {
	change      crawler.ChangeClass
	notModified bool
	status      int
	asked       int // status of its Exchange, such as 304
	body, title string
	header      http.Header
	links       int
	truncated   string
	noindex     bool
	text        string
}

// A series is a sequence of crawls of one web. Their directories are next to each other.
type series struct {
	t    *testing.T
	web  *crawltest.Web
	root string
	n    int
	last map[string]visitedPage
	sum  crawler.Summary
	logs bytes.Buffer
}

func (s *series) dir(n int) string { return filepath.Join(s.root, fmt.Sprintf("%d.crawl", n)) }

// crawl runs the next crawl of the series. The last crawl is its previous crawl.
func (s *series) crawl(change ...func(*crawler.Options)) {
	s.t.Helper()
	if err := s.run(change...); err != nil {
		s.t.Fatal(err)
	}
	if _, err := store.Verify(context.Background(), s.dir(s.n), func(err error) { s.t.Errorf("crawl %d: %v", s.n, err) }); err != nil {
		s.t.Errorf("crawl %d: %v", s.n, err)
	}
	report, err := audit.Dir(s.dir(s.n), audit.Options{})
	if err != nil || !report.Clean() || report.UnprovenLines > 0 {
		s.t.Errorf("crawl %d: the audit says %+v, %v", s.n, report, err)
	}
}

func (s *series) run(change ...func(*crawler.Options)) error {
	s.t.Helper()
	s.n++
	s.last = map[string]visitedPage{}
	s.logs.Reset()
	o := crawler.Options{
		Identity: testIdentity, Seeds: []string{"http://a.example/"}, Wire: crawler.Wire{Network: s.web}, Dir: s.dir(s.n),
		Hooks: crawler.Hooks{Logger: slog.New(slog.NewTextHandler(&s.logs, nil))},
	}
	if s.n > 1 {
		o.Previous = s.dir(s.n - 1)
	}
	for _, f := range change {
		f(&o)
	}
	c, err := crawler.New(o)
	if err != nil {
		return err
	}
	var mu sync.Mutex
	err = c.Run(s.t.Context(), crawler.HandlerFunc(func(_ context.Context, p *crawler.Page) error {
		mu.Lock()
		defer mu.Unlock()
		s.last[p.URL.Target()] = visitedPage{
			p.Change(), p.NotModified(), p.Status, p.Exchange.Status, string(p.Body), p.Title(), p.Header, len(p.Links()), p.Truncated, p.Directives.NoIndex, p.TextDigest(),
		}
		return nil
	}))
	s.sum = c.Summary()
	return err
}

// bubble runs a test of a series in virtual time.
func bubble(t *testing.T, test func(s *series, shelf *shelf)) {
	root := t.TempDir()
	synctest.Test(t, func(t *testing.T) {
		w := crawltest.New(t)
		s := &series{t: t, web: w, root: root}
		test(s, newShelf(w.Site("http://a.example")))
		w.AssertPolite()
	})
}

// pages returns the HTML of links to the given targets.
func pages(targets ...string) string {
	var b strings.Builder
	for _, target := range targets {
		fmt.Fprintf(&b, "<a href=%q>x</a>", target)
	}
	return b.String()
}

const longAgo = "Mon, 01 Jan 1990 00:00:00 GMT"

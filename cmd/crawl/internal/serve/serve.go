package serve

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"path/filepath"
	"strconv"
	"sync"
	"time"

	"github.com/permesso-crawler/permesso/cmd/crawl/internal/feed"
	"github.com/permesso-crawler/permesso/cmd/crawl/internal/follow"
	"github.com/permesso-crawler/permesso/internal/series"
)

// Options are the settings of a server.
type Options struct {
	Crawls []string // directories of crawls
	Series []string // directories of series of crawls
	Token  string   // what a request needs that changes a crawl; "" means that no request may
	Temp   string   // directory for temporary files; "" means the system's directory for them

	// Ask writes the answer to a query about the crawl in dir: a line of JSON for each URL (list),
	// or lines of text (explain). It is safe for concurrent use.
	Ask func(ctx context.Context, dir string, q Query, out io.Writer) error
	// Due returns the next runs of a series, and runs that were missed and are not recorded yet.
	// It may be nil.
	Due func(dir string, now time.Time) (next, missed []time.Time, err error)
}

// A Query is a question about the URLs of a crawl.
type Query struct {
	URL   string   // of explain; "" means list
	Fates []string // of list: none means all
	Site  string   // of list: "" means all
}

// A Server serves the pages. It is safe for concurrent use.
type Server struct {
	options Options
	crawls  []*place
	series  []*place
	handler http.Handler
	reports *follow.Reports
	streams chan struct{} // has an element for each stream
	asking  chan struct{} // has an element for each query

	mu    sync.Mutex // guards the fields below
	feeds map[string]*feed.Feed
	over  bool
	ended context.Context // ends with Close
	end   context.CancelFunc
}

// A place is a directory with its name in URLs.
type place struct {
	name, dir string
	series    bool
}

// Path returns the path of the page about the place.
func (p *place) Path() string {
	if p.series {
		return "/series/" + url.PathEscape(p.name) + "/"
	}
	return "/crawl/" + url.PathEscape(p.name) + "/"
}

// Bounds of what the server does at a time.
const (
	mostStreams = 1024
	mostQueries = 4
	linger      = 30 * time.Second // for which a crawl is watched after the last browser has left
)

// New returns a server. The caller must call Close.
func New(o Options) *Server {
	s := &Server{
		options: o, reports: follow.NewReports(o.Temp), feeds: map[string]*feed.Feed{},
		streams: make(chan struct{}, mostStreams), asking: make(chan struct{}, mostQueries),
	}
	s.ended, s.end = context.WithCancel(context.Background())
	known := map[string]bool{}
	for _, dir := range o.Crawls {
		s.crawls = append(s.crawls, &place{nameOf(dir, known), dir, false})
	}
	for _, dir := range o.Series {
		s.series = append(s.series, &place{nameOf(dir, known), dir, true})
	}
	mux := http.NewServeMux()
	mux.HandleFunc("GET /{$}", s.overview)
	mux.HandleFunc("GET /live", s.overviewLive)
	mux.HandleFunc("GET /healthz", func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "text/plain; charset=utf-8")
		fmt.Fprintln(w, "ok")
	})
	for name, file := range files {
		mux.HandleFunc("GET /"+name, file.serve)
	}
	mux.HandleFunc("GET /series/{series}/{$}", s.seriesPage)
	mux.HandleFunc("GET /series/{series}/live", s.seriesLive)
	for _, at := range []string{"/crawl/{crawl}/", "/series/{series}/{crawl}/"} {
		for name, page := range map[string]func(http.ResponseWriter, *http.Request, *place){
			"{$}": s.crawlPage, "live": s.crawlLive, "list": s.list, "explain": s.explain, "report": s.report,
		} {
			mux.HandleFunc("GET "+at+name, s.of(page))
		}
		for do := range steering {
			mux.HandleFunc("POST "+at+do, s.of(func(w http.ResponseWriter, r *http.Request, p *place) { s.steer(w, r, p, do) }))
		}
	}
	mux.HandleFunc("/", func(w http.ResponseWriter, r *http.Request) {
		refuse(w, r, http.StatusNotFound, "There is no such page.")
	})
	s.handler = guarded(mux)
	return s
}

// nameOf returns the last element of a path, with a number if that is known already.
func nameOf(dir string, known map[string]bool) string {
	if abs, err := filepath.Abs(dir); err == nil {
		dir = abs
	}
	base := filepath.Base(dir)
	name := base
	for n := 2; known[name]; n++ {
		name = base + "-" + strconv.Itoa(n)
	}
	known[name] = true
	return name
}

// ServeHTTP answers a request.
func (s *Server) ServeHTTP(w http.ResponseWriter, r *http.Request) { s.handler.ServeHTTP(w, r) }

// Close ends all streams and all looking at crawls, and waits for their end.
func (s *Server) Close() {
	s.end()
	s.mu.Lock()
	s.over = true
	feeds := s.feeds
	s.mu.Unlock()
	for _, f := range feeds {
		f.Close()
	}
}

// feedOf returns the feed with a name. It makes a missing feed.
func (s *Server) feedOf(name string, run feed.Run) *feed.Feed {
	s.mu.Lock()
	defer s.mu.Unlock()
	f := s.feeds[name]
	if f == nil {
		if s.over {
			run = func(context.Context, func(string, []feed.Part)) {}
		}
		f = feed.New(linger, run)
		s.feeds[name] = f
	}
	return f
}

// of returns a handler for requests about a crawl.
func (s *Server) of(page func(http.ResponseWriter, *http.Request, *place)) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		p := find(s.crawls, r.PathValue("crawl"))
		if in := r.PathValue("series"); in != "" {
			p = s.snapshot(in, r.PathValue("crawl"))
		}
		if p == nil {
			refuse(w, r, http.StatusNotFound, "There is no such crawl here.")
			return
		}
		page(w, r, p)
	}
}

func find(all []*place, name string) *place {
	for _, p := range all {
		if p.name == name {
			return p
		}
	}
	return nil
}

// snapshot returns a snapshot of a series, or nil if there is no such snapshot.
func (s *Server) snapshot(in, name string) *place {
	of := find(s.series, in)
	if of == nil {
		return nil
	}
	all, err := series.Series{Dir: of.dir}.Snapshots()
	if err != nil {
		return nil
	}
	for _, n := range all {
		if filepath.Base(n.Dir) == name {
			return &place{in + "/" + name, n.Dir, true}
		}
	}
	return nil
}

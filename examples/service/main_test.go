package main

import (
	"context"
	"errors"
	"io"
	"net"
	"net/http"
	"net/url"
	"path/filepath"
	"regexp"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/permesso-crawler/permesso/crawler"
	"github.com/permesso-crawler/permesso/crawler/crawltest"
)

// pipes is a listener in memory.
type pipes struct {
	conns chan net.Conn
	once  sync.Once
	done  chan struct{} // closed once
}

func listen() *pipes { return &pipes{conns: make(chan net.Conn), done: make(chan struct{})} }

func (p *pipes) Accept() (net.Conn, error) {
	select {
	case c := <-p.conns:
		return c, nil
	case <-p.done:
		return nil, net.ErrClosed
	}
}

func (p *pipes) Close() error {
	p.once.Do(func() { close(p.done) })
	return nil
}

func (p *pipes) Addr() net.Addr { return &net.UnixAddr{Name: "memory", Net: "unix"} }

func (p *pipes) dial(context.Context, string, string) (net.Conn, error) {
	client, server := net.Pipe()
	select {
	case p.conns <- server:
		return client, nil
	case <-p.done:
		return nil, net.ErrClosed
	}
}

// A service is a service under test: it runs until stop, and ended has its error.
type service struct {
	t      *testing.T
	client http.Client
	stop   context.CancelFunc
	ended  chan error
}

func start(t *testing.T, w *crawltest.Web, dir string) *service {
	l := listen()
	s := &service{t: t, client: http.Client{Transport: &http.Transport{DialContext: l.dial, DisableKeepAlives: true}}, ended: make(chan error, 1)}
	ctx, stop := context.WithCancel(t.Context())
	s.stop = stop
	go func() {
		s.ended <- serve(ctx, l, crawler.Options{
			Identity: crawler.Identity{Token: "servicebot", Contact: "https://example.org/servicebot"},
			Seeds:    []string{"https://a.example/"}, Dir: dir, Wire: crawler.Wire{Network: w, RootCAs: w.RootCAs()},
		})
	}()
	time.Sleep(time.Hour)
	return s
}

// metrics returns the lines that Prometheus would read, without comments.
func (s *service) metrics() string {
	s.t.Helper()
	resp, err := s.client.Get("http://service/metrics")
	if err != nil {
		s.t.Fatal(err)
	}
	defer resp.Body.Close()
	text, err := io.ReadAll(resp.Body)
	if err != nil || resp.Header.Get("Content-Type") != "text/plain; version=0.0.4; charset=utf-8" {
		s.t.Errorf("%v, %v", resp.Header, err)
	}
	var figures strings.Builder
	kind := ""
	for line := range strings.Lines(string(text)) {
		if m := typeLine.FindStringSubmatch(line); m != nil {
			kind = m[1]
		} else if m := figure.FindStringSubmatch(line); m != nil && m[1] == kind {
			figures.WriteString(line)
		} else if !strings.HasPrefix(line, "# HELP permesso_") {
			s.t.Errorf("no line of the text format, or below another TYPE: %q", line)
		}
	}
	return figures.String()
}

var (
	typeLine = regexp.MustCompile(`^# TYPE (permesso_[a-z_]+) (?:counter|gauge)\n$`)
	figure   = regexp.MustCompile(`^(permesso_[a-z_]+)(?:\{[a-z]+="[^"\\\n]*"\})? -?[0-9.e+-]+\n$`)
)

func (s *service) add(seed string, header ...string) (status int) {
	s.t.Helper()
	req, err := http.NewRequest(http.MethodPost, "http://service/seeds", strings.NewReader(url.Values{"url": {seed}}.Encode()))
	if err != nil {
		s.t.Fatal(err)
	}
	req.Header.Set("Content-Type", "application/x-www-form-urlencoded")
	for _, h := range header {
		name, value, _ := strings.Cut(h, ": ")
		req.Header.Set(name, value)
	}
	resp, err := s.client.Do(req)
	if err != nil {
		s.t.Fatal(err)
	}
	resp.Body.Close()
	return resp.StatusCode
}

// The service crawls URLs that it is given, even hours later, and publishes metrics. When it
// is stopped it finishes the running visits, and the next one requests none of these pages
// again.
func TestGivenURLsAreCrawled(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := crawltest.New(t)
		w.Site("https://a.example").Page("/", `<a href="/gone">1</a>`)
		w.Site("https://b.example").Robots("User-agent: *\nDisallow: /private").
			Page("/", `<a href="/private">1</a> <a href="/2">2</a> <a href="https://c.example/">3</a>`).Page("/2", "")
		w.Site("https://slow.example").Latency(20*time.Second).Page("/", `<a href="/2">2</a>`).Page("/2", "")
		dir := filepath.Join(t.TempDir(), "crawl")
		s := start(t, w, dir)
		for seed, want := range map[string]int{"https://b.example/": 202, "no seed": 400, "": 400} {
			if got := s.add(seed); got != want {
				t.Errorf("seed %q: %d, want %d", seed, got, want)
			}
		}
		if got := s.add("https://c.example/", "Sec-Fetch-Site: cross-site"); got != 403 {
			t.Errorf("a page in a browser adds seeds: %d", got)
		}
		time.Sleep(time.Hour)
		got := s.metrics()
		for line := range strings.Lines(figures) {
			if !strings.Contains(got, line) {
				t.Errorf("the figures are\n%s, want among them\n%s", got, line)
			}
		}
		s.add("https://slow.example/")
		time.Sleep(70 * time.Second) // robots.txt took 20 s, and then the site rests for 40 s
		if got := s.metrics(); !strings.Contains(got, "permesso_sites{state=\"busy\"} 1\n") || !strings.Contains(got, "permesso_queued_urls 1\n") {
			t.Errorf("while a visit is under way:\n%s", got)
		}
		s.stop()
		if err := <-s.ended; err != nil {
			t.Error(err)
		}
		w.AssertFetched("https://b.example/2", "https://slow.example/")
		w.AssertNeverFetched("https://b.example/private", "https://c.example/", "https://slow.example/2")

		s = start(t, w, dir)
		s.stop()
		if err := <-s.ended; err != nil {
			t.Error(err)
		}
		w.AssertFetched("https://slow.example/2")
		for _, r := range w.Log() {
			if n := w.Fetched(r.URL()); n != 1 && !strings.HasSuffix(r.URL(), "/robots.txt") {
				t.Errorf("%s was requested %d times", r.URL(), n)
			}
		}
		w.AssertPolite()
	})
}

const figures = `permesso_pages_total 3
permesso_requests_total 6
permesso_early_requests_total 0
permesso_received_bytes_total 169
permesso_queued_urls 0
permesso_answers_total{code="200"} 4
permesso_answers_total{code="404"} 2
permesso_skipped_links_total{reason="outside"} 1
permesso_skipped_urls_total{reason="refused"} 1
permesso_sites{state="busy"} 0
`

// If its server ends, the crawl ends with that error.
func TestAServerThatEnds(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := crawltest.New(t)
		w.Site("https://a.example").Page("/", "")
		l := listen()
		l.Close()
		err := serve(t.Context(), l, crawler.Options{
			Identity: crawler.Identity{Token: "servicebot", Contact: "https://example.org/servicebot"},
			Seeds:    []string{"https://a.example/"}, Wire: crawler.Wire{Network: w, RootCAs: w.RootCAs()},
		})
		if !errors.Is(err, net.ErrClosed) {
			t.Errorf("the error is %v", err)
		}
	})
}

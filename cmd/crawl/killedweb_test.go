package main

import (
	"fmt"
	"net"
	"net/http"
	"strings"
	"sync"
	"testing"
	"time"
)

const (
	weekWebDelay = 20 * time.Millisecond
	// b.test has a Crawl-delay longer than the start of a crawl, so that a crawl that has
	// forgotten its last request is caught.
	weekWebCrawlDelay = 150 * time.Millisecond
)

// A weekWeb is a small web that changes from week to week. It logs requests, like a site
// owner.
type weekWeb struct {
	t       *testing.T
	address string
	open    *connections

	mu    sync.Mutex
	week  int
	last  map[string]time.Time // beginning of the last answer, by host
	asked map[string]int       // requests by URL, since begin
	log   []string             // of requests
}

// weekWebSeeds are the seeds of crawls of it.
var weekWebSeeds = []string{"http://a.test/", "http://b.test/", "http://c.test/"}

func newWeekWeb(t *testing.T) *weekWeb {
	w := &weekWeb{t: t, open: newConnections(), last: map[string]time.Time{}, asked: map[string]int{}}
	listen, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	w.address = listen.Addr().String()
	server := &http.Server{Handler: w, ConnState: w.open.state, ReadHeaderTimeout: time.Minute}
	served := make(chan error, 1)
	// The web. It ends with the test.
	go func() { served <- server.Serve(listen) }()
	t.Cleanup(func() {
		server.Close()
		<-served
	})
	return w
}

// begin sets the week, and forgets earlier requests: crawls of loopback addresses share no
// clocks with earlier ones.
func (w *weekWeb) begin(week int) {
	w.open.drain(w.t, w.address)
	w.mu.Lock()
	defer w.mu.Unlock()
	w.week = week
	clear(w.asked)
	clear(w.last)
	w.log = nil
}

// notOftener checks that no URL was requested more often than times.
func (w *weekWeb) notOftener(times int) {
	w.t.Helper()
	w.open.drain(w.t, w.address)
	w.mu.Lock()
	defer w.mu.Unlock()
	for url, n := range w.asked {
		if n > times && !strings.HasSuffix(url, "/robots.txt") {
			w.t.Errorf("%s was requested %d times, at most %d are explained", url, n, times)
		}
	}
}

func (w *weekWeb) ServeHTTP(rw http.ResponseWriter, r *http.Request) {
	if r.Host == probeHost {
		return
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	least := weekWebDelay
	if r.Host == "b.test" && r.URL.Path != "/robots.txt" {
		least = weekWebCrawlDelay
	}
	// From the beginning of an answer to the next request: not more than the time that the
	// crawler measures from the end of the answer.
	if last, ok := w.last[r.Host]; ok && time.Since(last) < least {
		w.t.Errorf("%s got a request for %s %v after the last request: %q", r.Host, r.URL.Path, time.Since(last), w.log)
	}
	w.asked["http://"+r.Host+r.URL.Path]++
	w.log = append(w.log, fmt.Sprint(time.Now().Format("05.000 "), r.Host, r.URL.Path, r.Header["If-None-Match"]))
	w.answer(rw, r)
	w.last[r.Host] = time.Now()
}

// answer requires that mu is held.
func (w *weekWeb) answer(rw http.ResponseWriter, r *http.Request) {
	html := func(links ...string) {
		rw.Header().Set("Content-Type", "text/html")
		fmt.Fprintf(rw, "<title>%s</title><p>%s", r.URL.Path, strings.Repeat("The same text in each week. ", 20))
		for _, link := range links {
			fmt.Fprintf(rw, "<a href=%q>x</a>\n", link)
		}
	}
	switch r.Host + r.URL.Path {
	case "a.test/":
		links := []string{"/1", "/2", "/3", "/gone", "/moved", "/private/1"}
		if w.week > 0 {
			links = append(links, "/new")
		}
		html(links...)
	case "a.test/1":
		html()
		fmt.Fprintf(rw, "Week %d.", w.week)
	case "a.test/2":
		rw.Header().Set("ETag", `"2"`)
		if r.Header.Get("If-None-Match") == `"2"` {
			rw.WriteHeader(http.StatusNotModified)
			return
		}
		html("/1")
	case "a.test/3":
		if w.week > 0 {
			rw.WriteHeader(http.StatusNotFound)
			return
		}
		html("http://c.test/1")
	case "a.test/moved":
		http.Redirect(rw, r, "/2", http.StatusMovedPermanently)
	case "a.test/robots.txt", "c.test/robots.txt":
		fmt.Fprint(rw, "User-agent: *\nDisallow: /private/\n")
	case "b.test/robots.txt":
		fmt.Fprintf(rw, "User-agent: *\nCrawl-delay: %v\n", weekWebCrawlDelay.Seconds())
	case "b.test/":
		html("/1", "http://a.test/2")
	case "c.test/":
		html("/1", "/2")
	case "a.test/new", "b.test/1", "c.test/1", "c.test/2":
		html("/")
	default:
		rw.WriteHeader(http.StatusNotFound)
	}
}

package main

import (
	"fmt"
	"net/http"
	"strings"
	"sync"
	"time"
)

const (
	books      = 15
	crawlDelay = 2 * time.Second
	retryAfter = 6 * time.Second

	rules = "User-agent: *\nDisallow: /basket\nDisallow: /*?*sort=\nCrawl-delay: 2\nSitemap: http://shop.test/sitemap.xml\n"
)

// A shop is a web of one site that judges its crawler.
type shop struct {
	site    *site             // nil: the site of the programs about books
	phase   int               // how often the site has changed; set while no program runs
	drive   func(*shop) error // uses the program, a service, until it has nothing to do; nil: the program is no service
	ordered bool              // drive has ordered what the program is to do
	mu      sync.Mutex
	figures figures
	last    time.Time // of the last request, except for robots.txt
	closed  time.Time // no request before, by a Retry-After
	strike  int       // requests until kill is called; 0: it is not called
	kill    func()
}

// A site is another site with the address of the shop, for a task. /basket, /offer and /busy are
// those of the shop.
type site struct {
	rules string // robots.txt
	page  func(s *shop, w http.ResponseWriter, r *http.Request)
}

// figures count the requests, and those that should not have been made.
type figures struct {
	Requests   int // including robots.txt
	Disallowed int // by robots.txt, except those that a redirect led to
	Redirected int // those that a redirect led to
	Early      int // less than nine tenths of Crawl-delay after the request before
	Closed     int // before the end of a Retry-After
	Unchanged  int // answered with status 304
}

func (s *shop) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	s.mu.Lock()
	defer s.mu.Unlock()
	now := time.Now()
	s.judge(r, now)
	if s.strike--; s.strike == 0 {
		s.kill()
	}
	w.Header().Set("Content-Type", "text/html; charset=utf-8")
	switch target := r.URL.RequestURI(); {
	case target == "/robots.txt":
		w.Header().Set("Content-Type", "text/plain")
		fmt.Fprint(w, s.rules())
	case target == "/sitemap.xml" && s.site == nil:
		w.Header().Set("Content-Type", "application/xml")
		sitemap(w)
	case target == "/offer":
		http.Redirect(w, r, "/basket/offer", http.StatusFound)
	case target == "/moved":
		http.Redirect(w, r, "/walnut", http.StatusMovedPermanently)
	case target == "/busy" && s.busy(now):
		refuse(w, http.StatusServiceUnavailable)
	case s.site != nil:
		s.site.page(s, w, r)
	default:
		page(w, r)
	}
}

func (s *shop) rules() string {
	if s.site != nil {
		return s.site.rules
	}
	return rules
}

// refuse demands a pause.
func refuse(w http.ResponseWriter, status int) {
	w.Header().Set("Retry-After", fmt.Sprintf("%.0f", retryAfter.Seconds()))
	w.WriteHeader(status)
}

// judge requires that mu is held.
func (s *shop) judge(r *http.Request, now time.Time) {
	f, path := &s.figures, r.URL.Path
	f.Requests++
	if path == "/robots.txt" {
		return
	}
	switch {
	case path == "/basket/offer":
		f.Redirected++
	case strings.HasPrefix(path, "/basket"), strings.Contains(r.URL.RawQuery, "sort="):
		f.Disallowed++
	}
	delay := crawlDelay
	if s.site != nil {
		delay = time.Second // the programs of tasks make more requests
	}
	if now.Sub(s.last) < delay*9/10 {
		f.Early++
	}
	if now.Before(s.closed) {
		f.Closed++
	}
	s.last = now
}

// busy returns true until the time of the first answer's Retry-After. It requires that mu
// is held.
func (s *shop) busy(now time.Time) bool {
	if s.closed.IsZero() {
		s.closed = now.Add(retryAfter)
	}
	return now.Before(s.closed)
}

// page writes the same page for all crawlers.
func page(w http.ResponseWriter, r *http.Request) {
	var n int
	path := strings.TrimSuffix(r.URL.Path, "index.html")
	links := func(format string, args ...any) { fmt.Fprintf(w, format, args...) }
	switch {
	case path == "/":
		links(`<!doctype html><title>Shop</title><link rel="canonical" href="/">
<a href="/list?page=1">Books</a> <a href="/list?page=1&utm_source=home">New</a> <a href="/index.html">Home</a> <a href="/about">About</a>
<a href="/basket">Basket</a> <a href="/busy">Busy</a> <a href="/offer">Offer</a> <a href="/gone">Gone</a>`)
	case path == "/about":
		links(`<!doctype html><title>About</title><a href="/">Home</a> <a href="/moved">Moved</a> <a href="/walnut">Walnut oil</a>`)
	case path == "/list" && scan(r.URL.Query().Get("page"), &n) && n <= books/5:
		links(`<!doctype html><title>Books, page %d</title><link rel="canonical" href="/list?page=%[1]d">`, n)
		links(`<a href="/list?page=%d&sort=price">By price</a> <a href="/list?page=%d">More</a>`, n, min(n+1, books/5))
		for i := 5*n - 4; i <= 5*n; i++ {
			links(` <a href="/book/%d" rel="item">Book %[1]d</a> <a href="/basket/add?book=%[1]d">Buy</a>`, i)
		}
	case strings.HasPrefix(path, "/book/") && scan(path[len("/book/"):], &n) && n <= books:
		links(`<!doctype html><title>Book %d</title><link rel="canonical" href="/book/%[1]d"><p class="price">%d €</p>`, n, 7*n)
		links(`<a href="/">Home</a> <a href="/basket/add?book=%d">Buy</a> <a href="/book/%d?utm_source=related">Related</a>`, n, n%books+1)
	case path == "/walnut":
		links(`<!doctype html><title>Walnut oil</title><p>Walnut, walnut. <a href="/">Home</a>`)
	case path == "/busy" || strings.HasPrefix(path, "/basket"):
		links(`<!doctype html><title>%s</title><a href="/">Home</a>`, path)
	default:
		http.Error(w, "not found", http.StatusNotFound)
	}
}

// scan reads a number of at least 1.
func scan(s string, n *int) bool {
	_, err := fmt.Sscanf(s, "%d", n)
	return err == nil && *n > 0
}

// sitemap also names a page that robots.txt forbids.
func sitemap(w http.ResponseWriter) {
	fmt.Fprint(w, `<?xml version="1.0"?><urlset xmlns="http://www.sitemaps.org/schemas/sitemap/0.9">`)
	for _, target := range []string{"/", "/about", "/walnut", "/busy", "/basket/special"} {
		fmt.Fprintf(w, "<url><loc>http://shop.test%s</loc></url>", target)
	}
	for i := range books {
		fmt.Fprintf(w, "<url><loc>http://shop.test/book/%d</loc></url>", i+1)
	}
	fmt.Fprint(w, "</urlset>")
}

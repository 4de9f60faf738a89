package main

import (
	"context"
	"errors"
	"io"
	"net/http"
	"net/netip"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/permesso-crawler/permesso/frontier"
)

// A web is a transport that answers each request after 300 ms, and logs it.
type web struct {
	pages map[string]string // header and body by URL; other URLs are missing
	busy  map[string]int    // how many requests for a URL get 503 first

	mu  sync.Mutex
	log []request
}

type request struct {
	url        string
	start, end time.Time
}

func (w *web) RoundTrip(r *http.Request) (*http.Response, error) {
	start := time.Now()
	time.Sleep(300 * time.Millisecond)
	w.mu.Lock()
	defer w.mu.Unlock()
	url := r.URL.String()
	w.log = append(w.log, request{url, start, time.Now()})
	answer := func(status int, header http.Header, body string) (*http.Response, error) {
		return &http.Response{StatusCode: status, Header: header, Body: io.NopCloser(strings.NewReader(body))}, nil
	}
	text, ok := w.pages[url]
	to, moved := strings.CutPrefix(text, "Location: ")
	switch {
	case r.Header.Get("User-Agent") != "ownbot/1.0 (+https://example.org/ownbot)":
		return nil, errors.New("an unknown User-Agent")
	case w.busy[url] > 0:
		w.busy[url]--
		return answer(http.StatusServiceUnavailable, http.Header{"Retry-After": {"60"}}, "")
	case moved:
		return answer(http.StatusFound, http.Header{"Location": {to}}, "")
	case !ok:
		return answer(http.StatusNotFound, http.Header{}, "")
	}
	return answer(http.StatusOK, http.Header{"Content-Type": {"text/html"}}, text)
}

// of returns the requests for URLs that begin with prefix.
func (w *web) of(prefix string) (list []request) {
	for _, r := range w.log {
		if strings.HasPrefix(r.url, prefix) {
			list = append(list, r)
		}
	}
	return list
}

// crawled crawls a web in virtual time, and returns the fates by URL. All names have the
// address, except gone.example, which does not exist.
func crawled(t *testing.T, w *web, address string, seeds ...string) (map[string]frontier.Fate, error) {
	t.Helper()
	var mu sync.Mutex
	fates := map[string]frontier.Fate{}
	c := newCrawl("ownbot", func(_ context.Context, _, host string) ([]netip.Addr, error) {
		if host == "gone.example" {
			return nil, errors.New("no such host")
		}
		return []netip.Addr{netip.MustParseAddr(address)}, nil
	}, func(e frontier.Entry, f frontier.Fate) {
		mu.Lock()
		defer mu.Unlock()
		fates[e.URL.String()] = f
	})
	c.client.Transport = w
	err := c.run(t.Context(), frontier.Options{Patience: time.Hour}, seeds)
	return fates, err
}

// Of each site robots.txt is requested first, and then what it allows, each URL once, with the
// pauses of the site and of the address between the requests.
func TestRequestsArePolite(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := &web{pages: map[string]string{
			"http://a.example/robots.txt": "User-agent: *\nDisallow: /no\nCrawl-delay: 5",
			"http://a.example/":           `<a href="/1">x</a> <a href="/no">x</a> <a href="/" >x</a> <a href="http://b.example/other">x</a> <a href="/ad" rel=nofollow>x</a>`,
			"http://a.example/1":          `<a href="/moved">x</a> <a href="/1">x</a> <a href="/100%zz">x</a>`,
			"http://a.example/moved":      "Location: /target",
			"http://a.example/target":     `<meta name=robots content=nofollow><a href="/hidden">x</a>`,
			"http://b.example/":           `<a href="/1">x</a> <a href="/2">x</a>`,
			"http://b.example/1":          "", "http://b.example/2": "",
		}}
		began := time.Now()
		fates, err := crawled(t, w, "16.1.1.1", "http://a.example/", "http://b.example/")
		if err != nil {
			t.Fatal(err)
		}
		for site, want := range map[string][]string{
			"http://a.example": {"/robots.txt", "/", "/1", "/moved", "/target"},
			"http://b.example": {"/robots.txt", "/", "/1", "/2"},
		} {
			var got []string
			delay := map[string]time.Duration{"http://a.example": 5 * time.Second, "http://b.example": time.Second}[site]
			list := w.of(site)
			for i, r := range list {
				got = append(got, strings.TrimPrefix(r.url, site))
				if i > 0 && r.start.Sub(list[i-1].end) < delay {
					t.Errorf("%s was requested %v after the answer before it, want %v", r.url, r.start.Sub(list[i-1].end), delay)
				}
			}
			if !slices.Equal(got, want) {
				t.Errorf("%s: %q, want %q", site, got, want)
			}
		}
		slices.SortFunc(w.log, func(a, b request) int { return a.start.Compare(b.start) })
		for i, r := range w.log[1:] {
			if gap := r.start.Sub(w.log[i].start); gap < 250*time.Millisecond {
				t.Errorf("the address got %s %v after %s", r.url, gap, w.log[i].url)
			}
		}
		if took := time.Since(began); took > 30*time.Second {
			t.Errorf("the crawl took %v: the sites were not crawled at the same time", took)
		}
		if f := fates["http://a.example/no"]; f.Code != frontier.RobotsDisallowed || !strings.Contains(f.Detail, "Disallow: /no") {
			t.Errorf("/no: %+v", f)
		}
		if f := fates["http://a.example/moved"]; f.Code != frontier.Fetched || f.Status != http.StatusFound || len(fates) != 9 {
			t.Errorf("/moved: %+v, %d URLs", f, len(fates))
		}
		if f := fates["http://a.example/100%zz"]; f.Code != frontier.Failed || !strings.Contains(f.Detail, "invalid URL escape") {
			t.Errorf("a URL that net/url refuses: %+v", f)
		}
	})
}

// A pause that a site demands is kept. A site whose robots.txt redirects, and one that does
// not exist, get no request for a page.
func TestSitesThatFail(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := &web{
			pages: map[string]string{"http://busy.example/": "", "http://moved.example/robots.txt": "Location: http://busy.example/robots.txt", "http://moved.example/": ""},
			busy:  map[string]int{"http://busy.example/": 2},
		}
		fates, err := crawled(t, w, "10.0.0.1", "http://busy.example/", "http://moved.example/", "http://gone.example/")
		if !errors.Is(err, frontier.ErrUnasked) {
			t.Errorf("the error is %v", err)
		}
		if f := fates["http://busy.example/"]; f.Code != frontier.Fetched || f.Status != http.StatusOK || len(fates) != 1 {
			t.Errorf("/: %+v, %d URLs", f, len(fates))
		}
		list := w.of("http://busy.example/")
		for i, r := range list {
			if i > 1 && r.start.Sub(list[i-1].end) < time.Minute {
				t.Errorf("%s was requested %v after a 503", r.url, r.start.Sub(list[i-1].end))
			}
		}
		if len(list) != 4 || len(w.of("http://moved.example/")) != len(w.of("http://moved.example/robots.txt")) || len(w.of("http://gone.example")) > 0 {
			t.Errorf("the requests are %+v", w.log)
		}
	})
}

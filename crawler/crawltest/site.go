package crawltest

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/netip"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/permesso-crawler/permesso/frontier"
)

// A Site is one site of a Web. Its methods return the Site, so that calls can be chained. They may
// be called while a crawl runs.
type Site struct {
	web  *Web
	site frontier.Site

	http2 atomic.Bool

	// mu guards the fields below, because a test may change its site while the crawl reads it. mu
	// is not held while a handler runs.
	mu      sync.Mutex
	pages   map[string]http.Handler // by target, which is a path and query
	other   http.Handler            // answers all other targets; nil: status 404
	latency time.Duration
	down    bool
}

// Robots sets the robots.txt of the site. If Robots is not called, or body is empty, the site
// answers requests for robots.txt with 404.
func (s *Site) Robots(body string) *Site {
	if body == "" {
		s.mu.Lock()
		defer s.mu.Unlock()
		delete(s.pages, "/robots.txt")
		return s
	}
	return s.Func("/robots.txt", func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "text/plain; charset=utf-8")
		io.WriteString(w, body)
	})
}

// Page sets the HTML page that the site returns for target (path and query).
func (s *Site) Page(target, html string) *Site {
	return s.Func(target, func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "text/html; charset=utf-8")
		io.WriteString(w, html)
	})
}

// File sets the answer for target (path and query) to a file that is not an HTML page, such as a
// style sheet, a feed, a sitemap or an image.
func (s *Site) File(target, mediaType, body string) *Site {
	return s.Func(target, func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", mediaType)
		io.WriteString(w, body)
	})
}

// Redirect makes the site answer requests for target (path and query) with status 302 and a
// Location.
func (s *Site) Redirect(target, location string) *Site {
	return s.Func(target, func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Location", location)
		w.WriteHeader(http.StatusFound)
	})
}

// Status makes the site answer requests for target (path and query) with the given status and no
// body.
func (s *Site) Status(target string, status int) *Site {
	return s.Func(target, func(w http.ResponseWriter, r *http.Request) { w.WriteHeader(status) })
}

// Func makes h answer requests for target (path and query).
func (s *Site) Func(target string, h http.HandlerFunc) *Site {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.pages[target] = h
	return s
}

// Default makes h answer the requests of the site for which no other method has set an answer,
// except requests for robots.txt.
func (s *Site) Default(h http.HandlerFunc) *Site {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.other = h
	return s
}

// Trap makes the site answer every request whose target (path and query) begins with prefix.
// Each answer is a page with links to n more such targets.
func (s *Site) Trap(prefix string, n int) *Site {
	return s.Default(func(w http.ResponseWriter, r *http.Request) {
		if !strings.HasPrefix(r.RequestURI, prefix) {
			http.NotFound(w, r)
			return
		}
		w.Header().Set("Content-Type", "text/html")
		for i := range n {
			fmt.Fprintf(w, "<a href=\"%s/%d\">deeper</a>\n", strings.TrimSuffix(r.RequestURI, "/"), i)
		}
	})
}

// Calendar makes the site answer requests for prefix and for every prefix?month=YYYY-MM. Each
// answer is a page that links to the month before and the month after. There is no first and no
// last month.
func (s *Site) Calendar(prefix string) *Site {
	return s.Default(func(w http.ResponseWriter, r *http.Request) {
		month, err := time.Parse("2006-01", cmp.Or(r.URL.Query().Get("month"), "2000-01"))
		if err != nil || r.URL.Path != prefix {
			http.NotFound(w, r)
			return
		}
		w.Header().Set("Content-Type", "text/html")
		fmt.Fprintf(w, "<title>%s</title>\n", month.Format("January 2006"))
		for _, other := range []int{-1, 1} {
			fmt.Fprintf(w, "<a href=\"%s?month=%s\">%+d</a>\n", prefix, month.AddDate(0, other, 0).Format("2006-01"), other)
		}
	})
}

// Flaky makes the site answer the first requests for target (path and query) with each status
// in turn, and all later requests with the page html. If retryAfter is not empty, it is the
// Retry-After field of the answers with these statuses.
func (s *Site) Flaky(target, html, retryAfter string, status ...int) *Site {
	var mu sync.Mutex
	return s.Func(target, func(w http.ResponseWriter, r *http.Request) {
		mu.Lock()
		defer mu.Unlock()
		if len(status) == 0 {
			w.Header().Set("Content-Type", "text/html; charset=utf-8")
			io.WriteString(w, html)
			return
		}
		if retryAfter != "" {
			w.Header().Set("Retry-After", retryAfter)
		}
		w.WriteHeader(status[0])
		status = status[1:]
	})
}

// Reset makes the site break the connection, without an answer, when it gets a request for target
// (path and query).
func (s *Site) Reset(target string) *Site {
	return s.Func(target, func(w http.ResponseWriter, r *http.Request) { panic(http.ErrAbortHandler) })
}

// Latency makes the site wait for d before each answer.
func (s *Site) Latency(d time.Duration) *Site {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.latency = d
	return s
}

// HTTP2 makes an https site use HTTP/2 on new connections, if the client supports it.
func (s *Site) HTTP2() *Site {
	s.http2.Store(true)
	return s
}

// Down makes the site refuse connections if down is true, and accept them if it is false.
func (s *Site) Down(down bool) *Site {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.down = down
	return s
}

// Addr sets the addresses of the site's host. Several hosts may have the same address.
func (s *Site) Addr(addrs ...string) *Site {
	s.web.t.Helper()
	var list []netip.Addr
	for _, a := range addrs {
		ip, err := netip.ParseAddr(a)
		if err != nil {
			s.web.t.Fatalf("crawltest: %v", err)
		}
		list = append(list, ip)
	}
	s.web.mu.Lock()
	defer s.web.mu.Unlock()
	s.web.addrs[s.site.Host()] = list
	return s
}

func (s *Site) dial(ctx context.Context) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.down {
		return errors.New("connection refused")
	}
	return nil
}

func (s *Site) serve(w *answer, r *http.Request) {
	target := r.RequestURI
	if i := strings.Index(target, "://"); i >= 0 { // the absolute form of a target
		target = target[i+3:]
		target = target[strings.IndexByte(target, '/'):]
	}
	s.mu.Lock()
	h, latency := s.pages[target], s.latency
	if h == nil && s.other != nil && target != "/robots.txt" {
		h = s.other
	}
	s.mu.Unlock()
	if latency > 0 {
		select {
		case <-time.After(latency):
		case <-r.Context().Done():
			return
		}
	}
	w.keep = target == "/robots.txt"
	if h == nil {
		http.NotFound(w, r)
		return
	}
	h.ServeHTTP(w, r)
}

package crawler_test

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"strconv"
	"testing"
	"testing/synctest"
	"time"

	"github.com/permesso-crawler/permesso/crawler"
	"github.com/permesso-crawler/permesso/crawler/crawltest"
)

// pauseAfter returns the time from the end of the first answer to a target to the start of the next
// request to its site.
func pauseAfter(t *testing.T, w *crawltest.Web, url string) time.Duration {
	t.Helper()
	log := w.Log()
	for i, r := range log {
		if r.URL() != url {
			continue
		}
		for _, next := range log[i+1:] {
			if next.Site == r.Site {
				return next.Start.Sub(r.End)
			}
		}
	}
	t.Errorf("nothing was requested after %s", url)
	return 0
}

// busy returns a handler that answers with a status and a body that takes three seconds. The first
// answer has a Retry-After of a hundred seconds. If the status is an error, later answers have
// status 200.
func busy(status int, location string) http.HandlerFunc {
	first := true
	return func(rw http.ResponseWriter, r *http.Request) {
		code := status
		if !first && status >= 400 {
			code = 200
		}
		if first {
			rw.Header().Set("Retry-After", "100")
		}
		first = false
		if location != "" {
			rw.Header().Set("Location", location)
		}
		rw.WriteHeader(code)
		if status != http.StatusNotModified {
			io.WriteString(rw, "<title>")
			http.NewResponseController(rw).Flush()
			time.Sleep(3 * time.Second)
			io.WriteString(rw, "busy</title>")
		}
	}
}

// For site owners: "Retry-After is obeyed on every answer, also on that for robots.txt,
// for up to a year."
func TestRetryAfterCountsOnEachStatus(t *testing.T) {
	for _, status := range []int{200, 202, 301, 302, 304, 307, 403, 404, 408, 413, 429, 500, 502, 503} {
		t.Run(strconv.Itoa(status), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				w := crawltest.New(t)
				location := ""
				if status/100 == 3 {
					location = "/other"
				}
				w.Site("http://a.example").Page("/", `<a href="/busy">1</a><a href="/other">2</a>`).Func("/busy", busy(status, location)).Page("/other", "")
				crawl(t, w, nil, "http://a.example/")
				// The server sees the end of its answer later than the client, so the pause may be
				// a little shorter.
				if pause := pauseAfter(t, w, "http://a.example/busy"); pause < 99*time.Second {
					t.Errorf("requested again after %v", pause)
				}
				w.AssertPolite()
			})
		})
	}
}

func TestRetryAfterOfARobotsFile(t *testing.T) {
	for _, status := range []int{200, 404, 429, 503} {
		for _, hop := range []bool{false, true} {
			t.Run(fmt.Sprint(status, hop), func(t *testing.T) {
				synctest.Test(t, func(t *testing.T) {
					w := crawltest.New(t)
					at := "http://a.example"
					if hop {
						w.Site(at).Redirect("/robots.txt", "http://rules.example/robots.txt")
						at = "http://rules.example"
					}
					w.Site(at).Func("/robots.txt", busy(status, "")).Page("/", "")
					w.Site("http://a.example").Page("/", "")
					w.Site("http://rules.example").Page("/", "")
					pages, _ := crawl(t, w, nil, "http://a.example/", "http://rules.example/")
					wantPages(t, pages, "http://a.example/", "http://rules.example/")
					if pause := pauseAfter(t, w, at+"/robots.txt"); pause < 99*time.Second {
						t.Errorf("requested again after %v", pause)
					}
					w.AssertPolite()
				})
			})
		}
	}
}

func TestRetryAfterIsKeptWhateverTheHandlerDoes(t *testing.T) {
	for name, handle := range map[string]func() error{
		"panic": func() error { panic("handler") },
		"error": func() error { return io.ErrUnexpectedEOF },
		"retry": func() error { return crawler.ErrRetry },
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				w := crawltest.New(t)
				w.Site("http://a.example").Page("/", `<a href="/busy">1</a><a href="/other">2</a>`).Func("/busy", busy(200, "")).Page("/other", "")
				c, err := crawler.New(crawler.Options{
					Identity: crawler.Identity{Token: "benchbot", Contact: "mailto:x@example.org"},
					Seeds:    []string{"http://a.example/"}, Wire: crawler.Wire{Network: w},
				})
				if err != nil {
					t.Fatal(err)
				}
				if err := c.Run(t.Context(), crawler.HandlerFunc(func(ctx context.Context, p *crawler.Page) error {
					if p.URL.Target() == "/busy" {
						return handle()
					}
					return nil
				})); err != nil {
					t.Fatal(err)
				}
				if pause := pauseAfter(t, w, "http://a.example/busy"); pause < 99*time.Second {
					t.Errorf("requested again after %v", pause)
				}
				w.AssertPolite()
			})
		})
	}
}

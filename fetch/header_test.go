package fetch

import (
	"fmt"
	"net/http"
	"strings"
	"testing"
	"testing/synctest"

	"github.com/permesso-crawler/permesso/frontier"
	"github.com/permesso-crawler/permesso/robots"
)

func TestParseHeader(t *testing.T) {
	h, err := ParseHeader([]string{"Accept-Language: de, en;q=0.5", "x-project:  thesis ", "X-Project: two", "X-Empty:"})
	if err != nil || h.Get("Accept-Language") != "de, en;q=0.5" || fmt.Sprint(h.Values("X-Project")) != "[thesis two]" || len(h["X-Empty"]) != 1 {
		t.Errorf("%v, %v", h, err)
	}
	for line, want := range map[string]string{
		"no colon": "no colon", ": x": "is no name", "A b: x": "is no name", "Ä: x": "is no name",
		"X: a\r\nY: b": "control character", "X: \x00": "control character",
		"host: x": "host of each URL", "User-Agent: x": "the name and the contact", "From: x": "the contact", "accept-encoding: x": "coding",
		"Connection: close": "connection", "TE: trailers": "connection", "Content-Length: 1": "no content",
		"Range: bytes=0-1": "whole", "If-None-Match: x": "whole", "Cookie: a=b": "every site", "Authorization: x": "every site",
		"Proxy-Authorization: x": "host of the proxy", "X-Forwarded-For: 1.2.3.4": "another client",
	} {
		if _, err := ParseHeader([]string{line}); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: error %v, want one with %q", line, err, want)
		}
	}
	if _, err := New(Options{Policy: robots.Policy{Token: "bot"}, UserAgent: "bot", Header: http.Header{"cookie": {"a=b"}}}); err == nil {
		t.Error("a cookie: no error")
	}
}

func TestFromGoesOutIfThereIsOne(t *testing.T) {
	for _, from := range []string{"", "crawl@example.org"} {
		synctest.Test(t, func(t *testing.T) {
			n := 0
			w := &wire{serve: answers(func(r *request, _ int) string {
				n++
				if _, there := r.header["From"]; r.header.Get("From") != from || there != (from != "") {
					t.Errorf("From: %q", r.header["From"])
				}
				return page("")
			})}
			if newTour(t, Options{Network: w, From: from}).visit("http://a.example/"); n != 2 {
				t.Errorf("%d requests", n)
			}
		})
	}
}

func TestFurtherFieldsGoOutWithEveryRequest(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		accept := map[string]string{}
		w := &wire{serve: answers(func(r *request, n int) string {
			accept[r.target] = r.header.Get("Accept") + " " + r.header.Get("X-Project")
			return noRobots(func(r *request, n int) string { return page("") })(r, n)
		})}
		h := http.Header{"accept": {"text/html"}, "X-Project": {"thesis"}}
		newTour(t, Options{Network: w, Header: h}).visit("http://a.example/")
		if accept["/"] != "text/html thesis" || accept["/robots.txt"] != "text/plain,*/*;q=0.8 thesis" {
			t.Errorf("%q", accept)
		}
	})
}

func TestRevalidate(t *testing.T) {
	for _, tc := range []struct {
		name      string
		have      Validators
		match, at string
		status    int
	}{
		{"both", Validators{`W/"1"`, "Sat, 01 Jan 2000 00:00:00 GMT"}, `W/"1"`, "Sat, 01 Jan 2000 00:00:00 GMT", 304},
		{"tag", Validators{ETag: `"1"`}, `"1"`, "", 304},
		{"date", Validators{LastModified: "Sat, 01 Jan 2000 00:00:00 GMT"}, "", "Sat, 01 Jan 2000 00:00:00 GMT", 304},
		{"none", Validators{}, "", "", 200},
		{"long", Validators{ETag: strings.Repeat("x", 1024)}, strings.Repeat("x", 1024), "", 304},
		{"too long", Validators{ETag: strings.Repeat("x", 1025)}, "", "", 200},
		{"any", Validators{ETag: "*", LastModified: "Sat, 01 Jan 2000 00:00:00 GMT"}, "", "Sat, 01 Jan 2000 00:00:00 GMT", 304},
		{"any alone", Validators{ETag: "*"}, "", "", 200},
		{"not sendable", Validators{ETag: "a\r\nX: b", LastModified: strings.Repeat("x", maxValidator+1)}, "", "", 200},
	} {
		t.Run(tc.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				w := &wire{serve: answers(noRobots(func(r *request, n int) string {
					match, at := r.header.Get("If-None-Match"), r.header.Get("If-Modified-Since")
					if match != tc.match || at != tc.at {
						t.Errorf("requested with %q and %q", match, at)
					}
					if match+at == "" {
						return page("hello")
					}
					return "HTTP/1.1 304 Not Modified\r\nETag: \"1\"\r\nContent-Length: 5\r\n\r\n"
				}))}
				v := newTour(t, Options{Network: w})
				v.have = tc.have
				if plain := v.fetcher.usual.page; tc.have.condition(plain) == nil || plain.Get("If-None-Match")+plain.Get("If-Modified-Since") != "" {
					t.Error("the header of other pages was changed")
				}
				for range 2 { // the second request uses the kept connection
					res, _ := v.visit("http://a.example/")
					x := res.Page
					if x == nil || x.Status != tc.status || (len(x.Body) == 0) != (tc.status == 304) || res.Outcome.Fate.Code != frontier.Fetched {
						t.Fatalf("page %+v, fate %+v", x, res.Outcome.Fate)
					}
				}
				if len(w.dialed) != 1 {
					t.Errorf("%d connections, want 1", len(w.dialed))
				}
			})
		})
	}
}

func FuzzParseHeader(f *testing.F) {
	for _, s := range []string{"A: b", "Cookie: a", "x", ":", "A:\x7f", "cOOkie : a", "A: \t b "} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, line string) {
		h, err := ParseHeader([]string{line})
		if err != nil {
			return
		}
		if len(h) != 1 || h.Get("Cookie") != "" {
			t.Errorf("%q = %v", line, h)
		}
		for name, values := range h {
			if strings.ContainsAny(name+values[0], "\r\n\x00") {
				t.Errorf("%q = %q", line, h)
			}
		}
	})
}

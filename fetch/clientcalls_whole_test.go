package fetch_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/permesso-crawler/permesso/crawler/crawltest"
	"github.com/permesso-crawler/permesso/fetch"
	"github.com/permesso-crawler/permesso/frontier"
)

// closing is a body that counts the calls of Close.
type closing struct {
	io.Reader
	closed int
}

func (c *closing) Close() error { c.closed++; return nil }

// If a Client cannot make a request of net/http, it returns an error at once, makes no request,
// and closes the body.
func TestRequestsOfNetHTTPThatAreRefused(t *testing.T) {
	t.Parallel()
	at := func(raw string) *url.URL { u, _ := url.Parse(raw); return u }
	page := at("http://a.example/")
	for name, req := range map[string]*http.Request{
		"POST":               {Method: "POST", URL: page},
		"PUT":                {Method: "PUT", URL: page},
		"PATCH":              {Method: "PATCH", URL: page},
		"DELETE":             {Method: "DELETE", URL: page},
		"OPTIONS":            {Method: "OPTIONS", URL: page},
		"TRACE":              {Method: "TRACE", URL: page},
		"CONNECT":            {Method: "CONNECT", URL: page},
		"get":                {Method: "get", URL: page},
		"two lines":          {Method: "GET / HTTP/1.1\r\nX: y\r\n", URL: page},
		"blank":              {Method: " ", URL: page},
		"GET with a body":    {Method: "GET", URL: page, Body: io.NopCloser(strings.NewReader("x"))},
		"HEAD with a body":   {Method: "HEAD", URL: page, Body: io.NopCloser(strings.NewReader(""))},
		"nil URL":            {Method: "GET", Host: "a.example"},
		"empty URL":          {Method: "GET", URL: &url.URL{}},
		"path":               {Method: "GET", URL: &url.URL{Path: "/x"}},
		"no scheme":          {Method: "GET", URL: &url.URL{Host: "a.example", Path: "/"}},
		"file":               {Method: "GET", URL: at("file:///etc/passwd")},
		"another host":       {Method: "GET", URL: page, Host: "b.example"},
		"another port":       {Method: "GET", URL: page, Host: "a.example:81"},
		"a host with blanks": {Method: "GET", URL: page, Host: "a.example\r\nX: y"},
		"a host of control":  {Method: "GET", URL: &url.URL{Scheme: "http", Host: "a\x00.example", Path: "/"}},
		"a huge path":        {Method: "GET", URL: &url.URL{Scheme: "http", Host: "a.example", Path: "/" + strings.Repeat("x", 1<<20)}},
		"a huge host":        {Method: "GET", URL: &url.URL{Scheme: "http", Host: strings.Repeat("x", 1<<16) + ".example", Path: "/"}},
		"a field, control":   {Method: "GET", URL: page, Header: http.Header{"X": {"a\x00b"}}},
		"a field, line end":  {Method: "GET", URL: page, Header: http.Header{"X": {"a\r\nHost: evil"}}},
		"a field, its name":  {Method: "GET", URL: page, Header: http.Header{"X y": {"a"}}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				w := crawltest.New(t)
				w.Site("http://a.example").Page("/", "")
				c := client(t, w)
				body := &closing{Reader: strings.NewReader("x")}
				if req := req.Clone(t.Context()); req.Body != nil {
					req.Body = body
					c.RoundTrip(req)
					if body.closed == 0 {
						t.Error("the body is not closed")
					}
				}
				began := time.Now()
				resp, err := c.RoundTrip(req)
				if err == nil || resp != nil || len(err.Error()) > 1<<17 {
					t.Errorf("%v, %.1000v", resp, err)
				}
				if took := time.Since(began); took > 0 || len(w.Log()) > 0 {
					t.Errorf("after %v: %v", took, w.Log())
				}
			})
		})
	}
}

// Fields that no server should get are left out. Requests without a header, a method or a host are
// made.
func TestRequestsOfNetHTTPThatAreMade(t *testing.T) {
	t.Parallel()
	at := func(raw string) *url.URL { u, _ := url.Parse(raw); return u }
	for name, req := range map[string]*http.Request{
		"nil header":   {URL: at("http://a.example/")},
		"no body":      {Method: "GET", URL: at("http://a.example/"), Header: http.Header{}, Body: http.NoBody},
		"same host":    {Method: "GET", URL: at("http://a.example/"), Host: "a.example"},
		"fragment":     {Method: "GET", URL: at("http://a.example/#x")},
		"user":         {Method: "GET", URL: at("http://me:secret@a.example/")},
		"own name":     {URL: at("http://a.example/"), Header: http.Header{"User-Agent": {"evil"}, "From": {"evil"}, "Accept-Encoding": {"br"}}},
		"connection":   {URL: at("http://a.example/"), Header: http.Header{"Connection": {"close"}, "Transfer-Encoding": {"chunked"}, "Content-Length": {"5"}, "Upgrade": {"x"}, "Te": {"trailers"}}},
		"host field":   {URL: at("http://a.example/"), Header: http.Header{"Host": {"evil.example"}, "host": {"evil.example"}}},
		"proxy secret": {URL: at("http://a.example/"), Header: http.Header{"Proxy-Authorization": {"x"}}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				w := crawltest.New(t)
				w.Site("http://a.example").Page("/", "fine")
				c := client(t, w)
				for range 2 {
					resp, err := c.RoundTrip(req.WithContext(t.Context()))
					if err != nil {
						t.Fatal(err)
					}
					if body, err := io.ReadAll(resp.Body); string(body) != "fine" || err != nil {
						t.Errorf("%q, %v", body, err)
					}
				}
				for _, r := range w.Log() {
					for field, values := range r.Header {
						if strings.Contains(strings.Join(values, " "), "evil") || field == "Proxy-Authorization" || field == "Authorization" || field == "Content-Length" {
							t.Errorf("%s was sent with %s: %q", r.URL(), field, values)
						}
					}
				}
				w.AssertPolite()
			})
		})
	}
}

// Later requests are not blocked by a body that is never read, never closed, closed twice, read
// after its Close or after the Close of the Client, or overwritten.
func TestBodiesThatAreNotUsedWell(t *testing.T) {
	t.Parallel()
	for name, use := range map[string]func(*http.Response){
		"never read":       func(*http.Response) {},
		"closed unread":    func(r *http.Response) { r.Body.Close() },
		"closed twice":     func(r *http.Response) { r.Body.Close(); r.Body.Close() },
		"read after Close": func(r *http.Response) { r.Body.Close(); io.ReadAll(r.Body) },
		"read to a byte":   func(r *http.Response) { r.Body.Read(make([]byte, 1)) },
		"read of nothing":  func(r *http.Response) { r.Body.Read(nil) },
		"read for ever": func(r *http.Response) {
			for range 1000 {
				r.Body.Read(make([]byte, 10))
			}
		},
		"its header changed": func(r *http.Response) { clear(r.Header); r.Header.Set("Etag", "evil") },
		"its request changed": func(r *http.Response) {
			r.Request.URL.Host = "evil.example"
			r.Request.Header.Set("User-Agent", "evil")
			r.Body = nil
		},
		"used by many": func(r *http.Response) {
			var all sync.WaitGroup
			for range 5 {
				all.Go(func() { _ = r.StatusCode; r.Cookies(); r.Location() })
			}
			all.Wait()
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				w := crawltest.New(t)
				w.Site("http://a.example").Page("/", strings.Repeat("0123456789", 100)).Bomb("/bomb", 1<<20).HTTP2()
				c := client(t, w, func(o *fetch.ClientOptions) { o.MaxSize = 5000 })
				var kept []*http.Response
				for n := range 4 {
					req, _ := http.NewRequest("GET", "http://a.example"+[]string{"/", "/bomb"}[n%2], nil)
					resp, err := c.RoundTrip(req)
					if err != nil {
						t.Fatal(err)
					}
					use(resp)
					kept = append(kept, resp)
				}
				if err := c.Close(); err != nil {
					t.Error(err)
				}
				for _, resp := range kept {
					if resp.Body != nil {
						io.ReadAll(resp.Body)
						resp.Body.Close()
					}
				}
				w.AssertPolite()
				w.AssertDelay("", time.Second)
			})
		})
	}
}

// A caller may change its response without changing other answers.
func TestAResponseIsItsCallersAlone(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		w := crawltest.New(t)
		w.Site("http://a.example").Robots("User-agent: *\nDisallow: /no").Page("/", "fine").Page("/no", "")
		c := client(t, w)
		for range 3 {
			resp := get(t, c, "http://a.example/")
			if string(resp.Body) != "fine" || resp.Snapshot == nil || !resp.Verdict.Allowed() {
				t.Errorf("%q, %v", resp.Body, resp.Verdict)
			}
			clear(resp.Body)
			clear(resp.Header)
			for name := range resp.RequestHeader {
				resp.RequestHeader[name] = []string{"evil"}
			}
			clear(resp.RequestHead)
			clear(resp.ResponseHead)
			resp.URL, resp.Status, resp.Ended = frontier.URL{}, 0, time.Time{}
			resp.Exchange.Release()
		}
		var refused *fetch.RefusedError
		if _, err := c.Get(t.Context(), "http://a.example/no"); !errors.As(err, &refused) {
			t.Errorf("%v", err)
		}
		for _, r := range w.Log() {
			if strings.Contains(fmt.Sprint(r.Header), "evil") {
				t.Errorf("%s was requested with %v", r.URL(), r.Header)
			}
		}
		w.AssertPolite()
		w.AssertDelay("", time.Second)
	})
}

// An answer that never ends, or never begins, is ended by the time limit. The site then rests. A
// call whose caller gives up earlier returns at once.
func TestAnswersThatNeverEnd(t *testing.T) {
	t.Parallel()
	drip := func(rw http.ResponseWriter, r *http.Request) {
		for range 600 {
			rw.Write([]byte("."))
			rw.(http.Flusher).Flush()
			select {
			case <-r.Context().Done(): // the client has closed the connection
				return
			case <-time.After(time.Second):
			}
		}
	}
	for name, answer := range map[string]http.HandlerFunc{
		"a body of drops": drip,
		"no answer":       func(http.ResponseWriter, *http.Request) { time.Sleep(10 * time.Minute) },
		"a header, no body": func(rw http.ResponseWriter, _ *http.Request) {
			rw.Header().Set("Content-Length", "1000")
			rw.WriteHeader(200)
			rw.(http.Flusher).Flush()
			time.Sleep(10 * time.Minute)
		},
		"interim answers": func(rw http.ResponseWriter, _ *http.Request) {
			for range 600 {
				rw.WriteHeader(http.StatusProcessing)
				time.Sleep(time.Second)
			}
		},
		"redirects": func(rw http.ResponseWriter, r *http.Request) {
			http.Redirect(rw, r, "/odd?"+r.URL.RawQuery+"x", http.StatusFound)
		},
		"a redirect to nothing": func(rw http.ResponseWriter, _ *http.Request) {
			rw.Header().Set("Location", "http://")
			rw.WriteHeader(302)
		},
		"a redirect to a file": func(rw http.ResponseWriter, _ *http.Request) {
			rw.Header().Set("Location", "file:///etc/passwd")
			rw.WriteHeader(302)
		},
		"a huge redirect": func(rw http.ResponseWriter, _ *http.Request) {
			rw.Header().Set("Location", strings.Repeat("x", 1<<14))
			rw.WriteHeader(302)
		},
		"a Retry-After of 9999": func(rw http.ResponseWriter, _ *http.Request) {
			rw.Header().Set("Retry-After", "Fri, 31 Dec 9999 23:59:59 GMT")
			rw.WriteHeader(503)
		},
		"a negative Retry-After": func(rw http.ResponseWriter, _ *http.Request) {
			rw.Header().Set("Retry-After", "-5")
			rw.WriteHeader(429)
		},
		"status 999": func(rw http.ResponseWriter, _ *http.Request) { rw.WriteHeader(999) },
		"no HTTP": func(rw http.ResponseWriter, _ *http.Request) {
			conn, _, err := http.NewResponseController(rw).Hijack()
			if err != nil {
				panic(err)
			}
			conn.Write(bytes.Repeat([]byte{0}, 1<<16))
			conn.Close()
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				w := crawltest.New(t)
				w.Site("http://a.example").Page("/", "").Func("/odd", answer).Default(answer).Robots("")
				c := client(t, w, func(o *fetch.ClientOptions) { o.Timeout = 20 * time.Second })
				began := time.Now()
				ctx, cancel := context.WithTimeout(t.Context(), 5*time.Second)
				defer cancel()
				c.Get(ctx, "http://a.example/odd")
				if took := time.Since(began); took > 5*time.Second {
					t.Errorf("a call with a deadline took %v", took)
				}
				for range 3 {
					began := time.Now()
					resp, err := c.Get(t.Context(), "http://a.example/odd")
					var failed *fetch.Error
					var not *fetch.NotYetError
					if err != nil && !errors.As(err, &failed) && !errors.As(err, &not) || err == nil && resp.Exchange == nil {
						t.Errorf("%v, %v", resp, err)
					}
					if took := time.Since(began); took > 5*time.Minute {
						t.Errorf("a call took %v", took)
					}
				}
				if n := w.Fetched("http://a.example/odd"); n > 5 { // the first request may be repeated on another connection
					t.Errorf("%d requests", n)
				}
				w.AssertDelay("", time.Second)
				c.Close()
				time.Sleep(time.Hour)
			})
		})
	}
}

// If a directory cannot be used, NewClient fails. If it is lost later, the Client stays polite and
// does not hang.
func TestDirectoriesOfAClient(t *testing.T) {
	t.Parallel()
	for name, spoil := range map[string]func(t *testing.T, dir string){
		"deleted":          func(t *testing.T, dir string) { fail(t, os.RemoveAll(dir)) },
		"its file deleted": func(t *testing.T, dir string) { fail(t, os.Remove(filepath.Join(dir, "client.db"))) },
		"its file replaced": func(t *testing.T, dir string) {
			fail(t, os.Remove(filepath.Join(dir, "client.db")))
			fail(t, os.Mkdir(filepath.Join(dir, "client.db"), 0o700))
		},
		"renamed": func(t *testing.T, dir string) { fail(t, os.Rename(dir, dir+".2")) },
		"in use": func(t *testing.T, dir string) {
			if c, err := fetch.NewClient(fetch.ClientOptions{Token: "feedbot", Contact: "https://example.org/bot", Dir: dir}); err == nil {
				c.Close()
				t.Error("two Clients have one directory")
			}
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			dir := filepath.Join(t.TempDir(), "client")
			synctest.Test(t, func(t *testing.T) {
				w := crawltest.New(t)
				w.Site("http://a.example").Page("/", "fine")
				w.Site("http://b.example").Page("/", "fine")
				c, err := fetch.NewClient(fetch.ClientOptions{Token: "feedbot", Contact: "https://example.org/bot", Network: w, Dir: dir})
				fail(t, err)
				get(t, c, "http://a.example/")
				spoil(t, dir)
				for _, url := range []string{"http://a.example/", "http://b.example/", "http://a.example/"} {
					if resp, err := c.Get(t.Context(), url); err == nil && string(resp.Body) != "fine" {
						t.Errorf("%q", resp.Body)
					}
				}
				c.Close()
				w.AssertPolite()
				w.AssertDelay("", time.Second)
			})
		})
	}
}

func fail(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

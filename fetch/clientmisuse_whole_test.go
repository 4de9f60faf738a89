package fetch_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/permesso-crawler/permesso/crawler/crawltest"
	"github.com/permesso-crawler/permesso/fetch"
	"github.com/permesso-crawler/permesso/frontier"
)

func TestABadClientOptionIsNamed(t *testing.T) {
	t.Parallel()
	file := filepath.Join(t.TempDir(), "file")
	if err := os.WriteFile(file, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	damaged := t.TempDir()
	if err := os.WriteFile(filepath.Join(damaged, "client.db"), []byte(strings.Repeat("x", 10000)), 0o600); err != nil {
		t.Fatal(err)
	}
	for want, change := range map[string]func(*fetch.ClientOptions){
		"Token: is empty":       func(o *fetch.ClientOptions) { o.Token = "" },
		"is the name of Google": func(o *fetch.ClientOptions) { o.Token = "Googlebot" },
		"Contact: \"nobody\"":   func(o *fetch.ClientOptions) { o.Contact = "nobody" },
		"Patience":              func(o *fetch.ClientOptions) { o.Patience = -1 },
		"Concurrency":           func(o *fetch.ClientOptions) { o.Concurrency = -3 },
		"Options.Delay":         func(o *fetch.ClientOptions) { o.Delay = -5 },
		"Accept-Encoding":       func(o *fetch.ClientOptions) { o.Header = http.Header{"Accept-Encoding": {"br"}} },
		"Purpose":               func(o *fetch.ClientOptions) { o.Purpose = "fun" },
		filepath.Base(file):     func(o *fetch.ClientOptions) { o.Dir = file },
		filepath.Base(damaged):  func(o *fetch.ClientOptions) { o.Dir = damaged },
		"client.db: invalid":    func(o *fetch.ClientOptions) { o.Dir = damaged },
	} {
		o := fetch.ClientOptions{Token: "feedbot", Contact: "https://a.test/bot", Dir: filepath.Join(t.TempDir(), "new")}
		dir := o.Dir
		change(&o)
		if c, err := fetch.NewClient(o); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%v, want %q", err, want)
			if err == nil {
				c.Close()
			}
		}
		if _, err := os.Stat(dir); !os.IsNotExist(err) {
			t.Errorf("%s: the refusal has made %s: %v", want, dir, err)
		}
	}
}

// If the caller changes a header after its call has ended, the request is still sent with the old
// header.
func TestARequestHasItsOwnHeader(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		w := crawltest.New(t)
		w.Site("http://a.example").Page("/", "").Latency(5 * time.Second)
		c := client(t, w)
		get(t, c, "http://a.example/")
		time.Sleep(time.Minute)
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		req, _ := http.NewRequestWithContext(ctx, "GET", "http://a.example/", nil)
		req.Header.Set("X-Key", "first")
		if _, err := c.RoundTrip(req); !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("%v", err)
		}
		req.Header.Set("X-Key", "second")
		time.Sleep(time.Minute)
		if log := w.Log(); log[len(log)-1].Header.Get("X-Key") != "first" {
			t.Errorf("%v", log[len(log)-1].Header)
		}
	})
}

// A request that cannot be made is an error at once, and no request is sent.
func TestABadCallIsRefused(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		w := crawltest.New(t)
		w.Site("http://a.example").Page("/", "")
		c := client(t, w)
		canceled, cancel := context.WithCancel(t.Context())
		cancel()
		var bad *frontier.URLError
		for _, url := range []string{"", "x", "/x", "mailto:a@b.example", "javascript:1", "http://", "http://[::1", "http://a.example/" + strings.Repeat("x", 9000)} {
			if _, err := c.Get(t.Context(), url); !errors.As(err, &bad) {
				t.Errorf("%.20q: %v", url, err)
			}
		}
		//lint:ignore SA1012 a nil context is what is tested
		if _, err := c.Get(nil, "http://a.example/"); err == nil || !strings.Contains(err.Error(), "the context is nil") {
			t.Errorf("%v", err)
		}
		if _, err := c.Get(canceled, "http://a.example/"); !errors.Is(err, context.Canceled) {
			t.Errorf("%v", err)
		}
		for name, req := range map[string]*http.Request{
			"no URL":  {},
			"method":  {Method: "DELETE", URL: must(t, "http://a.example/")},
			"body":    {Method: "GET", URL: must(t, "http://a.example/"), Body: io.NopCloser(strings.NewReader("x"))},
			"host":    {URL: must(t, "http://a.example/"), Host: "b.example"},
			"scheme":  {URL: must(t, "gopher://a.example/")},
			"no host": {URL: must(t, "http:///x")},
		} {
			if resp, err := c.RoundTrip(req); err == nil {
				t.Errorf("%s: %v", name, resp)
			}
		}
		if len(w.Log()) > 0 {
			t.Errorf("%v", w.Log())
		}
	})
}

func must(t *testing.T, raw string) *url.URL {
	t.Helper()
	req, err := http.NewRequest("GET", raw, nil)
	if err != nil {
		t.Fatal(err)
	}
	return req.URL
}

// If a function of the options panics or ends its goroutine, only its caller is affected.
func TestAPanicConcernsItsCaller(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		w := crawltest.New(t)
		w.Site("http://a.example").Page("/", "").Page("/panic", "").Page("/exit", "").Page("/error", "")
		c := client(t, w, func(o *fetch.ClientOptions) {
			o.OptOut = func(u frontier.URL) (string, error) {
				switch u.Target() {
				case "/panic":
					panic("oops")
				case "/exit":
					runtime.Goexit()
				case "/error":
					return "", errors.New("the list cannot be read")
				case "/listed":
					return "its owner has asked", nil
				}
				return "", nil
			}
		})
		var all sync.WaitGroup
		for range 3 {
			all.Go(func() {
				defer func() {
					if v := recover(); v != "oops" {
						t.Errorf("%v", v)
					}
				}()
				c.Get(t.Context(), "http://a.example/panic")
			})
			all.Go(func() { c.Get(t.Context(), "http://a.example/exit") })
		}
		all.Wait()
		if _, err := c.Get(t.Context(), "http://a.example/error"); err == nil || !strings.Contains(err.Error(), "cannot be read") {
			t.Errorf("%v", err)
		}
		var refused *fetch.RefusedError
		if _, err := c.Get(t.Context(), "http://a.example/listed"); !errors.As(err, &refused) || refused.Code != frontier.OptedOut {
			t.Errorf("%v", err)
		}
		get(t, c, "http://a.example/")
		w.AssertNeverFetched("http://a.example/panic", "http://a.example/exit", "http://a.example/error", "http://a.example/listed")
		w.AssertPolite()
	})
}

// An incomplete body is marked, and reading it to its end fails.
func TestACutBodyIsMarked(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		w := crawltest.New(t)
		w.Site("http://a.example").Page("/long", strings.Repeat("x", 5000)).Bomb("/bomb", 1<<20).
			Func("/broken", func(rw http.ResponseWriter, _ *http.Request) {
				rw.Header().Set("Content-Length", "100")
				io.WriteString(rw, "some")
			})
		c := client(t, w, func(o *fetch.ClientOptions) { o.MaxSize = 4000 })
		for path, want := range map[string]struct {
			size int
			cut  string
		}{"/long": {4000, "length"}, "/bomb": {4000, "length"}, "/broken": {4, "disconnect"}} {
			resp := get(t, c, "http://a.example"+path)
			if len(resp.Body) != want.size || resp.Truncated != want.cut {
				t.Errorf("%s: %d bytes, %q", path, len(resp.Body), resp.Truncated)
			}
			h, err := (&http.Client{Transport: c}).Get("http://a.example" + path)
			if err != nil {
				t.Fatal(err)
			}
			if body, err := io.ReadAll(h.Body); len(body) != want.size || !errors.Is(err, io.ErrUnexpectedEOF) || h.ContentLength != -1 {
				t.Errorf("%s: %d bytes, %v", path, len(body), err)
			}
		}
		w.AssertPolite()
	})
}

// A request that was sent continues if its caller gives up. So the site gets one request at a
// time, and patient callers get its answers.
func TestImpatientCallersAreNoTroubleForTheSite(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		w := crawltest.New(t)
		w.Site("http://a.example").Page("/", "0123456789").Latency(10 * time.Second)
		c := client(t, w)
		for began := time.Now(); time.Since(began) < 5*time.Minute; {
			ctx, cancel := context.WithTimeout(t.Context(), 2*time.Second)
			if _, err := c.Get(ctx, "http://a.example/"); !errors.Is(err, context.DeadlineExceeded) {
				t.Errorf("%v", err)
			}
			cancel()
			time.Sleep(100 * time.Millisecond)
		}
		if n := w.Fetched("http://a.example/robots.txt"); n != 1 {
			t.Errorf("robots.txt was requested %d times", n)
		}
		if n := w.Fetched("http://a.example/"); n == 0 || n > 10 {
			t.Errorf("the page was requested %d times", n)
		}
		time.Sleep(time.Minute)
		get(t, c, "http://a.example/")
		w.AssertPolite()
	})
}

// An invalid request of net/http is refused before it waits, and the site does not rest because of
// it. The length of an answer to HEAD is the length in its header.
func TestATransportKeepsToNetHTTP(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		w := crawltest.New(t)
		w.Site("http://a.example").Page("/", "0123456789")
		c := client(t, w)
		for name, value := range map[string]string{"X-Bad": "a\nb", "a b": "x", "": "x"} {
			req := &http.Request{Method: "GET", URL: must(t, "http://a.example/"), Header: http.Header{name: {value}}}
			if _, err := c.RoundTrip(req); err == nil || !strings.Contains(err.Error(), "header field") {
				t.Errorf("%q: %v", name, err)
			}
		}
		if len(w.Log()) > 0 {
			t.Errorf("%v", w.Log())
		}
		resp, err := (&http.Client{Transport: c}).Head("http://a.example/")
		if err != nil || resp.ContentLength != 10 {
			t.Errorf("%+v, %v", resp, err)
		}
	})
}

// Calls that begin and end at random neither block each other nor make a request early.
func TestAStormOfCalls(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		w := crawltest.New(t)
		for site := range 5 {
			s := w.Site(fmt.Sprintf("http://s%d.example", site)).Latency(time.Duration(site) * 300 * time.Millisecond).
				Default(func(rw http.ResponseWriter, _ *http.Request) { io.WriteString(rw, "x") })
			if site == 1 {
				s.Robots("User-agent: *\nCrawl-delay: 7")
			}
		}
		c := client(t, w, func(o *fetch.ClientOptions) { o.Concurrency = 2; o.Dir = t.TempDir() })
		var all sync.WaitGroup
		for n := range 120 {
			all.Go(func() {
				ctx, cancel := context.WithTimeout(t.Context(), time.Duration(n*n%90)*time.Second/3)
				defer cancel()
				if n%7 == 0 {
					time.AfterFunc(time.Duration(n%11)*time.Second/2, cancel)
				}
				_, err := c.Get(ctx, fmt.Sprintf("http://s%d.example/%d", n%5, n%3))
				if err != nil && ctx.Err() == nil {
					var not *fetch.NotYetError
					if !errors.As(err, &not) {
						t.Errorf("%d: %v", n, err)
					}
				}
			})
		}
		all.Wait()
		if n := len(w.Log()); n < 20 {
			t.Errorf("only %d requests", n)
		}
		for site := range 5 { // compare the starts, because the server notices late that a request was canceled
			var last time.Time
			for _, r := range w.Log() {
				if r.Site != frontier.Site(fmt.Sprintf("http://s%d.example", site)) {
					continue
				}
				if gap := r.Start.Sub(last); gap < time.Second {
					t.Errorf("%s came %v after the start of the request before", r.URL(), gap)
				}
				last = r.Start
			}
		}
		time.Sleep(time.Minute)
	})
}

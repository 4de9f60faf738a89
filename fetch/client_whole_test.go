package fetch_test

import (
	"context"
	"errors"
	"io"
	"net/http"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/permesso-crawler/permesso/crawler/crawltest"
	"github.com/permesso-crawler/permesso/fetch"
	"github.com/permesso-crawler/permesso/frontier"
)

// client returns a Client for a web in memory. The function change may change its options.
func client(t *testing.T, w *crawltest.Web, change ...func(*fetch.ClientOptions)) *fetch.Client {
	t.Helper()
	o := fetch.ClientOptions{Token: "feedbot", Contact: "https://example.org/bot", Network: w, RootCAs: w.RootCAs()}
	for _, f := range change {
		f(&o)
	}
	c, err := fetch.NewClient(o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := c.Close(); err != nil {
			t.Error(err)
		}
	})
	return c
}

func get(t *testing.T, c *fetch.Client, url string) *fetch.Response {
	t.Helper()
	resp, err := c.Get(t.Context(), url)
	if err != nil {
		t.Fatalf("%s: %v", url, err)
	}
	return resp
}

// Many goroutines may request one URL often. The site gets one request at a time, each after its
// pause.
func TestAClientIsPoliteForManyGoroutines(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		w := crawltest.New(t)
		w.Site("http://a.example").Robots("User-agent: *\nCrawl-delay: 3").Page("/feed", "news")
		w.Site("http://b.example").Page("/", "b")
		c := client(t, w)
		began := time.Now()
		var all sync.WaitGroup
		for range 8 {
			all.Go(func() {
				if resp := get(t, c, "http://a.example/feed"); string(resp.Body) != "news" || resp.Status != 200 {
					t.Errorf("%d: %q", resp.Status, resp.Body)
				}
				get(t, c, "http://b.example/")
			})
		}
		all.Wait()
		if n := w.Fetched("http://a.example/feed"); n != 8 {
			t.Errorf("%d requests, want 8", n)
		}
		if took := time.Since(began).Round(time.Second); took < 24*time.Second || took > 40*time.Second {
			t.Errorf("it took %v", took)
		}
		w.AssertDelay("http://a.example", 3*time.Second)
		w.AssertDelay("http://b.example", time.Second)
		w.AssertPolite()
	})
}

func TestWhatRobotsForbidsIsRefused(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		w := crawltest.New(t)
		w.Site("http://a.example").Robots("User-agent: feedbot\nDisallow: /private/").Page("/", "")
		c := client(t, w)
		var refused *fetch.RefusedError
		if _, err := c.Get(t.Context(), "http://a.example/private/x"); !errors.As(err, &refused) || refused.Code != frontier.RobotsDisallowed || refused.Verdict.Rule.Line != 2 {
			t.Errorf("%v", err)
		}
		resp := get(t, c, "http://a.example/")
		if !resp.Verdict.Allowed() || resp.Snapshot == nil {
			t.Errorf("%+v", resp)
		}
		w.AssertPolite()
	})
}

// Each redirect obeys the rules of its own site.
func TestAClientFollowsRedirects(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		w := crawltest.New(t)
		w.Site("http://a.example").Redirect("/", "https://b.example/x").Redirect("/closed", "https://b.example/private").
			Redirect("/1", "/2").Redirect("/2", "/1").Redirect("/nowhere", "mailto:x@a.example")
		w.Site("https://b.example").Robots("User-agent: *\nDisallow: /private").Page("/x", "there")
		c := client(t, w)
		resp := get(t, c, "http://a.example/")
		if string(resp.Body) != "there" || resp.URL.String() != "https://b.example/x" || len(resp.Redirects) != 1 || resp.Redirects[0].String() != "http://a.example/" {
			t.Errorf("%s, %v: %q", resp.URL, resp.Redirects, resp.Body)
		}
		var refused *fetch.RefusedError
		if _, err := c.Get(t.Context(), "http://a.example/closed"); !errors.As(err, &refused) || refused.URL != "https://b.example/private" {
			t.Errorf("%v", err)
		}
		for _, url := range []string{"http://a.example/1", "http://a.example/nowhere"} {
			var broken *fetch.Error
			if _, err := c.Get(t.Context(), url); !errors.As(err, &broken) || broken.Stage != "redirect" {
				t.Errorf("%s: %v", url, err)
			}
		}
		w.AssertPolite()
	})
}

// A status is no error, but it sets the clocks. A long Retry-After ends the calls that wait.
func TestAClientObeysRetryAfter(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		w := crawltest.New(t)
		w.Site("http://a.example").Flaky("/", "ok", "30", 429).Flaky("/long", "ok", "7200", 503).Page("/other", "other")
		c := client(t, w)
		if resp := get(t, c, "http://a.example/"); resp.Status != 429 {
			t.Errorf("status %d", resp.Status)
		}
		if resp := get(t, c, "http://a.example/"); resp.Status != 200 {
			t.Errorf("status %d", resp.Status)
		}
		var first, second sync.WaitGroup
		first.Go(func() {
			if resp := get(t, c, "http://a.example/long"); resp.Status != 503 {
				t.Errorf("status %d", resp.Status)
			}
		})
		synctest.Wait()
		second.Go(func() {
			var not *fetch.NotYetError
			if _, err := c.Get(t.Context(), "http://a.example/other"); !errors.As(err, &not) || not.By != frontier.RetryAfterClock || time.Until(not.Until) < 100*time.Minute {
				t.Errorf("%v", err)
			}
		})
		first.Wait()
		second.Wait()
		began := time.Now()
		var not *fetch.NotYetError
		if _, err := c.Get(t.Context(), "http://a.example/other"); !errors.As(err, &not) || !time.Now().Equal(began) {
			t.Errorf("%v after %v", err, time.Since(began))
		}
		time.Sleep(time.Until(not.Until))
		get(t, c, "http://a.example/other")
		w.AssertPolite()
	})
}

// A robots.txt that cannot be fetched permits nothing. Each call makes at most one attempt to
// fetch it, and returns the reason.
func TestAClientWaitsForRobots(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		w := crawltest.New(t)
		w.Site("http://a.example").Status("/robots.txt", 500).Page("/", "")
		w.Site("http://b.example").Page("/", "").Down(true)
		c := client(t, w, func(o *fetch.ClientOptions) { o.Patience = 20 * time.Second })
		for url, want := range map[string]string{
			"http://a.example/":  "robots.txt was answered with status 500",
			"http://b.example/":  "connection refused",
			"http://no.example/": "no such host",
		} {
			for n := range 12 {
				_, err := c.Get(t.Context(), url)
				var not *fetch.NotYetError
				switch known := errors.As(err, &not); {
				case err == nil, n == 0 && !strings.Contains(err.Error(), want):
					t.Fatalf("%s: %v, want %q", url, err, want)
				case !known:
				case time.Until(not.Until) > time.Hour+time.Second:
					t.Fatalf("%s rests too long: %v", url, err)
				default:
					time.Sleep(time.Until(not.Until))
				}
			}
		}
		if n := w.Fetched("http://a.example/robots.txt"); n < 4 || n > 12 {
			t.Errorf("robots.txt was requested %d times", n)
		}
		w.AssertNeverFetched("http://a.example/", "http://b.example/")
		w.AssertPolite()
	})
}

// If the deadline of a context is before the turn, the call fails at once. If a context is
// canceled, its call ends at that moment.
func TestAContextEndsACall(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		w := crawltest.New(t)
		w.Site("http://a.example").Robots("User-agent: *\nCrawl-delay: 60").Page("/", "").Latency(time.Second)
		c := client(t, w)
		get(t, c, "http://a.example/")
		began := time.Now()
		short, cancel := context.WithTimeout(t.Context(), 5*time.Second)
		defer cancel()
		var not *fetch.NotYetError
		if _, err := c.Get(short, "http://a.example/"); !errors.As(err, &not) || not.By != frontier.CrawlDelayClock || !time.Now().Equal(began) {
			t.Errorf("%v after %v", err, time.Since(began))
		}
		ctx, stop := context.WithCancel(t.Context())
		time.AfterFunc(10*time.Second, stop)
		if _, err := c.Get(ctx, "http://a.example/"); !errors.Is(err, context.Canceled) || time.Since(began) != 10*time.Second {
			t.Errorf("%v after %v", err, time.Since(began))
		}
		ctx, stop = context.WithCancel(t.Context())
		time.AfterFunc(50500*time.Millisecond, stop) // the request is under way at this time
		if _, err := c.Get(ctx, "http://a.example/"); !errors.Is(err, context.Canceled) {
			t.Errorf("%v after %v", err, time.Since(began))
		}
		get(t, c, "http://a.example/")
		log := w.Log()
		for i := range log[1:] { // the server's answer ends after the request was canceled
			if gap := log[i+1].Start.Sub(log[i].Start); gap < 60*time.Second {
				t.Errorf("%s began %v after the request before", log[i+1].URL(), gap)
			}
		}
	})
}

// After Close, and while Close runs, calls end with ErrClientClosed.
func TestACloseEndsAllCalls(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		w := crawltest.New(t)
		w.Site("http://a.example").Page("/", "").Latency(time.Minute / 2)
		c := client(t, w)
		var all sync.WaitGroup
		for range 3 {
			all.Go(func() {
				if _, err := c.Get(t.Context(), "http://a.example/"); err == nil {
					t.Error("no error")
				}
			})
		}
		synctest.Wait()
		if err := c.Close(); err != nil {
			t.Error(err)
		}
		all.Wait()
		if _, err := c.Get(t.Context(), "http://a.example/"); !errors.Is(err, fetch.ErrClientClosed) {
			t.Errorf("%v", err)
		}
		time.Sleep(time.Minute) // the server has answered by then
	})
}

// A Client can be the transport of an http.Client.
func TestAClientIsATransport(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		w := crawltest.New(t)
		w.Site("http://a.example").Redirect("/", "/feed").Func("/feed", func(rw http.ResponseWriter, r *http.Request) {
			if r.Header.Get("If-None-Match") == `"1"` {
				rw.WriteHeader(http.StatusNotModified)
				return
			}
			rw.Header().Set("ETag", `"1"`)
			io.WriteString(rw, r.Header.Get("Accept")+" "+r.UserAgent())
		})
		h := http.Client{Transport: client(t, w)}
		req, _ := http.NewRequestWithContext(t.Context(), "GET", "http://a.example/", nil)
		req.Header.Set("Accept", "application/rss+xml")
		req.Header.Set("User-Agent", "Gofeed/1.0")
		resp, err := h.Do(req)
		if err != nil {
			t.Fatal(err)
		}
		body, err := io.ReadAll(resp.Body)
		if err != nil || !strings.HasPrefix(string(body), "application/rss+xml feedbot (+https://example.org/bot)") {
			t.Errorf("%q, %v", body, err)
		}
		req, _ = http.NewRequestWithContext(t.Context(), "GET", "http://a.example/feed", nil)
		req.Header.Set("If-None-Match", resp.Header.Get("ETag"))
		if resp, err := h.Do(req); err != nil || resp.StatusCode != http.StatusNotModified {
			t.Errorf("%v, %v", resp, err)
		}
		if resp, err := h.Post("http://a.example/feed", "text/plain", strings.NewReader("x")); err == nil {
			t.Errorf("%v", resp)
		}
		if resp, err := h.Head("http://a.example/feed"); err != nil || resp.Header.Get("ETag") == "" {
			t.Errorf("%v, %v", resp, err)
		}
		w.AssertPolite()
	})
}

// A Client with a directory keeps its clocks and the copies of robots.txt there.
func TestAClientKeepsItsClocks(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		w := crawltest.New(t)
		w.Site("http://a.example").Robots("User-agent: *\nCrawl-delay: 20").Page("/", "")
		dir := t.TempDir()
		in := func(o *fetch.ClientOptions) { o.Dir = dir; o.Shared = frontier.NewSharedClocks() }
		for range 3 {
			c := client(t, w, in)
			if _, err := fetch.NewClient(fetch.ClientOptions{Token: "feedbot", Contact: "https://example.org/bot", Dir: dir}); err == nil || !strings.Contains(err.Error(), "in use") {
				t.Errorf("%v", err)
			}
			get(t, c, "http://a.example/")
			if err := c.Close(); err != nil {
				t.Fatal(err)
			}
		}
		if n := w.Fetched("http://a.example/robots.txt"); n != 1 {
			t.Errorf("robots.txt was requested %d times", n)
		}
		w.AssertDelay("http://a.example", 20*time.Second)
		w.AssertPolite()
	})
}

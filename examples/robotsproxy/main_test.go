package main

import (
	"context"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/permesso-crawler/permesso/crawler/crawltest"
)

// through returns a proxy to a web in memory.
func through(t *testing.T, w *crawltest.Web) *proxy {
	out := &http.Transport{DialContext: func(ctx context.Context, network, address string) (net.Conn, error) {
		host, port, err := net.SplitHostPort(address)
		if err != nil {
			return nil, err
		}
		addrs, err := w.LookupNetIP(ctx, "ip", host)
		if err != nil {
			return nil, err
		}
		return w.DialContext(ctx, network, net.JoinHostPort(addrs[0].String(), port))
	}}
	t.Cleanup(out.CloseIdleConnections)
	return newProxy("examplebot", out)
}

func ask(p *proxy, method, url, agent string) *httptest.ResponseRecorder {
	r := httptest.NewRequest(method, url, nil)
	r.Header.Set("User-Agent", agent)
	w := httptest.NewRecorder()
	p.ServeHTTP(w, r)
	return w
}

// The proxy refuses requests that robots.txt forbids to the token, and says why. robots.txt is
// fetched once, before anything else, and under the name used for the rest.
func TestForbiddenRequestsAreRefused(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := crawltest.New(t)
		w.Site("http://a.example").
			Robots("User-agent: *\nAllow: /\n\nUser-agent: examplebot\nDisallow: /no\nDisallow: /*?secret=\n").
			Page("/", "home").Page("/no", "").Page("/a%2Fb?q=%C3%A9", "as it was written").Page("/x?secret=1", "")
		w.Site("http://free.example").Page("/", "no rules here")
		p := through(t, w)
		for _, tc := range []struct {
			method, url, agent string
			status             int
			says               string
		}{
			{"GET", "http://a.example/", "examplebot/1.0", 200, "home"},
			{"GET", "http://a.example/a%2Fb?q=%C3%A9", "ExampleBot (+https://example.org)", 200, "as it was written"},
			{"GET", "http://a.example/missing", "examplebot", 404, "not found"},
			{"GET", "http://a.example/no", "examplebot", 403, "line 5: Disallow: /no"},
			{"GET", "http://a.example/x?secret=1", "examplebot", 403, "line 6"},
			{"GET", "http://a.example/", "wget", 403, "must begin with examplebot"},
			{"GET", "http://free.example/", "examplebot", 200, "no rules here"},
			{"GET", "http://none.example/", "examplebot", 503, "cannot be had"},
			{"CONNECT", "http://a.example/", "examplebot", 501, "only http"},
			{"GET", "/", "examplebot", 501, "only http"},
		} {
			got := ask(p, tc.method, tc.url, tc.agent)
			if got.Code != tc.status || !strings.Contains(got.Body.String(), tc.says) {
				t.Errorf("%s %s as %s: %d %q, want %d %q", tc.method, tc.url, tc.agent, got.Code, got.Body, tc.status, tc.says)
			}
			if (got.Header().Get("Retry-After") != "") != (tc.status == 503) {
				t.Errorf("%s: Retry-After: %s", tc.url, got.Header().Get("Retry-After"))
			}
		}
		w.AssertFetched("http://a.example/robots.txt", "http://free.example/robots.txt")
		w.AssertNeverFetched("http://a.example/no", "http://a.example/x?secret=1")
		p.forward.Transport.(*http.Transport).CloseIdleConnections()
	})
}

// A site whose robots.txt fails gets no page requests; robots.txt is requested again later.
func TestASiteWhoseRobotsTxtFails(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := crawltest.New(t)
		w.Site("http://a.example").Flaky("/robots.txt", "", "600", 503, 503).Page("/", "home")
		p := through(t, w)
		for i, want := range []int{503, 503, 503, 503, 200} {
			if got := ask(p, "GET", "http://a.example/", "examplebot").Code; got != want {
				t.Errorf("request %d: %d, want %d", i, got, want)
			}
			time.Sleep(5*time.Minute + time.Second)
		}
		if n := w.Fetched("http://a.example/robots.txt"); n != 3 {
			t.Errorf("robots.txt was requested %d times", n)
		}
		w.AssertPolite()
		p.forward.Transport.(*http.Transport).CloseIdleConnections()
	})
}

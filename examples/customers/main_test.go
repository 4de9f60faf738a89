package main

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"net"
	"net/http"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/permesso-crawler/permesso/crawler"
	"github.com/permesso-crawler/permesso/crawler/crawltest"
)

// pipes is a listener in memory.
type pipes struct {
	conns chan net.Conn
	done  chan struct{}
	close func() // closes done, once
}

func (p *pipes) Accept() (net.Conn, error) {
	select {
	case c := <-p.conns:
		return c, nil
	case <-p.done:
		return nil, net.ErrClosed
	}
}

func (p *pipes) Close() error { p.close(); return nil }

func (p *pipes) Addr() net.Addr { return &net.UnixAddr{Name: "memory", Net: "unix"} }

func (p *pipes) dial(context.Context, string, string) (net.Conn, error) {
	client, server := net.Pipe()
	select {
	case p.conns <- server:
		return client, nil
	case <-p.done:
		return nil, net.ErrClosed
	}
}

// running is a service under test. kill ends it and all its crawls, which have not ended.
type running struct {
	t      *testing.T
	client http.Client
	kill   func()
}

func start(t *testing.T, w *crawltest.Web, dir string) *running {
	l := &pipes{conns: make(chan net.Conn), done: make(chan struct{})}
	l.close = sync.OnceFunc(func() { close(l.done) })
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	go func() {
		ended <- serve(ctx, l, dir, crawler.Options{
			Identity: crawler.Identity{Token: "customerbot", Contact: "https://example.org/customerbot"},
			Wire:     crawler.Wire{Network: w, RootCAs: w.RootCAs()},
		})
	}()
	return &running{t, http.Client{Transport: &http.Transport{DialContext: l.dial, DisableKeepAlives: true}}, func() {
		cancel()
		if err := <-ended; err != nil {
			t.Error(err)
		}
	}}
}

// do makes a request, and returns the body of its answer, which must have the given status.
func (r *running) do(method, path, body string, want int) []byte {
	r.t.Helper()
	req, err := http.NewRequest(method, "http://service"+path, strings.NewReader(body))
	if err != nil {
		r.t.Fatal(err)
	}
	resp, err := r.client.Do(req)
	if err != nil {
		r.t.Fatal(err)
	}
	defer resp.Body.Close()
	text, err := io.ReadAll(resp.Body)
	if err != nil || resp.StatusCode != want {
		r.t.Errorf("%s %s %s: status %d, want %d: %s (%v)", method, path, body, resp.StatusCode, want, text, err)
	}
	return text
}

// states returns the state, the end and the number of pages of each crawl.
func (r *running) states() map[string]string {
	r.t.Helper()
	var all map[string]report
	if err := json.Unmarshal(r.do("GET", "/customers", "", 200), &all); err != nil {
		r.t.Fatal(err)
	}
	states := map[string]string{}
	for name, s := range all {
		states[name] = strings.Join(strings.Fields(fmt.Sprintln(s.State, s.End, s.Crawl.BudgetPages, s.Error)), " ")
	}
	return states
}

// Two customers crawl one site. It gets their requests at the pace of one crawl. After the
// service was killed, the next one continues the crawls that were not stopped.
func TestTwoCustomersOfOneSite(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w, dir := crawltest.New(t), t.TempDir()
		site := w.Site("https://a.example").Robots("User-agent: *\nCrawl-delay: 5")
		var links strings.Builder
		for i := range 20 {
			fmt.Fprintf(&links, "<a href=/%d>x</a> ", i)
			site.Page(fmt.Sprint("/", i), "")
		}
		site.Page("/", links.String())
		r := start(t, w, dir)
		if got := r.states(); len(got) > 0 {
			t.Errorf("before the first order there are %q", got)
		}
		r.do("PUT", "/customers/one", `{"seeds": ["https://a.example/"]}`, 202)
		r.do("PUT", "/customers/two", `{"seeds": ["https://a.example/"], "pages": 9, "delay_seconds": 1}`, 202)
		r.do("PUT", "/customers/three", `{"seeds": ["https://a.example/"]}`, 202)
		r.do("PUT", "/customers/one", `{"seeds": ["https://a.example/1"]}`, 409)
		time.Sleep(time.Minute)
		r.do("DELETE", "/customers/three", "", 202)
		time.Sleep(10 * time.Second)
		before := r.states()
		for name, want := range map[string]string{"one": "running", "two": "running", "three": "ended stopped"} {
			if got := before[name]; !strings.HasPrefix(got, want+" ") {
				t.Errorf("the crawl of %s is %s, want %s", name, got, want)
			}
		}
		r.kill()
		if n := len(w.Log()); n < 12 {
			t.Errorf("%d requests in 70 seconds", n)
		}

		r = start(t, w, dir)
		time.Sleep(time.Hour)
		want := map[string]string{"one": "ended done 21", "two": "ended limit 9", "three": before["three"]}
		if got := r.states(); !maps.Equal(got, want) {
			t.Errorf("after a kill the crawls are %q, want %q", got, want)
		}
		r.do("PUT", "/customers/three", `{"seeds": ["https://a.example/"]}`, 202)
		time.Sleep(time.Hour)
		want["three"] = "ended done 21"
		if got := r.states(); !maps.Equal(got, want) {
			t.Errorf("after a stop was undone the crawls are %q, want %q", got, want)
		}
		r.kill()
		pages := 0
		for _, r := range w.Log() {
			if r.Target != "/robots.txt" {
				pages++
			}
		}
		if pages != 21+9+21 {
			t.Errorf("%d requests for pages", pages)
		}
		w.AssertDelay("https://a.example", 5*time.Second)
		w.AssertPolite()
	})
}

// The service refuses what it cannot do, and says why.
func TestRefusedOrders(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := start(t, crawltest.New(t), t.TempDir())
		for _, body := range []string{
			``, `{}`, `{"seeds": ["no url"]}`, `{"seeds": ["https://a.example/"], "pages": -1}`, `{"seeds": ["https://a.example/"], "delay_seconds": -1}`,
			`{"seeds": ["https://a.example/"], "delay_seconds": 18446744074}`, `{"seeds": ["https://a.example/"], "identity": {"token": "otherbot"}}`,
		} {
			r.do("PUT", "/customers/one", body, 400)
		}
		r.do("PUT", "/customers/..%2fone", `{"seeds": ["https://a.example/"]}`, 400)
		r.do("DELETE", "/customers/..%2fone", "", 400)
		r.do("DELETE", "/customers/one", "", 404)
		if got := r.states(); len(got) > 0 {
			t.Errorf("the service has %q", got)
		}
		r.kill()
	})
}

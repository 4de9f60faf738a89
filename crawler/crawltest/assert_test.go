package crawltest

import (
	"context"
	"io"
	"net"
	"net/http"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/permesso-crawler/permesso/frontier"
)

// AssertPolite finds each kind of violation by one site.
func TestSiteViolations(t *testing.T) {
	at := func(s float64) time.Time { return time.Unix(0, 0).Add(time.Duration(s * float64(time.Second))) }
	rules := func(body string) Request {
		return Request{Site: "http://a.example", Target: "/robots.txt", UserAgent: "bot", Start: at(0), End: at(1), Status: 200, Body: []byte(body)}
	}
	page := func(target string, start, end float64) Request {
		return Request{Site: "http://a.example", Target: target, UserAgent: "bot", Start: at(start), End: at(end), Status: 200}
	}
	busy := page("/busy", 2, 3)
	busy.Status, busy.RetryAfter = 503, "10"
	failed := rules("")
	failed.Status = 500
	for _, tc := range []struct {
		name string
		reqs []Request
		want string // a part of the only violation; empty if none exists
	}{
		{"polite", []Request{rules("User-agent: *\nCrawl-delay: 1"), page("/", 2, 3), page("/x", 4, 5)}, ""},
		{"no robots.txt", []Request{page("/", 0, 1)}, "before robots.txt"},
		{"robots.txt that failed", []Request{failed, page("/", 2, 3)}, "before robots.txt"},
		{"forbidden", []Request{rules("User-agent: *\nDisallow: /x"), page("/x", 2, 3)}, "forbidden by robots.txt, line 2"},
		{"two at once", []Request{rules(""), page("/", 2, 4), page("/x", 3, 5)}, "while http://a.example/ was being answered"},
		{"while the first has no end", []Request{rules(""), {Site: "http://a.example", Target: "/", UserAgent: "bot", Start: at(2), Status: 200}, page("/x", 3, 5)}, "was being answered"},
		{"Crawl-delay", []Request{rules("User-agent: bot\nCrawl-delay: 2"), page("/", 2, 3)}, "Crawl-delay is 2s"},
		{"Retry-After", []Request{rules(""), busy, page("/", 12, 13)}, "before the end of a Retry-After"},
		{"Retry-After kept", []Request{rules(""), busy, page("/", 13, 14)}, ""},
	} {
		t.Run(tc.name, func(t *testing.T) {
			got := strings.Join(siteViolations(tc.reqs), "\n")
			if tc.want == "" && got != "" || !strings.Contains(got, tc.want) || strings.Contains(got, "\n") {
				t.Errorf("violations %q, want one with %q", got, tc.want)
			}
		})
	}
}

// AssertPolite finds requests that are too early for their host name, which has one clock for all
// schemes and ports.
func TestHostViolations(t *testing.T) {
	at := func(s float64) time.Time { return time.Unix(0, 0).Add(time.Duration(s * float64(time.Second))) }
	page := func(site frontier.Site, start, end float64) Request {
		return Request{Site: site, Target: "/", UserAgent: "bot", Start: at(start), End: at(end), Status: 200}
	}
	slow := page("http://a.example", 0, 1)
	slow.Target, slow.Body = "/robots.txt", []byte("User-agent: *\nCrawl-delay: 5")
	busy := page("http://a.example", 0, 1)
	busy.Status, busy.RetryAfter = 503, "10"
	for _, tc := range []struct {
		name  string
		other Request
		first Request
		want  string // a part of the only violation; empty if none exists
	}{
		{"polite", page("https://a.example", 1, 2), page("http://a.example", 0, 1), ""},
		{"two at once", page("https://a.example", 0.5, 2), page("http://a.example", 0, 1), "came while http://a.example/ was being answered"},
		{"two ports at once", page("http://a.example:8080", 0.5, 2), page("http://a.example", 0, 1), "came while"},
		{"Crawl-delay", page("https://a.example", 5, 6), slow, "Crawl-delay is 5s"},
		{"Crawl-delay kept", page("https://a.example", 6, 7), slow, ""},
		{"Retry-After", page("https://a.example", 10, 11), busy, "before the end of a Retry-After"},
		{"Retry-After kept", page("https://a.example", 11, 12), busy, ""},
		{"another host", page("https://b.example", 0.5, 1), busy, ""},
		{"a private address", page("http://192.168.1.1:8080", 0.5, 1), page("http://192.168.1.1", 0, 1), ""},
		{"one site is judged once", page("http://a.example", 10, 11), busy, ""},
	} {
		t.Run(tc.name, func(t *testing.T) {
			w := New(t)
			for _, r := range []Request{tc.first, tc.other} {
				w.Site(string(r.Site))
				w.log = append(w.log, r)
			}
			var found []string
			for _, reqs := range w.byPublicHost() {
				found = append(found, hostViolations(reqs)...)
			}
			all := strings.Join(w.violations(), "\n")
			if got := strings.Join(found, "\n"); tc.want == "" && got != "" || !strings.Contains(got, tc.want) || strings.Contains(got, "\n") || !strings.Contains(all, got) {
				t.Errorf("violations %q of %q, want one with %q", got, all, tc.want)
			}
		})
	}
}

// A recorder is a testing.TB that records failures and does not fail.
type recorder struct {
	testing.TB
	failures int
}

func (r *recorder) Helper()               {}
func (r *recorder) Error(args ...any)     { r.failures++ }
func (r *recorder) Errorf(string, ...any) { r.failures++ }
func (r *recorder) Cleanup(f func())      { r.TB.Cleanup(f) }
func (r *recorder) seen() (n int)         { n, r.failures = r.failures, 0; return n }

func TestAssertions(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := &recorder{TB: t}
		w := New(r)
		w.Site("a.example").Page("/", "hello").Robots("User-agent: *\nDisallow: /no").Page("/no", "")
		transport := &http.Transport{DialContext: w.dialByName}
		client := &http.Client{Transport: transport}
		get := func(url, name string) {
			req, err := http.NewRequest("GET", url, nil)
			if err != nil {
				t.Fatal(err)
			}
			req.Header.Set("User-Agent", name)
			resp, err := client.Do(req)
			if err != nil {
				t.Fatal(err)
			}
			io.Copy(io.Discard, resp.Body)
			resp.Body.Close()
		}
		get("http://a.example/robots.txt", "bot")
		get("http://a.example/", "bot")
		w.AssertPolite()
		w.AssertFetched("http://a.example/")
		w.AssertNeverFetched("http://a.example/no")
		w.AssertDelay("", 0)
		if n := r.seen(); n != 0 {
			t.Errorf("%d failures of a polite client", n)
		}
		get("http://a.example/no", "bot")
		get("http://a.example/", "otherbot")
		for name, assert := range map[string]func(){
			"AssertPolite":       w.AssertPolite,
			"AssertFetched":      func() { w.AssertFetched("http://a.example/") },
			"AssertNeverFetched": func() { w.AssertNeverFetched("http://a.example/no") },
			"AssertDelay":        func() { w.AssertDelay("http://a.example", time.Second) },
			"a bare host":        func() { w.AssertDelay("a.example", time.Second) },
			"a slash":            func() { w.AssertDelay("http://a.example/", time.Second) },
			"a site not asked":   func() { w.AssertDelay("http://b.example", 0) },
			"another writing":    func() { w.AssertNeverFetched("HTTP://A.example:80/no") },
			"no URL":             func() { w.AssertNeverFetched("a.example/no") },
		} {
			assert()
			if r.seen() == 0 {
				t.Errorf("%s saw nothing", name)
			}
		}
		transport.CloseIdleConnections()
	})
}

// dialByName connects to a host by its name, like an ordinary HTTP client.
func (w *Web) dialByName(ctx context.Context, network, address string) (net.Conn, error) {
	host, port, err := net.SplitHostPort(address)
	if err != nil {
		return nil, err
	}
	addrs, err := w.LookupNetIP(ctx, "ip", host)
	if err != nil {
		return nil, err
	}
	return w.DialContext(ctx, network, net.JoinHostPort(addrs[0].String(), port))
}

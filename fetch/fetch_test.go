package fetch

import (
	"bytes"
	"compress/gzip"
	"context"
	"crypto/x509"
	"errors"
	"fmt"
	"io"
	"log"
	"net"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"strconv"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/permesso-crawler/permesso/frontier"
	"github.com/permesso-crawler/permesso/robots"
)

func TestRobotsComesFirstAndOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := &wire{serve: answers(noRobots(func(r *request, n int) string { return page("hello") }))}
		v := newTour(t, Options{Network: w})
		res, all := v.visit("http://a.example/1")
		if len(all) != 2 || !all[0].Robots || all[1].Robots || res.Page != all[1] || string(res.Page.Body) != "hello" {
			t.Fatalf("exchanges: %+v", all)
		}
		if gap := all[1].Started.Sub(all[0].Ended); gap < time.Second || all[1].Asked.For < time.Second || all[1].Asked.By != frontier.OwnClock {
			t.Errorf("gap %v, asked %v by %s", gap, all[1].Asked.For, all[1].Asked.By)
		}
		if !all[1].Reused || len(w.dialed) != 1 {
			t.Errorf("the connection was not kept: dialled %v", w.dialed)
		}
		if res, all = v.visit("http://a.example/2"); len(all) != 1 || res.Page == nil {
			t.Errorf("second page: %+v", all)
		}
	})
}

func TestTheTargetGoesOutAsItWasWritten(t *testing.T) {
	for raw, want := range map[string]string{
		"http://a.example/%zz?q=%&r=%C3%BC|": "/%zz?q=%&r=%C3%BC|",
		"http://a.example/a%2fb/~x;p=1":      "/a%2fb/~x;p=1",
		"http://a.example//two//slashes":     "http://a.example//two//slashes",
		"http://a.example/?b=2&a=1&b=1":      "/?b=2&a=1&b=1",
		"http://a.example/!$'()*+,:@[]":      "/!$'()*+,:@[]",
	} {
		synctest.Test(t, func(t *testing.T) {
			var got, host string
			w := &wire{serve: answers(noRobots(func(r *request, n int) string {
				got, host = r.target, r.header.Get("Host")
				return page("")
			}))}
			if res, _ := newTour(t, Options{Network: w}).visit(raw); res.Page == nil {
				t.Errorf("%s: %+v", raw, res.Outcome)
			}
			if got != want || host != "a.example" {
				t.Errorf("%s was sent as %s to %s, want %s", raw, got, host, want)
			}
		})
	}
}

func TestNoRequestIsSilentlySentAgain(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var asked []time.Time
		w := &wire{}
		// The server closes the kept connection during the second request.
		w.serve = answers(noRobots(func(r *request, n int) string {
			asked = append(asked, time.Now())
			if n == 1 {
				return ""
			}
			return page("")
		}))
		res, all := newTour(t, Options{Network: w}).visit("http://a.example/")
		if res.Page == nil || len(all) != 3 || stage(all[1]) != StageStale {
			t.Fatalf("exchanges: %+v", all)
		}
		if len(asked) != 2 || asked[1].Sub(asked[0]) < time.Second {
			t.Errorf("requests at %v", asked)
		}
	})
}

func TestTimeouts(t *testing.T) {
	drip := func(every time.Duration, head string) func(net.Conn, int) {
		return func(c net.Conn, n int) {
			buf := make([]byte, 4096)
			c.Read(buf)
			io.WriteString(c, head)
			for {
				time.Sleep(every)
				if _, err := io.WriteString(c, "x"); err != nil {
					return
				}
			}
		}
	}
	silent := func(c net.Conn, n int) { io.Copy(io.Discard, c) }
	const head = "HTTP/1.1 200 OK\r\nContent-Length: 100000\r\n\r\n"
	for _, tc := range []struct {
		name  string
		serve func(net.Conn, int)
		https bool
		want  Stage
		after time.Duration
	}{
		{"no connection", nil, false, StageConnectTimeout, 30 * time.Second},
		{"no handshake", silent, true, StageTLSTimeout, 30 * time.Second},
		{"no answer", silent, false, StageAnswerTimeout, 30 * time.Second},
		{"a header that drips", drip(time.Second, "HTTP/1.1 200 OK\r\nX-A: "), false, StageAnswerTimeout, 30 * time.Second},
		{"a body that stops", drip(time.Hour, head), false, StageBodyTimeout, 30 * time.Second},
		{"a body that drips", drip(20*time.Second, head), false, StageTotalTimeout, 2 * time.Minute},
	} {
		t.Run(tc.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				scheme := "http"
				if tc.https {
					scheme = "https"
				}
				w := &wire{serve: tc.serve}
				_, all := newTour(t, Options{Network: w}).visit(scheme + "://a.example/")
				x := all[0]
				if stage(x) != tc.want {
					t.Errorf("stage %q, want %q: %v", stage(x), tc.want, x.Err)
				}
				if took := x.Ended.Sub(x.Started); took != tc.after {
					t.Errorf("took %v, want %v", took, tc.after)
				}
				for _, x := range all {
					if !x.Robots {
						t.Error("a page was requested without its robots.txt")
					}
				}
			})
		})
	}
}

func TestAnswersThatAreNotWhole(t *testing.T) {
	var bomb bytes.Buffer
	z := gzip.NewWriter(&bomb)
	z.Write(make([]byte, 1<<20))
	z.Close()
	for _, tc := range []struct {
		name, answer string
		want         Stage
		truncated    string
	}{
		{"short body", "HTTP/1.1 200 OK\r\nContent-Length: 10\r\n\r\nhalf", StageTruncated, "disconnect"},
		{"short chunk", "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n10\r\nhalf", StageTruncated, "disconnect"},
		{"bad chunk", "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\nzz\r\nhalf\r\n", StageTruncated, "disconnect"},
		{"no status line", "hello\r\n\r\n", StageProtocol, ""},
		{"bad length", "HTTP/1.1 200 OK\r\nContent-Length: 4\r\nContent-Length: 5\r\n\r\n", StageProtocol, ""},
		{"header flood", "HTTP/1.1 200 OK\r\n" + strings.Repeat("X-A: "+strings.Repeat("a", 1000)+"\r\n", 300) + "\r\n", StageHeaderSize, ""},
		{"cut gzip", "HTTP/1.1 200 OK\r\nContent-Encoding: gzip\r\nContent-Length: 12\r\n\r\n" + bomb.String()[:12], StageTruncated, "disconnect"},
		{"no gzip", "HTTP/1.1 200 OK\r\nContent-Encoding: gzip\r\nContent-Length: 20\r\n\r\nthis is not gzip at all", StageEncoding, "unspecified"},
		{"unasked encoding", "HTTP/1.1 200 OK\r\nContent-Encoding: compress\r\nContent-Length: 1\r\n\r\nx", StageEncoding, "unspecified"},
		{"bomb", "HTTP/1.1 200 OK\r\nContent-Encoding: gzip\r\nContent-Length: " + strconv.Itoa(bomb.Len()) + "\r\n\r\n" + bomb.String(), "", "length"},
		{"long body", "HTTP/1.1 200 OK\r\nContent-Length: 5000\r\n\r\n" + strings.Repeat("x", 5000), "", "length"},
		{"exact body", page(strings.Repeat("x", 1000)), "", ""},
	} {
		t.Run(tc.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				served := 0
				w := &wire{serve: answers(noRobots(func(r *request, n int) string { return tc.answer }))}
				serve := w.serve
				w.serve = func(c net.Conn, n int) {
					served++
					// The server closes the connection after these bytes.
					serve(&once{Conn: c}, n)
				}
				_, all := newTour(t, Options{Network: w, Bodies: Bodies{MaxSize: 1000}}).visit("http://a.example/")
				x := all[1]
				if stage(x) != tc.want || x.Truncated != tc.truncated {
					t.Errorf("stage %q, truncated %q; want %q, %q: %v", stage(x), x.Truncated, tc.want, tc.truncated, x.Err)
				}
				if len(x.Body) > 1000 {
					t.Errorf("%d bytes of body, the cap is 1000", len(x.Body))
				}
			})
		})
	}
}

// A once is a connection that is closed after the second answer was written to it.
type once struct {
	net.Conn
	writes int
}

func (o *once) Write(b []byte) (int, error) {
	n, err := o.Conn.Write(b)
	if o.writes++; o.writes == 2 {
		o.Conn.Close()
	}
	return n, err
}

func TestOnlyCheckedAddressesAreDialled(t *testing.T) {
	public, private := netip.MustParseAddr("16.0.0.9"), netip.MustParseAddr("127.0.0.1")
	for _, tc := range []struct {
		name    string
		answers [][]netip.Addr
		dialed  string
	}{
		{"private", [][]netip.Addr{{private}}, "[]"},
		{"mapped", [][]netip.Addr{{netip.MustParseAddr("::ffff:10.0.0.1")}}, "[]"},
		{"shared", [][]netip.Addr{{netip.MustParseAddr("100.64.0.1")}}, "[]"},
		{"link-local", [][]netip.Addr{{netip.MustParseAddr("fe80::1")}}, "[]"},
		{"gateway to IPv4", [][]netip.Addr{{netip.MustParseAddr("64:ff9b::7f00:1")}}, "[]"},
		{"rebinding", [][]netip.Addr{{public}, {private}}, "[16.0.0.9:80]"},
		{"both", [][]netip.Addr{{private, public}}, "[16.0.0.9:80]"},
		{"mapped public", [][]netip.Addr{{netip.MustParseAddr("::ffff:16.0.0.9")}}, "[16.0.0.9:80]"},
		{"with a zone", [][]netip.Addr{{netip.MustParseAddr("2606:4700::1%eth0")}}, "[[2606:4700::1]:80]"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				w := &wire{addrs: map[string][][]netip.Addr{"a.example": tc.answers}}
				w.serve = answers(noRobots(func(r *request, n int) string { return page("") }))
				res, _ := newTour(t, Options{Network: w}).visit("http://a.example/")
				if got := fmt.Sprint(w.dialed); got != tc.dialed {
					t.Errorf("dialled %s, want %s", got, tc.dialed)
				}
				if tc.dialed == "[]" && (!res.Outcome.Gone || !strings.Contains(res.Outcome.Fate.Detail, "not a public address")) {
					t.Errorf("fate: %+v", res.Outcome.Fate)
				}
			})
		})
	}
}

func TestConnectTo(t *testing.T) {
	for s, want := range map[string]ConnectTo{
		"::127.0.0.1:8080":              {"", "", "127.0.0.1", "8080"},
		"A.example:80:b.example:":       {"a.example", "80", "b.example", ""},
		"[::1]:80:[2001:db8::1]:81":     {"::1", "80", "2001:db8::1", "81"},
		":::":                           {},
		"a.example:443:127.0.0.1:44300": {"a.example", "443", "127.0.0.1", "44300"},
	} {
		if got, err := ParseConnectTo(s); err != nil || got != want || got.String() != strings.ToLower(s) {
			t.Errorf("%q = %+v, %v, written %s", s, got, err, got)
		}
	}
	for _, s := range []string{"", "a", "a:80", "a:80:b", "a:x:b:80", "a:80:b:0", "a:80:b:65536", "[::1:80:b:80", "[::80", "a:8a:b:80", "a:80:b:8a"} {
		if c, err := ParseConnectTo(s); err == nil {
			t.Errorf("%q = %+v, want an error", s, c)
		}
	}
	// An address counts as shared if DNS returned it. Its value decides whether it is public.
	for _, tc := range []struct {
		to     []ConnectTo
		addr   string
		opts   Options
		want   string
		public bool
	}{
		{nil, "16.0.0.9", Options{}, "16.0.0.9:80", true},
		{nil, "10.0.0.9", Options{AllowPrivate: true}, "10.0.0.9:80", false},
		{[]ConnectTo{{ToHost: "b.example"}}, "16.0.0.9", Options{}, "16.0.0.9:80", false},
		{[]ConnectTo{{ToHost: "b.example"}}, "10.0.0.9", Options{}, "10.0.0.9:80", false},
		{[]ConnectTo{{ToPort: "65535"}}, "16.0.0.9", Options{}, "16.0.0.9:65535", true},
		{[]ConnectTo{{"", "", "b.example", "1"}, {"", "", "c.example", "2"}}, "16.0.0.9", Options{}, "16.0.0.9:1", false},
		{[]ConnectTo{{"b.example", "", "", "1"}, {"", "81", "", "2"}, {"a.example", "80", "", "3"}}, "16.0.0.9", Options{}, "16.0.0.9:3", true},
	} {
		tc.opts.ConnectTo = tc.to
		tc.opts.Network = &resolver{answer: func(context.Context, string) ([]netip.Addr, error) {
			return []netip.Addr{netip.MustParseAddr(tc.addr)}, nil
		}}
		eps, err := newTour(t, tc.opts).fetcher.resolve(t.Context(), "http://a.example")
		if err != nil || len(eps) != 1 || eps[0].addr.String() != tc.want || eps[0].public != tc.public {
			t.Errorf("%v, %s: %+v, %v", tc.to, tc.addr, eps, err)
		}
	}
	synctest.Test(t, func(t *testing.T) {
		w := &wire{serve: answers(noRobots(func(r *request, n int) string { return page(r.header.Get("Host")) }))}
		opts := Options{Network: w, ConnectTo: []ConnectTo{{"a.example", "80", "127.0.0.1", "8080"}, {"", "81", "", "82"}}}
		v := newTour(t, opts)
		res, _ := v.visit("http://a.example/")
		if res.Page == nil || string(res.Page.Body) != "a.example" {
			t.Errorf("outcome: %+v", res.Outcome)
		}
		v.visit("http://b.example:81/")
		if got := fmt.Sprint(w.dialed); got != "[127.0.0.1:8080 16.0.0.1:82]" {
			t.Errorf("dialled %s", got)
		}
	})
}

func TestRobotsRedirects(t *testing.T) {
	hop := func(to string) string {
		return "HTTP/1.1 302 Found\r\nContent-Length: 0\r\nLocation: " + to + "\r\n\r\n"
	}
	rules := page("User-agent: *\nDisallow: /no")
	for _, tc := range []struct {
		name  string
		serve func(path string) string
		want  robots.Access
	}{
		{"ten hops", func(p string) string {
			n, _ := strconv.Atoi(strings.TrimPrefix(p, "/robots.txt/"))
			if n == 10 {
				return rules
			}
			return hop("/robots.txt/" + strconv.Itoa(n+1))
		}, robots.Disallow},
		{"eleven hops", func(p string) string {
			n, _ := strconv.Atoi(strings.TrimPrefix(p, "/robots.txt/"))
			if n == 11 {
				return rules
			}
			return hop("/robots.txt/" + strconv.Itoa(n+1))
		}, robots.Defer},
		{"loop", func(p string) string { return hop("/robots.txt") }, robots.Defer},
		{"no location", func(p string) string { return "HTTP/1.1 301 Moved\r\nContent-Length: 0\r\n\r\n" }, robots.Defer},
		{"file", func(p string) string { return hop("file:///etc/passwd") }, robots.Defer},
		{"script", func(p string) string { return hop("javascript:alert(1)") }, robots.Defer},
		{"inside", func(p string) string { return hop("http://169.254.169.254/robots.txt") }, robots.Defer},
	} {
		t.Run(tc.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				w := &wire{serve: answers(func(r *request, n int) string {
					if strings.HasPrefix(r.target, "/robots.txt") {
						return tc.serve(r.target)
					}
					t.Errorf("%s was requested", r.target)
					return page("")
				})}
				res, all := newTour(t, Options{Network: w}).visit("http://a.example/no")
				if res.Verdict.Access != tc.want {
					t.Errorf("verdict %v, want %v", res.Verdict.Access, tc.want)
				}
				for i := 1; i < len(all); i++ {
					if gap := all[i].Started.Sub(all[i-1].Ended); gap < time.Second {
						t.Errorf("a hop after %v", gap)
					}
				}
			})
		})
	}
}

func TestRobotsIsRefreshedConditionally(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var asked []string
		w := &wire{serve: answers(func(r *request, n int) string {
			if r.target != "/robots.txt" {
				return page("")
			}
			asked = append(asked, r.header.Get("If-None-Match"))
			if len(asked) > 1 {
				return "HTTP/1.1 304 Not Modified\r\nETag: \"1\"\r\n\r\n"
			}
			body := "User-agent: *\nDisallow: /no"
			return "HTTP/1.1 200 OK\r\nETag: \"1\"\r\nContent-Length: " + strconv.Itoa(len(body)) + "\r\n\r\n" + body
		})}
		v := newTour(t, Options{Network: w})
		for range 3 {
			if res, _ := v.visit("http://a.example/no"); res.Verdict.Access == robots.Allow {
				t.Error("allowed")
			}
			time.Sleep(25 * time.Hour)
		}
		if fmt.Sprintf("%q", asked) != `["" "\"1\"" "\"1\""]` {
			t.Errorf("requested with %q", asked)
		}
	})
}

func TestRobotsThatWantsPlainFieldsGetsThem(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		n := 0
		w := &wire{serve: answers(func(r *request, _ int) string {
			if r.target != "/robots.txt" {
				return page("")
			}
			n++
			if r.header.Get("Accept") != "" {
				return "HTTP/1.1 406 Not Acceptable\r\nContent-Length: 0\r\n\r\n"
			}
			return page("User-agent: *\nDisallow: /no")
		})}
		res, _ := newTour(t, Options{Network: w}).visit("http://a.example/no")
		if res.Verdict.Access != robots.Disallow || n != 2 {
			t.Errorf("verdict %v after %d requests", res.Verdict.Access, n)
		}
	})
}

func TestHTTP2AndItsKeptConnection(t *testing.T) {
	var conns atomic.Int32
	server := httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/robots.txt" {
			http.NotFound(w, r)
			return
		}
		fmt.Fprint(w, r.Proto, " ", r.RequestURI)
	}))
	server.EnableHTTP2 = true
	server.Config.ConnState = func(c net.Conn, s http.ConnState) {
		if s == http.StateNew {
			conns.Add(1)
		}
	}
	server.StartTLS()
	defer server.Close()
	pool := x509.NewCertPool()
	pool.AddCert(server.Certificate())
	v := newTour(t, Options{RootCAs: pool, AllowPrivate: true, ConnectTo: []ConnectTo{{ToHost: "127.0.0.1", ToPort: strings.Split(server.Listener.Addr().String(), ":")[1]}}})
	v.delay = -1
	for i := range 3 {
		res, all := v.visit(fmt.Sprintf("https://example.com/%d?q=%%zz", i))
		if res.Page == nil || string(res.Page.Body) != fmt.Sprintf("HTTP/2.0 /%d?q=%%zz", i) || res.Page.Proto != "h2" {
			t.Fatalf("%+v %v", res.Page, last(all).Err)
		}
	}
	if n := conns.Load(); n != 1 {
		t.Errorf("%d connections, want 1", n)
	}
}

func TestCertificatesAreVerified(t *testing.T) {
	server := httptest.NewUnstartedServer(http.NotFoundHandler())
	server.Config.ErrorLog = log.New(io.Discard, "", 0)
	server.StartTLS()
	defer server.Close()
	v := newTour(t, Options{
		AllowPrivate: true,
		ConnectTo:    []ConnectTo{{ToHost: "127.0.0.1", ToPort: strings.Split(server.Listener.Addr().String(), ":")[1]}},
	})
	v.once = true
	_, all := v.visit("https://example.com/")
	if x := all[0]; stage(x) != StageTLS {
		t.Errorf("stage %q: %v", stage(x), x.Err)
	}
}

func TestNewChecksItsOptions(t *testing.T) {
	if _, err := New(Options{UserAgent: "x"}); err == nil {
		t.Error("no token: no error")
	}
	if _, err := New(Options{Policy: robots.Policy{Token: "bot9"}, UserAgent: "x"}); err == nil {
		t.Error("bad token: no error")
	}
	if _, err := New(Options{Policy: robots.Policy{Token: "bot"}}); err == nil {
		t.Error("no user agent: no error")
	}
	if _, err := New(Options{Policy: robots.Policy{Token: "bot"}, UserAgent: "bot", Purpose: "spam"}); err == nil || !strings.HasPrefix(err.Error(), `fetch: Options.Purpose: "spam" is not one of`) {
		t.Errorf("no purpose: %v", err)
	}
}

func TestWhatIsPublic(t *testing.T) {
	for addr, want := range map[string]bool{
		"16.0.0.9": true, "::ffff:16.0.0.9": true, "2606:4700::1": true,
		"10.0.0.1": false, "::ffff:10.0.0.1": false, "127.0.0.1": false, "::1": false, "fe80::1": false, "2606:4700::1%eth0": false,
	} {
		if Public(netip.MustParseAddr(addr)) != want {
			t.Errorf("%s is public: %t", addr, !want)
		}
	}
	if Public(netip.Addr{}) {
		t.Error("no address is public")
	}
}

func TestErrorNamesItsURL(t *testing.T) {
	cause := errors.New("cause")
	err := error(&Error{"http://a.example/", StageConnect, cause})
	if !errors.Is(err, cause) || err.Error() != "http://a.example/: connect: cause" {
		t.Error(err)
	}
}

func FuzzParseConnectTo(f *testing.F) {
	for _, s := range []string{"::127.0.0.1:80", "[::1]:80:[::2]:81", ":::", "a:b"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		if c, err := ParseConnectTo(s); err == nil && strings.Count(s, ":") < 3 {
			t.Errorf("%q = %+v", s, c)
		}
	})
}

package fetch

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/netip"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/permesso-crawler/permesso/frontier"
	"github.com/permesso-crawler/permesso/robots"
)

// deaf is a Network whose resolver never answers.
type deaf struct{ *wire }

func (d deaf) LookupNetIP(ctx context.Context, _, _ string) ([]netip.Addr, error) {
	<-ctx.Done()
	return nil, ctx.Err()
}

func TestTheContextEndsEachPhase(t *testing.T) {
	silent := func(c net.Conn, n int) { io.Copy(io.Discard, c) }
	says := func(s string) func(net.Conn, int) {
		return func(c net.Conn, n int) {
			go io.Copy(io.Discard, c) // reads the client's bytes; it ends with the connection
			io.WriteString(c, s)
			<-time.After(time.Hour)
		}
	}
	for _, tc := range []struct {
		name, url string
		network   func() Network
		opts      Options
	}{
		{"name", "http://a.example/", func() Network { return deaf{&wire{}} }, Options{}},
		{"connection", "http://a.example/", func() Network { return &wire{} }, Options{}},
		{"TLS", "https://a.example/", func() Network { return &wire{serve: silent} }, Options{}},
		{"answer", "http://a.example/", func() Network { return &wire{serve: silent} }, Options{}},
		{"header", "http://a.example/", func() Network { return &wire{serve: says("HTTP/1.1 200 OK\r\nX-")} }, Options{}},
		{"body", "http://a.example/", func() Network { return &wire{serve: says("HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\nhalf")} }, Options{}},
		{"slow body", "http://a.example/", func() Network {
			return &wire{serve: answers(func(*request, int) string { return page(strings.Repeat("x", 100<<10)) })}
		}, Options{Bandwidth: 1}},
		{"FTP greeting", "ftp://a.example/", func() Network { return &wire{serve: silent} }, Options{}},
		{"FTP reply", "ftp://a.example/", func() Network { return &wire{serve: says("220 hello\r\n331 password\r\n")} }, Options{}},
	} {
		t.Run(tc.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				opts := tc.opts
				opts.Network = tc.network()
				f := newTour(t, opts).fetcher
				ctx, cancel := context.WithCancel(t.Context())
				begin := time.Now()
				time.AfterFunc(7*time.Second, cancel)
				var took time.Duration
				stopped := Stage("")
				visitWith(ctx, f, tc.url, func(r *Result) {
					took = time.Since(begin)
					stopped = stage(last(r.Exchanges))
				})
				if took != 7*time.Second || stopped != StageStopped {
					t.Errorf("ended after %v, stage %q", took, stopped)
				}
			})
		})
	}
}

func TestAConnectionIsClosedAfterAFailedHandshake(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		closed := false
		w := &wire{serve: func(c net.Conn, n int) {
			c.Read(make([]byte, 4096))
			io.WriteString(c, "HTTP/1.1 400 Bad Request\r\n\r\n")
			io.Copy(io.Discard, c)
			closed = true
		}}
		v := newTour(t, Options{Network: w})
		v.once = true
		_, all := v.visit("https://a.example/")
		synctest.Wait()
		if stage(all[0]) != StageTLS || !closed {
			t.Errorf("stage %q, closed %t", stage(all[0]), closed)
		}
	})
}

func TestARobotsRedirectThatCannotBeRead(t *testing.T) {
	for _, to := range []string{"http://", "http://[", "http://a.example:99999/", "//", "http://a b/", "http://%zz/", "mailto:x@example.org"} {
		synctest.Test(t, func(t *testing.T) {
			w := &wire{serve: answers(func(r *request, n int) string {
				return "HTTP/1.1 302 Found\r\nContent-Length: 0\r\nLocation: " + to + "\r\n\r\n"
			})}
			v := newTour(t, Options{Network: w})
			v.once = true
			res, all := v.visit("http://a.example/")
			if res.Snapshot == nil || res.Snapshot.Failure != failRedirect || res.Verdict.Access != robots.Defer || len(all) != 1 {
				t.Errorf("%q: %+v, %d requests", to, res.Snapshot, len(all))
			}
		})
	}
}

// The stored copy came from the target of the redirect. So the request for the target is
// conditional, and the request for the redirect is not.
func TestAConditionalRequestAfterARobotsRedirect(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var asked []string
		w := &wire{serve: answers(func(r *request, n int) string {
			if strings.Contains(r.target, "rob") || strings.Contains(r.target, "rules") {
				asked = append(asked, r.target+" "+r.header.Get("If-None-Match"))
			}
			switch {
			case r.target == "/robots.txt":
				return "HTTP/1.1 301 Moved\r\nETag: \"redirect\"\r\nContent-Length: 0\r\nLocation: /rules.txt\r\n\r\n"
			case r.header.Get("If-None-Match") != "":
				return "HTTP/1.1 304 Not Modified\r\nETag: \"rules\"\r\n\r\n"
			}
			body := "User-agent: *\nDisallow: /no"
			return fmt.Sprintf("HTTP/1.1 200 OK\r\nETag: \"rules\"\r\nContent-Length: %d\r\n\r\n%s", len(body), body)
		})}
		v := newTour(t, Options{Network: w})
		for range 2 {
			if res, _ := v.visit("http://a.example/no"); res.Verdict.Access != robots.Disallow {
				t.Errorf("verdict %v", res.Verdict.Access)
			}
			time.Sleep(25 * time.Hour)
		}
		if got := fmt.Sprintf("%q", asked); got != `["/robots.txt " "/rules.txt " "/robots.txt " "/rules.txt \"rules\""]` {
			t.Errorf("requests %s", got)
		}
	})
}

func TestAnFTPAddressThatRefusesIsAvoided(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		first, second := netip.MustParseAddr("16.0.0.1"), netip.MustParseAddr("16.0.0.2")
		w := &wire{addrs: map[string][][]netip.Addr{"a.example": {{first, second}}}, refuse: map[string]bool{"16.0.0.1:21": true}}
		s := &ftpServer{files: map[string]string{"/x": "hello"}, data: make(chan net.Conn), wire: w}
		w.serve = s.serve
		res, _ := newTour(t, Options{Network: w}).visit("ftp://a.example/x")
		if res.Page == nil || string(res.Page.Body) != "hello" || w.dialed[0] != "16.0.0.1:21" || w.dialed[1] != "16.0.0.2:21" {
			t.Errorf("outcome %+v, dialled %v", res.Outcome, w.dialed)
		}
	})
}

func TestAFailedPageSaysWhy(t *testing.T) {
	for answer, want := range map[string]string{
		"HTTP/1.1 500 No\r\nContent-Length: 0\r\n\r\n":             "http 500",
		"HTTP/1.1 503 No\r\nContent-Length: 0\r\n\r\n":             "http 503",
		"HTTP/1.1 200 OK\r\nContent-Encoding: compress\r\n\r\nxxx": "encoding",
		"hello\r\n\r\n": "protocol",
	} {
		synctest.Test(t, func(t *testing.T) {
			w := &wire{serve: answers(noRobots(func(r *request, n int) string { return answer }))}
			res, _ := newTour(t, Options{Network: w}).visit("http://a.example/")
			if fate := res.Outcome.Fate; fate.Code != frontier.Failed || fate.Detail != want {
				t.Errorf("%q: %+v, want %q", answer, fate, want)
			}
		})
	}
}

func TestARobotsFileOfOneByte(t *testing.T) {
	for body, want := range map[string]robots.Access{"": robots.Allow, "x": robots.Allow, "\xef": robots.Allow} {
		synctest.Test(t, func(t *testing.T) {
			w := &wire{serve: answers(func(r *request, n int) string { return page(body) })}
			if res, _ := newTour(t, Options{Network: w}).visit("http://a.example/x"); res.Verdict.Access != want || res.Page == nil {
				t.Errorf("%q: %+v", body, res.Verdict)
			}
		})
	}
}

func TestBracketsHoldNoIPv4(t *testing.T) {
	for _, raw := range []string{"http://[1.2.3.4]/", "http://[1.2.3.4]:80/", "http://[]/", "http://[::1%25eth0]/", "http://[::1/"} {
		var refused *frontier.URLError
		if u, err := frontier.ParseURL(raw); !errors.As(err, &refused) {
			t.Errorf("%s is %v, %v", raw, u, err)
		}
	}
}

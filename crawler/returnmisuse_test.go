package crawler_test

import (
	"context"
	"errors"
	"fmt"
	"math"
	"net"
	"net/http"
	"net/netip"
	"net/url"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/permesso-crawler/permesso/crawler"
	"github.com/permesso-crawler/permesso/crawler/revisit"
	"github.com/permesso-crawler/permesso/fetch"
	"github.com/permesso-crawler/permesso/frontier"
)

// A lyingNetwork is a network whose results come from functions of the test. If a function is nil,
// the result is that of the web.
type lyingNetwork struct {
	buggyNetwork
	addrs func() ([]netip.Addr, error)
	conn  func(net.Conn) (net.Conn, error)
}

func (n lyingNetwork) LookupNetIP(ctx context.Context, network, host string) ([]netip.Addr, error) {
	if n.addrs != nil {
		return n.addrs()
	}
	return n.Network.LookupNetIP(ctx, network, host)
}

func (n lyingNetwork) DialContext(ctx context.Context, network, address string) (net.Conn, error) {
	c, err := n.Network.DialContext(ctx, network, address)
	if err != nil || n.conn == nil {
		return c, err
	}
	return n.conn(c)
}

// A stuckConn blocks each Read until the deadline, and discards the data of Write.
type stuckConn struct{ net.Conn }

func (c stuckConn) Write(p []byte) (int, error) { return len(p), nil }

// A greedyConn returns larger numbers of bytes than the buffers have.
type greedyConn struct{ net.Conn }

func (c greedyConn) Write(p []byte) (int, error) { return len(p) + 100, nil }

func addr(a ...netip.Addr) func(*crawler.Options) {
	return func(o *crawler.Options) {
		o.Network = lyingNetwork{buggyNetwork: buggyNetwork{Network: o.Network}, addrs: func() ([]netip.Addr, error) { return a, nil }}
	}
}

func conn(lie func(net.Conn) (net.Conn, error)) func(*crawler.Options) {
	return func(o *crawler.Options) {
		o.Network = lyingNetwork{buggyNetwork: buggyNetwork{Network: o.Network}, conn: lie}
	}
}

func through(u *url.URL, err error) func(*crawler.Options) {
	return func(o *crawler.Options) { o.Proxy = func(*url.URL) (*url.URL, error) { return u, err } }
}

func onSite(s crawler.SiteOptions) func(*crawler.Options) {
	return func(o *crawler.Options) { o.Site = func(frontier.Site) crawler.SiteOptions { return s } }
}

func revisits(d time.Duration) func(*crawler.Options) {
	return func(o *crawler.Options) {
		o.Patience, o.MaxTime = time.Minute, 10*time.Minute
		o.Revisit = revisit.PolicyFunc(func(revisit.Visit) time.Duration { return d })
	}
}

// oddReturns returns options whose functions return invalid values, by name.
func oddReturns() map[string]func(*crawler.Options) {
	var n atomic.Int64
	long := strings.Repeat("x", 1<<20)
	return map[string]func(*crawler.Options){
		"Rewrite grows": func(o *crawler.Options) {
			o.Rewrite, o.Limit = func(u frontier.URL) frontier.URL { v, _ := u.Resolve(u.Target() + "x"); return v }, 10
		},
		"Rewrite, another site": func(o *crawler.Options) {
			o.Rewrite = func(frontier.URL) frontier.URL { return mustBe("http://out.example/") }
		},
		"Rewrite, no crawl": func(o *crawler.Options) {
			o.Rewrite = func(u frontier.URL) frontier.URL { return mustBe("http://a.example/no") }
		},
		"Rewrite, at random": func(o *crawler.Options) {
			o.Limit, o.Rewrite = 10, func(frontier.URL) frontier.URL { return mustBe(fmt.Sprint("http://a.example/", n.Add(1))) }
		},
		"Same, at random": func(o *crawler.Options) {
			o.Same = func(frontier.URL) frontier.URL { return mustBe(fmt.Sprint("http://a.example/", n.Add(1))) }
		},
		"Same, one for all": func(o *crawler.Options) {
			o.Same = func(frontier.URL) frontier.URL { return mustBe("http://a.example/no") }
		},
		"Same, nothing": func(o *crawler.Options) { o.Same = func(frontier.URL) frontier.URL { return frontier.URL{} } },
		"Same, another site": func(o *crawler.Options) {
			o.Same = func(frontier.URL) frontier.URL { return mustBe("http://out.example/") }
		},
		"Scope, at random": func(o *crawler.Options) {
			o.Scope = crawler.ScopeFunc(func(frontier.Entry) bool { return n.Add(1)%2 == 0 })
		},
		"Scope, nothing": func(o *crawler.Options) { o.Scope = crawler.ScopeFunc(func(frontier.Entry) bool { return false }) },
		"OptOut, a huge text": func(o *crawler.Options) {
			o.OptOut = func(u frontier.URL) string { return map[bool]string{true: long}[u.Target() == "/1"] }
		},
		"OptOut, line ends": func(o *crawler.Options) { o.OptOut = func(frontier.URL) string { return "a\r\nb\x00\x1b[31m" } },
		"OptOut, at random": func(o *crawler.Options) {
			o.OptOut = func(frontier.URL) string { return []string{"", "x"}[n.Add(1)%2] }
		},
		"Links, odd": func(o *crawler.Options) {
			o.Links = func(_ *crawler.Page, l *crawler.Link) bool {
				l.Rank, l.Tag, l.Head = 255, long[:1<<16]+"\x00\t\n\xff", n.Add(1)%2 == 0
				return true
			}
		},
		"Links, nothing":         func(o *crawler.Options) { o.Links = func(*crawler.Page, *crawler.Link) bool { return false } },
		"MaxBody, negative":      func(o *crawler.Options) { o.MaxBody = func(*fetch.Exchange) int64 { return math.MinInt64 } },
		"MaxBody, huge":          func(o *crawler.Options) { o.MaxBody = func(*fetch.Exchange) int64 { return math.MaxInt64 } },
		"MaxBody, one":           func(o *crawler.Options) { o.MaxBody = func(*fetch.Exchange) int64 { return 1 } },
		"Revisit, negative":      revisits(-time.Hour),
		"Revisit, none":          revisits(0),
		"Revisit, at once":       revisits(1),
		"Revisit, for ever":      revisits(math.MaxInt64),
		"Site, negative":         onSite(crawler.SiteOptions{Delay: -5, Reason: "x"}),
		"Site, a shorter pause":  onSite(crawler.SiteOptions{Delay: 1}),
		"Site, no reason":        onSite(crawler.SiteOptions{AllowForbidden: true}),
		"Site, a bad header":     onSite(crawler.SiteOptions{Header: http.Header{"User-Agent": {"evil"}}, Reason: "x"}),
		"Site, a line end":       onSite(crawler.SiteOptions{Header: http.Header{"X": {"a\r\nb"}}, Reason: "x"}),
		"Site, a nil scope":      onSite(crawler.SiteOptions{Scope: crawler.ScopeFunc(nil), Reason: "x"}),
		"Site, a nil pointer":    onSite(crawler.SiteOptions{Scope: (*nilScope)(nil), Reason: "x"}),
		"Site, huge budgets":     onSite(crawler.SiteOptions{MaxPages: math.MaxInt, MaxBytes: math.MaxInt64, MaxTime: math.MaxInt64, Reason: "x"}),
		"Site, negative budgets": onSite(crawler.SiteOptions{MaxPages: math.MinInt, Reason: "x"}),
		"Site, for ever":         onSite(crawler.SiteOptions{Delay: math.MaxInt64}),
		"Site, a huge reason":    onSite(crawler.SiteOptions{Delay: time.Minute, Reason: long + "\r\n\x00"}),
		"Proxy, an error":        through(nil, errBug),
		"Proxy, zero":            through(&url.URL{}, nil),
		"Proxy, both":            through(&url.URL{Scheme: "http", Host: "a.example"}, errBug),
		"Proxy, ftp":             through(&url.URL{Scheme: "ftp", Host: "a.example"}, nil),
		"Proxy, no host":         through(&url.URL{Scheme: "http"}, nil),
		"Proxy, a bad host":      through(&url.URL{Scheme: "socks5", Host: "\x00:99999"}, nil),
		"Proxy, itself":          through(&url.URL{Scheme: "http", Host: "a.example:80"}, nil),
		"no address":             addr(),
		"the zero address":       addr(netip.Addr{}),
		"any address":            addr(netip.IPv4Unspecified(), netip.IPv6Unspecified()),
		"this machine":           addr(netip.MustParseAddr("127.0.0.1"), netip.MustParseAddr("::1")),
		"a private address":      addr(netip.MustParseAddr("10.0.0.1"), netip.MustParseAddr("fe80::1%eth0"), netip.MustParseAddr("169.254.169.254")),
		"a multicast address":    addr(netip.MustParseAddr("224.0.0.1"), netip.MustParseAddr("255.255.255.255")),
		"many addresses":         addr(make([]netip.Addr, 1<<12)...),
		"a nil connection":       conn(func(net.Conn) (net.Conn, error) { return nil, nil }),
		"a connection, an error": conn(func(c net.Conn) (net.Conn, error) { c.Close(); return c, errBug }),
		"a closed connection":    conn(func(c net.Conn) (net.Conn, error) { c.Close(); return c, nil }),
		"a stuck connection":     conn(func(c net.Conn) (net.Conn, error) { return stuckConn{c}, nil }),
		"a greedy connection":    conn(func(c net.Conn) (net.Conn, error) { return greedyConn{c}, nil }),
		"one connection for all": conn(func() func(c net.Conn) (net.Conn, error) {
			var first atomic.Pointer[net.Conn]
			return func(c net.Conn) (net.Conn, error) {
				if !first.CompareAndSwap(nil, &c) {
					c.Close()
				}
				return *first.Load(), nil
			}
		}()),
	}
}

func mustBe(raw string) frontier.URL {
	u, _ := frontier.ParseURL(raw)
	return u
}

// If a function of the program returns an invalid value, the run ends with a typed error or within
// its patience. No request is early or forbidden.
func TestHooksThatReturnOddValues(t *testing.T) {
	for name := range oddReturns() {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			dir := t.TempDir()
			synctest.Test(t, func(t *testing.T) {
				w := newBuggyWeb(t, hook{}, dir)
				o := crawler.Options{Identity: testIdentity, Seeds: []string{"http://a.example/", "http://b.example/"}, Dir: dir, Wire: crawler.Wire{Network: w.Web}, Pace: crawler.Pace{Concurrency: 3}}
				oddReturns()[name](&o)
				c, err := crawler.New(o)
				if err == nil {
					err = c.Run(t.Context(), nil)
					_ = c.Summary().String()
					for _, err := range c.Left() {
						if err != nil {
							t.Errorf("Left: %v", err)
						}
					}
				}
				var option *crawler.OptionError
				var panicked *crawler.PanicError
				if err != nil && !errors.As(err, &option) && !errors.As(err, &panicked) || err != nil && len(err.Error()) > 1<<12 {
					t.Errorf("%.1000v", err)
				}
				if took := time.Since(w.begun); took > 3*time.Hour {
					t.Errorf("the run took %v", took)
				}
				for _, r := range w.Log() {
					if strings.Contains(fmt.Sprint(r.Header), "evil") {
						t.Errorf("%s was requested with %v", r.URL(), r.Header)
					}
				}
				w.AssertNeverFetched("http://a.example/no")
				if name != "Rewrite, another site" { // all other cases request the seeds
					w.AssertNeverFetched("http://out.example/")
				}
				if len(w.Log()) > 0 && name != "Revisit, at once" { // this case requests pages again
					w.AssertPolite()
				}
				w.AssertDelay("", time.Second)
				time.Sleep(time.Hour)
			})
		})
	}
}

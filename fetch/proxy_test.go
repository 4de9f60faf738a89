package fetch

import (
	"bufio"
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"net/url"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/permesso-crawler/permesso/frontier"
	"golang.org/x/net/http/httpproxy"
)

// certified returns a TLS configuration for example.com, and the certificates that verify it.
func certified(t testing.TB) (*tls.Config, *x509.CertPool) {
	server := httptest.NewUnstartedServer(nil)
	server.StartTLS()
	t.Cleanup(server.Close)
	pool := x509.NewCertPool()
	pool.AddCert(server.Certificate())
	return &tls.Config{Certificates: server.TLS.Certificates}, pool
}

func mustProxy(t testing.TB, raw string) ProxyFunc {
	t.Helper()
	p, err := ParseProxy(raw)
	if err != nil {
		t.Fatal(err)
	}
	return p
}

func TestAProxyForwardsWhatHasNoTLS(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var got []*request
		w := &wire{addrs: map[string][][]netip.Addr{"proxy.test": {{netip.MustParseAddr("10.0.0.1")}}}}
		w.serve = answers(func(r *request, n int) string {
			got = append(got, r)
			if strings.HasSuffix(r.target, "/robots.txt") {
				return "HTTP/1.1 404 Not Found\r\nContent-Length: 0\r\n\r\n"
			}
			return page("hello")
		})
		v := newTour(t, Options{Network: w, Bodies: Bodies{KeepWire: true}, Proxy: mustProxy(t, "http://me:pass%20word@proxy.test:3128")})
		res, _ := v.visit("http://a.example/%zz?b=2")
		if res.Page == nil || string(res.Page.Body) != "hello" {
			t.Fatalf("outcome: %+v", res.Outcome)
		}
		x := res.Page
		if fmt.Sprint(w.dialed) != "[10.0.0.1:3128]" || w.lookups != 1 {
			t.Errorf("dialled %v after %d look-ups, want the proxy alone", w.dialed, w.lookups)
		}
		if x.Addr.IsValid() || x.Proxy != "http://proxy.test:3128" {
			t.Errorf("address %v, proxy %q", x.Addr, x.Proxy)
		}
		if got[1].target != "http://a.example/%zz?b=2" || got[1].header.Get("Host") != "a.example" {
			t.Errorf("the proxy got a request for %s of %s", got[1].target, got[1].header.Get("Host"))
		}
		if auth := got[1].header.Get("Proxy-Authorization"); auth != "Basic bWU6cGFzcyB3b3Jk" {
			t.Errorf("Proxy-Authorization: %q", auth)
		}
		if head := string(x.RequestHead); strings.Contains(head, "Proxy-Auth") || !strings.HasPrefix(head, "GET http://a.example/%zz?b=2 HTTP/1.1\r\n") {
			t.Errorf("the archive gets %q", head)
		}
		if x.RequestHeader.Get("Proxy-Authorization") != "" {
			t.Error("the header of the exchange has the password")
		}
	})
}

// site serves one TLS connection in the role of example.com.
func site(c net.Conn, config *tls.Config, got *[]*request) {
	answers(func(r *request, n int) string {
		*got = append(*got, r)
		if r.target == "/robots.txt" {
			return "HTTP/1.1 404 Not Found\r\nContent-Length: 0\r\n\r\n"
		}
		return page("hello")
	})(tls.Server(c, config), 1)
}

func TestTunnels(t *testing.T) {
	config, pool := certified(t)
	// answer reads a CONNECT request, and answers it after the bytes in before.
	answer := func(c net.Conn, asked *string, before string) bool {
		r, err := http.ReadRequest(bufio.NewReader(c))
		if err != nil {
			return false
		}
		*asked = fmt.Sprint(r.Method, " ", r.RequestURI, " ", r.Host, " ", r.UserAgent() != "", " ", r.Header.Get("Proxy-Authorization"))
		_, err = io.WriteString(c, before+"HTTP/1.1 299 Connection established\r\n\r\n")
		return err == nil
	}
	connect := func(c net.Conn, asked *string) bool { return answer(c, asked, "") }
	// interim is a proxy that sends interim answers before its answer.
	interim := func(c net.Conn, asked *string) bool {
		return answer(c, asked, "HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 102 Processing\r\nX: y\r\n\r\n")
	}
	// socks is a SOCKS5 proxy (RFC 1928) that requires user and password.
	socks := func(c net.Conn, asked *string) bool {
		read := func(n int) []byte {
			b := make([]byte, n)
			io.ReadFull(c, b)
			return b
		}
		read(int(read(2)[1]))
		c.Write([]byte{5, 2})
		user := string(read(int(read(2)[1])))
		password := string(read(int(read(1)[0])))
		c.Write([]byte{1, 0})
		head := read(4)
		host := string(read(int(read(1)[0])))
		port := read(2)
		*asked = fmt.Sprint(user, ":", password, " ", head[1], " ", head[3], " ", host, " ", int(port[0])<<8|int(port[1]))
		_, err := c.Write([]byte{5, 0, 0, 1, 0, 0, 0, 0, 0, 0})
		return err == nil
	}
	for _, tc := range []struct {
		proxy, asked string
		secure       bool
		accept       func(net.Conn, *string) bool
	}{
		{"http://me:secret@example.com:3128", "CONNECT example.com:443 example.com:443 true Basic bWU6c2VjcmV0", false, connect},
		{"http://example.com", "CONNECT example.com:443 example.com:443 true ", false, connect},
		{"http://example.com:81", "CONNECT example.com:443 example.com:443 true ", false, interim},
		{"https://example.com", "CONNECT example.com:443 example.com:443 true ", true, connect},
		{"socks5://me:secret@example.com", "me:secret 1 3 example.com 443", false, socks},
		{"socks5h://me:secret@example.com", "me:secret 1 3 example.com 443", false, socks},
	} {
		t.Run(tc.proxy, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				var got []*request
				var asked string
				w := &wire{}
				w.serve = func(c net.Conn, n int) {
					if tc.secure {
						c = tls.Server(c, config)
					}
					if tc.accept(c, &asked) {
						site(c, config, &got)
					}
				}
				v := newTour(t, Options{Network: w, RootCAs: pool, Proxy: mustProxy(t, tc.proxy)})
				res, all := v.visit("https://example.com/x")
				if res.Page == nil || string(res.Page.Body) != "hello" {
					t.Fatalf("%v", last(all).Err)
				}
				if asked != tc.asked {
					t.Errorf("the proxy got a request for %q, want %q", asked, tc.asked)
				}
				if len(w.dialed) != 1 || res.Page.Addr.IsValid() || res.Page.TLSVersion != "TLS 1.3" {
					t.Errorf("dialled %v, address %v, %s", w.dialed, res.Page.Addr, res.Page.TLSVersion)
				}
				if r := got[1]; r.target != "/x" || r.header.Get("Proxy-Authorization") != "" {
					t.Errorf("the site got a request for %s with %v", r.target, r.header)
				}
			})
		})
	}
}

func TestSOCKSCarriesPlainRequestsInOriginForm(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var targets []string
		w := &wire{serve: func(c net.Conn, n int) {
			b := make([]byte, 3)
			io.ReadFull(c, b)
			c.Write([]byte{5, 0})
			io.ReadFull(c, make([]byte, 5+len("a.example")+2))
			c.Write([]byte{5, 0, 0, 1, 0, 0, 0, 0, 0, 0})
			answers(noRobots(func(r *request, n int) string {
				targets = append(targets, r.target)
				return page("hello")
			}))(c, n)
		}}
		res, all := newTour(t, Options{Network: w, Proxy: mustProxy(t, "socks5://proxy.test")}).visit("http://a.example/x")
		if res.Page == nil || fmt.Sprint(targets) != "[/x]" {
			t.Errorf("%v: %v", targets, last(all).Err)
		}
	})
}

func TestProxiesThatFail(t *testing.T) {
	silent := func(c net.Conn, n int) { io.Copy(io.Discard, c) }
	says := func(s string) func(net.Conn, int) {
		return func(c net.Conn, n int) {
			if _, err := readRequest(bufio.NewReader(c)); err == nil {
				io.WriteString(c, s)
			}
		}
	}
	for _, tc := range []struct {
		name  string
		serve func(net.Conn, int)
		after time.Duration
	}{
		{"cannot reach the site", says("HTTP/1.1 502 Bad Gateway\r\n\r\n"), 0},
		{"forbids it", says("HTTP/1.1 403 Forbidden\r\nContent-Length: 3\r\n\r\nno!"), 0},
		{"speaks nonsense", says("hello\r\n\r\n"), 0},
		{"header without end", says("HTTP/1.1 200 OK\r\n" + strings.Repeat("X-A: b\r\n", 100_000)), 0},
		{"hangs up", says(""), 0},
		{"begins to say something", says("HTTP/1.1 100 Continue\r\n\r\n"), 0},
		{"redirects", says("HTTP/1.1 300 Choose\r\n\r\n"), 0},
		{"says one byte", says("HTTP/1.1 200 OK\r\n\r\nh"), 0},
		{"speaks first", says("HTTP/1.1 200 OK\r\n\r\nhello"), 0},
		{"silent", silent, 30 * time.Second},
		{"no connection", nil, 30 * time.Second},
	} {
		t.Run(tc.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				v := newTour(t, Options{Network: &wire{serve: tc.serve}, Proxy: mustProxy(t, "http://proxy.test:3128")})
				v.once = true
				res, all := v.visit("https://a.example/")
				x := all[0]
				if stage(x) != StageProxy || res.Outcome.Trouble != frontier.ConnectTrouble || x.Ended.Sub(x.Started) != tc.after {
					t.Errorf("stage %q, trouble %v after %v: %v", stage(x), res.Outcome.Trouble, x.Ended.Sub(x.Started), x.Err)
				}
			})
		})
	}
	t.Run("no such name", func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) {
			r := &resolver{answer: func(context.Context, string) ([]netip.Addr, error) {
				return nil, &net.DNSError{Err: "no such host", IsNotFound: true}
			}}
			v := newTour(t, Options{Network: r, Proxy: mustProxy(t, "http://proxy.test:3128")})
			v.once = true
			res, all := v.visit("https://a.example/")
			if stage(all[0]) != StageProxy || res.Outcome.Gone {
				t.Errorf("stage %q, gone %t: a site is not gone because its proxy is", stage(all[0]), res.Outcome.Gone)
			}
		})
	})
}

func TestWrongCredentialsEndTheVisitWithAnError(t *testing.T) {
	for _, raw := range []string{"http://a.example/", "https://a.example/"} {
		synctest.Test(t, func(t *testing.T) {
			w := &wire{serve: answers(func(r *request, n int) string {
				return "HTTP/1.1 407 Proxy Authentication Required\r\nContent-Length: 0\r\n\r\n"
			})}
			v := newTour(t, Options{Network: w, Proxy: mustProxy(t, "http://me:secret@proxy.test:3128")})
			front := frontOf(t, frontier.Options{}, raw)
			turn, err := front.Next(context.Background())
			if err != nil {
				t.Fatal(err)
			}
			_, err = v.fetcher.Get(context.Background(), turn)
			var refused *proxyError
			if v.fetcher.open.Len() > 0 {
				t.Error("the connection to the proxy is kept")
			}
			if !errors.As(err, &refused) || strings.Contains(err.Error(), "secret") || !strings.Contains(err.Error(), "USER:PASSWORD@") {
				t.Errorf("%s: error %v", raw, err)
			}
		})
	}
}

func TestNothingPrivateIsAskedOfAProxy(t *testing.T) {
	for _, raw := range []string{
		"http://127.0.0.1/", "http://169.254.169.254/latest/", "http://[::1]/", "http://10.0.0.7/",
		"http://localhost/", "http://a.localhost/", "https://127.0.0.1/",
	} {
		synctest.Test(t, func(t *testing.T) {
			w := &wire{serve: answers(noRobots(func(r *request, n int) string { return page("") }))}
			res, _ := newTour(t, Options{Network: w, Proxy: mustProxy(t, "http://proxy.test:3128")}).visit(raw)
			if len(w.dialed) != 0 || !res.Outcome.Gone || !strings.Contains(res.Outcome.Fate.Detail, "public address") {
				t.Errorf("%s: dialled %v, fate %+v", raw, w.dialed, res.Outcome.Fate)
			}
		})
	}
}

func TestWhatGoesAroundTheProxy(t *testing.T) {
	env := httpproxy.Config{HTTPProxy: "http://proxy.test:3128", NoProxy: "direct.example"}
	for raw, want := range map[string]string{
		"http://a.example/":        "16.0.0.1:3128",
		"http://direct.example/":   "16.0.0.1:80",
		"http://replaced.example/": "127.0.0.1:8080",
		"http://ported.example/":   "16.0.0.1:8081",
	} {
		synctest.Test(t, func(t *testing.T) {
			w := &wire{serve: answers(noRobots(func(r *request, n int) string { return page("") }))}
			opts := Options{Network: w, Proxy: env.ProxyFunc(), ConnectTo: []ConnectTo{{"replaced.example", "", "127.0.0.1", "8080"}, {"ported.example", "", "", "8081"}}}
			newTour(t, opts).visit(raw)
			if len(w.dialed) == 0 || w.dialed[0] != want {
				t.Errorf("%s: dialled %v, want %s", raw, w.dialed, want)
			}
		})
	}
	synctest.Test(t, func(t *testing.T) {
		w := &wire{}
		v := newTour(t, Options{Network: w, Proxy: func(*url.URL) (*url.URL, error) { return nil, errors.New("no such rule") }})
		v.once = true
		if _, all := v.visit("http://a.example/x"); stage(all[0]) != StageProxy || len(w.dialed) != 0 {
			t.Errorf("no answer: stage %q, dialled %v", stage(all[0]), w.dialed)
		}
	})
	synctest.Test(t, func(t *testing.T) {
		w := &wire{}
		v := newTour(t, Options{Network: w, Proxy: mustProxy(t, "http://proxy.test:3128")})
		v.once = true
		if _, all := v.visit("ftp://a.example/x"); stage(all[0]) != StageProxy || len(w.dialed) != 0 {
			t.Errorf("ftp: stage %q, dialled %v", stage(all[0]), w.dialed)
		}
	})
}

// Valid proxies of the environment are used. Invalid ones are an error.
func TestTheProxyOfTheEnvironment(t *testing.T) {
	for _, tc := range []struct {
		plain, secure, no string
		want              string // the proxies for http and https, or the error
	}{
		{"http://p:1", "", "", "http://p:1 <nil>"},
		{"", "https://p:2", "", "<nil> https://p:2"},
		{"p:1", "socks5://q", "", "http://p:1 socks5://q"},
		{"http://p:1", "http://q:2", "a.example", "<nil> <nil>"},
		{"", "", "", "names no proxy"},
		{"ftp://p", "", "", "HTTP_PROXY: "},
		{"http://p", "http://p:0", "", "HTTPS_PROXY: "},
		{"", "p/x", "", "HTTPS_PROXY: "},
	} {
		for name, value := range map[string]string{"HTTP_PROXY": tc.plain, "HTTPS_PROXY": tc.secure, "NO_PROXY": tc.no, "http_proxy": "", "https_proxy": "", "no_proxy": "", "REQUEST_METHOD": ""} {
			t.Setenv(name, value)
		}
		p, err := EnvironmentProxy()
		if err != nil {
			if !strings.Contains(err.Error(), tc.want) {
				t.Errorf("%+v: %v", tc, err)
			}
			continue
		}
		plain, _ := p(&url.URL{Scheme: "http", Host: "a.example"})
		secure, _ := p(&url.URL{Scheme: "https", Host: "a.example"})
		if got := fmt.Sprint(plain, " ", secure); got != tc.want {
			t.Errorf("%+v: %s", tc, got)
		}
	}
}

// An invalid proxy is not dialled. If an https proxy does not speak TLS, the connection is closed.
func TestInvalidProxies(t *testing.T) {
	for raw, dialled := range map[string]int{"ftp://p": 0, "http://p:0": 0, "http://p/x": 0, "https://p": 1} {
		synctest.Test(t, func(t *testing.T) {
			ended := false
			w := &wire{serve: func(c net.Conn, n int) {
				readOnce(c)
				io.WriteString(c, "HTTP/1.1 400 Bad Request\r\n\r\n")
				io.Copy(io.Discard, c)
				ended = true
			}}
			v := newTour(t, Options{Network: w, Proxy: func(*url.URL) (*url.URL, error) { return url.Parse(raw) }})
			v.once = true
			_, all := v.visit("http://a.example/")
			synctest.Wait()
			var wrong *proxyError
			if x := all[0]; stage(x) != StageProxy || !errors.As(x.Err, &wrong) || wrong.Err == nil || len(w.dialed) != dialled || ended != (dialled > 0) {
				t.Errorf("%s: stage %q, dialled %v, hung up %t: %v", raw, stage(x), w.dialed, ended, x.Err)
			}
			if dialled > 0 && !isTLS(wrong.Err) {
				t.Errorf("%s: %v", raw, wrong.Err)
			}
		})
	}
}

func TestParseProxy(t *testing.T) {
	for raw, want := range map[string]string{
		"http://p:1": "http://p:1", "http://p": "http://p:80", "https://p": "https://p:443", "socks5://u:p@[::1]:1081": "socks5://[::1]:1081",
		"socks5h://p/": "socks5h://p:1080", "socks5://p": "socks5://p:1080", "http://user@p:65535": "http://p:65535",
	} {
		p, err := ParseProxy(raw)
		if err != nil {
			t.Errorf("%s: %v", raw, err)
			continue
		}
		if u, _ := p(nil); proxyName(u) != want {
			t.Errorf("%s is %s, want %s", raw, proxyName(u), want)
		}
	}
	for host, want := range map[string]bool{"localhost": true, "localhost.": true, "a.localhost.": true, "a.localhost": true, "localhost.example": false, "notlocalhost": false} {
		if isLocalName(host) != want {
			t.Errorf("%s is local: %t", host, !want)
		}
	}
	for _, raw := range []string{"", "p:3128", "ftp://p", "http://", "http://p:0", "http://p:65536", "http://p/x", "http://p?q", "http://me:secret@p:x", "http://me:secret@%zz", "env"} {
		if _, err := ParseProxy(raw); err == nil || strings.Contains(err.Error(), "secret") {
			t.Errorf("%s: error %v", raw, err)
		}
	}
}

func FuzzParseProxy(f *testing.F) {
	for _, s := range []string{"http://p:1", "socks5://u:p@[::1]:1080", "https://p/", "http://me:secret@%zz", "http:p", "http://[fe80::1%25lo]:1"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, raw string) {
		p, err := ParseProxy(raw)
		if err != nil {
			return
		}
		u, err := p(&url.URL{Scheme: "http", Host: "a.example"})
		if err != nil || u.Hostname() == "" || proxyPort(u) == 0 {
			t.Errorf("%q = %v, %v", raw, u, err)
		}
		if password, ok := u.User.Password(); ok && len(password) > 8 && strings.Contains(proxyName(u), password) && !strings.Contains(u.Host, password) {
			t.Errorf("%q is named %s", raw, proxyName(u))
		}
	})
}

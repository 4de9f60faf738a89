package fetch

import (
	"bufio"
	"context"
	"crypto/tls"
	"encoding/base64"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/netip"
	"net/url"
	"strconv"
	"strings"

	"github.com/permesso-crawler/permesso/frontier"
	"golang.org/x/net/http/httpproxy"
	"golang.org/x/net/proxy"
)

// A ProxyFunc returns the proxy for a URL, or nil if no proxy is used. It must be safe for
// concurrent use. httpproxy.Config.ProxyFunc returns a ProxyFunc for the proxies of the
// environment.
type ProxyFunc = func(*url.URL) (*url.URL, error)

// ParseProxy parses the URL of a proxy for all sites: http://HOST:PORT, https://HOST:PORT or
// socks5://HOST:PORT, each with USER:PASSWORD@ before the host if the proxy requires it.
// socks5h means the same as socks5, because the proxy always resolves the names.
func ParseProxy(raw string) (ProxyFunc, error) {
	u, err := url.Parse(raw)
	if err != nil {
		// The error of net/url is not returned, because it repeats the URL, which may contain a
		// password.
		return nil, errors.New("the URL of the proxy cannot be read: write it as http://HOST:PORT, https://HOST:PORT or socks5://HOST:PORT")
	}
	if err := checkProxy(u); err != nil {
		return nil, err
	}
	return func(*url.URL) (*url.URL, error) { return u, nil }, nil
}

// EnvironmentProxy returns a function for the current values of HTTP_PROXY, HTTPS_PROXY and
// NO_PROXY. It fails if they are invalid or name no proxy, because otherwise the Fetcher would
// silently connect to the sites directly.
func EnvironmentProxy() (ProxyFunc, error) {
	env := httpproxy.FromEnvironment()
	if env.HTTPProxy == "" && env.HTTPSProxy == "" {
		return nil, errors.New("the environment names no proxy: set HTTP_PROXY or HTTPS_PROXY, or use none")
	}
	for _, v := range []struct{ name, value string }{{"HTTP_PROXY", env.HTTPProxy}, {"HTTPS_PROXY", env.HTTPSProxy}} {
		value := v.value
		if value == "" {
			continue
		}
		if !strings.Contains(value, "://") {
			value = "http://" + value
		}
		if _, err := ParseProxy(value); err != nil {
			return nil, fmt.Errorf("%s: %w", v.name, err)
		}
	}
	return env.ProxyFunc(), nil
}

func checkProxy(u *url.URL) error {
	switch u.Scheme {
	case "http", "https", "socks5", "socks5h":
	default:
		return fmt.Errorf("%q is no scheme of a proxy: write http, https or socks5, as in http://HOST:PORT", u.Scheme)
	}
	if u.Hostname() == "" {
		return errors.New("the URL of the proxy names no host: write it as " + u.Scheme + "://HOST:PORT")
	}
	if port := u.Port(); port != "" {
		if n, err := strconv.ParseUint(port, 10, 16); err != nil || n == 0 {
			return fmt.Errorf("port %q of the proxy is not a number from 1 to 65535", port)
		}
	}
	if u.Path != "" && u.Path != "/" || u.RawQuery != "" || u.Fragment != "" {
		return errors.New("the URL of the proxy has more than a host and a port: write it as " + u.Scheme + "://HOST:PORT")
	}
	return nil
}

func proxyPort(u *url.URL) uint16 {
	if n, err := strconv.Atoi(u.Port()); err == nil {
		return uint16(n)
	}
	switch u.Scheme {
	case "https":
		return 443
	case "http":
		return 80
	}
	return 1080 // the port of SOCKS (RFC 1928, section 3)
}

// proxyName returns u without user and password.
func proxyName(u *url.URL) string {
	return u.Scheme + "://" + net.JoinHostPort(u.Hostname(), strconv.Itoa(int(proxyPort(u))))
}

// A proxyError says that there is no connection through a proxy, or that the proxy could not
// reach the site. These two failures cannot be distinguished reliably.
type proxyError struct {
	Proxy  string // URL of the proxy, without user and password
	Status int    // status of the proxy's answer; 0 if there was none
	Err    error
}

func (e *proxyError) Error() string {
	if e.Status == http.StatusProxyAuthRequired {
		return fmt.Sprintf("the proxy %s refuses the user and the password: give them as USER:PASSWORD@ before its host", e.Proxy)
	}
	if e.Status != 0 {
		return fmt.Sprintf("the proxy %s answers %d %s", e.Proxy, e.Status, http.StatusText(e.Status))
	}
	return fmt.Sprintf("the proxy %s: %v", e.Proxy, e.Err)
}

// Unwrap returns the error of the connection to the proxy.
func (e *proxyError) Unwrap() error { return e.Err }

// refusedByProxy reports whether err says that a proxy requires other credentials. The site
// does not cause such a failure, and later requests would fail, too.
func refusedByProxy(err error) bool {
	var p *proxyError
	return errors.As(err, &p) && p.Status == http.StatusProxyAuthRequired
}

// proxyFor returns the proxy of a site, or nil if the site is connected to directly.
func (f *Fetcher) proxyFor(site frontier.Site) (*url.URL, error) {
	if f.opts.Proxy == nil {
		return nil, nil
	}
	u, err := f.opts.Proxy(&url.URL{Scheme: site.Scheme(), Host: site.Authority(), Path: "/"})
	if err != nil {
		return nil, &proxyError{Proxy: "of " + string(site), Err: err}
	}
	if u == nil {
		return nil, nil
	}
	if err := checkProxy(u); err != nil {
		return nil, &proxyError{Proxy: u.Redacted(), Err: err}
	}
	if site.Scheme() == "ftp" {
		return nil, &proxyError{Proxy: proxyName(u), Err: errors.New("ftp:// goes through no proxy: leave its host out, as NO_PROXY does")}
	}
	return u, nil
}

// throughProxy returns the addresses of u, the proxy of a site. The proxy may have any address,
// because the user has chosen it. Only the proxy knows the address of the site, so the site counts
// as public. If the URL of the site contains an address, throughProxy checks that address.
func (f *Fetcher) throughProxy(ctx context.Context, site frontier.Site, u *url.URL) ([]endpoint, error) {
	if host := site.Host(); !f.opts.AllowPrivate {
		a, err := netip.ParseAddr(host)
		if err == nil && !Public(a) || isLocalName(host) {
			return nil, &addressError{Host: host, Addr: a}
		}
	}
	addrs, err := f.names.lookup(ctx, u.Hostname())
	if err != nil {
		return nil, &proxyError{Proxy: proxyName(u), Err: err}
	}
	eps := make([]endpoint, len(addrs))
	for i, a := range addrs {
		eps[i] = endpoint{addr: netip.AddrPortFrom(a.Unmap(), proxyPort(u)), public: true, name: u.Hostname(), proxy: u}
	}
	return eps, nil
}

// dialProxy opens a connection to the site through the proxy. The connection is a tunnel, or, for
// requests without TLS, the connection to a proxy that forwards the requests.
func (d *dialing) dialProxy(ctx context.Context) (net.Conn, error) {
	u := d.to.proxy
	c, err := d.connectProxy(ctx, u)
	if err != nil {
		var known *proxyError
		if !errors.As(err, &known) {
			err = &proxyError{Proxy: proxyName(u), Err: err}
		}
		return nil, err
	}
	return c, nil
}

func (d *dialing) connectProxy(ctx context.Context, u *url.URL) (net.Conn, error) {
	if isSOCKS(u) {
		return d.dialSOCKS(ctx, u)
	}
	c, err := d.connect(ctx)
	if err != nil {
		return nil, err
	}
	if u.Scheme == "https" {
		secure := tls.Client(c, &tls.Config{RootCAs: d.opts.RootCAs, ServerName: u.Hostname(), NextProtos: []string{"http/1.1"}})
		if err := secure.HandshakeContext(ctx); err != nil {
			c.Close()
			return nil, err
		}
		c = secure
	}
	if !d.secure {
		return c, nil
	}
	if err := d.tunnel(ctx, c, u); err != nil {
		c.Close()
		return nil, err
	}
	return c, nil
}

// tunnel requests a tunnel to the site from a proxy (RFC 9110, section 9.3.6).
func (d *dialing) tunnel(ctx context.Context, c net.Conn, u *url.URL) error {
	stop := context.AfterFunc(ctx, func() { c.Close() })
	defer stop()
	head := "CONNECT " + d.target + " HTTP/1.1\r\nHost: " + d.target + "\r\nUser-Agent: " + d.opts.UserAgent + "\r\n"
	if auth := proxyAuth(u); auth != "" {
		head += "Proxy-Authorization: " + auth + "\r\n"
	}
	if _, err := io.WriteString(c, head+"\r\n"); err != nil {
		return err
	}
	in := bufio.NewReader(io.LimitReader(c, maxHeaderBytes))
	resp, err := http.ReadResponse(in, &http.Request{Method: http.MethodConnect})
	for err == nil && resp.StatusCode/100 == 1 && resp.StatusCode != http.StatusSwitchingProtocols { // skip interim answers (RFC 9110, section 15.2)
		resp, err = http.ReadResponse(in, &http.Request{Method: http.MethodConnect})
	}
	if err != nil {
		return err
	}
	if resp.StatusCode/100 != 2 {
		return &proxyError{Proxy: proxyName(u), Status: resp.StatusCode}
	}
	if in.Buffered() > 0 {
		return errors.New("it sends bytes of its own into the tunnel")
	}
	return nil
}

// proxyAuth returns the value of Proxy-Authorization (RFC 7617), or "" if there is no proxy
// or its URL has no user.
func proxyAuth(u *url.URL) string {
	if u == nil || u.User == nil {
		return ""
	}
	password, _ := u.User.Password()
	return "Basic " + base64.StdEncoding.EncodeToString([]byte(u.User.Username()+":"+password))
}

// dialSOCKS opens a tunnel through a SOCKS5 proxy (RFC 1928), which resolves the site's name.
func (d *dialing) dialSOCKS(ctx context.Context, u *url.URL) (net.Conn, error) {
	var auth *proxy.Auth
	if u.User != nil {
		auth = &proxy.Auth{User: u.User.Username()}
		auth.Password, _ = u.User.Password()
	}
	s, err := proxy.SOCKS5("tcp", d.to.addr.String(), auth, forward{d})
	if err != nil {
		return nil, err
	}
	return s.(proxy.ContextDialer).DialContext(ctx, "tcp", d.target)
}

// forward is the dialer that golang.org/x/net/proxy uses to connect to the proxy.
type forward struct{ dialing *dialing }

func (f forward) Dial(network, address string) (net.Conn, error) {
	return f.DialContext(context.Background(), network, address)
}

func (f forward) DialContext(ctx context.Context, _, _ string) (net.Conn, error) {
	return f.dialing.connect(ctx)
}

// isLocalName reports whether a name means the machine that resolves it (RFC 6761, section
// 6.3).
func isLocalName(host string) bool {
	host = strings.TrimSuffix(host, ".")
	return host == "localhost" || strings.HasSuffix(host, ".localhost")
}

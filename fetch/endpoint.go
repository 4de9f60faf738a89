package fetch

import (
	"context"
	"fmt"
	"net/netip"
	"net/url"
	"strconv"
	"strings"

	"code.dny.dev/ssrf"
	"github.com/permesso-crawler/permesso/frontier"
)

// A ConnectTo redirects the connections for one host and port to another host and port, like
// curl's option --connect-to. A test or staging server can then replace any host. An empty Host
// or Port matches every host or port. An empty ToHost or ToPort leaves the host or port
// unchanged.
type ConnectTo struct {
	Host, Port     string // host and port of the URL; empty: any
	ToHost, ToPort string // host and port of the connection; empty: those of the URL
}

// ParseConnectTo parses text in the form HOST1:PORT1:HOST2:PORT2. Each part may be empty. IPv6
// addresses are in brackets.
func ParseConnectTo(s string) (ConnectTo, error) {
	var parts []string
	rest := s
	for len(parts) < 3 {
		end := strings.IndexByte(rest, ':')
		if strings.HasPrefix(rest, "[") {
			end = strings.Index(rest, "]:")
			if end >= 0 {
				end++
			}
		}
		if end < 0 {
			return ConnectTo{}, fmt.Errorf("%q: want HOST1:PORT1:HOST2:PORT2, each may be empty", s)
		}
		parts, rest = append(parts, rest[:end]), rest[end+1:]
	}
	c := ConnectTo{strings.ToLower(unbracket(parts[0])), parts[1], unbracket(parts[2]), rest}
	if err := c.Check(); err != nil {
		return ConnectTo{}, fmt.Errorf("%q: %w", s, err)
	}
	return c, nil
}

// Check returns an error if a port is not a number from 1 to 65535.
func (c ConnectTo) Check() error {
	for _, port := range []string{c.Port, c.ToPort} {
		if n, err := strconv.ParseUint(port, 10, 16); port != "" && (err != nil || n == 0) {
			return fmt.Errorf("port %q is not a number from 1 to 65535", port)
		}
	}
	return nil
}

// String returns c in the form that ParseConnectTo reads.
func (c ConnectTo) String() string {
	return bracket(c.Host) + ":" + c.Port + ":" + bracket(c.ToHost) + ":" + c.ToPort
}

func bracket(host string) string {
	if strings.Contains(host, ":") {
		return "[" + host + "]"
	}
	return host
}

func unbracket(s string) string {
	return strings.TrimSuffix(strings.TrimPrefix(s, "["), "]")
}

// An endpoint is an address that may be dialled for a site. Only resolve makes endpoints. So every
// address is checked before it is dialled.
type endpoint struct {
	addr   netip.AddrPort
	site   netip.Addr // address of the site; the zero Addr if only the proxy knows it
	public bool       // the site has or may have a public address, which other sites may share
	name   string     // the host name that was resolved to addr
	proxy  *url.URL   // the proxy at addr; nil if the site is at addr
}

// resolve returns the addresses of site that may be dialled. If there are none, the error is an
// *addressError.
func (f *Fetcher) resolve(ctx context.Context, site frontier.Site) ([]endpoint, error) {
	host, port, named := f.connectTo(site)
	if host == site.Host() && port == site.Port() {
		u, err := f.proxyFor(site)
		if err != nil {
			return nil, err
		}
		if u != nil {
			return f.throughProxy(ctx, site, u)
		}
	}
	addrs, err := f.names.lookup(ctx, host)
	if err != nil {
		return nil, err
	}
	var eps []endpoint
	for _, a := range addrs {
		a = a.Unmap().WithZone("")
		public := Public(a)
		if public || named || f.opts.AllowPrivate {
			eps = append(eps, endpoint{addr: netip.AddrPortFrom(a, port), site: a, public: public && !named, name: host})
		}
	}
	if len(eps) == 0 {
		return nil, &addressError{Host: host, Addr: addrs[0]}
	}
	return eps, nil
}

// connectTo returns the host and the port to connect to for a site. named says that the host comes
// from a ConnectTo in the options.
func (f *Fetcher) connectTo(site frontier.Site) (host string, port uint16, named bool) {
	host, port = site.Host(), site.Port()
	for _, c := range f.opts.ConnectTo {
		if c.Host != "" && c.Host != host || c.Port != "" && c.Port != strconv.Itoa(int(port)) {
			continue
		}
		if c.ToHost != "" {
			host, named = c.ToHost, true
		}
		if c.ToPort != "" {
			n, _ := strconv.Atoi(c.ToPort)
			port = uint16(n)
		}
		break
	}
	return host, port, named
}

// An addressError is returned for a host that has only private addresses, unless
// Options.AllowPrivate is set.
type addressError struct {
	Host string
	Addr netip.Addr // a private address of Host; the zero Addr for a local name behind a proxy
}

func (e *addressError) Error() string {
	if !e.Addr.IsValid() {
		return e.Host + " means this machine, which has no public address"
	}
	return fmt.Sprintf("%s is at %s, which is not a public address", e.Host, e.Addr)
}

var guard = ssrf.New(ssrf.WithAnyPort())

// Public reports whether a is an address of the public Internet, by the special-purpose registries
// of IANA. Private, loopback, link-local and shared addresses are not public. Addresses of
// gateways to other networks are not public either.
func Public(a netip.Addr) bool {
	return a.IsValid() && a.Zone() == "" && guard.SafeAddr(a.Unmap()) == nil
}

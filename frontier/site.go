package frontier

import (
	"net/netip"
	"strconv"
	"strings"

	"golang.org/x/net/idna"
	"golang.org/x/net/publicsuffix"
)

// A Site is a service in the sense of RFC 9309, section 2.3: a scheme, a host and a port. It
// has one robots.txt, one set of clocks and, at any moment, at most one request in flight. It
// is written as an origin in canonical form: in lower case, with A-labels (the ASCII form of
// international names), and with the port only if it is not the scheme's default.
type Site string

// Scheme returns "http", "https" or "ftp".
func (s Site) Scheme() string {
	scheme, _, _ := strings.Cut(string(s), ":")
	return scheme
}

// Authority returns host and port in the form of a Host field: without the port if it is the
// scheme's default.
func (s Site) Authority() string {
	_, rest, _ := strings.Cut(string(s), "://")
	return rest
}

// Host returns the DNS name or address, without port or brackets.
func (s Site) Host() string {
	host, _ := s.split()
	return strings.TrimSuffix(strings.TrimPrefix(host, "["), "]")
}

// Port returns the port to connect to: the port of s, or the scheme's default.
func (s Site) Port() uint16 {
	_, port := s.split()
	if port == "" {
		return defaultPort(s.Scheme())
	}
	n, _ := strconv.ParseUint(port, 10, 16)
	return uint16(n)
}

// Domain returns the registrable domain of the host, by the Public Suffix List with its private
// section. If the host is an address or has no such domain, Domain returns the host.
func (s Site) Domain() string {
	host := s.Host()
	if _, err := netip.ParseAddr(host); err == nil {
		return host
	}
	domain, err := publicsuffix.EffectiveTLDPlusOne(host)
	if err != nil {
		return host
	}
	return domain
}

func (s Site) split() (host, port string) {
	a := s.Authority()
	if i := strings.LastIndexByte(a, ':'); i > strings.LastIndexByte(a, ']') {
		return a[:i], a[i+1:]
	}
	return a, ""
}

// defaultPort returns the default port of a scheme, or 0 if this scheme is not crawled.
func defaultPort(scheme string) uint16 {
	switch scheme {
	case "http":
		return 80
	case "https":
		return 443
	case "ftp":
		return 21
	}
	return 0
}

// names accepts all host names that resolve in practice, such as a_b.example. It maps names as
// browsers do (UTS 46, non-transitional).
var names = idna.New(idna.MapForLookup(), idna.Transitional(false), idna.StrictDomainName(false), idna.CheckHyphens(false))

// parseAuthority returns the host in the form that a Site has, and the port after a colon. port is
// "" if it is the scheme's default.
func parseAuthority(scheme, authority string) (host, port string, err error) {
	if i := strings.LastIndexByte(authority, '@'); i >= 0 {
		authority = authority[i+1:]
	}
	host, port = authority, ""
	if i := strings.LastIndexByte(authority, ':'); i > strings.LastIndexByte(authority, ']') {
		host, port = authority[:i], authority[i+1:]
	}
	host, err = parseHost(host)
	if err != nil || port == "" {
		return host, "", err
	}
	n, err := strconv.ParseUint(port, 10, 16)
	switch {
	case err != nil || n == 0:
		return "", "", errPort
	case uint16(n) == defaultPort(scheme):
		return host, "", nil
	case port[0] == '0':
		return host, ":" + strconv.FormatUint(n, 10), nil
	}
	return host, authority[len(authority)-len(port)-1:], nil
}

func parseHost(host string) (string, error) {
	if strings.HasPrefix(host, "[") {
		addr, err := netip.ParseAddr(strings.TrimSuffix(host[1:], "]"))
		if err != nil || !addr.Is6() || addr.Zone() != "" || !strings.HasSuffix(host, "]") {
			return "", errHost
		}
		return "[" + addr.String() + "]", nil
	}
	// No name that DNS can hold is longer than 1024 bytes in UTF-8. The time to decode a name
	// is quadratic in its length.
	if len(host) > 1024 {
		return "", errHost
	}
	if !plainHost(host) {
		if strings.IndexByte(host, '%') >= 0 {
			host = decodeEscapes(host)
		}
		host = toASCII(host)
	}
	// A final dot means the DNS root. A name with the dot is the same host as the name
	// without it.
	host = strings.TrimSuffix(host, ".")
	if host == "" || len(host) > 253 || !resolvable(host) {
		return "", errHost
	}
	if last := host[strings.LastIndexByte(host, '.')+1:]; numeric(last) {
		addr, err := netip.ParseAddr(host)
		if err != nil {
			return "", errHost
		}
		return addr.String(), nil
	}
	return host, nil
}

// toASCII returns host with A-labels, or "" if host is not a name. Like browsers, it does not
// change an ASCII name: DNS has xn-- labels that are not valid in IDNA.
func toASCII(host string) string {
	if isASCII(host) {
		return strings.ToLower(host)
	}
	ascii, err := names.ToASCII(host)
	if err != nil {
		return ""
	}
	// ToASCII can return a name that it would not accept as input. Such a name is refused.
	if again, err := names.ToASCII(ascii); err != nil || again != ascii {
		return ""
	}
	return ascii
}

// plainHost reports whether host is already in canonical form.
func plainHost(host string) bool {
	for i := range len(host) {
		c := host[i]
		if !('a' <= c && c <= 'z' || '0' <= c && c <= '9' || c == '.' || c == '-' || c == '_') {
			return false
		}
	}
	return true
}

func resolvable(host string) bool {
	for label := range strings.SplitSeq(host, ".") {
		if label == "" || len(label) > 63 {
			return false
		}
		for i := range len(label) {
			c := label[i]
			if !('a' <= c && c <= 'z' || '0' <= c && c <= '9' || c == '-' || c == '_') {
				return false
			}
		}
	}
	return true
}

// numeric reports whether a browser reads a host as an IPv4 address because of its last label.
// Such a host is refused, unless it is four decimal numbers.
func numeric(label string) bool {
	if strings.HasPrefix(label, "0x") {
		label = label[2:]
		for i := range len(label) {
			if unhex(label[i]) < 0 {
				return false
			}
		}
		return true
	}
	for i := range len(label) {
		if label[i] < '0' || label[i] > '9' {
			return false
		}
	}
	return true
}

func decodeEscapes(s string) string {
	b := make([]byte, 0, len(s))
	for i := 0; i < len(s); i++ {
		if s[i] == '%' && i+2 < len(s) && unhex(s[i+1]) >= 0 && unhex(s[i+2]) >= 0 {
			b = append(b, byte(unhex(s[i+1])<<4|unhex(s[i+2])))
			i += 2
		} else {
			b = append(b, s[i])
		}
	}
	return string(b)
}

package robots

import (
	"fmt"
	"net/netip"
	"strconv"
	"strings"
)

// URLError reports a string that is not the URL of a site with a robots.txt.
type URLError struct {
	URL  string
	Want string // the expected form, such as "want a valid host name"
}

// Error returns the URL, cut to 200 bytes, and the expected form.
func (e *URLError) Error() string {
	u := e.URL
	if len(u) > 200 {
		u = u[:200] + "..."
	}
	return fmt.Sprintf("robots: URL %q: %s", u, e.Want)
}

// Locate returns the URL of the robots.txt file that governs rawURL: the file /robots.txt at
// the top of the same scheme, host and effective port (RFC 9309, 2.3; the table in Google's
// documentation of robots.txt). It ignores the rest of rawURL, even an invalid path.
//
// The result has a lower-case scheme and host. A default port (80 for http, 443 for https, 21
// for ftp), user information and one trailing dot of the host are removed. An IPv6 address is
// in its canonical form. A name with non-ASCII letters is left as it is: convert such a name to
// its A-label before the call.
//
// Locate returns a *URLError for a relative URL, a URL without a valid host, a
// bad port, and a scheme other than http, https and ftp.
func Locate(rawURL string) (string, error) {
	scheme, authority, err := split(rawURL)
	if err != nil {
		return "", err
	}
	if i := strings.LastIndexByte(authority, '@'); i >= 0 {
		authority = authority[i+1:]
	}
	host, port := authority, ""
	if strings.HasPrefix(host, "[") {
		i := strings.IndexByte(host, ']')
		if i < 0 || i+1 < len(host) && host[i+1] != ':' {
			return "", &URLError{rawURL, "want a whole IPv6 address in brackets"}
		}
		if i+1 < len(host) {
			port = host[i+2:]
		}
		addr, err := netip.ParseAddr(host[1:i])
		if err != nil || !addr.Is6() {
			return "", &URLError{rawURL, "want a valid IPv6 address in the brackets"}
		}
		host = "[" + addr.WithZone("").String() + "]"
	} else {
		if i := strings.IndexByte(host, ':'); i >= 0 {
			host, port = host[:i], host[i+1:]
		}
		if host = cleanHost(host); host == "" {
			return "", &URLError{rawURL, "want a valid host name"}
		}
	}
	if port != "" {
		n, err := strconv.ParseUint(port, 10, 16)
		if err != nil {
			return "", &URLError{rawURL, "want a port number from 0 to 65535"}
		}
		if port = strconv.FormatUint(n, 10); port != defaultPort(scheme) {
			host += ":" + port
		}
	}
	return scheme + "://" + host + "/robots.txt", nil
}

// siteOf returns scheme, host and port of a URL that Locate has returned, with a final slash.
func siteOf(located string) string { return strings.TrimSuffix(located, robotsPath[1:]) }

// split returns the lower-cased scheme and the authority of an absolute URL.
func split(rawURL string) (scheme, authority string, err error) {
	i := strings.Index(rawURL, ":")
	if i <= 0 || strings.ContainsAny(rawURL[:i], "/?#") {
		return "", "", &URLError{rawURL, "want an absolute URL, such as https://example.org/page"}
	}
	scheme = strings.ToLower(rawURL[:i])
	if defaultPort(scheme) == "" {
		return "", "", &URLError{rawURL, "want a URL of scheme http, https or ftp"}
	}
	rest, ok := strings.CutPrefix(rawURL[i+1:], "//")
	if !ok {
		return "", "", &URLError{rawURL, "want an absolute URL, with // before the host"}
	}
	if i := strings.IndexAny(rest, "/?;#\\"); i >= 0 {
		rest = rest[:i]
	}
	return scheme, rest, nil
}

func defaultPort(scheme string) string {
	switch scheme {
	case "http":
		return "80"
	case "https":
		return "443"
	case "ftp":
		return "21"
	}
	return ""
}

// cleanHost lower-cases a host name and decodes its escapes (RFC 3986, 6.2.2). It returns "" if
// host cannot be a host name.
func cleanHost(host string) string {
	out := make([]byte, 0, len(host))
	for i := 0; i < len(host); i++ {
		c := host[i]
		if o, ok := escapeAt(host, i); ok {
			c = o
			i += 2
		}
		if c <= ' ' || c == 0x7F || strings.IndexByte("\"#%/:<>?@[\\]^`{|}", c) >= 0 {
			return ""
		}
		out = append(out, lower(c))
	}
	name := strings.TrimSuffix(string(out), ".")
	if strings.HasPrefix(name, ".") || strings.HasSuffix(name, ".") || strings.Contains(name, "..") {
		return "" // the host has an empty label
	}
	return name
}

// Target returns the target of rawURL for Group.Match: its path and query in the form that a
// request has, without the fragment. Target does not use net/url, which refuses URLs that servers
// accept, such as /100%zz.
//
// A URL without a path has the path "/". A rawURL that begins with one slash is already a path. A
// rawURL that begins with two slashes is a URL without a scheme. For any other string without
// "://" Target returns a *URLError.
func Target(rawURL string) (string, error) {
	s := rawURL
	if i := strings.IndexByte(s, '#'); i >= 0 {
		s = s[:i]
	}
	switch {
	case strings.HasPrefix(s, "//"):
		s = s[2:]
	case strings.HasPrefix(s, "/"):
		return s, nil
	default:
		i := strings.Index(s, "://")
		if i <= 0 || strings.ContainsAny(s[:i], "/?;") {
			return "", &URLError{rawURL, "want an absolute URL or a path that begins with a slash"}
		}
		s = s[i+len("://"):]
	}
	i := strings.IndexAny(s, "/?;")
	switch {
	case i < 0:
		return "/", nil
	case s[i] == '/':
		return s[i:], nil
	}
	return "/" + s[i:], nil
}

package serve

import (
	"crypto/sha256"
	"crypto/subtle"
	"net"
	"net/http"
	"net/netip"
	"strings"
)

// policy is the Content-Security-Policy of all pages: they load what this server has, and run
// its script alone.
const policy = "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; connect-src 'self'; form-action 'self'; " +
	"base-uri 'none'; frame-ancestors 'none'; require-trusted-types-for 'script'; trusted-types parts"

// guarded returns a handler that refuses requests which may come from pages of others, and
// hands all others to h.
func guarded(h http.Handler) http.Handler {
	origins := http.NewCrossOriginProtection()
	origins.SetDenyHandler(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		refuse(w, r, http.StatusForbidden, "This request comes from a page of another origin, and nothing was changed. Use the page of this server.")
	}))
	h = origins.Handler(h)
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		head := w.Header()
		head.Set("Content-Security-Policy", policy)
		head.Set("X-Content-Type-Options", "nosniff")
		head.Set("Referrer-Policy", "no-referrer")
		head.Set("Cross-Origin-Resource-Policy", "same-origin")
		head.Set("Cross-Origin-Opener-Policy", "same-origin")
		head.Set("Cache-Control", "no-store")
		switch {
		case !loopback(r.Host):
			refuse(w, r, http.StatusMisdirectedRequest, "This server answers to loopback names alone: 127.0.0.1, [::1] or localhost.")
		case fromElsewhere(r):
			refuse(w, r, http.StatusForbidden, "This request comes from a page of another origin.")
		default:
			h.ServeHTTP(w, r)
		}
	})
}

// loopback reports whether a Host field names this machine by a loopback name. The port may be
// any, because it may be forwarded from another one.
func loopback(host string) bool {
	if name, _, err := net.SplitHostPort(host); err == nil {
		host = name
	}
	host = strings.TrimSuffix(strings.ToLower(host), ".")
	if host == "localhost" {
		return true
	}
	addr, err := netip.ParseAddr(strings.TrimSuffix(strings.TrimPrefix(host, "["), "]"))
	return err == nil && addr.Unmap().IsLoopback() && addr.Zone() == ""
}

// fromElsewhere reports whether a browser makes a request for a page of another origin, to
// show it as a part of that page or to read it. Following a link is allowed.
func fromElsewhere(r *http.Request) bool {
	switch r.Header.Get("Sec-Fetch-Site") {
	case "", "same-origin", "none":
		return false
	}
	mode := r.Header.Get("Sec-Fetch-Mode")
	return mode != "navigate" || r.Header.Get("Sec-Fetch-Dest") != "document"
}

// allowed reports whether a token is that of the server. The time it takes does not depend on
// how much of the token is right.
func (s *Server) allowed(token string) bool {
	got, want := sha256.Sum256([]byte(strings.TrimSpace(token))), sha256.Sum256([]byte(s.options.Token))
	return s.options.Token != "" && subtle.ConstantTimeCompare(got[:], want[:]) == 1
}

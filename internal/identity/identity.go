// Package identity says how a crawler names itself in its requests: the User-Agent and From
// fields, the allowed names and contacts, and signatures together with the directory of their
// keys.
package identity

import (
	"fmt"
	"net"
	"net/mail"
	"net/netip"
	"net/url"
	"slices"
	"strings"

	"github.com/permesso-crawler/permesso/robots"
)

// Version is the version of permesso in the User-Agent field.
const Version = "0.1.0"

// An Identity is the name of a crawler and the addresses of its operator.
type Identity struct {
	Token   string // product token (RFC 9309, section 2.2.1)
	Contact string // an http(s) URL, or an e-mail address
	Mail    string // a further e-mail address, if Contact is a URL; may be empty
}

// An Error names the invalid field of an Identity, or of options that have one, and says how to
// correct it.
type Error struct {
	Field  string
	Reason string
	Err    error // the cause; may be nil
}

func (e *Error) Error() string { return e.Field + ": " + e.Reason }

// Unwrap returns Err.
func (e *Error) Unwrap() error { return e.Err }

// Check returns an *Error that says why id cannot be used, or nil if it can.
func (id Identity) Check() *Error {
	if id.Token == "" {
		return &Error{Field: "Token", Reason: `is empty: give the crawler a name of its own, such as "titlebot"`}
	}
	if err := robots.CheckToken(id.Token); err != nil {
		return &Error{Field: "Token", Reason: err.Error(), Err: err}
	}
	if who, known := robots.KnownToken(id.Token); known {
		return &Error{Field: "Token", Reason: fmt.Sprintf("%q is the name of %s: give the crawler a name of its own", id.Token, who)}
	}
	if _, ok := contactURL(id.Contact); !ok {
		return &Error{Field: "Contact", Reason: fmt.Sprintf("%q is neither an http(s) URL nor an e-mail address: site owners must be able to reach you", id.Contact)}
	}
	if mail, ok := contactURL(id.Mail); id.Mail != "" && (!ok || !strings.HasPrefix(mail, mailto)) {
		return &Error{Field: "Mail", Reason: fmt.Sprintf("%q is no e-mail address: of two contacts one is a URL, the other an e-mail address", id.Mail)}
	}
	return nil
}

// reservedNames are domains that cannot be registered: those of examples and tests (RFC 2606,
// RFC 6761), and those of names within a network (RFC 6762, RFC 8375).
var reservedNames = []string{"test", "example", "invalid", "localhost", "example.com", "example.net", "example.org", "local", "home.arpa", "internal"}

// isReserved reports whether a host has a reserved name or an address that is not public.
func isReserved(host string) bool {
	host = strings.ToLower(strings.TrimSuffix(host, "."))
	if ip, err := netip.ParseAddr(strings.Trim(host, "[]")); err == nil {
		return ip.IsLoopback() || ip.IsPrivate() || ip.IsUnspecified() || ip.IsLinkLocalUnicast()
	}
	return slices.ContainsFunc(reservedNames, func(name string) bool {
		return host == name || strings.HasSuffix(host, "."+name)
	})
}

// unreachable returns the reason why site owners cannot reach a host, or "" if they can.
func unreachable(host string) string {
	_, err := netip.ParseAddr(strings.Trim(host, "[]"))
	switch reserved := isReserved(host); {
	case err == nil && reserved:
		return "is an address that others cannot reach"
	case err == nil:
		return ""
	case reserved:
		return "is reserved for examples, tests and local networks (RFC 2606, RFC 6761)"
	case !strings.Contains(strings.TrimSuffix(host, "."), "."):
		return "is a name within a network"
	}
	return ""
}

// CheckReach returns an *Error about the first contact of id that site owners cannot reach,
// such as an address at example.com. It returns nil if they can reach all contacts.
func (id Identity) CheckReach() *Error {
	for _, c := range []struct{ field, contact string }{{"Contact", id.Contact}, {"Mail", id.Mail}} {
		text, ok := contactURL(c.contact)
		if !ok {
			continue
		}
		_, host, mail := strings.Cut(strings.TrimPrefix(text, mailto), "@")
		if u, err := url.Parse(text); err == nil && u.Host != "" {
			host, mail = u.Hostname(), true
		}
		if why := unreachable(host); mail && why != "" {
			return &Error{Field: c.field, Reason: fmt.Sprintf("%q does not lead to you: %s %s. Give a contact at which site owners reach you", c.contact, host, why)}
		}
	}
	return nil
}

// IsPublic reports whether host, the host of a URL, is a public address, or a domain that is
// not reserved.
func IsPublic(host string) bool {
	if name, _, err := net.SplitHostPort(host); err == nil {
		host = name
	}
	return !isReserved(host) && strings.Contains(host, ".")
}

// UserAgent returns the User-Agent field of every request.
func (id Identity) UserAgent() string {
	contact, _ := contactURL(id.Contact)
	return fmt.Sprintf("%s (+%s) permesso/%s", id.Token, contact, Version)
}

// From returns the From field (RFC 9110, section 10.1.2) of every request: the e-mail
// address, if there is one.
func (id Identity) From() string {
	for _, contact := range []string{id.Mail, id.Contact} {
		address, _ := contactURL(contact)
		if address, ok := strings.CutPrefix(address, mailto); ok {
			return address
		}
	}
	return ""
}

const mailto = "mailto:"

// contactURL returns the contact as a URL, which begins with mailto: for an e-mail address. ok
// is false if the contact has characters that would end the comment in the User-Agent field.
func contactURL(contact string) (string, bool) {
	if strings.ContainsFunc(contact, func(r rune) bool { return r <= ' ' || r > '~' || r == '(' || r == ')' }) {
		return "", false
	}
	address := strings.TrimPrefix(contact, mailto)
	if a, err := mail.ParseAddress(address); err == nil && a.Address == address {
		return mailto + address, true
	}
	u, err := url.Parse(contact)
	return contact, err == nil && (u.Scheme == "http" || u.Scheme == "https") && u.Host != ""
}

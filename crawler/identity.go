package crawler

import (
	"fmt"
	"net/mail"
	"net/netip"
	"net/url"
	"slices"
	"strings"

	"github.com/permesso-crawler/permesso/robots"
)

// Version is the version of permesso in the User-Agent field.
const Version = "0.1.0"

// An Identity names the crawler in every request, so that the owner of a site can name it
// in robots.txt and reach its operator.
type Identity struct {
	Token   string // product token (RFC 9309, section 2.2.1): letters, "_" and "-"
	Contact string // an http(s) URL about the crawl, or an e-mail address
	Mail    string // an e-mail address in addition, if Contact is a URL; may be empty
}

// An OptionError names the option that is not valid, and says how to correct it.
type OptionError struct {
	Field  string
	Site   string // for settings of Options.Site or SitesByHost: the site, or the key of the table; otherwise empty
	Reason string
	Err    error // the cause, such as a *frontier.URLError of a seed, or nil
}

// Unwrap returns the cause.
func (e *OptionError) Unwrap() error { return e.Err }

func (e *OptionError) Error() string {
	if e.Site != "" {
		return fmt.Sprintf("crawler: %s of %q: %s", e.Field, e.Site, e.Reason)
	}
	return fmt.Sprintf("crawler: %s: %s", e.Field, e.Reason)
}

// Check reports why an identity cannot be used; the error is an *OptionError.
func (id Identity) Check() error {
	if id.Token == "" {
		return &OptionError{Field: "Identity.Token", Reason: `is empty: give the crawler a name of its own, such as "titlebot"`}
	}
	if err := robots.CheckToken(id.Token); err != nil {
		return &OptionError{Field: "Identity.Token", Reason: err.Error(), Err: err}
	}
	if who, known := robots.KnownToken(id.Token); known {
		return &OptionError{Field: "Identity.Token", Reason: fmt.Sprintf("%q is the name of %s: give the crawler a name of its own", id.Token, who)}
	}
	if _, ok := contactURL(id.Contact); !ok {
		return &OptionError{Field: "Identity.Contact", Reason: fmt.Sprintf("%q is neither an http(s) URL nor an e-mail address: site owners must be able to reach you", id.Contact)}
	}
	if mail, ok := contactURL(id.Mail); id.Mail != "" && (!ok || !strings.HasPrefix(mail, mailto)) {
		return &OptionError{Field: "Identity.Mail", Reason: fmt.Sprintf("%q is no e-mail address: of two contacts one is a URL, the other an e-mail address", id.Mail)}
	}
	return nil
}

// reservedNames are domains that cannot be registered: those of examples and tests (RFC 2606,
// RFC 6761), and those of local networks (RFC 6762, RFC 8375).
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

// unreachable returns why site owners cannot reach a host, or "" if they can.
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

// checkReach returns an *OptionError if site owners cannot reach the contact, because its host
// has a reserved name or a private address.
func (id Identity) checkReach() error {
	for _, c := range []struct{ field, contact string }{{"Identity.Contact", id.Contact}, {"Identity.Mail", id.Mail}} {
		text, ok := contactURL(c.contact)
		if !ok {
			continue
		}
		_, host, mail := strings.Cut(strings.TrimPrefix(text, mailto), "@")
		if u, err := url.Parse(text); err == nil && u.Host != "" {
			host, mail = u.Hostname(), true
		}
		if why := unreachable(host); mail && why != "" {
			return &OptionError{Field: c.field, Reason: fmt.Sprintf("%q does not lead to you: %s %s. Give a contact at which site owners reach you", c.contact, host, why)}
		}
	}
	return nil
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

// contactURL returns the contact as a URL: mailto: for a mail address. It returns false for a
// contact with characters that would end the comment of the User-Agent field.
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

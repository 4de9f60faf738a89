package crawler

import (
	"fmt"

	"github.com/permesso-crawler/permesso/internal/identity"
)

// Version is the version of permesso. The User-Agent field of requests contains it.
const Version = identity.Version

// An Identity names the crawler in every request, so that the owner of a site can name it
// in robots.txt and reach its operator.
type Identity struct {
	Token   string // product token (RFC 9309, section 2.2.1): letters, "_" and "-"
	Contact string // an http(s) URL about the crawl, or an e-mail address
	Mail    string // an e-mail address in addition, if Contact is a URL; may be empty
}

// An OptionError says that an option is not valid, and how to correct it.
type OptionError struct {
	Field string
	// The site, for an option of Options.Site; the key of the table, for an option of SitesByHost;
	// otherwise empty.
	Site   string
	Reason string
	Err    error // the cause, such as a *frontier.URLError for a seed, or nil
}

// Unwrap returns Err, the cause.
func (e *OptionError) Unwrap() error { return e.Err }

func (e *OptionError) Error() string {
	if e.Site != "" {
		return fmt.Sprintf("crawler: %s of %q: %s", e.Field, e.Site, e.Reason)
	}
	return fmt.Sprintf("crawler: %s: %s", e.Field, e.Reason)
}

// Check returns an *OptionError if the identity cannot be used, for example because it has no
// contact.
func (id Identity) Check() error { return identityError(identity.Identity(id).Check()) }

// checkReach returns an *OptionError if the contact cannot be reached from the public Internet, for
// example because it was copied from an example.
func (id Identity) checkReach() error { return identityError(identity.Identity(id).CheckReach()) }

func identityError(err *identity.Error) error {
	if err == nil {
		return nil
	}
	return &OptionError{Field: "Identity." + err.Field, Reason: err.Reason, Err: err.Err}
}

// UserAgent returns the value of the User-Agent field that every request has.
func (id Identity) UserAgent() string { return identity.Identity(id).UserAgent() }

// From returns the value of the From field (RFC 9110, section 10.1.2) that every request has: the
// e-mail address of the identity, or "" if it has none.
func (id Identity) From() string { return identity.Identity(id).From() }

// An IdentityError says that the crawl in a directory was begun under another Identity. Such a
// crawl is not resumed: robots.txt was read for the old name, and site owners know the crawl by
// that name.
type IdentityError struct {
	Dir       string
	Was, Want Identity
}

func (e *IdentityError) Error() string {
	return fmt.Sprintf("crawler: %s was begun as %s (%s), not as %s (%s): go on under that identity, or begin a crawl of its own elsewhere",
		e.Dir, e.Was.Token, e.Was.Contact, e.Want.Token, e.Want.Contact)
}

package crawler

import (
	"fmt"

	"github.com/permesso-crawler/permesso/internal/identity"
)

// Version is the version of permesso, which is also in the User-Agent field of requests.
const Version = identity.Version

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
	Site   string // the site, if the option is one of Options.Site; the key of the table, if it is one of SitesByHost; otherwise empty
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
func (id Identity) Check() error { return identityError(identity.Identity(id).Check()) }

// checkReach returns an *OptionError if the contact cannot be reached from the public Internet,
// such as one that was copied from an example.
func (id Identity) checkReach() error { return identityError(identity.Identity(id).CheckReach()) }

func identityError(err *identity.Error) error {
	if err == nil {
		return nil
	}
	return &OptionError{Field: "Identity." + err.Field, Reason: err.Reason, Err: err.Err}
}

// UserAgent returns the User-Agent field of every request.
func (id Identity) UserAgent() string { return identity.Identity(id).UserAgent() }

// From returns the From field (RFC 9110, section 10.1.2) of every request: the e-mail
// address, if there is one.
func (id Identity) From() string { return identity.Identity(id).From() }

// An IdentityError says that a crawl was begun under another Identity. Such a crawl is not
// resumed, because robots.txt was read for the old name, and site owners know the crawl by that
// name.
type IdentityError struct {
	Dir       string
	Was, Want Identity
}

func (e *IdentityError) Error() string {
	return fmt.Sprintf("crawler: %s was begun as %s (%s), not as %s (%s): go on under that identity, or begin a crawl of its own elsewhere",
		e.Dir, e.Was.Token, e.Was.Contact, e.Want.Token, e.Want.Contact)
}

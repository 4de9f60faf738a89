package extract

import (
	"strings"

	"github.com/permesso-crawler/permesso/frontier"
)

// An identity says whether a reference is a name of the document itself.
type identity uint8

const (
	anotherURL identity = iota
	canonicalURL
	openGraphURL
)

// isCanonical reports whether a rel has the type canonical and no other, and so names the URL
// that its page is known by (RFC 6596). "canonical alternate" names another version of the
// page.
func isCanonical(rel string) bool { return strings.EqualFold(strings.Trim(rel, blanks), "canonical") }

// alternates are the attributes that describe the version of a page that a link leads to:
// with one of them, rel=canonical does not mean the page itself, and search engines ignore it
// (Google Search Central, "How to specify a canonical URL").
var alternates = [...]string{"hreflang", "lang", "media", "type"}

// canonicalElement reports whether the link element that was read names the URL of the
// document. One in the body does not: it may be in a text of other authors.
func (s *scanner) canonicalElement(rel string) bool {
	if s.body || s.within > 0 || !isCanonical(rel) || s.open.inTemplate() || strings.Trim(s.z.value(hrefName), blanks) == "" {
		return false
	}
	for _, name := range alternates {
		if s.z.attribute(name) != nil {
			return false
		}
	}
	return true
}

// canonical sets u as the URL of the document. If different ones are named, the document has
// none: search engines ignore all of them (Google Search Central, "5 common mistakes with
// rel=canonical"), and none of them is a better guess.
func (d *Document) canonical(u frontier.URL) {
	switch {
	case d.disputed:
	case d.Canonical.IsZero():
		d.Canonical = u
	case d.Canonical.Key() != u.Key():
		d.Canonical, d.disputed = frontier.URL{}, true
	}
}

package extract

import (
	"strings"

	"github.com/permesso-crawler/permesso/frontier"
)

// identity says whether a reference names the document itself.
type identity uint8

const (
	anotherURL identity = iota
	canonicalURL
	openGraphURL
)

// isCanonical reports whether a link of these types, and of no other, names the URL
// that its page is known by (RFC 6596). "canonical alternate" is another version of the
// page, and no name of it.
func isCanonical(rel string) bool { return strings.EqualFold(strings.Trim(rel, blanks), "canonical") }

// alternates are the attributes that say what version of a page is linked to: who writes
// them beside rel=canonical does not mean the page itself, and search engines do not take
// it for that (Google Search Central, "How to specify a canonical URL").
var alternates = [...]string{"hreflang", "lang", "media", "type"}

// canonicalElement reports whether the link element that was read says what the URL of the
// document is. One in the body does not: any text of a page might.
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

// canonical takes u for the URL of the document, unless another one was named before: of
// several that differ search engines take none (Google Search Central, "5 common mistakes
// with rel=canonical"), and neither is a better guess.
func (d *Document) canonical(u frontier.URL) {
	switch {
	case d.disputed:
	case d.Canonical.IsZero():
		d.Canonical = u
	case d.Canonical.Key() != u.Key():
		d.Canonical, d.disputed = frontier.URL{}, true
	}
}

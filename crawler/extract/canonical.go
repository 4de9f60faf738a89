package extract

import (
	"strings"

	"github.com/permesso-crawler/permesso/frontier"
)

// An identity says whether a reference is the URL by which the document names itself, and how
// it does so: by rel=canonical or by og:url.
type identity uint8

const (
	anotherURL identity = iota
	canonicalURL
	openGraphURL
)

// isCanonical reports whether a rel has the type canonical and no other type. Such a link names
// the URL by which its page is known (RFC 6596). A link with "canonical alternate" names
// another version of the page.
func isCanonical(rel string) bool { return strings.EqualFold(strings.Trim(rel, blanks), "canonical") }

// alternates are the attributes that describe the version of a page that a link leads to. With
// one of these attributes, rel=canonical does not mean the page itself, and search engines
// ignore it (Google Search Central, "How to specify a canonical URL").
var alternates = [...]string{"hreflang", "lang", "media", "type"}

// canonicalElement reports whether the link element that the tokenizer has read names the URL
// of the document. A link element in the body does not count, because other authors, too, may
// have written in the body.
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

// canonical sets u as the canonical URL of the document. If the document names different URLs,
// it has no canonical URL: search engines ignore all of them (Google Search Central, "5 common
// mistakes with rel=canonical"), and none of them is a better guess.
func (d *Document) canonical(u frontier.URL) {
	switch {
	case d.disputed:
	case d.Canonical.IsZero():
		d.Canonical = u
	case d.Canonical.Key() != u.Key():
		d.Canonical, d.disputed = frontier.URL{}, true
	}
}

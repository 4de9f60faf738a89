package extract

import (
	"strings"

	"github.com/permesso-crawler/permesso/frontier"
)

// An identity says whether a reference is a URL by which the document names itself: by
// rel=canonical, by og:url, or not at all.
type identity uint8

const (
	anotherURL identity = iota
	canonicalURL
	openGraphURL
)

// isCanonical reports whether rel has the type canonical and no other type. Such a link is the URL
// that the page declares for itself (RFC 6596). A link with "canonical alternate" is another
// version of the page.
func isCanonical(rel string) bool { return strings.EqualFold(strings.Trim(rel, blanks), "canonical") }

// alternates are attributes that describe the target of a link as another version of the page. With
// one of these attributes, rel=canonical does not mean the page itself, and search engines ignore
// it (Google Search Central, "How to specify a canonical URL").
var alternates = [...]string{"hreflang", "lang", "media", "type"}

// canonicalElement reports whether the link element that the tokenizer has read declares the URL of
// the document. A link element in the body does not count, because the body may contain text of
// other authors.
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

// canonical sets u as the canonical URL of the document. If the document declares several different
// URLs, it has no canonical URL, because search engines ignore all of them (Google Search Central,
// "5 common mistakes with rel=canonical").
func (d *Document) canonical(u frontier.URL) {
	switch {
	case d.disputed:
	case d.Canonical.IsZero():
		d.Canonical = u
	case d.Canonical.Key() != u.Key():
		d.Canonical, d.disputed = frontier.URL{}, true
	}
}

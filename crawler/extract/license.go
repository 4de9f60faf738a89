package extract

import (
	"slices"
	"strings"

	"github.com/permesso-crawler/permesso/frontier"
	"github.com/permesso-crawler/permesso/robots"
)

// Limits of the licenses of one page: their number, and the bytes of each URL.
const (
	maxLicenses   = 16
	maxLicenseURL = 2048
)

// isRSL reports whether mediaType is the type of RSL license documents (RSL 1.0, section 4).
func isRSL(mediaType string) bool {
	mediaType, _, _ = strings.Cut(mediaType, ";")
	return strings.EqualFold(strings.Trim(mediaType, blanks), "application/rsl+xml")
}

// isLicense reports whether a link with this rel leads to a license (HTML, section 4.6.7.6).
func isLicense(rel string) bool {
	return slices.ContainsFunc(strings.Fields(rel), func(t string) bool { return strings.EqualFold(t, "license") })
}

// terms adds text, a license document that is contained in the page itself.
func (s *scanner) terms(text []byte) {
	if len(s.found.Terms) < maxLicenses {
		text = []byte(unwrapped(string(text)))
		s.found.Terms = append(s.found.Terms, robots.ParseEmbeddedRSL(text))
	}
}

// unwrapped returns text without the comment or CDATA section that hides a script from old
// browsers.
func unwrapped(text string) string {
	text = strings.Trim(text, blanks)
	for _, wrap := range [][2]string{{"<!--", "-->"}, {"<![CDATA[", "]]>"}} {
		if inside, ok := strings.CutPrefix(text, wrap[0]); ok && strings.HasSuffix(inside, wrap[1]) {
			return strings.Trim(strings.TrimSuffix(inside, wrap[1]), blanks)
		}
	}
	return text
}

// licenseElement adds the URL of a license document, if the link element that was read refers to
// one.
func (s *scanner) licenseElement() {
	if !s.z.has(relName) || !s.z.has(typeName) || !isRSL(s.z.value(typeName)) || !isLicense(s.z.value(relName)) {
		return
	}
	if raw := s.z.value(hrefName); len(s.licenses) < maxLicenses && raw != "" {
		s.licenses = append(s.licenses, strings.Clone(raw))
	}
}

// takeLicenses resolves raw, the references that licenseElement has added. The base of the document
// must be known.
func (d *Document) takeLicenses(raw []string) {
	for _, href := range raw {
		if u, err := d.Resolve(href); err == nil && len(u.String()) <= maxLicenseURL {
			d.Licenses = append(d.Licenses, u)
		}
	}
}

// HeaderLicenses returns the URLs of licenses in the Link fields of the answer for u. They are the
// targets of the links with rel license (HTML, section 4.6.7.6), in their order. At most 16 are
// returned, each with at most 2048 bytes. documents are the URLs among them whose media type is
// that of RSL documents.
func HeaderLicenses(values []string, u frontier.URL) (licenses, documents []frontier.URL) {
	for _, value := range values {
		for value != "" && len(licenses) < maxLicenses {
			var l linkValue
			if l, value = nextLinkValue(value); l.target == nil || !l.about(u) || !isLicense(l.rel) {
				continue
			}
			at, err := u.Resolve(*l.target)
			if err != nil || len(at.String()) > maxLicenseURL {
				continue
			}
			licenses = append(licenses, at)
			if isRSL(l.mediaType) {
				documents = append(documents, at)
			}
		}
	}
	return licenses, documents
}

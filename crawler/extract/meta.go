package extract

import (
	"strings"

	"github.com/permesso-crawler/permesso/frontier"
	"github.com/permesso-crawler/permesso/robots"
)

// meta reads a meta element: directives for robots, statements about text and data mining, a
// refresh, or an Open Graph property.
func (s *scanner) meta() {
	if s.z.has(nameName) {
		if name := s.z.value(nameName); name != "" {
			content := s.z.value(contentName)
			s.found.Directives = s.found.Directives.Merge(robots.MetaDirectives(s.opts.Token, name, content, s.opts.Aliases...))
			s.found.TDM = s.found.TDM.Merge(robots.MetaTDM(name, content))
		}
	}
	if s.z.has(equivName) && strings.EqualFold(s.z.value(equivName), "refresh") {
		if raw, ok := refreshURL(s.z.value(contentName)); ok {
			s.add("meta/refresh", frontier.HopLink, raw)
		}
	}
	if s.z.has(propertyName) {
		s.openGraph()
	}
}

// openGraph reads a meta element with an Open Graph property (The Open Graph protocol, Basic
// Metadata and Structured Properties).
func (s *scanner) openGraph() {
	switch strings.ToLower(strings.Trim(s.z.value(propertyName), blanks)) {
	case "og:url":
		if raw := s.z.value(contentName); anchored(raw) {
			if n := len(s.refs); s.add("meta/og:url", frontier.HopLink, raw) && s.within == 0 {
				s.refs[n].names = openGraphURL
			}
		}
	case "og:image", "og:image:url", "og:image:secure_url":
		if raw := s.z.value(contentName); anchored(raw) && s.z.embeds {
			s.add("meta/og:image", frontier.HopEmbed, raw)
		}
	}
}

// anchored reports whether a reference in metadata is an absolute URL, or begins with a slash.
// Other values are seldom references: www.example.org is not meant as a page in the directory of
// the document.
func anchored(raw string) bool {
	raw = strings.TrimLeft(raw, blanks)
	if strings.HasPrefix(raw, "/") {
		return true
	}
	scheme, _, ok := strings.Cut(raw, "://")
	return ok && (strings.EqualFold(scheme, "http") || strings.EqualFold(scheme, "https"))
}

// refreshURL returns the URL of a meta refresh (HTML, section 4.2.5.3) or of a Refresh field, or
// false if it has no URL. In content the URL follows a number, a separator, and an optional "url=".
// It may be in quotes.
func refreshURL(content string) (string, bool) {
	s := strings.TrimLeft(content, blanks)
	rest := strings.TrimLeft(s, "0123456789.")
	if rest == s || rest == "" || !strings.ContainsRune(blanks+";,", rune(rest[0])) {
		return "", false
	}
	rest = strings.TrimLeft(rest, blanks)
	if rest != "" && (rest[0] == ';' || rest[0] == ',') {
		rest = strings.TrimLeft(rest[1:], blanks)
	}
	if len(rest) >= 3 && strings.EqualFold(rest[:3], "url") {
		if v := strings.TrimLeft(rest[3:], blanks); strings.HasPrefix(v, "=") {
			rest = strings.TrimLeft(v[1:], blanks)
		}
	}
	if rest != "" && (rest[0] == '"' || rest[0] == '\'') {
		rest, _, _ = strings.Cut(rest[1:], rest[:1])
	}
	rest = strings.TrimRight(rest, blanks)
	return rest, rest != ""
}

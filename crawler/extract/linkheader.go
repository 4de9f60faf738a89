package extract

import (
	"net/http"
	"slices"
	"strings"

	"github.com/permesso-crawler/permesso/frontier"
)

// LinkHeader parses the Link fields of the answer for u (RFC 8288, section 3, leniently as in
// appendix B.2). It reads each link like a link element with the same rel, and returns the links to
// other documents. With opts.Embeds it also returns the links to embedded resources. A link whose
// anchor is another page belongs to that page and is left out. References are relative to u, even
// if the document has a base element. At most MaxLinks links are returned.
func LinkHeader(values []string, u frontier.URL, opts Options) []Link {
	return readHeader(values, "", u, opts).Links
}

// AddHeader adds the links of the answer's header: those of its Link fields, as LinkHeader returns
// them, and that of its first Refresh field, which browsers follow like a meta refresh (HTML, "The
// Refresh header"). They precede the document's own links. Link fields may also declare the
// canonical URL (RFC 6596). If the document declares a different one, Canonical becomes zero.
func (d *Document) AddHeader(header http.Header, u frontier.URL, opts Options) {
	found := readHeader(header["Link"], header.Get("Refresh"), u, opts)
	d.Links = append(found.Links, d.Links...)
	d.Cut = d.Cut || found.Cut
	if found.disputed {
		d.Canonical, d.disputed = frontier.URL{}, true
	} else if !found.Canonical.IsZero() {
		d.canonical(found.Canonical)
	}
}

// readHeader returns the links of Link fields and of a Refresh field. If the answer has no Refresh
// field, refresh is empty.
func readHeader(values []string, refresh string, u frontier.URL, opts Options) Document {
	c := newCollector(u, nil)
	for _, value := range values {
		for value != "" {
			var l linkValue
			l, value = nextLinkValue(value)
			hop := frontier.HopLink
			switch {
			case l.target == nil || !l.about(u):
				continue
			case linked(l.rel):
			case opts.Embeds && shown(l.rel):
				hop = frontier.HopEmbed
			default:
				continue
			}
			n := len(c.doc.Links)
			if !c.add(found{raw: *l.target, where: "header/link", rel: l.rel, lang: l.lang, hop: hop}) {
				return c.document()
			}
			if len(c.doc.Links) > n && isCanonical(l.rel) && !l.version {
				c.doc.canonical(c.doc.Links[n].URL)
			}
		}
	}
	if raw, ok := refreshURL(refresh); ok {
		c.add(found{raw: raw, where: "header/refresh", hop: frontier.HopLink})
	}
	return c.document()
}

// A linkValue is one link of a Link header field. If a parameter is repeated, the first one
// applies.
type linkValue struct {
	target, anchor *string
	rel, lang      string
	mediaType      string
	// A parameter such as media describes the target as another version of the page.
	version bool
}

// about reports whether the link starts from u. A link starts from its anchor; without an anchor it
// starts from u.
func (l linkValue) about(u frontier.URL) bool {
	if l.anchor == nil {
		return true
	}
	a, err := u.Resolve(*l.anchor)
	return err == nil && a.Key() == u.Key()
}

const fieldBlanks = " \t"

// nextLinkValue parses one link at the beginning of a field. It returns the rest of the field after
// the comma that ends the link. l.target is nil if the field does not begin with a link.
func nextLinkValue(s string) (l linkValue, rest string) {
	s = strings.TrimLeft(s, fieldBlanks+",")
	if strings.HasPrefix(s, "<") {
		target, behind, ok := strings.Cut(s[1:], ">")
		if !ok {
			return l, ""
		}
		if s = behind; strings.IndexByte(target, '<') < 0 {
			l.target = &target
		}
	}
	hasRel := false
	for s != "" && s[0] != ',' {
		var name, value string
		name, value, s = nextParameter(s)
		switch {
		case name == "rel" && !hasRel:
			l.rel, hasRel = value, true
		case name == "anchor" && l.anchor == nil:
			l.anchor = &value
		case slices.Contains(alternates[:], name):
			l.version = true
			switch {
			case name == "hreflang" && l.lang == "":
				l.lang = value
			case name == "type" && l.mediaType == "":
				l.mediaType = value
			}
		}
	}
	return l, strings.TrimPrefix(s, ",")
}

// nextParameter parses one parameter, up to the next semicolon or comma outside of quotes (appendix
// B.3). rel* is another parameter than rel.
func nextParameter(s string) (name, value, rest string) {
	s = strings.TrimLeft(s, fieldBlanks+";")
	end := strings.IndexAny(s, fieldBlanks+"=;,")
	if end < 0 {
		return "", "", ""
	}
	name, s = strings.ToLower(s[:end]), strings.TrimLeft(s[end:], fieldBlanks)
	if !strings.HasPrefix(s, "=") {
		return name, "", s
	}
	s = strings.TrimLeft(s[1:], fieldBlanks)
	if strings.HasPrefix(s, `"`) {
		value, s = quotedString(s)
		return name, value, s
	}
	if end = strings.IndexAny(s, ";,"); end < 0 {
		end = len(s)
	}
	return name, strings.TrimRight(s[:end], fieldBlanks), s[end:]
}

// quotedString returns the quoted text at the beginning of s, and the rest after it (appendix
// B.4).
func quotedString(s string) (text, rest string) {
	var b strings.Builder
	for i := 1; i < len(s); i++ {
		switch s[i] {
		case '"':
			return b.String(), s[i+1:]
		case '\\':
			if i++; i == len(s) {
				return b.String(), ""
			}
		}
		b.WriteByte(s[i])
	}
	return b.String(), ""
}

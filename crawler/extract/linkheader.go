package extract

import (
	"slices"
	"strings"

	"github.com/permesso-crawler/permesso/frontier"
)

// LinkHeader reads the Link fields of the answer that u had (RFC 8288, section 3, in
// the lenient way of appendix B.2): those that lead on, as link elements with the same
// rel do, and with opts.Embeds those that the page is shown with. A link whose anchor
// is another page is about that one, and left out. References are relative to u, whatever
// base the document has. Of more than MaxLinks the rest is left out.
func LinkHeader(values []string, u frontier.URL, opts Options) []Link {
	return linkHeader(values, u, opts).Links
}

// AddHeader adds what the Link fields of the answer say that the document came with:
// their links, before its own, as LinkHeader reads them, and what they name the canonical
// URL (RFC 6596). Where the document names another one, none is.
func (d *Document) AddHeader(values []string, u frontier.URL, opts Options) {
	header := linkHeader(values, u, opts)
	d.Links = append(header.Links, d.Links...)
	d.Cut = d.Cut || header.Cut
	if header.disputed {
		d.Canonical, d.disputed = frontier.URL{}, true
	} else if !header.Canonical.IsZero() {
		d.canonical(header.Canonical)
	}
}

func linkHeader(values []string, u frontier.URL, opts Options) Document {
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
	return c.document()
}

// linkValue is one link of a field; a parameter counts where it is first named.
type linkValue struct {
	target, anchor *string
	rel, lang      string
	mediaType      string
	version        bool // it says which one of the page it leads to
}

// about reports whether the link starts from the page itself, or a part of it.
func (l linkValue) about(u frontier.URL) bool {
	if l.anchor == nil {
		return true
	}
	a, err := u.Resolve(*l.anchor)
	return err == nil && a.Key() == u.Key()
}

const fieldBlanks = " \t"

// nextLinkValue takes one link from the beginning of a field, and returns what is
// behind its comma. What does not begin like a link is none.
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

// nextParameter takes what stands up to the next semicolon or comma that no quotes
// hold (appendix B.3). A name with an asterisk is another one: rel* is no rel.
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

// quotedString is the text in quotes that s begins with, and what is behind them
// (appendix B.4).
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

package extract

import (
	"strings"

	"github.com/permesso-crawler/permesso/frontier"
)

// LinkHeader reads the Link fields of the answer that u had (RFC 8288, section 3, in
// the lenient way of appendix B.2): those that lead on, as link elements with the same
// rel do, and with opts.Embeds those that the page is shown with. A link whose anchor
// is another page is about that one, and left out. References are relative to u, whatever
// base the document has. Of more than MaxLinks the rest is left out.
func LinkHeader(values []string, u frontier.URL, opts Options) []Link {
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
			if !c.add(found{raw: *l.target, where: "header/link", rel: l.rel, hop: hop}) {
				return c.document().Links
			}
		}
	}
	return c.document().Links
}

// linkValue is one link of a field; a parameter counts where it is first named.
type linkValue struct {
	target, anchor *string
	rel            string
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

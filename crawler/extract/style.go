package extract

import (
	"bytes"
	"strings"

	"github.com/permesso-crawler/permesso/frontier"
)

// styleSheet adds the references in css, the text of the style element whose tag was read. It does
// nothing if the type of the element is not CSS (HTML, section 4.2.6).
func (s *scanner) styleSheet(css string) {
	if kind := s.z.value(typeName); kind != "" && !strings.EqualFold(kind, "text/css") {
		return
	}
	for raw, kind := range styleRefs(css) {
		where := "style/url"
		if kind == importKind {
			where = "style/@import"
		}
		if !s.addUTF8(where, frontier.HopEmbed, raw) {
			return
		}
	}
}

// styleAttribute adds the references in the style attribute of the tag that was read. The attribute
// has declarations but no rules (CSS Style Attributes, section 3), so all its URLs are in
// parentheses.
func (s *scanner) styleAttribute() {
	if !s.z.has(styleName) || !bytes.ContainsAny(s.z.raw(styleName), "(&") {
		return
	}
	where := ""
	for raw, kind := range styleRefs(s.z.value(styleName)) {
		if kind == importKind {
			continue
		}
		if where == "" {
			where = s.nameOfElement() + "/style"
		}
		if !s.addUTF8(where, frontier.HopEmbed, raw) {
			return
		}
	}
}

// presentation adds the references in attributes of SVG that are CSS properties and may contain the
// URL of another document (SVG 2, section 6.6).
func (s *scanner) presentation() {
	if bytes.IndexByte(s.z.buf[s.z.attrs:s.z.pos], '(') < 0 {
		return
	}
	for _, name := range [...]string{"clip-path", "cursor", "fill", "filter", "marker-end", "marker-mid", "marker-start", "mask", "stroke"} {
		for raw, kind := range styleRefs(decodeValue(s.z.attribute(name))) {
			if kind == urlKind && !s.addUTF8(s.nameOfElement()+"/"+name, frontier.HopEmbed, raw) {
				return
			}
		}
	}
}

// styleInstructions adds the style sheets in the processing instructions before the first element
// (Associating Style Sheets with XML documents, section 4).
func (s *scanner) styleInstructions() {
	const instruction = "<?xml-stylesheet"
	for rest := s.z.buf; ; {
		rest = bytes.TrimLeft(rest, blanks)
		end := ">"
		switch {
		case bytes.HasPrefix(rest, []byte("<!--")):
			end = "-->"
		case bytes.HasPrefix(rest, []byte("<?")):
			end = "?>"
		case !bytes.HasPrefix(rest, []byte("<!")):
			return
		}
		markup, behind, ok := bytes.Cut(rest, []byte(end))
		if !ok {
			return
		}
		rest = behind
		if data, ok := bytes.CutPrefix(markup, []byte(instruction)); ok && len(data) > 0 && blank(data[0]) {
			// The data of the instruction has the syntax of attributes.
			z := tokenizer{buf: append(bytes.Clone(data), '>')}
			z.pos = len(z.buf)
			if raw := decodeValue(z.attribute("href")); raw != "" && raw[0] != '#' && !s.add("xml-stylesheet/href", frontier.HopEmbed, raw) {
				return
			}
		}
	}
}

// foreignText returns the text after an SVG tag, up to the first tag or comment. In SVG this text
// is markup: references and CDATA sections are decoded.
func (z *tokenizer) foreignText() string {
	const cdata = "<![CDATA["
	var text strings.Builder
	for rest := z.buf[z.pos:]; ; {
		end := bytes.IndexByte(rest, '<')
		if end < 0 {
			end = len(rest)
		}
		text.WriteString(decodeText(rest[:end]))
		section, ok := bytes.CutPrefix(rest[end:], []byte(cdata))
		if !ok {
			return text.String()
		}
		section, rest, ok = bytes.Cut(section, []byte("]]>"))
		text.Write(section)
		if !ok {
			return text.String()
		}
	}
}

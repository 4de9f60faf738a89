package extract

import (
	"bytes"
	"mime"
	"strings"
	"unicode/utf8"

	"github.com/gogs/chardet"
	"golang.org/x/net/html/charset"
	"golang.org/x/text/encoding"
)

// Decode returns body as UTF-8 and the name of the encoding it was in. What
// says so, in this order: a byte order mark, the zeros of UTF-16, the charset of
// contentType, in HTML and XML a meta element wherever it stands, or the XML declaration
// (HTML, sections 13.2.3.2 to 13.2.3.5), the whole being valid UTF-8, a guess from its
// bytes, and windows-1252 as the last resort. A style sheet says it with @charset, and is
// in UTF-8 otherwise (CSS Syntax Level 3, section 3.2). The XML declaration of a sitemap
// counts before the charset of contentType: servers send one for all files, and sitemaps
// are in UTF-8 (sitemaps.org). What is compressed with gzip is left as it is: such a
// sitemap tells its encoding inside.
func Decode(body []byte, contentType string) ([]byte, string) {
	mediaType, parameters, err := mime.ParseMediaType(contentType)
	if err != nil {
		parameters = nil
	}
	return DecodeAs(body, mediaType, parameters["charset"])
}

// DecodeAs is Decode of a body whose Content-Type was read already: its media type, in
// lower case and without parameters, and its charset; either may be empty.
func DecodeAs(body []byte, mediaType, label string) ([]byte, string) {
	e, name := determine(body, mediaType, label)
	out := body
	if name == "utf-8" {
		// It is as it stands.
	} else if table, ok := singleByte(name); ok {
		out = decodeBytes(table, body)
	} else if decoded, err := e.NewDecoder().Bytes(body); err == nil {
		out = decoded
	}
	return bytes.TrimPrefix(out, []byte("\ufeff")), name
}

// encodingOf is the encoding of a label (Encoding, section 4.2); nil if it has none.
func encodingOf(label string) (encoding.Encoding, string) {
	if label == "utf-8" || label == "UTF-8" { // nothing has to be looked up, or made
		return encoding.Nop, "utf-8"
	}
	return charset.Lookup(label)
}

func determine(body []byte, mediaType, label string) (encoding.Encoding, string) {
	if isGzip(body) {
		return encoding.Nop, "utf-8"
	}
	if name := unicodeOf(body); name != "" {
		return encodingOf(name)
	}
	if isSitemap(rootName(body)) {
		if e, name := declaredEncoding(xmlEncoding(bytes.TrimLeft(body, blanks))); e != nil {
			return e, name
		}
	}
	if e, name := encodingOf(label); e != nil {
		return e, name
	}
	switch {
	case mediaType == "text/css":
		if e, name := declaredEncoding(styleCharset(body)); e != nil {
			return e, name
		}
		return encoding.Nop, "utf-8"
	case strings.Contains(mediaType, "xml") && isFeed(rootName(body)):
		// A meta element in a feed is of a page that it quotes.
		if e, name := declaredEncoding(xmlEncoding(body)); e != nil {
			return e, name
		}
	case mediaType == "" || strings.Contains(mediaType, "html") || strings.Contains(mediaType, "xml"):
		if e, name := declared(body); e != nil {
			return e, name
		}
	}
	if isUTF8(body) {
		return encoding.Nop, "utf-8"
	}
	if e, name := guess(body); e != nil {
		return e, name
	}
	return charset.Lookup("windows-1252")
}

// unicodeOf is the encoding that the first bytes of a document tell: by a byte order mark,
// or by the zeros between two ASCII characters, which text in another encoding does not
// have (XML 1.0, appendix F). It is empty for other documents.
func unicodeOf(body []byte) string {
	switch {
	case bytes.HasPrefix(body, []byte("\xef\xbb\xbf")):
		return "utf-8"
	case bytes.HasPrefix(body, []byte("\xfe\xff")):
		return "utf-16be"
	case bytes.HasPrefix(body, []byte("\xff\xfe")):
		return "utf-16le"
	case len(body) < 4:
	case body[0] == 0 && body[2] == 0 && ascii(body[1]) && ascii(body[3]):
		return "utf-16be"
	case body[1] == 0 && body[3] == 0 && ascii(body[0]) && ascii(body[2]):
		return "utf-16le"
	}
	return ""
}

func ascii(c byte) bool { return 0 < c && c < utf8.RuneSelf }

// declared is the encoding that a meta element names, or an XML declaration;
// nil if none does.
func declared(body []byte) (encoding.Encoding, string) {
	for _, whole := range []bool{false, true} {
		m := newMarkup(body, "text/html", false)
		m.open.whole = whole
		for m.next() {
			if m.z.tag != metaTag {
				continue
			}
			if e, name := declaredEncoding(metaCharset(&m.z)); e != nil {
				return e, name
			}
		}
		if !m.open.lost {
			break
		}
	}
	return declaredEncoding(xmlEncoding(body))
}

// declaredEncoding is the encoding of a declaration that could be read without
// knowing it (HTML, section 13.2.3.2): it is not UTF-16.
func declaredEncoding(label string) (encoding.Encoding, string) {
	e, name := encodingOf(label)
	switch name {
	case "utf-16be", "utf-16le":
		return encoding.Nop, "utf-8"
	case "x-user-defined":
		return charset.Lookup("windows-1252")
	}
	return e, name
}

// metaCharset is the label in the meta element that was read.
func metaCharset(z *tokenizer) string {
	if z.has(charsetName) {
		return z.value(charsetName)
	}
	if !strings.EqualFold(z.value(equivName), "content-type") {
		return ""
	}
	// HTML, section 2.4.5.
	content := strings.ToLower(z.value(contentName))
	for {
		i := strings.Index(content, "charset")
		if i < 0 {
			return ""
		}
		content = strings.TrimLeft(content[i+len("charset"):], blanks)
		if label, ok := strings.CutPrefix(content, "="); ok {
			label = strings.TrimLeft(label, blanks)
			if label != "" && (label[0] == '"' || label[0] == '\'') {
				label, _, ok = strings.Cut(label[1:], label[:1])
				if !ok {
					return ""
				}
				return label
			}
			if end := strings.IndexAny(label, blanks+";"); end >= 0 {
				label = label[:end]
			}
			return label
		}
	}
}

// xmlEncoding is the label in the XML declaration that a document begins with.
func xmlEncoding(body []byte) string {
	rest, ok := bytes.CutPrefix(body, []byte("<?xml"))
	if !ok {
		return ""
	}
	rest, _, _ = bytes.Cut(rest[:min(len(rest), 1024)], []byte(">"))
	_, after, _ := strings.Cut(string(rest), "encoding")
	const controls = blanks + "\x00\v"
	after, ok = strings.CutPrefix(strings.TrimLeft(after, controls), "=")
	after = strings.TrimLeft(after, controls)
	if !ok || after == "" || after[0] != '"' && after[0] != '\'' {
		return ""
	}
	label, _, _ := strings.Cut(after[1:], after[:1])
	return label
}

// styleCharset is the label of the @charset that a style sheet begins with, which is no
// rule but bytes in this very form.
func styleCharset(body []byte) string {
	rest, ok := bytes.CutPrefix(body[:min(len(body), 1024)], []byte(`@charset "`))
	if !ok {
		return ""
	}
	label, rest, ok := bytes.Cut(rest, []byte(`"`))
	if !ok || len(rest) == 0 || rest[0] != ';' {
		return ""
	}
	return string(label)
}

// isUTF8 reports whether body is UTF-8, but for a character that is cut off at
// its end. What switches to other characters by escape sequences is not.
func isUTF8(body []byte) bool {
	for i := max(0, len(body)-utf8.UTFMax+1); i < len(body); i++ {
		if !utf8.FullRune(body[i:]) {
			body = body[:i]
		}
	}
	return utf8.Valid(body) && !bytes.Contains(body, []byte("\x1b$"))
}

// guess takes what the detector holds likeliest, unless next to nothing speaks
// for it.
func guess(body []byte) (encoding.Encoding, string) {
	const enough, likely = 64 << 10, 10
	r, err := chardet.NewHtmlDetector().DetectBest(body[:min(len(body), enough)])
	if err != nil || r.Confidence < likely {
		return nil, ""
	}
	return charset.Lookup(r.Charset)
}

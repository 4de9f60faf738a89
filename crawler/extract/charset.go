package extract

import (
	"bytes"
	"cmp"
	"mime"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/gogs/chardet"
	"golang.org/x/net/html/charset"
	"golang.org/x/text/encoding"
)

// Decode returns body as UTF-8, and the name of its original encoding. The first of these that
// applies determines the encoding:
//
//   - a byte order mark;
//   - the zero bytes that ASCII characters have in UTF-16;
//   - the charset of contentType;
//   - in HTML and XML, a meta element at any place, or the XML declaration (HTML, sections
//     13.2.3.2 to 13.2.3.5);
//   - UTF-8, if all of body is valid UTF-8;
//   - a guess from the bytes of body;
//   - windows-1252.
//
// A style sheet names its encoding in @charset, and is otherwise in UTF-8 (CSS Syntax Level 3,
// section 3.2). In a sitemap the XML declaration counts before the charset of contentType,
// because servers send one charset for all files, and sitemaps are in UTF-8 (sitemaps.org).
// Data that is compressed with gzip is returned as it is: a compressed sitemap names its
// encoding in the compressed text.
func Decode(body []byte, contentType string) ([]byte, string) {
	mediaType, parameters, err := mime.ParseMediaType(contentType)
	if err != nil {
		parameters = nil
	}
	return DecodeAs(body, mediaType, parameters["charset"])
}

// DecodeAs is like Decode, but for a Content-Type that was already parsed. mediaType is in lower
// case and without parameters, and label is the charset. Either may be empty.
func DecodeAs(body []byte, mediaType, label string) ([]byte, string) {
	e, name := determine(body, mediaType, label)
	out := body
	if name == "utf-8" {
		// nothing to decode
	} else if table, ok := singleByte(name); ok {
		out = decodeBytes(table, body)
	} else if decoded, err := e.NewDecoder().Bytes(body); err == nil {
		out = decoded
	}
	return bytes.TrimPrefix(out, []byte("\ufeff")), name
}

// encodingOf returns the encoding for a label such as "utf-8", and its name (Encoding Standard,
// section 4.2). The encoding is nil if the label is unknown.
func encodingOf(label string) (encoding.Encoding, string) {
	if label == "utf-8" || label == "UTF-8" { // the common case, without a look-up
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
		// A meta element in a feed belongs to a page that the feed quotes.
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

// unicodeOf returns the encoding that can be recognized from the first bytes of a document, or "".
// These bytes are a byte order mark, or two ASCII characters in UTF-16, whose zero bytes do not
// occur in other encodings (XML 1.0, appendix F).
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

// declared returns the encoding in a meta element or an XML declaration, or nil.
func declared(body []byte) (encoding.Encoding, string) {
	for _, whole := range []bool{false, true} {
		m := newMarkup(body, "text/html", false)
		m.open.keepAll = whole
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

// declaredEncoding returns the encoding for label, which a declaration inside the document
// contains. For UTF-16 it returns UTF-8: the declaration was read as ASCII, so the document cannot
// be UTF-16 (HTML, section 13.2.3.2).
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

// metaCharset returns the charset in the meta element that z has read, or "" if it has no
// charset.
func metaCharset(z *tokenizer) string {
	if z.has(charsetName) {
		return z.value(charsetName)
	}
	if !strings.EqualFold(z.value(equivName), "content-type") {
		return ""
	}
	// The rest of this function is the algorithm of HTML, section 2.4.5.
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

// xmlEncoding returns the label of the encoding in the XML declaration at the start of a document,
// or "".
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

// styleCharset returns the label of the encoding in the @charset at the start of a style sheet, or
// "". @charset is not parsed as a rule: it is a fixed sequence of bytes.
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

// isUTF8 reports whether body is UTF-8. An incomplete character at the end of body is ignored.
// ISO-2022-JP uses only bytes that are valid in UTF-8; a text with one of its escape sequences is
// not UTF-8.
func isUTF8(body []byte) bool {
	for i := max(0, len(body)-utf8.UTFMax+1); i < len(body); i++ {
		if !utf8.FullRune(body[i:]) {
			body = body[:i]
		}
	}
	return utf8.Valid(body) && !bytes.Contains(body, []byte("\x1b$"))
}

// guess returns the encoding that package chardet finds most likely, or nil if its confidence is
// very low. If several encodings have the same confidence, guess prefers UTF-8 and then the first
// by name. The result of the package itself would depend on the order of its computations.
func guess(body []byte) (encoding.Encoding, string) {
	const enough, likely = 64 << 10, 10
	all, err := chardet.NewHtmlDetector().DetectAll(body[:min(len(body), enough)])
	if err != nil {
		return nil, ""
	}
	other := func(r chardet.Result) int {
		if r.Charset == "UTF-8" {
			return 0
		}
		return 1
	}
	best := slices.MinFunc(all, func(a, b chardet.Result) int {
		return cmp.Or(b.Confidence-a.Confidence, other(a)-other(b), strings.Compare(a.Charset, b.Charset))
	})
	if best.Confidence < likely {
		return nil, ""
	}
	return charset.Lookup(best.Charset)
}

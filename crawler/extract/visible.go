package extract

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"hash"
	"unicode"
	"unicode/utf8"

	"golang.org/x/net/html/atom"
)

// TextDigest returns the SHA-256 of the visible text of a page, as "sha256:" and hexadecimal
// digits. Two pages with the same text have the same digest, even if their markup, URLs and scripts
// differ. body is in UTF-8.
//
// For HTML the digest covers the text of the elements, with character references decoded. Each
// sequence of white space becomes one space, and white space at the ends is removed. The digest
// leaves out script, style, title, template, noscript, noframes, iframe and noembed elements,
// comments and attributes. Text that a style hides is included, because no style is computed. A
// line break separates words, and so does an element that begins a line. For plain text the digest
// covers the text, with white space treated in the same way. For any other media type it covers the
// body itself.
func TextDigest(body []byte, mediaType string) string {
	t := visibleText{sum: sha256.New()}
	switch {
	case IsHTML(mediaType):
		t.read(body)
	case mediaType == "text/plain":
		t.add(string(body))
		t.flush()
	default:
		t.sum.Write(body)
	}
	return "sha256:" + hex.EncodeToString(t.sum.Sum(nil))
}

// A visibleText computes the digest of text in which each sequence of white space is one space.
type visibleText struct {
	sum   hash.Hash
	buf   []byte
	any   bool // some text was written to sum
	blank bool // the next text follows a space
}

// unseen reports whether the elements inside an element with that name are not visible.
func unseen(name elementName) bool {
	return name == atom.Template || name == atom.Noscript || name == atom.Noframes
}

// unseenText reports whether the raw text of an element with that name is not visible. The raw text
// of textarea, xmp and plaintext is visible.
func unseenText(name elementName) bool {
	switch name {
	case atom.Script, atom.Style, atom.Title, atom.Iframe, atom.Noembed:
		return true
	}
	return false
}

// read adds the visible text of an HTML document.
func (t *visibleText) read(body []byte) {
	z := tokenizer{buf: bytes.TrimRight(body, "<")} // a "<" at the end may begin a tag whose rest is missing
	svg := 0
	var hidden elementName // the outermost open element that is not visible; 0 if none exists
	depth := 0             // number of open elements with the name hidden
	for z.pos < len(z.buf) {
		from := z.pos
		at := z.nextMarkup()
		if hidden == 0 {
			t.add(decodeText(z.buf[from:at]))
		}
		if at == len(z.buf) {
			break
		}
		z.cdata = svg > 0
		kind, ok := z.readMarkup()
		if !ok || kind == endOfInput {
			continue
		}
		name := z.elementName()
		t.blank = t.blank || breaksLine(name)
		switch {
		case name == hidden && kind == endTag:
			if depth--; depth == 0 {
				hidden = 0
			}
		case name == hidden && name == atom.Template:
			depth++
		case name == atom.Svg && kind == endTag && (hidden == 0 || unseenText(hidden)):
			svg, hidden, depth = max(0, svg-1), 0, 0
		case hidden != 0:
		case name == atom.Svg && !z.selfClosing():
			svg++
		case kind == startTag && (unseen(name) || svg > 0 && unseenText(name)) && !z.selfClosed(svg > 0):
			hidden, depth = name, 1
		}
		if svg > 0 { // in SVG no element has raw text
			z.rawText = ""
		}
		if text := z.readRawText(); hidden == 0 && len(text) > 0 && !unseenText(name) {
			t.add(decodeText(text))
		}
	}
	t.flush()
}

// selfClosed reports whether a start tag is a whole element. Only in SVG and MathML, where foreign
// is true, a slash makes it one.
func (z *tokenizer) selfClosed(foreign bool) bool { return foreign && z.selfClosing() }

// add adds text to the digest. Each sequence of white space becomes one space.
func (t *visibleText) add(text string) {
	for text != "" {
		if n := blankAt(text, 0); n > 0 {
			t.blank, text = true, text[n:]
			continue
		}
		end := 1
		for end < len(text) && blankAt(text, end) == 0 {
			end++
		}
		if t.blank && t.any {
			t.buf = append(t.buf, ' ')
		}
		t.any, t.blank = true, false
		t.buf = append(t.buf, text[:end]...)
		text = text[end:]
		if len(t.buf) > 4<<10 {
			t.flush()
		}
	}
}

// blankAt returns the length in bytes of the white space character at offset i. It returns 0 if
// another character is there, or if i is inside a character.
func blankAt(text string, i int) int {
	switch c := text[i]; {
	case c == ' ' || '\t' <= c && c <= '\r':
		return 1
	case c < utf8.RuneSelf || !utf8.RuneStart(c):
		return 0
	}
	r, n := utf8.DecodeRuneInString(text[i:])
	if !unicode.IsSpace(r) {
		return 0
	}
	return n
}

func (t *visibleText) flush() {
	t.sum.Write(t.buf)
	t.buf = t.buf[:0]
}

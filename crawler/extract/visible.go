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

// TextDigest is the SHA-256 of what readers see of a page, as "sha256:" and hexadecimal
// digits: two pages that say the same have the same digest, whatever their markup, their
// addresses and their scripts are. body is UTF-8.
//
// Of HTML it is the text of the elements, its references read, any blanks one, and none at
// the ends. Script, style, title, template, noscript, noframes, iframe and noembed elements
// do not count, nor do comments, attributes and the style that hides something: no style is
// computed. Text on both sides of a line break, or of an element that begins a line, are
// words of their own. Of plain text it is the text with its blanks folded so, and of any
// other media type the body itself.
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

// visibleText is text in which any blanks are one, on its way into a sum.
type visibleText struct {
	sum   hash.Hash
	buf   []byte
	any   bool // something was written
	blank bool // comes before what is added next
}

// unseen are the elements whose content is markup that readers do not see.
func unseen(name elementName) bool {
	return name == atom.Template || name == atom.Noscript || name == atom.Noframes
}

// unseenText reports whether readers see nothing of the text of an element: of the others
// (textarea, xmp, plaintext) they do.
func unseenText(name elementName) bool {
	switch name {
	case atom.Script, atom.Style, atom.Title, atom.Iframe, atom.Noembed:
		return true
	}
	return false
}

// read adds what readers see of a document.
func (t *visibleText) read(body []byte) {
	z := tokenizer{buf: bytes.TrimRight(body, "<")} // a last "<" may begin a tag that is not seen
	svg := 0
	var hidden elementName // the element that hides what comes
	depth := 0             // how many of that name are open
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
		if svg > 0 { // there no element's content is raw text
			z.rawText = ""
		}
		if text := z.readRawText(); hidden == 0 && len(text) > 0 && !unseenText(name) {
			t.add(decodeText(text))
		}
	}
	t.flush()
}

// selfClosed reports whether a start tag is the whole element, which in HTML none is.
func (z *tokenizer) selfClosed(foreign bool) bool { return foreign && z.selfClosing() }

// add adds a piece of text.
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

// blankAt is how many bytes a blank has that is at i; 0: there is none, nor within a
// character.
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

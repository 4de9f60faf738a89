package extract

import (
	"bytes"
	"strings"
	"unicode"
	"unicode/utf8"

	"golang.org/x/net/html/atom"
)

// Limits in bytes: the text of a link, and the markup in which that text is searched.
const (
	maxText       = 256
	maxTextMarkup = 16 << 10
)

// keepText stores the text of the a or area element whose tag was read: its visible text, and the
// alt attributes of its images. The text ends with the element, or at the next link.
func (s *scanner) keepText() {
	var t foldedText
	if s.z.tag == areaTag {
		t.add(s.z.value(altName))
	} else if s.space == htmlSpace && !s.open.xml || !s.z.selfClosing() {
		t.read(s.z, s.space != htmlSpace)
	}
	s.said = append(s.said, t.cut()...)
}

// A foldedText is text in which each sequence of white space is one space, with no space at its
// ends.
type foldedText struct {
	text  []byte
	blank bool // the next text follows a space
}

// read adds the text after the tag that z has read. z is a copy of the scanner's tokenizer. foreign
// reports whether the tag is in SVG, where no element has raw text.
func (t *foldedText) read(z tokenizer, foreign bool) {
	z.buf = z.buf[:min(len(z.buf), z.pos+maxTextMarkup)]
	z.buf = bytes.TrimRight(z.buf, "<") // a "<" at the end may begin a tag whose rest is missing
	svg := 0
	if foreign {
		svg = 1
	}
	hidden := false // inside a style sheet or a script
	for len(t.text) <= maxText {
		from := z.pos
		at := z.nextMarkup()
		if !hidden {
			t.add(decodeText(z.buf[from:at]))
		}
		kind, ok := z.readMarkup()
		switch {
		case at == len(z.buf), ok && kind == endOfInput, ok && z.tag == aTag:
			return
		case !ok:
			continue
		case z.tag == svgTag || z.tag == mathTag:
			if kind == endTag {
				svg = max(0, svg-1)
			} else if !z.selfClosing() {
				svg++
			}
		case kind == startTag && z.tag == imgTag:
			t.add(z.value(altName))
		}
		t.blank = t.blank || breaksLine(z.elementName())
		hidden = kind == startTag && (z.tag == styleTag || z.tag == scriptTag)
		if svg > 0 {
			z.rawText = ""
		}
		z.readRawText()
	}
}

// nextMarkup moves past the next "<" that begins markup, and returns the offset of that "<". If
// none exists, it returns the length of the input. The input must not end with "<".
func (z *tokenizer) nextMarkup() int {
	for {
		i := bytes.IndexByte(z.buf[z.pos:], '<')
		if i < 0 {
			z.end()
			return z.pos
		}
		z.pos += i + 1
		if c := z.buf[z.pos]; letter(c) || c == '!' || c == '?' || c == '/' {
			return z.pos - 1
		}
	}
}

// breaksLine reports whether a tag with that name separates the words before and after it.
func breaksLine(name elementName) bool {
	return name == atom.Br || name == atom.Table || traitsOf[name]&(closesP|tablePart) != 0
}

func (t *foldedText) add(text string) {
	for text != "" && len(t.text) <= maxText {
		word := strings.TrimLeftFunc(text, unicode.IsSpace)
		t.blank = t.blank || len(word) < len(text)
		if word == "" {
			return
		}
		end := strings.IndexFunc(word, unicode.IsSpace)
		if end < 0 {
			end = len(word)
		}
		if t.blank && len(t.text) > 0 {
			t.text = append(t.text, ' ')
		}
		t.blank = false
		t.text = append(t.text, word[:min(end, maxText+utf8.UTFMax)]...)
		text = word[end:]
	}
}

// cut returns at most maxText bytes of the text. It does not split a character.
func (t *foldedText) cut() []byte {
	if len(t.text) <= maxText {
		return t.text
	}
	end := maxText
	for end > 0 && !utf8.RuneStart(t.text[end]) {
		end--
	}
	return bytes.TrimRight(t.text[:end], " ")
}

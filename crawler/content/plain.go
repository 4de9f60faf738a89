package content

import (
	"bytes"
	"fmt"
	"strings"
	"unicode"
	"unicode/utf8"

	"golang.org/x/net/html"
	"golang.org/x/net/html/atom"
)

// Limits of pages for which an element tree is built.
const (
	maxMarkup   = 8 << 20
	maxElements = 100_000
	// maxReopened is the maximum number of elements that the parser may add because of missing end
	// tags. The parser opens formatting elements again in each following block (HTML, section
	// 13.2.4.3). So without this limit a page of 1 MiB could have a tree of many GiB.
	maxReopened = 200_000
)

// A plain is the text of a page, with the counts that decide whether an element tree can be built.
type plain struct {
	title, lang string
	elements    int
	reopened    int // upper bound of the number of elements that the parser adds

	text    strings.Builder
	pending byte // the separator before the next text: 0 (none), a space or a line end
	pre     int  // number of open pre elements
	hidden  atom.Atom
	depth   int // number of open elements with the name hidden
	format  int // number of formatting elements without an end tag
}

// readPlain reads a page in UTF-8. It leaves out the same elements as extract.TextDigest.
func readPlain(body []byte) *plain {
	p := &plain{}
	z := html.NewTokenizer(bytes.NewReader(body))
	inTitle := false
	for {
		switch kind := z.Next(); kind {
		case html.ErrorToken:
			return p
		case html.TextToken:
			switch {
			case inTitle && p.title == "":
				p.title = strings.ToValidUTF8(strings.Join(strings.Fields(string(z.Text())), " "), "\uFFFD")
			case p.hidden == 0:
				p.add(z.Text())
			}
			inTitle = false
		case html.StartTagToken, html.SelfClosingTagToken, html.EndTagToken:
			name, attributes := z.TagName()
			tag := atom.Lookup(name)
			inTitle = tag == atom.Title && kind == html.StartTagToken
			if tag == atom.Html && attributes && p.lang == "" {
				p.lang = langOf(z)
			}
			p.tag(tag, kind == html.EndTagToken)
		}
	}
}

// closeEmpty adds an end tag to each empty element of an XHTML page, such as <script src="x"/>.
// Without it, an HTML parser would ignore the slash and take the rest of the page for the content
// of the element.
func closeEmpty(body []byte) []byte {
	var b bytes.Buffer
	z := html.NewTokenizer(bytes.NewReader(body))
	for {
		kind := z.Next()
		b.Write(z.Raw())
		switch kind {
		case html.ErrorToken:
			return b.Bytes()
		case html.SelfClosingTagToken:
			z.NextIsNotRawText()
			if name, _ := z.TagName(); !isVoid(atom.Lookup(name)) {
				b.WriteString("</" + string(name) + ">")
			}
		}
	}
}

// isVoid reports whether an element never has content (HTML, section 13.1.2).
func isVoid(tag atom.Atom) bool {
	switch tag {
	case atom.Area, atom.Base, atom.Br, atom.Col, atom.Embed, atom.Hr, atom.Img, atom.Input, atom.Link, atom.Meta, atom.Param, atom.Source, atom.Track, atom.Wbr:
		return true
	}
	return false
}

func langOf(z *html.Tokenizer) string {
	for {
		key, value, more := z.TagAttr()
		if string(key) == "lang" || string(key) == "xml:lang" {
			lang := strings.TrimSpace(string(value))
			if len(lang) > 64 || !utf8.ValidString(lang) {
				return ""
			}
			return lang
		}
		if !more {
			return ""
		}
	}
}

// tag updates p for a start tag, or for an end tag if end is true.
func (p *plain) tag(tag atom.Atom, end bool) {
	if !end {
		p.elements++
	}
	if formats(tag) {
		if p.format++; end {
			p.format = max(0, p.format-2)
		}
	} else {
		p.reopened += max(0, p.format-8)
	}
	switch {
	case p.hidden != 0 && tag == p.hidden && end:
		if p.depth--; p.depth == 0 {
			p.hidden = 0
		}
	case p.hidden != 0 && tag == p.hidden && tag == atom.Template:
		p.depth++
	case p.hidden != 0:
	case hides(tag) && !end:
		p.hidden, p.depth = tag, 1
	case tag == atom.Pre:
		p.newline()
		if p.pre++; end {
			p.pre = max(0, p.pre-2)
		}
	case tag == atom.Br && p.pre > 0:
		p.text.WriteByte('\n')
	case tag == atom.Td || tag == atom.Th:
		if end || p.pending == 0 {
			p.pending = ' '
		}
	case startsLine(tag):
		p.newline()
	}
}

func (p *plain) newline() { p.pending = '\n' }

// hides reports whether elements with this tag have no visible content.
func hides(tag atom.Atom) bool {
	switch tag {
	case atom.Script, atom.Style, atom.Title, atom.Template, atom.Noscript, atom.Noframes, atom.Iframe, atom.Noembed:
		return true
	}
	return false
}

// formats reports whether the parser opens elements with this tag again in the next block (HTML,
// section 13.2.4.3, "formatting").
func formats(tag atom.Atom) bool {
	switch tag {
	case atom.A, atom.B, atom.Big, atom.Code, atom.Em, atom.Font, atom.I, atom.Nobr, atom.S, atom.Small, atom.Strike, atom.Strong, atom.Tt, atom.U:
		return true
	}
	return false
}

// startsLine reports whether elements with this tag begin and end a line.
func startsLine(tag atom.Atom) bool {
	switch tag {
	case atom.Address, atom.Article, atom.Aside, atom.Blockquote, atom.Body, atom.Br, atom.Button, atom.Caption, atom.Center, atom.Dd,
		atom.Details, atom.Dialog, atom.Dir, atom.Div, atom.Dl, atom.Dt, atom.Fieldset, atom.Figcaption, atom.Figure, atom.Footer,
		atom.Form, atom.H1, atom.H2, atom.H3, atom.H4, atom.H5, atom.H6, atom.Header, atom.Hgroup, atom.Hr, atom.Legend, atom.Li,
		atom.Listing, atom.Main, atom.Menu, atom.Nav, atom.Ol, atom.Option, atom.P, atom.Plaintext, atom.Search, atom.Section,
		atom.Select, atom.Summary, atom.Table, atom.Tbody, atom.Tfoot, atom.Thead, atom.Tr, atom.Ul, atom.Xmp:
		return true
	}
	return false
}

// add adds text. Outside of pre elements each sequence of white space is replaced by one space.
func (p *plain) add(text []byte) {
	if p.pre > 0 && len(bytes.TrimSpace(text)) > 0 {
		text = bytes.ReplaceAll(text, []byte("\r\n"), []byte("\n"))
		p.separate()
		p.text.Write(bytes.ToValidUTF8(text, []byte("\uFFFD")))
		return
	}
	if p.pre > 0 {
		p.text.Write(text)
		return
	}
	for len(text) > 0 {
		word := bytes.TrimLeftFunc(text, unicode.IsSpace)
		if len(word) < len(text) && p.pending == 0 {
			p.pending = ' '
		}
		if len(word) == 0 {
			return
		}
		end := bytes.IndexFunc(word, unicode.IsSpace)
		if end < 0 {
			end = len(word)
		}
		p.separate()
		p.text.Write(bytes.ToValidUTF8(word[:end], []byte("\uFFFD")))
		text = word[end:]
	}
}

// separate writes the pending separator, if there is one.
func (p *plain) separate() {
	if p.pending != 0 && p.text.Len() > 0 {
		p.text.WriteByte(p.pending)
	}
	p.pending = 0
}

// String returns the text without white space at its ends.
func (p *plain) String() string { return strings.TrimSpace(p.text.String()) }

// limit returns an error if the page has too much markup to build an element tree. size is the size
// of the page in bytes.
func (p *plain) limit(size int) error {
	switch {
	case size > maxMarkup:
		return fmt.Errorf("the page has %d bytes, and main content is looked for in at most %d", size, maxMarkup)
	case p.elements > maxElements:
		return fmt.Errorf("the page has %d elements, and main content is looked for in at most %d", p.elements, maxElements)
	case p.reopened > maxReopened:
		return fmt.Errorf("the page has so many formatting elements without an end tag that its tree would be too large")
	}
	return nil
}

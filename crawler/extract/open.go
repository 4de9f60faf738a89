package extract

import (
	"strings"

	"golang.org/x/net/html/atom"
)

// A markup reads start tags and determines the namespace of each.
type markup struct {
	z     tokenizer
	open  openElements
	space space // namespace of the tag that was read
}

func newMarkup(body []byte, mediaType string, embeds bool) markup {
	return markup{
		z:    tokenizer{buf: body, embeds: embeds},
		open: openElements{xml: mediaType == "application/xhtml+xml"},
	}
}

// next reads the next start tag, and reports whether there is one. It also returns false if the
// stack of open elements is lost (see openElements).
func (m *markup) next() bool {
	for !m.open.lost {
		switch m.z.next() {
		case endOfInput:
			return false
		case endTag:
			if m.z.tag == templateTag || m.open.tracks() {
				m.open.end(&m.z)
				m.z.cdata = m.open.foreign()
			}
		case startTag:
			m.space = htmlSpace
			if m.z.tag == svgTag || m.z.tag == mathTag || m.z.tag == templateTag || m.open.tracks() {
				m.space = m.open.start(&m.z)
				m.z.cdata = m.open.foreign()
				if m.space != htmlSpace {
					m.z.rawText = ""
				}
			}
			return true
		}
	}
	return false
}

// An openElements is the stack of open elements (HTML, section 13.2.4.2), as far as it is needed to
// know which tags belong to SVG or MathML. In SVG and MathML no element has raw text, a slash
// closes an element, and only an SVG link is a link.
//
// Outside of SVG and MathML the stack is empty and costs no time. In rare cases an end tag inside
// SVG or MathML closes elements outside, such as </div> in <div><svg></div>. The result then
// depends on earlier tags, which are not in the stack. In this case the field lost is set, and the
// document must be read once more with the field keepAll set. With keepAll, the stack keeps all open
// elements. Unlike in HTML, formatting elements are not opened again if their own end tag is
// missing.
type openElements struct {
	keepAll bool
	lost    bool
	xml     bool // a slash closes any element, because the document is XHTML

	stack     []element
	tooDeep   int  // number of open elements beyond maxOpen, which are not in the stack
	templates int  // number of open templates that began while the stack was empty
	form      bool // a form is open, so another form cannot begin
}

// maxOpen is the maximum number of elements in the stack. It limits the time for one tag. Browsers
// nest no deeper.
const maxOpen = 512

type element struct {
	name  elementName
	space space
	html  bool // the element is an annotation-xml with HTML content
}

// An elementName is the atom of a name in lower case. For a name without an atom, it is a hash
// of the name that differs from every atom.
type elementName = atom.Atom

// A space is the namespace of an element.
type space uint8

const (
	htmlSpace space = iota
	svgSpace
	mathSpace
)

// tracks reports whether every tag must be passed to the stack. Otherwise only the tags that begin
// or end SVG, MathML or a template must be passed.
func (o *openElements) tracks() bool { return o.keepAll || len(o.stack) > 0 }

// foreign reports whether the innermost open element belongs to SVG or MathML.
func (o *openElements) foreign() bool { return o.top().space != htmlSpace }

// inTemplate reports whether a template is open. The content of a template is not a part of the
// document.
func (o *openElements) inTemplate() bool {
	return o.templates > 0 || o.find(atom.Template, func(element) bool { return false }) >= 0
}

func (o *openElements) top() element {
	if len(o.stack) == 0 {
		return element{}
	}
	return o.stack[len(o.stack)-1]
}

// start processes the start tag that z has read, and returns its namespace.
func (o *openElements) start(z *tokenizer) space {
	name := z.elementName()
	top := o.top()
	if !top.reads(name) {
		if !breaksOut(name, z) {
			o.push(element{name, top.space, top.space == mathSpace && name == atom.AnnotationXml && holdsHTML(z)}, z)
			return top.space
		}
		for o.foreign() && !o.top().holdsHTML() {
			o.stack = o.stack[:len(o.stack)-1]
		}
	}
	switch {
	case name == atom.Svg:
		o.push(element{name: name, space: svgSpace}, z)
	case name == atom.Math:
		o.push(element{name: name, space: mathSpace}, z)
	case o.tracks():
		o.startHTML(name, z)
	case name == atom.Template:
		o.templates++
	}
	return htmlSpace
}

// push adds an element to the stack, unless its tag also closes it.
func (o *openElements) push(e element, z *tokenizer) {
	switch {
	case (e.space != htmlSpace || o.xml) && z.selfClosing():
	case len(o.stack) == maxOpen:
		o.tooDeep++
	default:
		o.stack = append(o.stack, e)
	}
}

// reads reports whether a start tag inside e is an HTML tag (HTML, section 13.2.6, the tree
// construction dispatcher).
func (e element) reads(name elementName) bool {
	switch {
	case e.space == htmlSpace, e.holdsHTML():
		return e.space != mathSpace || e.name == atom.AnnotationXml || name != atom.Mglyph && name != atom.Malignmark
	case e.space == mathSpace && e.name == atom.AnnotationXml:
		return name == atom.Svg
	}
	return false
}

// holdsHTML reports whether e is an integration point: an SVG or MathML element with HTML content.
func (e element) holdsHTML() bool {
	return e.html || e.special() && e.space != htmlSpace && e.name != atom.AnnotationXml
}

// special reports whether e is in HTML's special category.
func (e element) special() bool {
	switch e.space {
	case svgSpace:
		return e.name == atom.Foreignobject || e.name == atom.Desc || e.name == atom.Title
	case mathSpace:
		switch e.name {
		case atom.Mi, atom.Mo, atom.Mn, atom.Ms, atom.Mtext, atom.AnnotationXml:
			return true
		}
		return false
	}
	return traitsOf[e.name]&special != 0
}

// breaksOut reports whether a start tag ends SVG and MathML (HTML, section 13.2.6.5).
func breaksOut(name elementName, z *tokenizer) bool {
	if name == atom.Font {
		return z.attribute("color") != nil || z.attribute("face") != nil || z.attribute("size") != nil
	}
	return traitsOf[name]&breaks != 0
}

func holdsHTML(z *tokenizer) bool {
	encoding := decodeValue(z.attribute("encoding"))
	return strings.EqualFold(encoding, "text/html") || strings.EqualFold(encoding, "application/xhtml+xml")
}

// end processes the end tag that z has read.
func (o *openElements) end(z *tokenizer) {
	name := z.elementName()
	switch {
	case o.tooDeep > 0:
		o.tooDeep--
	case !o.tracks():
		o.templates = max(0, o.templates-1)
	case o.foreign():
		o.endForeign(name)
	default:
		o.endHTML(name)
	}
}

func (o *openElements) endForeign(name elementName) {
	if name == atom.P || name == atom.Br {
		for o.foreign() && !o.top().holdsHTML() {
			o.stack = o.stack[:len(o.stack)-1]
		}
		if o.tracks() {
			o.endHTML(name)
		}
		return
	}
	for i := len(o.stack) - 1; i >= 0 && o.stack[i].space != htmlSpace; i-- {
		if o.stack[i].name == name {
			o.stack = o.stack[:i]
			return
		}
	}
	o.endHTML(name)
}

// elementName returns the name of the tag that was read, in lower case.
func (z *tokenizer) elementName() elementName {
	name := z.buf[z.name.start:z.name.end]
	lower := make([]byte, 0, 32)
	for _, c := range name {
		if 'A' <= c && c <= 'Z' {
			c |= 0x20
		}
		lower = append(lower, c)
	}
	if a := atom.Lookup(lower); a != 0 {
		return a
	}
	hash := uint32(2166136261)
	for _, c := range lower {
		hash = (hash ^ uint32(c)) * 16777619
	}
	return elementName(hash | 1<<31)
}

// attribute returns the value, as written, of an attribute of the start tag that was read. It
// returns nil if the tag has no attribute with that name.
func (z *tokenizer) attribute(name string) []byte {
	end := z.pos
	defer func() { z.pos = end }()
	for z.pos = z.attrs; z.pos < end-1; z.skipBlanks() {
		if key, v, _ := z.readAttribute(); equalLower(key, []byte(name)) {
			return z.buf[v.start:v.end]
		}
	}
	return nil
}

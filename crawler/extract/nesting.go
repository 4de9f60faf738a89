package extract

import (
	"slices"

	"golang.org/x/net/html/atom"
)

// traits are properties of an element that the rules for tags in the body of a document use (HTML,
// section 13.2.6.4.7).
type traits uint16

const (
	special   traits = 1 << iota
	void             // has no content
	raw              // has only text as content
	closesP          // its start tag ends a paragraph
	block            // its end tag closes the open elements in it
	formats          // it is opened again after the elements around it have ended
	heading          // h1 to h6
	tablePart        // occurs only in tables
	scope            // tags inside it do not affect the elements around it
	breaks           // its start tag ends SVG and MathML
)

var traitsOf = func() map[atom.Atom]traits {
	m := map[atom.Atom]traits{}
	add := func(t traits, names ...atom.Atom) {
		for _, n := range names {
			m[n] |= t
		}
	}
	add(special|void, atom.Area, atom.Base, atom.Basefont, atom.Bgsound, atom.Br, atom.Col, atom.Embed, atom.Hr, atom.Img,
		atom.Input, atom.Keygen, atom.Link, atom.Meta, atom.Param, atom.Source, atom.Track, atom.Wbr)
	add(void, atom.Image)
	add(special|raw, atom.Iframe, atom.Noembed, atom.Plaintext, atom.Script, atom.Style, atom.Textarea, atom.Title, atom.Xmp)
	add(special|closesP|block, atom.Address, atom.Article, atom.Aside, atom.Blockquote, atom.Center, atom.Details, atom.Dialog,
		atom.Dir, atom.Div, atom.Dl, atom.Fieldset, atom.Figcaption, atom.Figure, atom.Footer, atom.Header, atom.Hgroup,
		atom.Listing, atom.Main, atom.Menu, atom.Nav, atom.Ol, atom.Pre, atom.Search, atom.Section, atom.Summary, atom.Ul)
	m[atom.Dialog] &^= special
	add(special|closesP, atom.Form, atom.Hr, atom.Li, atom.Dd, atom.Dt, atom.P, atom.Plaintext, atom.Xmp)
	add(special|closesP|heading, atom.H1, atom.H2, atom.H3, atom.H4, atom.H5, atom.H6)
	add(special|block, atom.Button)
	add(special|block|scope, atom.Applet, atom.Marquee, atom.Object, atom.Select)
	add(special|scope, atom.Html, atom.Table, atom.Template)
	add(special, atom.Body, atom.Frame, atom.Frameset, atom.Head, atom.Noframes, atom.Noscript)
	add(special|tablePart, atom.Caption, atom.Col, atom.Colgroup, atom.Tbody, atom.Td, atom.Tfoot, atom.Th, atom.Thead, atom.Tr)
	add(scope, atom.Caption, atom.Td, atom.Th)
	add(formats, atom.A, atom.B, atom.Big, atom.Code, atom.Em, atom.Font, atom.I, atom.Nobr, atom.S, atom.Small, atom.Strike,
		atom.Strong, atom.Tt, atom.U)
	add(breaks, atom.B, atom.Big, atom.Blockquote, atom.Body, atom.Br, atom.Center, atom.Code, atom.Dd, atom.Div, atom.Dl,
		atom.Dt, atom.Em, atom.Embed, atom.H1, atom.H2, atom.H3, atom.H4, atom.H5, atom.H6, atom.Head, atom.Hr, atom.I,
		atom.Img, atom.Li, atom.Listing, atom.Menu, atom.Meta, atom.Nobr, atom.Ol, atom.P, atom.Pre, atom.Ruby, atom.S,
		atom.Small, atom.Span, atom.Strong, atom.Strike, atom.Sub, atom.Sup, atom.Table, atom.Tt, atom.U, atom.Ul, atom.Var)
	return m
}()

// find returns the index of the innermost open HTML element with that name. It searches from the
// innermost element outward. It returns -1 if there is no such element, or if it first meets an
// element for which ends returns true.
func (o *openElements) find(name elementName, ends func(element) bool) int {
	for i := len(o.stack) - 1; i >= 0; i-- {
		e := o.stack[i]
		if e.space == htmlSpace && e.name == name {
			return i
		}
		if ends(e) {
			break
		}
	}
	return -1
}

// The functions below report whether an element ends a search of the open elements (HTML, section
// 13.2.4.2).
func endsScope(e element) bool {
	if e.space != htmlSpace {
		return e.special()
	}
	return traitsOf[e.name]&scope != 0
}

func endsButtonScope(e element) bool {
	return endsScope(e) || e.space == htmlSpace && e.name == atom.Button
}

func endsListScope(e element) bool {
	return endsScope(e) || e.space == htmlSpace && (e.name == atom.Ol || e.name == atom.Ul)
}

func endsTableScope(e element) bool {
	return e.space == htmlSpace && (e.name == atom.Table || e.name == atom.Template)
}

// close closes the element at index i and all elements inside it. If i is negative, it does
// nothing.
func (o *openElements) close(i int) {
	if i >= 0 {
		o.stack = o.stack[:i]
	}
}

func (o *openElements) startHTML(name elementName, z *tokenizer) {
	t := traitsOf[name]
	switch name {
	case atom.Html, atom.Head, atom.Body, atom.Frame, atom.Frameset:
		return
	case atom.Table:
		o.closeTable()
	}
	if t&tablePart != 0 {
		o.startTablePart(name, z)
		return
	}
	if name == atom.Form && o.form {
		return
	}
	o.closeItem(name)
	if t&closesP != 0 || name == atom.Table {
		o.close(o.find(atom.P, endsButtonScope))
	}
	o.closeOption(name)
	if t&void != 0 {
		return
	}
	top := o.top()
	var within traits
	if top.space == htmlSpace {
		within = traitsOf[top.name]
	}
	switch {
	case t&heading != 0 && within&heading != 0:
		o.close(len(o.stack) - 1)
	case name == atom.Form:
		o.lost = !o.keepAll
		o.form = !o.inTemplate()
	case name == atom.Button:
		o.close(o.find(atom.Button, endsScope))
	case name == atom.Select:
		if i := o.openSelect(); i >= 0 {
			o.close(i)
			return
		}
	case name == atom.A:
		if i := o.find(atom.A, endsFormatting); i >= 0 {
			o.adopt(atom.A)
			if i < len(o.stack) && o.stack[i] == (element{name: atom.A}) {
				o.stack = slices.Delete(o.stack, i, i+1)
			}
		}
	case name == atom.Nobr:
		o.adopt(atom.Nobr)
	}
	o.push(element{name: name}, z)
}

// closeItem closes the open item of a list if an element with that name is the next item.
func (o *openElements) closeItem(name elementName) {
	if name != atom.Li && name != atom.Dd && name != atom.Dt {
		return
	}
	for i := len(o.stack) - 1; i >= 0; i-- {
		e := o.stack[i]
		switch {
		case e.space != htmlSpace:
		case e.name == name, name != atom.Li && (e.name == atom.Dd || e.name == atom.Dt):
			o.close(i)
			return
		case e.name == atom.Address, e.name == atom.Div, e.name == atom.P:
			continue
		}
		if e.special() {
			return
		}
	}
}

// openSelect returns the index of an open select element in scope, or -1.
func (o *openElements) openSelect() int {
	return o.find(atom.Select, endsScope)
}

// closeOption closes the open option, or the open group of options, if the start of an element with
// that name ends it.
func (o *openElements) closeOption(name elementName) {
	switch {
	case name != atom.Option && name != atom.Optgroup && name != atom.Hr:
	case o.openSelect() >= 0:
		o.closeImplied(name == atom.Option)
	case name != atom.Hr && o.top() == element{name: atom.Option}:
		o.close(len(o.stack) - 1)
	}
}

// closeImplied closes the innermost elements that need no end tag. If butGroup is true, it does not
// close a group of options.
func (o *openElements) closeImplied(butGroup bool) {
	for o.top().space == htmlSpace {
		switch o.top().name {
		case atom.Optgroup:
			if butGroup {
				return
			}
		case atom.Dd, atom.Dt, atom.Li, atom.Option, atom.P, atom.Rb, atom.Rp, atom.Rt, atom.Rtc:
		default:
			return
		}
		o.close(len(o.stack) - 1)
	}
}

// closeTable closes the innermost open table, because another table begins. If the other table is
// in a cell, a caption or a template, it closes nothing.
func (o *openElements) closeTable() {
	for i := len(o.stack) - 1; i >= 0; i-- {
		if o.stack[i].space != htmlSpace {
			continue
		}
		switch o.stack[i].name {
		case atom.Td, atom.Th, atom.Caption, atom.Template:
			return
		case atom.Table:
			o.close(i)
			return
		}
	}
	o.lost = !o.keepAll
}

// startTablePart opens a part of a table. It first opens the missing parts around it, such as a row
// around a cell.
func (o *openElements) startTablePart(name elementName, z *tokenizer) {
	at := len(o.stack) - 1
	for at >= 0 && !endsTableScope(o.stack[at]) {
		at--
	}
	if at < 0 {
		o.lost = !o.keepAll
		return
	}
	within := o.stack[at+1:]
	o.stack = o.stack[:at+1]
	if name == atom.Tr || name == atom.Td || name == atom.Th {
		body := element{name: atom.Tbody}
		same := len(within) > 0 && within[0].space == htmlSpace && (within[0].name == atom.Tbody || within[0].name == atom.Thead || within[0].name == atom.Tfoot)
		if same {
			body = within[0]
		}
		row := name != atom.Tr
		o.push(body, z)
		if row {
			o.push(element{name: atom.Tr}, z)
		}
	}
	if name != atom.Col && name != atom.Colgroup {
		o.push(element{name: name}, z)
	}
}

func (o *openElements) endHTML(name elementName) {
	t := traitsOf[name]
	switch {
	case name == atom.Html || name == atom.Head || name == atom.Body || t&void != 0:
	case t&raw != 0:
		// An element with raw text contains no other elements. So this tag closes an element only
		// if that is the innermost one.
		if o.top() == (element{name: name}) {
			o.close(len(o.stack) - 1)
		}
	case t&tablePart != 0 || name == atom.Table:
		i := o.find(name, endsTableScope)
		o.close(i)
		o.lost = o.lost || i < 0 && !o.reaches(endsTableScope)
	case name == atom.Template:
		if i := o.find(name, func(element) bool { return false }); i >= 0 {
			o.close(i)
		} else if o.templates > 0 {
			o.templates--
			o.stack = o.stack[:0]
		}
	case !o.reaches(element.special):
		o.lost = true
	case name == atom.P:
		o.close(o.find(name, endsButtonScope))
	case name == atom.Li:
		o.close(o.find(name, endsListScope))
	case t&block != 0 || name == atom.Dd || name == atom.Dt:
		o.close(o.find(name, endsScope))
	case t&heading != 0:
		o.endHeading()
	case name == atom.Form:
		o.lost = !o.keepAll
		o.endForm()
	case t&formats != 0:
		o.adopt(name)
	default:
		o.close(o.find(name, element.special))
	}
}

// reaches reports whether the elements in the stack are enough for a search that stops at an
// element for which ends returns true. They are enough if one of them is such an element, or if the
// stack has all open elements.
func (o *openElements) reaches(ends func(element) bool) bool {
	return o.keepAll || slices.ContainsFunc(o.stack, ends)
}

func (o *openElements) endHeading() {
	for i := len(o.stack) - 1; i >= 0; i-- {
		e := o.stack[i]
		if e.space == htmlSpace && traitsOf[e.name]&heading != 0 {
			o.close(i)
			return
		}
		if endsScope(e) {
			return
		}
	}
}

// endForm removes the form from the stack. The elements inside the form stay open, except those
// that need no end tag.
func (o *openElements) endForm() {
	o.form = false
	at := o.find(atom.Form, endsScope)
	if at < 0 {
		return
	}
	o.closeImplied(false)
	o.stack = slices.Delete(o.stack, at, at+1)
}

// endsFormatting reports whether e is an element that adds a marker to the list of active
// formatting elements (HTML, section 13.2.4.3).
func endsFormatting(e element) bool {
	if e.space != htmlSpace {
		return false
	}
	switch e.name {
	case atom.Applet, atom.Marquee, atom.Object, atom.Template, atom.Td, atom.Th, atom.Caption:
		return true
	}
	return false
}

// adopt ends the formatting element with that name by the adoption agency algorithm (HTML, section
// 13.2.6.4.7). It closes the elements inside that element, except a block and the elements inside
// the block.
func (o *openElements) adopt(name elementName) {
	for range 8 {
		at := o.find(name, endsScope)
		if at < 0 {
			return
		}
		block := at + 1
		for block < len(o.stack) && !o.stack[block].special() {
			block++
		}
		if block == len(o.stack) {
			o.close(at)
			return
		}
		kept := o.stack[:at:at]
		for _, e := range o.stack[max(at+1, block-3):block] {
			if e.space == htmlSpace && traitsOf[e.name]&formats != 0 {
				kept = append(kept, e)
			}
		}
		kept = append(kept, o.stack[block], element{name: name})
		o.stack = append(kept, o.stack[block+1:]...)
	}
}

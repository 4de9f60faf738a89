package content

import (
	"bytes"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/permesso-crawler/permesso/frontier"
	"golang.org/x/net/html"
	"golang.org/x/net/html/atom"
)

const (
	// maxWork is the maximum sum of the depths of all nodes. Readability looks at the ancestors of
	// each node, so its time grows with this sum.
	maxWork = 3_000_000
	// maxQuotes is the maximum depth of nested lists and quotations. Each of them indents all lines
	// of its content, so without this limit the Markdown of a small page could be very large.
	// Deeper ones become part of the innermost allowed one.
	maxQuotes = 16
	// maxCells is the maximum number of cells of a table in Markdown, where all rows are as wide as
	// the widest. A larger table becomes a list of lines.
	maxCells = 50_000
	// maxBracketWork limits the time for opening brackets without a closing bracket: for each of
	// them html-to-markdown searches the rest of the line. The unit is bytes.
	maxBracketWork = 200_000_000
)

// parse returns the element tree of a page, prepared for Readability and for Markdown. Links are
// absolute, and markup that would need too much memory is changed.
func parse(body []byte, u frontier.URL) (*html.Node, error) {
	doc, err := html.Parse(bytes.NewReader(body))
	if err != nil {
		return nil, fmt.Errorf("the page cannot be parsed: %s", strings.TrimPrefix(err.Error(), "html: "))
	}
	t := tree{base: u}
	t.findBase(doc)
	t.prepare(doc, 0, 0)
	switch {
	case t.work > maxWork:
		return nil, errors.New("the elements of the page are nested too deep for their number")
	case t.brackets > 0 && t.brackets > maxBracketWork/len(body):
		return nil, errors.New("the page has too many opening brackets without closing ones")
	}
	return doc, nil
}

// A tree prepares the nodes of a document. It is used for one document.
type tree struct {
	base     frontier.URL
	declared bool // base comes from a base element
	work     int
	brackets int // number of opening brackets without a closing bracket near them
}

// findBase sets t.base to the base URL of the document, if it has a base element (HTML, section
// 2.4.1).
func (t *tree) findBase(n *html.Node) {
	for c := n.FirstChild; c != nil && !t.declared; c = c.NextSibling {
		if c.DataAtom == atom.Base {
			if href := attr(c, "href"); href != nil {
				t.declared = true
				if u, err := t.base.Resolve(href.Val); err == nil {
					t.base = u
				}
				return
			}
		}
		if c.DataAtom != atom.Body {
			t.findBase(c)
		}
	}
}

// prepare changes the children of n. depth is the depth of the children in the tree. quotes is the
// number of lists and quotations around them.
func (t *tree) prepare(n *html.Node, depth, quotes int) {
	for c := n.FirstChild; c != nil; {
		next := c.NextSibling
		t.work += depth
		inner := quotes
		if c.Type == html.TextNode && !hides(n.DataAtom) {
			c.Data = unmark.Replace(c.Data)
			t.brackets += openBrackets(c.Data)
		}
		switch c.DataAtom {
		case atom.A, atom.Area:
			if isPermalink(c) {
				n.RemoveChild(c)
				c = next
				continue
			}
			if attr(c, "href") == nil {
				rename(c, atom.Span) // a mere target of links, whose end tag is often missing
			}
			// An a element without href stays a link, because Readability counts links.
			t.resolve(c, "href")
		case atom.Img, atom.Source, atom.Video, atom.Audio:
			t.resolve(c, "src")
		case atom.Code, atom.Tt, atom.Kbd, atom.Samp:
			turnOut(c)
		case atom.Td, atom.Th:
			limitSpan(c, "colspan")
			limitSpan(c, "rowspan")
		case atom.Ul, atom.Ol, atom.Menu, atom.Dir, atom.Blockquote:
			if inner++; inner > maxQuotes {
				rename(c, atom.Div)
			}
		}
		t.prepare(c, depth+1, inner)
		if c.DataAtom == atom.Table && !fits(c) {
			flatten(c)
		}
		c = next
	}
}

// restoreTables turns an element with rows into a table again. Readability makes a div of the
// element with the most content, even if that is a table. Readability changes only the names of
// elements, so restoreTables also sets DataAtom.
func restoreTables(n *html.Node) {
	for c := range n.Descendants() {
		if c.Type == html.ElementNode {
			c.DataAtom = atom.Lookup([]byte(c.Data))
		}
		switch c.DataAtom {
		case atom.Tbody, atom.Thead, atom.Tfoot, atom.Tr:
			if c.Parent.DataAtom == atom.Div {
				rename(c.Parent, atom.Table)
			}
		}
	}
}

// turnOut turns code that contains links into links that contain code, because code in Markdown
// cannot contain links. An element that contains blocks is not code, because its end tag is
// missing; it becomes a span.
func turnOut(code *html.Node) {
	switch {
	case code.Parent.DataAtom == atom.Pre:
	case has(code, func(tag atom.Atom) bool { return startsLine(tag) && tag != atom.Br }):
		rename(code, atom.Span)
	case has(code, isLink):
		rename(code, atom.Span)
		wrapText(code)
	default:
		spaceOut(code)
	}
}

func isLink(tag atom.Atom) bool { return tag == atom.A }

// has reports whether n contains an element with a tag for which is returns true.
func has(n *html.Node, is func(atom.Atom) bool) bool {
	for c := n.FirstChild; c != nil; c = c.NextSibling {
		if is(c.DataAtom) || has(c, is) {
			return true
		}
	}
	return false
}

// wrapText puts each child of n into a code element of its own. If the child is a link, or contains
// one, the code element is put inside the link.
func wrapText(n *html.Node) {
	for c := n.FirstChild; c != nil; c = c.NextSibling {
		switch {
		case isLink(c.DataAtom) || has(c, isLink):
			wrapText(c)
		case c.Type == html.ElementNode, strings.TrimSpace(c.Data) != "":
			wrapped := &html.Node{Type: html.ElementNode}
			rename(wrapped, atom.Code)
			n.InsertBefore(wrapped, c)
			n.RemoveChild(c)
			wrapped.AppendChild(c)
			spaceOut(wrapped)
			c = wrapped
		}
	}
}

// spaceOut puts a space before or after the code element if its text begins or ends with white
// space, because Markdown drops white space at the ends of code.
func spaceOut(code *html.Node) {
	if space, _ := spaceAt(code, false); space {
		code.Parent.InsertBefore(&html.Node{Type: html.TextNode, Data: " "}, code)
	}
	if space, _ := spaceAt(code, true); space {
		code.Parent.InsertBefore(&html.Node{Type: html.TextNode, Data: " "}, code.NextSibling)
	}
}

// spaceAt reports whether the text in n begins with white space, or ends with it if end is true.
// any reports whether n has any text.
func spaceAt(n *html.Node, end bool) (space, any bool) {
	if n.Type == html.TextNode {
		r, size := utf8.DecodeRuneInString(n.Data)
		if end {
			r, size = utf8.DecodeLastRuneInString(n.Data)
		}
		return unicode.IsSpace(r), size > 0
	}
	child, next := n.FirstChild, func(c *html.Node) *html.Node { return c.NextSibling }
	if end {
		child, next = n.LastChild, func(c *html.Node) *html.Node { return c.PrevSibling }
	}
	for ; child != nil && !any; child = next(child) {
		space, any = spaceAt(child, end)
	}
	return space, any
}

// openBrackets returns the number of opening brackets without a closing bracket in the next 100
// bytes.
func openBrackets(text string) (n int) {
	closing := -1
	for i := len(text) - 1; i >= 0; i-- {
		switch text[i] {
		case ']':
			closing = i
		case '[':
			if closing < 0 || closing-i > 100 {
				n++
			}
		}
	}
	return n
}

// resolve makes the URL in the attribute absolute. It removes the attribute if the URL is not the
// address of a page or file, for example if it is a script or the data of an image.
func (t *tree) resolve(n *html.Node, name string) {
	a := attr(n, name)
	if a == nil {
		return
	}
	ref := strings.TrimSpace(a.Val)
	if scheme, _, ok := strings.Cut(ref, ":"); ok && (strings.EqualFold(scheme, "mailto") || strings.EqualFold(scheme, "tel")) {
		return
	}
	u, err := t.base.Resolve(ref)
	if err != nil {
		n.Attr = remove(n.Attr, name)
		return
	}
	a.Val = u.String()
	if _, fragment, ok := strings.Cut(ref, "#"); ok && fragment != "" {
		a.Val += "#" + fragments.Replace(fragment)
	}
}

// fragments escapes the characters of a fragment that would end a link in Markdown.
var fragments = strings.NewReplacer(" ", "%20", "\t", "%09", "\n", "", "\r", "", "<", "%3C", ">", "%3E", "(", "%28", ")", "%29", "\\", "%5C")

// isPermalink reports whether a link is a mark such as ¶ that leads to its own heading.
func isPermalink(n *html.Node) bool {
	href := attr(n, "href")
	if href == nil || !strings.HasPrefix(href.Val, "#") || n.FirstChild == nil || n.FirstChild != n.LastChild {
		return false
	}
	switch strings.TrimSpace(n.FirstChild.Data) {
	case "¶", "#", "§", "\uf0c1", "🔗":
		return n.FirstChild.Type == html.TextNode
	}
	return false
}

// limitSpan limits the number of columns or rows that a cell spans.
func limitSpan(n *html.Node, name string) {
	if a := attr(n, name); a != nil {
		if i, err := strconv.Atoi(strings.TrimSpace(a.Val)); err != nil || i < 1 {
			a.Val = "1"
		} else {
			a.Val = strconv.Itoa(min(i, 1000))
		}
	}
}

// fits reports whether a table has at most maxCells cells in Markdown.
func fits(table *html.Node) bool {
	rows, widest := 0, 0
	var count func(n *html.Node)
	count = func(n *html.Node) {
		for c := n.FirstChild; c != nil; c = c.NextSibling {
			switch c.DataAtom {
			case atom.Thead, atom.Tbody, atom.Tfoot:
				count(c)
			case atom.Tr:
				rows++
				widest = max(widest, widthOf(c))
			}
		}
	}
	count(table)
	return rows*widest <= maxCells
}

// widthOf returns the number of columns that the cells of a row span.
func widthOf(row *html.Node) (width int) {
	for c := row.FirstChild; c != nil; c = c.NextSibling {
		if c.DataAtom == atom.Td || c.DataAtom == atom.Th {
			span := 1
			if a := attr(c, "colspan"); a != nil {
				span, _ = strconv.Atoi(a.Val) // limitSpan has made the attribute a number
			}
			width += span
		}
	}
	return width
}

// flatten turns a table and its parts into div elements. It leaves tables in cells unchanged.
func flatten(n *html.Node) {
	switch n.DataAtom {
	case atom.Table, atom.Thead, atom.Tbody, atom.Tfoot, atom.Tr, atom.Td, atom.Th, atom.Caption, atom.Colgroup:
		rename(n, atom.Div)
		for c := n.FirstChild; c != nil; c = c.NextSibling {
			if c.DataAtom != atom.Table {
				flatten(c)
			}
		}
	}
}

func rename(n *html.Node, to atom.Atom) { n.DataAtom, n.Data = to, to.String() }

// attr returns the attribute of an element with the given name, or nil.
func attr(n *html.Node, name string) *html.Attribute {
	for i := range n.Attr {
		if n.Attr[i].Key == name && n.Attr[i].Namespace == "" {
			return &n.Attr[i]
		}
	}
	return nil
}

func remove(all []html.Attribute, name string) []html.Attribute {
	kept := all[:0]
	for _, a := range all {
		if a.Key != name {
			kept = append(kept, a)
		}
	}
	return kept
}

package content

import (
	"bytes"
	"regexp"
	"strings"

	"github.com/JohannesKaufmann/html-to-markdown/v2/converter"
	"github.com/JohannesKaufmann/html-to-markdown/v2/marker"
	"github.com/JohannesKaufmann/html-to-markdown/v2/plugin/base"
	"github.com/JohannesKaufmann/html-to-markdown/v2/plugin/commonmark"
	"github.com/JohannesKaufmann/html-to-markdown/v2/plugin/strikethrough"
	"github.com/JohannesKaufmann/html-to-markdown/v2/plugin/table"
	"golang.org/x/net/html"
	"golang.org/x/net/html/atom"
)

// markdownOf converts the tree n to Markdown. Cells of tables are not padded to the width of their
// column, because one long cell would make all rows as long.
func markdownOf(n *html.Node) (string, error) {
	c := converter.NewConverter(converter.WithPlugins(
		base.NewBasePlugin(),
		commonmark.NewCommonmarkPlugin(),
		strikethrough.NewStrikethroughPlugin(),
		table.NewTablePlugin(
			table.WithSpanCellBehavior(table.SpanBehaviorEmpty),
			table.WithNewlineBehavior(table.NewlineBehaviorPreserve),
			table.WithHeaderPromotion(true),
			table.WithCellPaddingBehavior(table.CellPaddingBehaviorMinimal),
		),
	))
	c.Register.RendererFor("blockquote", converter.TagTypeBlock, quotation, converter.PriorityEarly)
	c.Register.RendererFor("a", converter.TagTypeInline, link, converter.PriorityEarly)
	prepareNodes(n, false, false)
	prepareTables(n, false)
	text, err := c.ConvertNode(n)
	return strings.ToValidUTF8(strings.TrimSpace(string(text)), "\uFFFD"), err
}

// prepareNodes changes the tree below n, because the library does not treat some elements
// correctly. Elements that begin a line are renamed if the library does not know this; it would
// join their words to the words before them. A heading in a link becomes a line in bold. In text
// such as "&gt;" the ampersand is written as a reference, because otherwise Markdown would show
// ">". inLink reports whether n is in a link. inCode reports whether n is in code, where Markdown
// has no references.
func prepareNodes(n *html.Node, inLink, inCode bool) {
	for c := n.FirstChild; c != nil; c = c.NextSibling {
		switch c.DataAtom {
		case atom.Button, atom.Center, atom.Legend, atom.Option, atom.Search, atom.Select, atom.Summary:
			rename(c, atom.Div)
		case atom.Dir, atom.Menu:
			rename(c, atom.Ul)
		case atom.Listing, atom.Xmp:
			rename(c, atom.Pre)
		case atom.H1, atom.H2, atom.H3, atom.H4, atom.H5, atom.H6:
			if inLink {
				line := &html.Node{Type: html.ElementNode}
				rename(line, atom.Div)
				n.InsertBefore(line, c)
				n.RemoveChild(c)
				line.AppendChild(c)
				rename(c, atom.Strong)
				c = line
			}
		}
		if c.Type == html.TextNode && !inCode && strings.Contains(c.Data, "&") {
			c.Data = reference.ReplaceAllString(c.Data, "&amp;$1")
		}
		prepareNodes(c, inLink || isLink(c.DataAtom), inCode || c.DataAtom == atom.Pre || isCode(c.DataAtom))
	}
}

// prepareTables prepares the tables below n, because the library does not. If Markdown cannot
// express a table, the table becomes a sequence of its cells, each on a line of its own. In other
// tables a pipe in code gets a backslash, because a pipe ends a cell even in code. inline reports
// whether n is in a link or in emphasis, which cannot contain a table.
func prepareTables(n *html.Node, inline bool) {
	for c := n.FirstChild; c != nil; c = c.NextSibling {
		inner := inline
		switch c.DataAtom {
		case atom.A, atom.B, atom.Strong, atom.I, atom.Em, atom.S, atom.Del, atom.Strike:
			inner = true
		case atom.Table:
			if role := attr(c, "role"); inline || role != nil && role.Val == "presentation" || has(c, isNotInCells) {
				flatten(c)
			} else {
				escapePipes(c, false)
			}
		}
		prepareTables(c, inner)
	}
}

// isNotInCells reports whether elements with this tag are impossible in a table cell in Markdown.
func isNotInCells(tag atom.Atom) bool {
	switch tag {
	case atom.Table, atom.Pre, atom.Hr, atom.Ul, atom.Ol, atom.Blockquote, atom.H1, atom.H2, atom.H3, atom.H4, atom.H5, atom.H6:
		return true
	}
	return false
}

// escapePipes puts a backslash before each pipe in code below n.
func escapePipes(n *html.Node, inCode bool) {
	for c := n.FirstChild; c != nil; c = c.NextSibling {
		switch {
		case c.Type == html.TextNode && inCode:
			c.Data = strings.ReplaceAll(c.Data, "|", `\|`)
		case c.Type == html.ElementNode:
			escapePipes(c, inCode || isCode(c.DataAtom))
		}
	}
}

func isCode(tag atom.Atom) bool {
	return tag == atom.Code || tag == atom.Tt || tag == atom.Kbd || tag == atom.Samp
}

// codeLineEnd stands for a line end in code while a page is being converted. The library replaces
// it by a line end at the end.
var codeLineEnd = string(marker.MarkerCodeBlockNewline)

// quotation writes a quotation with a ">" before each line. The library omits it before the second
// and further lines of code, which would end the quotation.
func quotation(ctx converter.Context, w converter.Writer, n *html.Node) converter.RenderStatus {
	var b bytes.Buffer
	ctx.RenderChildNodes(ctx, &b, n)
	text := strings.TrimSpace(blankLines.ReplaceAllString(b.String(), "\n\n"))
	if text != "" {
		w.WriteString("\n\n> " + strings.NewReplacer("\n", "\n> ", codeLineEnd, codeLineEnd+"> ").Replace(text) + "\n\n")
	}
	return converter.RenderSuccess
}

// link writes only the content of a link that has no href. All other links are left to the library.
func link(ctx converter.Context, w converter.Writer, n *html.Node) converter.RenderStatus {
	if attr(n, "href") != nil {
		return converter.RenderTryNext
	}
	ctx.RenderChildNodes(ctx, w, n)
	return converter.RenderSuccess
}

var blankLines = regexp.MustCompile(`\n{3,}`)

// unmark removes the characters that html-to-markdown uses internally as marks.
var unmark = strings.NewReplacer(codeLineEnd, "", string(marker.MarkerEscaping), "")

// special escapes the characters that have a meaning in Markdown anywhere in a line.
var special = strings.NewReplacer(`\`, `\\`, "`", "\\`", "*", `\*`, "_", `\_`, "[", `\[`, "]", `\]`, "<", `\<`, "#", `\#`, "|", `\|`, "~", `\~`)

var (
	// lineStart matches a beginning of a line that would begin a list or a quotation, or make the
	// previous line a heading or a table. The second group needs a backslash.
	lineStart = regexp.MustCompile(`^([0-9]{0,9})([-+=>:.)])`)
	// reference is a character reference, such as &amp;.
	reference = regexp.MustCompile(`&(#?[0-9A-Za-z]+;)`)
	lineEnds  = strings.NewReplacer("\r\n", "\n", "\r", "\n")
)

// escape returns Markdown that shows the given text. A line that is indented by four columns would
// become code, so indentations are cut to three spaces.
func escape(text string) string {
	var b strings.Builder
	for line := range strings.Lines(lineEnds.Replace(text)) {
		words := strings.TrimLeft(line, " \t")
		if words == "" || words == "\n" {
			b.WriteString(words)
			continue
		}
		if indent := line[:len(line)-len(words)]; len(indent) > 3 || strings.Contains(indent, "\t") {
			b.WriteString("   ")
		} else {
			b.WriteString(indent)
		}
		if at := lineStart.FindStringSubmatchIndex(words); at != nil {
			b.WriteString(words[:at[4]] + `\` + words[at[4]:at[5]])
			words = words[at[5]:]
		}
		if words = special.Replace(words); strings.Contains(words, "&") {
			words = reference.ReplaceAllString(words, `\$0`) // a numeric reference already has \# here
		}
		b.WriteString(words)
	}
	return b.String()
}

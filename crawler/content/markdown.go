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
)

// markdownOf converts a tree. Cells are not padded to the width of their column, because one
// long cell would then make all rows as long.
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
	text, err := c.ConvertNode(n)
	return strings.ToValidUTF8(strings.TrimSpace(string(text)), "\uFFFD"), err
}

// codeLineEnd replaces each line end of code until the whole page is converted.
var codeLineEnd = string(marker.MarkerCodeBlockNewline)

// quotation writes a quotation, with a mark before each line. The library puts no mark before
// the second and further lines of code, which would end the quotation.
func quotation(ctx converter.Context, w converter.Writer, n *html.Node) converter.RenderStatus {
	var b bytes.Buffer
	ctx.RenderChildNodes(ctx, &b, n)
	text := strings.TrimSpace(blankLines.ReplaceAllString(b.String(), "\n\n"))
	if text != "" {
		w.WriteString("\n\n> " + strings.NewReplacer("\n", "\n> ", codeLineEnd, codeLineEnd+"> ").Replace(text) + "\n\n")
	}
	return converter.RenderSuccess
}

// link writes the content of a link without an address, such as one to a script.
func link(ctx converter.Context, w converter.Writer, n *html.Node) converter.RenderStatus {
	if attr(n, "href") != nil {
		return converter.RenderTryNext
	}
	ctx.RenderChildNodes(ctx, w, n)
	return converter.RenderSuccess
}

var blankLines = regexp.MustCompile(`\n{3,}`)

// unmark removes the characters that html-to-markdown uses as its own marks.
var unmark = strings.NewReplacer(codeLineEnd, "", string(marker.MarkerEscaping), "")

// special are the characters that have a meaning in Markdown.
var special = strings.NewReplacer(`\`, `\\`, "`", "\\`", "*", `\*`, "_", `\_`, "[", `\[`, "]", `\]`, "<", `\<`, "#", `\#`, "|", `\|`)

// escape returns a text as Markdown that shows the text.
func escape(text string) string { return special.Replace(text) }

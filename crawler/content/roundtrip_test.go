package content

import (
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/permesso-crawler/permesso/frontier"
	"github.com/yuin/goldmark"
	"github.com/yuin/goldmark/ast"
	"github.com/yuin/goldmark/extension"
	extast "github.com/yuin/goldmark/extension/ast"
	"github.com/yuin/goldmark/text"
	"golang.org/x/net/html"
	"golang.org/x/net/html/atom"
)

// A structure counts the parts of a page that Markdown can express.
type structure struct{ headings, lists, tables, code, links int }

// inTree counts the parts of a tree. It leaves out headings, lists and code without text. It also
// leaves out tables and links in places where Markdown cannot have them.
func (s *structure) inTree(n *html.Node, inLink, inTable, inCode bool) {
	for c := n.FirstChild; c != nil; c = c.NextSibling {
		link, table, code := inLink, inTable, inCode
		filled := strings.TrimSpace(allText(c)) != ""
		switch c.DataAtom {
		case atom.Head, atom.Script, atom.Style, atom.Noscript, atom.Iframe, atom.Textarea, atom.Template:
			continue
		case atom.H1, atom.H2, atom.H3, atom.H4, atom.H5, atom.H6:
			if filled && !inTable && !inLink && !inCode {
				s.headings++
			}
		case atom.Ul, atom.Ol:
			if filled && !inTable && !inCode && hasChild(c, atom.Li) {
				s.lists++
			}
		case atom.Table:
			if laysOut(c) {
				break
			}
			if filled && !inTable && !inCode {
				s.tables++
			}
			table = true
		case atom.Pre:
			if filled && !inTable && !inCode {
				s.code++
			}
			code = true
		case atom.A:
			if attr(c, "href") != nil && filled && !inLink && !inCode && !inTable {
				s.links++
			}
			link = true
		}
		s.inTree(c, link, table, code)
	}
}

// laysOut reports whether the cells of a table contain parts that a cell in Markdown cannot
// contain. Such a table becomes a sequence of its cells.
func laysOut(table *html.Node) bool {
	return has(table, func(tag atom.Atom) bool {
		switch tag {
		case atom.H1, atom.H2, atom.H3, atom.H4, atom.H5, atom.H6, atom.Ul, atom.Ol, atom.Table, atom.Pre, atom.Blockquote, atom.Hr:
			return true
		}
		return false
	})
}

func hasChild(n *html.Node, of atom.Atom) bool {
	for c := n.FirstChild; c != nil; c = c.NextSibling {
		if c.DataAtom == of {
			return true
		}
	}
	return false
}

func allText(n *html.Node) string {
	if n.Type == html.TextNode {
		return n.Data
	}
	var b strings.Builder
	for c := n.FirstChild; c != nil; c = c.NextSibling {
		b.WriteString(allText(c))
	}
	return b.String()
}

// inMarkdown counts the parts of a Markdown text, as another library parses it.
func (s *structure) inMarkdown(source string) {
	doc := goldmark.New(goldmark.WithExtensions(extension.Table, extension.Strikethrough)).Parser().Parse(text.NewReader([]byte(source)))
	ast.Walk(doc, func(n ast.Node, entering bool) (ast.WalkStatus, error) {
		if !entering {
			return ast.WalkContinue, nil
		}
		switch n.Kind() {
		case ast.KindHeading:
			s.headings++
		case ast.KindList:
			s.lists++
		case extast.KindTable:
			s.tables++
			return ast.WalkSkipChildren, nil
		case ast.KindFencedCodeBlock, ast.KindCodeBlock:
			s.code++
		case ast.KindLink, ast.KindAutoLink:
			s.links++
		}
		return ast.WalkContinue, nil
	})
}

// The Markdown of a page has its headings, lists, tables, code and links. The pages are in
// testdata, and in the directories in PERMESSO_PAGES, which are separated by colons.
func TestMarkdownHasTheStructureOfThePage(t *testing.T) {
	dirs := append([]string{"testdata/pages"}, filepath.SplitList(os.Getenv("PERMESSO_PAGES"))...)
	u, err := frontier.ParseURL("http://docs.test/a/b.html")
	if err != nil {
		t.Fatal(err)
	}
	var pages, failed int
	var all, kept structure
	for _, dir := range dirs {
		n := 0
		err := filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
			if err != nil || d.IsDir() || !strings.HasSuffix(path, ".html") || n == 60 {
				return err
			}
			n++
			body, err := os.ReadFile(path)
			if err != nil {
				return err
			}
			doc, err := parse(body, u)
			if err != nil {
				t.Logf("%s: %v", path, err)
				return nil
			}
			node, _, err := findMain(doc, body, u, utf8.RuneCountInString(readPlain(body).String()))
			if err != nil {
				return err
			}
			var want, got structure
			want.inTree(node, false, false, false)
			md, err := markdownOf(node)
			if err != nil {
				return err
			}
			got.inMarkdown(md)
			pages++
			all.add(want)
			kept.add(got)
			if got.headings < want.headings || got.lists < want.lists || got.tables < want.tables || got.code < want.code || got.links < want.links {
				t.Errorf("%s: headings, lists, tables, code and links: %v in the page, %v in its Markdown", path, want, got)
				failed++
			}
			return nil
		})
		if err != nil {
			t.Fatal(err)
		}
	}
	t.Logf("%d pages, %d with losses: %+v in the pages, %+v in their Markdown", pages, failed, all, kept)
}

func (s *structure) add(o structure) {
	s.headings += o.headings
	s.lists += o.lists
	s.tables += o.tables
	s.code += o.code
	s.links += o.links
}

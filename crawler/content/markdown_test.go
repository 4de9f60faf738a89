package content

import (
	"bytes"
	"strings"
	"testing"
	"unicode"

	"github.com/yuin/goldmark"
	"github.com/yuin/goldmark/extension"
)

// shown converts Markdown to HTML with another library.
func shown(t *testing.T, markdown string) string {
	t.Helper()
	var b bytes.Buffer
	if err := goldmark.New(goldmark.WithExtensions(extension.Table, extension.Strikethrough)).Convert([]byte(markdown), &b); err != nil {
		t.Fatal(err)
	}
	return b.String()
}

// Plain text that is escaped as Markdown shows the same text, without any structure.
func FuzzPlainText(f *testing.F) {
	for _, text := range []string{
		"Title\n=====", "Title\n---", "- item\n+ item\n* item", "1. one\n2) two", "123456789. x", "    four spaces _x_", "\n\n\ttab `x`", "> quoted",
		"AT&T &amp; &#38; &copy;", "<b>not bold</b>", "~~~\nfence\n~~~\n~~x~~", "```\nx", "a\r- b\r\n- c", "a|b\n-|-\nc|d", "a\n:-:", "![i](x) [l](y)\n\n[l]: z",
		"# one", "C# and #", "***", "_ _ _", "a\\\nb", "x\n\n     - deep\n     1. deep", "===", "-", "\u00a0- x",
	} {
		f.Add(text)
	}
	u := parseURL(f)
	f.Fuzz(func(t *testing.T, text string) {
		got, err := Of([]byte(text), "text/plain; charset=utf-8", u, Options{Markdown: true})
		if err != nil || strings.ContainsFunc(got.Text, func(r rune) bool { return unicode.IsControl(r) && !unicode.IsSpace(r) }) {
			t.Skip() // HTML has no control characters
		}
		html := shown(t, got.Markdown)
		back, err := Of([]byte(html), "text/html; charset=utf-8", u, Options{Whole: true})
		if err != nil {
			t.Skip() // the text begins as a file of another type
		}
		if want := strings.Join(strings.Fields(got.Text), " "); strings.Join(strings.Fields(back.Text), " ") != want {
			t.Errorf("%q is shown as %q: %s", want, back.Text, got.Markdown)
		}
		if plain := strings.NewReplacer("<p>", "", "</p>", "", "<br>", "").Replace(html); strings.Contains(plain, "<") {
			t.Errorf("%q has structure: %s", text, html)
		}
	})
}

// The cells of a table keep their code, and code keeps the space around it.
func TestMarkdownOfCode(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ body, markdown, html string }{
		{
			"<table><tr><th>a|b<th>c<tr><td><code>x|y</code><td><kbd>|</kbd></table>",
			"| a\\|b | c |\n|---|---|\n| `x\\|y` | `\\|` |", "<td><code>x|y</code></td>\n<td><code>|</code></td>",
		},
		{"<table><tr><td><ul><li><code>x|y</code></ul><td>z</table>", "- `x|y`\n\nz", "<code>x|y</code>"},
		{"<a href=x><table><tr><td><code>x|y</code></table></a>", "[`x|y`](http://docs.test/docs/x)", "<code>x|y</code>"},
		{"<table role=presentation><tr><td><code>x|y</code></table>", "`x|y`", "<code>x|y</code>"},
		{"<table><tr><th>one<th>two<tr><td><ul><li>x</ul><td>y</table>", "one\n\ntwo\n\n- x\n\ny", "<p>two</p>"},
		{"<b><table><tr><td>one<td>two</table></b>", "**one**\n\n**two**", "<strong>two</strong>"},
		{
			"<table><tr><td><pre>1\n2</pre><td><pre><code>a|b\nc</code></pre></table>",
			"```\n1\n2\n```\n\n```\na|b\nc\n```", "<pre><code>a|b\nc\n</code></pre>",
		},
		{
			"<table><tr><td><pre>x</pre><td><table><tr><th>h<tr><td>d</table></table>",
			"```\nx\n```\n\n| h |\n|---|\n| d |", "<th>h</th>",
		},
		{
			"<code>static <a href=T>T</a>&nbsp;x, <b> <a href=U>U</a></b> y</code>",
			"`static` [`T`](http://docs.test/docs/T) `x,` [**`U`**](http://docs.test/docs/U) `y`", "<code>x,</code>",
		},
	} {
		got, err := Of([]byte(c.body), "text/html; charset=utf-8", parseURL(t), Options{Whole: true, Markdown: true})
		if err != nil || got.Markdown != c.markdown {
			t.Errorf("%s: %q, want %q; %v", c.body, got.Markdown, c.markdown, err)
		}
		if html := shown(t, got.Markdown); !strings.Contains(html, c.html) {
			t.Errorf("%s is shown as %s, want %s", c.body, html, c.html)
		}
		if strings.Contains(got.Text, "\\") {
			t.Errorf("%s: the text is %q", c.body, got.Text)
		}
	}
}

// Words that are apart in the text are apart in Markdown, and the names of characters are words.
func TestMarkdownKeepsWords(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ body, want string }{
		{"<details><summary>a</summary>b</details>c", "a\n\nb\n\nc"},
		{"<p>a<button>b</button>c", "a\n\nb\n\nc"},
		{"<select><option>a<option>b</select>", "a\n\nb"},
		{"<fieldset><legend>a</legend>b</fieldset>c", "a\n\nb\n\nc"},
		{"<center>a</center>b", "a\n\nb"},
		{"<search>a</search>b", "a\n\nb"},
		{"<menu><li>a<li>b</menu>", "- a\n- b"},
		{"<listing>a\nb</listing>c", "```\na\nb\n```\n\nc"},
		{"<p>a<code> b</code>c<code>d\t</code>e<code> <i></i></code>f", "a `b`c`d` e ` ` f"},
		{"<p>a <code>b</code> c", "a `b` c"},
		{"<a href=x><span>a</span><h2>b</h2></a>c", "[a  \n\\\n**b**](http://docs.test/docs/x)\n\nc"},
		{"<a href=x><h2>a</h2><p>b</a>", "[**a**](http://docs.test/docs/x)\n\n[b](http://docs.test/docs/x)"},
		{"<p>AT&T, &amp;gt; &amp;#62; &amp;lt <code>&amp;gt;</code> &lt;b&gt;", "AT&T, &amp;gt; &amp;#62; &lt `&gt;` &lt;b&gt;"},
	} {
		got, err := Of([]byte(c.body), "text/html; charset=utf-8", parseURL(t), Options{Whole: true, Markdown: true})
		if err != nil || got.Markdown != c.want {
			t.Errorf("%s: %q, want %q; %v", c.body, got.Markdown, c.want, err)
		}
	}
}

package content

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"slices"
	"strings"
	"testing"

	"github.com/permesso-crawler/permesso/frontier"
)

func parseURL(t testing.TB) frontier.URL {
	t.Helper()
	u, err := frontier.ParseURL("http://docs.test/docs/queue.html")
	if err != nil {
		t.Fatal(err)
	}
	return u
}

func page(t *testing.T, name string) []byte {
	t.Helper()
	body, err := os.ReadFile("testdata/pages/" + name)
	if err != nil {
		t.Fatal(err)
	}
	return body
}

func TestTheMainContentIsFound(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		page, title, lang string
		in, out           []string
	}{
		{"reference.html", "Queues — Reference", "en", []string{"A queue keeps items", "q := queue.New(10)\nq.Put", "Nothing is promised"}, []string{"Modules", "Last changed", "¶"}},
		{"news.html", "Die Brücke wird im Herbst fertig | Der Anzeiger", "de-AT", []string{"Nach drei Jahren", "Radweg auf beiden"}, []string{"Meistgelesen", "Impressum", "Politik", "track"}},
	} {
		body := page(t, c.page)
		for _, whole := range []bool{false, true} {
			got, err := Of(body, "text/html", parseURL(t), Options{Whole: whole})
			if err != nil {
				t.Fatal(err)
			}
			if got.Title != c.title || got.Language != c.lang || got.Main == whole || got.Limited != "" || got.Markdown != "" {
				t.Errorf("%s: title %q, language %q, main %v, limited %q, Markdown %q", c.page, got.Title, got.Language, got.Main, got.Limited, got.Markdown)
			}
			for _, text := range c.in {
				if !strings.Contains(got.Text, text) {
					t.Errorf("%s, whole %v: the text lacks %q:\n%s", c.page, whole, text, got.Text)
				}
			}
			for _, text := range c.out {
				if has := strings.Contains(got.Text, text); has != (whole && text != "track") {
					t.Errorf("%s, whole %v: the text has %q: %v", c.page, whole, text, has)
				}
			}
		}
	}
}

// If a table has most of the text on a page, Readability makes a div of it. It must be a table
// again.
func TestAMainTableIsATable(t *testing.T) {
	t.Parallel()
	rows := ""
	for i := range 30 {
		rows += fmt.Sprintf("<tr><td><a href=/%d>Entry</a></td><td class=module>core</td></tr><tr><td colspan=2>What the entry number %d means, in a sentence, with commas.</td></tr>", i, i)
	}
	got, err := Of([]byte("<!DOCTYPE html><body><h1>All</h1><p>All entries are here, in their order, with a sentence for each.</p><table class=ref>"+rows+"</table>"),
		"text/html", parseURL(t), Options{Markdown: true})
	if err != nil || !got.Main || !strings.Contains(got.Markdown, "| [Entry](http://docs.test/29) | core |\n| What the entry number 29 means, in a sentence, with commas. |  |") {
		t.Errorf("main content %v, %v:\n%s", got.Main, err, got.Markdown)
	}
}

// On a page that is a list of links, Readability finds the footer. The main content is then the
// element that the page declares, or the whole page.
func TestTheMainContentOfALinkList(t *testing.T) {
	t.Parallel()
	const menu = `<div class=sidebar><a href=/>Home</a> <a href=/about>About</a></div>`
	const footer = `<div><p>Copyright of the example, which may be copied by everyone who likes to, and changed, too.</p><p>Last changed in spring, by the people of the example, with care, and with some help of others.</p></div>`
	list := "<h1>Index</h1><ul class=sidebar>"
	for i := range 60 {
		list += fmt.Sprintf("<li><a href=/page/%d>Entry number %d</a></li>", i, i)
	}
	list += "</ul>"
	article := "<h1>Short</h1><p>" + strings.Repeat("A few words, with commas, that are a text. ", 8) + "</p>"
	for name, c := range map[string]struct {
		body    string
		main    bool
		in, out string
	}{
		"list":      {menu + "<div>" + list + "</div>" + footer, false, "Entry number 59", ""},
		"main":      {menu + "<main>" + list + "</main>" + footer, true, "Entry number 59", "Copyright"},
		"role":      {menu + "<div role=main>" + list + "</div>" + footer, true, "Entry number 59", "About"},
		"two":       {menu + "<main>" + list + "</main><main>x</main>" + footer, false, "Entry number 59", ""},
		"no text":   {menu + "<main></main><div>" + list + "</div>" + footer, false, "Entry number 59", ""},
		"short":     {menu + article, true, "A few words", ""},
		"long text": {menu + "<main>" + list + "</main><div>" + strings.Repeat(article, 5) + "</div>", true, "A few words", "Entry number 59"},
	} {
		for _, markdown := range []bool{false, true} {
			got, err := Of([]byte("<!DOCTYPE html><body>"+c.body), "text/html", parseURL(t), Options{Markdown: markdown})
			if err != nil {
				t.Fatal(err)
			}
			text := got.Text
			if markdown {
				text = got.Markdown
			}
			if got.Main != c.main || !strings.Contains(text, c.in) || c.out != "" && strings.Contains(text, c.out) {
				t.Errorf("%s: main content %v:\n%s", name, got.Main, text)
			}
			if markdown && strings.Contains(c.in, "Entry") && !strings.Contains(text, "[Entry number 59](http://docs.test/page/59)") {
				t.Errorf("%s: the list is not in the Markdown:\n%s", name, text)
			}
		}
	}
}

func TestMarkdown(t *testing.T) {
	t.Parallel()
	got, err := Of(page(t, "reference.html"), "text/html", parseURL(t), Options{Markdown: true})
	if err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{
		"## Making a queue\n",
		"[`New`](http://docs.test/docs/queue.html#new)",
		"[lists](http://docs.test/list.html)",
		"```go\nq := queue.New(10)\nq.Put(\"first\")\n\nfmt.Println(q.Take())\n```",
		"> ```\n> q := queue.New(0)\n> q.Put(\"as many as memory has room for\")\n> ```",
		"| method | what it does |\n",
		"| Put | adds an item,  <br />and waits if the queue is full |",
		"2. Items of one goroutine keep their order:\n   \n   - also if",
	} {
		if !strings.Contains(got.Markdown, want) {
			t.Errorf("the Markdown lacks %q:\n%s", want, got.Markdown)
		}
	}
}

func TestTextOfElements(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ body, want string }{
		{"<p>one<p>two", "one\ntwo"},
		{"one<br>two<br/>three", "one\ntwo\nthree"},
		{"a<b>b</b>c  d\n\te", "abc d e"},
		{"<table><tr><td>1</td><td>2</td></tr><tr><th>3<td>4</table>", "1 2\n3 4"},
		{"<pre>\n  a\n    b</pre>c", "a\n    b\nc"},
		{"<script>x</script><style>y</style><template><p>z<template>t</template>u</template><noscript>n</noscript>seen", "seen"},
		{"<title>T</title><textarea>in it</textarea>", "in it"},
		{"&lt;b&gt; &amp; &eacute;&nbsp;!", "<b> & é !"},
		{"a<!-- b -->c", "ac"},
		{"\xff\xfe<p>x", "x"}, // a byte order mark of UTF-16, and an odd number of bytes
		{"", ""},
	} {
		got, err := Of([]byte(c.body), "text/html", parseURL(t), Options{Whole: true})
		if err != nil || c.body != "" && c.body[0] != 0xff && got.Text != c.want {
			t.Errorf("%q: %q, want %q; %v", c.body, got.Text, c.want, err)
		}
	}
}

// In XHTML a slash closes any element.
func TestEmptyElementsOfXHTML(t *testing.T) {
	t.Parallel()
	const body = `<html xmlns="http://www.w3.org/1999/xhtml"><head><title>T</title><script src="x"/><style/></head><body><a id="a"/><p>one<br/>two</p><h2>H</h2><iframe src="y"/><p>three</p></body></html>`
	for contentType, want := range map[string][2]string{
		"application/xhtml+xml; charset=utf-8": {"one\ntwo\nH\nthree", "one  \ntwo\n\n## H\n\nthree"},
		"text/html; charset=utf-8":             {"", ""},
	} {
		got, err := Of([]byte(body), contentType, parseURL(t), Options{Whole: true, Markdown: true})
		if err != nil || got.Title != "T" || got.Text != want[0] || got.Markdown != want[1] {
			t.Errorf("%s: %+v, %v", contentType, got, err)
		}
	}
}

func TestWrongCharsetsGiveValidText(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ body, contentType, want string }{
		{"<p>caf\xe9", "text/html; charset=iso-8859-1", "café"},
		{"<p>caf\xe9", "text/html; charset=utf-8", "caf\ufffd"},
		{"<meta charset=windows-1252><p>caf\xe9", "text/html", "café"},
		{"<p>café", "text/html; charset=nonsense", "café"},
	} {
		got, err := Of([]byte(c.body), c.contentType, parseURL(t), Options{})
		if err != nil || got.Text != c.want {
			t.Errorf("%q as %s: %q, want %q; %v", c.body, c.contentType, got.Text, c.want, err)
		}
	}
}

func TestLinksOfMarkdownAreAbsolute(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ body, want string }{
		{`<a href="x?a b#c d">l</a>`, "[l](http://docs.test/docs/x?a%20b#c%20d)"},
		{`<a href="#f">l</a>`, "[l](http://docs.test/docs/queue.html#f)"},
		{`<base href="http://other.test/b/"><a href="../x">l</a>`, "[l](http://other.test/x)"},
		{`<a href="mailto:a@b.test">l</a>`, "[l](mailto:a@b.test)"},
		{`<a href="javascript:alert(1)">l</a>`, "l"},
		{`<a href="JavaScript:alert(1)">l</a>`, "l"},
		{`<img alt=i src="i.png">`, "![i](http://docs.test/docs/i.png)"},
		{`<h2>t<a href="#t">¶</a></h2>`, "## t"},
	} {
		got, err := Of([]byte(c.body), "text/html", parseURL(t), Options{Whole: true, Markdown: true})
		if err != nil || got.Markdown != c.want {
			t.Errorf("%q: %q, want %q; %v", c.body, got.Markdown, c.want, err)
		}
	}
}

func TestPlainTextIsItsOwnContent(t *testing.T) {
	t.Parallel()
	got, err := Of([]byte("# not *a* heading\n  é"), "text/plain; charset=utf-8", parseURL(t), Options{Markdown: true})
	if err != nil || got.Text != "# not *a* heading\n  é" || got.Markdown != "\\# not \\*a\\* heading\n  é" {
		t.Errorf("%+v, %v", got, err)
	}
	got, err = Of([]byte("# A *heading*"), "text/markdown", parseURL(t), Options{Markdown: true})
	if err != nil || got.Markdown != "# A *heading*" {
		t.Errorf("%+v, %v", got, err)
	}
}

func TestBodiesThatAreNoText(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ body, mediaType string }{
		{"{}", "application/json"}, {"x", ""}, {"%PDF-1.7\n", "text/html"}, {"\x89PNG\r\n\x1a\n", "text/plain"},
		{strings.Repeat("\x00\x01\x02\x03", 100), "text/html"},
	} {
		if got, err := Of([]byte(c.body), c.mediaType, parseURL(t), Options{}); !errors.Is(err, ErrNoText) || got != (Content{}) {
			t.Errorf("%q as %q: %+v, %v", c.body, c.mediaType, got, err)
		}
	}
	if _, err := Of(make([]byte, maxBody+1), "text/plain", parseURL(t), Options{}); err == nil || errors.Is(err, ErrNoText) {
		t.Errorf("a body that is too large: %v", err)
	}
	for _, text := range []string{"BMW prices", "OTTO was a king", "ID3 tags", "GIF87a is a format"} { // these texts begin with signatures of file formats
		if got, err := Of([]byte(text), "text/plain", parseURL(t), Options{}); err != nil || got.Text != text {
			t.Errorf("%+v, %v", got, err)
		}
	}
	if got, err := Of([]byte("BM\x00\x10 a picture"), "text/plain", parseURL(t), Options{}); !errors.Is(err, ErrNoText) {
		t.Errorf("%+v, %v", got, err)
	}
	if got, err := Of([]byte("<p>a control \x01 character in a text that is long enough"), "text/html", parseURL(t), Options{}); err != nil || got.Text == "" {
		t.Errorf("%+v, %v", got, err)
	}
}

// A program that crawls without this package must not contain its libraries.
func TestOnlyThisPackageImportsItsLibraries(t *testing.T) {
	t.Parallel()
	imports := func(pkg string) bool {
		out, err := exec.Command("go", "list", "-deps", pkg).Output()
		if err != nil {
			t.Skip("go list: ", err)
		}
		return slices.ContainsFunc(strings.Fields(string(out)), func(name string) bool {
			return strings.Contains(name, "readability") || strings.Contains(name, "html-to-markdown")
		})
	}
	if imports("..") || !imports(".") {
		t.Error("package crawler imports the libraries of this package, or this package does not")
	}
}

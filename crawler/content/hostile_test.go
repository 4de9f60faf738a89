package content

import (
	"fmt"
	"strings"
	"testing"
)

// If the tree, the main content or the Markdown of a page would be too large, the result is the
// text of the whole page, and Limited names the limit.
func TestAHostilePageIsLimited(t *testing.T) {
	t.Parallel()
	rep := strings.Repeat
	var fonts strings.Builder
	for i := range 400 {
		fmt.Fprintf(&fonts, "<font a=%d>", i)
	}
	for _, c := range []struct{ name, body, limited string }{
		{"endless nesting", rep("<div>", 2000) + "words", "cannot be parsed"},
		{"endless tables", rep("<table><tr><td>", 50_000) + "words", "elements"},
		{"deep and many", rep(rep("<div>", 400)+"words"+rep("</div>", 400), 100), "nested too deep for their number"},
		{"missing end tags", fonts.String() + rep("<p>words", 3000), "formatting elements"},
		{"brackets", "<p>words " + rep("[", 200_000), "brackets"},
		{"16 MiB", "<p>words " + rep("a few ", 16<<20/6), "bytes"},
	} {
		got, err := Of([]byte(c.body), "text/html", parseURL(t), Options{Markdown: true})
		if err != nil || got.Main || !strings.Contains(got.Limited, c.limited) || !strings.HasPrefix(got.Text, "words") || !strings.HasPrefix(got.Markdown, "words") {
			t.Errorf("%s: main %v, limited %q, %d bytes of text, %v", c.name, got.Main, got.Limited, len(got.Text), err)
		}
		if got, err := Of([]byte(c.body), "text/html", parseURL(t), Options{Whole: true}); err != nil || got.Limited != "" || !strings.HasPrefix(got.Text, "words") {
			t.Errorf("%s: the whole text is limited: %q, %v", c.name, got.Limited, err)
		}
	}
}

// Brackets in a script do not count for the limit of brackets.
func TestBracketsOfScriptsAreNotLimited(t *testing.T) {
	t.Parallel()
	got, err := Of([]byte("<script>"+strings.Repeat("[", 200_000)+"</script><p>words"), "text/html", parseURL(t), Options{Markdown: true})
	if err != nil || got.Limited != "" || got.Markdown != "words" {
		t.Errorf("%+v, %v", got, err)
	}
}

// Markdown repeats the indentation of lists and quotations in each line, and gives each row of a
// table as many cells as the widest row. Limits keep it from becoming much larger than the page.
func TestMarkdownIsNotMuchLargerThanThePage(t *testing.T) {
	t.Parallel()
	rep := strings.Repeat
	for _, c := range []struct{ name, body string }{
		{"quotations", rep("<blockquote>", 100) + rep("<br>words", 2000)},
		{"lists", rep("<ul><li>", 100) + rep("<br>words", 2000)},
		{"columns", "<table>" + rep("<tr><td colspan=1000000000 rowspan=1000000000>x", 500) + "</table>"},
		{"cells", "<table><tr>" + rep("<td>x", 3000) + rep("<tr><td>y", 3000) + "</table>"},
		{"one long cell", "<table><tr><td>" + rep("x", 10_000) + rep("<tr><td>y", 3000) + "</table>"},
	} {
		got, err := Of([]byte(c.body), "text/html", parseURL(t), Options{Whole: true, Markdown: true})
		if err != nil || got.Limited != "" || got.Markdown == "" || len(got.Markdown) > 200_000 {
			t.Errorf("%s: %d bytes of Markdown, limited %q, %v", c.name, len(got.Markdown), got.Limited, err)
		}
	}
}

func FuzzOf(f *testing.F) {
	for _, seed := range []string{
		"<h1>a</h1><p>b<ul><li>c<table><tr><td>d</table><pre>e</pre><a href=f>g</a>", "<blockquote><pre>a\nb", "<code><p>x</code>y", "<code><a href=x>y</a></code>",
		"<font a=1><p><font a=2><p>x", "<table><td colspan=99>x<tr>", "[a](b) \\ ` * _ # > | ~~", "<svg><title>a</title><style><p>", "\a\uf002[x", "<base href=//b/><a href=c>",
		"%PDF-", "\xff\xfe<\x00", "<html lang=de><title>t</title>",
	} {
		f.Add([]byte(seed), uint8(0))
	}
	u := parseURL(f)
	f.Fuzz(func(t *testing.T, body []byte, how uint8) {
		contentType := [...]string{"text/html", "text/html; charset=iso-8859-1", "text/plain", "application/xhtml+xml"}[how/4%4]
		got, err := Of(body, contentType, u, Options{Whole: how&1 != 0, Markdown: how&2 != 0})
		if err != nil {
			if got != (Content{}) {
				t.Errorf("an error and a content: %+v, %v", got, err)
			}
			return
		}
		for _, text := range []string{got.Title, got.Language, got.Text, got.Markdown} {
			if strings.ToValidUTF8(text, "") != text {
				t.Errorf("not UTF-8: %q", text)
			}
		}
		if strings.Contains(got.Limited, "library") {
			t.Errorf("a library failed: %s", got.Limited)
		}
		if how&2 == 0 && got.Markdown != "" {
			t.Error("Markdown that was not wanted")
		}
	})
}

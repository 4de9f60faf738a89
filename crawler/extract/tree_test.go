package extract

import (
	"bytes"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"golang.org/x/net/html"
	"golang.org/x/net/html/atom"
)

// treeLinks are the links and the title of a document by the tree that x/net/html builds
// of it, as browsers do. A tree may hold an element twice, and not in the order of the
// document; its links are told apart by their number.
func treeLinks(t testing.TB, body []byte, opts Options) (links []string, title string) {
	t.Helper()
	root, err := html.ParseWithOptions(bytes.NewReader(body), html.ParseOptionEnableScripting(false))
	if err != nil {
		t.Fatal(err)
	}
	titled := false
	for n := range root.Descendants() {
		if n.Type != html.ElementNode {
			continue
		}
		link := func(where string, from, namespace string) {
			for _, a := range n.Attr {
				if a.Key == from && a.Namespace == namespace {
					links = append(links, where+" /"+strings.TrimSuffix(a.Val, "/"))
				}
			}
		}
		switch {
		case n.Namespace == "svg" && n.Data == "a":
			link("a/href", "href", "")
			link("a/xlink:href", "href", "xlink")
		case n.Namespace != "":
		case n.DataAtom == atom.A:
			link("a/href", "href", "")
		case n.DataAtom == atom.Area:
			link("area/href", "href", "")
		case n.DataAtom == atom.Iframe:
			link("iframe/src", "src", "")
		case n.DataAtom == atom.Img && opts.Embeds:
			link("img/src", "src", "")
		case n.DataAtom == atom.Script && opts.Embeds:
			link("script/src", "src", "")
		case n.DataAtom == atom.Title && !titled:
			titled = true
			for c := range n.ChildNodes() {
				title += c.Data
			}
		}
	}
	return links, strings.Join(strings.Fields(title), " ")
}

// ourLinks is treeLinks by HTML.
func ourLinks(t testing.TB, body []byte, opts Options) (links []string, title string) {
	d := HTML(body, parse(t, "http://a.example/"), "text/html", opts)
	for _, l := range d.Links {
		links = append(links, l.Where+" "+strings.TrimSuffix(l.URL.Target(), "/"))
	}
	return links, d.Title
}

// What is SVG and what HTML, element by element. Each link has a number.
var foreignParts = []string{
	"<svg>", "<svg/>", "</svg>", "<SVG a=/>", "<math>", "<math/>", "</math>", "<foreignObject>", "<foreignobject/>", "</foreignobject>",
	"<desc>", "</desc>", "<title>", "<title/>", "</title>", "<style>", "<style/>", "</style>", "<script>", "<script src=%d />", "</script>",
	"<textarea>", "<textarea/>", "</textarea>", "<iframe src=%d>", "</iframe>", "<xmp>", "</xmp>", "<noembed/>",
	"<annotation-xml>", "<annotation-xml encoding='text/HTML'>", "<annotation-xml encoding=application/xhtml+xml />", "</annotation-xml>",
	"<mi>", "</mi>", "<mtext>", "</mtext>", "<mglyph>", "<malignmark/>", "</mglyph>", "<g>", "<g/>", "</g>", "<path d=/>", "</path>", "<x-y>", "</x-y>",
	"<a href=%d>", "<a href=%d />", "<a xlink:href=%d>", "</a>", "<area href=%d>", "<img src=%d>", "<image src=%d>",
	"<div>", "</div>", "<p>", "<span>", "</span>", "<b>", "</b>", "<font>", "<font size=1>", "</font>", "<br>", "<ul>", "<li>", "</li>", "</ul>",
	"<h1>", "<h2>", "</h3>", "<button>", "</button>", "<dl>", "<dt>", "<dd>", "</dd>", "</dl>", "<object>", "</object>", "<em>", "</em>",
	"<![CDATA[", "]]>", "<!--", "-->", "text", "<select>", "</select>", "</body>", "</html>", "<meta>", "<link>", "<svg><title>", "<svg><foreignObject><div>",
}

// Tables end what is open in them, SVG too.
var tableParts = []string{
	"<table>", "<table>", "</table>", "<tr>", "<td>", "<th>", "<tbody>", "</tbody>", "</tr>", "</td>", "<caption>", "</caption>", "<col>", "<colgroup>", "</colgroup>", "<thead>",
	"<svg>", "<svg>", "<svg><g>", "</svg>", "<math>", "<mi>", "</mi>", "<foreignObject>", "</foreignObject>", "<title>", "</title>", "<style>", "</style>",
	"<xmp>", "</xmp>", "<g>", "</g>", "<div>", "</div>", "<p>", "<form>", "</form>", "<b>", "</b>", "<a href=%d>", "</a>", "<a href=%d>x</a>", "<img src=%d>",
}

// generate makes a document of parts, numbering its links.
func generate(parts []string, picks []byte) []byte {
	var b strings.Builder
	b.WriteString("<!doctype html><body>")
	for n, pick := range picks {
		part := parts[int(pick)%len(parts)]
		if strings.Contains(part, "%d") {
			part = fmt.Sprintf(part, n)
		}
		b.WriteString(part)
	}
	b.WriteString("--><a href=1000>end</a>")
	return []byte(b.String())
}

func compareWithTree(t testing.TB, page []byte) int {
	t.Helper()
	opts := Options{Embeds: true}
	want, wantTitle := treeLinks(t, page, opts)
	got, title := ourLinks(t, page, opts)
	slices.Sort(want)
	slices.Sort(got)
	if want = slices.Compact(want); !slices.Equal(want, got) || title != wantTitle {
		t.Errorf("%s\ntree %q, title %q\nours %q, title %q", page, want, wantTitle, got, title)
	}
	return len(got)
}

func TestLinksAreThoseOfTheTree(t *testing.T) {
	random := rand.New(rand.NewPCG(11, 12))
	links := 0
	for n := range 20_000 {
		parts := foreignParts
		if n%3 == 0 {
			parts = tableParts
		}
		picks := make([]byte, 1+random.IntN(14))
		for i := range picks {
			picks[i] = byte(random.IntN(len(parts)))
		}
		if links += compareWithTree(t, generate(parts, picks)); t.Failed() {
			break
		}
	}
	if links < 15_000 {
		t.Errorf("only %d links in all documents", links)
	}
}

func FuzzTree(f *testing.F) {
	for _, table := range []bool{true, false} {
		f.Add(table, []byte{16, 0, 23, 2})
	}
	f.Fuzz(func(t *testing.T, table bool, picks []byte) {
		parts := foreignParts
		if table {
			parts = tableParts
		}
		// Longer ones need what is not kept: formatting elements that are opened again.
		compareWithTree(t, generate(parts, picks[:min(len(picks), 8)]))
	})
}

// What the tree of x/net/html has otherwise than the standard, or refuses.
func TestForeignContent(t *testing.T) {
	deep := strings.Repeat("<g>", 2*maxOpen)
	for _, tc := range []struct{ html, want string }{
		{"<svg><title/></svg><a href=1>", "/1"},
		{"<svg><style/></svg><a href=1>", "/1"},
		{"<svg><script/></svg><a href=1>", "/1"},
		{"<svg><textarea></svg><a href=1>", "/1"},
		{"<svg><title></svg><a href=1>", "/1"},
		{"<math><title/></math><a href=1>", "/1"},
		{"<svg><style></p><style><a href=1></style><a href=2>", "/2"},
		{"<svg></br><style><a href=1></style><a href=2>", "/2"},
		{"<svg><desc></p><style><a href=1></style></desc><style><a href=2>", "/2"},
		{"<svg><![CDATA[<a href=1>]]><a href=2>", "/2"},
		{"<svg></svg><![CDATA[<a href=1>]]><a href=2>", "/2"},
		{"<svg><desc><p><![CDATA[<a href=1>]]><a href=2>", "/2"},
		{"<svg><![CDATA[<a href=1>", ""},
		{"<svg><iframe src=1><area href=2><frame src=3><link rel=next href=4><a href=5>", "/5"},
		{"<math><a href=1></math><a href=2>", "/2"},
		{"<svg><a xlink:href=1><a xlink:href=2 href=3></svg><a xlink:href=4>", "/1 /3"},
		{"<svg><base href=/b/></svg><a href=1>", "/1"},
		{"<template><base href=/b/></template><a href=1><base href=/c/>", "/c/1"},
		{"<template><template></template><base href=/b/></template><a href=1>", "/1"},
		{"</template><base href=/b/><a href=1>", "/b/1"},
		{"<template><svg></template><style><a href=1></style><base href=/b/><a href=2>", "/b/2"},
		{"<template><svg><desc></template><base href=/b/><a href=2>", "/b/2"},
		{"<svg><desc><template></template><base href=/b/><a href=2>", "/b/2"},
		{"<svg><desc><template><base href=/b/><a href=2>", "/2"},
		{"<div><template><svg></div><base href=/b/></template><a href=2>", "/2"},
		{"<svg>" + deep + "<style>" + "<a href=1>", "/1"},
		{"<svg>" + deep + strings.Repeat("</g>", 2*maxOpen) + "</svg><style><a href=1>", ""},
		{"<svg>" + deep + strings.Repeat("</g>", 2*maxOpen) + "<style><a href=1>", "/1"},
	} {
		var got []string
		for _, l := range HTML([]byte(tc.html), parse(t, "http://a.example/"), "text/html", Options{}).Links {
			got = append(got, l.URL.Target())
		}
		if s := strings.Join(got, " "); s != tc.want {
			t.Errorf("%.200s: %q, want %q", tc.html, s, tc.want)
		}
	}
}

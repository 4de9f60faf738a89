package extract

import (
	"bytes"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"golang.org/x/net/html"
	"golang.org/x/net/html/atom"
)

// treeStack returns the elements that are open at the end of a document, according to the tree of
// x/net/html.
func treeStack(t *testing.T, page []byte) []element {
	t.Helper()
	root, err := html.ParseWithOptions(bytes.NewReader(append(bytes.Clone(page), "<x-end>"...)), html.ParseOptionEnableScripting(false))
	if err != nil {
		t.Fatal(err)
	}
	var last *html.Node
	for n := range root.Descendants() {
		if n.Data == "x-end" {
			last = n
		}
	}
	if last == nil {
		return nil
	}
	var stack []element
	for n := range last.Ancestors() {
		if n.Type != html.ElementNode || n.Namespace == "" && (n.DataAtom == atom.Html || n.DataAtom == atom.Body) {
			continue
		}
		z := tokenizer{buf: []byte(n.Data), name: value{0, len(n.Data)}}
		e := element{name: z.elementName(), space: map[string]space{"svg": svgSpace, "math": mathSpace}[n.Namespace]}
		for _, a := range n.Attr {
			e.html = e.html || a.Key == "encoding" && n.Namespace == "math"
		}
		stack = append(stack, e)
	}
	slices.Reverse(stack)
	return stack
}

func ourStack(page []byte, whole bool) (openElements, bool) {
	m := newMarkup(page, "text/html", true)
	m.open.keepAll = whole
	for m.next() {
	}
	top := m.open.top()
	return m.open, top.space != htmlSpace || traitsOf[top.name]&raw == 0
}

// displaced reports whether an element is open that is not allowed directly in a table. A tree
// moves such an element to another place.
func displaced(stack []element) bool {
	for i, e := range stack {
		if e.space != htmlSpace || e.name != atom.Table && (traitsOf[e.name]&tablePart == 0 || endsFormatting(e)) {
			continue
		}
		if i+1 == len(stack) || stack[i+1].space != htmlSpace || traitsOf[stack[i+1].name]&tablePart == 0 {
			return true
		}
	}
	return false
}

// withoutForms returns stack without forms. In a tree, elements after the end tag of a form are
// still inside the form.
func withoutForms(stack []element) []element {
	return slices.DeleteFunc(slices.Clone(stack), func(e element) bool { return e == element{name: atom.Form} })
}

// The stack has the same open elements as the tree. Formatting elements are an exception, because
// the tree opens them again.
func TestWhatIsOpenIsWhatTheTreeHasOpen(t *testing.T) {
	svg := strings.Fields("<svg> <svg> </svg> <g> </g> <desc> </desc> <foreignObject> </foreignObject> <math> </math> <mi> </mi> <annotation-xml> " +
		"<annotation-xml~encoding=text/html> </annotation-xml> <svg><desc>")
	for _, names := range []string{
		"div p ul ol li", "div p dl dt dd li address", "h1 h2 h6 p div span", "button form div p span", "select option optgroup div span",
		"object applet marquee div p span form li h1", "article section nav details summary pre dialog hr br img body html",
		"table tbody tr td caption", "table thead tr th", "table tr td li div p", "table thead tr td span button", "table tfoot col colgroup tr form td",
		"x-y span p g svg desc", "menu fieldset header figure figcaption ul", "listing xmp p center dir hgroup main", "p textarea title div", "noscript iframe div p span style",
	} {
		var parts []string
		for name := range strings.FieldsSeq(names) {
			parts = append(parts, "<"+name+">", "</"+name+">")
		}
		parts = append(parts, "</p>", "<p>")
		random := rand.New(rand.NewPCG(13, uint64(len(names))))
		compared, kept := 0, 0
		for range 3000 {
			page := []byte("<!doctype html><body>")
			for range 1 + random.IntN(10) {
				from := parts
				if random.IntN(3) == 0 {
					from = svg
				}
				page = append(page, strings.ReplaceAll(from[random.IntN(len(from))], "~", " ")...)
			}
			got, read := ourStack(page, true)
			if !read {
				continue // the rest of the document is text
			}
			want := treeStack(t, page)
			if displaced(got.stack) {
				continue
			}
			compared++
			if !slices.Equal(withoutForms(got.stack), withoutForms(want)) {
				t.Fatalf("%s\nopen in the tree %v\nopen to us       %v", page, want, got.stack)
			}
			if part, _ := ourStack(page, false); !part.lost {
				kept++
				n := len(got.stack) - len(part.stack)
				if n < 0 || !slices.Equal(part.stack, got.stack[n:]) || slices.ContainsFunc(got.stack[:n], func(e element) bool { return e.space != htmlSpace }) {
					t.Fatalf("%s\nopen %v\nkept %v", page, got.stack, part.stack)
				}
			}
		}
		if compared < 200 || kept < 100 {
			t.Errorf("%s: %d compared, %d of them not lost", names, compared, kept)
		}
	}
}

func TestFormattingElements(t *testing.T) {
	for page, want := range map[string]string{
		"<a><span><a>":              "a",
		"<div><a><span><a>":         "div a",
		"<nobr><span><nobr>":        "nobr",
		"<a><object><a>":            "a object a",
		"<b><p></b>":                "p",
		"<b><i><span><p></b>":       "i p",
		"<b><div><i></b>":           "div",
		"<i><object></i>":           "i object",
		"<div><image>":              "div",
		"<b><span></b>":             "",
		"<a><div><span><a><i>":      "div a i",
		"<a><table><a>":             "table a",
		"<table><template></table>": "table template",
		"<table><td></table>":       "",
		"<template><html>":          "template", "<svg><desc><html>": "svg desc",
		"<div></html></head></body><p>": "div p",
	} {
		got, _ := ourStack([]byte(page), true)
		var names []string
		for _, e := range got.stack {
			names = append(names, e.name.String())
		}
		if s := strings.Join(names, " "); s != want {
			t.Errorf("%s: open %q, want %q", page, s, want)
		}
	}
}

// The content of a template is not a part of the document, wherever the template is.
func TestInATemplate(t *testing.T) {
	for page, want := range map[string]bool{
		"": false, "<div>": false, "<template>": true, "<template><template></template>": true, "<template></template>": false, "<div><template>": true,
		"<template><div>": true, "<template><svg>": true, "<div><template></template>": false, "<svg><template>": false,
	} {
		for _, whole := range []bool{true, false} {
			if got, _ := ourStack([]byte(page), whole); got.inTemplate() != want {
				t.Errorf("%s, whole %v: %v", page, whole, !want)
			}
		}
	}
}

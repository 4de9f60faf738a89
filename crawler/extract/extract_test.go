package extract

import (
	"bytes"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/permesso-crawler/permesso/frontier"
)

func parse(t testing.TB, raw string) frontier.URL {
	t.Helper()
	u, err := frontier.ParseURL(raw)
	if err != nil {
		t.Fatal(err)
	}
	return u
}

func TestHTML(t *testing.T) {
	u := parse(t, "http://a.example/dir/page")
	for _, tc := range []struct{ name, html, want string }{
		{"link", `<a href="x">`, "a/href /dir/x"},
		{"upper case", `<A HREF=X>`, "a/href /dir/X"},
		{"blanks and line ends", "<a href=' /x\n/y '>", "a/href /x/y"},
		{"entities", `<a href="?a=1&amp;b=2">`, "a/href /dir/page?a=1&b=2"},
		{"no href", `<a name=x>`, ""},
		{"empty href is the page itself", `<a href="">`, "a/href /dir/page"},
		{"first of two", `<a href=1 href=2>`, "a/href /dir/1"},
		{"area, frames", `<area href=1><iframe src=2></iframe><frame src=3>`, "area/href /dir/1, iframe/src /dir/2, frame/src /dir/3"},
		{"link elements that lead on", `<link rel=next href=1><link rel="stylesheet" href=2><link rel="ALTERNATE Next" href=3><link href=4>`,
			"link/href /dir/1, link/href /dir/3"},
		{"where documentation leads", `<link rel=previous href=1><link rel=search href=2><link rel=home href=3><link rel=chapter href=4><link rel=pingback href=5><link rel="home icon" href=6>`,
			"link/href /dir/1, link/href /dir/2, link/href /dir/3, link/href /dir/4"},
		{"alternate stylesheet", `<link rel="alternate stylesheet" href=1>`, ""},
		{"nofollow", `<a rel="x NoFollow" href=1>`, "a/href /dir/1 nofollow"},
		{"base, also for links before it", `<a href=1><base href="/other/"><base href="/third/"><a href=2>`, "a/href /other/1, a/href /other/2"},
		{"other schemes", `<a href="mailto:x@y"><a href="javascript:x()"><a href="data:,x"><a href="tel:1"><a href="gopher://a/">`, ""},
		{"comment and script", `<!-- <a href=1> --><script>"<a href=2>"</script><style><a href=3></style>`, ""},
		{"refresh", `<meta http-equiv=Refresh content="5; URL='/x'">`, "meta/refresh /x"},
		{"refresh without url", `<meta http-equiv=refresh content="5">`, ""},
		{"refresh in short", `<meta http-equiv=refresh content="0,/x">`, "meta/refresh /x"},
		{"refresh of no time", `<meta http-equiv=refresh content="5x; url=/x"><meta http-equiv=refresh content="; url=/x"><meta http-equiv=refresh content="x">`, ""},
		{"refresh after a point", `<meta http-equiv=refresh content=".5 , url = &quot;/x&quot;y">`, "meta/refresh /x"},
		{"refresh after a blank", `<meta http-equiv=refresh content=" 1.2.3 /x ">`, "meta/refresh /x"},
		{"refresh to what begins like url", `<meta http-equiv=refresh content="0;url x">`, "meta/refresh /dir/url%20x"},
		{"never closed", `<div><a href=1`, ""},
		{"deep", strings.Repeat("<div>", 2000) + `<a href=1>`, "a/href /dir/1"},
		{"in svg and noscript", `<svg><a href=1></a></svg><noscript><a href=2></a></noscript>`, "a/href /dir/1, a/href /dir/2"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			var got []string
			for _, l := range HTML([]byte(tc.html), u, "text/html", Options{Token: "testbot"}).Links {
				s := l.Where + " " + l.URL.Target()
				if l.NoFollow {
					s += " nofollow"
				}
				got = append(got, s)
			}
			if s := strings.Join(got, ", "); s != tc.want {
				t.Errorf("got %q, want %q", s, tc.want)
			}
		})
	}
}

func TestTitleAndDirectives(t *testing.T) {
	d := HTML([]byte(`<title> One &amp;
		two </title><title>Other</title><meta name="robots" content="noindex"><meta name="TestBot" content="nofollow">
		<meta name=otherbot content=none><link rel=canonical href=/c>`), parse(t, "http://a.example/"), "text/html", Options{Token: "testbot"})
	if d.Title != "One & two" || d.Canonical.Target() != "/c" {
		t.Errorf("title %q, canonical %v", d.Title, d.Canonical)
	}
	if !d.Directives.NoIndex || !d.Directives.NoFollow || d.Directives.NoArchive {
		t.Errorf("directives %v", d.Directives)
	}
}

func TestXHTML(t *testing.T) {
	const page = `<script src="x"/><title/><textarea/><iframe/><svg><title>Drawing</title></svg><title>Page</title><a href="/1"/>`
	d := HTML([]byte(page), parse(t, "http://a.example/"), "application/xhtml+xml", Options{Token: "testbot"})
	if len(d.Links) != 1 || d.Title != "Page" {
		t.Errorf("links %v, title %q", d.Links, d.Title)
	}
}

func TestTheLinksOfAPageAreBounded(t *testing.T) {
	u := parse(t, "http://a.example/")
	d := HTML([]byte(strings.Repeat("<a href=1>", MaxLinks+1)), u, "text/html", Options{Token: "testbot"})
	if len(d.Links) != MaxLinks || !d.Cut {
		t.Errorf("%d links, cut %v", len(d.Links), d.Cut)
	}
	d = HTML([]byte(`<base href="/`+strings.Repeat("a", 7000)+`/">`+strings.Repeat("<a href=1>", 10000)), u, "text/html", Options{Token: "testbot"})
	if !d.Cut || len(d.Links) > maxLinkBytes/7000 {
		t.Errorf("%d long links, cut %v", len(d.Links), d.Cut)
	}
}

func TestDecode(t *testing.T) {
	for _, tc := range []struct{ name, body, contentType, want, charset string }{
		{"ascii", "hello", "", "hello", "utf-8"},
		{"utf-8", "é", "text/html", "é", "utf-8"},
		{"byte order mark", "\xef\xbb\xbfé", "text/html; charset=latin1", "é", "utf-8"},
		{"a charset that is not the page's", "<script charset=utf-16></script>é", "", "<script charset=utf-16></script>é", "utf-8"},
		{"header", "\xe9", "text/html; charset=ISO-8859-1", "é", "windows-1252"},
		{"meta", "<meta charset=windows-1251>\xcf", "", "<meta charset=windows-1251>П", "windows-1251"},
		{"utf-16", "\xff\xfeh\x00i\x00", "", "hi", "utf-16le"},
		{"a meta beyond doubt", "<meta charset=utf-8>\xe9", "", "<meta charset=utf-8>\xe9", "utf-8"},
		{"late utf-8", strings.Repeat("x", 3000) + "é", "", strings.Repeat("x", 3000) + "é", "utf-8"},
		{"undeclared russian", "\xcf\xf0\xe8\xe2\xe5\xf2, \xea\xe0\xea \xe4\xe5\xeb\xe0? \xdd\xf2\xee \xef\xf0\xee\xf1\xf2\xee\xe9 \xf2\xe5\xea\xf1\xf2.", "", "Привет, как дела? Это простой текст.", "windows-1251"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			got, name := Decode([]byte(tc.body), tc.contentType)
			if string(got) != tc.want || name != tc.charset {
				t.Errorf("got %q in %s, want %q in %s", got, name, tc.want, tc.charset)
			}
		})
	}
}

func FuzzHTML(f *testing.F) {
	for _, s := range []string{`<a href=1>`, `<base href="//x"><a href=?>`, `<meta http-equiv=refresh content="0;url=x">`, "<title>x", "\xff\xfe<\x00",
		"<script><!--<script></script><a href=1>--></script><a href=2>", "<svg a=1 a=/><title>x</title>", `<a href="&amp;x&notit;&#x41" rel='a&b=c'>`} {
		f.Add([]byte(s))
	}
	u := parse(f, "http://a.example/dir/page")
	f.Fuzz(func(t *testing.T, body []byte) {
		if lower := bytes.ToLower(body); !bytes.Contains(lower, []byte("<svg")) && !bytes.Contains(lower, []byte("<math")) {
			compareWithOracle(t, body, u)
		}
		text, _ := Decode(body, "")
		d := HTML(text, u, "application/xhtml+xml", Options{Token: "testbot"})
		for _, l := range d.Links {
			if l.URL.IsZero() || l.Hop != frontier.HopLink {
				t.Fatalf("%q: link %+v", body, l)
			}
		}
		if utf8.Valid(text) && !utf8.ValidString(d.Title) {
			t.Fatalf("%q: title %q", body, d.Title)
		}
	})
}

func BenchmarkHTML(b *testing.B) {
	var page strings.Builder
	page.WriteString("<!doctype html><html><head><title>A page</title><meta name=robots content=index></head><body>")
	for i := range 50 {
		fmt.Fprintf(&page, `<p class="text">%s <a class="ref" href="/section/%d/page-%d.html">link %d</a></p>`, strings.Repeat("Some words of text. ", 18), i, i, i)
	}
	u := parse(b, "http://a.example/dir/page")
	body := []byte(page.String())
	b.SetBytes(int64(len(body)))
	for b.Loop() {
		if d := HTML(body, u, "text/html", Options{Token: "testbot"}); len(d.Links) != 50 {
			b.Fatal(len(d.Links))
		}
	}
}

func TestEmbedsAreWhatAPageIsShownWith(t *testing.T) {
	u := parse(t, "http://a.example/dir/")
	const page = `<link rel=stylesheet href=/s.css><link rel="shortcut icon" href=i.ico><link rel=next href=n>
		<script src=x.js></script><script>"<img src=no>"</script>
		<picture><source srcset="a.webp 1x, b,c.webp 2x"><img src=d.png alt="" srcset=" e.png,, f.png 100w ,g.png"></picture>
		<img src=data:image/png;base64,AA== ><a href=l>`
	var got []string
	for _, l := range HTML([]byte(page), u, "text/html", Options{Embeds: true}).Links {
		got = append(got, string(l.Hop)+" "+l.Where+" "+l.URL.Target())
	}
	want := []string{
		"E link/href /s.css", "E link/href /dir/i.ico", "L link/href /dir/n", "E script/src /dir/x.js",
		"E source/srcset /dir/a.webp", "E source/srcset /dir/b,c.webp", "E img/src /dir/d.png",
		"E img/srcset /dir/e.png", "E img/srcset /dir/f.png", "E img/srcset /dir/g.png", "L a/href /dir/l",
	}
	if !slices.Equal(got, want) {
		t.Errorf("got  %q\nwant %q", got, want)
	}
	if links := HTML([]byte(page), u, "text/html", Options{}).Links; len(links) != 2 {
		t.Errorf("without embeds: %+v", links)
	}
}

func BenchmarkDecode(b *testing.B) {
	page := "<!doctype html><html><head><meta charset=utf-8><title>x</title></head>" + strings.Repeat("Some words of text. ", 1024)
	for _, bc := range []struct{ name, page, contentType string }{
		{"header", page, "text/html; charset=utf-8"},
		{"meta", page, "text/html"},
		{"undeclared", strings.Replace(page, "<meta charset=utf-8>", "", 1), "text/html"},
	} {
		b.Run(bc.name, func(b *testing.B) {
			body := []byte(bc.page)
			b.SetBytes(int64(len(body)))
			b.ReportAllocs()
			for b.Loop() {
				if _, name := Decode(body, bc.contentType); name != "utf-8" {
					b.Fatal(name)
				}
			}
		})
	}
}

// Document.Resolve resolves references from other sources like those of the document.
func TestReferencesOfADocument(t *testing.T) {
	d := HTML([]byte("<base href=/b/>"), parse(t, testPage), "text/html", Options{Charset: "windows-1252"})
	if u, err := d.Resolve("x?q=é"); err != nil || u.String() != "http://a.example/b/x?q=%E9" {
		t.Errorf("%v, %v", u, err)
	}
	if u, err := d.Resolve("gopher://b.example/"); err == nil {
		t.Errorf("%v", u)
	}
}

// The memory of a document is reused for the next one. This does not change the results, even with
// concurrent calls.
func TestWhatWasReadBeforeChangesNothing(t *testing.T) {
	u := parse(t, "http://a.example/dir/")
	pages := []string{
		"<title>One</title><base href=/base/><meta name=robots content=nofollow><meta name=tdm-reservation content=1><a href=a rel='nofollow x' hreflang=de>text</a><link rel=canonical href=c>",
		"<div><svg></div><a href=lost><svg><a xlink:href=in /></svg></a><template><base href=no></template>",
		"<form><table><svg><form><a href=b></form></svg><title>Two</title><a href=c>",
		"<iframe srcdoc='<a href=within rel=up>inner</a><a href=2>'></iframe><a href=d>d</a><meta property=og:url content=/og>",
		"<template><template><a href=e>open",
		"<body><p>nothing",
		"<svg>" + strings.Repeat("<g>", 600) + "<a href=deep>",
		strings.Repeat("<a href=/many/x rel=next>many</a>", 2*maxKeptRefs),
		"<a href='" + strings.Repeat("x", 2*maxKeptBytes) + "'>long</a>",
		"",
	}
	opts := Options{Token: "testbot", Embeds: true, Forms: true, Text: true}
	show := func(d Document) string {
		return fmt.Sprintf("%q %v %q %q %v %v %v %+v", d.Title, d.Canonical, d.OpenGraph, d.base, d.Directives, d.TDM, d.Cut, d.Links)
	}
	want := make([]string, len(pages))
	for i, page := range pages {
		fresh := new(scanner)
		fresh.begin([]byte(page), "text/html", opts, 0)
		if fresh.run(); fresh.open.lost {
			fresh = new(scanner)
			fresh.begin([]byte(page), "text/html", opts, 0)
			fresh.open.keepAll = true
			fresh.run()
		}
		want[i] = show(fresh.document(u, nil))
	}
	random := rand.New(rand.NewPCG(1, 2))
	var order []int
	var got []Document
	for range 200 {
		i := random.IntN(len(pages))
		order, got = append(order, i), append(got, HTML([]byte(pages[i]), u, "text/html", opts))
	}
	for n, i := range order {
		if show(got[n]) != want[i] {
			t.Fatalf("page %d after %v:\n%.1000s\nwant %.1000s", i, order[:n], show(got[n]), want[i])
		}
	}
}

func TestTitlesAreFolded(t *testing.T) {
	u := parse(t, "http://a.example/")
	for _, text := range []string{"", " ", "a", "a b", " a", "a ", "a  b", "a\tb", "a\nb", "a\u00a0b", "a\u2003 b", "\u0085a", "é b", "a&nbsp;b", "a&#32; b", "a\x7fb", "a\x00 b"} {
		want := strings.Join(strings.Fields(decodeText([]byte(text))), " ")
		if got := HTML([]byte("<title>"+text+"</title>"), u, "text/html", Options{}).Title; got != want {
			t.Errorf("%q is %q, want %q", text, got, want)
		}
	}
}

package extract

import (
	"fmt"
	"strings"
	"testing"

	"github.com/permesso-crawler/permesso/frontier"
)

const testPage = "http://a.example/dir/page"

// linksOf returns the links of an HTML page in a short text form.
func linksOf(t *testing.T, page string, opts Options) string {
	t.Helper()
	var all []string
	for _, l := range HTML([]byte(page), parse(t, testPage), "text/html", opts).Links {
		s := string(l.Hop) + " " + l.Where + " " + l.URL.Target()
		if l.Rel != "" {
			s += " rel=" + l.Rel
		}
		if l.NoFollow {
			s += " nofollow"
		}
		all = append(all, s)
	}
	return strings.Join(all, ", ")
}

// A meta refresh can be written in these forms.
func TestFormsOfRefresh(t *testing.T) {
	for content, want := range map[string]string{
		"5;/x": "/x", "5,/x": "/x", "5 /x": "/x", "5\t/x": "/x", "5;;/x": "/dir/;/x", "5 ; /x": "/x", "5 , /x": "/x",
		"5;url=/x": "/x", "5;URL = /x": "/x", "5;url=": "", "5;url": "/dir/url", "5;ur=/x": "/dir/ur=/x", "5;urn=/x": "/dir/urn=/x", "5;url/x": "/dir/url/x",
		"5;u": "/dir/u", "5;ur": "/dir/ur", "5;url =/x": "/x", "5;url=url=/x": "/dir/url=/x", "5;url==/x": "/dir/=/x",
		"5;'/x'y": "/x", `5;"/x"y`: "/x", "5;'/x": "/x", `5;"/x'y"`: "/x'y", "5;''": "", "5;'": "", "5;x'y": "/dir/x'y", "5;' /x '": "/x",
		"5": "", "5 ": "", "5;": "", "5; ": "", "": "", " ": "", ";": "", "x": "", "5x": "", "5x;/x": "", ";/x": "", "/x": "",
		".": "", ".;/x": "/x", "5.5;/x": "/x", " 5;/x": "/x", "5;/x ": "/x", "+5;/x": "", "-5;/x": "", "5;é": "/dir/%C3%A9",
	} {
		page := "<meta http-equiv=refresh content=\"" + strings.ReplaceAll(content, `"`, "&quot;") + "\">"
		if want != "" {
			want = "L meta/refresh " + want
		}
		if got := linksOf(t, page, Options{}); got != want {
			t.Errorf("%q: %q, want %q", content, got, want)
		}
	}
	if got := linksOf(t, `<meta http-equiv=refresher content="5;/x"><meta name=refresh content="5;/x"><meta content="5;/x">`, Options{}); got != "" {
		t.Errorf("of what is no refresh: %q", got)
	}
}

// A srcset attribute can be written in these forms.
func TestFormsOfImageCandidates(t *testing.T) {
	for list, want := range map[string]string{
		"a": "a", "a b": "a", "a, b": "a b", "a,b": "a,b", "a 1x, b 2x": "a b", "a 1x,b 2x": "a b", ",a": "a", "a,": "a", "a,,, b": "a b",
		" , a\t1x\n,\fb": "a b", "": "", " ": "", ",": "", ", ,": "", "a (x, y), b": "a b", "a (x, y) z, b": "a b", "a (x, y": "a", "a x) , b": "a b",
		"a ((x), b": "a b", "a )(, b": "a", "a (,), b": "a b", "a (1), (2), b": "a (2) b",
	} {
		var got []string
		for raw := range imageCandidates(list) {
			got = append(got, raw)
		}
		if s := strings.Join(got, " "); s != want {
			t.Errorf("%q: %q, want %q", list, s, want)
		}
	}
	for raw := range imageCandidates("a, b, c") {
		if raw != "a" {
			t.Errorf("%q, though no more was wanted", raw)
		}
		break
	}
}

// The references of these pages have the correct kind, element and attribute.
func TestKindsOfReferences(t *testing.T) {
	for _, test := range []struct {
		page, links, embeds string // if embeds is not empty, it is checked instead of links
	}{
		{page: `<iframe rel=nofollow src=1></iframe><frame rel=nofollow src=2>`, links: "L iframe/src /dir/1, L frame/src /dir/2"},
		{page: `<a rel="nofollow ugc" href=1><area rel=Nofollow href=2>`, links: "L a/href /dir/1 rel=nofollow ugc nofollow, L area/href /dir/2 rel=Nofollow nofollow"},
		{page: `<a rel=me href=1><a href=2>`, links: "L a/href /dir/1 rel=me, L a/href /dir/2"},
		{page: `<a rel="a&amp;b" href=1>`, links: "L a/href /dir/1 rel=a&b"},
		{page: `<link rel=next><link rel=icon><a><area><iframe></iframe><frame><img><source><script></script><svg><a></svg>`},
		{page: `<link rel="icon nofollow" href=1><link rel="STYLESHEET" href=2><link rel=preload href=3><link rel="next icon" href=4><link rel="x icons" href=5>`,
			embeds: "E link/href /dir/1, E link/href /dir/2, E link/href /dir/3, E link/href /dir/4"},
		{page: `<img srcset="1, 2" src=3><source srcset="4"><source src=5><script src=6></script>`,
			embeds: "E img/src /dir/3, E img/srcset /dir/1, E img/srcset /dir/2, E source/srcset /dir/4, E source/src /dir/5, E script/src /dir/6"},
		{page: "<svg><a xlink\x1ahref=1></a></svg>"}, {page: `<svg><a XLINK:HREF=1></a></svg>`, links: "L a/xlink:href /dir/1"},
		{page: `<base href="gopher://b.example/"><a href=1>`, links: "L a/href /dir/1"},
		{page: `<base><base href=/b/><base href=/c/><a href=1>`, links: "L a/href /b/1"},
		{page: `<base href=""><base href=/c/><a href=1>`, links: "L a/href /dir/1"},
		{page: `<a href="gopher://b.example/"><a href=1>`, links: "L a/href /dir/1"},
	} {
		if got := linksOf(t, test.page, Options{}); got != test.links {
			t.Errorf("%s: %q, want %q", test.page, got, test.links)
		}
		want := test.embeds
		if want == "" {
			want = test.links
		}
		if got := linksOf(t, test.page, Options{Embeds: true}); got != want {
			t.Errorf("with embeds, %s: %q, want %q", test.page, got, want)
		}
	}
}

// The canonical URL is that of a link in the head. It is zero if that link is to another version of
// the page, if it is outside of the head, or if two links differ.
func TestCanonical(t *testing.T) {
	for page, want := range map[string]string{
		`<link rel=canonical href=/c>`:                                                         "/c",
		`<link rel=" CANONICAL " href=/c>`:                                                     "/c",
		`<link rel=next href=/n><link rel=canonical href=/c>`:                                  "/c",
		`<link rel=canonical href=/c><link rel=canonical href=/d>`:                             "",
		`<link rel=canonical href=/c><link rel=canonical href=/d><link rel=canonical href=/c>`: "",
		`<link rel=canonical href=/c><link rel=canonical href=http://a.example:80/c#x>`:        "/c",
		`<link rel=canonical href=c><base href=/late/>`:                                        "/late/c",
		`<link rel=canonical href="https://b.example/c">`:                                      "https://b.example/c",
		`<link rel=canonical href=" ">`:                                                        "",
		`<link rel=canonical href="#top">`:                                                     testPage,
		`<link rel="alternate canonical" href=/c>`:                                             "",
		`<link rel=canonical hreflang=de href=/c>`:                                             "",
		`<link rel=canonical lang=de href=/c>`:                                                 "",
		`<link rel=canonical media=print href=/c>`:                                             "",
		`<link rel=canonical type="" href=/c><link rel=canonical href=/d>`:                     "/d",
		`<head></head><link rel=canonical href=/c><body>`:                                      "/c",
		`<body><link rel=canonical href=/c>`:                                                   "",
		`<link rel=canonical href=/c><body><link rel=canonical href=/d>`:                       "/c",
		`<template><body><link rel=canonical href=/c></template><link rel=canonical href=/d>`:  "/d",
		`<iframe srcdoc="<link rel=canonical href=/c>"></iframe>`:                              "",
		`<svg><link rel=canonical href=/c></link></svg>`:                                       "",
		`<link rel="canonical next" href=/c>`:                                                  "",
		`<link rel=canonical>`:                                                                 "",
		`<a rel=canonical href=/c>`:                                                            "",
		`<link rel=canonical href="gopher://a/"><link rel=canonical href=/second>`:             "/second",
	} {
		got := HTML([]byte(page), parse(t, testPage), "text/html", Options{}).Canonical
		if target := got.String(); target != want && target != "http://a.example"+want {
			t.Errorf("%s: %q, want %q", page, target, want)
		}
	}
}

// The Open Graph URL is the first og:url with a valid URL.
func TestOpenGraphURL(t *testing.T) {
	for page, want := range map[string]string{
		`<meta property=og:url content=/o>`:                                                                  "/o",
		`<meta property="OG:URL" content="https://b.example/o#x">`:                                           "https://b.example/o",
		`<meta property=og:url content=www.b.example><meta property=og:url content=/o>`:                      "/o",
		`<meta property=og:url content="http://%%%"><meta property=og:url content=/o>`:                       "/o",
		`<body><meta property=og:url content=/o><meta property=og:url content=/p>`:                           "/o",
		`<iframe srcdoc="<meta property=og:url content=/i>"></iframe><meta property=og:url content=/o>`:      "/o",
		`<meta property=og:title content=/o><meta name=og:url content=/o><meta property=og:image content=/>`: "",
	} {
		got := HTML([]byte(page), parse(t, testPage), "text/html", Options{}).OpenGraph
		if target := got.String(); target != want && target != "http://a.example"+want {
			t.Errorf("%s: %q, want %q", page, target, want)
		}
	}
}

// A page has at most 20,000 references of any kind, and at most 4 MiB of URLs.
func TestTheBoundsOfAPage(t *testing.T) {
	u := parse(t, "http://a.example/")
	for name, ref := range map[string]string{
		"a": "<a href=1>", "img": "<img src=1>", "srcset": "<img srcset='1'>", "refresh": "<meta http-equiv=refresh content='0;/1'>",
	} {
		for _, n := range []int{20_000, 20_001} {
			d := HTML([]byte(strings.Repeat(ref, n)), u, "text/html", Options{Embeds: true})
			if len(d.Links) != 20_000 || d.Cut != (n > 20_000) {
				t.Errorf("%s: of %d %d were taken, cut %v", name, n, len(d.Links), d.Cut)
			}
		}
	}
	if d := HTML([]byte("<img srcset='"+strings.Repeat("1, ", 20_001)+"'>"), u, "text/html", Options{Embeds: true}); len(d.Links) != 20_000 || !d.Cut {
		t.Errorf("of one srcset %d were taken, cut %v", len(d.Links), d.Cut)
	}
	for more := range 2 {
		// There are 1,024 URLs of 4 KiB. In the second case the last URL is one byte longer.
		path := strings.Repeat("x", 4096-len("http://a.example/"))
		page := strings.Repeat("<a href=/"+path+">", 1023) + "<a href=/" + path + strings.Repeat("y", more) + "><a href=/z>"
		d := HTML([]byte(page), u, "text/html", Options{})
		if len(d.Links) != 1024-more || !d.Cut {
			t.Errorf("%d were taken, cut %v", len(d.Links), d.Cut)
		}
		d = HTML([]byte(strings.TrimSuffix(page, "<a href=/z>")), u, "text/html", Options{})
		if len(d.Links) != 1024-more || d.Cut != (more > 0) {
			t.Errorf("%d were taken, cut %v", len(d.Links), d.Cut)
		}
	}
	if d := HTML(nil, u, "text/html", Options{}); d.Links != nil || d.Cut {
		t.Errorf("%+v", d)
	}
}

// The stack has at most 512 open elements. An element beyond them is treated like its parent.
func TestTheBoundOfWhatIsOpen(t *testing.T) {
	for n, want := range map[int]string{510: "", 511: "L a/href /dir/1"} {
		page := "<svg>" + strings.Repeat("<g>", n) + "<desc><style><a href=1></style>"
		if got := linksOf(t, page, Options{}); got != want {
			t.Errorf("%d elements: %q, want %q", n+2, got, want)
		}
	}
	page := "<svg>" + strings.Repeat("<g>", 513) + strings.Repeat("</g>", 513) + "</svg><style><a href=1></style><a href=2>"
	if got := linksOf(t, page, Options{}); got != "L a/href /dir/2" {
		t.Errorf("after its end: %q", got)
	}
	// The end tag of an element that is not in the stack closes no other element.
	page = "<svg>" + strings.Repeat("<g>", 510) + "<desc><desc></desc><style><a href=1></style><a href=2>"
	if got := linksOf(t, page, Options{}); got != "L a/href /dir/2" {
		t.Errorf("after one too many: %q", got)
	}
}

// A document can declare its encoding at these places and in these forms.
func TestFormsOfDeclarations(t *testing.T) {
	httpEquiv := func(content string) string {
		return `<meta http-equiv=Content-Type content="` + content + `">`
	}
	declaration := func(rest string) string { return "<?xml" + rest }
	far := func(n int) string { // returns a declaration whose label ends n bytes after "<?xml"
		const end = ` encoding="windows-1251`
		return strings.Repeat(" ", n-len(end)) + end + `"?>`
	}
	for _, test := range []struct{ body, contentType, want string }{
		{"<meta charset=windows-1251>", "text/html", "windows-1251"},
		{"<meta charset=windows-1251>", "application/xhtml+xml", "windows-1251"},
		{"<meta charset=windows-1251>", "image/svg+xml", "windows-1251"},
		{"<meta charset=windows-1251>", "text/plain", "utf-8"},
		{"<meta charset=windows-1251>", "text/html; charset=koi8-r", "koi8-r"},
		{"<meta charset=windows-1251>", "text/html; charset=no-such", "windows-1251"},
		{"<meta charset=windows-1251>", "text/html; charset", "windows-1251"},
		{"<meta charset=no-such><meta charset=windows-1251>", "", "windows-1251"},
		{"<a charset=windows-1251>", "", "utf-8"},
		{"<meta charset=windows-1251><meta charset=koi8-r>", "", "windows-1251"},
		{"<meta charset=utf-16>\xe9 ", "", "utf-8"}, {"<meta charset=utf-16be>\xe9 ", "", "utf-8"},
		{"<meta charset=x-user-defined>", "", "windows-1252"},
		{"<meta charset='' http-equiv=content-type content='charset=windows-1251'>", "", "utf-8"},
		{httpEquiv("text/html; charset=windows-1251"), "", "windows-1251"},
		{httpEquiv("charset=windows-1251"), "", "windows-1251"},
		{httpEquiv("CHARSET = windows-1251;x"), "", "windows-1251"},
		{httpEquiv("charset=windows-1251 x"), "", "windows-1251"},
		{httpEquiv("charset='windows-1251'x"), "", "windows-1251"},
		{httpEquiv("charset=&quot;windows-1251&quot;x"), "", "windows-1251"},
		{httpEquiv("charset=&quot;windows-1251"), "", "utf-8"},
		{httpEquiv("charset='windows-1251"), "", "utf-8"},
		{httpEquiv("charset charset=windows-1251"), "", "windows-1251"},
		{httpEquiv("charsetcharset=windows-1251"), "", "windows-1251"},
		{httpEquiv("charset"), "", "utf-8"}, {httpEquiv("charset="), "", "utf-8"}, {httpEquiv("charset=;windows-1251"), "", "utf-8"},
		{httpEquiv("charset='"), "", "utf-8"}, {httpEquiv("charset=''"), "", "utf-8"}, {httpEquiv(""), "", "utf-8"},
		{httpEquiv("windows-1251"), "", "utf-8"},
		{"<meta http-equiv=refresh content='charset=windows-1251'>", "", "utf-8"},
		{"<meta content='charset=windows-1251'>", "", "utf-8"},
		{declaration(` version="1.0" encoding="windows-1251"?>`), "text/xml", "windows-1251"},
		{declaration(` encoding='windows-1251'?>`), "", "windows-1251"},
		{declaration(" encoding \t\v\x00= \v'windows-1251'?>"), "", "windows-1251"},
		{declaration(` encoding='windows-1251'?>`), "text/plain", "utf-8"},
		{declaration(` encoding="windows-1251'?>`), "", "utf-8"},
		{declaration(` encoding=windows-1251?>`), "", "utf-8"},
		{declaration(` encoding 'windows-1251'?>`), "", "utf-8"},
		{declaration(` encoding=`), "", "utf-8"}, {declaration(` encoding`), "", "utf-8"}, {declaration(""), "", "utf-8"},
		{declaration(` coding='windows-1251'?>`), "", "utf-8"},
		{declaration(`?><x encoding='windows-1251'>`), "", "utf-8"},
		{" " + declaration(` encoding='windows-1251'?>`), "", "utf-8"},
		{declaration(far(1024)), "", "windows-1251"}, {declaration(far(1025)), "", "utf-8"},
		{declaration(` encoding='windows-1251'?><meta charset=koi8-r>`), "", "koi8-r"},
	} {
		if _, got := Decode([]byte(test.body), test.contentType); got != test.want {
			t.Errorf("%.100q, %q: %s, want %s", test.body, test.contentType, got, test.want)
		}
	}
}

// A text counts as UTF-8 even if its last character is incomplete. A text with a broken character
// at any other place does not.
func TestUTF8ThatIsCutOff(t *testing.T) {
	for _, character := range []string{"é", "€", "😀"} {
		for n := range len(character) {
			for _, before := range []string{"", "a", "ab", "abc", "abcd", "€", "😀"} {
				body := before + character[:n]
				if got, name := Decode([]byte(body), "text/plain"); name != "utf-8" || string(got) != body {
					t.Errorf("%q: %q in %s", body, got, name)
				}
				if n == 0 {
					continue
				}
				for _, after := range []string{" ", "a", "é", "\xff"} {
					if _, name := Decode([]byte(body+after), "text/plain"); name == "utf-8" {
						t.Errorf("%q is taken for UTF-8", body+after)
					}
				}
			}
		}
	}
	for _, body := range []string{"\xbf", "a\xbf", "\xff", "\xf8", "é\xa9", "\x1b$B"} {
		if _, name := Decode([]byte(body), "text/plain"); name == "utf-8" {
			t.Errorf("%q is taken for UTF-8", body)
		}
	}
	if _, name := Decode([]byte("\x1b"), "text/plain"); name != "utf-8" {
		t.Errorf("an escape alone: %s", name)
	}
}

// An encoding is guessed from the first 64 KiB. A few bytes of another alphabet there make the
// guess uncertain. Later bytes have no effect.
func TestGuessesLookAtTheBeginning(t *testing.T) {
	russian := strings.Repeat("\xcf\xf0\xe8\xe2\xe5\xf2, \xea\xe0\xea \xe4\xe5\xeb\xe0? \xdd\xf2\xee \xef\xf0\xee\xf1\xf2\xee\xe9 \xf2\xe5\xea\xf1\xf2. ", 10)
	for before, want := range map[int]string{0: "windows-1251", 64<<10 - len(russian): "windows-1252", 64 << 10: "utf-8"} {
		body := strings.Repeat(" ", before) + russian
		if _, name := Decode([]byte(body), "text/plain"); name != want {
			t.Errorf("after %d blanks: %s, want %s", before, name, want)
		}
	}
}

// The rows list the elements that are open after the end tag of a formatting element. At most three
// elements above a block are kept, and at most eight blocks are handled.
func TestBoundsOfTheAdoptionAgency(t *testing.T) {
	for page, want := range map[string]string{
		"<b><i><u><p></b>":                          "i u p",
		"<b><i><u><s><p></b>":                       "i u s p",
		"<b><i><u><s><em><p></b>":                   "u s em p",
		"<b><i><u><s><em><span><p></b>":             "s em p",
		"<b><p></b>":                                "p",
		"<b>" + strings.Repeat("<div>", 7) + "</b>": strings.TrimSpace(strings.Repeat("div ", 7)),
		"<b>" + strings.Repeat("<div>", 8) + "</b>": strings.TrimSpace(strings.Repeat("div ", 8)) + " b",
		"<b>" + strings.Repeat("<div>", 9) + "</b>": strings.TrimSpace(strings.Repeat("div ", 8)) + " b div",
	} {
		open, _ := ourStack([]byte(page), true)
		var names []string
		for _, e := range open.stack {
			names = append(names, e.name.String())
		}
		if got := strings.Join(names, " "); got != want {
			t.Errorf("%s: open %q, want %q", page, got, want)
		}
	}
}

// The end tag of a template closes the template and all elements inside it, wherever it is.
func TestTemplatesAreClosed(t *testing.T) {
	for page, want := range map[string]int{
		"<template></template>": 0, "<template><p></template>": 0, "<template>": 1, "<div><template><p></template>": 1,
		"<template><template></template>": 1, "</template><p>": 1, "<template><svg><g></template>": 0,
	} {
		if open, _ := ourStack([]byte(page), true); len(open.stack) != want {
			t.Errorf("%s: open %v, want %d elements", page, open.stack, want)
		}
	}
	// If no template is open, the end tag closes nothing.
	for page, want := range map[string]string{
		"<svg></template><style><a href=1>":                                        "L a/href /dir/1",
		"<svg><desc></template><style><a href=1></style><a href=2>":                "L a/href /dir/2",
		"<template></template></template><svg></template><style><a href=1>":        "L a/href /dir/1",
		"<template><svg></template><style><a href=1></style><a href=2>":            "L a/href /dir/2",
		"<template></template><svg></template></svg><style><a href=1></style>":     "",
		"<template><base href=/b/></template></template><base href=/c/><a href=1>": "L a/href /c/1",
	} {
		if got := linksOf(t, page, Options{}); got != want {
			t.Errorf("%s: %q, want %q", page, got, want)
		}
	}
}

// Resolve resolves a reference like those in the document, even after the links of the document
// were read.
func TestResolve(t *testing.T) {
	d := HTML([]byte("<base href=/b/><a href=1>"), parse(t, testPage), "text/html", Options{Charset: "windows-1252"})
	if u, err := d.Resolve("x?é"); err != nil || u.String() != "http://a.example/b/x?%E9" {
		t.Errorf("%v, %v", u, err)
	}
	if _, err := d.Resolve("gopher://a.example/"); err == nil {
		t.Error("no error")
	}
	for charset, want := range map[string]string{"": "%C3%A9", "utf-8": "%C3%A9", "utf-16le": "%C3%A9", "utf-16be": "%C3%A9", "replacement": "%C3%A9", "no-such": "%C3%A9", "koi8-r": "%26%23233%3B"} {
		d := HTML([]byte("<a href='?é'>"), parse(t, testPage), "text/html", Options{Charset: charset})
		if len(d.Links) != 1 || d.Links[0].URL.Target() != "/dir/page?"+want || d.Links[0].Hop != frontier.HopLink {
			t.Errorf("%s: %v, want %s", charset, fmt.Sprint(d.Links), want)
		}
	}
}

// A tag begins with a letter.
func TestWhatTagsBeginWith(t *testing.T) {
	for c := range 128 {
		want := "L a/href /dir/1"
		if strings.IndexByte("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ!?/<", byte(c)) >= 0 {
			want = "" // no link, because it is inside a tag or a comment
		}
		if got := linksOf(t, "<"+string(rune(c))+"x <a href=1>", Options{}); got != want {
			t.Errorf("<%cx: %q, want %q", c, got, want)
		}
	}
}

// decodeValue decodes these short values of attributes, including NUL and line ends.
func TestValuesOfOneOctet(t *testing.T) {
	for raw, want := range map[string]string{"": "", "a": "a", "&": "&", "\r": "\n", "\n": "\n", "\r\n": "\n", "\r\r": "\n\n", "\x00": "\ufffd", "\x01": "\x01"} {
		if got := decodeValue([]byte(raw)); got != want {
			t.Errorf("%q: %q, want %q", raw, got, want)
		}
	}
}

package extract

import (
	"bytes"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/permesso-crawler/permesso/frontier"
)

func refsOf(css string) []string {
	var got []string
	for raw, kind := range styleRefs(css) {
		got = append(got, kind+" "+raw)
	}
	return got
}

func TestReferencesOfAStyleSheetAreThoseOfItsTokens(t *testing.T) {
	for _, tc := range []struct {
		css  string
		want []string
	}{
		{`a{b:url(x.png)}`, []string{"url x.png"}},
		{`a{b:URL( "x y.png" )}`, []string{"url x y.png"}},
		{"a{b:url(\r\n x.png\t)}", []string{"url x.png"}},
		{`a{b:url('x')url("y")}`, []string{"url x", "url y"}},
		{`b:url(x)`, []string{"url x"}}, // the value of a style attribute
		{`a{b:src("x")}`, []string{"url x"}},
		{`a{b:src( /**/ 'x' y(z))}`, []string{"url x"}},
		{`a{b:src(var(--x))}`, nil},
		{`a{b:src(x)}`, nil},
		{`a{b:url("x" y("z"))}`, []string{"url x"}},

		// These references are not closed.
		{`a{b:url(x`, []string{"url x"}},
		{`a{b:url(x `, []string{"url x"}},
		{`a{b:url("x`, []string{"url x"}},
		{`a{b:url(`, nil},
		{"a{b:url(\"x\ny.png\"); c:url(z)}", []string{}}, // the bracket stays open
		{"a{b:url('x\n)} c{d:url(z)}", []string{"url z"}},
		{"a{b:\"x\n;c:url(y)}", []string{"url y"}},
		{`a{b:url("x\`, []string{"url x"}},
		{`a{b:url(x\`, []string{"url x�"}},
		{`a{b:url("x\\`, []string{`url x\`}},

		// These URLs are invalid (section 4.3.6).
		{`a{b:url(x"y);c:url(z)}`, []string{"url z"}},
		{`a{b:url(x'y)}`, nil},
		{`a{b:url(x(y)}`, nil},
		{`a{b:url(x y);c:url(z)}`, []string{"url z"}},
		{"a{b:url(x\x01);c:url(y\x7f);d:url(\x0b)}", nil},
		{"a{b:url(x\\\ny);c:url(z)}", []string{"url z"}},
		{`a{b:url(x y\);c:url(z);d:url(w)}`, []string{"url w"}},
		{`a{b:url(/**/"x")}`, nil},
		{`a{b:url(/**/x)}`, []string{"url /**/x"}},

		// The functions in the first of these rows have other names than url.
		{`a{b:xurl(x) -url(x) url-x(x) url (x) --url(x) #url(x) 1url(x) @url(x) 1e3url(x) +.5url(x) ürl(x) ` + "\x00url(x)}", nil},
		{`a{b:u\72l(x)u\72 l(y)\55\000052\l(z) \75 RL(w)}`, []string{"url x", "url y", "url z", "url w"}},
		{`a{b:1.url(x) +url(y) -/**/url(z) #/**/url(w)}`, []string{"url x", "url y", "url z", "url w"}},
		{`a{b:1px/2px url(x) </**/ url(y) <!- url(z)}`, []string{"url x", "url y", "url z"}},
		{"a{b:" + escapedName("-webkit-image-set") + `("x" 1x)}`, []string{"url x"}},
		{"a{b:" + escapedName("-webkit-image-sets") + `("x" 1x)}`, nil},
		{`@import "x" [a];@import "y"; ([)]; @import "z"`, []string{"import x", "import y"}},
		{`a{@x url(y);b:url(z)}`, []string{"url z"}},
		{`a{b:_url(x) 0url(x) u_rl(x) url0(x) zurl(x) Aurl(x)}`, nil},
		{`@`, nil}, {`-`, nil}, {`--`, nil}, {`#`, nil}, {`\`, nil}, {`@-`, nil}, {`/`, nil}, {`<`, nil}, {`1`, nil}, {`"`, nil}, {`url`, nil}, {`src(`, nil}, {`@import`, nil},
		{`<!--url(x)-->url(y)`, []string{"url x", "url y"}},

		// Comments and strings are skipped.
		{`/* url(x) */ a{b:"url(y)" 'url("z")';c:u/**/rl(w)}`, nil},
		{`/* @import "x"; *//**/@import "y";`, []string{"import y"}},
		{`a{b:url(x)} /* url(y)`, []string{"url x"}},
		{`/*/ url(x) */`, nil},
		{`a{b:"\"url(x)";c:'\'';d:url(y)}`, []string{"url y"}},

		// Escapes are decoded.
		{`a{b:url(a\)b\(\"\ \41 b\000041c\41` + "\r\n" + `d)}`, []string{`url a)b(" AbAcAd`}},
		{`a{b:url("a\` + "\n" + `b\` + "\r\n" + `c\\d\"")}`, []string{`url abc\d"`}},
		{`a{b:url(\0\d800\110000\1F600)}`, []string{"url ����"[:len("url ���")] + "😀"}},
		{"a{b:url(x\x00y)}", []string{"url x�y"}},
		{`a{b:url(\é\日)}`, []string{"url é日"}},

		// References into the same document, and data: URLs, are left out.
		{`a{b:url(data:image/png;base64,AA==) url("DATA:,x") url( 'data:,"') url(#x) url("#x") url() url("") url(" ")}`, nil},
		{`@namespace url(x); @namespace y "z"; @namespace w url("v"); a{b:url(u)}`, []string{"url u"}},
		{`@supports (a:url(x)) and (b:{url(y)}) { c{d:url(z)} }`, []string{"url z"}},
		{`@-moz-document url(x), url-prefix("y") { a{b:url(z)} }`, []string{"url z"}},

		// References of @import.
		{`@import "x";@import url(y);@import url("z") screen;@IMPORT 'w' layer(a);`, []string{"import x", "import y", "import z", "import w"}},
		{`@import/**/url( x )/**/supports(a:url(y))`, []string{"import x"}},
		{`@\69mport "x"; @im\70 ort "y"`, []string{"import x", "import y"}},
		{`@charset "utf-8";@import "x"`, []string{"import x"}},
		{`<!-- @import "x"; -->`, []string{"import x"}},
		{`@layer a, b; @import src("x");`, []string{"import x"}},
		{`@import a "x";@import; "y"`, nil},
		{"@import 'x\n;@import 'y';", []string{"import y"}},
		{`@imports "x";@import-y "z";@-import "w"; @ import "v"`, nil},
		{`@import "" ;@import url();`, nil},
		{`@import "x" a{b:url(y)} @import "z"`, []string{"import x", "url y", "import z"}},
		{`@media a{ b{c:url(d)} } @import "x"`, []string{"url d", "import x"}},
		{`a{} @import "x";`, []string{"import x"}}, // browsers ignore an @import at this place, but it is found
		{`a @import "x"; [@import "y"; ]`, nil},
		{`@font-face{src:url(a.woff2)format("woff2"),url(b.ttf)}`, []string{"url a.woff2", "url b.ttf"}},
		{`a{@media b{c:url(d)}e:url(f)}`, []string{"url d", "url f"}},
		{`a{b:url(c)} @page } @import "x"; {d:url(e)}`, []string{"url c", "url e"}},

		// References in image sets.
		{`a{b:image-set("x" 1x, url(y) 2x, 'z' type("image/avif"), (("v")))}`, []string{"url x", "url y", "url z"}},
		{`a{b:-WebKit-Image-Set("x" 1x);c:"y"}`, []string{"url x"}},
		{`a{b:image-sets("x")}`, nil},
		{`@supports (a:image-set("x" 1x)) {}`, nil},
	} {
		if got := refsOf(tc.css); !slices.Equal(got, tc.want) {
			t.Errorf("%q: %q, want %q", tc.css, got, tc.want)
		}
	}
}

// escapedName returns name with each character written as the longest possible escape.
func escapedName(name string) string {
	var b strings.Builder
	for _, c := range name {
		fmt.Fprintf(&b, "\\%06x\r\n", c)
	}
	return b.String()
}

func TestLinksOfAStyleSheetAreRelativeToItself(t *testing.T) {
	u := parse(t, "http://a.example/css/main.css?v=2")
	d := CSS([]byte(`@import "reset.css";a{b:url(../i.png?q=é);c:url(//b.example/x);d:url(mailto:x@y)}`), u, Options{Charset: "windows-1252"})
	var got []string
	for _, l := range d.Links {
		got = append(got, string(l.Hop)+" "+l.Where+" "+l.URL.String())
	}
	want := []string{"E css/@import http://a.example/css/reset.css", "E css/url http://a.example/i.png?q=%C3%A9", "E css/url http://b.example/x"}
	if !slices.Equal(got, want) || d.Cut {
		t.Errorf("got  %q\nwant %q", got, want)
	}
	if v, err := d.Resolve("x"); err != nil || v.String() != "http://a.example/css/x" {
		t.Errorf("%v, %v", v, err)
	}
}

func TestTheLinksOfAStyleSheetAreBounded(t *testing.T) {
	u := parse(t, "http://a.example/")
	if d := CSS([]byte(strings.Repeat("url(x)", MaxLinks)), u, Options{}); len(d.Links) != MaxLinks || d.Cut {
		t.Errorf("%d links, cut %v", len(d.Links), d.Cut)
	}
	if d := CSS([]byte(strings.Repeat("url(x)", MaxLinks+1)), u, Options{}); len(d.Links) != MaxLinks || !d.Cut {
		t.Errorf("%d links, cut %v", len(d.Links), d.Cut)
	}
	long := "url(" + strings.Repeat("x", 7000) + ")"
	if d := CSS([]byte(strings.Repeat(long, 1000)), u, Options{}); len(d.Links) > maxLinkBytes/7000 || !d.Cut {
		t.Errorf("%d long links, cut %v", len(d.Links), d.Cut)
	}
	for _, hostile := range []string{
		"url(" + strings.Repeat("x", 1<<20) + ")", "url('" + strings.Repeat(`\`, 1<<20), strings.Repeat("(", 1<<20), strings.Repeat("{url(", 1<<18),
		strings.Repeat("/*", 1<<19), strings.Repeat("image-set(", 1<<17), "@" + strings.Repeat(`\41 `, 1<<18), strings.Repeat("@import ", 1<<17),
		strings.Repeat(`\`, 1<<20) + "(", strings.Repeat("}", 1<<20), "url(" + strings.Repeat(`\`, 1<<20),
	} {
		if d := CSS([]byte(hostile), u, Options{}); len(d.Links) > 0 {
			t.Errorf("%q...: %v", hostile[:20], d.Links[0].URL.String()[:20])
		}
	}
}

func TestAReaderOfReferencesMayStop(t *testing.T) {
	n := 0
	for range styleRefs(`@import "x"; a{b:url(y)url(z)}`) {
		if n++; n == 2 {
			break
		}
	}
	if n != 2 {
		t.Error(n)
	}
}

func FuzzCSS(f *testing.F) {
	for _, s := range []string{`a{b:url(x)}`, `@import "x" y;`, `a{b:image-set("x" 1x,url('y')2x)}`, "\\\x00\r\n\"", `<!--@namespace url(x);-->`} {
		f.Add([]byte(s))
	}
	u := parse(f, "http://a.example/dir/page")
	f.Fuzz(func(t *testing.T, body []byte) {
		for _, l := range CSS(body, u, Options{}).Links {
			if l.URL.IsZero() || l.Hop != frontier.HopEmbed || l.Where != "css/url" && l.Where != "css/@import" {
				t.Fatalf("%q: link %+v", body, l)
			}
		}
		// A comment at the start of a style sheet makes no difference.
		if got, want := refsOf("/* url(x) */"+string(body)), refsOf(string(body)); !slices.Equal(got, want) {
			t.Fatalf("%q: %q after a comment, %q without", body, got, want)
		}
	})
}

func BenchmarkCSS(b *testing.B) {
	var sheet bytes.Buffer
	for i := range 500 {
		fmt.Fprintf(&sheet, ".class-%d > a:hover, .other::before { margin: 0 1px 2em; background: #fff url(\"img/%d.png\") no-repeat; color: rgba(0, 0, 0, .5) }\n", i, i)
	}
	u := parse(b, "http://a.example/dir/page")
	b.SetBytes(int64(sheet.Len()))
	b.ReportAllocs()
	for b.Loop() {
		if d := CSS(sheet.Bytes(), u, Options{}); len(d.Links) != 500 {
			b.Fatal(len(d.Links))
		}
	}
}

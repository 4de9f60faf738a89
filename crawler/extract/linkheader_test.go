package extract

import (
	"fmt"
	"net/http"
	"slices"
	"strings"
	"testing"

	"github.com/permesso-crawler/permesso/frontier"
)

func headerLinks(values []string, u frontier.URL) []string {
	var got []string
	for _, l := range LinkHeader(values, u, Options{Embeds: true}) {
		s := string(l.Hop) + " " + l.URL.String()
		if l.NoFollow {
			s += " nofollow"
		}
		got = append(got, s)
	}
	return got
}

func TestLinkHeader(t *testing.T) {
	u := parse(t, "http://a.example/dir/page?q")
	for _, tc := range []struct {
		field string
		want  []string
	}{
		// The examples of RFC 8288, section 3.5, with relations that are followed.
		{`<http://b.example/TheBook/chapter2>; rel="previous"; title="previous chapter"`, []string{"L http://b.example/TheBook/chapter2"}},
		{`</>; rel="http://example.net/foo"`, nil},
		{`</terms>; rel="copyright"; anchor="#foo"`, []string{"L http://a.example/terms"}},
		{`</TheBook/chapter2>; rel="previous"; title*=UTF-8'de'letztes%20Kapitel, </TheBook/chapter4>; rel="next"; title*=UTF-8'de'n%c3%a4chstes%20Kapitel`,
			[]string{"L http://a.example/TheBook/chapter2", "L http://a.example/TheBook/chapter4"}},
		{`<http://b.example/>; rel="start http://b.example/relation/other"`, []string{"L http://b.example/"}},
		{`<https://b.example/>; rel="start", <https://c.example/>; rel="index"`, []string{"L https://b.example/", "L https://c.example/"}},

		{`<x>;rel=next`, []string{"L http://a.example/dir/x"}},
		{`<x>;REL=Next`, []string{"L http://a.example/dir/x"}},
		{` , ,<x> ; rel = next ; , <y>;rel = "next" `, []string{"L http://a.example/dir/x", "L http://a.example/dir/y"}},
		{`<?page=2>; rel="next"`, []string{"L http://a.example/dir/page?page=2"}},
		{`<>; rel=canonical`, []string{"L http://a.example/dir/page?q"}},
		{`< /x >; rel=next`, []string{"L http://a.example/x"}},
		{`</a,b;c>; rel=next, </d>; rel=next`, []string{"L http://a.example/a,b;c", "L http://a.example/d"}},
		{`</x>; title="a, <b>; rel=\"next\"; \\"; rel=next, </y>; rel=prev`, []string{"L http://a.example/x", "L http://a.example/y"}},
		{`</x>; rel="\n\e\xt"`, []string{"L http://a.example/x"}},
		{`</x>; title="a; rel=next`, nil},
		{`</x>; title="a\`, nil},
		{`</x>; rel=next; rel=stylesheet`, []string{"L http://a.example/x"}},
		{`</x>; rel=author; rel=next`, []string{"L http://a.example/x"}},
		{`</x>; rel=stylesheet; rel=next`, []string{"E http://a.example/x"}},
		{`</x>; rel; rel=next`, nil},
		{`</x>; rel*=UTF-8''next`, nil},
		{`</x>; rev=next`, nil},
		{`</x>`, nil},
		{`</x>; rel=""`, nil},
		{`</x>; rel=preload; as=style, </y>; rel=preconnect`, []string{"E http://a.example/x"}},
		{`</x>; rel=icon`, []string{"E http://a.example/x"}},
		{`</x>; rel="next nofollow"`, []string{"L http://a.example/x nofollow"}},
		{`</x> rel=next`, []string{"L http://a.example/x"}},
		{`</x>; rel=next;;; title`, []string{"L http://a.example/x"}},

		{`</x>; rel=next; anchor="/other"`, nil},
		{`</x>; rel=next; anchor=""`, []string{"L http://a.example/x"}},
		{`</x>; rel=next; anchor="?q#top"`, []string{"L http://a.example/x"}},
		{`</x>; rel=next; anchor="mailto:x@y"`, nil},
		{`</x>; rel=next; anchor="#a"; anchor="/other"`, []string{"L http://a.example/x"}},

		{`</x; rel=next`, nil},
		{`/x; rel=next, </y>; rel=next`, []string{"L http://a.example/y"}},
		{`</x; rel=next, </y>; rel=next`, nil},
		{`<mailto:x@y>; rel=author`, nil},
		{``, nil}, {`,`, nil}, {`<`, nil}, {`<>`, nil}, {`;`, nil}, {`"`, nil},
	} {
		if got := headerLinks([]string{tc.field}, u); !slices.Equal(got, tc.want) {
			t.Errorf("%s: %q, want %q", tc.field, got, tc.want)
		}
	}
	got := headerLinks([]string{`</1>; rel=next`, "", `</2>; rel=prev, </3>; rel=next`}, u)
	if want := []string{"L http://a.example/1", "L http://a.example/2", "L http://a.example/3"}; !slices.Equal(got, want) {
		t.Errorf("of several lines: %q", got)
	}
	links := LinkHeader([]string{`</s>; rel=stylesheet, </n>; rel="next"`}, u, Options{})
	if len(links) != 1 || links[0].Where != "header/link" || links[0].Rel != "next" {
		t.Errorf("without embeds: %+v", links)
	}
}

func TestTheLinksOfAHeaderAreBounded(t *testing.T) {
	u := parse(t, "http://a.example/")
	if links := LinkHeader([]string{strings.Repeat("<x>;rel=next,", MaxLinks+1)}, u, Options{}); len(links) != MaxLinks {
		t.Error(len(links))
	}
	for _, hostile := range []string{strings.Repeat("<", 1<<20), strings.Repeat(";", 1<<20), strings.Repeat("<>;", 1<<19), `<x>;rel="` + strings.Repeat(`\`, 1<<20), strings.Repeat("a,", 1<<19), strings.Repeat("<,", 1<<19)} {
		if links := LinkHeader([]string{hostile}, u, Options{Embeds: true}); len(links) > 0 {
			t.Errorf("%q...: %d", hostile[:10], len(links))
		}
	}
}

func FuzzLinkHeader(f *testing.F) {
	for _, s := range []string{`</x>; rel="next"; title="a, b", <y>;rel=prev`, `<x>;anchor="#a";rel=next`, `<;rel="\`, `,;=<>"`} {
		f.Add(s)
	}
	u := parse(f, "http://a.example/dir/page")
	f.Fuzz(func(t *testing.T, field string) {
		got := headerLinks([]string{field}, u)
		for _, l := range LinkHeader([]string{field}, u, Options{Embeds: true}) {
			if l.URL.IsZero() || !linked(l.Rel) && !shown(l.Rel) {
				t.Fatalf("%q: %+v", field, l)
			}
		}
		if again := headerLinks([]string{"<first>; rel=next, " + field}, u); len(again) != len(got)+1 || !slices.Equal(again[1:], got) {
			t.Fatalf("%q: %q, after another %q", field, got, again)
		}
	})
}

// The header and the head can both declare the canonical URL. If they differ, the page has none.
// Links of the header precede those of the document.
func TestTheHeaderNamesTheCanonicalURL(t *testing.T) {
	u := parse(t, testPage)
	for _, test := range []struct{ html, header, want string }{
		{"", "</c>; rel=canonical", "http://a.example/c"},
		{"", `<c>; rel=" Canonical "`, "http://a.example/dir/c"},
		{"<base href=/other/>", "<c>; rel=canonical", "http://a.example/dir/c"},
		{"", "<>; rel=canonical", testPage},
		{"", "</c>; rel=canonical, </c#x>; rel=canonical", "http://a.example/c"},
		{"", "</c>; rel=canonical, </d>; rel=canonical", ""},
		{"<link rel=canonical href=/c>", "</c>; rel=canonical", "http://a.example/c"},
		{"<link rel=canonical href=/c>", "</d>; rel=canonical", ""},
		{"<link rel=canonical href=/c>", "</c>; rel=canonical, </d>; rel=canonical", ""},
		{"<link rel=canonical href=/c><link rel=canonical href=/d>", "</d>; rel=canonical", ""},
		{"<link rel=canonical href=/c>", `</d>; rel="canonical alternate"`, "http://a.example/c"},
		{"<link rel=canonical href=/c>", `</d>; rel=canonical; hreflang=de`, "http://a.example/c"},
		{"<link rel=canonical href=/c>", `</d>; media=print; rel=canonical`, "http://a.example/c"},
		{"<link rel=canonical href=/c>", `</d>; rel=canonical; anchor="/other"`, "http://a.example/c"},
		{"<link rel=canonical href=/c>", `<mailto:me@a.example>; rel=canonical`, "http://a.example/c"},
	} {
		d := HTML([]byte(test.html), u, "text/html", Options{})
		d.AddHeader(http.Header{"Link": {test.header}}, u, Options{})
		if got := d.Canonical.String(); got != test.want {
			t.Errorf("%s with %s: %q, want %q", test.html, test.header, got, test.want)
		}
	}
	d := HTML([]byte("<a href=/1>1</a>"), u, "text/html", Options{})
	d.AddHeader(http.Header{"Link": {"</2>; rel=next", "</3>; rel=next"}}, u, Options{})
	var got []string
	for _, l := range d.Links {
		got = append(got, l.URL.Target())
	}
	if want := []string{"/2", "/3", "/1"}; !slices.Equal(got, want) {
		t.Errorf("links %q, want %q", got, want)
	}
}

// HeaderLicenses returns only licenses in the Link fields of the answer.
func TestHeaderLicenses(t *testing.T) {
	u := parse(t, testPage)
	for _, test := range []struct {
		fields []string
		want   string
	}{
		{[]string{`</l>; rel=license; type="application/rsl+xml"`}, "[http://a.example/l]"},
		{[]string{`<l>; rel="next LICENSE", <https://b.example/x>; rel=license`, "</m>;rel=license"}, "[http://a.example/dir/l https://b.example/x http://a.example/m]"},
		{[]string{`</l>; rel=license; anchor="/other"`, `</l>; rel=licenses`, `<mailto:a@b>; rel=license`, `</l; rel=license`, "<//%%%>; rel=license", "</" + strings.Repeat("x", 2048) + ">; rel=license"}, "[]"},
	} {
		all, _ := HeaderLicenses(test.fields, u)
		if got := fmt.Sprint(all); got != test.want {
			t.Errorf("%q: %s, want %s", test.fields, got, test.want)
		}
	}
	if all, _ := HeaderLicenses([]string{strings.Repeat("</l>; rel=license,", 17)}, u); len(all) != 16 {
		n := len(all)
		t.Errorf("%d of 17", n)
	}
}

// The Refresh field has the link that a meta refresh with the same text has, relative to the URL of
// the answer. It comes after the links of the Link fields, and before those of the document.
func TestTheRefreshFieldIsALink(t *testing.T) {
	u := parse(t, "http://a.example/dir/page")
	for value, want := range map[string]string{
		"0;url=/x": "/x", "0, url=/x": "/x", "0;/x": "/x", "5; URL='x'": "/dir/x", "0 url=/x": "/x", "0;url=x&y=1": "/dir/x&y=1",
		"": "", "5": "", ";url=/x": "", "0;url=": "", "0;url=javascript:void(0)": "", "0;url=mailto:a@b.example": "",
	} {
		d := HTML([]byte("<base href=/base/><a href=1>1</a>"), u, "text/html", Options{})
		d.AddHeader(http.Header{"Link": {"</next>; rel=next"}, "Refresh": {value, "0;url=/second"}}, u, Options{})
		var got []string
		for _, l := range d.Links {
			if strings.HasPrefix(l.Where, "header/") != (l.URL.Target() != "/base/1") || l.Hop != frontier.HopLink {
				t.Errorf("%q: %+v", value, l)
			}
			got = append(got, l.URL.Target())
		}
		all := []string{"/next", want, "/base/1"}
		if want == "" {
			all = []string{"/next", "/base/1"}
		}
		if !slices.Equal(got, all) {
			t.Errorf("%q: %q, want %q", value, got, all)
		}
	}
}

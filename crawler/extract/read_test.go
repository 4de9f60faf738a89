package extract

import (
	"bytes"
	"slices"
	"strings"
	"testing"

	"github.com/permesso-crawler/permesso/frontier"
)

func TestTheKindOfADocumentDecidesWhoReadsIt(t *testing.T) {
	u := parse(t, "http://a.example/dir/page")
	const rss = `<rss><channel><item><link>/1</link><enclosure url="/2"/></item></channel></rss>`
	const set = `<?xml version="1.0"?><urlset><url><loc>http://a.example/1</loc><image:image><image:loc>http://a.example/i.png</image:loc></image:image><xhtml:link rel="alternate" href="/de"/></url></urlset>`
	sitemap := []string{"L urlset/loc http://a.example/1", "L xhtml:link/href http://a.example/de alternate", "E image:loc http://a.example/i.png"}
	feed := []string{"L item/link http://a.example/1", "L item/enclosure http://a.example/2"}
	link := []string{"L a/href http://a.example/1"}
	for _, tc := range []struct {
		name, body, mediaType string
		sitemap               bool
		want                  []string
		ok                    bool
	}{
		{"HTML", "<a href=/1>", "text/html", false, link, true},
		{"XHTML", "<html><a href='/1'/></html>", "application/xhtml+xml", false, link, true},
		{"XHTML by its root", "<!DOCTYPE html [ <!ENTITY x '>'> ]>\n<html xmlns='http://www.w3.org/1999/xhtml'><title/><a href='/1'/></html>", "text/xml", false, link, true},
		{"SVG", "<?xml version='1.0'?><!-- <rss> --><svg xmlns='http://www.w3.org/2000/svg'><a href='/1'/></svg>", "image/svg+xml", false, link, true},
		{"SVG by its root", "<svg><a xlink:href='/1'/></svg>", "application/xml", false, []string{"L a/xlink:href http://a.example/1"}, true},
		{"a style sheet", "a{b:url(/1)}", "text/css", false, []string{"E css/url http://a.example/1"}, true},
		{"RSS", rss, "application/rss+xml", false, feed, true},
		{"RSS by its root", rss, "application/xml", false, feed, true},
		{"RSS that is sent as HTML", "<!-- x -->" + rss, "text/html", false, feed, true},
		{"Atom", "<feed><link href='/1'/></feed>", "application/atom+xml", false, []string{"L feed/link http://a.example/1"}, true},
		{"RDF", "<rdf:RDF><item><link>/1</link></item></rdf:RDF>", "application/rdf+xml", false, feed[:1], true},
		{"HTML that is sent as a feed", "<html><a href='/1'/></html>", "application/rss+xml", false, link, true},
		{"JSON Feed", `{"items":[{"url":"/1"}]}`, "application/feed+json", false, []string{"L item/url http://a.example/1"}, true},
		{"JSON Feed by its version", `{"version":"https://jsonfeed.org/version/1","items":[{"url":"/1"}]}`, "application/json", false, []string{"L item/url http://a.example/1"}, true},
		{"other JSON", `{"items":[{"url":"/1"}]}`, "application/json", false, nil, false},
		{"a sitemap", set, "application/xml", false, sitemap, true},
		{"an index", "<SitemapIndex><sitemap><loc>http://a.example/1</loc></sitemap></SitemapIndex>", "text/xml", false, []string{"M sitemapindex/loc http://a.example/1"}, true},
		{"a sitemap of no type", set, "application/octet-stream", false, nil, false},
		{"a sitemap with Options.Sitemap", set, "application/octet-stream", true, sitemap, true},
		{"one that is compressed", string(zipped(t, []byte(set))), "application/gzip", true, sitemap, true},
		{"without Options.Sitemap", string(zipped(t, []byte(set))), "application/gzip", false, nil, false},
		{"gzip that is broken", "\x1f\x8b\x08", "application/gzip", true, nil, false},
		{"text", "http://a.example/1", "text/plain", false, nil, false},
		{"text with Options.Sitemap", "http://a.example/1\n", "text/plain; charset=utf-8", true, []string{"L text/line http://a.example/1"}, true},
		{"text that is no sitemap", "hello", "text/plain", true, nil, false},
		{"HTML in place of a sitemap", "<a href=/1>", "text/html", true, link, true},
		{"a feed as a sitemap", rss, "application/rss+xml", true, []string{"L rss/link http://a.example/1"}, true},
		{"a sitemap that is cut", `<urlset><url><loc>http://a.example/1</loc></url><url>`, "text/xml", false, sitemap[:1], true},
		{"other XML", "<opml><outline url='/1'/></opml>", "text/xml", false, nil, false},
		{"no XML", "x", "text/xml", false, nil, false},
		{"a declaration alone", "<?xml version='1.0'", "text/xml", false, nil, false},
		{"nothing", "", "text/xml", true, nil, false},
		{"an image", "<svg/>", "image/png", false, nil, false},
	} {
		d, ok := Read([]byte(tc.body), u, tc.mediaType, Options{Embeds: true, Sitemap: tc.sitemap})
		if got := feedLinks(d); ok != tc.ok || !slices.Equal(got, tc.want) || d.Cut {
			t.Errorf("%s: %q, %v, want %q", tc.name, got, ok, tc.want)
		}
	}
	if d, _ := Read([]byte(set), u, "text/xml", Options{}); !slices.Equal(feedLinks(d), sitemap[:2]) {
		t.Errorf("without embeds: %q", feedLinks(d))
	}
	if d, ok := Read([]byte("a{b:url(/1)}"), u, "text/css", Options{}); !ok || len(d.Links) > 0 {
		t.Errorf("a style sheet without embeds: %v, %q", ok, feedLinks(d))
	}
}

func TestTheLinksOfASitemapAreBounded(t *testing.T) {
	u := parse(t, "http://a.example/")
	alternate := "<xhtml:link rel='alternate' href='/2'/><image:image><image:loc>/i</image:loc></image:image>"
	for name, tc := range map[string]struct {
		entry string
		n     int
		links int
		cut   bool
	}{
		"many":        {"<url><loc>/1</loc></url>", maxSitemapURLs + 1, maxSitemapURLs, true},
		"just enough": {"<url><loc>/1</loc></url>", maxSitemapURLs, maxSitemapURLs, false},
		"alternates":  {"<url><loc>/1</loc>" + strings.Repeat(alternate, 499) + "</url>", 51, maxSitemapURLs, true},
		"too much":    {"<url><loc>/" + strings.Repeat("x", 2000) + "</loc></url>", 5000, maxSitemapLinkBytes / 2017, true},
		"too long":    {"<url><loc>/" + strings.Repeat("x", maxSitemapURLLength) + "</loc></url>", 1, 0, true},
	} {
		d, ok := Read([]byte("<urlset>"+strings.Repeat(tc.entry, tc.n)+"</urlset>"), u, "text/xml", Options{Embeds: true})
		if !ok || len(d.Links) != tc.links || d.Cut != tc.cut {
			t.Errorf("%s: %d links, cut %v, %v", name, len(d.Links), d.Cut, ok)
		}
	}
}

func TestEncodingsOfOtherDocuments(t *testing.T) {
	packed := zipped(t, []byte("<urlset/>"))
	for _, tc := range []struct{ body, contentType, want string }{
		{`@charset "windows-1251";` + "\xcf", "text/css", "windows-1251"},
		{`@charset "windows-1251";`, "text/css; charset=koi8-r", "koi8-r"},
		{"\ufeff" + `@charset "windows-1251";`, "text/css", "utf-8"},
		{`@charset "utf-16le";`, "text/css", "utf-8"},
		{"\xcf\xf0\xe8\xe2\xe5\xf2", "text/css", "utf-8"}, // the encoding is not guessed for a style sheet
		{`@charset 'windows-1251';`, "text/css", "utf-8"},
		{`@charset  "windows-1251";`, "text/css", "utf-8"},
		{`@CHARSET "windows-1251";`, "text/css", "utf-8"},
		{`@charset "windows-1251" ;`, "text/css", "utf-8"},
		{`@charset "windows-1251"`, "text/css", "utf-8"},
		{`@charset "windows-1251`, "text/css", "utf-8"},
		{` @charset "windows-1251";`, "text/css", "utf-8"},
		{`@charset "unknown";`, "text/css", "utf-8"},
		{`@charset "` + strings.Repeat(" ", 1000) + `windows-1251";`, "text/css", "windows-1251"},
		{`@charset "` + strings.Repeat(" ", 1001) + `windows-1251";`, "text/css", "utf-8"},
		{`@charset "windows-1251";`, "text/html", "utf-8"},
		{"<rss><![CDATA[<x><meta charset=windows-1251>]]></rss>", "application/rss+xml", "utf-8"},
		{"<?xml version='1.0' encoding='koi8-r'?><rss><![CDATA[<x><meta charset=windows-1251>]]></rss>", "text/xml", "koi8-r"},
		{"<rss>\xcf\xf0\xe8\xe2\xe5\xf2, \xea\xe0\xea \xe4\xe5\xeb\xe0? \xdd\xf2\xee \xef\xf0\xee\xf1\xf2\xee\xe9 \xf2\xe5\xea\xf1\xf2.</rss>", "application/rss+xml", "windows-1251"},
		{string(packed), "text/xml", "utf-8"},
	} {
		if _, got := Decode([]byte(tc.body), tc.contentType); got != tc.want {
			t.Errorf("%.60q, %q: %s, want %s", tc.body, tc.contentType, got, tc.want)
		}
	}
	if got, _ := Decode(packed, "application/gzip"); !bytes.Equal(got, packed) {
		t.Errorf("gzip is %q", got)
	}
}

func FuzzRead(f *testing.F) {
	for _, s := range []string{"<!-- --><?x?><!DOCTYPE [>]><rss>", "<urlset><url><loc>/1</loc>", "<svg><a href=1>", "a{b:url(c)}", "http://a/", `{"version":"https://jsonfeed.org/version/1"}`, "\x1f\x8b\x08"} {
		f.Add([]byte(s), "text/xml")
	}
	u := parse(f, "http://a.example/dir/page")
	f.Fuzz(func(t *testing.T, body []byte, mediaType string) {
		if root := rootName(body); root != strings.ToLower(root) || strings.ContainsAny(root, blanks+":/>") {
			t.Fatalf("%q: root %q", body, root)
		}
		for _, asked := range []bool{false, true} {
			d, ok := Read(body, u, mediaType, Options{Token: "testbot", Sitemap: asked})
			for _, l := range d.Links {
				if !ok || l.URL.IsZero() || l.Where == "" || l.Hop == frontier.HopEmbed && mediaType != "text/css" {
					t.Fatalf("%q: %v, link %+v", body, ok, l)
				}
			}
		}
	})
}

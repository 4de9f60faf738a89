package extract

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/permesso-crawler/permesso/frontier"
)

func feedLinks(d Document) []string {
	var got []string
	for _, l := range d.Links {
		s := string(l.Hop) + " " + l.Where + " " + l.URL.String()
		if l.Rel != "" {
			s += " " + l.Rel
		}
		got = append(got, s)
	}
	return got
}

func TestFeed(t *testing.T) {
	u := parse(t, "http://a.example/dir/feed")
	for _, tc := range []struct {
		name, body, title string
		want              []string
	}{
		{"RSS 2.0", `<?xml version="1.0"?><!DOCTYPE rss><rss version="2.0" xmlns:atom="http://www.w3.org/2005/Atom"><channel><title> A
			feed &amp; more</title><link>http://a.example/</link><atom:link href="http://a.example/feed" rel="self"/><atom:link rel="next" href="?page=2"/>
			<docs>http://b.example/rss</docs><generator>http://b.example/</generator><cloud domain="b.example" path="/"/>
			<image><url>http://a.example/i.png</url><title>Other</title><link>http://a.example/home</link></image>
			<textInput><title>x</title><name>q</name><link>http://a.example/search</link></textInput>
			<item><title>x</title><link>/1</link><description>&lt;a href="/no"></description><author>x@y (http://no/)</author>
			<comments>http://a.example/1#c</comments><slash:comments>5</slash:comments><enclosure url="http://a.example/1.mp3" length="1" type="audio/mpeg"/>
			<guid isPermaLink="false">http://no/</guid><source url="http://b.example/feed">B</source><wfw:commentRss>http://a.example/1/feed</wfw:commentRss></item>
			<item><guid>http://a.example/2</guid><category domain="http://no/">x</category></item><item><guid isPermaLink="TRUE">2</guid><feedburner:origLink>http://a.example/3</feedburner:origLink></item>
			</channel></rss>`, "A feed & more", []string{
			"L feed/link http://a.example/", "L feed/link http://a.example/dir/feed?page=2 next", "E feed/url http://a.example/i.png", "L feed/link http://a.example/home",
			"L item/link http://a.example/1", "L item/comments http://a.example/1", "L item/enclosure http://a.example/1.mp3", "L item/source http://b.example/feed", "L item/commentrss http://a.example/1/feed",
			"L item/guid http://a.example/2", "L item/origlink http://a.example/3"}},
		{"RSS 0.91", `<rss version="0.91"><channel><title>x</title><link>http://a.example/</link><item><link>http://a.example/?a=1&b=2</link></item></channel></rss>`, "x",
			[]string{"L feed/link http://a.example/", "L item/link http://a.example/?a=1&b=2"}},
		{"RSS 1.0", `<rdf:RDF xmlns:rdf="http://www.w3.org/1999/02/22-rdf-syntax-ns#" xmlns="http://purl.org/rss/1.0/"><channel rdf:about="http://a.example/feed"><title>x</title><link>http://a.example/</link>
			<image rdf:resource="http://a.example/i.png"/><items><rdf:Seq><rdf:li resource="http://a.example/1"/></rdf:Seq></items></channel>
			<image rdf:about="http://a.example/i.png"><title>y</title><url>http://a.example/i.png</url></image>
			<item rdf:about="http://a.example/1"><title>z</title><link>http://a.example/1</link></item></rdf:RDF>`, "x",
			[]string{"L feed/link http://a.example/", "E feed/url http://a.example/i.png", "L item/link http://a.example/1"}},
		{"Atom", `<feed xmlns="http://www.w3.org/2005/Atom"><title type="text">dive into mark</title><id>tag:a.example,2003:3</id>
			<link rel="alternate" type="text/html" hreflang="en" href="http://a.example/"/><link rel="self" type="application/atom+xml" href="http://a.example/feed.atom"/><link rel="hub" href="http://b.example/hub"/>
			<generator uri="http://b.example/">x</generator><logo>/logo.png</logo><icon>i.ico</icon>
			<entry><title>x</title><link rel="http://www.iana.org/assignments/relation/alternate" href="http://a.example/1"/><link rel="enclosure" type="audio/mpeg" length="1337" href="http://a.example/1.mp3"/>
			<link rel="edit" href="/edit"/><link rel="replies" href="/1/comments.atom"/><id>http://a.example/id</id><author><name>M</name><uri>http://a.example/m</uri></author><contributor><uri>http://b.example/s</uri></contributor>
			<content type="xhtml" xml:base="http://no/"><div><p><link href="/no"/><title>No</title><entry/></p><content><a href="no"/></content></div></content><link href="1b"/></entry>
			<entry><content type="video/mp4" src="/2.mp4"/><source><id>x</id><link href="/no"/></source><link href="/2"/></entry></feed>`, "dive into mark", []string{
			"L feed/link http://a.example/ alternate", "E feed/logo http://a.example/logo.png", "E feed/icon http://a.example/dir/i.ico",
			"L entry/link http://a.example/1 http://www.iana.org/assignments/relation/alternate", "L entry/link http://a.example/1.mp3 enclosure", "L entry/link http://a.example/1/comments.atom replies",
			"L entry/uri http://a.example/m", "L entry/uri http://b.example/s", "L entry/link http://a.example/dir/1b", "L entry/content http://a.example/2.mp4", "L entry/link http://a.example/2"}},
		{"bases", `<feed xml:base="http://b.example/b/"><link href="1"/><entry xml:base="c/"><link href="2"/><link xml:base="/d/" href="3"/><link href="4"/></entry><entry><link href="5"/></entry></feed>`, "",
			[]string{"L feed/link http://b.example/b/1", "L entry/link http://b.example/b/c/2", "L entry/link http://b.example/d/3", "L entry/link http://b.example/b/c/4", "L entry/link http://b.example/b/5"}},
		{"a base of a text", `<rss><channel><item><link xml:base="/b/">1</link></item></channel></rss>`, "", []string{"L item/link http://a.example/b/1"}},
		{"media", `<rss><channel><itunes:image href="/i.jpg"/><itunes:new-feed-url>http://b.example/feed</itunes:new-feed-url><item><media:group><media:content url="/v.mp4" medium="video"><media:thumbnail url="/t.jpg"/></media:content>
			<media:content url="/i.png" type="image/png"/><media:player url="/p"/></media:group><link>/1</link></item></channel></rss>`, "", []string{
			"E feed/image http://a.example/i.jpg", "L feed/new-feed-url http://b.example/feed", "L item/content http://a.example/v.mp4", "E item/thumbnail http://a.example/t.jpg", "E item/content http://a.example/i.png", "L item/player http://a.example/p", "L item/link http://a.example/1"}},
		{"HTML that is not escaped", `<rss><channel><item><description><p>x<br><link href="/no"><img></description><link>/1</link></item><item><description><p></item><item><link>/2</link></item></channel></rss>`, "",
			[]string{"L item/link http://a.example/1", "L item/link http://a.example/2"}},
		{"CDATA", `<rss><channel><title><![CDATA[<b> & x]]></title><item><link><![CDATA[ http://a.example/?a=1&b=2 ]]></link></item></channel></rss>`, "<b> & x", []string{"L item/link http://a.example/?a=1&b=2"}},
		{"cut", `<rss><channel><item><link>http://a.example/1</link></item><item><link>http://a.example/2`, "", []string{"L item/link http://a.example/1"}},
		{"JSON Feed", `{"version": "https://jsonfeed.org/version/1.1", "title": "My  Feed", "home_page_url": "https://a.example/", "feed_url": "https://a.example/feed.json", "next_url": "?p=2", "icon": "/i.png", "favicon": "/f.png",
			"authors": [{"name": "x", "url": "/x", "avatar": "/x.png"}], "hubs": [{"type": "x", "url": "http://no/"}], "_ext": {"url": "http://no/"},
			"items": [{"id": "https://no/", "url": "https://a.example/1", "external_url": "https://b.example/", "content_html": "<a href=http://no/>", "image": "/1.png", "banner_image": "/b.png", "title": "No", "tags": ["url", "http://no/"],
				"attachments": [{"url": "/1.mp3", "mime_type": "audio/mpeg"}, {"url": 7}, {"url": "/2.mp3"}], "author": {"url": "/y"}}, "url", {"url": null}, {"url": ["/in a list"]}, {"url": "2"}]}`, "My Feed", []string{
			"L feed/home_page_url https://a.example/", "L feed/next_url http://a.example/dir/feed?p=2", "E feed/icon http://a.example/i.png", "E feed/favicon http://a.example/f.png", "L feed/authors/url http://a.example/x", "E feed/authors/avatar http://a.example/x.png",
			"L item/url https://a.example/1", "L item/external_url https://b.example/", "E item/image http://a.example/1.png", "E item/banner_image http://a.example/b.png", "L item/attachments/url http://a.example/1.mp3", "L item/attachments/url http://a.example/2.mp3",
			"L item/author/url http://a.example/y", "L item/url http://a.example/in%20a%20list", "L item/url http://a.example/dir/2"}},
		{"JSON that is cut", ` {"items":[{"url":"/1"},{"url":"/2`, "", []string{"L item/url http://a.example/1"}},
	} {
		d := Feed([]byte(tc.body), u, "", Options{Embeds: true})
		if got := feedLinks(d); !slices.Equal(got, tc.want) || d.Title != tc.title || d.Cut {
			t.Errorf("%s:\n%q, title %q, want\n%q", tc.name, got, d.Title, tc.want)
		}
		without := slices.DeleteFunc(slices.Clone(tc.want), func(s string) bool { return s[0] == 'E' })
		if got := feedLinks(Feed([]byte(tc.body), u, "", Options{})); !slices.Equal(got, without) {
			t.Errorf("%s, without embeds: %q", tc.name, got)
		}
	}
	if d := Feed([]byte(`["url", {"url": "/1"}]`), u, "application/feed+json", Options{}); len(d.Links) > 0 {
		t.Errorf("JSON that is no feed: %v", d.Links)
	}
}

func TestTheLinksOfAFeedAreBounded(t *testing.T) {
	u := parse(t, "http://a.example/feed")
	const many = 1_000_000
	for name, tc := range map[string]struct {
		body  string
		links int
		cut   bool
	}{
		"many":          {"<rss>" + strings.Repeat("<item><link>/1</link></item>", MaxLinks+1), MaxLinks, true},
		"just enough":   {"<rss>" + strings.Repeat("<item><link>/1</link></item>", MaxLinks), MaxLinks, false},
		"long":          {"<feed xml:base='/" + strings.Repeat("x", 7000) + "/'>" + strings.Repeat("<link href='1'/>", 10_000), maxLinkBytes / 7025, true},
		"JSON":          {`{"items":[` + strings.Repeat(`{"url":"/1"},`, MaxLinks+1), MaxLinks, true},
		"nested":        {"<rss>" + strings.Repeat("<item>", many) + "<link>/1</link>", 1, false},
		"bases":         {"<feed xml:base='/" + strings.Repeat("x", 7000) + "/'>" + strings.Repeat("<entry xml:base='a'>", many/10), 0, false},
		"skipped":       {"<rss><item>" + strings.Repeat("<description>", many), 0, false},
		"never skipped": {"<rss>" + strings.Repeat("<description></item>", many/10) + "<link>/1</link>", 1, false},
		"a long link":   {"<rss><link>" + strings.Repeat("x", many) + "</link>", 0, false},
		"nested JSON":   {`{"items":` + strings.Repeat("[", many), 0, false},
		"objects":       {strings.Repeat(`{"items":`, many/10), 0, false},
		"a long value":  {`{"items":[{"url":"` + strings.Repeat("x", many) + `"}]}`, 0, false},
		"declarations":  {"<!DOCTYPE rss [" + strings.Repeat("<!ENTITY x 'http://b.example/'>", many/20) + "]><rss><link>&x;</link>", 1, false},
	} {
		d := Feed([]byte(tc.body), u, "application/rss+xml", Options{})
		if len(d.Links) != tc.links || d.Cut != tc.cut {
			t.Errorf("%s: %d links, cut %v", name, len(d.Links), d.Cut)
		}
	}
}

func FuzzFeed(f *testing.F) {
	for _, s := range []string{
		"<rss><channel><title>x</title><item><link>/1</link><guid isPermaLink='false'>x</guid><enclosure url='2'/></item></channel></rss>",
		"<feed xml:base='/x/'><entry><link rel='next' href='1'/><content type='xhtml'><div/></content></entry></feed>",
		"<rdf:RDF><image><url>/1</url></image></rdf:RDF>", `{"items":[{"url":"/1","attachments":[{"url":"x"}]}]}`, "<rss><link><![CDATA[x]]>&amp;<!-- -->",
	} {
		f.Add([]byte(s))
	}
	u := parse(f, "http://a.example/dir/page")
	f.Fuzz(func(t *testing.T, body []byte) {
		d := Feed(body, u, "application/rss+xml", Options{Embeds: true})
		plain := 0
		for _, l := range d.Links {
			if l.URL.IsZero() || l.Hop != frontier.HopLink && l.Hop != frontier.HopEmbed {
				t.Fatalf("%q: link %+v", body, l)
			}
			if l.Hop == frontier.HopLink {
				plain++
			}
		}
		if n := len(Feed(body, u, "application/rss+xml", Options{}).Links); n != plain {
			t.Fatalf("%q: %d links, without embeds %d", body, plain, n)
		}
	})
}

func BenchmarkFeed(b *testing.B) {
	var body strings.Builder
	body.WriteString("<rss><channel><title>x</title>")
	for i := range 50 {
		fmt.Fprintf(&body, "<item><title>Item %d</title><link>http://a.example/%d</link><description><![CDATA[%s]]></description><pubDate>Sat, 07 Sep 2002 00:00:01 GMT</pubDate></item>\n", i, i, strings.Repeat("<p>Some words of text.</p>", 40))
	}
	body.WriteString("</channel></rss>")
	u := parse(b, "http://a.example/feed")
	b.SetBytes(int64(body.Len()))
	b.ReportAllocs()
	for b.Loop() {
		if d := Feed([]byte(body.String()), u, "application/rss+xml", Options{}); len(d.Links) != 50 {
			b.Fatal(len(d.Links))
		}
	}
}

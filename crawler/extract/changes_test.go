package extract

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"
)

// changesIn returns the changes that a document lists, and the time between two changes of the
// document itself, as texts.
func changesIn(d Document) (said []string) {
	for _, c := range d.Changes {
		said = append(said, c.URL.Target()+" "+c.Time.UTC().Format("20060102T150405"))
	}
	if d.Every != 0 {
		said = append(said, fmt.Sprint("every ", d.Every))
	}
	return said
}

func TestWhatIsListedSaysWhenItWasChanged(t *testing.T) {
	u := parse(t, "http://a.example/list")
	for _, tc := range []struct {
		name, mediaType, body string
		want                  []string
	}{
		{"a sitemap", "application/xml", `<urlset><url><loc>http://a.example/1</loc><lastmod>2026-11-22T10:00:00+02:00</lastmod><xhtml:link rel="alternate" href="/2"/></url>
			<url><loc>http://a.example/3</loc></url><url><loc>http://a.example/4</loc><lastmod>soon</lastmod></url><url><loc>http://a.example/5</loc><lastmod>2026-11-22</lastmod></url></urlset>`,
			[]string{"/1 20261122T080000", "/5 20261122T000000"}},
		{"an index", "text/xml", `<sitemapindex><sitemap><loc>http://a.example/1.xml</loc><lastmod>2026-11-22T10:00:00Z</lastmod></sitemap></sitemapindex>`, []string{"/1.xml 20261122T100000"}},
		{"RSS", "application/rss+xml", `<rss><channel><pubDate>Sun, 22 Nov 2026 10:00:00 GMT</pubDate><link>/</link><ttl>90</ttl>
			<item><pubDate>Sun, 22 Nov 2026 11:00:00 +0100</pubDate><link>/1</link><guid>http://a.example/id</guid><comments>/c</comments><enclosure url="/1.mp3"/></item>
			<item><link>/2</link></item><item><link>/3</link><pubDate>never</pubDate></item>
			<item><link>/4</link><atom:updated>2026-11-22T12:00:00Z</atom:updated><pubDate>Sun, 22 Nov 2026 11:00:00 GMT</pubDate><author><url>/me</url></author></item>
			<item><link>/5</link><pubDate>Sun, 22 Nov 2026 11:00:00 GMT</pubDate><modified>2026-11-22T13:00:00Z</modified><source url="/s"><pubDate>x</pubDate></source></item></channel></rss>`,
			[]string{"/1 20261122T100000", "/id 20261122T100000", "/4 20261122T120000", "/5 20261122T130000", "every 1h30m0s"}},
		{"RSS 1.0", "application/rdf+xml", `<rdf:RDF><channel><link>/</link><dc:date>2026-11-22</dc:date><sy:updatePeriod>daily</sy:updatePeriod><sy:updateFrequency> 4 </sy:updateFrequency></channel>
			<item><link>/1</link><dc:date>2026-11-22T10:00Z</dc:date></item></rdf:RDF>`, []string{"/1 20261122T100000", "every 6h0m0s"}},
		{"Atom", "application/atom+xml", `<feed><updated>2026-11-22T10:00:00Z</updated><link href="/"/>
			<entry><published>2026-01-01T00:00:00Z</published><updated>2026-11-22T10:00:00Z</updated><link href="/1"/><link rel="replies" href="/r"/><link rel="alternate" href="/1b"/></entry>
			<entry><source><updated>2026-11-22T10:00:00Z</updated></source><link href="/2"/></entry>
			<entry><link href="/3"/><updated>2026-11-22T11:00:00Z</updated><entry><link href="/4"/></feed>`, []string{"/1 20261122T100000", "/1b 20261122T100000", "/3 20261122T110000"}},
		{"JSON Feed", "application/feed+json", `{"version": "https://jsonfeed.org/version/1.1", "date_modified": "2026-11-22T09:00:00Z", "items": [
			{"date_modified": "2026-11-22T10:00:00Z", "url": "/1", "external_url": "/x", "attachments": [{"url": "/a", "date_modified": "2026-11-22T11:00:00Z"}]},
			{"url": "/2", "date_published": "2026-11-22T10:00:00Z"}, {"url": "/3", "date_modified": 7}, {"url": "/4", "date_modified": "2026-11-22T12:00:00Z"}], "url": "/5"}`,
			[]string{"/1 20261122T100000", "/4 20261122T120000"}},
		{"an invalid ttl", "application/rss+xml", `<rss><channel><ttl>99999999999</ttl><item><link>/1</link><ttl>5</ttl></item></channel></rss>`, nil},
		{"an invalid period", "application/rss+xml", `<rss><channel><sy:updatePeriod>often</sy:updatePeriod><sy:updateFrequency>0</sy:updateFrequency></channel></rss>`, nil},
		{"an hour", "application/rss+xml", `<rss><channel><sy:updatePeriod>hourly</sy:updatePeriod><sy:updateFrequency>0</sy:updateFrequency></channel></rss>`, []string{"every 1h0m0s"}},
		{"a page", "text/html", `<a href="/1"><time>2026-11-22</time></a>`, nil},
	} {
		d, ok := Read([]byte(tc.body), u, tc.mediaType, Options{Changes: true})
		if got := changesIn(d); !ok || !slices.Equal(got, tc.want) {
			t.Errorf("%s:\n%q, %v, want\n%q", tc.name, got, ok, tc.want)
		}
		if feed := !strings.Contains(tc.mediaType, "html") && !strings.Contains(tc.body, "sitemap") && !strings.Contains(tc.body, "urlset"); d.Feed != feed {
			t.Errorf("%s is a feed: %v", tc.name, d.Feed)
		}
		plain, _ := Read([]byte(tc.body), u, tc.mediaType, Options{})
		if len(plain.Changes) != 0 || !slices.Equal(plain.Links, d.Links) {
			t.Errorf("%s, without Options.Changes: %v", tc.name, plain.Changes)
		}
	}
}

// A date without a time means midnight in its time zone.
func TestADayIsMidnight(t *testing.T) {
	for raw, want := range map[string]bool{"2026-11-22": true, "2026-11-22T00:00:00+09:00": true, "2026-11-22T00:00:01Z": false} {
		d, _ := Read([]byte("<urlset><url><loc>http://a.example/</loc><lastmod>"+raw+"</lastmod></url></urlset>"), parse(t, "http://a.example/"), "text/xml", Options{Changes: true})
		if h, m, s := d.Changes[0].Time.Clock(); (h+m+s == 0) != want {
			t.Errorf("%s is %s", raw, d.Changes[0].Time.Format(time.RFC3339))
		}
	}
}

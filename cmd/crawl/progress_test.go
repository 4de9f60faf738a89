package main

import (
	"bytes"
	"encoding/json"
	"strings"
	"testing"

	"github.com/permesso-crawler/permesso/crawler"
)

// Both summaries have what is odd about a crawl.
func TestSummariesTellWhatIsOdd(t *testing.T) {
	var out bytes.Buffer
	p := &program{out: &out}
	s := crawler.Summary{End: crawler.EndDone, Repeats: []crawler.Repeat{{Under: "http://a.test/cycle/", Pages: 498}},
		Traps: []crawler.Trap{{Site: "http://a.test", Pattern: "the path repeats /a", URLs: 7}}}
	s.Cut = 1
	s.Sitemaps = crawler.SitemapCounts{Named: 7, Read: 6, Failed: 1, URLs: 3, Empty: 5, FirstEmpty: []crawler.EmptySitemap{
		{URL: "http://a.test/empty.xml", Reason: crawler.EmptyList}, {URL: "http://a.test/page.xml", Reason: crawler.EmptyOther},
	}}
	if err := p.summary(s, "a.crawl", "", false); err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{
		"trap         7 links of http://a.test: the path repeats /a\n",
		"one body     498 pages under http://a.test/cycle/: a space without an end?\n", "links        of 1 page the first 20000 were taken\n",
		"sitemaps     7 named, 6 read, 1 failed; 3 URLs listed\nsitemap      http://a.test/empty.xml lists no URL\n" +
			"sitemap      http://a.test/page.xml is no sitemap\nsitemap      answers that list nothing: 3 more\n",
	} {
		if !strings.Contains(out.String(), want) {
			t.Errorf("the summary does not say %q:\n%s", want, out.String())
		}
	}
	out.Reset()
	if err := p.summary(s, "a.crawl", "", true); err != nil {
		t.Fatal(err)
	}
	var said struct {
		Cut int `json:"pages_with_links_cut"`
		One []struct {
			Under string
			Pages int
		} `json:"one_body"`
		Traps []struct {
			Site, Pattern string
			Links         int
		}
	}
	if err := json.Unmarshal(out.Bytes(), &said); err != nil || said.Cut != 1 || len(said.One) != 1 || said.One[0].Pages != 498 ||
		len(said.Traps) != 1 || said.Traps[0].Links != 7 || said.Traps[0].Site != "http://a.test" || said.Traps[0].Pattern != "the path repeats /a" {
		t.Errorf("%v: %s", err, out.Bytes())
	}
	if want := `"sitemaps":{"named":7,"read":6,"failed":1,"urls":3,"empty":5,"first_empty":[{"url":"http://a.test/empty.xml","reason":"lists no URL"},` +
		`{"url":"http://a.test/page.xml","reason":"is no sitemap"}]}`; !strings.Contains(out.String(), want) {
		t.Errorf("want %s in %s", want, out.String())
	}
}

// A summary has a row of sitemaps only if some were named or read.
func TestSummaryWithoutSitemaps(t *testing.T) {
	for row, n := range map[string]crawler.SitemapCounts{
		"": {}, "1 named, 0 read, 0 failed; 0 URLs listed": {Named: 1}, "0 named, 1 read, 0 failed; 1 URL listed": {Read: 1, URLs: 1},
	} {
		for _, asJSON := range []bool{false, true} {
			var out bytes.Buffer
			s := crawler.Summary{End: crawler.EndDone}
			s.Sitemaps = n
			if err := (&program{out: &out}).summary(s, "a.crawl", "", asJSON); err != nil {
				t.Fatal(err)
			}
			if said := strings.Contains(out.String(), "sitemap"); said != (row != "") || !asJSON && !strings.Contains(out.String(), row) {
				t.Errorf("%+v:\n%s", n, out.String())
			}
		}
	}
}

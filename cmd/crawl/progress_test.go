package main

import (
	"bytes"
	"encoding/json"
	"strings"
	"testing"

	"github.com/permesso-crawler/permesso/crawler"
)

// What is odd about a crawl stands in both summaries.
func TestSummariesTellWhatIsOdd(t *testing.T) {
	var out bytes.Buffer
	p := &program{out: &out}
	s := crawler.Summary{End: crawler.EndDone, Repeats: []crawler.Repeat{{Under: "http://a.test/cycle/", Pages: 498}},
		Traps: []crawler.Trap{{Site: "http://a.test", Pattern: "the path repeats /a", URLs: 7}}}
	s.Cut = 1
	if err := p.summary(s, "a.crawl", "", false); err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{
		"trap         7 links of http://a.test: the path repeats /a\n",
		"one body     498 pages under http://a.test/cycle/: a space without an end?\n", "links        of 1 page the first 20000 were taken\n",
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
}

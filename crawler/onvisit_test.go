package crawler_test

import (
	"fmt"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"github.com/permesso-crawler/permesso/crawler"
	"github.com/permesso-crawler/permesso/crawler/crawltest"
)

// OnVisit is called after each visit, with the requests of the visit, their times, and the result
// for the entry.
func TestVisitsAreReported(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := crawltest.New(t)
		w.Site("http://a.example").Latency(2*time.Second).Robots("User-agent: *\nDisallow: /no").Page("/", `<a href="/no">no</a>`)
		var told []string
		_, sum := crawl(t, w, func(o *crawler.Options) {
			o.OnVisit = func(v crawler.Visited) { // not called concurrently, because there is only one site
				line := fmt.Sprintf("%s %s", v.Entry.URL, v.Fate.Code)
				for _, r := range v.Requests {
					line += fmt.Sprintf(", %s %d in %s and %s, robots %v, %d bytes, %v", r.URL, r.Status, r.TTFB, r.Took, r.Robots, r.Bytes, r.Err)
					if r.Started.IsZero() {
						t.Error("a request never began")
					}
				}
				told = append(told, line)
			}
		}, "http://a.example/")
		slices.Sort(told)
		want := []string{
			"http://a.example/ fetched, http://a.example/ 200 in 2s and 2s, robots false, 20 bytes, <nil>",
			"http://a.example/ undecided, http://a.example/robots.txt 200 in 2s and 2s, robots true, 27 bytes, <nil>",
			"http://a.example/no refused",
		}
		if !slices.Equal(told, want) {
			t.Errorf("told\n%q, want\n%q", told, want)
		}
		if sum.Requests != 2 {
			t.Errorf("%+v", sum.Counts)
		}
	})
}

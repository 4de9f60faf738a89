package crawler_test

import (
	"fmt"
	"net/http"
	"strconv"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/permesso-crawler/permesso/crawler"
	"github.com/permesso-crawler/permesso/crawler/crawltest"
)

// With the default Concurrency good sites are crawled at their usual pace, even if many more sites
// never answer.
func TestGoodSitesGoOnBesideManyThatHang(t *testing.T) {
	const hostile, good, atMost = 400, 25, 3 * time.Minute
	synctest.Test(t, func(t *testing.T) {
		w := crawltest.New(t)
		hang := func(_ http.ResponseWriter, r *http.Request) { <-r.Context().Done() }
		var seeds []string
		for i := range hostile {
			origin := fmt.Sprintf("http://hostile%d.example", i)
			s := w.Site(origin).Latency(time.Duration(i%3) * 100 * time.Millisecond).Default(hang)
			if i%4 == 0 {
				s.Func("/robots.txt", hang)
			}
			seeds = append(seeds, origin+"/")
			if i%(hostile/good) == 0 {
				origin := fmt.Sprintf("http://good%d.example", i)
				w.Site(origin).Latency(100 * time.Millisecond).Default(func(rw http.ResponseWriter, r *http.Request) {
					rw.Header().Set("Content-Type", "text/html")
					n, _ := strconv.Atoi(r.URL.Path[1:])
					fmt.Fprintf(rw, `%d <a href="/%d">next</a>`, n, n+1)
				})
				seeds = append(seeds, origin+"/")
			}
		}
		_, sum := crawl(t, w, func(o *crawler.Options) {
			o.IPDelay, o.MaxTime, o.FollowTraps = -1, atMost, true
		}, seeds...)
		pages, possible := map[string]int{}, 0.0
		end := w.Log()[0].Start.Add(atMost)
		for _, r := range w.Log() {
			if host := string(r.Site); strings.HasPrefix(host, "http://good") && r.Target != "/robots.txt" {
				if pages[host]++; pages[host] == 1 {
					possible += float64(end.Sub(r.Start)) / float64(time.Second+100*time.Millisecond)
				}
			}
		}
		all := 0
		for _, n := range pages {
			all += n
		}
		if part := float64(all) / possible; len(pages) < good*3/4 || part < 0.8 {
			t.Errorf("%d good pages of %d sites, %.2f of what is possible since these are known; ended %q", all, len(pages), part, sum.End)
		}
	})
}

package crawler_test

import (
	"fmt"
	"net/http"
	"testing"
	"testing/synctest"
	"time"

	"github.com/permesso-crawler/permesso/crawler"
	"github.com/permesso-crawler/permesso/crawler/crawltest"
	"github.com/permesso-crawler/permesso/frontier"
)

// badPages are ways in which one URL can fail at each request.
var badPages = map[string]func(*crawltest.Site, string){
	"429":   func(s *crawltest.Site, path string) { s.Status(path, 429) },
	"500":   func(s *crawltest.Site, path string) { s.Status(path, 500) },
	"503":   func(s *crawltest.Site, path string) { s.Status(path, 503) },
	"reset": func(s *crawltest.Site, path string) { s.Reset(path) },
	"hangs": func(s *crawltest.Site, path string) {
		s.Func(path, func(w http.ResponseWriter, r *http.Request) { <-r.Context().Done() })
	},
	"429 for an hour": func(s *crawltest.Site, path string) {
		s.Func(path, func(w http.ResponseWriter, r *http.Request) {
			w.Header().Set("Retry-After", "3600")
			w.WriteHeader(http.StatusTooManyRequests)
		})
	},
}

// After any answer of one URL of a site, the other URLs are fetched, and the URL gets a final result.
//
// For site owners: "After such a wait the crawler tries another page first."
func TestOneURLDoesNotKeepItsSiteFromBeingCrawled(t *testing.T) {
	for name, bad := range badPages {
		t.Run(name, func(t *testing.T) {
			dir := t.TempDir()
			synctest.Test(t, func(t *testing.T) {
				w := crawltest.New(t)
				s := w.Site("http://a.example")
				var seeds []string
				for i := range 100 {
					s.Page(fmt.Sprintf("/%d", i), "")
					seeds = append(seeds, fmt.Sprintf("http://a.example/%d", i))
				}
				bad(s, "/2")
				fetched, failed := 0, 0
				var last crawler.Summary
				for range 5 {
					_, last = crawl(t, w, func(o *crawler.Options) { o.Dir, o.Output = dir, []crawler.Output{} }, seeds...)
					fetched, failed = fetched+last.Pages, failed+last.SkippedURLs[frontier.Failed]
					time.Sleep(time.Hour)
				}
				if fetched != 99 {
					t.Errorf("%d pages were fetched, want 99", fetched)
				}
				if waits := len(last.Waiting) == 1 && last.Waiting[0].Queued == 1; waits == (failed == 1) {
					t.Errorf("failed %d times, and waits: %+v", failed, last.Waiting)
				}
				w.AssertPolite()
			})
		})
	}
}

// A site that answers every request with 503 gets requests at longer and longer intervals. This
// holds for all its pages together, and across runs.
func TestASiteThatAlwaysAsksForRestIsAskedSlower(t *testing.T) {
	dir := t.TempDir()
	synctest.Test(t, func(t *testing.T) {
		w := crawltest.New(t)
		s := w.Site("http://a.example").Robots("")
		var seeds []string
		for i := range 12 {
			s.Status(fmt.Sprintf("/%d", i), 503)
			seeds = append(seeds, fmt.Sprintf("http://a.example/%d", i))
		}
		for range 4 {
			crawl(t, w, func(o *crawler.Options) { o.Dir, o.Patience, o.Output = dir, 5*time.Minute, []crawler.Output{} }, seeds...)
			time.Sleep(10 * time.Minute)
		}
		log := w.Log()[1:]
		asked := map[string]bool{}
		for i, r := range log {
			asked[r.Target] = true
			want := min(5*time.Second<<max(0, i-1), time.Hour)
			if i > 0 && r.Start.Sub(log[i-1].End) < want {
				t.Errorf("request %d came %v after the one before, want %v", i, r.Start.Sub(log[i-1].End), want)
			}
		}
		if len(log) < 8 || len(asked) != len(log) {
			t.Errorf("%d requests for %d pages", len(log), len(asked))
		}
	})
}

// If a site is given up, its pages do not count as failed: a later run requests them with the full
// number of tries.
func TestAnOutageUsesUpNoTries(t *testing.T) {
	dir := t.TempDir()
	synctest.Test(t, func(t *testing.T) {
		w := crawltest.New(t)
		s := w.Site("http://a.example").Page("/", `<a href=/x>x</a>`).Page("/x", "")
		set := func(o *crawler.Options) { o.Dir, o.Patience, o.Limit = dir, 2*time.Hour, 1 }
		crawl(t, w, set, "http://a.example/")
		s.Down(true)
		set = func(o *crawler.Options) { o.Dir, o.Patience = dir, 6*time.Hour }
		for range 3 {
			_, sum := crawl(t, w, set, "http://a.example/")
			if len(sum.Waiting) != 1 || sum.Waiting[0].Given.Code != frontier.SiteDead && sum.Waiting[0].Given.Code != frontier.RobotsUnreachable {
				t.Fatalf("waiting: %+v", sum.Waiting)
			}
			time.Sleep(2 * time.Hour)
		}
		s.Down(false)
		if pages, sum := crawl(t, w, set, "http://a.example/"); len(pages) != 1 {
			t.Errorf("%d pages; skips %v, waiting %+v", len(pages), sum.SkippedLinks, sum.Waiting)
		}
	})
}

// A site whose pages all fail gets requests at longer intervals, even if it does not ask for a
// rest.
//
// For site owners: "Other failures in a row slow the crawler down to one request a minute."
func TestFailuresInARowSlowASiteDown(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := crawltest.New(t)
		s := w.Site("http://a.example")
		var seeds []string
		for i := range 9 {
			seeds = append(seeds, fmt.Sprintf("http://a.example/%d", i))
			if i == 7 {
				s.Page("/7", "")
			} else {
				s.Status(fmt.Sprintf("/%d", i), 500)
			}
		}
		crawl(t, w, nil, seeds...)
		log := w.Log()[1:]
		for i, want := range []time.Duration{0, 1, 5, 10, 20, 40, 60, 60, 1, 1} {
			want *= time.Second
			if i == 0 {
				continue
			}
			if gap := log[i].Start.Sub(log[i-1].End); gap < want || gap > want+want/4 {
				t.Errorf("%s came %v after %s, want %v", log[i].Target, gap, log[i-1].Target, want)
			}
		}
	})
}

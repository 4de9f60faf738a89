package crawler_test

import (
	"context"
	"fmt"
	"math/rand/v2"
	"regexp"
	"testing"
	"testing/synctest"
	"time"

	"github.com/permesso-crawler/permesso/crawler"
	"github.com/permesso-crawler/permesso/crawler/crawltest"
	"github.com/permesso-crawler/permesso/storage"
)

// Whatever narrows a crawl, widens it, or breaks it off, and in whatever order:
// the last run, over the whole scope, leaves nothing out.
func TestNarrowAndWideRunsAtRandom(t *testing.T) {
	for seed := range uint64(2) {
		dir := t.TempDir()
		synctest.Test(t, func(t *testing.T) {
			r := rand.New(rand.NewPCG(seed, 1))
			w := crawltest.New(t)
			const n = 60
			for h := range 3 {
				for i := range n {
					w.Site(fmt.Sprintf("http://h%d.example", h)).Page(fmt.Sprintf("/%d", i), fmt.Sprintf(`<a href="/%d">a</a><a href="/%d">b</a><a href="http://h%d.example/%d">c</a>`, (i*2)%n, (i*2+1)%n, (h+1)%3, i))
				}
			}
			for run := 0; ; run++ {
				last := run == 12
				o := crawler.Options{Identity: testIdentity, Seeds: []string{"http://h0.example/1"}, Network: w, Dir: dir, Scope: crawler.Anywhere(), Delay: 200 * time.Millisecond}
				ctx, cancel := context.WithCancel(t.Context())
				if !last {
					switch r.IntN(4) {
					case 0:
						o.Exclude = regexp.MustCompile(fmt.Sprintf("h%d|%d$", r.IntN(3), r.IntN(10)))
					case 1:
						o.Depth = 1 + r.IntN(4)
					case 2:
						o.Scope = crawler.SameHost()
					}
					time.AfterFunc(time.Duration(r.IntN(8000))*time.Millisecond, cancel)
					o.Rescan = r.IntN(3) == 0
				} else {
					o.Rescan = true
				}
				c, err := crawler.New(o)
				if err != nil {
					t.Fatal(err)
				}
				err = c.Run(ctx, nil)
				cancel()
				if last {
					sum := c.Summary()
					if err != nil || sum.End != crawler.EndDone || sum.Frontier.Spent.Pages != 3*n {
						t.Errorf("seed %d: %v %s; %d pages", seed, err, sum, sum.Frontier.Spent.Pages)
					}
					break
				}
			}
			w.AssertPolite()
			if _, err := storage.Verify(dir, func(err error) { t.Error(seed, err) }); err != nil {
				t.Error(err)
			}
		})
	}
}

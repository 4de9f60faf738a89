package crawler_test

import (
	"context"
	"fmt"
	"testing"
	"testing/synctest"
	"time"

	"github.com/permesso-crawler/permesso/crawler"
	"github.com/permesso-crawler/permesso/crawler/crawltest"
	"github.com/permesso-crawler/permesso/frontier"
)

// If Stop is called before Run, the run sends no request, and keeps its seeds.
func TestStopBeforeARun(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := crawltest.New(t)
		w.Site("http://a.example").Page("/", "x")
		c, err := crawler.New(crawler.Options{Identity: testIdentity, Seeds: []string{"http://a.example/"}, Wire: crawler.Wire{Network: w}})
		if err != nil {
			t.Fatal(err)
		}
		c.Stop()
		err = c.Run(t.Context(), nil)
		sum := c.Summary()
		if err != nil || sum.End != crawler.EndStopped || sum.Left[frontier.Queued] != 1 || len(w.Log()) != 0 {
			t.Errorf("Run: %v; ended %q, left %v; asked %v", err, sum.End, sum.Left, w.Log())
		}
	})
}

// A rescan ends early when the crawl is stopped, when its time is up, and when the context ends.
func TestRescansAreStopped(t *testing.T) {
	dir := t.TempDir()
	synctest.Test(t, func(t *testing.T) {
		w := crawltest.New(t)
		var seeds []string
		for i := range 5 {
			w.Site("http://a.example").Page(fmt.Sprintf("/%d", i), fmt.Sprintf(`%d <a href="http://b.example/%d">b</a>`, i, i))
			seeds = append(seeds, fmt.Sprintf("http://a.example/%d", i))
		}
		crawl(t, w, func(o *crawler.Options) { o.Dir = dir }, seeds...)
		asked := len(w.Log())
		for name, test := range map[string]struct {
			stop func(*crawler.Crawler, context.CancelFunc)
			end  crawler.End
		}{
			"Stop":    {func(c *crawler.Crawler, _ context.CancelFunc) { c.Stop() }, crawler.EndStopped},
			"MaxTime": {func(*crawler.Crawler, context.CancelFunc) { time.Sleep(time.Minute) }, crawler.EndTime},
			"context": {func(_ *crawler.Crawler, cancel context.CancelFunc) { cancel() }, crawler.EndBroken},
		} {
			ctx, cancel := context.WithCancel(t.Context())
			var c *crawler.Crawler
			scope := func(frontier.Entry) bool { test.stop(c, cancel); return true }
			c, err := crawler.New(crawler.Options{Identity: testIdentity, Seeds: seeds, Wire: crawler.Wire{Network: w}, Dir: dir,
				Keep: crawler.Keep{Rescan: true}, Budget: crawler.Budget{MaxTime: time.Second}, Scope: crawler.ScopeFunc(scope)})
			if err != nil {
				t.Fatal(err)
			}
			err = c.Run(ctx, nil)
			if sum := c.Summary(); sum.Rescanned != 1 || sum.End != test.end || (err != nil) != (sum.End == crawler.EndBroken) {
				t.Errorf("%s: Run: %v; ended %q after %d pages", name, err, sum.End, sum.Rescanned)
			}
			cancel()
		}
		if n := len(w.Log()); n != asked {
			t.Errorf("%d requests after the stop", n-asked)
		}
	})
}

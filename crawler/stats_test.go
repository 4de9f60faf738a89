package crawler_test

import (
	"context"
	"testing"
	"testing/synctest"
	"time"

	"github.com/permesso-crawler/permesso/crawler"
	"github.com/permesso-crawler/permesso/crawler/crawltest"
)

// Oldest returns the site that does not answer, and the start of its visit.
func TestOldest(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := crawltest.New(t)
		w.Site("http://quick.example").Page("/", "x")
		w.Site("http://slow.example").Latency(10*time.Second).Page("/", "x")
		c, err := crawler.New(crawler.Options{
			Identity: testIdentity, Seeds: []string{"http://quick.example/", "http://slow.example/"}, Wire: crawler.Wire{Network: w},
		})
		if err != nil {
			t.Fatal(err)
		}
		if site, _, ok := c.Oldest(); ok {
			t.Errorf("%s is visited before the run", site)
		}
		ended := make(chan error)
		// This goroutine runs the crawl. It ends when both sites have answered.
		go func() { ended <- c.Run(context.Background(), nil) }()
		time.Sleep(7 * time.Second)
		synctest.Wait()
		if site, since, ok := c.Oldest(); !ok || site != "http://slow.example" || time.Since(since) != 7*time.Second {
			t.Errorf("%q since %v, %v: want http://slow.example, for 7s", site, time.Since(since), ok)
		}
		if err := <-ended; err != nil {
			t.Error(err)
		}
		if site, _, ok := c.Oldest(); ok {
			t.Errorf("%s is visited after the run", site)
		}
	})
}

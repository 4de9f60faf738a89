package crawler_test

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"testing/synctest"
	"time"

	"github.com/permesso-crawler/permesso/crawler"
	"github.com/permesso-crawler/permesso/crawler/crawltest"
)

// All workers wait for a disk on which each sync takes an hour. When the context ends, or the time
// of the run is up, the data of all workers is committed together: the end does not take one commit
// for each worker.
func TestAnEndDoesNotWaitForRoomOnTheDisk(t *testing.T) {
	const workers = 20
	for _, byTime := range []bool{false, true} {
		t.Run(fmt.Sprint("by time: ", byTime), func(t *testing.T) {
			dir := t.TempDir()
			synctest.Test(t, func(t *testing.T) {
				w := crawltest.New(t)
				o := crawler.Options{Identity: testIdentity, Wire: crawler.Wire{Network: w}, Dir: dir, Pace: crawler.Pace{Concurrency: workers, IPDelay: -1}}
				for i := range workers {
					origin := fmt.Sprintf("http://h%d.example", i)
					book(w, origin, 5)
					o.Seeds = append(o.Seeds, origin+"/0")
				}
				crawler.SetSmallestBounds(&o, time.Hour)
				ctx, cancel := context.WithCancel(t.Context())
				defer cancel()
				const runs = 100 * time.Hour
				if byTime {
					o.MaxTime = runs
				} else {
					time.AfterFunc(runs, cancel)
				}
				c, err := crawler.New(o)
				if err != nil {
					t.Fatal(err)
				}
				begin := time.Now()
				if err := c.Run(ctx, nil); err != nil && !errors.Is(err, context.Canceled) {
					t.Error(err)
				}
				// The end waits for the running commit, one commit for the data of the workers, and
				// one to merge. Each has two syncs.
				if took := time.Since(begin) - runs; took > 7*time.Hour {
					t.Errorf("it ended %v after it was to", took)
				}
			})
		})
	}
}

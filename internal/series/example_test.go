package series_test

import (
	"context"
	"fmt"
	"log"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/permesso-crawler/permesso/crawler"
	"github.com/permesso-crawler/permesso/crawler/crawltest"
	"github.com/permesso-crawler/permesso/internal/series"
)

// An ofATest makes a testing.TB for functions that need one, in an example.
type ofATest struct {
	testing.TB
	end func()
}

func (*ofATest) Helper()            {}
func (t *ofATest) Cleanup(f func()) { t.end = f }

// Crawl every week, and make a snapshot each time. If the program is called again after a kill,
// it continues the snapshot that is not over.
func ExampleSeries_Begin() {
	t := &ofATest{}
	web := crawltest.New(t) // a web in memory
	defer t.end()
	web.Site("http://a.example").Addr("127.0.0.1").Page("/", "<title>News</title>")
	dir, err := os.MkdirTemp("", "weekly")
	if err != nil {
		log.Fatal(err)
	}
	defer os.RemoveAll(dir)

	week := func(now time.Time) {
		opts := crawler.Options{
			Identity: crawler.Identity{Token: "mybot", Contact: "https://example.org/mybot"},
			Seeds:    []string{"http://a.example/"},
			Wire:     crawler.Wire{Network: web, AllowPrivate: true}, Pace: crawler.Pace{Delay: crawler.NoDelay}, // no delay, because the example does not run in virtual time
		}
		run, err := series.Series{Dir: dir}.Begin(series.Job{Options: &opts}, series.Moment{Now: now})
		if err != nil {
			log.Fatal(err)
		}
		defer run.Close()
		opts.Dir, opts.Seeds, opts.Previous, opts.TextDigest = run.Dir, run.Seeds, run.Previous, true
		c, err := crawler.New(opts)
		if err != nil {
			log.Fatal(err)
		}
		err = c.Run(context.Background(), crawler.HandlerFunc(func(_ context.Context, p *crawler.Page) error {
			fmt.Printf("%s: %s %q\n", filepath.Base(run.Dir), p.URL, p.Change())
			return nil
		}))
		if err != nil {
			log.Fatal(err)
		}
	}
	week(time.Date(2026, 11, 23, 3, 0, 0, 0, time.UTC))
	week(time.Date(2026, 11, 30, 3, 0, 0, 0, time.UTC))
	// Output:
	// 20261123T030000Z.crawl: http://a.example/ ""
	// 20261130T030000Z.crawl: http://a.example/ "not-modified"
}

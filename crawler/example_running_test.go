package crawler_test

import (
	"context"
	"fmt"
	"log"
	"net/http/httptest"
	"os"
	"path/filepath"
	"time"

	"github.com/permesso-crawler/permesso/crawler"
	"github.com/permesso-crawler/permesso/internal/store"
)

// optionsFor returns options for a crawl of site, which is on this machine, without pauses.
func optionsFor(site *httptest.Server, dir string) crawler.Options {
	return crawler.Options{
		Identity: crawler.Identity{Token: "bookbot", Contact: "https://example.org/bookbot"},
		Seeds:    []string{site.URL},
		Dir:      dir,
		Wire:     crawler.Wire{AllowPrivate: true}, Pace: crawler.Pace{Delay: crawler.NoDelay},
	}
}

// libraryCrawl runs a crawl in a new directory and returns that directory. The caller removes its
// parent.
func libraryCrawl() (dir string) {
	site := library()
	defer site.Close()
	temp, err := os.MkdirTemp("", "")
	if err != nil {
		log.Fatal(err)
	}
	dir = filepath.Join(temp, "library.crawl")
	c, err := crawler.New(optionsFor(site, dir))
	if err != nil {
		log.Fatal(err)
	}
	if err := c.Run(context.Background(), nil); err != nil {
		log.Fatal(err)
	}
	return dir
}

// An operator changes a crawl while it runs. Each order is recorded with its reason.
func ExampleCrawler_Pause() {
	site := library()
	defer site.Close()
	c, err := crawler.New(optionsFor(site, ""))
	if err != nil {
		log.Fatal(err)
	}
	handler := crawler.HandlerFunc(func(ctx context.Context, p *crawler.Page) error {
		if p.URL.Target() != "/" {
			return nil
		}
		err := c.Pause("the network is busy")
		for _, next := range []func() error{
			func() error { return c.Resume("the network is quiet") },
			func() error { return c.Slow("example.org", time.Minute, "at the request of its owner") },
			func() error { return c.Exclude("example.net", "its owner wrote to us") },
			func() error { return c.Seed("forgotten", site.URL+"/3") },
			func() error { return c.Limit("enough", func(l *crawler.Limits) { l.Pages = 100 }) },
		} {
			if err == nil {
				err = next()
			}
		}
		return err
	})
	if err := c.Run(context.Background(), handler); err != nil {
		log.Fatal(err)
	}
	for _, o := range c.Orders() {
		fmt.Printf("%s: %s\n", o.Do, o.Reason)
	}
	fmt.Println(c.Limits().Pages)
	// Output:
	// pause: the network is busy
	// resume: the network is quiet
	// slow: at the request of its owner
	// exclude: its owner wrote to us
	// add: forgotten
	// limit: enough
	// 100
}

// A program can print which site the crawl is waiting for.
func ExampleCrawler_Oldest() {
	site := library()
	defer site.Close()
	c, err := crawler.New(optionsFor(site, ""))
	if err != nil {
		log.Fatal(err)
	}
	handler := crawler.HandlerFunc(func(ctx context.Context, p *crawler.Page) error {
		if of, since, ok := c.Oldest(); ok && time.Since(since) > time.Minute {
			fmt.Println("no answer from", of, "since", since)
		}
		if of, ok := c.Longest(time.Now()); ok && time.Until(of.Due) > time.Minute {
			fmt.Println(of.Site, "waits until", of.Due, "because of", of.By)
		}
		return nil
	})
	if err := c.Run(context.Background(), handler); err != nil {
		log.Fatal(err)
	}
	// Output:
}

// A handler may ask for the results of the crawl so far. A program that runs each night can skip a
// run that would do nothing.
func ExampleCrawler_Records() {
	dir := libraryCrawl()
	defer os.RemoveAll(filepath.Dir(dir))
	site := library()
	defer site.Close()
	c, err := crawler.New(optionsFor(site, dir))
	if err != nil {
		log.Fatal(err)
	}
	if c.Idle() { // false here, because the seed is new
		return
	}
	handler := crawler.HandlerFunc(func(ctx context.Context, p *crawler.Page) error {
		records, err := c.Records()
		if err != nil {
			return err
		}
		fate, known, err := records.Fate(p.URL)
		if p.URL.Target() == "/" {
			fmt.Println(fate.Code, known)
		}
		return err
	})
	if err := c.Run(context.Background(), handler); err != nil {
		log.Fatal(err)
	}
	// Output: undecided true
}

// PlanOf reports what robots.txt allows before a crawl begins.
func ExamplePlanOf() {
	site := library()
	defer site.Close()
	o := optionsFor(site, "")
	o.Seeds = append(o.Seeds, site.URL+"/cellar")
	o.Delay = 2 * time.Second
	plan, err := crawler.PlanOf(context.Background(), o)
	if err != nil {
		log.Fatal(err)
	}
	for _, s := range plan.Sites {
		fmt.Println(len(s.Seeds), "seeds,", s.Allowed(), "allowed,", s.Delay, s.DelayBy)
		fmt.Println("100 pages take at least", 100*s.Delay)
	}
	// Output:
	// 2 seeds, 1 allowed, 2s own
	// 100 pages take at least 3m20s
}

// Repair rebuilds the lines of pages.jsonl of a damaged crawl from its archive.
func ExampleArchiveWriter() {
	dir := libraryCrawl()
	defer os.RemoveAll(filepath.Dir(dir))
	if err := os.Truncate(filepath.Join(dir, store.PagesFile), 0); err != nil {
		log.Fatal(err)
	}
	r, err := store.NewRepair(context.Background(), dir, store.RepairOptions{Writer: crawler.ArchiveWriter})
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(r.Restored, r.Again)
	if err := r.Commit(); err != nil {
		log.Fatal(err)
	}
	// Output: true 0
}

// While the crawl runs, a program looks up the fate of a URL, and the progress of the run.
func ExampleCrawler_Lookup() {
	site := library()
	defer site.Close()
	dir, err := os.MkdirTemp("", "")
	if err != nil {
		log.Fatal(err)
	}
	defer os.RemoveAll(dir)
	c, err := crawler.New(optionsFor(site, dir))
	if err != nil {
		log.Fatal(err)
	}
	first := true
	err = c.Run(context.Background(), crawler.HandlerFunc(func(ctx context.Context, p *crawler.Page) error {
		if !first {
			return nil
		}
		first = false
		_, known, err := c.Lookup(site.URL + "/never-linked")
		fmt.Println(known, c.Stats().Pages)
		return err
	}))
	if err != nil {
		log.Fatal(err)
	}
	// Output:
	// false 0
}

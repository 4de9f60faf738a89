package crawler_test

import (
	"context"
	"errors"
	"fmt"
	"log"
	"net/http"
	"runtime"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/permesso-crawler/permesso/crawler"
	"github.com/permesso-crawler/permesso/crawler/crawltest"
	"github.com/permesso-crawler/permesso/frontier"
)

// Allow raises a limit of the running crawl.
func ExampleCrawler_Allow() {
	c, err := crawler.New(crawler.Options{
		Identity: crawler.Identity{Token: "titlebot", Contact: "me@example.org"},
		Seeds:    []string{"https://example.org/"},
		Budget:   crawler.Budget{Limit: 1000},
	})
	if err != nil {
		log.Fatal(err)
	}
	http.HandleFunc("POST /more", func(rw http.ResponseWriter, r *http.Request) {
		if err := c.Allow(func(l *crawler.Limits) { l.Pages += 1000 }); err != nil {
			http.Error(rw, err.Error(), http.StatusConflict)
		}
	})
}

// With Limits.Open a crawl waits for seeds until Stop is called, or Allow takes Open away.
func ExampleCrawler_Add() {
	c, err := crawler.New(crawler.Options{
		Identity: crawler.Identity{Token: "titlebot", Contact: "me@example.org"},
		Seeds:    []string{"https://example.org/"},
	})
	if err != nil {
		log.Fatal(err)
	}
	if err := c.Allow(func(l *crawler.Limits) { l.Open = true }); err != nil {
		log.Fatal(err)
	}
	http.HandleFunc("POST /seeds", func(rw http.ResponseWriter, r *http.Request) {
		if err := second(c.Add(r.FormValue("url"))); err != nil {
			http.Error(rw, err.Error(), http.StatusBadRequest)
		}
	})
	if err := c.Run(context.Background(), nil); err != nil {
		log.Fatal(err)
	}
}

// chain returns a web with a chain of pages: each page links to the next one.
func chain(t *testing.T, pages int) *crawltest.Web {
	w := crawltest.New(t)
	s := w.Site("http://a.example")
	for i := range pages {
		s.Page(fmt.Sprintf("/%d", i), fmt.Sprintf(`<a href="/%d">next</a>`, i+1))
	}
	return w
}

func TestLimitsAreChangedWhileACrawlRuns(t *testing.T) {
	type crawl struct {
		*crawler.Crawler
		t *testing.T
	}
	allow := func(c crawl, change func(*crawler.Limits)) {
		if err := c.Allow(change); err != nil {
			c.t.Error(err)
		}
	}
	for name, test := range map[string]struct {
		opts   func(*crawler.Options)
		before func(crawl)
		after  map[time.Duration]func(crawl)
		end    crawler.End
		pages  int
		took   time.Duration // expected duration; up to a second less is accepted
	}{
		"a limit of pages is lifted": {
			opts:  func(o *crawler.Options) { o.Limit = 3 },
			after: map[time.Duration]func(crawl){2500 * time.Millisecond: func(c crawl) { allow(c, func(l *crawler.Limits) { l.Pages = 0 }) }},
			end:   crawler.EndDone, pages: 20, took: 22 * time.Second,
		},
		"a limit of pages is set": {
			after: map[time.Duration]func(crawl){2500 * time.Millisecond: func(c crawl) { allow(c, func(l *crawler.Limits) { l.Pages = 5 }) }},
			end:   crawler.EndLimit, pages: 5, took: 6 * time.Second,
		},
		"a limit of bytes is set": {
			after: map[time.Duration]func(crawl){2500 * time.Millisecond: func(c crawl) { allow(c, func(l *crawler.Limits) { l.Bytes = 1 }) }},
			end:   crawler.EndLimit, pages: 2, took: 3 * time.Second,
		},
		"time is lifted": {
			opts:  func(o *crawler.Options) { o.MaxTime = 5 * time.Second },
			after: map[time.Duration]func(crawl){4 * time.Second: func(c crawl) { allow(c, func(l *crawler.Limits) { l.Time = 0 }) }},
			end:   crawler.EndDone, pages: 20, took: 22 * time.Second,
		},
		"time is given, and counts from the start": {
			after: map[time.Duration]func(crawl){4 * time.Second: func(c crawl) { allow(c, func(l *crawler.Limits) { l.Time = 7500 * time.Millisecond }) }},
			end:   crawler.EndTime, pages: 7, took: 8 * time.Second,
		},
		"time that is over already": {
			after: map[time.Duration]func(crawl){4500 * time.Millisecond: func(c crawl) { allow(c, func(l *crawler.Limits) { l.Time = time.Second }) }},
			end:   crawler.EndTime, pages: 4, took: 5 * time.Second,
		},
		"a crawl that is open ends when it is closed": {
			before: func(c crawl) { allow(c, func(l *crawler.Limits) { l.Open = true }) },
			after: map[time.Duration]func(crawl){time.Hour: func(c crawl) {
				if n := c.Stats().Pages; n != 20 {
					c.t.Errorf("%d pages after an hour", n)
				}
				allow(c, func(l *crawler.Limits) { l.Open = false })
			}},
			end: crawler.EndDone, pages: 20, took: time.Hour,
		},
		"a crawl that is open ends when it is stopped": {
			before: func(c crawl) { allow(c, func(l *crawler.Limits) { l.Open = true }) },
			after:  map[time.Duration]func(crawl){time.Hour: func(c crawl) { c.Stop() }},
			end:    crawler.EndStopped, pages: 20, took: time.Hour,
		},
		"a limit that is used up is no end of a crawl that is open": {
			opts:   func(o *crawler.Options) { o.Limit = 3 },
			before: func(c crawl) { allow(c, func(l *crawler.Limits) { l.Open = true }) },
			after:  map[time.Duration]func(crawl){time.Hour: func(c crawl) { allow(c, func(l *crawler.Limits) { *l = crawler.Limits{} }) }},
			end:    crawler.EndDone, pages: 20, took: time.Hour + 18*time.Second,
		},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				opts := crawler.Options{Identity: testIdentity, Seeds: []string{"http://a.example/0"}, Wire: crawler.Wire{Network: chain(t, 20)}}
				if test.opts != nil {
					test.opts(&opts)
				}
				c, err := crawler.New(opts)
				if err != nil {
					t.Fatal(err)
				}
				if test.before != nil {
					test.before(crawl{c, t})
				}
				for when, do := range test.after {
					time.AfterFunc(when, func() { do(crawl{c, t}) })
				}
				began := time.Now()
				if err := c.Run(t.Context(), nil); err != nil {
					t.Error(err)
				}
				took := time.Since(began)
				if sum := c.Summary(); sum.End != test.end || sum.Pages != test.pages || took > test.took || took <= test.took-time.Second-1 {
					t.Errorf("ended %q after %v with %d pages, want %q after %v with %d", sum.End, took, sum.Pages, test.end, test.took, test.pages)
				}
				if err := c.Allow(func(l *crawler.Limits) { l.Pages = 0 }); !errors.Is(err, crawler.ErrEnded) {
					t.Errorf("Allow after the end: %v", err)
				}
				if err := second(c.Add("http://a.example/more")); !errors.Is(err, crawler.ErrEnded) {
					t.Errorf("Add after the end: %v", err)
				}
			})
		})
	}
}

// A patience that is set during a run applies to sites that already wait.
func TestPatienceIsGivenWhileACrawlRuns(t *testing.T) {
	for patience, pages := range map[time.Duration]int{0: 0, time.Hour: 0, 4 * time.Hour: 1, frontier.Forever: 1} {
		synctest.Test(t, func(t *testing.T) {
			w := crawltest.New(t)
			asked := false
			w.Site("http://a.example").Func("/", func(rw http.ResponseWriter, r *http.Request) {
				if !asked {
					asked = true
					time.Sleep(time.Minute)
					rw.Header().Set("Retry-After", "10800")
					rw.WriteHeader(503)
				}
			})
			c, err := crawler.New(crawler.Options{Identity: testIdentity, Seeds: []string{"http://a.example/"}, Wire: crawler.Wire{Network: w, Timeout: time.Hour}})
			if err != nil {
				t.Fatal(err)
			}
			time.AfterFunc(30*time.Second, func() {
				if err := c.Allow(func(l *crawler.Limits) { l.Patience = patience }); err != nil {
					t.Error(err)
				}
			})
			if err := c.Run(t.Context(), nil); err != nil {
				t.Error(err)
			}
			if sum := c.Summary(); sum.Pages != pages || sum.Left[frontier.Waiting] != 1-pages {
				t.Errorf("patience %v: %s", patience, sum)
			}
		})
	}
}

// Seeds may be added before and during a run, and are treated like the first seeds. A later run in
// the directory knows them without being told.
func TestSeedsAreAddedWhileACrawlRuns(t *testing.T) {
	dir := t.TempDir()
	synctest.Test(t, func(t *testing.T) {
		w := crawltest.New(t)
		for _, host := range []string{"a.example", "b.example", "c.example"} {
			w.Site("http://"+host).Page("/", `<a href="/1">1</a>`).Page("/1", "x")
		}
		opts := crawler.Options{Identity: testIdentity, Seeds: []string{"http://a.example/"}, Wire: crawler.Wire{Network: w}, Dir: dir, Budget: crawler.Budget{Limit: 1}}
		c, err := crawler.New(opts)
		if err != nil {
			t.Fatal(err)
		}
		if err := second(c.Add("http://b.example/")); err != nil {
			t.Fatal(err)
		}
		var bad *crawler.OptionError
		if err := second(c.Add("http://c.example/1", "no seed")); !errors.As(err, &bad) || bad.Field != "Seeds" {
			t.Error(err)
		}
		if err := c.Allow(func(l *crawler.Limits) { l.Open = true }); err != nil {
			t.Fatal(err)
		}
		time.AfterFunc(time.Minute, func() {
			if err := second(c.Add("http://c.example/\ttagged")); err != nil {
				t.Error(err)
			}
			if err := c.Allow(func(l *crawler.Limits) { l.Pages = 3 }); err != nil {
				t.Error(err)
			}
		})
		time.AfterFunc(time.Hour, c.Stop)
		if err := c.Run(t.Context(), nil); err != nil {
			t.Fatal(err)
		}
		if sum := c.Summary(); sum.Pages != 3 || sum.Left[frontier.Queued] < 2 {
			t.Errorf("%s", sum)
		}
		opts.Limit = 0
		if c, err = crawler.New(opts); err != nil {
			t.Fatal(err)
		}
		if err := c.Run(t.Context(), nil); err != nil {
			t.Fatal(err)
		}
		for _, host := range []string{"a.example", "b.example", "c.example"} {
			w.AssertFetched("http://"+host+"/", "http://"+host+"/1")
		}
		w.AssertPolite()
	})
}

// A seed that is added at about the end of the run is either fetched or refused.
func TestSeedsAtTheEnd(t *testing.T) {
	for round := range 60 {
		dir := ""
		if round%2 == 0 {
			dir = t.TempDir()
		}
		synctest.Test(t, func(t *testing.T) {
			w := crawltest.New(t)
			asked := make(chan bool, 1)
			for i := range 10 {
				w.Site(fmt.Sprintf("http://h%d.example", i)).Func("/", func(http.ResponseWriter, *http.Request) { asked <- true })
			}
			c, err := crawler.New(crawler.Options{Identity: testIdentity, Seeds: []string{"http://h0.example/"}, Wire: crawler.Wire{Network: w}, Pace: crawler.Pace{Concurrency: 3}, Dir: dir})
			if err != nil {
				t.Fatal(err)
			}
			added := []string{"http://h0.example/"}
			var adder sync.WaitGroup
			adder.Go(func() {
				for i := 1; i < 10; i++ {
					<-asked
					for range round * i * 10 { // until about the end of the run
						runtime.Gosched()
					}
					seed := fmt.Sprintf("http://h%d.example/", i)
					if err := second(c.Add(seed)); err != nil {
						if !errors.Is(err, crawler.ErrEnded) {
							t.Error(err)
						}
						return
					}
					added = append(added, seed)
				}
			})
			if err := c.Run(t.Context(), nil); err != nil {
				t.Error(err)
			}
			adder.Wait()
			w.AssertFetched(added...)
			if st := c.Stats(); st.Fetched != len(added) || st.Frontier.Entries != 0 {
				t.Errorf("%d of %d fetched, %d are left", st.Fetched, len(added), st.Frontier.Entries)
			}
		})
	}
}

func TestNegativeLimitsAreRefused(t *testing.T) {
	c, err := crawler.New(crawler.Options{Identity: testIdentity, Seeds: []string{"http://a.example/"}, Budget: crawler.Budget{Limit: 7}})
	if err != nil {
		t.Fatal(err)
	}
	before := c.Limits()
	for field, change := range map[string]func(*crawler.Limits){
		"Limits.Pages": func(l *crawler.Limits) { l.Pages = -1 }, "Limits.Bytes": func(l *crawler.Limits) { l.Bytes = -1 },
		"Limits.Time": func(l *crawler.Limits) { l.Time = -1 }, "Limits.Rate": func(l *crawler.Limits) { l.Rate = -1 },
	} {
		var bad *crawler.OptionError
		if err := c.Allow(change); !errors.As(err, &bad) || bad.Field != field || c.Limits() != before {
			t.Errorf("%s: %v; now %+v", field, err, c.Limits())
		}
	}
}

package crawler_test

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"runtime"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"
	"weak"

	"github.com/permesso-crawler/permesso/crawler"
	"github.com/permesso-crawler/permesso/crawler/crawltest"
	"github.com/permesso-crawler/permesso/frontier"
	"github.com/permesso-crawler/permesso/internal/store"
)

// shelves returns a web of sites with a number of pages each. Each page names two books.
func shelves(t *testing.T, sites, pages int) *crawltest.Web {
	w := crawltest.New(t)
	for s := range sites {
		site := w.Site(fmt.Sprintf("http://s%d.example", s))
		for p := range pages {
			next := ""
			if p+1 < pages {
				next = fmt.Sprintf(`<a href="/%d">next</a>`, p+1)
			}
			site.Page(fmt.Sprintf("/%d", p), next)
		}
	}
	return w
}

func seedsOf(sites int) (seeds []string) {
	for s := range sites {
		seeds = append(seeds, fmt.Sprintf("http://s%d.example/0", s))
	}
	return seeds
}

// books parses a page of shelves: it returns the names of its two books.
func books(_ context.Context, p *crawler.Page) ([]string, error) {
	return []string{p.URL.String() + " a", p.URL.String() + " b"}, nil
}

// allBooks returns the books of all pages, sorted.
func allBooks(sites, pages int) (all []string) {
	for s := range sites {
		for p := range pages {
			for _, b := range "ab" {
				all = append(all, fmt.Sprintf("http://s%d.example/%d %c", s, p, b))
			}
		}
	}
	slices.Sort(all)
	return all
}

func newCrawl(t *testing.T, w *crawltest.Web, change func(*crawler.Options), seeds ...string) *crawler.Crawler {
	t.Helper()
	o := crawler.Options{Identity: testIdentity, Seeds: seeds, Wire: crawler.Wire{Network: w}, Hooks: crawler.Hooks{Logger: slog.New(slog.DiscardHandler)}}
	if change != nil {
		change(&o)
	}
	c, err := crawler.New(o)
	if err != nil {
		t.Fatal(err)
	}
	return c
}

// Each batch except the last has n rows, even if n is larger than the number of sites. All rows are
// delivered once, and the sites are crawled politely.
func TestBatchesHaveAllRows(t *testing.T) {
	for _, n := range []int{0, 1, 3, 16, 1000} {
		t.Run(fmt.Sprint(n), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				w := shelves(t, 3, 9)
				c := newCrawl(t, w, nil, seedsOf(3)...)
				var got []string
				var sizes []int
				for rows, err := range crawler.Batches(t.Context(), c, n, frontier.Forever, books) {
					if err != nil {
						t.Fatal(err)
					}
					got, sizes = append(got, rows...), append(sizes, len(rows))
				}
				slices.Sort(got)
				if want := allBooks(3, 9); !slices.Equal(got, want) {
					t.Errorf("%d rows %q, want %d", len(got), got, len(want))
				}
				for i, size := range sizes {
					if size != max(1, n) && (i+1 < len(sizes) || size > n) {
						t.Errorf("batches of %d rows, want %d", sizes, n)
					}
				}
				if sum := c.Summary(); sum.End != crawler.EndDone || sum.Left != nil || sum.Frontier.Held != 0 {
					t.Errorf("at the end: %v", sum)
				}
				w.AssertPolite()
				w.AssertDelay("", time.Second)
			})
		})
	}
}

// An incomplete batch is delivered when its first row has waited for the given time. Visits of the
// sites continue meanwhile.
func TestABatchThatIsNotFullComesAfterItsWait(t *testing.T) {
	for wait, want := range map[time.Duration][]string{
		// 0 means one second; the last batch is delivered when nothing else is left to do
		0:               {"1s: 2", "3s: 2", "4s: 2"},
		3 * time.Second: {"3s: 4", "4s: 2"},
		-1:              {"0s: 2", "2s: 2", "4s: 2"},
		time.Hour:       {"4s: 6"},
	} {
		t.Run(wait.String(), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				w := shelves(t, 1, 3)
				c := newCrawl(t, w, func(o *crawler.Options) { o.Delay = 2 * time.Second }, seedsOf(1)...)
				var got []string
				var first time.Time
				parse := func(ctx context.Context, p *crawler.Page) ([]string, error) {
					if first.IsZero() {
						first = time.Now()
					}
					return books(ctx, p)
				}
				for rows, err := range crawler.Batches(t.Context(), c, 100, wait, parse) {
					if err != nil {
						t.Fatal(err)
					}
					got = append(got, fmt.Sprintf("%v: %d", time.Since(first), len(rows)))
				}
				if !slices.Equal(got, want) {
					t.Errorf("batches came after %q, want %q", got, want)
				}
			})
		})
	}
}

// If nothing else is left to fetch, the loop waits for a page that is being parsed. Then the batch
// includes the rows of that page.
func TestABatchWaitsForRowsThatAreAboutToCome(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		visits := 0
		c := newCrawl(t, shelves(t, 2, 1), func(o *crawler.Options) {
			o.OnVisit = func(v crawler.Visited) {
				if slices.ContainsFunc(v.Requests, func(r crawler.Request) bool { return !r.Robots }) {
					visits++
				}
				if visits == 2 {
					time.Sleep(5 * time.Second)
				}
			}
		}, seedsOf(2)...)
		var sizes []int
		for rows, err := range crawler.Batches(t.Context(), c, 100, time.Hour, books) {
			if err != nil {
				t.Fatal(err)
			}
			sizes = append(sizes, len(rows))
		}
		if !slices.Equal(sizes, []int{4}) {
			t.Errorf("batches of %d rows, want one of 4", sizes)
		}
	})
}

// Seeds that the body adds are crawled, even if it adds them during the last batch, when nothing
// else is left to do.
func TestTheBodyAddsSeeds(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := shelves(t, 4, 1)
		c := newCrawl(t, w, nil, seedsOf(1)...)
		var got []string
		for rows, err := range crawler.Batches(t.Context(), c, 100, frontier.Forever, books) {
			if err != nil {
				t.Fatal(err)
			}
			got = append(got, rows...)
			if n := len(got) / 2; n < 4 {
				if err := second(c.Add(fmt.Sprintf("http://s%d.example/0", n))); err != nil {
					t.Error(err)
				}
			}
		}
		if want := allBooks(4, 1); !slices.Equal(got, want) {
			t.Errorf("rows %q, want %q", got, want)
		}
	})
}

// While the body is busy, the crawl fetches only the rows of the next batch, and finishes the
// running visits.
func TestASlowBodySlowsTheCrawlDown(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		const sites, n, workers = 30, 4, 3
		w := shelves(t, sites, 3)
		c := newCrawl(t, w, func(o *crawler.Options) { o.Concurrency = workers }, seedsOf(sites)...)
		var mu sync.Mutex
		parsed := 0
		parse := func(ctx context.Context, p *crawler.Page) ([]string, error) {
			mu.Lock()
			defer mu.Unlock()
			parsed++
			return []string{p.URL.String()}, nil
		}
		taken := 0
		for rows, err := range crawler.Batches(t.Context(), c, n, 0, parse) {
			if err != nil {
				t.Fatal(err)
			}
			taken += len(rows)
			time.Sleep(time.Hour)
			synctest.Wait()
			mu.Lock()
			if most := taken + n + workers; parsed > most {
				t.Errorf("%d pages were parsed when %d had been taken, want at most %d", parsed, taken, most)
			}
			mu.Unlock()
		}
		if taken != sites*3 {
			t.Errorf("%d rows, want %d", taken, sites*3)
		}
	})
}

// Pages are not kept in memory while their rows wait.
func TestPagesDoNotWaitWithTheirRows(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := shelves(t, 1, 9)
		c := newCrawl(t, w, func(o *crawler.Options) { o.Concurrency = 1 }, seedsOf(1)...)
		var pages []weak.Pointer[crawler.Page]
		parse := func(ctx context.Context, p *crawler.Page) ([]int, error) {
			pages = append(pages, weak.Make(p))
			return []int{1}, nil
		}
		for rows, err := range crawler.Batches(t.Context(), c, 100, frontier.Forever, parse) {
			if err != nil || len(rows) != 9 {
				t.Fatal(rows, err)
			}
			synctest.Wait()
			runtime.GC()
			for i, p := range pages[:8] { // the stack may still refer to the last page
				if p.Value() != nil {
					t.Errorf("page %d is in memory", i)
				}
			}
		}
	})
}

// rowsOf runs a crawl in a directory and leaves the loop at batch number stop. It returns the rows
// that were taken before, and the rows of that batch.
func rowsOf(t *testing.T, w *crawltest.Web, dir string, n, stop int, how func(c *crawler.Crawler) bool) (taken, left []string) {
	t.Helper()
	c := newCrawl(t, w, func(o *crawler.Options) { o.Dir, o.Output = dir, []crawler.Output{crawler.OutputWARC} }, seedsOf(2)...)
	for rows, err := range crawler.Batches(t.Context(), c, n, frontier.Forever, books) {
		if err != nil {
			t.Fatal(err)
		}
		if stop--; stop == 0 && !how(c) {
			left = rows
			break
		}
		taken = append(taken, rows...)
	}
	if sum := c.Summary(); stop <= 0 && how != nil && sum.End != crawler.EndStopped {
		t.Errorf("the crawl ended: %v", sum)
	}
	if _, err := store.Verify(t.Context(), dir, func(err error) { t.Errorf("store.Verify: %v", err) }); err != nil {
		t.Error(err)
	}
	return taken, left
}

// If the loop is left, the next run delivers the rows that were not taken, together with all other
// rows of their page. Rows of other pages are not delivered again.
func TestRowsAreDeliveredAgainAfterLeavingTheLoop(t *testing.T) {
	for _, n := range []int{1, 3, 4, 100} {
		t.Run(fmt.Sprint(n), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				w, dir := shelves(t, 2, 8), t.TempDir()
				leave := func(*crawler.Crawler) bool { return false }
				var all, ended []string
				runs := 0
				for stop := 1; ; stop = 1 + stop%3 {
					taken, left := rowsOf(t, w, dir, n, stop, leave)
					for _, row := range taken {
						if slices.Contains(ended, row) {
							t.Errorf("run %d: %s came again, whose page had ended", runs, row)
						}
					}
					all = append(all, taken...)
					for _, row := range all { // both rows of a page are delivered, maybe in different runs
						page, _, _ := strings.Cut(row, " ")
						if slices.Contains(taken, page+" b") && !slices.Contains(ended, page+" b") {
							ended = append(ended, page+" a", page+" b")
						}
					}
					if runs++; left == nil || runs > 100 {
						break
					}
				}
				slices.Sort(all)
				if got, want := slices.Compact(all), allBooks(2, 8); !slices.Equal(got, want) {
					t.Errorf("after %d runs %d rows, want %d", runs, len(got), len(want))
				}
				if runs < 3 && n < 100 {
					t.Errorf("%d runs", runs)
				}
			})
		})
	}
}

// After Stop the rows that were parsed are still delivered.
func TestAStopDeliversParsedRows(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w, dir := shelves(t, 2, 8), t.TempDir()
		stop := func(c *crawler.Crawler) bool { c.Stop(); return true }
		first, _ := rowsOf(t, w, dir, 3, 2, stop)
		second, _ := rowsOf(t, w, dir, 3, -1, nil)
		if len(first) < 7 || len(first)%2 > 0 {
			t.Errorf("%d rows before the stop, want those of whole pages, and more than two batches", len(first))
		}
		got := slices.Concat(first, second)
		slices.Sort(got)
		if want := allBooks(2, 8); !slices.Equal(got, want) {
			t.Errorf("%d rows %q, want %d", len(got), got, len(want))
		}
	})
}

// Limits count pages that were parsed. When a limit ends the crawl, their rows are still delivered.
func TestALimitDeliversParsedRows(t *testing.T) {
	for _, n := range []int{1, 4, 100} {
		synctest.Test(t, func(t *testing.T) {
			w := shelves(t, 3, 9)
			c := newCrawl(t, w, func(o *crawler.Options) { o.Limit = 5 }, seedsOf(3)...)
			got := 0
			for rows, err := range crawler.Batches(t.Context(), c, n, frontier.Forever, books) {
				if err != nil {
					t.Fatal(err)
				}
				got += len(rows)
			}
			if sum := c.Summary(); got != 10 || sum.End != crawler.EndLimit || sum.Frontier.Spent.Pages != 5 {
				t.Errorf("%d rows of 5 pages; %v", got, sum)
			}
		})
	}
}

// An error that ends the crawl is in the last pair, which has no rows.
func TestTheLastPairIsTheErrorOfTheCrawl(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := shelves(t, 2, 50)
		ctx, cancel := context.WithCancelCause(t.Context())
		defer cancel(nil)
		tired := errors.New("tired")
		c := newCrawl(t, w, nil, seedsOf(2)...)
		var errs []error
		batches := 0
		for rows, err := range crawler.Batches(ctx, c, 4, 0, books) {
			if err != nil {
				if rows != nil {
					t.Errorf("rows %q beside %v", rows, err)
				}
				errs = append(errs, err)
				continue
			}
			if batches++; batches == 3 {
				cancel(tired)
			}
		}
		if len(errs) != 1 || !errors.Is(errs[0], tired) || batches != 3 || c.Summary().End != crawler.EndBroken {
			t.Errorf("%d batches, then %v; ended %q", batches, errs, c.Summary().End)
		}
		for range 2 {
			for rows, err := range crawler.Batches(t.Context(), c, 4, 0, books) {
				if rows != nil || !errors.Is(err, crawler.ErrRan) {
					t.Errorf("another run: %q, %v", rows, err)
				}
			}
		}
		for p, err := range c.Pages(t.Context()) {
			if p != nil || !errors.Is(err, crawler.ErrRan) {
				t.Errorf("another run: %v, %v", p, err)
			}
		}
	})
}

// A body that panics, or ends its goroutine, stops the crawl.
func TestABodyThatPanicsStopsTheCrawl(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := shelves(t, 2, 50)
		c := newCrawl(t, w, nil, seedsOf(2)...)
		func() {
			defer func() {
				if v := recover(); v != "my mistake" {
					t.Errorf("recovered %v", v)
				}
			}()
			for range crawler.Batches(t.Context(), c, 4, 0, books) {
				panic("my mistake")
			}
		}()
		if sum := c.Summary(); sum.End != crawler.EndStopped {
			t.Errorf("the crawl ended: %v", sum)
		}
	})
}

// ErrRetry and ErrStop have the same meaning for parse as for a handler. The rows are kept with
// ErrStop, and dropped with ErrRetry.
func TestParseRetriesAndStops(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := shelves(t, 1, 7)
		c := newCrawl(t, w, func(o *crawler.Options) {
			o.OnError = func(p *crawler.Page, err error) { t.Errorf("%s: %v", p.URL, err) }
		}, seedsOf(1)...)
		again := false
		parse := func(ctx context.Context, p *crawler.Page) ([]string, error) {
			rows := []string{p.URL.Target()}
			switch p.URL.Target() {
			case "/3":
				if again {
					return rows, crawler.ErrStop
				}
				again = true
				return rows, crawler.ErrRetry
			case "/4":
				return nil, nil
			}
			return rows, nil
		}
		var got []string
		for rows, err := range crawler.Batches(t.Context(), c, 2, 0, parse) {
			if err != nil {
				t.Fatal(err)
			}
			got = append(got, rows...)
		}
		if want := []string{"/0", "/1", "/2", "/5", "/6", "/3"}; !slices.Equal(got, want) {
			t.Errorf("rows %q, want %q", got, want)
		}
		if sum := c.Summary(); sum.End != crawler.EndStopped || sum.Handler != 0 || sum.Retries != 1 || sum.Fetched != 7 {
			t.Errorf("at the end: %v", sum)
		}
	})
}

// An error of the disk ends the loop.
func TestADirectoryThatCannotBeOpenedEndsTheLoop(t *testing.T) {
	w, dir := crawltest.New(t), t.TempDir()
	w.Site("http://s0.example").Default(func(http.ResponseWriter, *http.Request) { t.Error("something was asked") })
	holder, err := store.Open(dir, store.Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer holder.Close()
	c := newCrawl(t, w, func(o *crawler.Options) { o.Dir = dir }, seedsOf(1)...)
	n := 0
	for rows, err := range crawler.Batches(t.Context(), c, 4, 0, books) {
		var used *store.InUseError
		if n++; rows != nil || !errors.As(err, &used) {
			t.Errorf("got %q, %v", rows, err)
		}
	}
	if n != 1 {
		t.Errorf("%d pairs, want one", n)
	}
}

package crawler_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"github.com/permesso-crawler/permesso/crawler"
	"github.com/permesso-crawler/permesso/crawler/crawltest"
	"github.com/permesso-crawler/permesso/internal/store"
)

// TestStatus compares the Status of a crawl during the run, at its end, and from its directory.
func TestStatus(t *testing.T) {
	dir := t.TempDir()
	synctest.Test(t, func(t *testing.T) {
		w := statusWeb(t)
		c, err := crawler.New(crawler.Options{
			Identity: testIdentity, Wire: crawler.Wire{Network: w}, Dir: dir, Keep: crawler.Keep{Output: []crawler.Output{}}, Budget: crawler.Budget{Limit: 20, Patience: time.Hour, MaxHostPages: 4},
			Seeds: []string{"http://a.example/", "http://calm.example/", "http://slow.example/", "http://out.example/", "http://gone.example/"},
		})
		if err != nil {
			t.Fatal(err)
		}
		if s := c.Status(); s.State != crawler.StateStarting || s.Dir != dir || s.Name != testIdentity.Token || s.Limits["limit"] != "20" {
			t.Errorf("before: %+v", s)
		}
		if err := c.Exclude("out.example", "asked by mail"); err != nil {
			t.Fatal(err)
		}
		var while crawler.Status
		time.AfterFunc(4500*time.Millisecond, func() {
			if err := c.Pause("to look"); err != nil {
				t.Error(err)
			}
			while = c.Status()
			c.Stop()
		})
		if err := c.Run(t.Context(), nil); err != nil {
			t.Fatal(err)
		}
		end := c.Status()
		while.Dir, while.Memory = "a.crawl", crawler.StatusMemory{}
		got, err := json.MarshalIndent(while, "", "  ")
		if err != nil {
			t.Fatal(err)
		}
		want, err := os.ReadFile("testdata/status.json")
		if err != nil || string(got)+"\n" != string(want) {
			t.Errorf("it is\n%s\nnot as in testdata/status.json: %v", got, err)
		}
		if end.State != crawler.StateEnded || end.End != crawler.EndStopped || end.Memory.Heap == 0 || end.Memory.Total < end.Memory.Heap {
			t.Errorf("at the end: %+v", end)
		}
		read, err := crawler.ReadStatus(dir)
		if err != nil {
			t.Fatal(err)
		}
		end.Memory, end.Orders = crawler.StatusMemory{}, end.Orders[:1] // the pause applied only to that run
		if diff := cmp.Diff(end, read); diff != "" {
			t.Errorf("from its directory: %s", diff)
		}
	})
}

// If a crawl was killed, its directory has the figures of the crawl, but not those of the run. If a
// crawl is running, its status cannot be read from the directory.
func TestTheStatusOfACrawlThatWasKilled(t *testing.T) {
	dir, killed := t.TempDir(), filepath.Join(t.TempDir(), "killed")
	for i := range 2 {
		synctest.Test(t, func(t *testing.T) {
			time.Sleep(time.Duration(i) * time.Hour)
			w := chain(t, 40)
			c, err := crawler.New(crawler.Options{Identity: testIdentity, Wire: crawler.Wire{Network: w}, Dir: dir, Seeds: []string{"http://a.example/0"}, Budget: crawler.Budget{MaxTime: 9500 * time.Millisecond}})
			if err != nil {
				t.Fatal(err)
			}
			var inUse error
			go func() {
				time.Sleep(4500 * time.Millisecond)
				synctest.Wait()
				if i == 1 {
					_, inUse = crawler.ReadStatus(dir)
					if err := os.CopyFS(killed, os.DirFS(dir)); err != nil {
						t.Error(err)
					}
				}
			}()
			if err := c.Run(t.Context(), nil); err != nil {
				t.Fatal(err)
			}
			synctest.Wait()
			if want := new(store.InUseError); i == 1 && !errors.As(inUse, &want) {
				t.Errorf("while it runs: %v", inUse)
			}
			if s := c.Status(); s.Crawl.Done != s.Crawl.BudgetPages || s.Crawl.BudgetPages < s.Run.Pages+8*i || s.Crawl.Queued != 1 {
				t.Errorf("run %d: %+v", i, s.Crawl)
			}
		})
	}
	s, err := crawler.ReadStatus(killed)
	if err != nil {
		t.Fatal(err)
	}
	if s.State != crawler.StateKilled || s.Run.Requests != 0 || s.Crawl.BudgetPages < 13 || s.Crawl.Queued != 1 || s.Crawl.Done != s.Crawl.BudgetPages || s.Time.Hour() != 1 || s.Name != testIdentity.Token {
		t.Errorf("%+v", s)
	}
	run, err := store.ReadRun(killed)
	if err != nil || run.Full {
		t.Fatalf("%+v, %v", run, err)
	}
	run.Full = true
	raw, err := json.Marshal(run)
	if err == nil {
		err = os.WriteFile(filepath.Join(killed, store.RunFile), raw, 0o600)
	}
	if err != nil {
		t.Fatal(err)
	}
	if full, err := crawler.ReadStatus(killed); err != nil || full.State != crawler.StateNoRoom || full.Crawl != s.Crawl || full.Time != s.Time {
		t.Errorf("of a full disk: %+v, %v", full, err)
	}
	if s, err := crawler.ReadStatus(dir); err != nil || s.State != crawler.StateEnded || s.End != crawler.EndTime || s.Run.Pages == 0 || s.Crawl.BudgetPages <= s.Run.Pages {
		t.Errorf("%+v, %v", s, err)
	}
}

// A run that failed has stored no status. The status of the previous run is not returned in its
// place.
func TestTheStatusOfARunThatFailed(t *testing.T) {
	dir := t.TempDir()
	for i, want := range []crawler.State{crawler.StateEnded, crawler.StateUnknown} {
		synctest.Test(t, func(t *testing.T) {
			time.Sleep(time.Duration(i) * time.Hour)
			o := crawler.Options{Identity: testIdentity, Wire: crawler.Wire{Network: chain(t, 3)}, Dir: dir, Seeds: []string{"http://a.example/0"}, Budget: crawler.Budget{Limit: 1}}
			if i > 0 {
				o.Limit, o.Links = 0, func(*crawler.Page, *crawler.Link) bool { panic("no") }
			}
			c, err := crawler.New(o)
			if err != nil {
				t.Fatal(err)
			}
			if err := c.Run(t.Context(), nil); (err != nil) != (i > 0) {
				t.Fatal(err)
			}
		})
		if s, err := crawler.ReadStatus(dir); err != nil || s.State != want || s.Crawl.Known == 0 {
			t.Errorf("run %d: %+v, %v", i, s, err)
		}
	}
}

// The rate is the average over the last half minute, or over the run if it is younger.
func TestTheRateIsThatOfTheLastSeconds(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := chain(t, 200)
		rates := map[time.Duration]float64{}
		var mu sync.Mutex
		orders := map[time.Duration]func(*crawler.Crawler) error{
			100500 * time.Millisecond: func(c *crawler.Crawler) error { return c.Slow("", 10*time.Second, "") },
		}
		for _, at := range []time.Duration{500, 10_500, 90_500, 120_500, 190_500} {
			orders[at*time.Millisecond+time.Microsecond] = func(c *crawler.Crawler) error {
				s := c.Status()
				mu.Lock()
				defer mu.Unlock()
				rates[at] = s.Rate.Pages * s.Rate.Seconds
				if s.Rate.Seconds != min(30, float64(at/1000)) {
					t.Errorf("after %v: over %v s", at, s.Rate.Seconds)
				}
				return nil
			}
		}
		steered(t, w, crawler.Options{Seeds: []string{"http://a.example/0"}, Budget: crawler.Budget{MaxTime: 200 * time.Second}}, orders)
		want := map[time.Duration]float64{500: 0, 10_500: 9, 90_500: 30, 120_500: 12, 190_500: 3}
		if !cmp.Equal(rates, want, cmpopts.EquateApprox(0, 1.01)) {
			t.Errorf("pages in the last seconds: %v, want about %v", rates, want)
		}
	})
}

// statusWeb returns a web with a site of each kind.
func statusWeb(t *testing.T) *crawltest.Web {
	w := crawltest.New(t)
	a := w.Site("http://a.example")
	html := `<a href="http://else.example/">x</a>`
	for i := range 9 {
		html += fmt.Sprintf(`<a href="/%d">x</a>`, i)
		a.Page(fmt.Sprintf("/%d", i), "x")
	}
	a.Page("/", html)
	w.Site("http://calm.example").Robots("User-agent: *\nCrawl-delay: 60").Page("/", `<a href="/1">1</a><a href="/2">2</a>`)
	w.Site("http://slow.example").Func("/", func(_ http.ResponseWriter, r *http.Request) { <-r.Context().Done() })
	w.Site("http://out.example").Page("/", "x")
	return w
}

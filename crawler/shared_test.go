package crawler_test

import (
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/permesso-crawler/permesso/crawler"
	"github.com/permesso-crawler/permesso/crawler/crawltest"
	"github.com/permesso-crawler/permesso/frontier"
	"github.com/permesso-crawler/permesso/storage/machine"
)

// beside runs several crawls of a web at the same time.
func beside(t *testing.T, w *crawltest.Web, crawls int, change func(i int, o *crawler.Options), seeds ...string) {
	t.Helper()
	var all sync.WaitGroup
	for i := range crawls {
		o := crawler.Options{Identity: testIdentity, Seeds: seeds, Wire: crawler.Wire{Network: w, RootCAs: w.RootCAs()}, Budget: crawler.Budget{Patience: time.Hour}}
		change(i, &o)
		c, err := crawler.New(o)
		if err != nil {
			t.Fatal(err)
		}
		all.Go(func() {
			if err := c.Run(t.Context(), nil); err != nil {
				t.Error(err)
			}
		})
	}
	all.Wait()
}

// early returns the number of requests that came too early, of all crawls together. A request is
// early if it came less than pause after the end of the previous answer.
func early(w *crawltest.Web, pause time.Duration, of func(r crawltest.Request) string) (early int) {
	last := map[string]crawltest.Request{}
	for _, r := range w.Log() {
		name := of(r)
		if before, ok := last[name]; ok && (before.End.IsZero() || r.Start.Before(before.End.Add(pause))) {
			early++
		}
		last[name] = r
	}
	return early
}

func hostOf(r crawltest.Request) string { return r.Site.Host() }

func domainOf(r crawltest.Request) string { return r.Site.Domain() }

// Crawls of one process share the clocks of hosts, domains and addresses, including pauses that an
// answer requires. With NoShared they do not. PERMESSO_CRAWLS sets the number of pages.
func TestCrawlsOfOneProcessShareClocks(t *testing.T) {
	pages := 6
	if n, err := strconv.Atoi(os.Getenv("PERMESSO_CRAWLS")); err == nil {
		pages = n
	}
	for _, crawls := range []int{2, 5} {
		for name, change := range map[string]func(o *crawler.Options, w *crawltest.Web){
			"direct":                    func(*crawler.Options, *crawltest.Web) {},
			"in directories":            func(o *crawler.Options, _ *crawltest.Web) { o.Dir = t.TempDir() },
			"a proxy on loopback":       func(o *crawler.Options, w *crawltest.Web) { throughProxy(w, o, "127.0.0.1") },
			"a proxy elsewhere":         func(o *crawler.Options, w *crawltest.Web) { throughProxy(w, o, "16.7.7.7") },
			"the table of a machine":    func(o *crawler.Options, _ *crawltest.Web) { o.Shared = openTable(t) },
			"domains, one at a time":    func(o *crawler.Options, _ *crawltest.Web) { o.DomainDelay = 2 * time.Second },
			"hardly any bytes a second": func(o *crawler.Options, _ *crawltest.Web) { o.Bandwidth = 20 },
		} {
			t.Run(fmt.Sprint(crawls, " ", name), func(t *testing.T) {
				synctest.Test(t, func(t *testing.T) {
					w := crawltest.New(t)
					seeds := []string{"http://a.example.org/0", "http://a.example.org:8080/0", "http://b.example.org/0", "http://c.example/0"}
					for _, origin := range seeds {
						book(w, origin, pages)
					}
					w.Site("http://a.example.org").Robots("User-agent: *\nCrawl-delay: 3\n").Func("/2", func(rw http.ResponseWriter, r *http.Request) {
						rw.Header().Set("Retry-After", "20")
						rw.WriteHeader(http.StatusForbidden)
					}).Latency(700 * time.Millisecond)
					w.Site("http://a.example.org:8080").Robots("User-agent: *\nCrawl-delay: 3\n")
					w.Site("http://c.example").Status("/3", http.StatusServiceUnavailable)
					w.Site("http://b.example.org").Addr("16.9.9.9")
					w.Site("http://c.example").Addr("16.9.9.9")
					var shared frontier.Shared
					beside(t, w, crawls, func(i int, o *crawler.Options) {
						if change(o, w); i == 0 {
							shared = o.Shared
						}
						o.Shared = shared // one table for all crawls
					}, seeds...)
					if n := early(w, time.Second, hostOf); n > 0 {
						t.Errorf("%d of %d requests came early by the clock of a host", n, len(w.Log()))
					}
					if strings.HasPrefix(name, "domains") {
						if n := early(w, 2*time.Second, domainOf); n > 0 {
							t.Errorf("%d of %d requests came early by the clock of a domain", n, len(w.Log()))
						}
					}
					for i, r := range w.Log() {
						if r.Site.Host() != "b.example.org" && r.Site.Host() != "c.example" || strings.Contains(name, "proxy") {
							continue
						}
						for _, o := range w.Log()[:i] {
							if (o.Site.Host() == "b.example.org" || o.Site.Host() == "c.example") && r.Start.Sub(o.Start) < 250*time.Millisecond {
								t.Errorf("%s came %v after %s at the same address", r.URL(), r.Start.Sub(o.Start), o.URL())
							}
						}
					}
					if n := w.Fetched(fmt.Sprintf("http://a.example.org/%d", pages-1)); n != crawls {
						t.Errorf("the last page was fetched %d times", n)
					}
					w.AssertPolite()
					t.Logf("%d requests, none early", len(w.Log()))
				})
			})
		}
	}
}

func openTable(t *testing.T) *machine.Table {
	t.Helper()
	table, err := machine.Open(filepath.Join(t.TempDir(), "clocks"))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { table.Close() })
	return table
}

// A crawl that begins after another crawl of the same process uses its clocks. A crawl with
// NoShared, or of another web, does not.
func TestACrawlAfterAnotherSharesItsClocks(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w, other := crawltest.New(t), crawltest.New(t)
		for _, w := range []*crawltest.Web{w, other} {
			w.Site("http://a.example").Robots("User-agent: *\nCrawl-delay: 30\n").Page("/", "x")
		}
		took := func(w *crawltest.Web, shared frontier.Shared) time.Duration {
			begin := time.Now()
			crawl(t, w, func(o *crawler.Options) { o.Shared = shared }, "http://a.example/")
			return time.Since(begin)
		}
		for i, got := range []time.Duration{took(w, nil), took(w, nil), took(other, nil), took(w, crawler.NoShared)} {
			if want := []time.Duration{30, 60, 30, 30}[i] * time.Second; got != want {
				t.Errorf("crawl %d took %v, want %v", i, got, want)
			}
		}
	})
}

// With a small bandwidth an answer may take hours. Its clocks stay reserved during that time, by
// leases of minutes, so that a killed process blocks others only for minutes.
func TestALeaseLastsAsLongAsItsAnswer(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := crawltest.New(t)
		w.Site("http://a.example").Page("/", strings.Repeat("x", 3<<20))
		looks := &lookedAt{Shared: frontier.NewSharedClocks()}
		beside(t, w, 2, func(_ int, o *crawler.Options) { o.Bandwidth, o.Shared, o.Concurrency = 1000, looks, 2 }, "http://a.example/")
		if n := early(w, time.Second, hostOf); n > 0 {
			t.Errorf("%d requests were early", n)
		}
		if log := w.Log(); len(log) != 4 || log[3].End.Sub(log[0].Start) < 90*time.Minute {
			t.Errorf("%d requests", len(log))
		}
		if looks.longest > 10*time.Minute {
			t.Errorf("a lease of %v", looks.longest)
		}
	})
}

// A lookedAt is a Shared that records the longest lease.
type lookedAt struct {
	frontier.Shared
	mu      sync.Mutex
	longest time.Duration
}

func (l *lookedAt) note(until time.Time) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.longest = max(l.longest, time.Until(until))
}

func (l *lookedAt) Reserve(key string, now, until time.Time) (frontier.Taken, bool) {
	l.note(until)
	return l.Shared.Reserve(key, now, until)
}

func (l *lookedAt) Renew(key string, until time.Time) {
	l.note(until)
	l.Shared.Renew(key, until)
}

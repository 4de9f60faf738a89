package crawler_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"net/http"
	"os"
	"runtime/pprof"
	"strconv"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/permesso-crawler/permesso/crawler"
	"github.com/permesso-crawler/permesso/crawler/crawltest"
	"github.com/permesso-crawler/permesso/internal/audit"
	"github.com/permesso-crawler/permesso/internal/store"
)

// watchdog ends the process with all stacks if moved has not changed for half a minute of real
// time. It must be started outside of virtual time, where a deadlock on a mutex would not be
// noticed.
func watchdog(t *testing.T, moved *atomic.Int64) {
	ctx, stop := context.WithCancel(context.Background())
	t.Cleanup(stop)
	// This goroutine ends with the test.
	go func() {
		last := moved.Load()
		for {
			select {
			case <-ctx.Done():
				return
			case <-time.After(30 * time.Second):
			}
			now := moved.Load()
			if now == last {
				pprof.Lookup("goroutine").WriteTo(os.Stderr, 2)
				panic(fmt.Sprintf("nothing moves after %d requests", now))
			}
			last = now
		}
	}()
}

// The crawler is tested with the smallest queues and caches, a slow disk, all outputs, many new
// links on each page, many sites, and runs that are cancelled. It must never block, be polite, lose
// nothing, and fetch the picture of each page. $PERMESSO_STRESS is the number of webs. Each web has
// up to 200 sites and 2,000 links on a page.
func TestStressAtTheSmallestBounds(t *testing.T) {
	shapes := []shape{{24, 120, 90}}
	if n, err := strconv.Atoi(os.Getenv("PERMESSO_STRESS")); err == nil {
		random := rand.New(rand.NewPCG(7, 7))
		for range n {
			links := 1 + random.IntN(2000)
			shapes = append(shapes, shape{1 + random.IntN(200), links, min(400, 40+100_000/links)})
		}
	}
	for i, s := range shapes {
		t.Run(fmt.Sprintf("%d_%+v", i, s), func(t *testing.T) {
			var moved atomic.Int64
			watchdog(t, &moved)
			dir := t.TempDir()
			synctest.Test(t, func(t *testing.T) { stress(t, dir, uint64(i), s, &moved) })
			if _, err := store.Verify(t.Context(), dir, func(err error) { t.Errorf("Verify: %v", err) }); err != nil {
				t.Errorf("Verify: %v", err)
			}
			if _, err := audit.Dir(dir, audit.Options{Violation: func(v *audit.Violation) error {
				t.Errorf("audit: %v", v)
				return nil
			}}); err != nil {
				t.Errorf("audit: %v", err)
			}
		})
	}
}

// A shape is the size of a web: the number of sites, of links on each page, and of pages to fetch.
type shape struct{ sites, links, pages int }

func stress(t *testing.T, dir string, seed uint64, web shape, moved *atomic.Int64) {
	random := rand.New(rand.NewPCG(seed, 1))
	w := crawltest.New(t)
	var seeds []string
	for i := range web.sites {
		origin := fmt.Sprintf("http://h%d.example", i)
		seeds = append(seeds, origin+"/")
		s := w.Site(origin).Default(func(rw http.ResponseWriter, r *http.Request) {
			moved.Add(1)
			fanOut(rw, r, web)
		})
		switch i % 4 {
		case 1: // many sites at one address
			s.Addr("16.9.9.9")
		case 2:
			s.Robots("User-agent: *\nCrawl-delay: 3\nDisallow: /no")
		}
	}
	begin := time.Now()
	for run := 0; ; run++ {
		opts := crawler.Options{
			Identity: testIdentity, Seeds: seeds, Wire: crawler.Wire{Network: w}, Dir: dir, Scope: crawler.Anywhere(), Budget: crawler.Budget{Limit: web.pages},
			Keep:   crawler.Keep{Output: []crawler.Output{crawler.OutputWARC, crawler.OutputPages, crawler.OutputBodies, crawler.OutputLinks}, MaxArchive: 64 << 10},
			Follow: crawler.Follow{Requisites: true},
		}
		crawler.SetSmallestBounds(&opts, 2*time.Millisecond)
		c, err := crawler.New(opts)
		if err != nil {
			t.Fatal(err)
		}
		ctx, cancel := context.WithCancel(t.Context())
		broken := run < 3
		if broken {
			time.AfterFunc(time.Duration(random.IntN(5000))*time.Millisecond, cancel)
		}
		began := time.Now()
		err = c.Run(ctx, nil)
		cancel()
		if broken && errors.Is(err, context.Canceled) {
			continue
		}
		if err != nil {
			t.Fatal(err)
		}
		if c.Summary().End != crawler.EndLimit {
			t.Errorf("run %d ended after %v: %s", run, time.Since(began), c.Summary().End)
		}
		for left, err := range c.Left() {
			if err != nil || strings.HasPrefix(left.URL.Target(), "/shown/") {
				t.Errorf("%s is left, which a page is shown with; %v", left.URL, err)
			}
		}
		break
	}
	w.AssertPolite()
	w.AssertDelay("", time.Second)
	t.Logf("%d requests in %v", len(w.Log()), time.Since(begin))
}

// fanOut answers with a page that has links to new URLs, and a picture of its own on another site.
func fanOut(rw http.ResponseWriter, r *http.Request, web shape) {
	if strings.HasPrefix(r.RequestURI, "/shown/") {
		sent("image/png", "PNG")(rw, r)
		return
	}
	rw.Header().Set("Content-Type", "text/html")
	var b strings.Builder
	fmt.Fprintf(&b, "<img src=\"http://h%d.example/shown/%s%s\">", len(r.RequestURI)%web.sites, r.Host, r.RequestURI)
	for k := range web.links {
		fmt.Fprintf(&b, "<a href=\"http://h%d.example%s/%d\">x</a>\n", k%web.sites, strings.TrimSuffix(r.RequestURI, "/"), k)
	}
	io.WriteString(rw, b.String())
}

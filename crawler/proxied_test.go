package crawler_test

import (
	"net/url"
	"path/filepath"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/permesso-crawler/permesso/crawler"
	"github.com/permesso-crawler/permesso/crawler/crawltest"
	"github.com/permesso-crawler/permesso/internal/audit"
	"github.com/permesso-crawler/permesso/storage/machine"
)

// throughProxy sends all requests through a proxy at addr. For each port of a site the proxy has a
// port of its own, because the sites of a web listen only at their own ports.
func throughProxy(w *crawltest.Web, o *crawler.Options, addr string) {
	w.Site("http://proxy.test").Addr(addr)
	w.Site("http://proxy.test:8080").Addr(addr)
	o.Proxy = func(u *url.URL) (*url.URL, error) {
		return &url.URL{Scheme: "http", Host: "proxy.test:" + map[string]string{"": "80"}[u.Port()] + u.Port()}, nil
	}
}

// A proxy hides the addresses of sites. Nevertheless the sites of one host share a clock, also
// between crawls on one machine, and the audit checks this.
func TestBehindAProxyAHostHasOneClock(t *testing.T) {
	for _, at := range []string{"127.0.0.1", "10.1.2.3", "16.5.5.5"} {
		for _, private := range []bool{false, true} {
			dirs := []string{t.TempDir(), t.TempDir()}
			synctest.Test(t, func(t *testing.T) {
				table, err := machine.Open(filepath.Join(t.TempDir(), "clocks"))
				if err != nil {
					t.Fatal(err)
				}
				defer table.Close()
				w := crawltest.New(t)
				seeds := []string{"http://a.example/0", "http://a.example:8080/0"}
				for _, origin := range seeds {
					book(w, origin, 4)
					w.Site(origin).Robots("User-agent: *\nCrawl-delay: 3\n")
				}
				w.Site("http://a.example").Status("/2", 503)
				var crawls sync.WaitGroup
				for _, dir := range dirs {
					o := crawler.Options{Identity: testIdentity, Seeds: seeds, Wire: crawler.Wire{Network: w, AllowPrivate: private}, Pace: crawler.Pace{Shared: table, Delay: crawler.NoDelay}, Dir: dir}
					throughProxy(w, &o, at)
					c, err := crawler.New(o)
					if err != nil {
						t.Fatal(err)
					}
					crawls.Go(func() {
						if err := c.Run(t.Context(), nil); err != nil {
							t.Error(err)
						}
					})
				}
				crawls.Wait()
				if n := w.Fetched("http://a.example:8080/3"); n != len(dirs) {
					t.Errorf("the last page was fetched %d times", n)
				}
				if n := w.Dials("a.example"); n > 0 {
					t.Errorf("%d connections past the proxy", n)
				}
				w.AssertPolite()
				for _, r := range w.Log() {
					for _, o := range w.Log() {
						if r.Start.After(o.End) && r.Start.Sub(o.End) < 200*time.Millisecond || o.Start.Before(r.Start) && o.End.After(r.Start) {
							t.Fatalf("%s at %v, after %s, which ended at %v", r.URL(), r.Start, o.URL(), o.End)
						}
					}
				}
			})
			for _, dir := range dirs {
				report, err := audit.Dir(dir, audit.Options{})
				if err != nil || !report.Clean() {
					t.Errorf("the audit: %v, %+v", err, report)
				}
			}
		}
	}
}

package crawler_test

import (
	"bytes"
	"context"
	"crypto/ed25519"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"reflect"
	"regexp"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/permesso-crawler/permesso/crawler"
	"github.com/permesso-crawler/permesso/crawler/crawltest"
	"github.com/permesso-crawler/permesso/crawler/revisit"
	"github.com/permesso-crawler/permesso/fetch"
	"github.com/permesso-crawler/permesso/frontier"
	"github.com/permesso-crawler/permesso/internal/store"
	"github.com/permesso-crawler/permesso/robots"
)

// optionsWeb returns a web on which each option has an effect.
func optionsWeb(t *testing.T) *crawltest.Web {
	w := crawltest.New(t)
	a := w.Site("http://a.example").Latency(100*time.Millisecond).Robots("User-agent: oldbot\nDisallow: /old\n").
		Page("/", `<a href="/1">1</a><a href="/old">o</a><a href="/nofollow" rel="nofollow">n</a><a href="http://b.example/">b</a><img src="http://b.example/i.gif">`)
	for _, page := range []string{"/1", "/2", "/old", "/nofollow"} {
		a.Page(page, `<a href="/2">2</a>`+strings.Repeat("x", 1000))
	}
	w.Site("http://b.example").Page("/", "b").Page("/i.gif", "GIF")
	// x.domain.example and y.domain.example are on one domain and have two addresses. The other two
	// hosts share one address.
	for _, host := range []string{"x.domain.example", "y.domain.example", "x.one.example", "y.two.example"} {
		w.Site("http://"+host).Latency(100*time.Millisecond).Page("/", "x")
	}
	w.Site("http://x.one.example").Addr("16.1.0.7")
	w.Site("http://y.two.example").Addr("16.1.0.7")
	w.Site("http://slow.example").Robots("User-agent: *\nCrawl-delay: 300").Page("/", "x")
	w.Site("http://hangs.example").Func("/", func(_ http.ResponseWriter, r *http.Request) { <-r.Context().Done() })
	w.Site("http://closed.example").Page("/", "x").Status("/robots.txt", 403)
	w.Site("http://joined.example").Page("/x", "x").Robots("User-agent: benchbot\nAllow: /x\n\nUser-agent: benchbot/1.0\nDisallow: /x\n")
	w.Site("http://private.example").Addr("10.0.0.1").Page("/", "x")
	w.Site("http://large.example").Page("/", strings.Repeat("x", 200_000))
	for _, host := range []string{"http://huge.example", "http://vast.example"} {
		w.Site(host).Page("/", strings.Repeat("x", 300<<10))
	}
	w.Site("http://private-use.example").Robots("User-agent: *\nContent-Signal: ai-train=no\n").Page("/", "x")
	w.Site("https://secure.example").Page("/", "x")
	w.Site("http://mapped.example").Robots("Sitemap: /list.txt").Page("/", "x").Page("/mapped", "x").Func("/list.txt", sent("text/plain", "http://mapped.example/mapped"))
	w.Site("http://form.example").Page("/", `<form action="/found?q=x"><input name=q></form>`).Page("/found", "x")
	w.Site("http://names.example").Robots("Clean-param: p").Page("/", `<a href="/x?p=1">1</a> <a href="/x?p=2">2</a> <a href="/y?a&amp;b">3</a> <a href="/y?b&amp;a">4</a>`).
		Page("/x?p=1", "x").Page("/x?p=2", "x").Page("/y?a&b", "x").Page("/y?b&a", "x")
	w.Site("http://trap.example").Page("/", `<a href="/x/x">x</a>`).Page("/x/x", `<a href="/x/x/x/x">x</a>`).Page("/x/x/x/x", "x")
	return w
}

// A seen holds the results of a crawl that rows of the test look at.
type seen struct {
	pages   map[string]*crawler.Page
	sum     crawler.Summary
	log     []crawltest.Request
	dir     string
	took    time.Duration
	called  []string // names of the callbacks that were called
	logged  string
	reserve time.Duration // the longest lease of a clock
	proxied bool
	dialed  int
}

func (s *seen) has(url string) bool { return s.pages[url] != nil }

func (s *seen) left() string { return fmt.Sprint(s.sum.End, s.sum.Left) }

// gap returns the shortest time between two requests to the given hosts.
func (s *seen) gap(hosts ...string) time.Duration {
	least := time.Duration(1<<63 - 1)
	var last time.Time
	for _, r := range s.log {
		if !slices.Contains(hosts, r.Site.Host()) {
			continue
		}
		if d := r.Start.Sub(last); !last.IsZero() && d < least {
			least = d
		}
		last = r.Start
	}
	return least.Round(10 * time.Millisecond)
}

func (s *seen) files(pattern string) int {
	files, _ := filepath.Glob(filepath.Join(s.dir, pattern))
	return len(files)
}

// holds returns the number of times that text occurs in a file of the crawl.
func (s *seen) holds(file, text string) int {
	content, _ := os.ReadFile(filepath.Join(s.dir, file))
	return bytes.Count(content, []byte(text))
}

// crawled runs a crawl with the options o to its end.
func crawled(t *testing.T, o crawler.Options) {
	t.Helper()
	c, err := crawler.New(o)
	if err == nil {
		err = c.Run(context.Background(), nil)
	}
	if err != nil {
		t.Fatal(err)
	}
}

// leases is a Shared that records the longest lease of a clock.
type leases struct{ longest atomic.Int64 }

func (l *leases) Reserve(_ string, now, until time.Time) (frontier.Taken, bool) {
	for d := int64(until.Sub(now)); d > l.longest.Load(); {
		l.longest.Store(d)
	}
	return frontier.Taken{}, true
}

func (l *leases) Renew(string, time.Time) {}

func (l *leases) Release(string, time.Time) {}

// A dials is a web that counts the connections to it.
type dials struct {
	*crawltest.Web
	n atomic.Int32
}

func (d *dials) DialContext(ctx context.Context, network, address string) (net.Conn, error) {
	d.n.Add(1)
	return d.Web.DialContext(ctx, network, address)
}

// look runs a crawl in virtual time, and returns its results.
func look(t *testing.T, dir string, change ...func(*crawler.Options, *crawltest.Web, *seen)) (s *seen) {
	synctest.Test(t, func(t *testing.T) {
		w := optionsWeb(t)
		var logged bytes.Buffer
		s = &seen{pages: map[string]*crawler.Page{}, dir: dir}
		o := crawler.Options{Identity: testIdentity, Seeds: []string{"http://a.example/"}, Wire: crawler.Wire{Network: w}, Hooks: crawler.Hooks{Logger: slog.New(slog.DiscardHandler)}}
		for _, f := range change {
			f(&o, w, s)
		}
		if o.Logger == nil {
			o.Logger = slog.New(slog.NewTextHandler(&logged, nil))
		}
		shared, _ := o.Shared.(*leases)
		counted, _ := o.Network.(*dials)
		c, err := crawler.New(o)
		if err != nil {
			t.Fatal(err)
		}
		began := time.Now()
		var mu sync.Mutex
		err = c.Run(t.Context(), crawler.HandlerFunc(func(_ context.Context, p *crawler.Page) error {
			mu.Lock()
			defer mu.Unlock()
			s.pages[p.URL.String()] = p
			return errors.New("for OnError")
		}))
		if err != nil {
			t.Fatal(err)
		}
		s.took, s.sum, s.log, s.logged = time.Since(began).Round(10*time.Millisecond), c.Summary(), w.Log(), logged.String()
		if shared != nil {
			s.reserve = time.Duration(shared.longest.Load())
		}
		if counted != nil {
			s.dialed = int(counted.n.Load())
		}
	})
	return s
}

// Each option has an effect: without it a crawl has the result base, with it the result want. A new
// option needs a row.
func TestEachOptionHasAnEffect(t *testing.T) {
	type options = crawler.Options
	set := func(f func(*options)) func(*options, *crawltest.Web, *seen) {
		return func(o *options, _ *crawltest.Web, _ *seen) { f(o) }
	}
	seeds := func(urls ...string) func(*options) { return func(o *options) { o.Seeds = urls } }
	// Tested by TestRescanBringsRefusedLinksBack and TestOrdersHoldForTheCrawl.
	rows := map[string]bool{"Rescan": true, "Lift": true}
	call := func(s *seen, what string) { s.called = append(s.called, what) }
	for _, row := range []struct {
		field      string
		both       func(*options) // options of both crawls
		change     func(*options, *crawltest.Web, *seen)
		look       func(*seen) any
		base, want any
		dir        bool // both crawls have a directory
	}{
		{field: "Identity", change: set(func(o *options) { o.Identity.Token = "otherbot" }),
			look: func(s *seen) any { return s.log[0].UserAgent[:8] }, base: "benchbot", want: "otherbot"},
		{field: "Seeds", change: set(seeds("http://b.example/")), look: func(s *seen) any { return s.has("http://b.example/") }, base: false, want: true},
		{field: "Scope", change: set(func(o *options) { o.Scope = crawler.Anywhere() }), look: func(s *seen) any { return s.has("http://b.example/") }, base: false, want: true},
		{field: "Include", change: set(func(o *options) { o.Include = regexp.MustCompile("old") }), look: func(s *seen) any { return len(s.pages) }, base: 4, want: 2},
		{field: "Exclude", change: set(func(o *options) { o.Exclude = regexp.MustCompile("old") }), look: func(s *seen) any { return len(s.pages) }, base: 4, want: 3},
		{field: "Depth", change: set(func(o *options) { o.Depth = 1 }), look: func(s *seen) any { return s.has("http://a.example/2") }, base: true, want: false},
		{field: "Limit", change: set(func(o *options) { o.Limit = 2 }), look: func(s *seen) any { return len(s.pages) }, base: 4, want: 2},
		{field: "MaxBytes", change: set(func(o *options) { o.MaxBytes = 700 }), look: (*seen).leftAny, base: "donemap[]", want: "limitmap[limit:2]"},
		{field: "MaxTime", change: set(func(o *options) { o.MaxTime = 2 * time.Second }), look: func(s *seen) any { return s.sum.End }, base: crawler.EndDone, want: crawler.EndTime},
		{field: "MaxHostPages", change: set(func(o *options) { o.MaxHostPages = 2 }), look: (*seen).leftAny, base: "donemap[]", want: "unaskedmap[budget:2]"},
		{field: "MaxHostBytes", change: set(func(o *options) { o.MaxHostBytes = 700 }), look: (*seen).leftAny, base: "donemap[]", want: "unaskedmap[budget:2]"},
		{field: "MaxHostTime", change: set(func(o *options) { o.MaxHostTime = 300 * time.Millisecond }), look: (*seen).leftAny, base: "donemap[]", want: "unaskedmap[budget:2]"},
		{field: "Delay", change: set(func(o *options) { o.Delay = 3 * time.Second }), look: func(s *seen) any { return s.gap("a.example") }, base: 1100 * time.Millisecond, want: 3100 * time.Millisecond},
		{field: "IPDelay", both: seeds("http://x.one.example/", "http://y.two.example/"), change: set(func(o *options) { o.IPDelay = 400 * time.Millisecond }),
			look: func(s *seen) any { return s.gap("x.one.example", "y.two.example") }, base: 250 * time.Millisecond, want: 400 * time.Millisecond},
		{field: "DomainDelay", both: seeds("http://x.domain.example/", "http://y.domain.example/"), change: set(func(o *options) { o.DomainDelay = 5 * time.Second }),
			look: func(s *seen) any { return s.gap("x.domain.example", "y.domain.example") >= 5*time.Second }, base: false, want: true},
		{field: "Rate", change: set(func(o *options) { o.Rate = 0.1 }), look: func(s *seen) any { return s.gap("a.example") }, base: 1100 * time.Millisecond, want: 10 * time.Second},
		{field: "Concurrency", both: seeds("http://x.domain.example/", "http://y.domain.example/"), change: set(func(o *options) { o.Concurrency = 1 }),
			look: func(s *seen) any { return s.gap("x.domain.example", "y.domain.example") >= 100*time.Millisecond }, base: false, want: true},
		{field: "Patience", both: seeds("http://slow.example/"), change: set(func(o *options) { o.Patience = time.Hour }), look: func(s *seen) any { return s.sum.End },
			base: crawler.EndPatience, want: crawler.EndDone},
		{field: "Revisit", both: func(o *options) { o.MaxTime = 8 * 24 * time.Hour }, change: set(func(o *options) { o.Revisit = revisit.Fixed{Every: 7 * 24 * time.Hour} }),
			look: func(s *seen) any { return s.sum.Fetched }, base: 4, want: 8},
		{field: "Dir", change: func(o *options, _ *crawltest.Web, s *seen) { o.Dir = s.dir }, look: func(s *seen) any { return s.files(store.StateFile) }, base: 0, want: 1},
		{field: "Output", dir: true, change: set(func(o *options) { o.Output = []crawler.Output{} }), look: func(s *seen) any { return s.files(store.PagesFile) }, base: 1, want: 0},
		{field: "MaxArchive", dir: true, change: set(func(o *options) { o.MaxArchive = 1 }), look: func(s *seen) any { return s.files("warc/*.warc.gz") > 1 }, base: false, want: true},
		{field: "Previous", change: func(o *options, w *crawltest.Web, s *seen) {
			before := *o
			before.Dir = filepath.Join(s.dir, "before")
			crawled(t, before)
			o.Previous = before.Dir
		}, look: func(s *seen) any { return s.pages["http://a.example/1"].Change() }, base: crawler.ChangeClass(""), want: crawler.ChangeNotModified},
		{field: "TextDigest", dir: true, change: set(func(o *options) { o.TextDigest = true }), look: func(s *seen) any { return s.holds(store.PagesFile, `"text_digest":"sha256:`) }, base: 0, want: 4},
		{field: "Requisites", change: set(func(o *options) { o.Requisites = true }), look: func(s *seen) any { return s.has("http://b.example/i.gif") }, base: false, want: true},
		{field: "Sitemaps", both: seeds("http://mapped.example/"), change: set(func(o *options) { o.Sitemaps = crawler.SitemapsNone }), look: func(s *seen) any { return s.has("http://mapped.example/mapped") }, base: true, want: false},
		{field: "OnlyFollowed", both: seeds("http://mapped.example/"), change: set(func(o *options) { o.OnlyFollowed = true }), look: func(s *seen) any { return s.has("http://mapped.example/mapped") }, base: true, want: false},
		{field: "FollowTraps", both: seeds("http://trap.example/"), change: set(func(o *options) { o.FollowTraps = true }), look: func(s *seen) any { return s.has("http://trap.example/x/x/x/x") }, base: false, want: true},
		{field: "Forms", both: seeds("http://form.example/"), change: set(func(o *options) { o.Forms = true }), look: func(s *seen) any { return s.has("http://form.example/found") }, base: false, want: true},
		{field: "MaxSize", change: set(func(o *options) { o.MaxSize = 500 }), look: func(s *seen) any { return s.pages["http://a.example/1"].Truncated }, base: "", want: "length"},
		{field: "BodyBudget", both: func(o *options) {
			o.Seeds = []string{"http://huge.example/", "http://vast.example/"}
			o.OnError = func(*crawler.Page, error) { time.Sleep(time.Minute) } // the body of the page stays in memory meanwhile
		},
			change: set(func(o *options) { o.BodyBudget = 1 }), look: func(s *seen) any { return s.took > 2*time.Minute }, base: false, want: true},
		{field: "Timeout", both: func(o *options) {
			o.Seeds, o.Patience, o.MaxTime = []string{"http://hangs.example/"}, 2*time.Second, time.Hour
		},
			change: set(func(o *options) { o.Timeout = 2 * time.Second }), look: func(s *seen) any { return s.took.Round(time.Second) }, base: 31 * time.Second, want: 3 * time.Second},
		{field: "Timeout", both: func(o *options) { o.Shared = &leases{} }, change: set(func(o *options) { o.Timeout = 2 * time.Second }),
			look: func(s *seen) any { return s.reserve }, base: 3 * time.Minute, want: 68 * time.Second}, // the lease becomes shorter with Timeout
		{field: "Bandwidth", both: func(o *options) { o.Shared = &leases{} }, change: set(func(o *options) { o.Bandwidth = 16 << 20 }),
			look: func(s *seen) any { return s.reserve }, base: 3 * time.Minute, want: 3*time.Minute + 62500*time.Microsecond}, // the lease becomes longer by one read of each visit
		{field: "Bandwidth", both: func(o *options) { o.Shared = &leases{} }, change: set(func(o *options) { o.Bandwidth = 10_000 }),
			look: func(s *seen) any { return s.reserve }, base: 3 * time.Minute, want: 3*time.Minute + 104857600*time.Microsecond},
		{field: "Dialect", both: seeds("http://closed.example/"), change: set(func(o *options) { o.Dialect = robots.Google }),
			look: func(s *seen) any { return s.has("http://closed.example/") }, base: false, want: true},
		{field: "Aliases", change: set(func(o *options) { o.Aliases = []string{"oldbot"} }), look: func(s *seen) any { return s.has("http://a.example/old") }, base: true, want: false},
		{field: "AllowForbidden", both: seeds("http://closed.example/"), change: set(func(o *options) { o.AllowForbidden = true }),
			look: func(s *seen) any { return s.has("http://closed.example/") }, base: false, want: true},
		{field: "AllowPrivate", both: seeds("http://private.example/"), change: set(func(o *options) { o.AllowPrivate = true }),
			look: func(s *seen) any { return s.has("http://private.example/") }, base: false, want: true},
		{field: "ConnectTo", both: seeds("http://none.example/"), change: set(func(o *options) {
			o.ConnectTo = []fetch.ConnectTo{{Host: "none.example", ToHost: "a.example"}}
		}), look: func(s *seen) any { return s.sum.Errors["dns"] }, base: 1, want: 0},
		{field: "Network", change: func(o *options, w *crawltest.Web, _ *seen) { o.Network = &dials{Web: w} }, look: func(s *seen) any { return s.dialed }, base: 0, want: 1},
		{field: "Shared", change: set(func(o *options) { o.Shared = &leases{} }), look: func(s *seen) any { return s.reserve }, base: time.Duration(0), want: 3 * time.Minute},
		{field: "Proxy", change: func(o *options, _ *crawltest.Web, s *seen) {
			o.Proxy = func(*url.URL) (*url.URL, error) { s.proxied = true; return nil, nil }
		}, look: func(s *seen) any { return s.proxied }, base: false, want: true},
		{field: "Header", change: set(func(o *options) { o.Header = http.Header{"X-Project": {"thesis"}} }), look: func(s *seen) any { return s.log[0].Header.Get("X-Project") }, base: "", want: "thesis"},
		{field: "Signing", change: set(func(o *options) {
			o.Signing = fetch.Signing{Key: ed25519.NewKeyFromSeed(make([]byte, ed25519.SeedSize)), Agent: "https://example.org"}
		}), look: func(s *seen) any { return s.log[0].Header.Get("Signature") != "" }, base: false, want: true},
		{field: "Bandwidth", both: seeds("http://large.example/"), change: set(func(o *options) { o.Bandwidth = 10_000 }), look: func(s *seen) any { return s.took > 15*time.Second }, base: false, want: true},
		{field: "RootCAs", both: seeds("https://secure.example/"), change: func(o *options, w *crawltest.Web, _ *seen) { o.RootCAs = w.RootCAs() },
			look: func(s *seen) any { return s.has("https://secure.example/") }, base: false, want: true},
		{field: "FollowNoFollow", change: set(func(o *options) { o.FollowNoFollow = true }), look: func(s *seen) any { return s.has("http://a.example/nofollow") }, base: false, want: true},
		{field: "Purpose", both: seeds("http://private-use.example/"), change: set(func(o *options) { o.Purpose = robots.PurposeAITrain }),
			look: func(s *seen) any { return s.has("http://private-use.example/") }, base: true, want: false},
		{field: "OptOut", change: set(func(o *options) {
			o.OptOut = func(u frontier.URL) string {
				if u.Target() == "/old" {
					return "left alone"
				}
				return ""
			}
		}), look: func(s *seen) any { return s.has("http://a.example/old") }, base: true, want: false},
		{field: "Site", change: set(func(o *options) {
			o.Site = func(frontier.Site) crawler.SiteOptions {
				return crawler.SiteOptions{Scope: crawler.ScopeFunc(func(e frontier.Entry) bool { return e.URL.Target() != "/old" })}
			}
		}), look: func(s *seen) any { return s.has("http://a.example/old") }, base: true, want: false},
		{field: "OnStart", change: func(o *options, _ *crawltest.Web, s *seen) { o.OnStart = func(crawler.Start) { call(s, "start") } },
			look: func(s *seen) any { return len(s.called) }, base: 0, want: 1},
		{field: "OnError", change: func(o *options, _ *crawltest.Web, s *seen) {
			o.OnError = func(*crawler.Page, error) { call(s, "error") }
		}, look: func(s *seen) any { return len(s.called) }, base: 0, want: 4},
		{field: "Links", change: set(func(o *options) {
			o.Links = func(_ *crawler.Page, l *crawler.Link) bool { return l.URL.Target() != "/1" }
		}),
			look: func(s *seen) any { return s.has("http://a.example/1") }, base: true, want: false},
		{field: "Rewrite", both: seeds("http://a.example/?utm_source=x"), change: set(func(o *options) { o.Rewrite = crawler.StripTracking }),
			look: func(s *seen) any { return s.has("http://a.example/") }, base: false, want: true},
		{field: "Same", both: seeds("http://names.example/"), change: set(func(o *options) { o.Same = crawler.SortQuery }),
			look: func(s *seen) any { return s.has("http://names.example/y?b&a") }, base: true, want: false},
		{field: "CleanParam", both: seeds("http://names.example/"), change: set(func(o *options) { o.CleanParam = true }),
			look: func(s *seen) any { return s.has("http://names.example/x?p=2") }, base: true, want: false},
		{field: "OnVisit", change: func(o *options, _ *crawltest.Web, s *seen) { o.OnVisit = func(crawler.Visited) { call(s, "visit") } },
			look: func(s *seen) any { return slices.Contains(s.called, "visit") }, base: false, want: true},
		{field: "MaxBody", change: func(o *options, _ *crawltest.Web, s *seen) {
			o.MaxBody = func(*fetch.Exchange) int64 { call(s, "body"); return 1 << 20 }
		}, look: func(s *seen) any { return slices.Contains(s.called, "body") }, base: false, want: true},
		{field: "OnSkip", change: func(o *options, _ *crawltest.Web, s *seen) { o.OnSkip = func(crawler.Skip) { call(s, "skip") } },
			look: func(s *seen) any { return len(s.called) }, base: 0, want: 2},
		{field: "Logger", change: set(func(o *options) { o.Logger = nil }), look: func(s *seen) any { return strings.Contains(s.logged, "for OnError") }, base: false, want: true},
	} {
		t.Run(row.field, func(t *testing.T) {
			both := func(o *options, _ *crawltest.Web, s *seen) {
				if row.both != nil {
					row.both(o)
				}
				if row.dir {
					o.Dir = s.dir
				}
			}
			if got := row.look(look(t, t.TempDir(), both)); got != row.base {
				t.Errorf("without it: %v, want %v", got, row.base)
			}
			if got := row.look(look(t, t.TempDir(), both, row.change)); got != row.want {
				t.Errorf("with it: %v, want %v", got, row.want)
			}
		})
		rows[row.field] = true
	}
	rows["State"] = true // tested by TestNodesThatAreKilled in storage/postgres
	for _, f := range optionFields() {
		if f.IsExported() && !rows[f.Name] {
			t.Errorf("Options.%s has no row: what does it do?", f.Name)
		}
	}
}

func (s *seen) leftAny() any { return s.left() }

// Negative numbers are refused, except for options that give them a meaning.
func TestNegativeNumbers(t *testing.T) {
	none := []string{"Delay", "IPDelay", "Patience", "MaxHostPages"}
	for _, s := range new(crawler.Options).Settings() {
		o := crawler.Options{Identity: testIdentity, Seeds: []string{"http://a.example/"}}
		switch f := reflect.ValueOf(&o).Elem().FieldByName(s.Field); {
		case s.Field == "Dialect":
			continue
		case f.CanInt():
			f.SetInt(-1)
		case f.CanFloat():
			f.SetFloat(-0.5)
		default:
			continue
		}
		_, err := crawler.New(o)
		var bad *crawler.OptionError
		if slices.Contains(none, s.Field) != (err == nil) || err != nil && (!errors.As(err, &bad) || bad.Field != s.Field || bad.Reason != "is negative") {
			t.Errorf("%s: %v", s.Field, err)
		}
	}
}

// The only negative number that means none is -1. Another one is the result of a wrong calculation,
// and must not turn off the pauses.
func TestOnlyMinusOneMeansNone(t *testing.T) {
	for field, change := range map[string]func(*crawler.Options){
		"Delay":        func(o *crawler.Options) { o.Delay = -5 * time.Second },
		"IPDelay":      func(o *crawler.Options) { o.IPDelay = -2 },
		"Patience":     func(o *crawler.Options) { o.Patience = -time.Hour },
		"MaxHostPages": func(o *crawler.Options) { o.MaxHostPages = -2 },
		"DomainDelay":  func(o *crawler.Options) { o.DomainDelay = -1 },
	} {
		o := crawler.Options{Identity: testIdentity, Seeds: []string{"http://a.example/"}}
		change(&o)
		_, err := crawler.New(o)
		if _, perr := crawler.PlanOf(t.Context(), o); perr == nil || err == nil || perr.Error() != err.Error() {
			t.Errorf("%s: %v, and of a plan %v", field, err, perr)
		}
		var bad *crawler.OptionError
		if !errors.As(err, &bad) || bad.Field != field || !strings.Contains(bad.Reason, "negative") {
			t.Errorf("%s: %v", field, err)
		}
	}
	for field, site := range map[string]crawler.SiteOptions{
		"Site.Delay": {Delay: -time.Second}, "Site.MaxPages": {MaxPages: -2, Reason: "x"}, "Site.MaxBytes": {MaxBytes: -2, Reason: "x"}, "Site.MaxTime": {MaxTime: -2, Reason: "x"},
	} {
		var bad *crawler.OptionError
		if err := new(crawler.Options).CheckSite(site); !errors.As(err, &bad) || bad.Field != field {
			t.Errorf("%s: %v", field, err)
		}
	}
	for name, o := range map[string]frontier.Options{"Delay": {Delay: -2}, "IPDelay": {IPDelay: -2}, "Patience": {Patience: -2}} {
		if _, err := frontier.New(frontier.NewMemory(), o); err == nil || !strings.Contains(err.Error(), name+" is negative") {
			t.Errorf("frontier: %s: %v", name, err)
		}
	}
	c, err := crawler.New(crawler.Options{Identity: testIdentity, Seeds: []string{"http://a.example/"}})
	if err != nil {
		t.Fatal(err)
	}
	var bad *crawler.OptionError
	if err := c.Allow(func(l *crawler.Limits) { l.Patience = -2 }); !errors.As(err, &bad) || bad.Field != "Limits.Patience" {
		t.Errorf("Limits.Patience: %v", err)
	}
}

// Exchange.Wire is set only if an archive is written.
func TestTheWireIsKeptForTheArchive(t *testing.T) {
	for name, test := range map[string]struct {
		dir    bool
		output []crawler.Output
		want   bool
	}{
		"in memory": {false, nil, false}, "in a directory": {true, nil, true}, "without an archive": {true, []crawler.Output{crawler.OutputPages}, false},
		"an archive alone": {true, []crawler.Output{crawler.OutputWARC}, true},
	} {
		dir := t.TempDir()
		synctest.Test(t, func(t *testing.T) {
			w := crawltest.New(t)
			w.Site("http://a.example").Page("/", "x")
			o := crawler.Options{Identity: testIdentity, Seeds: []string{"http://a.example/"}, Wire: crawler.Wire{Network: w}, Keep: crawler.Keep{Output: test.output}}
			if test.dir {
				o.Dir = dir
			}
			c, err := crawler.New(o)
			if err != nil {
				t.Fatal(err)
			}
			err = c.Run(t.Context(), crawler.HandlerFunc(func(_ context.Context, p *crawler.Page) error {
				if x := p.Exchange; (len(x.Wire) > 0) != test.want || (len(x.RequestHead) > 0) != test.want {
					t.Errorf("%s: kept %q", name, x.Wire)
				}
				return nil
			}))
			if err != nil {
				t.Errorf("%s: %v", name, err)
			}
		})
	}
}

// optionFields returns the fields of Options, including those of its groups.
func optionFields() []reflect.StructField {
	return slices.DeleteFunc(reflect.VisibleFields(reflect.TypeFor[crawler.Options]()), func(f reflect.StructField) bool { return f.Anonymous })
}

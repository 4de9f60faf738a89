package audit_test

import (
	"context"
	"fmt"
	"io"
	"log/slog"
	"math/rand/v2"
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
	"github.com/permesso-crawler/permesso/internal/audit"
	"github.com/permesso-crawler/permesso/internal/store"
	"github.com/permesso-crawler/permesso/robots"
)

var testIdentity = crawler.Identity{Token: "benchbot", Contact: "https://example.org/benchbot"}

var quiet = slog.New(slog.DiscardHandler)

// A world is a random web together with the settings of a crawl of it.
type world struct {
	random *rand.Rand
	web    *crawltest.Web
	seeds  []string
	mu     sync.Mutex
	dir    string // directory of the current run
	killed string // directory of a copy that is made during the crawl, as a kill would leave it; empty: there is no kill
	killAt int    // number of requests before the kill
	opts   crawler.Options
}

func newWorld(t *testing.T, seed uint64, dir string) *world {
	w := &world{random: rand.New(rand.NewPCG(seed, 3)), web: crawltest.New(t), dir: dir}
	r := w.random
	addrs := []string{"16.1.1.1", "16.1.1.2", "16.1.1.3", "10.0.0.1"}
	origins := []string{"http://a.example", "https://a.example", "http://a.example:8080", "http://www.a.example", "http://b.example", "http://c.example", "http://d.example"}
	sites := 1 + r.IntN(5)
	if seed%4 == 0 {
		addrs, sites = addrs[:1], 6
	}
	for _, i := range r.Perm(len(origins))[:sites] {
		w.site(origins[i], addrs[r.IntN(len(addrs))])
	}
	w.web.Site("http://rules.example").Robots("User-agent: *\nDisallow: /no\nCrawl-delay: 9\n").Latency(time.Duration(r.IntN(2)) * time.Second)
	w.opts = crawler.Options{
		Hooks:    crawler.Hooks{Logger: quiet},
		Identity: testIdentity, Wire: crawler.Wire{Network: w.web, RootCAs: w.web.RootCAs(), AllowPrivate: true}, Seeds: w.seeds,
		Scope: crawler.Anywhere(), Keep: crawler.Keep{Output: []crawler.Output{crawler.OutputWARC}}, Budget: crawler.Budget{Limit: 6, Patience: time.Hour}, Pace: crawler.Pace{DomainDelay: time.Duration(r.IntN(2)) * 2 * time.Second, Delay: []time.Duration{0, 0, 3 * time.Second, 100 * time.Millisecond, crawler.NoDelay}[r.IntN(5)]},
	}
	if r.IntN(3) == 0 { // the setting is for one page, for a whole site, or for a robots.txt
		out := []string{"http://a.example/1", "http://b.example/", "http://rules.example/robots.txt", "http://c.example/robots.txt"}[r.IntN(4)]
		w.opts.OptOut = func(u frontier.URL) string {
			if strings.HasPrefix(u.String(), out) {
				return "by request"
			}
			return ""
		}
	}
	if r.IntN(4) == 0 {
		w.opts.Purpose = robots.PurposeResearch
	}
	w.opts.Requisites = r.IntN(3) == 0
	return w
}

// site makes a site with pages that link to each other and to other sites, and with some of the
// reasons for pauses.
func (w *world) site(origin, addr string) {
	r := w.random
	s := w.web.Site(origin).Addr(addr)
	if strings.HasPrefix(origin, "https:") && r.IntN(2) == 0 {
		s.HTTP2()
	}
	w.seeds = append(w.seeds, origin+"/0")
	rules := "User-agent: *\nDisallow: /no\n"
	maxAge := ""
	switch r.IntN(11) {
	case 7:
		maxAge = "max-age=300" // too short to have an effect
	case 8:
		s.Redirect("/robots.txt", "http://rules.example/elsewhere") // this target does not exist
		rules = "none"
	case 9:
		s.Redirect("/robots.txt", "http://rules.example/no/way") // the rules of that site forbid this target
		rules = "none"
	case 10:
		s.Status("/robots.txt", 403)
		rules = "none"
	case 0:
		rules += "Crawl-delay: 4\n"
	case 1:
		rules += "Request-rate: 1/7\n"
	case 2:
		rules = ""
	case 3:
		s.Status("/robots.txt", 503)
	case 4:
		s.Redirect("/robots.txt", "http://rules.example/robots.txt")
		rules = "none"
	case 5:
		s.Redirect("/robots.txt", "/r1").Redirect("/r1", "/r2").Func("/r2", func(rw http.ResponseWriter, _ *http.Request) {
			io.WriteString(rw, "User-agent: *\nDisallow: /no\nCrawl-delay: 6\n")
		})
		rules = "none"
	case 6:
		rules += "Visit-time: 0000-0700\n"
	}
	if rules != "none" && rules != "" {
		s.Func("/robots.txt", func(rw http.ResponseWriter, req *http.Request) {
			rw.Header().Set("ETag", `"one"`)
			if maxAge != "" {
				rw.Header().Set("Cache-Control", maxAge)
			}
			if maxAge != "" && req.Header.Get("If-None-Match") != "" {
				rw.WriteHeader(http.StatusNotModified)
				return
			}
			io.WriteString(rw, rules)
		})
	}
	if r.IntN(3) == 0 {
		s.Latency(time.Duration(r.IntN(900)) * time.Millisecond)
	}
	for i := range 5 {
		target := fmt.Sprintf("/%d", i)
		html := fmt.Sprintf(`<img src="/no/i.png"><img src="/i.png"><a href="/%d">1</a><a href="/no/%d">2</a><a href="%s/%d">3</a>`, i+1, i, w.seeds[r.IntN(len(w.seeds))], i)
		switch r.IntN(10) {
		case 9:
			s.Func(target, func(rw http.ResponseWriter, _ *http.Request) {
				w.hit()
				rw.Header().Set("Content-Type", "text/html")
				rw.Header().Set("Retry-After", "40") // Retry-After of a page that exists
				io.WriteString(rw, html)
			})
		case 0:
			s.Flaky(target, html, "20", 429)
		case 1:
			s.Flaky(target, html, "", 503, 500)
		case 2:
			s.Redirect(target, "/8")
		case 3:
			s.Reset(target)
		default:
			s.Func(target, func(rw http.ResponseWriter, _ *http.Request) {
				w.hit()
				rw.Header().Set("Content-Type", "text/html")
				io.WriteString(rw, html)
			})
		}
	}
	s.Page("/8", "").Page("/5", "")
}

// hit counts a request. At the request with the number killAt it copies the files of the crawl,
// as a kill would leave them; the crawl then continues in the copy.
func (w *world) hit() {
	time.Sleep(time.Millisecond) // let all other goroutines finish, in virtual time
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.killAt--; w.killAt == 0 {
		if err := os.CopyFS(w.killed, os.DirFS(w.dir)); err != nil {
			panic(err)
		}
	}
}

func (w *world) run(t *testing.T) {
	t.Helper()
	w.opts.Dir = w.dir
	c, err := crawler.New(w.opts)
	if err != nil {
		t.Fatal(err)
	}
	if err := c.Run(context.Background(), nil); err != nil {
		t.Fatal(err)
	}
}

// crawl makes a crawl of three runs and returns its directory. The first run may be killed. The
// last run has other settings.
func (w *world) crawl(t *testing.T, parent string) string {
	w.killAt, w.killed = 1+w.random.IntN(8), filepath.Join(parent, "killed")
	w.run(t)
	if _, err := os.Stat(w.killed); err == nil {
		w.dir = w.killed
	}
	w.opts.Limit += 4
	w.run(t)
	w.opts.Limit, w.opts.Delay = w.opts.Limit+4, 2*time.Second
	w.run(t)
	return w.dir
}

// larger returns the number in the environment variable, or usually if it is not set.
func larger(variable string, usually int) int {
	if n, err := strconv.Atoi(os.Getenv(variable)); err == nil && n > 0 {
		return n
	}
	return usually
}

// An audit finds no violation in crawls that are killed and resumed, and that have all kinds of
// pauses.
func TestAuditOfPoliteCrawlsFindsNothing(t *testing.T) {
	crawls := larger("PERMESSO_AUDITS", 24)
	var mu sync.Mutex
	killed, requests, checked := 0, int64(0), map[audit.Code]int64{}
	t.Run("crawls", func(t *testing.T) {
		for seed := range crawls {
			t.Run(strconv.Itoa(seed), func(t *testing.T) {
				t.Parallel() // in parallel, because each test waits for the disk
				r := audited(t, uint64(seed))
				mu.Lock()
				defer mu.Unlock()
				killed, requests = killed+r.Killed, requests+r.Requests
				for _, c := range r.Checks {
					checked[c.Code] += c.Checked
				}
			})
		}
	})
	if killed < crawls/3 {
		t.Errorf("%d of %d crawls were killed", killed, crawls)
	}
	for _, c := range audit.Codes() {
		if checked[c.Code] == 0 {
			t.Errorf("%s was held against nothing", c.Code)
		}
	}
	t.Logf("%d crawls, %d of them killed, %d requests: %v", crawls, killed, requests, checked)
}

// audited makes a crawl and returns its audit.
func audited(t *testing.T, seed uint64) *audit.Report {
	parent := t.TempDir()
	var dir string
	synctest.Test(t, func(t *testing.T) {
		dir = newWorld(t, seed, filepath.Join(parent, "live")).crawl(t, parent)
	})
	r, err := audit.Dir(dir, audit.Options{Violation: func(v *audit.Violation) error {
		t.Errorf("%v %+v", v, v.Pause)
		return nil
	}})
	if err != nil {
		t.Fatal(err)
	}
	if t.Failed() {
		log, _ := os.ReadFile(filepath.Join(dir, store.LogFile))
		for n, line := range strings.Split(string(log), "\n") {
			t.Logf("%d %s", n+1, line)
		}
	}
	return r
}

// If the robots.txt of a site cannot be fetched, the site must rest. This delays the other
// sites of its host by that one rest, and no more.
func TestASiteWithoutItsRulesDoesNotBindItsHost(t *testing.T) {
	for name, fault := range map[string]func(s *crawltest.Site){
		"500":              func(s *crawltest.Site) { s.Status("/robots.txt", 500) },
		"503":              func(s *crawltest.Site) { s.Status("/robots.txt", 503) },
		"reset":            func(s *crawltest.Site) { s.Reset("/robots.txt") },
		"503, Retry-After": func(s *crawltest.Site) { s.Flaky("/robots.txt", "", "20", 503) },
	} {
		dir := t.TempDir()
		synctest.Test(t, func(t *testing.T) {
			web := crawltest.New(t)
			fault(web.Site("http://a.example").Addr("16.1.1.1"))
			good := web.Site("http://a.example:8080").Addr("16.1.1.1")
			for i := range 9 {
				good.Page("/"+strconv.Itoa(i), fmt.Sprintf(`<a href="/%d">next</a>`, i+1))
			}
			c, err := crawler.New(crawler.Options{
				Hooks: crawler.Hooks{Logger: quiet}, Identity: testIdentity, Wire: crawler.Wire{Network: web}, Dir: dir, Budget: crawler.Budget{Patience: time.Hour, MaxTime: 3 * time.Minute},
				Seeds: []string{"http://a.example/", "http://a.example:8080/0"}, Keep: crawler.Keep{Output: []crawler.Output{}},
			})
			if err != nil {
				t.Fatal(err)
			}
			if err := c.Run(context.Background(), nil); err != nil {
				t.Fatal(err)
			}
			if n := c.Summary().Pages; n < 9 {
				t.Errorf("%s: %d pages", name, n)
			}
		})
		if _, err := audit.Dir(dir, audit.Options{Violation: func(v *audit.Violation) error {
			t.Errorf("%s: %v", name, v)
			return nil
		}}); err != nil {
			t.Error(err)
		}
	}
}

package crawler_test

import (
	"bytes"
	"fmt"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/permesso-crawler/permesso/crawler"
	"github.com/permesso-crawler/permesso/internal/store"
)

// A new crawl keeps the pauses that sites required in the previous crawl, by wall-clock time. It
// also uses their robots.txt while it is valid.
func TestRestsAndRobotsAreCarriedOver(t *testing.T) {
	for name, c := range map[string]struct {
		between time.Duration
		rest    time.Duration // time from the start of the second crawl to its first request
		robots  string        // requests for robots.txt in the second crawl: "c" for a conditional one, "-" for another
	}{
		"at once":    {0, time.Hour, ""},
		"in a while": {20 * time.Minute, 40 * time.Minute, ""},
		"next week":  {7 * 24 * time.Hour, 0, "c"},
	} {
		bubble(t, func(s *series, shelf *shelf) {
			rules := ""
			s.web.Site("http://a.example").Func("/robots.txt", func(w http.ResponseWriter, req *http.Request) {
				shelf.mu.Lock()
				defer shelf.mu.Unlock()
				if w.Header().Set("ETag", `"r"`); req.Header.Get("If-None-Match") != "" {
					rules += "c"
					w.WriteHeader(http.StatusNotModified)
					return
				}
				rules += "-"
				w.Write([]byte("User-agent: *\nDisallow: /no\n"))
			})
			shelf.put("/", resource{body: filler + pages("/no"), header: http.Header{"Retry-After": {"3600"}}})
			s.crawl()
			rules = ""
			time.Sleep(c.between)
			began := time.Now()
			s.crawl(func(o *crawler.Options) { o.Patience = 2 * time.Hour })
			var first time.Time
			for _, r := range s.web.Log() {
				if !r.Start.Before(began) {
					first = r.Start
					break
				}
			}
			if got := first.Sub(began).Round(time.Minute); got != c.rest || rules != c.robots {
				t.Errorf("%s: asked after %v, want %v; robots.txt %q, want %q", name, got, c.rest, rules, c.robots)
			}
			r, err := store.OpenReader(s.dir(2))
			if err != nil {
				t.Fatal(err)
			}
			defer r.Close()
			n := 0
			for snapshot, err := range r.Snapshots("http://a.example") {
				if err != nil {
					t.Fatal(err)
				}
				if n++; n == 1 && !snapshot.Fetched.Before(began.Add(-c.between)) {
					t.Errorf("%s: the first copy is of %v", name, snapshot.Fetched)
				}
			}
			if n != 1+len(c.robots) {
				t.Errorf("%s: %d copies", name, n)
			}
		})
	}
}

// An old robots.txt of the previous crawl is requested before any page. A run that continues after
// a kill requests it, too, and the pause of that run does not count as required by the site.
func TestAnOldRobotsTxtIsNotCarriedOverAKill(t *testing.T) {
	bubble(t, func(s *series, shelf *shelf) {
		killed := filepath.Join(s.root, "killed.crawl")
		s.web.Site("http://a.example").Func("/robots.txt", func(w http.ResponseWriter, req *http.Request) {
			if req.Header.Get("If-None-Match") != "" && s.n == 2 { // copy the state as a kill would leave it
				if err := os.CopyFS(killed, os.DirFS(s.dir(2))); err != nil {
					t.Error(err)
				}
			}
			w.Header().Set("ETag", `"r"`)
			io.WriteString(w, "User-agent: *\nDisallow: /no\n")
		})
		shelf.put("/", resource{body: filler + pages("/1")})
		shelf.put("/1", resource{body: filler + "1"})
		s.crawl()
		time.Sleep(7 * 24 * time.Hour)
		s.crawl()
		if err := os.Rename(killed, s.dir(3)); err != nil {
			t.Fatal(err)
		}
		began := time.Now()
		s.crawl(func(o *crawler.Options) { o.Previous = s.dir(1) })
		for _, r := range s.web.Log() {
			if !r.Start.Before(began) {
				if r.Target != "/robots.txt" {
					t.Errorf("the first request of a run after a kill is for %s", r.Target)
				}
				return
			}
		}
		t.Error("nothing was requested after a kill")
	})
}

// The Crawl-delay in a robots.txt of the previous crawl applies even to the first request after a
// kill, when no answer of this crawl has set the clocks of the site.
func TestACrawlDelayThatWasCarriedCountsAfterAKill(t *testing.T) {
	bubble(t, func(s *series, shelf *shelf) {
		killed := filepath.Join(s.root, "killed.crawl")
		site := s.web.Site("http://a.example").Robots("User-agent: *\nCrawl-delay: 20\n")
		site.Func("/", func(w http.ResponseWriter, req *http.Request) {
			if s.n == 2 { // copy the state as a kill would leave it
				if err := os.CopyFS(killed, os.DirFS(s.dir(2))); err != nil {
					t.Error(err)
				}
			}
		})
		s.crawl()
		time.Sleep(time.Hour)
		s.crawl()
		if err := os.Rename(killed, s.dir(3)); err != nil {
			t.Fatal(err)
		}
		time.Sleep(time.Minute)
		began := time.Now()
		s.crawl(func(o *crawler.Options) { o.Previous = s.dir(1) })
		log := s.web.Log()
		last := log[len(log)-1]
		if after := last.Start.Sub(began); last.Target != "/" || after < 20*time.Second || after > 21*time.Second {
			t.Errorf("%s was requested %v after the restart, want 20s", last.Target, after)
		}
	})
}

// A resumed crawl uses the data of its own earlier runs, and not those of the previous crawl.
func TestNothingIsCarriedIntoAResumedCrawl(t *testing.T) {
	bubble(t, func(s *series, shelf *shelf) {
		shelf.put("/", resource{body: filler + pages("/1")})
		shelf.put("/1", resource{body: filler + "1"})
		s.crawl()
		var carried []int
		start := func(o *crawler.Options) { o.OnStart = func(st crawler.Start) { carried = append(carried, st.Carried) } }
		s.crawl(start, func(o *crawler.Options) { o.Limit = 1 })
		s.n--
		s.crawl(start)
		if fmt.Sprint(carried) != "[1 0]" || len(s.last) != 1 {
			t.Errorf("carried %v, pages %v", carried, s.last)
		}
		log, err := os.ReadFile(filepath.Join(s.dir(2), store.LogFile))
		if err != nil || bytes.Count(log, []byte("carried:1")) != 1 {
			t.Errorf("the log: %v\n%s", err, log)
		}
	})
}

// If the state of the previous crawl cannot be read, its robots.txt and clocks are not copied, and
// this is logged. If another process runs that crawl, Run fails before any request.
func TestAStateThatCannotBeReadCarriesNothing(t *testing.T) {
	bubble(t, func(s *series, shelf *shelf) {
		shelf.put("/", resource{body: filler, etag: `"1"`})
		s.crawl()
		state := filepath.Join(s.dir(1), store.StateFile)
		raw, err := os.ReadFile(state)
		if err != nil {
			t.Fatal(err)
		}
		for name, damaged := range map[string][]byte{"zeros": make([]byte, len(raw)), "gone": nil} {
			if err := os.WriteFile(state, damaged, 0o644); err != nil {
				t.Fatal(err)
			}
			if damaged == nil {
				os.Remove(state)
			}
			before := s.web.Fetched("http://a.example/robots.txt")
			s.crawl(func(o *crawler.Options) { o.Previous = s.dir(1) })
			if p := s.last["/"]; !p.notModified || !strings.Contains(s.logs.String(), "is requested again") || s.web.Fetched("http://a.example/robots.txt") != before+1 {
				t.Errorf("%s: %+v, %s", name, p, s.logs.String())
			}
		}
	})
}

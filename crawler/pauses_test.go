package crawler_test

import (
	"context"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/permesso-crawler/permesso/crawler"
	"github.com/permesso-crawler/permesso/crawler/crawltest"
	"github.com/permesso-crawler/permesso/frontier"
	"github.com/permesso-crawler/permesso/internal/crawllog"
)

// A logged is a request in crawl.log. It has the fields from which its pause can be recomputed, as
// docs/reference/outputs.md describes.
type logged struct {
	site             frontier.Site
	start, end       time.Time
	since            time.Time // start of the pause; zero: the end of the site's last answer
	asked            time.Duration
	clock, annotated string
}

func loggedOf(t *testing.T, l *crawllog.Line) logged {
	t.Helper()
	u, err := frontier.ParseURL(l.URL)
	if err != nil {
		t.Fatal(err)
	}
	r := logged{site: u.Site(), annotated: fmt.Sprint(l.URL, " ", l.Annotations)}
	for _, a := range l.Annotations {
		key, value, _ := strings.Cut(a, ":")
		var err error
		switch key {
		case "start":
			r.start, err = time.Parse(crawllog.MicroForm, value)
		case "since":
			r.since, err = time.Parse(crawllog.MicroForm, value)
		case "took":
			var d time.Duration
			d, err = time.ParseDuration(value + "s")
			r.end = r.start.Add(d)
		case "asked":
			r.asked, err = time.ParseDuration(value + "s")
		case "clock":
			r.clock = value
		}
		if err != nil {
			t.Fatalf("%s: %v", r.annotated, err)
		}
	}
	return r
}

// pausesKept recomputes every pause from the log of a crawl, and checks that it was kept. It
// returns the number of requests by the clock of the pause.
func pausesKept(t *testing.T, dir string) map[string]int {
	t.Helper()
	const tick = 2 * time.Microsecond // tolerance, because two rounded times are compared
	near := func(a, b time.Time) bool { return a.Sub(b).Abs() <= tick }
	clocks := map[string]int{}
	ended := map[frontier.Site]time.Time{}
	var all []logged
	var begun []time.Time
	for _, l := range logLines(t, dir) {
		if l.URL == crawllog.RunURL {
			begun = append(begun, l.Time)
			continue
		}
		if l.Start.IsZero() {
			continue
		}
		r := loggedOf(t, l)
		since := r.since
		if since.IsZero() {
			since = ended[r.site]
		}
		switch {
		case r.clock == "" && !ended[r.site].IsZero():
			t.Errorf("no pause was required since %v: %s", ended[r.site], r.annotated)
		case r.clock != "" && since.IsZero():
			t.Errorf("the start of the pause is missing: %s", r.annotated)
		case r.clock != "" && r.start.Before(since.Add(r.asked-tick)):
			t.Errorf("begun %v early: %s", since.Add(r.asked).Sub(r.start), r.annotated)
		}
		clocks[r.clock]++
		ended[r.site] = r.end
		all = append(all, r)
	}
	// The start of a pause is always a time in the log, unless a kill has removed that line.
	unknown := 0
	for _, r := range all {
		known := r.since.IsZero() || r.clock == "machine"
		for _, o := range all {
			switch r.clock {
			case "host", "domain":
				known = known || near(o.end, r.since) && o.site.Domain() == r.site.Domain()
			case "ip":
				known = known || near(o.start, r.since)
			default:
				known = known || near(o.end, r.since) && o.site == r.site
			}
		}
		for _, b := range begun {
			known = known || r.clock == "restart" && r.since.Sub(b).Abs() < time.Second
		}
		if !known {
			unknown++
			if unknown > len(begun)-1 {
				t.Errorf("since is no moment of this log: %s", r.annotated)
			}
		}
	}
	return clocks
}

// For site owners: "All of this can be checked from `crawl.log`: the line of each
// request has the pause that it had to keep, since when, and what asked for it."
func TestEveryPauseCanBeRecomputedFromTheLog(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "live")
	killed := filepath.Join(t.TempDir(), "killed")
	synctest.Test(t, func(t *testing.T) {
		w := crawltest.New(t)
		var seeds []string
		site := func(origin, addr string) *crawltest.Site {
			seeds = append(seeds, origin+"/0")
			book(w, origin, 5)
			return w.Site(origin).Addr(addr)
		}
		for _, origin := range []string{"http://a.example", "https://a.example", "http://a.example:8080", "http://e.example", "http://f.example"} {
			site(origin, "16.1.1.1")
		}
		site("http://www.a.example", "16.1.1.2")
		site("http://b.example", "16.1.1.3").Latency(700 * time.Millisecond)
		site("http://c.example", "16.1.1.4").Robots("User-agent: *\nCrawl-delay: 3\n").Status("/2", 429)
		site("http://d.example", "16.1.1.5").Func("/2", func(rw http.ResponseWriter, r *http.Request) {
			if _, err := os.Stat(killed); err != nil {
				// Copies the state that a kill during the answer would leave.
				if err := os.CopyFS(killed, os.DirFS(dir)); err != nil {
					t.Error(err)
				}
			}
			rw.Header().Set("Retry-After", "20")
			rw.WriteHeader(http.StatusForbidden)
		})
		shared := &sharedClocks{until: time.Now().Add(3 * time.Second)}
		opts := crawler.Options{Identity: testIdentity, Seeds: seeds, Wire: crawler.Wire{Network: w, RootCAs: w.RootCAs()}, Pace: crawler.Pace{Shared: shared}}
		run := func(dir string) map[string]int {
			opts.Dir = dir
			c, err := crawler.New(opts)
			if err != nil {
				t.Fatal(err)
			}
			if err := c.Run(context.Background(), nil); err != nil {
				t.Fatal(err)
			}
			return pausesKept(t, dir)
		}
		clocks := run(dir)
		opts.DomainDelay = 2 * time.Second
		for c, n := range run(killed) {
			clocks[c] += n
		}
		for _, c := range []string{"own", "adaptive", "crawl-delay", "back-off", "retry-after", "restart", "host", "domain", "ip", "machine"} {
			if clocks[c] == 0 {
				t.Errorf("nothing waited for the clock %q: %v", c, clocks)
			}
		}
		w.AssertPolite()
	})
}

// sharedClocks are the clocks of a machine on which another process has just sent requests to every
// site.
type sharedClocks struct{ until time.Time }

func (s *sharedClocks) Reserve(key string, now, until time.Time) (frontier.Taken, bool) {
	return frontier.Taken{Until: s.until}, !s.until.After(now)
}

func (s *sharedClocks) Renew(string, time.Time) {}

func (s *sharedClocks) Release(string, time.Time) {}

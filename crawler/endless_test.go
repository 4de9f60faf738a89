package crawler_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"maps"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/permesso-crawler/permesso/crawler"
	"github.com/permesso-crawler/permesso/crawler/crawltest"
	"github.com/permesso-crawler/permesso/crawler/revisit"
	"github.com/permesso-crawler/permesso/internal/account"
	"github.com/permesso-crawler/permesso/internal/audit"
	"github.com/permesso-crawler/permesso/internal/store"
)

// An endless is a crawl in virtual time, of pages that change.
type endless struct {
	t    *testing.T
	web  *crawltest.Web
	dir  string // directory of the crawl; empty: in memory
	opts func(*crawler.Options)
	sum  crawler.Summary
	left []string

	turn sync.Mutex // locked while the test changes the pages

	mu   sync.Mutex
	seen map[string][]string // the visits of each target, as day, status and change
}

// inVirtualTime runs a test of a crawl without an end. If kept is true, the crawl has a directory.
func inVirtualTime(t *testing.T, kept bool, test func(e *endless, shelf *shelf)) {
	dir := ""
	if kept {
		dir = t.TempDir()
	}
	synctest.Test(t, func(t *testing.T) {
		w := crawltest.New(t)
		e := &endless{t: t, web: w, dir: dir, seen: map[string][]string{}}
		test(e, newShelf(w.Site("http://a.example")))
		w.AssertPolite()
		if dir != "" {
			e.whole()
		}
	})
}

// whole checks that all files of the crawl are consistent.
func (e *endless) whole() {
	e.t.Helper()
	if _, err := store.Verify(context.Background(), e.dir, func(err error) { e.t.Error(err) }); err != nil {
		e.t.Error(err)
	}
	report, err := audit.Dir(e.dir, audit.Options{})
	if err != nil || !report.Clean() || report.UnprovenLines > 0 {
		e.t.Errorf("the audit says %+v, %v", report, err)
	}
	s, err := crawler.ReadStatus(e.dir)
	if err != nil {
		e.t.Fatal(err)
	}
	is, was := s.Crawl, e.sum.Frontier
	if counted := figuresOf(e.t, e.dir); is != counted || is.Queued != was.Entries || is.Again != was.Again || is.Done != was.Done || !is.NextAgain.Equal(e.sum.NextAgain) {
		e.t.Errorf("the status says %+v, at the end of the run it was %+v, next %v; counted are %+v", is, was, e.sum.NextAgain, counted)
	}
	left := 0
	for _, n := range e.sum.Left {
		left += n
	}
	if left != was.Entries || left != len(e.left) {
		e.t.Errorf("%d are left, %v are reported, %d queued", left, e.left, was.Entries)
	}
}

// figuresOf computes the figures of a crawl from its URLs, to compare them with the recorded ones.
func figuresOf(t *testing.T, dir string) (n crawler.StatusCrawl) {
	t.Helper()
	r, err := store.OpenReader(dir)
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	for st, wrong := range r.Sites() {
		err = errors.Join(err, wrong)
		n.BudgetPages += st.Spent.Pages
		n.Bytes += st.Spent.Bytes
	}
	for site, wrong := range r.Names() {
		err = errors.Join(err, wrong)
		for k, wrong := range r.Entries(site) {
			err = errors.Join(err, wrong)
			n.Known++
			switch {
			case k.Fate.Again():
				if n.Again++; n.NextAgain.IsZero() || k.Fate.Until.Before(n.NextAgain) {
					n.NextAgain = k.Fate.Until
				}
			case k.Fate.Ends():
				n.Done++
			default:
				n.Queued++
			}
		}
	}
	if err != nil {
		t.Fatal(err)
	}
	return n
}

// run crawls for the time long. Meanwhile it calls each function in world when its time from the
// start of the run has come.
func (e *endless) run(long time.Duration, policy revisit.Policy, world map[time.Duration]func()) {
	e.t.Helper()
	o := crawler.Options{
		Identity: testIdentity, Seeds: []string{"http://a.example/"}, Wire: crawler.Wire{Network: e.web}, Dir: e.dir, Budget: crawler.Budget{MaxTime: long}, Revisit: policy,
		Hooks: crawler.Hooks{Logger: slog.New(slog.NewTextHandler(io.Discard, nil))},
	}
	if e.opts != nil {
		e.opts(&o)
	}
	c, err := crawler.New(o)
	if err != nil {
		e.t.Fatal(err)
	}
	begin := time.Now()
	for _, at := range slices.Sorted(maps.Keys(world)) {
		time.AfterFunc(at, func() {
			e.turn.Lock()
			defer e.turn.Unlock()
			world[at]()
		})
	}
	err = c.Run(e.t.Context(), crawler.HandlerFunc(func(_ context.Context, p *crawler.Page) error {
		e.mu.Lock()
		defer e.mu.Unlock()
		target := p.URL.Target()
		e.seen[target] = append(e.seen[target], fmt.Sprintf("%d %d %s", int(time.Since(begin)/days), p.Status, p.Change()))
		return nil
	}))
	if err != nil {
		e.t.Fatal(err)
	}
	e.sum, e.left = c.Summary(), nil
	for s, err := range c.Left() {
		if err != nil {
			e.t.Error(err)
		}
		e.left = append(e.left, s.URL.Target())
	}
}

// expect checks that the visits of a target were those in visits.
func (e *endless) expect(target, visits string) {
	e.t.Helper()
	if got := strings.Join(e.seen[target], ", "); got != visits {
		e.t.Errorf("%s:\n %s, want\n %s", target, got, visits)
	}
}

// listedIn returns the URLs of a crawl with their codes, by target.
func listedIn(t *testing.T, dir string) map[string]account.Listed {
	t.Helper()
	r, err := store.OpenReader(dir)
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	a, err := account.New(&r.Records, time.Now())
	if err != nil {
		t.Fatal(err)
	}
	all := map[string]account.Listed{}
	for l, err := range a.List("http://a.example") {
		if err != nil {
			t.Fatal(err)
		}
		all[l.URL.Target()] = l
	}
	return all
}

package state

import (
	"errors"
	"fmt"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/permesso-crawler/permesso/frontier"
)

// Many sites have pages that each have the only link to the next page. So much is pending that
// nothing else is merged. A site with no entry left to read still gets its next request as soon
// as its delay is over, also on a slow disk, and if all its entries are on hold.
func TestASiteThatRanDryDoesNotStarve(t *testing.T) {
	const (
		sites, pages = 40, 12
		delay        = 200 * time.Millisecond
		took         = 5 * time.Millisecond // least duration of a request; the longest is this times sites, so that a request is always running
	)
	for name, c := range map[string]struct {
		sync time.Duration
		hold bool
	}{"fast": {0, false}, "slow": {40 * time.Millisecond, false}, "held": {0, true}} {
		sync := c.sync
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				l := Usual
				l.SmallPending, l.SomeMerge = 0, 0
				db, err := start(t.TempDir(), Options{Limits: &l, SyncDelay: sync})
				if err != nil {
					t.Fatal(err)
				}
				r := &chains{t: t, hold: c.hold, pages: pages, took: took, last: map[frontier.Site]time.Time{}, asked: map[frontier.Site]int{}}
				f, err := frontier.New(db, frontier.Options{Delay: delay, IPDelay: -1})
				if err != nil {
					t.Fatal(err)
				}
				var seeds []frontier.Entry
				for i := range sites {
					seeds = append(seeds, entry(t, fmt.Sprintf("http://h%d.example/0", i)))
				}
				if err := f.Add(seeds...); err != nil {
					t.Fatal(err)
				}
				ended := make(chan struct{})
				go r.take(f, ended)
				r.crawl(f, sites)
				close(ended)
				// A new link waits for the running commit and for its own commit, each with two
				// syncs, and for the group to gather.
				most := max(delay, 4*sync+30*time.Millisecond) + sites*took + 10*time.Millisecond
				if r.longest > most {
					t.Errorf("a site was left alone for %v, want at most %v", r.longest, most)
				}
				for site, n := range r.asked {
					if n != pages {
						t.Errorf("%s got requests for %d of %d pages", site, n, pages)
					}
				}
				if st := f.Stats(); st.Entries+st.Held != 0 {
					t.Errorf("at the end: %+v", st)
				}
				if err := db.Close(); err != nil {
					t.Error(err)
				}
			})
		})
	}
}

// chains are sites whose pages each have one link, to the next page.
type chains struct {
	t       *testing.T
	hold    bool
	pages   int
	took    time.Duration
	mu      sync.Mutex
	last    map[frontier.Site]time.Time
	asked   map[frontier.Site]int
	longest time.Duration // longest time between the starts of two requests to a site
	held    []*frontier.Turn
}

func (r *chains) crawl(f *frontier.Frontier, workers int) {
	var all sync.WaitGroup
	for range workers {
		all.Go(func() {
			for {
				turn, err := f.Next(r.t.Context())
				if errors.Is(err, frontier.ErrEnd) {
					return
				}
				if err != nil {
					r.t.Error(err)
					return
				}
				if _, err := turn.Finish(r.ask(turn)); err != nil {
					r.t.Error(err)
					return
				}
				if r.hold {
					r.mu.Lock()
					r.held = append(r.held, turn)
					r.mu.Unlock()
				}
			}
		})
	}
	all.Wait()
}

// take ends entries that are on hold, when nothing else is left to do.
func (r *chains) take(f *frontier.Frontier, ended <-chan struct{}) {
	for {
		select {
		case <-f.Idle():
		case <-ended:
			return
		}
		synctest.Wait()
		r.mu.Lock()
		held := r.held
		r.held = nil
		r.mu.Unlock()
		for _, turn := range held {
			if err := turn.Done(); err != nil {
				r.t.Error(err)
			}
		}
	}
}

func (r *chains) ask(turn *frontier.Turn) frontier.Outcome {
	site, start := turn.Site(), time.Now()
	r.mu.Lock()
	n := r.asked[site]
	r.asked[site]++
	if last, ok := r.last[site]; ok {
		r.longest = max(r.longest, start.Sub(last))
	}
	r.last[site] = start
	r.mu.Unlock()
	var h int
	fmt.Sscanf(string(site), "http://h%d.", &h)
	time.Sleep(time.Duration(h+1) * r.took)
	o := frontier.Outcome{
		Request: &frontier.Request{Started: start, FirstByte: start, Ended: time.Now()},
		Fate:    frontier.Fate{Code: frontier.Fetched, Status: 200},
	}
	o.Hold = r.hold
	if n+1 < r.pages {
		o.Links = append(o.Links, entry(r.t, fmt.Sprintf("%s/%d", site, n+1)))
	}
	return o
}

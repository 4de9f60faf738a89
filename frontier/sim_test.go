package frontier

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"net/netip"
	"sync"
	"testing"
	"testing/synctest"
	"time"
)

// A referee watches a simulated crawl: workers that do random things with
// their turns. It knows the promises of the package and nothing of how they
// are kept.
type referee struct {
	t     *testing.T
	delay time.Duration

	mu    sync.Mutex
	rand  *rand.Rand
	out   map[Site]bool
	ended map[Site]time.Time // end of the last request
	not   map[Site]time.Time // not to be asked before
	done  map[string]int     // URLs that ended
	known map[string]bool    // URLs that were added
	busy  map[netip.Addr]int
	start map[netip.Addr]time.Time
}

func newReferee(t *testing.T, seed uint64, delay time.Duration) *referee {
	return &referee{
		t: t, delay: delay, rand: rand.New(rand.NewPCG(seed, 1)),
		out: map[Site]bool{}, ended: map[Site]time.Time{}, not: map[Site]time.Time{},
		done: map[string]int{}, known: map[string]bool{}, busy: map[netip.Addr]int{}, start: map[netip.Addr]time.Time{},
	}
}

func (r *referee) intn(n int) int {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.rand.IntN(n)
}

// took is called with every right that is had.
func (r *referee) took(s Site) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.out[s] {
		r.t.Errorf("two turns of %s are out", s)
	}
	r.out[s] = true
}

func (r *referee) gave(s Site) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.out[s] = false
}

// asks is called when a request starts.
func (r *referee) asks(s Site, addr netip.Addr) {
	r.mu.Lock()
	defer r.mu.Unlock()
	now := time.Now()
	if last := r.ended[s]; !last.IsZero() && now.Sub(last) < r.delay {
		r.t.Errorf("%s asked %v after its last answer", s, now.Sub(last))
	}
	if until := r.not[s]; now.Before(until) {
		r.t.Errorf("%s asked %v before it wanted", s, until.Sub(now))
	}
	if r.busy[addr]++; r.busy[addr] > 2 {
		r.t.Errorf("%d requests at %s at once", r.busy[addr], addr)
	}
	if last := r.start[addr]; !last.IsZero() && now.Sub(last) < 250*time.Millisecond {
		r.t.Errorf("%s asked %v after its last start", addr, now.Sub(last))
	}
	r.start[addr] = now
}

func (r *referee) answered(s Site, addr netip.Addr, not time.Time) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.busy[addr]--
	r.ended[s] = time.Now()
	if not.After(r.not[s]) {
		r.not[s] = not
	}
}

func (r *referee) end(u URL) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.done[u.Key()]++; r.done[u.Key()] > 1 {
		r.t.Errorf("%s ended twice", u)
	}
}

func (r *referee) add(entries []Entry) []Entry {
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, e := range entries {
		r.known[e.URL.Key()] = true
	}
	return entries
}

// worker does with its turns what a crawl could do.
func (r *referee) worker(f *Frontier, urls []URL) error {
	for {
		turn, err := f.Next(context.Background())
		if err != nil {
			return err
		}
		r.took(turn.Site())
		o := r.play(turn, urls)
		r.gave(turn.Site())
		fate, err := turn.Finish(o)
		if err != nil {
			return err
		}
		if fate.Code != Undecided && fate.Code != Waiting {
			r.end(turn.Entry().URL)
		}
		if _, err := turn.Finish(o); !errors.Is(err, ErrFinished) {
			r.t.Errorf("second Finish: %v", err)
		}
	}
}

func (r *referee) play(turn *Turn, urls []URL) Outcome {
	addr := netip.AddrFrom4([4]byte{16, 0, 0, byte(len(turn.Site()) % 3)})
	switch r.intn(8) {
	case 0: // refused by a rule: no request
		return Outcome{Fate: Fate{Code: RobotsDisallowed}}
	case 1: // robots.txt redirects elsewhere
		hop, err := turn.Hop(urls[r.intn(len(urls))].Site())
		if err != nil {
			return Outcome{Again: true}
		}
		r.took(hop.Site())
		o, _ := r.request(hop, addr)
		o.Again = true
		r.gave(hop.Site())
		if _, err := hop.Finish(o); err != nil {
			r.t.Error(err)
		}
		return Outcome{Again: true}
	}
	o, bound := r.request(turn, addr)
	if !bound {
		return Outcome{Again: true}
	}
	switch r.intn(6) {
	case 0:
		o.Trouble = PageTrouble
	case 1:
		o.Again = true
	}
	o.Fate = Fate{Code: Fetched, Status: 200}
	var links []Entry
	for range r.intn(4) {
		links = append(links, turn.Entry().Found(urls[r.intn(len(urls))], HopLink))
	}
	o.Links = r.add(links)
	return o
}

// request makes one request by the right of turn.
func (r *referee) request(turn *Turn, addr netip.Addr) (Outcome, bool) {
	if err := turn.Bind(addr, true); err != nil {
		var notYet *NotYet
		if !errors.As(err, &notYet) {
			r.t.Error(err)
		}
		return Outcome{}, false
	}
	r.asks(turn.Site(), addr)
	start := time.Now()
	time.Sleep(time.Duration(r.intn(700)) * time.Millisecond)
	o := Outcome{Request: &Request{Started: start, FirstByte: time.Now(), Ended: time.Now()}}
	if r.intn(10) == 0 {
		o.Trouble = SiteTrouble
		o.RetryAfter = time.Now().Add(time.Duration(r.intn(20)) * time.Second)
	}
	r.answered(turn.Site(), addr, o.RetryAfter)
	return o, true
}

func TestFrontierKeepsItsPromises(t *testing.T) {
	for seed := range uint64(40) {
		t.Run(fmt.Sprint(seed), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				delay := []time.Duration{200 * time.Millisecond, time.Second, 3 * time.Second}[seed%3]
				r := newReferee(t, seed, delay)
				var urls []URL
				for i := range 150 {
					urls = append(urls, mustParse(t, fmt.Sprintf("http://%s.example/%d", "abcdefghij"[:1+i%10], i)))
				}
				f, err := New(NewMemory(), Options{Delay: delay, Patience: 24 * time.Hour})
				if err != nil {
					t.Fatal(err)
				}
				var seeds []Entry
				for _, u := range urls[:20] {
					seeds = append(seeds, Entry{URL: u})
				}
				if err := f.Add(r.add(seeds)...); err != nil {
					t.Fatal(err)
				}
				var workers sync.WaitGroup
				for range 5 {
					workers.Go(func() {
						if err := r.worker(f, urls); !errors.Is(err, ErrEnd) {
							t.Errorf("worker ended with %v", err)
						}
					})
				}
				workers.Wait()
				for key := range r.known {
					if r.done[key] != 1 {
						t.Errorf("%s ended %d times", key, r.done[key])
					}
				}
				st := f.Stats()
				if st.Entries != 0 || st.Out != 0 || st.Polite.Early != 0 {
					t.Errorf("at the end: %+v", st)
				}
			})
		})
	}
}

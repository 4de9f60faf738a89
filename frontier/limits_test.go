package frontier

import (
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"golang.org/x/time/rate"
)

// force is the referee's record of the current limits. allow updates it before or after the
// frontier, so that the referee reports no false failure while a limit changes.
type force struct {
	pages, turns int // 0: no limit
	rate         rate.Limit

	changed  time.Time // time of the last change of turns; a turn that starts at this time may belong to the old limit
	since    time.Time // when the current rate was set
	tokens   float64   // number of requests that earlier rates have permitted
	requests int       // number of requests while a rate is set

	out   int // turns that are out, without those of Hop
	moves int // number of all turns so far
	done  int // number of pages so far
}

func (in *force) took(hop bool) error {
	if in.moves++; hop {
		return nil
	}
	if in.out++; in.turns > 0 && in.out > in.turns && time.Now().After(in.changed) {
		return fmt.Errorf("%d turns are out; the limit is %d", in.out, in.turns)
	}
	return nil
}

// asked counts a request, and returns an error if the rate does not permit it. Each worker may be
// one request ahead, because a hop does not wait for the rate, but uses a token. When a rate is
// first set, each worker may have a request under way.
func (in *force) asked() error {
	in.requests++
	most := in.tokens + float64(in.rate)*time.Since(in.since).Seconds() + 1 + 2*workers
	if in.rate > 0 && float64(in.requests) > most {
		return fmt.Errorf("%d requests under a limit that is good for %v", in.requests, most)
	}
	return nil
}

func (in *force) ended(e Entry, fate Fate) error {
	if fate.Page() && e.Page() {
		in.done++
	}
	if in.pages > 0 && in.done > in.pages {
		return fmt.Errorf("%d pages; the limit is %d", in.done, in.pages)
	}
	return nil
}

// set updates the record to new limits.
func (in *force) set(l Limits) {
	now := time.Now()
	in.tokens += float64(in.rate) * now.Sub(in.since).Seconds()
	if in.rate == 0 || l.Rate == 0 {
		in.tokens, in.requests = 0, 0
	}
	in.pages, in.turns, in.rate, in.changed, in.since = l.Pages, l.Turns, l.Rate, now, now
}

// allow changes the limits of f. The limit of pages is only ever raised.
func (r *referee) allow(f *Frontier, change func(*Limits)) {
	l := limitsOf(f)
	change(&l)
	r.mu.Lock()
	if l.Rate == 0 || l.Pages != r.in.pages {
		r.in.set(l)
	}
	r.mu.Unlock()
	if err := f.Allow(func(old *Limits) { *old = l }); err != nil {
		r.t.Error(err)
	}
	r.mu.Lock()
	r.in.set(l)
	r.mu.Unlock()
}

func (r *referee) moves() int {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.in.moves
}

// meddle changes the limits of an open crawl while it runs, adds entries and calls Rest. At the
// end it removes all limits and lets the crawl end.
func (r *referee) meddle(f *Frontier) {
	for i := range 100 {
		time.Sleep(time.Duration(r.intn(5000)) * time.Millisecond)
		switch r.intn(6) {
		case 0, 1:
			r.allow(f, func(l *Limits) { l.Pages += r.intn(4) })
		case 2:
			r.allow(f, func(l *Limits) { l.Rate = rate.Limit(r.intn(4)) })
		case 3:
			r.allow(f, func(l *Limits) { l.Turns = r.intn(workers) })
		case 4:
			if err := f.Add(r.add([]Entry{{URL: mustParse(r.t, fmt.Sprintf("http://a.example/more/%d", i))}})...); err != nil {
				r.t.Error(err)
			}
		case 5:
			r.look(f)
		}
	}
	r.allow(f, func(l *Limits) { *l = Limits{Patience: Forever} })
}

// look checks that nothing happens between two equal results of Rest.
func (r *referee) look(f *Frontier) {
	first, from := f.Rest(), r.moves()
	time.Sleep(time.Duration(r.intn(300)) * time.Millisecond)
	to, second := r.moves(), f.Rest()
	if first.Out+first.Pending+first.Held+second.Out+second.Pending+second.Held == 0 && first.Activity == second.Activity && from != to {
		r.t.Errorf("%d turns between %+v and %+v", to-from, first, second)
	}
}

// finished finishes each turn with a page until the run ends, and counts the pages in n.
func finished(t *testing.T, f *Frontier, n *atomic.Int64) error {
	for {
		turn, err := f.Next(t.Context())
		if err != nil {
			return err
		}
		if _, err := turn.Finish(page); err != nil {
			return err
		}
		n.Add(1)
	}
}

// An entry that is added at the end of a run is crawled, or Add fails.
func TestAddAtTheEnd(t *testing.T) {
	for round := range 100 {
		synctest.Test(t, func(t *testing.T) {
			f := opened(t, new(memory), Options{}, "http://first.example/")
			var all sync.WaitGroup
			var asked, added atomic.Int64
			for range workers {
				all.Go(func() {
					if err := finished(t, f, &asked); err != ErrEnd {
						t.Error(err)
					}
				})
			}
			for i := range 2 {
				all.Go(func() {
					for n := range 20 {
						err := f.Add(Entry{URL: mustParse(t, fmt.Sprintf("http://h%d-%d.example/", i, n))})
						if err != nil {
							if err != ErrEnd {
								t.Error(err)
							}
							return
						}
						added.Add(1)
					}
				})
			}
			all.Wait()
			if asked.Load() != 1+added.Load() {
				t.Errorf("round %d: %d requests, 1+%d added", round, asked.Load(), added.Load())
			}
			if err := f.Add(Entry{URL: mustParse(t, "http://late.example/")}); err != ErrEnd {
				t.Errorf("after the end: %v", err)
			}
			if st := f.Stats(); st.Entries != 0 {
				t.Errorf("%d entries are left", st.Entries)
			}
		})
	}
}

// If a limit is raised at the end of a run, the run uses it, or Allow fails.
func TestAllowAtTheEnd(t *testing.T) {
	var urls []string
	for i := range 100 {
		urls = append(urls, fmt.Sprintf("http://h%d.example/", i))
	}
	for range 50 {
		synctest.Test(t, func(t *testing.T) {
			f := opened(t, new(memory), Options{Limit: 1}, urls...)
			var all sync.WaitGroup
			var asked, granted atomic.Int64
			for range workers {
				all.Go(func() {
					if err := finished(t, f, &asked); err != ErrLimit {
						t.Error(err)
					}
				})
			}
			for range 2 {
				all.Go(func() {
					for range 20 {
						if err := f.Allow(func(l *Limits) { l.Pages++ }); err != nil {
							if err != ErrLimit {
								t.Error(err)
							}
							return
						}
						granted.Add(1)
					}
				})
			}
			all.Wait()
			if asked.Load() != 1+granted.Load() {
				t.Errorf("%d requests, 1+%d granted", asked.Load(), granted.Load())
			}
		})
	}
}

// With Forever a run waits for any clock, and ends when nothing waits.
func TestForeverEnds(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := opened(t, new(memory), Options{Patience: Forever}, "http://a.example/")
		turn, err := f.Next(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		if _, err := turn.Finish(Outcome{Again: true, Defer: time.Now().Add(300 * 24 * time.Hour)}); err != nil {
			t.Fatal(err)
		}
		var asked atomic.Int64
		if err := finished(t, f, &asked); err != ErrEnd || asked.Load() != 1 {
			t.Errorf("%d requests, then %v", asked.Load(), err)
		}
	})
}

func TestNegativeLimitsChangeNothing(t *testing.T) {
	f := opened(t, new(memory), Options{Limit: 7, Rate: 3}, "http://a.example/")
	before := limitsOf(f)
	for _, change := range []func(*Limits){
		func(l *Limits) { l.Pages = -1 }, func(l *Limits) { l.Bytes = -1 }, func(l *Limits) { l.Rate = -1 }, func(l *Limits) { l.Turns = -1 },
	} {
		err := f.Allow(func(l *Limits) { l.Patience = Forever; change(l) })
		if err == nil || errors.Is(err, ErrEnd) || limitsOf(f) != before {
			t.Errorf("%v; now %+v", err, limitsOf(f))
		}
	}
}

// Next returns at once when the limits do not permit another turn any more.
func TestAnOpenFrontierIsClosed(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := opened(t, new(memory), Options{Limit: 1}, "http://a.example/", "http://b.example/")
		if err := f.Allow(func(l *Limits) { l.Open = true }); err != nil {
			t.Fatal(err)
		}
		turn, err := f.Next(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		if _, err := turn.Finish(page); err != nil {
			t.Fatal(err)
		}
		told := waiting(t.Context(), f, workers)
		time.Sleep(time.Hour)
		if err := f.Allow(func(l *Limits) { l.Open = false }); err != nil {
			t.Fatal(err)
		}
		if all := reads(t, told, workers); len(all) != 1 || !all["+1h0m0s "+ErrLimit.Error()] {
			t.Errorf("%v", all)
		}
	})
}

// limitsOf returns the current limits of f.
func limitsOf(f *Frontier) Limits {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.limits
}

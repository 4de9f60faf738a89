package store

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/permesso-crawler/permesso/frontier"
	"github.com/permesso-crawler/permesso/internal/state"
)

// A referee checks the requests that a frontier over a DB makes in some virtual weeks, across
// kills. It remembers all requests itself, so a kill does not change what it knows.
type referee struct {
	t     *testing.T
	delay time.Duration

	mu    sync.Mutex
	rand  *rand.Rand
	run   int
	out   map[frontier.Site]bool
	ended map[frontier.Site]time.Time // end of the last request to a site
	not   map[frontier.Site]time.Time // no request to a site may begin before this time, which an acknowledged answer has set
	rests map[frontier.Site]*rests    // the failures that make a site rest
	asked map[string]int              // number of the last run in which the entry of a URL ended
	links map[string][]frontier.URL   // links of a page, which are the same each time it is served
	known map[string]bool             // URLs that were linked in an answer, acknowledged or not
	pages int

	turns []*frontier.Turn // turns of this run whose entries were put on hold
	held  map[string]bool  // URLs that were put on hold in any run and were not taken since
}

func (r *referee) intn(n int) int {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.rand.IntN(n)
}

// worker takes turns from f and ends them as a crawl does. When ctx ends, which stands for a
// kill, worker returns and does not give back its turn.
func (r *referee) worker(ctx context.Context, f *frontier.Frontier) error {
	for {
		turn, err := f.Next(ctx)
		if err != nil {
			return err
		}
		o, done := r.ask(ctx, turn)
		if !done {
			return ctx.Err()
		}
		e := turn.Entry()
		r.mu.Lock()
		r.out[turn.Site()] = false
		r.mu.Unlock()
		o.Hold = r.intn(3) == 0
		if e.Visits == nil && r.intn(3) == 0 {
			o.Revisit, o.Changed = time.Now().Add(time.Duration(r.intn(200))*time.Hour), r.intn(2) == 0
		}
		if r.intn(3) == 0 {
			o.Changes = r.changes()
		}
		fate, err := turn.Finish(o)
		if ctx.Err() != nil {
			return ctx.Err()
		}
		if err != nil {
			r.t.Error(err)
			return err
		}
		if !fate.Ends() && !turn.Held() {
			continue
		}
		r.mu.Lock()
		if run, ok := r.asked[e.URL.Key()]; ok && run == r.run && fate.Ends() {
			r.t.Errorf("%s ended twice in run %d", e.URL, run)
		}
		if fate.Ends() {
			r.asked[e.URL.Key()] = r.run
		}
		delete(r.held, e.URL.Key())
		if turn.Held() {
			r.held[e.URL.Key()] = true
			r.turns = append(r.turns, turn)
		}
		r.mu.Unlock()
	}
}

// changes reports that some known pages have changed within the last two days.
func (r *referee) changes() *frontier.Changes {
	r.mu.Lock()
	defer r.mu.Unlock()
	c := &frontier.Changes{Told: time.Now(), Least: time.Duration(r.rand.IntN(20)) * time.Hour}
	for _, key := range slices.Sorted(maps.Keys(r.known)) {
		u, err := frontier.ParseURL(key)
		if err != nil {
			r.t.Error(err)
			continue
		}
		c.Pages = append(c.Pages, frontier.Change{Site: u.Site(), Key: u.Key(), Time: c.Told.Add(-time.Duration(r.rand.IntN(48)) * time.Hour)})
	}
	return c
}

// take ends entries that are on hold: some at random, and all of them if nothing else can be
// done.
func (r *referee) take(ctx context.Context, f *frontier.Frontier) {
	for {
		select {
		case <-f.Idle():
		case <-time.After(time.Duration(r.intn(4000)) * time.Millisecond):
		case <-ctx.Done():
			return
		}
		r.mu.Lock()
		turns := r.turns
		r.turns = nil
		for _, turn := range turns {
			delete(r.held, turn.Entry().URL.Key())
		}
		r.mu.Unlock()
		for _, turn := range turns {
			if err := turn.Done(); err != nil && ctx.Err() == nil {
				r.t.Error(err)
			}
		}
	}
}

// ask makes one request for a turn and returns its outcome. done is false if the process was
// killed during the request.
func (r *referee) ask(ctx context.Context, turn *frontier.Turn) (o frontier.Outcome, done bool) {
	site, key := turn.Site(), turn.Entry().URL.Key()
	now := time.Now()
	r.mu.Lock()
	if r.out[site] {
		r.t.Errorf("two turns of %s are out", site)
	}
	r.out[site] = true
	kind := r.rand.IntN(12)
	pause := time.Duration(r.rand.IntN(3000)) * time.Millisecond
	if kind > 0 {
		if last, ok := r.ended[site]; ok && now.Sub(last) < r.delay {
			r.t.Errorf("%s got a request %v after its last answer", site, now.Sub(last))
		}
		if until := r.not[site]; now.Before(until) {
			r.t.Errorf("%s got a request %v before it was due", site, until.Sub(now))
		}
		// A request counts even if a kill interrupts it.
		r.ended[site] = now
	}
	r.mu.Unlock()
	if kind == 0 {
		return frontier.Outcome{Fate: frontier.Fate{Code: frontier.RobotsDisallowed}}, true
	}
	select {
	case <-time.After(pause):
	case <-ctx.Done():
		return o, false
	}
	end := time.Now()
	o.Request = &frontier.Request{Started: now, FirstByte: end, Ended: end, Bytes: 1000}
	r.mu.Lock()
	defer r.mu.Unlock()
	r.ended[site] = end
	// The pause of twice the time to first byte begins at once. After a kill it applies only if
	// the acknowledged clocks have it.
	r.not[site] = end.Add(2 * pause)
	r.restsOf(site).take(kind)
	o.Fate = frontier.Fate{Code: frontier.Failed} // the outcome of the last try
	switch kind {
	case 1:
		o.Trouble = frontier.PageTrouble
		return o, true
	case 2:
		o.Trouble = frontier.SiteTrouble
		if r.rand.IntN(2) == 0 {
			o.RetryAfter = end.Add(time.Duration(r.rand.IntN(48)) * time.Hour)
		}
		rest := end.Add(min(5*time.Second<<min(r.restsOf(site).strikes-1, 20), time.Hour))
		for _, t := range []time.Time{rest, o.RetryAfter} {
			if t.After(r.not[site]) {
				r.not[site] = t
			}
		}
		return o, true
	case 3:
		o.Fate, o.Again, o.Defer = frontier.Fate{}, true, end.Add(time.Duration(r.rand.IntN(600))*time.Minute)
		return o, true
	}
	o.Fate = frontier.Fate{Code: frontier.Fetched, Status: 200}
	if _, ok := r.links[key]; !ok {
		r.links[key] = nil
		for range r.rand.IntN(4) {
			if u := r.url(); u.String() != "" {
				r.links[key] = append(r.links[key], u)
			}
		}
	}
	for _, u := range r.links[key] {
		o.Links = append(o.Links, turn.Entry().Found(u, frontier.HopLink))
		r.known[u.Key()] = true
	}
	return o, true
}

// rests counts the failures that make a site rest, and the good answers since the last of them.
type rests struct{ strikes, good int }

func (r *referee) restsOf(s frontier.Site) *rests {
	if r.rests[s] == nil {
		r.rests[s] = &rests{}
	}
	return r.rests[s]
}

func (n *rests) take(kind int) {
	switch kind {
	case 1:
		n.good = 0
	case 2:
		n.strikes, n.good = n.strikes+1, 0
	default:
		if n.good++; n.good == 3 {
			n.strikes, n.good = n.strikes/2, 0
		}
	}
}

func (r *referee) url() frontier.URL {
	n := r.rand.IntN(r.pages)
	u, err := frontier.ParseURL(fmt.Sprintf("http://h%d.example/%d", n%9, n))
	if err != nil {
		r.t.Fatal(err)
	}
	return u
}

// A crawl is killed again and again in virtual weeks, at any point of its commits and merges,
// and between the end of a turn and the end of its entry. No acknowledged request is made
// again, and no acknowledged clock is lost. Entries on hold that were not taken are requested
// again. In the end every entry has ended.
func TestAFrontierOnDiskKeepsItsPromises(t *testing.T) {
	for seed := range uint64(*sims) {
		t.Run(fmt.Sprint(seed), func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				random := rand.New(rand.NewPCG(seed, 8))
				r := &referee{
					t: t, delay: []time.Duration{200 * time.Millisecond, time.Second, 5 * time.Second}[seed%3], rand: random, pages: 120,
					ended: map[frontier.Site]time.Time{}, not: map[frontier.Site]time.Time{}, rests: map[frontier.Site]*rests{},
					asked: map[string]int{}, links: map[string][]frontier.URL{}, known: map[string]bool{}, held: map[string]bool{},
				}
				opts := Options{limits: small(random), NoPages: true}
				dir := t.TempDir()
				begin, seeded := time.Now(), false
				for end := false; !end; r.run++ {
					db, err := Open(dir, opts)
					if err != nil {
						t.Fatal(err)
					}
					f, err := frontier.New(db, frontier.Options{Delay: r.delay, Patience: 30 * 24 * time.Hour, Revisits: true, Restarted: db.Restarted()})
					if err != nil {
						t.Fatal(err)
					}
					r.out, r.turns = map[frontier.Site]bool{}, nil
					if !seeded {
						var seeds []frontier.Entry
						for i := range 5 {
							seeds = append(seeds, entry(t, fmt.Sprintf("http://h%d.example/%d", i, i)))
							r.known[seeds[i].URL.Key()] = true
						}
						if err := f.Add(seeds...); err != nil {
							t.Fatal(err)
						}
						time.Sleep(time.Second)
						synctest.Wait()
						seeded = true
					}
					ctx, cancel := context.WithCancel(context.Background())
					var workers sync.WaitGroup
					ended := make(chan error, 4)
					for range cap(ended) {
						workers.Go(func() { ended <- r.worker(ctx, f) })
					}
					taking, stop := context.WithCancel(ctx)
					var taker sync.WaitGroup
					taker.Go(func() { r.take(taking, f) })
					// Most runs are short, so that many kills come within the first commits.
					life := time.Duration(1+r.intn(5000)) * time.Millisecond
					if r.intn(3) == 0 {
						life = time.Duration(1+r.intn(72)) * time.Hour
					}
					if r.run > 40 {
						life = 1000 * 24 * time.Hour
					}
					select {
					case err := <-ended:
						end = errors.Is(err, frontier.ErrEnd)
						if !end {
							t.Errorf("a worker ended: %v", err)
							end = true
						}
					case <-time.After(life):
					}
					if end {
						workers.Wait()
						stop()
						f.Settle(t.Context())
						st := f.Stats()
						if st.Entries != 0 || st.Out != 0 || st.Held != 0 || st.Polite.Early != 0 {
							t.Errorf("at the end: %+v", st)
						}
						for key := range r.known {
							u, err := frontier.ParseURL(key)
							if err != nil {
								t.Fatal(err)
							}
							fate, _, err := db.Fate(u)
							if err != nil {
								t.Fatal(err)
							}
							if _, ended := r.asked[key]; fate.Code != frontier.Undecided && !ended {
								t.Errorf("%s has never ended", key)
							}
							if fate.Code == frontier.Fetched {
								for _, l := range r.links[key] {
									if _, ended := r.asked[l.Key()]; !ended {
										t.Errorf("%s, found on %s, has never ended", l, u)
									}
								}
							}
						}
					}
					synctest.Wait()
					dir = crash(t, dir)
					stop()
					cancel()
					workers.Wait()
					taker.Wait()
					if err := db.Close(); err != nil {
						t.Error(err)
					}
					verified(t, dir)
					r.acknowledged(dir, opts)
				}
				t.Logf("%d lives in %v, %d URLs", r.run, time.Since(begin), len(r.known))
			})
		})
	}
}

// acknowledged reads the state from a copy of a killed crawl. From then on the referee reports
// a second request for a URL that has ended there, and a request to a site before its clock
// there.
func (r *referee) acknowledged(dir string, opts Options) {
	r.t.Helper()
	copied := crash(r.t, dir)
	db, err := Open(copied, opts)
	if err != nil {
		r.t.Fatal(err)
	}
	defer db.Close()
	for key := range r.known {
		u, err := frontier.ParseURL(key)
		if err != nil {
			r.t.Fatal(err)
		}
		fate, ok, err := db.Fate(u)
		if err != nil {
			r.t.Fatal(err)
		}
		switch {
		case ok && fate.Ends():
			r.asked[key] = r.run + 1 // as if the entry had ended in the next run
		default:
			delete(r.asked, key)
		}
		if r.held[key] && fate.Ends() {
			r.t.Errorf("%s has ended, but was not taken", key)
		}
		if fate.Code != frontier.Fetched {
			continue
		}
		for _, l := range r.links[key] {
			if _, ok, err := db.Fate(l); !ok || err != nil {
				r.t.Errorf("the link %s of %s is lost: %v", l, u, err)
			}
		}
	}
	clear(r.not)
	clear(r.rests)
	for st, err := range db.Sites() {
		if err != nil {
			r.t.Fatal(err)
		}
		r.not[st.Site] = st.Clocks.Due
		r.rests[st.Site] = &rests{st.Clocks.Strikes, st.Clocks.Good}
	}
}

// A run must not end because its queue is empty, if links that were found before a kill are not
// merged yet.
func TestWhatIsNotMergedYetIsNotTheEnd(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		dir := t.TempDir()
		l := state.Usual
		l.SmallPending, l.SomeMerge = 0, 0
		db, err := Open(dir, Options{limits: &l})
		if err != nil {
			t.Fatal(err)
		}
		if err := db.Submit(frontier.Completion{Links: []frontier.Entry{entry(t, "http://a.example/")}}); err != nil {
			t.Fatal(err)
		}
		time.Sleep(25 * time.Millisecond) // time for a commit, but not for a merge
		synctest.Wait()
		copied := crash(t, dir)
		if err := db.Close(); err != nil {
			t.Error(err)
		}
		if db, err = Open(copied, Options{limits: &l}); err != nil {
			t.Fatal(err)
		}
		defer db.Close()
		if put, kept := db.state.(*state.DB).Pending(); put != 0 || kept == 0 {
			t.Fatalf("%d things wait for a commit, %d for a merge", put, kept)
		}
		f, err := frontier.New(db, frontier.Options{})
		if err != nil {
			t.Fatal(err)
		}
		turn, err := f.Next(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		if _, err := turn.Finish(frontier.Outcome{Fate: frontier.Fate{Code: frontier.Failed}}); err != nil {
			t.Error(err)
		}
		if _, err := f.Next(t.Context()); !errors.Is(err, frontier.ErrEnd) {
			t.Errorf("Next: %v, want ErrEnd", err)
		}
	})
}

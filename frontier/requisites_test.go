package frontier

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"sync"
	"testing"
	"testing/synctest"
	"time"
)

// A gallery is a simulated web of pages with requisites, and also its backlog. It counts the reads
// of the backlog.
type gallery struct {
	*memory
	t *testing.T

	mu    sync.Mutex
	rand  *rand.Rand
	more  int // number of pages and requisites that pages still link to
	found int
	reads int
	turns int
	pages int // number of entries that ended as a page that counts
	sites map[Site]int
	held  []*Turn
}

func (g *gallery) Read(s Site, now time.Time, entries []Entry) (int, error) {
	g.mu.Lock()
	g.reads++
	g.mu.Unlock()
	return g.memory.Read(s, now, entries)
}

func (g *gallery) ReadRequisites(s Site, now time.Time, entries []Entry) (int, time.Time, error) {
	g.mu.Lock()
	g.reads++
	g.mu.Unlock()
	return g.memory.ReadRequisites(s, now, entries)
}

// play returns a random outcome of a turn.
func (g *gallery) play(turn *Turn) Outcome {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.turns++
	now := time.Now()
	o := Outcome{Fate: Fate{Code: Fetched, Status: 200}, Request: &Request{Started: now, Ended: now}, Hold: g.rand.IntN(4) == 0}
	switch g.rand.IntN(12) {
	case 0:
		return Outcome{Fate: Fate{Code: RobotsDisallowed}}
	case 1:
		o.Again = true
		return o
	case 2:
		o.Trouble = []Trouble{PageTrouble, SiteTrouble}[g.rand.IntN(2)]
		return o
	case 3:
		o.Fate.Status = 404
		return o
	}
	for range min(g.more, g.rand.IntN(6)) {
		g.more--
		g.found++
		u := mustParse(g.t, fmt.Sprintf("http://h%d.example/%d", g.rand.IntN(4), g.found))
		hop := []Hop{HopLink, HopEmbed, HopEmbed, HopManifest}[g.rand.IntN(4)]
		o.Links = append(o.Links, turn.Entry().Found(u, hop))
	}
	return o
}

// work takes and finishes turns until the end.
func (g *gallery) work(f *Frontier) error {
	for {
		turn, err := f.Next(g.t.Context())
		if err != nil {
			return err
		}
		o := g.play(turn)
		time.Sleep(time.Duration(len(o.Links)) * 100 * time.Millisecond)
		fate, err := turn.Finish(o)
		if err != nil {
			return err
		}
		g.mu.Lock()
		if fate.counts(turn.Entry()) {
			g.pages++
			g.sites[turn.Site()]++
		}
		if turn.Held() {
			g.held = append(g.held, turn)
		}
		g.mu.Unlock()
	}
}

// run crawls to the end of the run, and returns the error with which it ended.
func (g *gallery) run(f *Frontier) (end error) {
	ended := make(chan struct{})
	var all sync.WaitGroup
	for range workers {
		all.Go(func() {
			if err := g.work(f); err != nil {
				g.mu.Lock()
				end = err
				g.mu.Unlock()
			}
		})
	}
	go func() {
		all.Wait()
		close(ended)
	}()
	for {
		select {
		case <-f.Idle():
		case <-time.After(time.Minute):
		case <-ended:
			return end
		}
		g.mu.Lock()
		held := g.held
		g.held = nil
		g.mu.Unlock()
		for _, turn := range held {
			if err := turn.Done(); err != nil {
				g.t.Error(err)
			}
		}
	}
}

// left returns the number of queued entries, and the number of requisites among them.
func (g *gallery) left() (all, requisites int) {
	for i := range 4 {
		for e := range g.Queued(Site(fmt.Sprintf("http://h%d.example", i))) {
			if all++; e.Requisite() {
				requisites++
			}
		}
	}
	return all, requisites
}

// After the limit of pages is reached, no more pages are requested, all requisites of the fetched
// pages are, and the backlog is not read repeatedly. With a larger limit the crawl continues, and
// ends without any entry left.
func TestRequisitesAreFetchedAfterTheLimitOfPages(t *testing.T) {
	for seed := range uint64(60) {
		t.Run(fmt.Sprint(seed), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				rng := rand.New(rand.NewPCG(seed, 3))
				g := &gallery{memory: new(memory), t: t, rand: rng, more: 400, sites: map[Site]int{}}
				var seeds []Entry
				for i := range 20 {
					seeds = append(seeds, Entry{URL: mustParse(t, fmt.Sprintf("http://h%d.example/seed/%d", i%4, i))})
				}
				limit, perSite := 0, 0
				for run := 0; ; run++ {
					o := Options{Delay: time.Second, Patience: Forever, Requisites: true, ReadAhead: int(seed % 4)}
					switch last := run == 3; {
					case last:
					case seed%3 > 0:
						limit += 1 + rng.IntN(20)
						o.Limit = limit
					}
					if run < 3 && seed%3 < 2 {
						perSite += 1 + rng.IntN(8)
						if o.MaxSite.Pages = perSite; seed%5 == 0 {
							o.MaxSite.Pages = 0
							o.Site = func(Site) (SiteLimits, error) { return SiteLimits{Max: Spent{Pages: perSite}}, nil }
						}
					}
					f := opened(t, g, o)
					if run == 0 {
						if err := f.Add(seeds...); err != nil {
							t.Fatal(err)
						}
					}
					g.reads, g.turns = 0, 0
					end := g.run(f)
					f.Settle(t.Context())
					all, requisites := g.left()
					if o.Limit > 0 && g.pages > o.Limit || o.MaxSite.Pages > 0 && max(g.sites["http://h0.example"], g.sites["http://h1.example"]) > o.MaxSite.Pages {
						t.Errorf("run %d: %d pages, by site %v; limits %d, %d", run, g.pages, g.sites, o.Limit, perSite)
					}
					want := ErrEnd
					switch {
					case o.Limit > 0 && g.pages == o.Limit:
						want = ErrLimit
					case all > 0:
						want = ErrUnasked
					}
					if end != want || requisites > 0 || f.Stats().Entries != all || f.Stats().Spent.Pages != g.pages {
						t.Errorf("run %d ended with %v, want %v; %d are left, %d requisites; %+v", run, end, want, all, requisites, f.Stats())
					}
					if rest := f.Rest(); rest.Out+rest.Pending+rest.Held > 0 || !rest.NextDue.IsZero() {
						t.Errorf("run %d: at the end %+v", run, rest)
					}
					if g.reads > 4*g.turns+20 {
						t.Errorf("run %d: the backlog was read %d times for %d turns", run, g.reads, g.turns)
					}
					if run == 3 {
						if all > 0 || !errors.Is(end, ErrEnd) {
							t.Errorf("without limits %d are left, %v", all, end)
						}
						return
					}
					g.Forget()
				}
			})
		})
	}
}

// While the last permitted page may be under way, no other turn is handed out. If the turn turns
// out to bring no page, another turn is handed out.
func TestATurnForTheLastPageThatBringsNoPage(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := &gated{memory: new(memory)}
		f := opened(t, b, Options{Limit: 1, Requisites: true})
		for _, e := range []Entry{{URL: mustParse(t, "http://a.example/i.png"), Hops: "E"}, {URL: mustParse(t, "http://b.example/")}} {
			if err := f.Add(e); err != nil {
				t.Fatal(err)
			}
		}
		b.gate = make(chan struct{})
		first := waiting(t.Context(), f, 1)
		synctest.Wait()
		second := waiting(t.Context(), f, 1)
		synctest.Wait()
		if len(first)+len(second) > 0 {
			t.Fatal("a turn was handed out before its read ended")
		}
		close(b.gate)
		synctest.Wait()
		if len(first) != 1 || len(second) != 1 {
			t.Errorf("%d turns for the first, %d for the second, want one for each", len(first), len(second))
		}
	})
}

// A backlog is searched only if a turn could follow. It is never searched if it has no requisites.
func TestBacklogsAreNotSearchedInVain(t *testing.T) {
	for name, o := range map[string]Options{
		"off":     {Limit: 1},
		"bytes":   {Limit: 1, MaxBytes: 1, Requisites: true},
		"no rank": {Limit: 1, Requisites: true},
	} {
		synctest.Test(t, func(t *testing.T) {
			b := &faulty{memory: new(memory)}
			f := opened(t, b, o)
			o := page
			o.Request = &Request{Started: time.Now(), Ended: time.Now(), Bytes: 1}
			seed := Entry{URL: mustParse(t, "http://a.example/")}
			for i := range 20 {
				e := seed.Found(mustParse(t, fmt.Sprintf("http://h%d.example/", i)), HopLink)
				if name != "no rank" {
					e.Rank = RequisiteRank
				}
				o.Links = append(o.Links, e)
			}
			if err := f.Add(seed); err != nil {
				t.Fatal(err)
			}
			turn, err := f.Next(t.Context())
			if err != nil {
				t.Fatal(err)
			}
			if _, err := turn.Finish(o); err != nil {
				t.Fatal(err)
			}
			if _, err := f.Next(t.Context()); err != ErrLimit {
				t.Errorf("%s: Next: %v", name, err)
			}
			if len(b.reads) != 1 {
				t.Errorf("%s: the backlog was read %d times for one turn", name, len(b.reads))
			}
		})
	}
}

// A limit that is set while the backlog is read for a turn already counts for this turn.
func TestALimitThatIsSetWhileTheBacklogIsRead(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := &gated{memory: new(memory)}
		f := opened(t, b, Options{Requisites: true}, "http://a.example/1")
		turn, err := f.Next(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		o := page
		for u, hop := range map[string]Hop{"http://b.example/1": HopLink, "http://c.example/i.png": HopEmbed} {
			o.Links = append(o.Links, turn.Entry().Found(mustParse(t, u), hop))
		}
		if _, err := turn.Finish(o); err != nil {
			t.Fatal(err)
		}
		b.gate = make(chan struct{})
		told := waiting(t.Context(), f, 2) // two sites are picked, and both turns may become pages
		if err := f.Allow(func(l *Limits) { l.Pages, l.Open = 1, true }); err != nil {
			t.Fatal(err)
		}
		close(b.gate)
		synctest.Wait()
		if n := len(told); n != 1 || <-told != "+0s http://c.example" {
			t.Errorf("%d turns were handed out, want the one for the picture", n)
		}
		f.Stop()
	})
}

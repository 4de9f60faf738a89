package frontier

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"net/netip"
	"sync"
	"testing"
	"testing/synctest"
	"time"
)

// Options.Site may call the frontier, and may take long. In this time other sites continue, and no
// other goroutine takes the same site. It is called once as long as a site is in memory.
func TestLimitsOfSitesAreAskedForWithoutALock(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		const slow = Site("http://slow.example")
		var f *Frontier
		var mu sync.Mutex
		asked := map[Site]int{}
		release := make(chan struct{})
		o := Options{Delay: time.Second, Site: func(s Site) (SiteLimits, error) {
			mu.Lock()
			asked[s]++
			mu.Unlock()
			f.Stats()
			for range f.Sites() {
			}
			if err := f.Allow(func(*Limits) {}); err != nil {
				t.Error(err)
			}
			if s == slow {
				<-release
			}
			return SiteLimits{}, nil
		}}
		f = opened(t, new(memory), o, "http://slow.example/1", "http://slow.example/2", "http://a.example/1", "http://b.example/1", "http://a.example/2", "http://b.example/2")
		var log []served
		ended := make(chan struct{})
		go func() { log = serve(t, f, false, always); close(ended) }()
		time.Sleep(time.Minute)
		synctest.Wait()
		if st := f.Stats(); st.Entries != 2 || st.Out != 1 {
			t.Errorf("while one site has no answer %d entries are left, %d turns out; want its two, and it", st.Entries, st.Out)
		}
		close(release)
		<-ended
		if len(log) != 6 || len(asked) != 3 || asked[slow] != 1 || asked["http://a.example"] != 1 {
			t.Errorf("%d requests; limits were requested %v", len(log), asked)
		}
	})
}

// If Options.Site returns another delay at each call, two requests are never closer than the
// crawl's own delay, and never closer than the last delay of the site.
func TestOptionsSiteNeverShortensAPause(t *testing.T) {
	for seed := range uint64(20) {
		synctest.Test(t, func(t *testing.T) {
			rng := rand.New(rand.NewPCG(seed, 1))
			b := new(memory)
			last := map[Site]time.Duration{}
			var mu sync.Mutex
			ended := map[Site]time.Time{}
			for run := range 4 {
				o := Options{Delay: time.Second, Patience: Forever, Site: func(s Site) (SiteLimits, error) {
					mu.Lock()
					defer mu.Unlock()
					d := time.Duration(rng.Int64N(int64(time.Minute))) - 30*time.Second
					last[s] = max(d, time.Second)
					return SiteLimits{Delay: d}, nil
				}}
				if run == 2 {
					o.Restarted = time.Now()
				}
				f := opened(t, b, o)
				for i := range 12 {
					if err := f.Add(Entry{URL: mustParse(t, fmt.Sprintf("http://s%d.example/%d-%d", i%3, run, i))}); err != nil {
						t.Fatal(err)
					}
				}
				log := serve(t, f, false, func(Site) (netip.Addr, time.Duration, Outcome) { return oneAddr, 100 * time.Millisecond, page })
				if len(log) == 0 {
					t.Error("no request was made")
				}
				for _, s := range log {
					if before := ended[s.site]; !before.IsZero() && s.start.Sub(before) < last[s.site] {
						t.Errorf("seed %d, run %d: %s got a request %v after its last answer, want at least %v", seed, run, s.site, s.start.Sub(before), last[s.site])
					}
					if !o.Restarted.IsZero() && s.start.Sub(o.Restarted) < last[s.site] {
						t.Errorf("seed %d: %s got a request %v after the restart, want at least %v", seed, s.site, s.start.Sub(o.Restarted), last[s.site])
					}
					ended[s.site] = s.end
				}
				b.Forget()
			}
		})
	}
}

// While one goroutine calls Options.Site, another goroutine is the leader. The leader learns when
// the site is due.
func TestASiteThatHasToWaitForItsOwnDelayIsWaitedFor(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		begin := time.Now()
		f := opened(t, new(memory), Options{Delay: time.Second, Restarted: begin, Site: func(Site) (SiteLimits, error) {
			time.Sleep(time.Second)
			return SiteLimits{Delay: 10 * time.Second}, nil
		}}, "http://a.example/1")
		log := serve(t, f, false, always)
		if len(log) != 1 || log[0].start.Sub(begin) != 10*time.Second {
			t.Errorf("%+v, want one request 10s after %v", log, begin)
		}
	})
}

// An error of Options.Site ends the run. All calls of Next return it, and no turn keeps the site.
func TestLimitsThatCannotBeHadEndTheFrontier(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		bug := errors.New("a bug")
		f := opened(t, new(memory), Options{Site: func(s Site) (SiteLimits, error) {
			time.Sleep(time.Second)
			return SiteLimits{}, bug
		}}, "http://a.example/1")
		var all sync.WaitGroup
		for range workers {
			all.Go(func() {
				if turn, err := f.Next(t.Context()); turn != nil || !errors.Is(err, bug) {
					t.Errorf("Next: %v, %v", turn, err)
				}
			})
		}
		all.Wait()
		if st := f.Stats(); st.Entries != 1 || st.Out != 0 {
			t.Errorf("%d entries, %d turns out; want the one, and none", st.Entries, st.Out)
		}
	})
}

// The gap of a robots.txt counts from the last answer and from a restart after a crash, even if it
// became known only after the turn was handed out. A known gap does not count twice.
func TestPaceCountsBeforeTheRequest(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		begin := time.Now()
		f := opened(t, new(memory), Options{Delay: time.Second, Restarted: begin}, "http://a.example/1", "http://a.example/2")
		gap := Gap{10 * time.Second, CrawlDelayClock}
		first, err := f.Next(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		var wait *NotYet
		if err := first.Pace(gap); !errors.As(err, &wait) || *wait != (NotYet{RestartClock, begin.Add(10 * time.Second)}) {
			t.Errorf("a pause that is news: %v", err)
		}
		first.Finish(Outcome{Again: true})
		if err := first.Pace(gap); !errors.Is(err, errFinished) {
			t.Errorf("after Finish: %v", err)
		}
		for _, after := range []time.Duration{10 * time.Second, 20 * time.Second} {
			turn, err := f.Next(t.Context())
			if err != nil {
				t.Fatal(err)
			}
			if err := turn.Pace(gap); err != nil || time.Since(begin) != after {
				t.Errorf("%v, %v after the start, want %v", err, time.Since(begin), after)
			}
			turn.Finish(Outcome{Request: &Request{Started: time.Now(), Ended: time.Now()}, Fate: Fate{Code: Fetched}})
		}
	})
}

package frontier

import (
	"errors"
	"fmt"
	"math"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"
)

// A simHost is a host of a simulated web. The field pages is its number of pages; 0 means any
// number. A request for its robots.txt takes as long as robots says, and one for a page as long as
// page says.
type simHost struct {
	robots, page time.Duration
	trouble      Trouble // trouble of the visits that take longer than quickVisit
	pages        int
}

var (
	goodHost = simHost{robots: 50 * time.Millisecond, page: 100 * time.Millisecond}
	// hostileHosts make visits long: all requests take long, or only pages do, or answers are sent
	// slowly.
	hostileHosts = []simHost{
		{robots: 30 * time.Second, page: 30 * time.Second, trouble: ConnectTrouble},
		{robots: 50 * time.Millisecond, page: 30 * time.Second, trouble: SilenceTrouble},
		{robots: 50 * time.Millisecond, page: time.Minute, trouble: PageTrouble},
		{robots: 5 * time.Second, page: 10 * time.Second},
	}
)

// mixed returns n hosts of the given kinds, and among them about as many good hosts as good says.
func mixed(n int, kinds []simHost, good int) (hosts []simHost) {
	for i := range n {
		if good > 0 && i%(n/good) == 0 {
			hosts = append(hosts, goodHost)
		}
		hosts = append(hosts, kinds[i%len(kinds)])
	}
	return hosts
}

// simmed is the result of a simulated crawl.
type simmed struct {
	visits []int           // number of visits of each host
	first  []time.Duration // when the first page of each host was requested; 0: never
	most   int             // largest number of visits at the same time
	busy   time.Duration   // sum of the durations of all visits
	took   time.Duration
}

// simulate crawls hosts for at most atMost. The parameter visits is the number of visits at the
// same time. simulate sets Limits.Turns only if keeps is true, so that turns are kept back.
func simulate(t *testing.T, hosts []simHost, visits int, keeps bool, atMost time.Duration) (r simmed) {
	synctest.Test(t, func(t *testing.T) {
		f := opened(t, new(memory), Options{})
		if keeps {
			if err := f.Allow(func(l *Limits) { l.Turns = visits }); err != nil {
				t.Fatal(err)
			}
		}
		number := map[Site]int{}
		for i := range hosts {
			u := mustParse(t, fmt.Sprintf("http://h%d.example/", i))
			number[u.Site()] = i
			if err := f.Add(Entry{URL: u}); err != nil {
				t.Fatal(err)
			}
		}
		r.visits, r.first = make([]int, len(hosts)), make([]time.Duration, len(hosts))
		begin := time.Now()
		defer time.AfterFunc(atMost, f.Stop).Stop()
		var mu sync.Mutex
		var all sync.WaitGroup
		out := 0
		visit := func(turn *Turn) Outcome {
			mu.Lock()
			i := number[turn.Site()]
			h, nth := hosts[i], r.visits[i]
			r.visits[i]++
			if nth == 1 {
				r.first[i] = time.Since(begin)
			}
			out++
			r.most = max(r.most, out)
			mu.Unlock()
			o := Outcome{Fate: Fate{Code: Fetched, Status: 200}, Request: &Request{Started: time.Now()}}
			took := h.page
			if nth == 0 {
				o.Again, took = true, h.robots
			}
			time.Sleep(took)
			o.Request.FirstByte, o.Request.Ended = o.Request.Started, time.Now()
			if took > quickVisit {
				o.Trouble = h.trouble
			}
			if h.pages == 0 || nth < h.pages {
				o.Links = []Entry{turn.Entry().Found(mustParse(t, fmt.Sprintf("%s/%d", turn.Site(), nth)), HopLink)}
			}
			mu.Lock()
			out--
			r.busy += min(took, atMost-time.Since(begin)+took)
			mu.Unlock()
			return o
		}
		for range visits {
			all.Go(func() {
				for {
					turn, err := f.Next(t.Context())
					if err != nil {
						if !errors.Is(err, ErrStopped) && !errors.Is(err, ErrEnd) {
							t.Error(err)
						}
						return
					}
					if _, err := turn.Finish(visit(turn)); err != nil {
						t.Error(err)
					}
				}
			})
		}
		all.Wait()
		r.took = time.Since(begin)
		if st := f.Stats(); st.Polite.Early != 0 || f.unsure != 0 {
			t.Errorf("%+v, %d turns are out", st.Polite, f.unsure)
		}
		quick, need := 0, 0
		for _, s := range f.sites {
			need += int(s.need)
			if s.need > 0 {
				quick++
			}
		}
		if f.reserve.quick != quick || f.need != need {
			t.Errorf("%d quick sites need %d; counted are %d and %d", quick, need, f.reserve.quick, f.need)
		}
	})
	return r
}

// A good host is visited as often as its pauses and the turns that are kept back permit, even if
// there are many slow hosts. The slow hosts are visited, too.
func TestGoodHostsAreNotHeldUpByHostileOnes(t *testing.T) {
	for _, test := range []struct {
		visits, hostile, good int
		kept                  int     // number of turns that are kept back for quick hosts
		time                  float64 // share of the time in which turns are kept back
		atMost                time.Duration
	}{
		{64, 400, 25, 32, 1, 10 * time.Minute}, {3, 40, 5, 1, 1, 40 * time.Minute}, {2, 40, 5, 1, 1, time.Hour}, {1, 40, 5, 1, 0.5, 2 * time.Hour},
	} {
		t.Run(fmt.Sprint(test.visits), func(t *testing.T) {
			t.Parallel()
			hosts := mixed(test.hostile, hostileHosts, test.good)
			pages, possible := 0, 0.0
			for range 3 { // the order of goroutines changes the result of each crawl by a few hundredths
				r := simulate(t, hosts, test.visits, true, test.atMost)
				known := []time.Duration{}
				for i, h := range hosts {
					if r.visits[i] < 2 {
						t.Errorf("host %d was visited %d times", i, r.visits[i])
					}
					if h == goodHost {
						pages += r.visits[i] - 1
						known = append(known, r.first[i])
					}
				}
				slices.Sort(known)
				for i, from := range known {
					until := append(known[i+1:], r.took)[0]
					n := math.Min(float64(i+1)/float64(goodHost.page+DefaultDelay), float64(test.kept)/float64(goodHost.page))
					possible += n * test.time * float64(until-from)
				}
			}
			// Subtract the first visits, which end before turns are kept back.
			if part := float64(pages) / possible; part < 0.9 {
				t.Errorf("%d good pages, %.3f of what is possible since they are known", pages, part)
			}
		})
	}
}

// A host with a quick robots.txt comes before hosts without a request. So it is known as a good
// host before all others have had their first visit.
func TestAGoodHostIsSoonKnown(t *testing.T) {
	hosts := mixed(400, hostileHosts[:1], 25)
	r := simulate(t, hosts, 64, true, 2*time.Minute)
	for i, h := range hosts {
		if h == goodHost && r.first[i] > 0 && r.first[i] <= 30*time.Second {
			return
		}
	}
	t.Errorf("no good host is known before the first visits of the others have ended: %v", r.first)
}

// If no host is quick, no turns are kept back.
func TestHostileHostsAloneHaveAllVisits(t *testing.T) {
	for _, visits := range []int{1, 2, 3, 16} {
		const atMost = 10 * time.Minute
		r := simulate(t, mixed(200, hostileHosts, 0), visits, true, atMost)
		if part := float64(r.busy) / float64(visits) / float64(atMost); r.most != visits || part < 0.99 {
			t.Errorf("%d visits are %.3f busy; %d at once", visits, part, r.most)
		}
	}
}

// Turns that are kept back do not slow down a crawl of good hosts.
func TestGoodHostsAloneLoseNothing(t *testing.T) {
	hosts := slices.Repeat([]simHost{{robots: goodHost.robots, page: goodHost.page, pages: 10}}, 100)
	for _, visits := range []int{1, 2, 3, 8, 64} {
		with, without := simulate(t, hosts, visits, true, time.Hour), simulate(t, hosts, visits, false, time.Hour)
		if with.took > without.took+without.took/100 {
			t.Errorf("with %d visits it takes %v, and %v if none are kept back", visits, with.took, without.took)
		}
	}
}

// The last page of a site decides whether the site is quick, except for single slow pages.
func TestWhichSitesAreQuick(t *testing.T) {
	type step struct {
		took             time.Duration
		request, decided bool
		quick, promising bool
	}
	robots := func(took time.Duration, quick, promising bool) step { return step{took, true, false, quick, promising} }
	page := func(took time.Duration, quick bool) step { return step{took, true, true, quick, false} }
	for name, steps := range map[string][]step{
		"a robots.txt promises something": {robots(0, false, true), page(time.Second, true)},
		"a robots.txt that is slow":       {robots(4*time.Second, false, false), page(time.Second, true)},
		"a slow page":                     {robots(0, false, true), page(30*time.Second, false), page(30*time.Second, false), page(time.Second, true)},
		"an exception":                    {page(time.Second, true), page(5*time.Second, true), page(time.Second, true)},
		"it becomes slow":                 {page(time.Second, true), page(5*time.Second, true), page(10*time.Second, false), page(4*time.Second, false)},
		"an earlier robots.txt":           {page(time.Second, true), robots(time.Second, true, false), robots(40*time.Second, false, false)},
		"a page that is refused":          {{0, false, true, false, false}, page(time.Second, true), {0, false, true, true, false}},
		"a name that is not found":        {{30 * time.Second, false, true, false, false}},
		"the bound":                       {page(quickVisit-time.Millisecond, true), page(time.Hour, false)},
	} {
		f := opened(t, new(memory), Options{})
		s := f.site("http://a.example")
		for i, step := range steps {
			now := time.Now()
			f.visited(&Turn{frontier: f, site: s, began: now.Add(-step.took), requested: step.request}, step.decided, now)
			if s.quick() != step.quick || s.promising() != step.promising {
				t.Errorf("%s: after visit %d it is quick: %v, promising: %v", name, i, s.quick(), s.promising())
			}
		}
	}
}

// reserve.kept returns the documented number of turns.
func TestTurnsAreKeptBack(t *testing.T) {
	for _, test := range []struct{ turns, quick, need, want int }{
		{64, 0, 0, 0}, {64, 1, 1000, 1}, {64, 25, 2300, 4}, {64, 25, 2000, 3}, {64, 1000, 90000, 32}, {64, 1000, 1000, 2},
		{3, 10, 9000, 1}, {2, 10, 9000, 1}, {1, 10, 9000, 0},
	} {
		r := reserve{quick: test.quick, need: test.need}
		if got := r.kept(test.turns); got != test.want {
			t.Errorf("%+v: %d are kept back", test, got)
		}
	}
	now := time.Now()
	s := &site{past: &past{quick: true, took: 250, ended: now}}
	for rest, want := range map[time.Duration]uint16{0: 1000, 750 * time.Millisecond: 250, shortRest: 4, shortRest + 1: 0, -time.Second: 1000} {
		if s.due = now.Add(rest); s.needs() != want {
			t.Errorf("a site that rests for %v needs %d", rest, s.needs())
		}
	}
}

// BenchmarkTurns measures the turns for pages of a thousand sites. Each page links to the next one
// of its site.
func BenchmarkTurns(b *testing.B) {
	f, err := New(new(memory), Options{Delay: -1})
	if err != nil {
		b.Fatal(err)
	}
	if err := f.Allow(func(l *Limits) { l.Turns = 64 }); err != nil {
		b.Fatal(err)
	}
	page := func(i int) Entry {
		u, err := ParseURL(fmt.Sprintf("http://h%d.example/%d", i%1000, i/1000))
		if err != nil {
			b.Fatal(err)
		}
		return Entry{URL: u}
	}
	for i := range 1000 {
		if err := f.Add(page(i)); err != nil {
			b.Fatal(err)
		}
	}
	o := Outcome{Fate: Fate{Code: Fetched, Status: 200}, Request: &Request{}}
	for i := 1000; b.Loop(); i++ {
		turn, err := f.Next(b.Context())
		if err != nil {
			b.Fatal(err)
		}
		now := time.Now()
		*o.Request, o.Links = Request{Started: now, FirstByte: now, Ended: now}, []Entry{page(i)}
		if _, err := turn.Finish(o); err != nil {
			b.Fatal(err)
		}
	}
}

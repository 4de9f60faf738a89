package frontier

import (
	"fmt"
	"math/rand/v2"
	"testing"
	"testing/synctest"
	"time"
)

// The crawl continues while a loop reads its sites.
func TestSitesLetTheCrawlGoOn(t *testing.T) {
	var urls []string
	for i := range 3 * somePage {
		urls = append(urls, fmt.Sprintf("http://h%d.example/", i))
	}
	f := opened(t, new(memory), Options{}, urls...)
	told := map[Site]int{}
	for st := range f.Sites() {
		if told[st.Site]++; len(told)%100 == 0 {
			if err := f.Add(Entry{URL: mustParse(t, fmt.Sprintf("http://new%d.example/", len(told)))}); err != nil {
				t.Error(err)
			}
		}
		if f.Stats().Entries == 0 {
			t.Fatal("nothing is queued")
		}
	}
	for _, raw := range urls {
		if n := told[mustParse(t, raw).Site()]; n != 1 {
			t.Errorf("Sites yielded %s %d times", raw, n)
		}
	}
	n := 0
	for range f.Sites() {
		if n++; n == 2*somePage {
			break
		}
	}
	if n != 2*somePage || f.Stats().Sites < n {
		t.Errorf("Sites yielded %d sites before the end at %d", n, 2*somePage)
	}
}

// Stats.Done counts the entries that have ended, in this run and in earlier ones. It does not
// count entries that wait for another try, are held, or are handed out again.
func TestDoneCountsEndedEntries(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m := new(memory)
		f := opened(t, m, Options{Delay: -1}, "http://a.example/", "http://b.example/", "http://c.example/", "http://d.example/", "http://e.example/")
		var held *Turn
		for i, o := range []Outcome{
			page, {Fate: Fate{Code: RobotsDisallowed}}, {Again: true},
			{Trouble: PageTrouble, Request: &Request{Started: time.Now(), Ended: time.Now()}, Fate: Fate{Code: Failed}},
			{Hold: true, Fate: page.Fate},
		} {
			turn, err := f.Next(t.Context())
			if err != nil {
				t.Fatal(err)
			}
			if _, err := turn.Finish(o); err != nil {
				t.Fatal(err)
			}
			if turn.Held() {
				held = turn
			}
			if n := f.Stats().Done; n != min(i+1, 2) {
				t.Errorf("%d after %d turns", n, i+1)
			}
		}
		if err := held.Done(); err != nil {
			t.Fatal(err)
		}
		f.Settle(t.Context())
		if st := f.Stats(); st.Done != 3 || st.Entries != 2 {
			t.Errorf("%d done, %d left", st.Done, st.Entries)
		}
		if st := opened(t, m, Options{}).Stats(); st.Done != 3 || st.Entries != 2 {
			t.Errorf("in another run: %d done, %d left", st.Done, st.Entries)
		}
	})
}

// After any changes, Longest returns the same site as a scan of all sites.
func TestLongestIsDueLast(t *testing.T) {
	for seed := range uint64(20) {
		synctest.Test(t, func(t *testing.T) {
			random := rand.New(rand.NewPCG(seed, 9))
			f := opened(t, new(memory), Options{Delay: -1, MaxSite: Spent{Pages: 3}, Patience: 100 * time.Hour})
			for i := range 300 {
				if random.IntN(3) == 0 {
					if err := f.Add(Entry{URL: mustParse(t, fmt.Sprintf("http://h%d.example/%d", random.IntN(20), i))}); err != nil {
						t.Fatal(err)
					}
				}
				if next := f.Stats(); next.NextSite != "" && !next.NextDue.After(time.Now()) {
					turn, err := f.Next(t.Context())
					if err != nil {
						t.Fatal(err)
					}
					o := page
					if random.IntN(2) == 0 {
						o = Outcome{Again: true}
					}
					o.Request = &Request{Started: time.Now(), Ended: time.Now()}
					switch random.IntN(3) {
					case 0:
						o.RetryAfter = time.Now().Add(time.Duration(random.IntN(100)) * time.Minute)
					case 1: // a new link is due before the entries that wait
						o.Trouble = ConnectTrouble
					}
					o.Gone = o.Again && random.IntN(10) == 0
					if _, err := turn.Finish(o); err != nil {
						t.Fatal(err)
					}
				}
				time.Sleep(time.Duration(random.IntN(300)) * time.Second)
				f.absorbGrown()
				now := time.Now()
				var want time.Time
				for _, s := range f.sites {
					if s.place == placeWaiting && s.due.After(now) && s.due.After(want) {
						want = s.due
					}
				}
				if st, ok := f.Longest(now); ok == want.IsZero() || !st.Due.Equal(want) {
					t.Fatalf("step %d: %v, %v; the last is due at %v", i, st, ok, want)
				}
			}
		})
	}
}

func TestTheLastIsFoundAgainWhenItComesForward(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := opened(t, new(memory), Options{Delay: 10 * time.Second}, "http://a.example/1", "http://b.example/1", "http://b.example/2")
		finish := func(site Site, o Outcome) {
			turn, err := f.Next(t.Context())
			if err != nil || turn.Site() != site {
				t.Fatal(turn, err)
			}
			o.Request = &Request{Started: time.Now(), Ended: time.Now()}
			if _, err := turn.Finish(o); err != nil {
				t.Fatal(err)
			}
			f.absorbGrown()
		}
		longest := func(want Site) {
			t.Helper()
			if st, ok := f.Longest(time.Now()); !ok || st.Site != want {
				t.Errorf("%v %v, want %s", st, ok, want)
			}
		}
		finish("http://a.example", Outcome{Trouble: PageTrouble}) // the entry waits 15 s for another try
		time.Sleep(time.Second)
		finish("http://b.example", page)
		longest("http://a.example")
		if err := f.Add(Entry{URL: mustParse(t, "http://a.example/2")}); err != nil {
			t.Fatal(err)
		}
		longest("http://b.example")
	})
}

// Longest also works with so many sites that it must release its lock in between.
func TestTheLastOfManySites(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := opened(t, new(memory), Options{})
		if st, ok := f.Longest(time.Now()); ok {
			t.Errorf("of no sites: %+v", st)
		}
		for i := range 2*somePage + 1 {
			if err := f.Add(Entry{URL: mustParse(t, fmt.Sprintf("http://h%d.example/", i))}); err != nil {
				t.Fatal(err)
			}
		}
		var late *Turn
		for i := range 2*somePage + 1 {
			turn, err := f.Next(t.Context())
			if err != nil {
				t.Fatal(err)
			}
			if i == 0 {
				late = turn
				continue
			}
			if _, err := turn.Finish(Outcome{Again: true, Defer: time.Now().Add(time.Duration(i) * time.Second)}); err != nil {
				t.Fatal(err)
			}
		}
		if _, err := late.Finish(Outcome{Again: true, Defer: time.Now().Add(time.Hour), Gone: true}); err != nil {
			t.Fatal(err)
		}
		want := 2 * somePage * time.Second
		if st, ok := f.Longest(time.Now()); !ok || time.Until(st.Due) != want {
			t.Errorf("%v, %+v, want %v", ok, st, want)
		}
		if st, ok := f.Longest(time.Now().Add(want)); ok {
			t.Errorf("when it is due: %+v", st)
		}
		time.Sleep(want)
		for range 2 * somePage {
			if _, err := f.Next(t.Context()); err != nil {
				t.Fatal(err)
			}
		}
		if st, ok := f.Longest(time.Now().Add(-time.Hour)); ok {
			t.Errorf("all are out: %+v", st)
		}
	})
}

// Politeness counts the pauses that requests kept.
func TestPolitenessIsCounted(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := opened(t, new(memory), Options{Delay: 10 * time.Second}, pagesOf([]string{"http://a.example"}, 6)...)
		for i, tc := range []struct {
			margin time.Duration // time between Due and the start of the request
			want   Politeness
		}{
			{0, Politeness{}}, // the first request has no pause to keep
			{3 * time.Second, Politeness{Requests: 1, LeastMargin: 3 * time.Second}},
			{time.Second, Politeness{Requests: 2, LeastMargin: time.Second}},
			{2 * time.Second, Politeness{Requests: 3, LeastMargin: time.Second}},
			{0, Politeness{Requests: 4}},
			{-1, Politeness{Requests: 5, Early: 1, LeastMargin: -1}},
		} {
			turn, err := f.Next(t.Context())
			if err != nil {
				t.Fatal(err)
			}
			start := time.Now().Add(tc.margin)
			time.Sleep(5 * time.Second)
			o := page
			o.Request = &Request{Started: start, Ended: time.Now()}
			if _, err := turn.Finish(o); err != nil {
				t.Fatal(err)
			}
			if got := f.Stats().Polite; got != tc.want {
				t.Errorf("after request %d: %+v, want %+v", i, got, tc.want)
			}
		}
	})
}

// A site without entries that has rested is counted, but is not in memory. A site that still rests
// is in memory.
func TestWhichStoredSitesAreInMemory(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b, now := new(memory), time.Now()
		for _, c := range []Completion{
			{Site: "http://rested.example", Clocks: Clocks{Ended: now.Add(-time.Hour), Due: now, By: OwnClock}},
			{Site: "http://resting.example", Clocks: Clocks{Ended: now, Due: now.Add(1), By: OwnClock}},
			{Site: "http://never.example"},
			{Site: "http://queued.example", Clocks: Clocks{Ended: now.Add(-time.Hour), Due: now}, Links: []Entry{{URL: mustParse(t, "http://queued.example/")}}},
		} {
			if err := b.Submit(c); err != nil {
				t.Fatal(err)
			}
			<-b.Grown() // drop the growth of the earlier run
		}
		f := opened(t, b, Options{})
		held := map[Site]bool{}
		for st := range f.Sites() {
			held[st.Site] = true
		}
		if len(held) != 2 || !held["http://resting.example"] || !held["http://queued.example"] {
			t.Errorf("held are %v", held)
		}
		if n := f.Stats().Sites; n != 3 {
			t.Errorf("%d sites are counted, want 3", n)
		}
	})
}

// A site that was given up gets as many tries in the next run as a new site.
func TestASiteThatWasGivenUpGetsAWholeChance(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		now := time.Now()
		f := opened(t, knowing(t, Clocks{Ended: now, Due: now, Refusals: maxRefusals, Failures: maxRefusals, Strikes: maxRefusals}), Options{Patience: 100 * time.Hour})
		for i := range maxRefusals {
			turn, err := f.Next(t.Context())
			if err != nil {
				t.Fatal(i, err)
			}
			if _, err := turn.Finish(Outcome{Request: &Request{Started: time.Now(), Ended: time.Now()}, Trouble: SilenceTrouble, Again: true}); err != nil {
				t.Fatal(err)
			}
		}
		if turn, err := f.Next(t.Context()); err != ErrUnasked {
			t.Error(turn, err)
		}
	})
}

// A budget of one page, byte or nanosecond is a limit, too.
func TestBudgetsOfOne(t *testing.T) {
	for name, tc := range map[string]struct {
		o    Options
		want error
	}{
		"pages of a site": {Options{MaxSite: Spent{Pages: 1}}, ErrUnasked},
		"bytes of a site": {Options{MaxSite: Spent{Bytes: 1}}, ErrUnasked},
		"time of a site":  {Options{MaxSite: Spent{Time: 1}}, ErrUnasked},
		"pages":           {Options{Limit: 1}, ErrLimit},
		"bytes":           {Options{MaxBytes: 1}, ErrLimit},
	} {
		synctest.Test(t, func(t *testing.T) {
			f := opened(t, new(memory), tc.o, "http://a.example/1", "http://a.example/2")
			turn, err := f.Next(t.Context())
			if err != nil {
				t.Fatalf("%s: %v", name, err)
			}
			o := page
			o.Request = &Request{Started: time.Now(), Ended: time.Now().Add(1), Bytes: 1}
			if _, err := turn.Finish(o); err != nil {
				t.Fatal(err)
			}
			if turn, err := f.Next(t.Context()); err != tc.want {
				t.Errorf("%s: %v, %v", name, turn, err)
			}
		})
	}
}

// Turn.First returns when an entry was first handed out, if several turns in a row are for it.
func TestFirstOfTurnsInARow(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := opened(t, new(memory), Options{Delay: -1, Patience: time.Hour}, "http://a.example/1", "http://a.example/2")
		begin := time.Now()
		for i, tc := range []struct {
			o     Outcome
			first time.Duration
		}{
			{Outcome{Again: true}, 0},
			{Outcome{Again: true}, 0},
			{Outcome{Trouble: PageTrouble}, 0}, // the entry waits until 2 s, and the other entry is handed out first
			{Outcome{Again: true}, 3 * time.Second},
			{page, 3 * time.Second},
			{page, 17 * time.Second},
		} {
			turn, err := f.Next(t.Context())
			if err != nil {
				t.Fatal(err)
			}
			if got := turn.First().Sub(begin); got != tc.first {
				t.Errorf("turn %d, of %s: first at %v, want %v", i, turn.Entry().URL, got, tc.first)
			}
			if hop, err := turn.Hop("http://b.example"); err != nil || !hop.First().IsZero() {
				t.Errorf("a hop: %v, %v", hop, err)
			} else if _, err := hop.Finish(Outcome{}); err != nil {
				t.Fatal(err)
			}
			if _, err := turn.Finish(tc.o); err != nil {
				t.Fatal(err)
			}
			time.Sleep(time.Second)
		}
	})
}

// A site leaves memory only if the backlog has all of its state.
func TestWhichSitesAreLeftToTheBacklog(t *testing.T) {
	now := time.Now()
	for name, change := range map[string]func(s *site){
		"":                           func(*site) {},
		"something is queued":        func(s *site) { s.queued = 1 },
		"it is out":                  func(s *site) { s.place = placeOut },
		"it is parked":               func(s *site) { s.place = placeParked },
		"it wants another":           func(s *site) { s.want(&site{}) },
		"another wants it":           func(s *site) { s.atWork().wantedBy = 1 },
		"it was given up":            func(s *site) { s.give(Fate{Code: SiteDead}) },
		"it has ended since":         func(s *site) { s.setClocks(Clocks{Ended: now.Add(1), Due: now.Add(1)}) },
		"it is due at another time":  func(s *site) { s.setClocks(Clocks{Ended: now, Due: now.Add(2)}) },
		"it was asked here, only so": func(s *site) { s.setClocks(Clocks{Ended: now.Add(1), Due: now.Add(2)}) },
	} {
		f := opened(t, new(memory), Options{})
		s := f.site("http://a.example")
		s.setClocks(Clocks{Ended: now, Due: now.Add(1)})
		st := SiteState{Site: s.name, Clocks: s.clocks()}
		change(s)
		f.leave(st)
		if left := f.sites[s.name] == nil; left != (name == "") || f.drained == 1 != left {
			t.Errorf("%q: left %v, %d are drained", name, left, f.drained)
		}
	}
}

// Status knows a site as long as it has a queued entry. With Revisits, a site that does not answer
// rests for DeadRest.
func TestTheStatusOfOneSite(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := opened(t, new(memory), Options{Revisits: true, DeadRest: time.Hour, Patience: Forever})
		u := mustParse(t, "http://a.example/")
		if _, ok := f.Status(u.Site()); ok {
			t.Error("a site that was never named has a status")
		}
		if err := f.Add(Entry{URL: u}); err != nil {
			t.Fatal(err)
		}
		turn, err := f.Next(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		if st, ok := f.Status(u.Site()); !ok || !st.Out || st.Queued != 1 {
			t.Errorf("%+v, %v", st, ok)
		}
		if _, err := turn.Finish(Outcome{Again: true, Gone: true}); err != nil {
			t.Fatal(err)
		}
		if st, ok := f.Status(u.Site()); !ok || st.Out || time.Until(st.Due) != time.Hour || st.By != FailuresClock || st.Given.Code != Undecided {
			t.Errorf("%+v, %v", st, ok)
		}
		if _, err := New(new(memory), Options{DeadRest: -1}); err == nil {
			t.Error("a negative DeadRest is accepted")
		}
	})
}

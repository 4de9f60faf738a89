package frontier

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"net/netip"
	"slices"
	"testing"
	"testing/synctest"
	"time"
)

// termed is a backlog in memory that stands for one that several frontiers share. It reports sites
// in a Growth.
type termed struct {
	*memory
	grown Growths
	terms map[Site]uint64 // number of the term of each site; the key "" is for all sites that are not listed
	rest  time.Time
}

func newTermed(t *testing.T, o Options, urls ...string) (*termed, *Frontier) {
	t.Helper()
	b := &termed{memory: new(memory), terms: map[Site]uint64{"": 1}}
	o.Term = b.term
	f, err := New(b, o)
	if err != nil {
		t.Fatal(err)
	}
	b.grown.Put(Growth{Terms: []uint64{1}})
	for _, raw := range urls {
		if err := f.Add(Entry{URL: mustParse(t, raw)}); err != nil {
			t.Fatal(err)
		}
	}
	return b, f
}

func (b *termed) term(s Site) uint64 {
	if n, ok := b.terms[s]; ok {
		return n
	}
	return b.terms[""]
}

func (b *termed) state(st SiteState) SiteState {
	st.Term = &Term{Number: b.term(st.Site), Rest: b.rest}
	return st
}

func (b *termed) Sites() iter.Seq2[SiteState, error] { return func(func(SiteState, error) bool) {} }
func (b *termed) Grown() <-chan Growth               { return b.grown.C() }

func (b *termed) State(s Site) (SiteState, error) {
	st, err := b.memory.State(s)
	return b.state(st), err
}

func (b *termed) Submit(c Completion) error {
	err := b.memory.Submit(c)
	g := <-b.memory.Grown()
	for i := range g.Sites {
		g.Sites[i] = b.state(g.Sites[i])
	}
	b.grown.Put(g)
	return err
}

// comes begins a term of a site and reports the state of the site.
func (b *termed) comes(s Site, number uint64) {
	b.terms[s] = number
	st, _ := b.memory.State(s)
	b.grown.Put(Growth{Terms: []uint64{number}, Sites: []SiteState{b.state(st)}})
}

func turnOf(t *testing.T, f *Frontier, want Site) *Turn {
	t.Helper()
	turn, err := f.Next(t.Context())
	if err != nil || turn.Site() != want {
		t.Fatalf("%+v, %v, want a turn of %s", turn, err, want)
	}
	return turn
}

// none fails the test if Next returns a turn within d.
func none(t *testing.T, f *Frontier, d time.Duration) {
	t.Helper()
	ctx, stop := context.WithTimeout(t.Context(), d)
	defer stop()
	if turn, err := f.Next(ctx); !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("%+v, %v, want no turn", turn, err)
	}
}

func finish(t *testing.T, turn *Turn, o Outcome) {
	t.Helper()
	if _, err := turn.Finish(o); err != nil {
		t.Fatal(err)
	}
}

const siteA, siteB Site = "http://a.example", "http://b.example"

// withdrawn calls Withdraw. It fails the test unless Withdraw returns at once (want is true) or
// waits (want is false).
func withdrawn(t *testing.T, f *Frontier, want bool) {
	t.Helper()
	ctx, stop := context.WithTimeout(t.Context(), time.Second)
	defer stop()
	switch busy, err := f.Withdraw(ctx); {
	case want && (err != nil || len(busy) > 0):
		t.Errorf("Withdraw: %q, %v", busy, err)
	case !want && (!errors.Is(err, context.DeadlineExceeded) || !slices.Equal(busy, []Site{siteA})):
		t.Errorf("Withdraw: %q, %v, want it to wait", busy, err)
	}
}

func TestWithdrawWaitsForAllThatIsUnderWay(t *testing.T) {
	for name, test := range map[string]struct {
		begin func(t *testing.T, f *Frontier) (end func()) // begins what Withdraw must wait for, and returns a function that ends it; nil: nothing
	}{
		"nothing": {func(*testing.T, *Frontier) func() { return nil }},
		"a turn": {func(t *testing.T, f *Frontier) func() {
			turn := turnOf(t, f, siteA)
			return func() { finish(t, turn, page) }
		}},
		"a turn that comes to nothing": {func(t *testing.T, f *Frontier) func() {
			turn := turnOf(t, f, siteA)
			return func() { finish(t, turn, Outcome{Again: true}) }
		}},
		"a held page": {func(t *testing.T, f *Frontier) func() {
			turn, o := turnOf(t, f, siteA), page
			o.Hold = true
			finish(t, turn, o)
			return func() { turn.Done() }
		}},
		"a held entry that is no page": {func(t *testing.T, f *Frontier) func() {
			turn := turnOf(t, f, siteA)
			finish(t, turn, Outcome{Fate: Fate{Code: Failed}, Hold: true})
			return func() { turn.Done() }
		}},
		"a turn of Hop": {func(t *testing.T, f *Frontier) func() {
			if err := f.Add(Entry{URL: mustParse(t, "http://b.example/")}); err != nil {
				t.Fatal(err)
			}
			f.Exclude(string(siteA), "for a turn of the other site")
			turn := turnOf(t, f, siteB)
			delete(f.excluded, string(siteA))
			hop, err := turn.Hop(siteA)
			if err != nil {
				t.Fatal(err)
			}
			finish(t, hop, Outcome{Again: true}) // a second turn has the site, so the site is kept
			hop, err = turn.Hop(siteA)
			if err != nil {
				t.Fatal(err)
			}
			return func() { finish(t, hop, Outcome{Again: true}); finish(t, turn, page) }
		}},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				b, f := newTermed(t, Options{}, "http://a.example/1", "http://a.example/2")
				end := test.begin(t, f)
				b.terms[siteA] = 0
				withdrawn(t, f, end == nil)
				if end != nil {
					time.AfterFunc(500*time.Millisecond, end)
					withdrawn(t, f, true)
				}
				withdrawn(t, f, true) // the second call has nothing to do
				if st, ok := f.Status(siteA); ok {
					t.Errorf("in memory: %+v", st)
				}
				f.Rest() // Rest absorbs a growth
				if n := f.Stats(); n.Entries != 0 || n.Held != 0 || n.Out != 0 || f.ahead != 0 {
					t.Errorf("%+v, %d read", n, f.ahead)
				}
				none(t, f, time.Hour)
			})
		})
	}
}

// If Done is called while another turn has the site, the end is submitted before Withdraw returns.
func TestWithdrawWaitsForDoneDuringATurn(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b, f := newTermed(t, Options{}, "http://a.example/1", "http://a.example/2")
		first, o := turnOf(t, f, siteA), page
		o.Hold = true
		finish(t, first, o)
		second := turnOf(t, f, siteA)
		b.terms[siteA] = 0
		if err := first.Done(); err != nil {
			t.Fatal(err)
		}
		withdrawn(t, f, false)
		finish(t, second, page)
		withdrawn(t, f, true)
		if st, _ := b.memory.State(siteA); st.Queued != 0 {
			t.Errorf("%+v", st)
		}
	})
}

// A site that is withdrawn while a turn for it is being made gets no turn.
func TestNoTurnOfASiteThatIsBeingWithdrawn(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var b *termed
		var f *Frontier
		b, f = newTermed(t, Options{Site: func(Site) (SiteLimits, error) {
			b.terms[siteA] = 0
			return SiteLimits{}, nil
		}}, "http://a.example/1")
		none(t, f, time.Hour)
		withdrawn(t, f, true)
	})
}

func TestWithdrawWithoutTermsDoesNothing(t *testing.T) {
	f := opened(t, new(memory), Options{}, "http://a.example/")
	turn := turnOf(t, f, siteA)
	if busy, err := f.Withdraw(t.Context()); err != nil || len(busy) > 0 {
		t.Error(busy, err)
	}
	finish(t, turn, page)
}

// A state counts only if its term has begun and is the current term.
func TestStatesOfOtherTermsAreIgnored(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b, f := newTermed(t, Options{}, "http://a.example/1")
		b.terms[siteA] = 0
		withdrawn(t, f, true)
		st, _ := b.memory.State(siteA)
		for name, g := range map[string]Growth{
			"withdrawn":    {Sites: []SiteState{b.state(st)}},
			"without term": {Sites: []SiteState{st}},
		} {
			b.grown.Put(g)
			none(t, f, time.Hour)
			if _, ok := f.Status(siteA); ok {
				t.Errorf("%s: the site is in memory", name)
			}
		}
		b.terms[siteA] = 2
		for name, g := range map[string]Growth{
			"not begun":    {Sites: []SiteState{b.state(st)}},
			"without term": {Sites: []SiteState{st}},
			"old": {Sites: []SiteState{func() SiteState {
				st := b.state(st)
				st.Term = &Term{Number: 1}
				return st
			}()}},
		} {
			b.grown.Put(g)
			none(t, f, time.Hour)
			if _, ok := f.Status(siteA); ok {
				t.Errorf("%s: the site is in memory", name)
			}
		}
		// Send the new state together with an old one, which has earlier clocks.
		old := b.state(st)
		old.Term = &Term{Number: 1}
		now := time.Now()
		b.memory.Submit(Completion{Site: siteA, Clocks: Clocks{Ended: now, Due: now.Add(time.Minute), By: RetryAfterClock}})
		<-b.memory.Grown()
		b.memory.Forget()
		b.grown.Put(Growth{Sites: []SiteState{old}})
		b.comes(siteA, 2)
		finish(t, turnOf(t, f, siteA), page)
		if d := time.Since(now); d != time.Minute {
			t.Errorf("a turn after %v", d)
		}
	})
}

// The state of a site brings its clocks, its fate and its costs.
func TestASiteComesWithItsClocks(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b, f := newTermed(t, Options{MaxSite: Spent{Pages: 3}, DomainDelay: 5 * time.Second})
		b.terms[siteA], b.terms[siteB] = 0, 0
		now := time.Now()
		entry := Entry{URL: mustParse(t, "http://a.example/1")}
		if err := b.memory.Submit(Completion{
			Site: siteA, Clocks: Clocks{Ended: now, Due: now.Add(time.Minute), By: RetryAfterClock, Public: true},
			Spent: Spent{Pages: 2}, Links: []Entry{entry, {URL: mustParse(t, "http://b.example/1")}},
		}); err != nil {
			t.Fatal(err)
		}
		b.memory.Submit(Completion{Site: siteB, Given: Fate{Code: SiteDead}})
		<-b.memory.Grown()
		b.comes(siteB, 3)
		b.comes(siteA, 2)
		b.grown.Put(Growth{Common: []CommonClock{{"domain a.example", now.Add(4 * time.Second)}}})
		none(t, f, 59*time.Second)
		turn := turnOf(t, f, siteA)
		if d := time.Since(now); d != time.Minute || turn.Asked().By != RetryAfterClock {
			t.Errorf("a turn after %v, %+v", d, turn.Asked())
		}
		finish(t, turn, page)
		if st, _ := f.Status(siteB); st.Given.Code != SiteDead {
			t.Errorf("%+v", st)
		}
		if r := f.Rest(); r.Verdict != ErrUnasked {
			t.Errorf("%+v", r)
		}
		if n := f.Stats(); n.Spent.Pages != 1 || n.Sites != 1 { // siteA is not counted, because another frontier had it, too
			t.Errorf("of this frontier: %+v", n)
		}
	})
}

// A site rests its full pause, counted from Term.Rest, with or without an earlier request.
func TestASiteOfAnUnknownFrontierRests(t *testing.T) {
	ended := time.Minute // end of a request before Term.Rest
	for name, test := range map[string]struct {
		opts   Options
		clocks Clocks
		want   time.Duration // time from Term.Rest to the next request
	}{
		"never asked":         {Options{}, Clocks{}, time.Second},
		"a longer delay":      {Options{Delay: 5 * time.Second}, Clocks{}, 5 * time.Second},
		"no delay":            {Options{Delay: -1}, Clocks{}, 0},
		"its limits":          {Options{Site: func(Site) (SiteLimits, error) { return SiteLimits{Delay: 7 * time.Second}, nil }}, Clocks{}, 7 * time.Second},
		"its robots.txt":      {Options{}, Clocks{Gap: 20 * time.Second, GapBy: CrawlDelayClock}, 20 * time.Second},
		"its answers":         {Options{}, Clocks{TTFB: 4 * time.Second}, 8 * time.Second},
		"its clocks are over": {Options{}, Clocks{Due: time.Time{}.Add(time.Second)}, time.Second},
		"its clocks are late": {Options{}, Clocks{Due: time.Time{}.Add(time.Hour), By: RetryAfterClock}, time.Hour - time.Minute},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				b, f := newTermed(t, test.opts)
				b.terms[siteA] = 0
				begin := time.Now()
				b.rest = begin.Add(ended)
				if test.clocks != (Clocks{}) {
					if test.clocks.Due.IsZero() {
						test.clocks.Due = begin
					} else {
						test.clocks.Due = begin.Add(test.clocks.Due.Sub(time.Time{}))
					}
					test.clocks.Ended = begin.Add(-time.Second)
				}
				b.memory.Submit(Completion{Site: siteA, Clocks: test.clocks, Links: []Entry{{URL: mustParse(t, "http://a.example/1")}}})
				<-b.memory.Grown()
				b.comes(siteA, 2)
				turn := turnOf(t, f, siteA)
				if got := time.Since(b.rest); got != test.want {
					t.Errorf("a turn %v after the rest, want %v", got, test.want)
				}
				if p := turn.Asked(); test.clocks.By == NoClock && test.want > 0 && (p.By != RestartClock || !p.Since.Equal(b.rest) || p.For != test.want) {
					t.Errorf("the pause is %+v", p)
				}
				finish(t, turn, page)
				f.Settle(t.Context())
				if _, ok := f.Status(siteA); ok {
					t.Error("the site stays in memory")
				}
			})
		})
	}
}

// A site without entries leaves memory although it rests. Its host still rests.
func TestTheHostOfAnUnknownFrontierRests(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b, f := newTermed(t, Options{DomainDelay: 30 * time.Second})
		const other Site = "https://a.example"
		begin := time.Now()
		b.rest = begin.Add(time.Minute)
		b.terms[siteA], b.terms[other] = 0, 0
		b.memory.Submit(Completion{Site: other, Clocks: Clocks{Ended: begin, Due: begin, Gap: 10 * time.Second, Public: true}})
		b.memory.Submit(Completion{Links: []Entry{{URL: mustParse(t, "http://a.example/1")}, {URL: mustParse(t, "http://www.a.example/1")}}})
		<-b.memory.Grown()
		b.terms[other], b.terms[siteA] = 2, 2
		var g Growth
		for _, s := range []Site{siteA, other} {
			st, _ := b.memory.State(s)
			g.Sites = append(g.Sites, b.state(st))
		}
		g.Terms = []uint64{2}
		b.grown.Put(g)
		for range 2 {
			f.Rest()
		}
		if _, ok := f.Status(other); ok {
			t.Error("a site without entries stays in memory")
		}
		for {
			turn := turnOf(t, f, siteA)
			if err := turn.Bind(netip.MustParseAddr("16.0.0.1"), true); err == nil {
				finish(t, turn, page)
				break
			}
			finish(t, turn, Outcome{Again: true})
		}
		if got := time.Since(b.rest); got != 30*time.Second {
			t.Errorf("a request %v after the rest, want 30s, as the domain rests", got)
		}
	})
}

// If the robots.txt of a site redirects to a site that was withdrawn, the first site continues,
// and cannot reach the second one.
func TestASiteThatWaitedForAWithdrawnOneGoesOn(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b, f := newTermed(t, Options{}, "http://a.example/1")
		b.memory.Submit(Completion{Site: siteB, Clocks: Clocks{Ended: time.Now(), Due: time.Now().Add(time.Hour), By: RetryAfterClock}})
		<-b.memory.Grown()
		turn := turnOf(t, f, siteA)
		var notYet *NotYet
		if _, err := turn.Hop(siteB); !errors.As(err, &notYet) || notYet.By != SiteClock {
			t.Fatal(err)
		}
		finish(t, turn, Outcome{Again: true})
		none(t, f, time.Minute)
		b.terms[siteB] = 0
		withdrawn(t, f, true)
		turn = turnOf(t, f, siteA)
		if _, err := turn.Hop(siteB); !errors.As(err, &notYet) || notYet.By != MachineClock {
			t.Error(err)
		}
		finish(t, turn, Outcome{Again: true})
		begin := time.Now()
		turn = turnOf(t, f, siteA) // the site tries again after its pause
		if d := time.Since(begin); d != time.Second {
			t.Errorf("tries again after %v", d)
		}
		finish(t, turn, Outcome{Again: true})
		b.terms[siteB] = 5
		b.grown.Put(Growth{Terms: []uint64{5}}) // the term begins without a state of the site
		time.Sleep(time.Hour)
		turn = turnOf(t, f, siteA)
		hop, err := turn.Hop(siteB)
		if err != nil {
			t.Fatal(err)
		}
		finish(t, hop, Outcome{Again: true, Request: &Request{}})
		finish(t, turn, Outcome{Again: true})
		b.terms[siteB] = 0
		withdrawn(t, f, true)
		turn = turnOf(t, f, siteA)
		if _, err := turn.Hop(siteB); !errors.As(err, &notYet) || time.Until(notYet.Until) != time.Second {
			t.Errorf("a new refusal: %v", err)
		}
		finish(t, turn, page)
	})
}

// A site that is parked because another turn has its address is withdrawn at once.
func TestAParkedSiteIsWithdrawnAtOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b, f := newTermed(t, Options{PerIP: 1}, "http://a.example/1", "http://b.example/1", "http://b.example/2")
		first := turnOf(t, f, siteA)
		second := turnOf(t, f, siteB)
		if err := first.Bind(oneAddr, true); err != nil {
			t.Fatal(err)
		}
		if err := second.Bind(oneAddr, true); err == nil {
			t.Fatal("two turns have the address")
		}
		finish(t, second, Outcome{Again: true})
		none(t, f, time.Second)
		if st, _ := f.Status(siteB); !st.Parked {
			t.Fatalf("%+v", st)
		}
		b.terms[siteB] = 0
		withdrawn(t, f, true)
		finish(t, first, page)
		none(t, f, time.Hour)
		b.memory.Forget()
		b.comes(siteB, 2)
		finish(t, turnOf(t, f, siteB), page)
	})
}

// All sums of the frontier are right after many sites were withdrawn.
func TestManySitesAreWithdrawn(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b, f := newTermed(t, Options{}, pagesOf([]string{"http://a.example"}, 3)...)
		for i := range 3*somePage + 1 {
			if err := f.Add(Entry{URL: mustParse(t, fmt.Sprintf("http://h%d.example/", i))}); err != nil {
				t.Fatal(err)
			}
		}
		o := page
		o.Request = &Request{Started: time.Now(), Ended: time.Now()} // a short request, so that the site is quick
		finish(t, turnOf(t, f, siteA), o)
		b.terms = map[Site]uint64{siteA: 1}
		withdrawn(t, f, true)
		f.Rest() // Rest absorbs a growth
		if n := f.Stats(); n.Entries != 2 || n.Sites != 1 || quickOf(f) != 1 {
			t.Errorf("%+v", n)
		}
		b.terms = map[Site]uint64{}
		withdrawn(t, f, true)
		if n := f.Stats(); n.Entries != 0 || n.Sites != 0 || f.ahead != 0 || quickOf(f) != 0 || f.need != 0 {
			t.Errorf("%+v, %d read, %+v", n, f.ahead, f.reserve)
		}
	})
}

func quickOf(f *Frontier) int { return f.reserve.quick }

// Sites with different times in Term.Rest each rest from their own time.
func TestEachTermHasItsOwnRest(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b, f := newTermed(t, Options{})
		b.terms[siteA], b.terms[siteB] = 0, 0
		b.memory.Submit(Completion{Links: []Entry{{URL: mustParse(t, "http://a.example/1")}, {URL: mustParse(t, "http://b.example/1")}}})
		<-b.memory.Grown()
		begin := time.Now()
		b.rest = begin.Add(time.Minute)
		b.comes(siteA, 2)
		b.rest = begin.Add(2 * time.Minute)
		b.comes(siteB, 3)
		for _, want := range []time.Duration{time.Minute, 2 * time.Minute} {
			turn, err := f.Next(t.Context())
			if err != nil || time.Since(begin) != want+time.Second {
				t.Errorf("a turn after %v, %v, want %v and the delay", time.Since(begin), err, want)
			}
			finish(t, turn, page)
		}
	})
}

// After a site was withdrawn, the site that it waited for can leave memory.
func TestAWithdrawnSiteWaitsForNoOther(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b, f := newTermed(t, Options{}, "http://a.example/1")
		b.memory.Submit(Completion{Site: siteB, Clocks: Clocks{Ended: time.Now(), Due: time.Now().Add(time.Hour), By: RetryAfterClock}})
		<-b.memory.Grown()
		turn := turnOf(t, f, siteA)
		turn.Hop(siteB)
		finish(t, turn, Outcome{Again: true})
		b.terms[siteA] = 0
		withdrawn(t, f, true)
		st, _ := b.memory.State(siteB)
		b.grown.Put(Growth{Sites: []SiteState{b.state(st)}})
		f.Rest()
		if _, ok := f.Status(siteB); ok {
			t.Error("the other site stays in memory")
		}
	})
}

package frontier

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"
)

// visit takes the next turn and finishes it with o. It returns the entry and its fate.
func visit(t *testing.T, f *Frontier, o Outcome) (Entry, Fate) {
	t.Helper()
	turn, err := f.Next(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	o.Request = &Request{Started: time.Now(), Ended: time.Now()}
	if o.Revisit.Equal(inAWeek) {
		o.Revisit = time.Now().Add(week)
	}
	fate, err := turn.Finish(o)
	if err != nil {
		t.Fatal(err)
	}
	return turn.Entry(), fate
}

// inAWeek stands for the time one week after visit finishes a turn.
var inAWeek = time.Unix(1, 0)

const week = 7 * 24 * time.Hour

func again(status int, changed bool) Outcome {
	return Outcome{Fate: Fate{Code: Fetched, Status: status}, Revisit: inAWeek, Changed: changed}
}

func TestAnEntryIsFetchedAgainWhenItIsDue(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := opened(t, new(memory), Options{Revisits: true, Patience: Forever}, "http://a.example/")
		begin := time.Now()
		e, fate := visit(t, f, again(200, true))
		if e.Visits != nil || !fate.Again() || fate.Ends() || fate.Code != Fetched || !fate.Until.Equal(begin.Add(week)) {
			t.Fatalf("the first visit: %+v, %+v", e, fate)
		}
		e, _ = visit(t, f, again(200, false))
		if at := time.Since(begin); at != week {
			t.Fatalf("it is fetched again after %v", at)
		}
		if v := e.Visits; v == nil || !v.First.Equal(begin) || v.Seen != 0 || v.Last.Status != 200 || !v.Last.Until.IsZero() {
			t.Fatalf("the second visit knows %+v", v)
		}
		// A visit that fails is tried again, like any other. After the tries are used up, the page
		// is fetched at its time for Revisit.
		for range MaxTries {
			e, fate = visit(t, f, Outcome{Trouble: PageTrouble, Fate: Fate{Detail: "no answer"}, Revisit: inAWeek})
			if v := e.Visits; v == nil || v.Seen != 1 || v.Changes != 0 || !v.Last.Time.Equal(begin.Add(week)) {
				t.Fatalf("the third visit knows %+v", v)
			}
		}
		if fate.Code != Failed || !fate.Again() {
			t.Fatalf("after the last try: %+v", fate)
		}
		e, fate = visit(t, f, Outcome{Fate: Fate{Code: Fetched, Status: 404}, Changed: true})
		if v := e.Visits; v == nil || v.Seen != 1 || v.Last.Code != Failed || e.Tries != 0 {
			t.Fatalf("the fourth visit knows %+v", v)
		}
		if !fate.Ends() {
			t.Fatalf("the outcome had no Revisit: %+v", fate)
		}
		if _, err := f.Next(t.Context()); !errors.Is(err, ErrEnd) {
			t.Errorf("after the end of all: %v", err)
		}
		if n := f.Stats().Spent.Pages; n != 1 {
			t.Errorf("%d pages are spent for one page", n)
		}
	})
}

func TestWhatIsPutAsideIsNotFetchedAgain(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		for _, revisits := range []bool{false, true} {
			f := opened(t, new(memory), Options{Revisits: revisits}, "http://a.example/")
			code := Fetched
			if revisits {
				code = OptedOut
			}
			if _, fate := visit(t, f, Outcome{Fate: Fate{Code: code}, Revisit: inAWeek}); !fate.Ends() {
				t.Errorf("with revisits %v: %+v", revisits, fate)
			}
		}
	})
}

// A page that was fetched before is fetched again even after the limit of pages is reached.
func TestPagesAreFetchedAgainWhenAllAreSpent(t *testing.T) {
	for name, opts := range map[string]Options{
		"of the crawl": {Limit: 1}, "of a site": {MaxSite: Spent{Pages: 1}},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				opts.Revisits, opts.Patience = true, Forever
				f := opened(t, new(memory), opts, "http://a.example/", "http://a.example/2")
				begin := time.Now()
				for i := range 3 {
					e, _ := visit(t, f, again(200, true))
					if e.URL.String() != "http://a.example/" || time.Since(begin) != time.Duration(i)*week {
						t.Fatalf("visit %d is of %s, after %v", i, e.URL, time.Since(begin))
					}
				}
			})
		})
	}
}

// With Revisits, a site that does not answer for a few days is visited again later.
func TestASiteThatIsGoneIsAskedAgainTheNextDay(t *testing.T) {
	for name, gone := range map[string]Outcome{
		"its name":       {Again: true, Gone: true},
		"its robots.txt": {Again: true, RobotsFailures: maxRobotsFails},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				f := opened(t, new(memory), Options{Revisits: true, Patience: Forever}, "http://a.example/")
				begin := time.Now()
				for range 3 {
					visit(t, f, gone)
				}
				visit(t, f, again(200, true))
				if after := time.Since(begin); after != 3*deadRest {
					t.Errorf("it got the next request after %v", after)
				}
				if st := f.Stats(); st.Polite.Early != 0 {
					t.Errorf("%+v", st.Polite)
				}
			})
		})
	}
}

func TestAHeldEntryIsFetchedAgain(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := opened(t, new(memory), Options{Revisits: true, Patience: Forever}, "http://a.example/")
		turn, err := f.Next(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		o := again(200, true)
		o.Revisit = time.Now().Add(week)
		o.Hold, o.Request = true, &Request{Started: time.Now(), Ended: time.Now()}
		if fate, err := turn.Finish(o); err != nil || !fate.Again() || !turn.Held() {
			t.Fatalf("%+v, %v, held: %v", fate, err, turn.Held())
		}
		time.Sleep(time.Hour)
		if err := turn.Done(); err != nil {
			t.Fatal(err)
		}
		e, _ := visit(t, f, again(200, true))
		if e.Visits == nil || e.Visits.Last.Status != 200 {
			t.Errorf("the second visit knows %+v", e.Visits)
		}
		if n := f.Stats().Done; n != 0 {
			t.Errorf("%d are done", n)
		}
	})
}

func TestALongPauseIsBounded(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := opened(t, new(memory), Options{Revisits: true}, "http://a.example/")
		begin := time.Now()
		_, fate := visit(t, f, Outcome{Fate: Fate{Code: Fetched}, Revisit: begin.AddDate(1000, 0, 0)})
		if wait := fate.Until.Sub(begin); wait != maxRevisit {
			t.Errorf("it waits for %v", wait)
		}
		// A page with a Revisit in the past is due at once.
		f = opened(t, new(memory), Options{Revisits: true}, "http://b.example/")
		_, fate = visit(t, f, Outcome{Fate: Fate{Code: Fetched}, Revisit: begin.AddDate(-1, 0, 0)})
		if !fate.Again() || !fate.Until.Equal(begin) {
			t.Errorf("it waits until %v, want %v", fate.Until, begin)
		}
	})
}

func TestWhereTheBodyIsGoesWithTheEntry(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := opened(t, new(memory), Options{Revisits: true, Patience: Forever}, "http://a.example/")
		at := Place{File: "a.warc.gz", Offset: 7}
		fetched := again(200, false)
		fetched.Body = at
		visit(t, f, fetched)
		failed := Outcome{Fate: Fate{Code: Failed}, Revisit: inAWeek}
		if e, _ := visit(t, f, failed); e.Visits.Body != at {
			t.Errorf("after the first visit it is at %+v", e.Visits.Body)
		}
		if e, _ := visit(t, f, again(200, true)); e.Visits.Body != at {
			t.Errorf("after a visit that has failed it is at %+v", e.Visits.Body)
		}
		if e, _ := visit(t, f, fetched); e.Visits.Body != (Place{}) {
			t.Errorf("after a visit without an archived body it is at %+v", e.Visits.Body)
		}
	})
}

// Entries to fetch again have a count and a clock of their own, in this run and in the next.
func TestEntriesToFetchAgainAreCountedSeparately(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m := new(memory)
		opts := Options{Revisits: true, Delay: -1, Patience: 10 * week}
		f := opened(t, m, opts, "http://a.example/1", "http://a.example/2", "http://a.example/3")
		begin := time.Now()
		expect := func(when string, queued, again, done int, next time.Duration, by Clock) {
			t.Helper()
			f.Settle(t.Context())
			st := f.Stats()
			if st.Entries != queued || st.Again != again || st.Done != done {
				t.Errorf("%s: %d queued, %d again, %d done; want %d, %d and %d", when, st.Entries, st.Again, st.Done, queued, again, done)
			}
			for site := range f.Sites() {
				if site.Queued != queued || site.Again != again || site.Left() != queued+again {
					t.Errorf("%s: %+v", when, site)
				}
			}
			if st.NextBy != by || next > 0 && !st.NextDue.Equal(begin.Add(next)) {
				t.Errorf("%s: the next is due %v by %q, want %v by %q", when, st.NextDue.Sub(begin), st.NextBy, next, by)
			}
		}
		fails := Outcome{Trouble: PageTrouble, Fate: Fate{Detail: "no answer"}, Revisit: inAWeek}
		visit(t, f, again(200, true))
		expect("after a page", 2, 1, 0, 0, OwnClock)
		visit(t, f, again(200, true))
		visit(t, f, fails)
		expect("after a failure", 1, 2, 0, 15*time.Second, RetryClock)
		visit(t, f, Outcome{Fate: Fate{Code: Fetched, Status: 200}})
		expect("when one has ended", 0, 2, 1, week, AgainClock)
		visit(t, f, fails)
		expect("when it fails the second time", 1, 1, 1, 0, OwnClock)
		visit(t, f, again(200, true))
		expect("when the other one is fetched again", 1, 1, 1, week+15*time.Second, RetryClock)
		visit(t, f, again(200, true))
		expect("when that is, too", 0, 2, 1, 2*week, AgainClock)
		f = opened(t, m, opts)
		expect("in the next run", 0, 2, 1, 2*week, AgainClock)
		if err := f.Exclude("a.example", "asked to"); err != nil {
			t.Fatal(err)
		}
		if _, err := f.Next(t.Context()); err != ErrUnasked {
			t.Errorf("when the site is excluded: %v", err)
		}
	})
}

// The clock of a site that is shut belongs to the entry that the site waits for.
func TestTheClockOfASiteThatIsShut(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := opened(t, new(memory), Options{Revisits: true, Patience: Forever, Limit: 1}, "http://a.example/1", "http://a.example/2")
		visit(t, f, again(200, true))
		for _, want := range []Clock{AgainClock, RetryClock, AgainClock} {
			ctx, stop := context.WithTimeout(t.Context(), 5*time.Second)
			if turn, err := f.Next(ctx); err != context.DeadlineExceeded {
				t.Fatal(turn, err)
			}
			stop()
			if st := f.Stats(); st.NextBy != want || st.Entries+st.Again != 2 {
				t.Errorf("%+v, want it to wait by %q", st, want)
			}
			o := again(200, true)
			if want == AgainClock {
				o.Trouble = PageTrouble
			}
			visit(t, f, o)
		}
	})
}

// NextAgain also considers entries that were read and not handed out yet, and entries that come
// after retries in the queue.
func TestWhenTheNextIsFetchedAgain(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m := new(memory)
		opts := Options{Revisits: true, Delay: -1, Patience: Forever}
		f := opened(t, m, opts, "http://a.example/1", "http://a.example/2", "http://a.example/3")
		begin := time.Now()
		next := func(want time.Duration) {
			t.Helper()
			f.Settle(t.Context())
			for st := range f.Sites() {
				if at := st.NextAgain; want < 0 && !at.IsZero() || want >= 0 && !at.Equal(begin.Add(want)) {
					t.Errorf("the next one is due %v, want after %v", at.Sub(begin), want)
				}
			}
		}
		next(-1)
		visit(t, f, again(200, true))
		next(week)
		visit(t, f, Outcome{Trouble: PageTrouble, Revisit: inAWeek})
		next(week)
		visit(t, f, again(200, true))
		time.Sleep(time.Until(begin.Add(week)) + time.Hour)
		visit(t, f, again(200, true)) // the retry of the third entry
		visit(t, f, Outcome{Again: true})
		next(week)
	})
}

// changesOf returns a Changes that says that the pages of urls changed at the time at.
func changesOf(t *testing.T, at time.Time, least time.Duration, urls ...string) *Changes {
	c := &Changes{Told: time.Now(), Least: least}
	for _, raw := range urls {
		e := Entry{URL: mustParse(t, raw)}
		c.Pages = append(c.Pages, Change{Site: e.URL.Site(), Key: e.Key(), Time: at})
	}
	return c
}

// A page would be fetched again after a week. A sitemap that is read after two days says that the
// page has changed. Then it is fetched at once, or after the least time since its last visit.
// Other pages keep their times.
func TestAPageThatHasChangedIsBroughtForward(t *testing.T) {
	const day = 24 * time.Hour
	const page, other, list = "http://a.example/", "http://a.example/other", "http://b.example/"
	for name, row := range map[string]struct{ changed, least, want time.Duration }{ // times since the beginning of the test
		"changed since its visit":        {changed: 25 * time.Hour, want: 2 * day},
		"changed before its visit":       {changed: -time.Hour, want: week},
		"changed at its visit":           {changed: 0, want: week},
		"not so soon after its visit":    {changed: 25 * time.Hour, least: 3 * day, want: 3 * day},
		"it is due by itself, as before": {changed: 25 * time.Hour, least: 8 * day, want: week},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				f := opened(t, new(memory), Options{Revisits: true, Patience: Forever}, page, other, list)
				begin, seen := time.Now(), map[string][]time.Duration{}
				for range 6 { // three pages at the beginning, the sitemap, and two pages again
					turn, err := f.Next(t.Context())
					if err != nil {
						t.Fatal(err)
					}
					url, at := turn.Entry().URL.String(), time.Since(begin)
					o := again(200, false)
					o.Revisit = time.Now().Add(week)
					if url == list && seen[list] == nil {
						o.Revisit = begin.Add(2 * day)
					} else if url == list {
						o.Revisit = begin.Add(52 * week)
						o.Changes = changesOf(t, begin.Add(row.changed), row.least, page, "http://a.example/unknown", "http://c.example/")
					}
					seen[url] = append(seen[url], at.Round(time.Hour))
					if _, err := turn.Finish(o); err != nil {
						t.Fatal(err)
					}
				}
				for url, want := range map[string]time.Duration{page: row.want, other: week, list: 2 * day} {
					if got := seen[url]; len(got) != 2 || got[1] != want {
						t.Errorf("%s is fetched after %v, want %v for the second time", url, got, want)
					}
				}
			})
		})
	}
}

// A change does not make an entry due earlier if the entry was not fetched yet, has ended, or
// waits for another try.
func TestOnlyWhatWaitsToBeFetchedAgainIsBroughtForward(t *testing.T) {
	at := time.Unix(1e9, 0)
	c := &Changes{Told: at}
	waits := Entry{Due: at.Add(week), Visits: &Visits{Last: Fate{Code: Fetched, Time: at.Add(-week)}}}
	if due, ok := c.Due(&waits, at.Add(-time.Hour)); !ok || !due.Equal(at) {
		t.Fatalf("one that waits to be fetched again: %v, %v", due, ok)
	}
	fresh, tried, now := waits, waits, waits
	fresh.Visits, tried.Tries, now.Due = nil, 1, at
	for name, e := range map[string]Entry{"not fetched yet": fresh, "waits for another try": tried, "due now": now} {
		if due, ok := c.Due(&e, at.Add(-time.Hour)); ok {
			t.Errorf("one that is %s: %v", name, due)
		}
	}
	if due, ok := c.Due(&waits, time.Time{}); ok {
		t.Errorf("a change without a time: %v", due)
	}
}

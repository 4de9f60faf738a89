package frontier

import (
	"fmt"
	"net/netip"
	"testing"
	"testing/synctest"
	"time"
)

func always(Site) (netip.Addr, time.Duration, Outcome) { return oneAddr, 0, page }

// knowing returns a backlog that has one page of a site, and the clocks c of this site.
func knowing(t *testing.T, c Clocks) *memory {
	t.Helper()
	b := new(memory)
	u := mustParse(t, "http://a.example/")
	if err := b.Submit(Completion{Site: u.Site(), Clocks: c, Links: []Entry{{URL: u}}}); err != nil {
		t.Fatal(err)
	}
	<-b.Grown() // drop the growth of the earlier run
	return b
}

// A pause that a wrong clock has put years into the future counts from the first run with a
// correct clock. Later runs do not start it again.
func TestAPauseThatWasMovedIsNotMovedAgain(t *testing.T) {
	for name, away := range map[string]time.Duration{"ahead": 5 * 365 * 24 * time.Hour, "long ago": -5 * 365 * 24 * time.Hour} {
		for _, named := range []bool{true, false} {
			t.Run(fmt.Sprint(name, named), func(t *testing.T) {
				synctest.Test(t, func(t *testing.T) {
					begin := time.Now()
					end := begin.Add(away)
					c := Clocks{Ended: end, Due: end.Add(3 * time.Hour), By: OwnClock}
					if named {
						c.RetryAfter, c.By = c.Due, RetryAfterClock
					}
					b := knowing(t, c)
					for time.Since(begin) < 24*time.Hour {
						f := opened(t, b, Options{})
						for _, s := range serve(t, f, true, always) {
							if after := s.start.Sub(begin); after < 3*time.Hour || after > 4*time.Hour {
								t.Errorf("requested after %v, want three hours", after)
							}
							if kept := f.Stats().Polite.RetryAfter; kept == 1 != named {
								t.Errorf("a Retry-After was kept %d times", kept)
							}
							return
						}
						b.Forget()
						time.Sleep(time.Hour)
					}
					t.Error("never requested")
				})
			})
		}
	}
}

func TestAnUncleanStartOfTheFutureIsOneOfNow(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		begin := time.Now()
		b := knowing(t, Clocks{Ended: begin.Add(-time.Hour), Due: begin.Add(-time.Hour), Public: true})
		f := opened(t, b, Options{Restarted: begin.AddDate(5, 0, 0), Delay: 50 * time.Millisecond}, "http://new.example/")
		log := serve(t, f, false, always)
		if len(log) != 2 {
			t.Fatalf("%d requests, want 2", len(log))
		}
		for _, s := range log {
			// The least delay at public addresses still applies.
			want := 50 * time.Millisecond
			if s.site == "http://a.example" {
				want = PublicFloor
			}
			if got := s.start.Sub(begin); got != want || s.asked.By != RestartClock || s.asked.For != want {
				t.Errorf("%s got a request after %v, by %+v; want %v", s.site, got, s.asked, want)
			}
		}
	})
}

// An entry that waits longer than the maximum was queued while the clock was ahead.
func TestAnEntryOfTheFutureHasWaitedLongEnough(t *testing.T) {
	for wait, want := range map[time.Duration]time.Duration{24 * time.Hour: 24 * time.Hour, 24*time.Hour + 1: 0, 9 * 365 * 24 * time.Hour: 0} {
		synctest.Test(t, func(t *testing.T) {
			begin := time.Now()
			b := knowing(t, Clocks{})
			var e [1]Entry
			if n, err := b.Read("http://a.example", begin, e[:]); n != 1 || err != nil {
				t.Fatal(n, err)
			}
			if err := b.Submit(Completion{Site: "http://a.example", Entry: e[0], Fate: Fate{Code: Waiting, Until: begin.Add(wait)}}); err != nil {
				t.Fatal(err)
			}
			<-b.Grown() // drop the growth of the earlier run
			log := serve(t, opened(t, b, Options{Patience: 48 * time.Hour}), true, always)
			if len(log) != 1 || log[0].start.Sub(begin) != want {
				t.Errorf("%v: requests %v after %v, want %v", wait, log, begin, want)
			}
		})
	}
}

// A Retry-After in the year 9999 is cut to a year.
func TestPausesAreBounded(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := opened(t, new(memory), Options{}, "http://a.example/", "http://a.example/2")
		for _, o := range []Outcome{
			{Again: true, Defer: time.Date(9999, 1, 1, 0, 0, 0, 0, time.UTC)},
			{Trouble: SiteTrouble, RetryAfter: time.Date(9999, 1, 1, 0, 0, 0, 0, time.UTC)},
		} {
			turn, err := f.Next(t.Context())
			if err != nil {
				t.Fatal(err)
			}
			o.Request = &Request{Started: time.Now(), Ended: time.Now()}
			if _, err := turn.Finish(o); err != nil {
				t.Fatal(err)
			}
			st := f.Stats()
			if wait := time.Until(st.NextDue); wait > maxPause || wait < maxPause-time.Hour {
				t.Errorf("the next turn is due in %v", wait)
			}
			time.Sleep(2 * maxPause)
		}
	})
}

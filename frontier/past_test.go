package frontier

import (
	"fmt"
	"math"
	"reflect"
	"slices"
	"testing"
	"time"
)

// filled sets a field of a struct to a value that is not zero.
func filled(t *testing.T, v reflect.Value) {
	t.Helper()
	switch x := v.Addr().Interface().(type) {
	case *time.Time:
		*x = time.Now()
	default:
		switch v.Kind() {
		case reflect.String:
			v.SetString("of its own")
		case reflect.Int, reflect.Int64:
			v.SetInt(1 + math.MaxInt16)
		case reflect.Bool:
			v.SetBool(true)
		default:
			t.Fatalf("what is a %v that is not zero?", v.Type())
		}
	}
}

func TestAPastKeepsEachFieldOfTheClocksByItself(t *testing.T) {
	all := Clocks{}
	s, gone := &site{}, Fate{Code: SiteDead}
	s.give(gone)
	s.spend(Spent{1, 2, 3})
	for i := range reflect.TypeFor[Clocks]().NumField() {
		one := Clocks{}
		filled(t, reflect.ValueOf(&one).Elem().Field(i))
		filled(t, reflect.ValueOf(&all).Elem().Field(i))
		for _, c := range []Clocks{one, all, {}} {
			s.setClocks(c)
			if got := s.clocks(); got != c {
				t.Errorf("%s: %+v, not %+v", reflect.TypeFor[Clocks]().Field(i).Name, got, c)
			}
		}
	}
	if s.fate() != gone || s.spent() != (Spent{1, 2, 3}) {
		t.Errorf("setClocks has changed other fields: %+v, %+v", s.fate(), s.spent())
	}
	s.setClocks(all)
	s.give(Fate{})
	if got := s.clocks(); got != all || s.given() {
		t.Errorf("setting other fields has changed the clocks: %+v, given %v", got, s.fate())
	}
}

func TestEachClockThatHasANameIsKeptWithoutIt(t *testing.T) {
	for i, c := range clocksByCode {
		if code, other := coded(c); int(code) != i || other != NoClock || code.clock("") != c {
			t.Errorf("%q has the code %d, and is %q beside it", c, code, other)
		}
	}
	for _, c := range []Clock{"of its own", "ow"} {
		if code, other := coded(c); code.clock(other) != c {
			t.Errorf("%q is read as %q", c, code.clock(other))
		}
	}
	if len(clocksByCode) > int(noCode) || slices.Contains(clocksByCode[:], "of its own") {
		t.Error("there is no code left for unknown clocks")
	}
	s := &site{}
	s.setClocks(Clocks{By: BackOffClock, GapBy: CrawlDelayClock, Strikes: math.MaxInt, Good: 3})
	if s.past.odd != nil {
		t.Error("a usual past takes the memory of an unusual one")
	}
	if got := s.clocks().Strikes; got != math.MaxInt32 {
		t.Errorf("%d strikes are kept of as many as there can be", got)
	}
}

func TestASiteThatWasNeverAskedHasNoPast(t *testing.T) {
	s := &site{name: "http://a.example"}
	s.recall(SiteState{Site: s.name, Known: 3, Queued: 3}, time.Now())
	s.give(Fate{})
	s.spend(Spent{})
	s.setClocks(Clocks{})
	s.raise(time.Time{}, OwnClock)
	if s.past != nil {
		t.Errorf("%+v", s.past)
	}
	due, by := s.ownDue()
	got := fmt.Sprint(due.IsZero(), by, s.lastAsked().IsZero(), s.since().IsZero(), s.resting(), s.public(), s.spent(), s.fate() == Fate{})
	if want := fmt.Sprint(true, NoClock, true, true, false, false, Spent{}, true); got != want {
		t.Errorf("%s, not %s", got, want)
	}
}

func TestTheDueTimeOfASiteIsOnlyRaised(t *testing.T) {
	s, now := &site{}, time.Now()
	for i, step := range []struct {
		to   time.Duration
		by   Clock
		want time.Duration
		said Clock
	}{
		{2, OwnClock, 2, OwnClock}, {1, RetryClock, 2, OwnClock}, {2, RetryClock, 2, OwnClock}, {3, "of its own", 3, "of its own"},
	} {
		s.raise(now.Add(step.to), step.by)
		if due, by := s.ownDue(); !due.Equal(now.Add(step.want)) || by != step.said {
			t.Errorf("step %d: due after %v, by %q", i, due.Sub(now), by)
		}
	}
}

// After a crash all sites rest, including those without a request.
func TestSitesWithoutARequestRestAfterARestart(t *testing.T) {
	restarted := time.Now().Add(-time.Millisecond)
	f := opened(t, new(memory), Options{Restarted: restarted, Delay: time.Minute})
	a, b := f.newSite("http://a.example"), f.newSite("http://b.example")
	for _, s := range []*site{a, b} {
		f.restart(s)
		if due, by := s.ownDue(); !due.Equal(restarted.Add(time.Minute)) || by != RestartClock || s.past != f.unasked {
			t.Fatalf("%s is due at %v, by %s, with %+v", s.name, due, by, s.past)
		}
	}
	kept := *f.unasked
	for what, change := range map[string]func(*site){
		"raise":  func(s *site) { s.raise(restarted.Add(time.Hour), RobotsClock) },
		"spend":  func(s *site) { s.spend(Spent{Pages: 1}) },
		"give":   func(s *site) { s.give(Fate{Code: SiteDead}) },
		"serve":  func(s *site) { f.served(s, oneAddr, true) },
		"recall": func(s *site) { s.recall(SiteState{Spent: Spent{Pages: 1}}, time.Now()) },
		"move": func(s *site) {
			turn := &Turn{frontier: f, site: s}
			turn.moveClocks(&Outcome{Request: &Request{Started: time.Now(), Ended: time.Now()}}, time.Now())
		},
	} {
		s := f.newSite("http://c.example")
		f.restart(s)
		if change(s); s.past == f.unasked || s.past.shared || *s.past == kept {
			t.Errorf("%s has not changed the site: %+v", what, s.past)
		}
		if *f.unasked != kept {
			t.Fatalf("%s has changed all sites: %+v", what, *f.unasked)
		}
	}
	slow := f.newSite("http://slow.example")
	slow.limits = &SiteLimits{Delay: time.Hour}
	f.restart(slow)
	if due, _ := slow.ownDue(); !due.Equal(restarted.Add(time.Hour)) {
		t.Errorf("a site with a pause of its own is due at %v", due)
	}
}

func TestAUsualTurnTakesNoMemoryForThePast(t *testing.T) {
	s, now := &site{name: "http://a.example"}, time.Now()
	s.begun()
	n := testing.AllocsPerRun(100, func() {
		c := s.clocks()
		c.move(s.name, Request{Started: now, FirstByte: now, Ended: now}, NoTrouble, time.Time{}, time.Second)
		s.setClocks(c)
		s.give(Fate{})
		s.raise(now.Add(time.Minute), OwnClock)
		s.spend(Spent{Pages: 1})
	})
	if n != 0 {
		t.Errorf("%v pieces of memory", n)
	}
}

package schedule_test

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/permesso-crawler/permesso/internal/schedule"
	"pgregory.net/rapid"
)

func TestAPlanFollowsItsPolicies(t *testing.T) {
	day := func(d, hour int) time.Time { return time.Date(2026, 11, d, hour, 0, 0, 0, time.UTC) }
	daily := schedule.Spec{Every: "0 3 * * *"}
	off, overlap := schedule.WhyOff, schedule.WhyOverlap
	for _, test := range []struct {
		name string
		spec schedule.Spec
		ran  schedule.Ran
		now  time.Time
		want schedule.Plan
	}{
		{"nothing is due", daily, schedule.Ran{Last: day(9, 3)}, day(10, 2),
			schedule.Plan{Next: day(10, 3), Wake: day(10, 3)}},
		{"a run is due", daily, schedule.Ran{Last: day(9, 3)}, day(10, 3),
			schedule.Plan{Run: day(10, 3), Next: day(11, 3), Wake: day(11, 3)}},
		{"an hour late is on time", daily, schedule.Ran{Last: day(9, 3)}, day(10, 4),
			schedule.Plan{Run: day(10, 3), Next: day(11, 3), Wake: day(11, 3)}},
		{"later it is missed", daily, schedule.Ran{Last: day(9, 3)}, day(10, 4).Add(time.Second),
			schedule.Plan{Missed: []schedule.Miss{{day(10, 3), off}}, Next: day(11, 3), Wake: day(11, 3)}},
		{"or caught up", schedule.Spec{Every: "0 3 * * *", CatchUp: schedule.CatchUpOnce}, schedule.Ran{Last: day(8, 3)}, day(10, 12),
			schedule.Plan{Missed: []schedule.Miss{{day(9, 3), off}}, Run: day(10, 3), Late: true, Next: day(11, 3), Wake: day(11, 3)}},
		{"the run before goes on", daily, schedule.Ran{Last: day(8, 3), Going: true}, day(10, 3),
			schedule.Plan{Missed: []schedule.Miss{{day(9, 3), overlap}, {day(10, 3), overlap}}, Next: day(11, 3), Wake: day(11, 3)}},
		{"and this one waits", schedule.Spec{Every: "0 3 * * *", Overlap: schedule.OverlapWait}, schedule.Ran{Last: day(8, 3), Going: true}, day(10, 3),
			schedule.Plan{Missed: []schedule.Miss{{day(9, 3), overlap}}, Waiting: day(10, 3), Next: day(11, 3), Wake: day(11, 3)}},
		{"until it has ended", schedule.Spec{Every: "0 3 * * *", Overlap: schedule.OverlapWait}, schedule.Ran{Last: day(9, 3), Ended: day(10, 9)}, day(10, 9),
			schedule.Plan{Run: day(10, 3), Next: day(11, 3), Wake: day(11, 3)}},
		{"it had gone on", daily, schedule.Ran{Last: day(9, 3), Ended: day(10, 9)}, day(10, 9),
			schedule.Plan{Missed: []schedule.Miss{{day(10, 3), overlap}}, Next: day(11, 3), Wake: day(11, 3)}},
		{"of a new series nothing is missed", daily, schedule.Ran{}, day(10, 12),
			schedule.Plan{Next: day(11, 3), Wake: day(11, 3)}},
		{"its first run is that which is waited for", daily, schedule.Ran{Since: day(10, 2)}, day(10, 3),
			schedule.Plan{Run: day(10, 3), Next: day(11, 3), Wake: day(11, 3)}},
		{"or it begins at once, and a period is counted from it", schedule.Spec{Every: "2d"}, schedule.Ran{Since: day(10, 2)}, day(10, 2).Add(time.Millisecond),
			schedule.Plan{Run: day(10, 2), Next: day(12, 2), Wake: day(12, 2)}},
	} {
		s := newSchedule(t, test.spec)
		if diff := cmp.Diff(test.want, s.Plan("weekly", test.ran, test.now)); diff != "" {
			t.Errorf("%s (-want +got):\n%s", test.name, diff)
		}
	}
}

// The names of the reasons never change, because they are written into the list of missed runs.
func TestReasonsKeepTheirNames(t *testing.T) {
	t.Parallel()
	if got := [...]schedule.Why{schedule.WhyOff, schedule.WhyOverlap}; got != [...]schedule.Why{"off", "overlap"} {
		t.Errorf("%q", got)
	}
}

func TestAPlanWaitsForTheJitter(t *testing.T) {
	s := newSchedule(t, schedule.Spec{Every: "@daily", Jitter: 20 * time.Hour})
	nominal := at(t, "2026-11-10T00:00:00Z")
	start := s.Start("weekly", nominal)
	ran := schedule.Ran{Last: nominal.Add(-24 * time.Hour)}
	if p := s.Plan("weekly", ran, start.Add(-1)); !p.Run.IsZero() || !p.Next.Equal(nominal) || !p.Wake.Equal(start) {
		t.Errorf("before its start: %+v, want to wake at %v", p, start)
	}
	if p := s.Plan("weekly", ran, start); !p.Run.Equal(nominal) || p.Late {
		t.Errorf("at its start: %+v, want the run of %v", p, nominal)
	}
}

func TestAYearOfMissedRunsIsToldInParts(t *testing.T) {
	s := newSchedule(t, schedule.Spec{Every: "0 * * * *", CatchUp: schedule.CatchUpOnce})
	ran, now := schedule.Ran{Last: at(t, "2025-11-10T00:00:00Z")}, at(t, "2026-11-10T00:30:00Z")
	missed, want := 0, ran.Last.Add(time.Hour)
	for asked := 0; ; asked++ {
		p := s.Plan("weekly", ran, now)
		for _, m := range p.Missed {
			if !m.Due.Equal(want) || m.Why != schedule.WhyOff {
				t.Fatalf("missed %v, want %v", m, want)
			}
			missed, want = missed+1, want.Add(time.Hour)
		}
		if p.More != p.Run.IsZero() || p.More && len(p.Missed) != 1000 || asked > 20 {
			t.Fatalf("%d asked: %d missed, more: %v, run: %v", asked, len(p.Missed), p.More, p.Run)
		}
		if !p.More {
			break
		}
		ran.Last = p.Missed[len(p.Missed)-1].Due
	}
	if missed != 365*24-1 {
		t.Errorf("%d runs were missed, want all hours of a year but the last", missed)
	}
}

// Each nominal time is started once or missed once, whenever the machine is on or off.
func TestNoRunIsLostOrDoubled(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		spec := schedule.Spec{
			Every:   rapid.SampledFrom([]string{"*/20 * * * *", "30 2 * * *", "0 */2 * * *", "45m", "1d"}).Draw(t, "every"),
			Zone:    rapid.SampledFrom([]string{"", "Europe/Rome"}).Draw(t, "zone"),
			Jitter:  rapid.SampledFrom([]time.Duration{0, 15 * time.Minute}).Draw(t, "jitter"),
			Overlap: rapid.SampledFrom([]schedule.Overlap{schedule.OverlapSkip, schedule.OverlapWait}).Draw(t, "overlap"),
			CatchUp: rapid.SampledFrom([]schedule.CatchUp{schedule.CatchUpNone, schedule.CatchUpOnce}).Draw(t, "catch-up"),
		}
		s := newSchedule(t, spec)
		now := at(t, "2026-10-24T20:00:00Z")
		first := s.Next(now)
		ran := schedule.Ran{Last: now}
		accounted := map[time.Time]bool{}
		account := func(nominal time.Time) {
			if accounted[nominal] || nominal.After(now) {
				t.Fatalf("%v is accounted for twice, or before its time (it is %v)", nominal, now)
			}
			accounted[nominal], ran.Last = true, nominal
		}
		for range rapid.IntRange(1, 60).Draw(t, "looks") {
			now = now.Add(time.Duration(rapid.SampledFrom([]int{1, 7, 30, 61, 300, 3000}).Draw(t, "minutes")) * time.Minute)
			if ran.Going && rapid.Bool().Draw(t, "the run ends") {
				ran.Going, ran.Ended = false, now
			}
			p := s.Plan("weekly", ran, now)
			for _, m := range p.Missed {
				account(m.Due)
			}
			if rapid.Bool().Draw(t, "killed") {
				continue // the scheduler is killed after it has recorded the missed runs, and before it starts the run
			}
			if !p.Run.IsZero() {
				if ran.Going {
					t.Fatalf("the run of %v is to start while the one before goes on", p.Run)
				}
				account(p.Run)
				ran.Going = true
			}
			if !p.Next.After(ran.Last) || p.Wake.Before(p.Next) {
				t.Fatalf("%+v: the next one is not after the last, %v", p, ran.Last)
			}
		}
		for nominal := first; !nominal.After(ran.Last); nominal = s.Next(nominal) {
			if !accounted[nominal] {
				t.Fatalf("%v has neither run nor been missed; the last accounted for is %v", nominal, ran.Last)
			}
		}
	})
}

func FuzzSchedule(f *testing.F) {
	for _, every := range []string{"0 3 * * MON", "@daily", "7d", "*/5 0-23/2 1,15 jan-jun *", "30 2 29 2 0", "TZ=0 0 * * * *", "0 0 L * *"} {
		f.Add(every, "Europe/Rome")
	}
	f.Fuzz(func(t *testing.T, every, zone string) {
		s, err := schedule.New(schedule.Spec{Every: every, Zone: zone})
		if err != nil {
			return
		}
		now := time.Date(2026, 3, 29, 0, 59, 59, 0, time.UTC)
		for range 3 {
			next := s.Next(now)
			if next.IsZero() {
				return
			}
			if !next.After(now) {
				t.Fatalf("%q in %q: %v comes after %v", every, zone, next, now)
			}
			now = next
		}
	})
}

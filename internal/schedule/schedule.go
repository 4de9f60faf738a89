package schedule

import (
	"fmt"
	"hash/fnv"
	"strings"
	"time"
)

// A Spec is a schedule as a person writes it.
type Spec struct {
	// Every is when: five fields of cron (minute, hour, day of month, month, day of
	// week; names of months and days may stand for numbers), one of @hourly, @daily,
	// @weekly, @monthly and @yearly, or a period as "36h", "7d" or "2w" that is counted
	// from run to run. Days of month and of week are those of crontab(5): where both are
	// restricted, one that fits suffices.
	Every string
	// Zone is the name of a time zone, as Europe/Rome; empty: UTC.
	Zone string
	// Jitter is how much later than its time a run may start; each run has a while of
	// its own below it. It is shorter than the time between two runs.
	Jitter time.Duration
	// Overlap is what becomes of a run whose time comes while the one before goes on;
	// empty: OverlapSkip.
	Overlap Overlap
	// CatchUp is what becomes of runs whose time came while nobody looked; empty: CatchUpNone.
	CatchUp CatchUp
	// Keep is how many snapshots are wanted; older ones are told, and never removed.
	// 0: all.
	Keep int
}

// An Overlap is a policy for a run whose time comes while the one before goes on.
type Overlap string

const (
	OverlapSkip Overlap = "skip" // it is missed
	OverlapWait Overlap = "wait" // it starts when that one has ended; of several, the newest
)

// A CatchUp is a policy for runs whose time came while nobody looked.
type CatchUp string

const (
	CatchUpNone CatchUp = "none" // they are missed
	CatchUpOnce CatchUp = "once" // the newest is run late, the others are missed
)

// Grace is how late a run may start and be on time all the same.
const Grace = time.Hour

// A FieldError says which field of a Spec is wrong, and how to mend it.
type FieldError struct {
	Field string // every, zone, jitter, overlap, catch-up, keep
	Text  string
}

func (e *FieldError) Error() string { return e.Field + ": " + e.Text }

// A Schedule says when the runs of a job come. Its methods are safe for concurrent use.
type Schedule struct {
	spec  Spec
	times times
}

// times are the moments at which runs come.
type times interface {
	// next is the first one after another moment; ok is false if there is none.
	next(after time.Time) (at time.Time, ok bool)
}

// New reads a schedule. Its error is a FieldError.
func New(spec Spec) (*Schedule, error) {
	s := &Schedule{spec: spec}
	zone, err := zoneOf(spec.Zone)
	if err != nil {
		return nil, err
	}
	if s.times, err = timesOf(strings.TrimSpace(spec.Every), zone); err != nil {
		return nil, err
	}
	if err := s.checkJitter(); err != nil {
		return nil, err
	}
	switch spec.Overlap {
	case "":
		s.spec.Overlap = OverlapSkip
	case OverlapSkip, OverlapWait:
	default:
		return nil, &FieldError{"overlap", fmt.Sprintf("%q is none of %s, %s", spec.Overlap, OverlapSkip, OverlapWait)}
	}
	switch spec.CatchUp {
	case "":
		s.spec.CatchUp = CatchUpNone
	case CatchUpNone, CatchUpOnce:
	default:
		return nil, &FieldError{"catch-up", fmt.Sprintf("%q is none of %s, %s", spec.CatchUp, CatchUpNone, CatchUpOnce)}
	}
	if spec.Keep < 0 {
		return nil, &FieldError{"keep", fmt.Sprintf("%d: give how many snapshots are wanted, 0 for all", spec.Keep)}
	}
	return s, nil
}

func zoneOf(name string) (*time.Location, error) {
	// What a machine's own zone is, and that of its next one, is no part of a job.
	if name == "Local" {
		return nil, &FieldError{"zone", "Local is another zone on each machine: give its name, as Europe/Rome"}
	}
	zone, err := time.LoadLocation(name)
	if err != nil {
		return nil, &FieldError{"zone", fmt.Sprintf("there is no time zone %q on this machine: give a name of the IANA database, as Europe/Rome or UTC", name)}
	}
	return zone, nil
}

// judged is how many runs a schedule is judged by: a year of days. They come after
// judgedFrom, so that a schedule is good or bad on all days alike.
const judged = 400

var judgedFrom = time.Date(2026, time.January, 1, 0, 0, 0, 0, time.UTC)

// checkJitter sees to it that a run starts before the time of the next one.
func (s *Schedule) checkJitter() error {
	switch {
	case s.spec.Jitter < 0:
		return &FieldError{"jitter", fmt.Sprintf("%v: give how much later than its time a run may start, as 30m", s.spec.Jitter)}
	case s.spec.Jitter == 0:
		return nil
	}
	at, _ := s.times.next(judgedFrom)
	for range judged {
		next, ok := s.times.next(at)
		if !ok {
			return nil
		}
		if gap := next.Sub(at); s.spec.Jitter >= gap {
			return &FieldError{"jitter", fmt.Sprintf("%v is no less than the %v from one run to the next (that of %s UTC): give less", s.spec.Jitter, gap, at.UTC().Format(time.DateTime))}
		}
		at = next
	}
	return nil
}

// Spec is what the schedule was made of, with the policies that hold where it said none.
func (s *Schedule) Spec() Spec { return s.spec }

// Next is the first nominal time after another moment, the zero time if there is none
// for many years.
func (s *Schedule) Next(after time.Time) time.Time {
	at, _ := s.times.next(after)
	return at
}

// Start is when the run of a nominal time starts: that time, and the part of Jitter
// that is this run's, by the name of its series.
func (s *Schedule) Start(series string, nominal time.Time) time.Time {
	if s.spec.Jitter == 0 {
		return nominal
	}
	h := fnv.New64a()
	fmt.Fprintf(h, "%s\x00%d", series, nominal.Unix())
	mixed := h.Sum64()
	mixed ^= mixed >> 32 // the upper half of FNV-1a hardly knows of the last bytes
	mixed *= 0xd6e8feb86659fd93
	mixed ^= mixed >> 32
	return nominal.Add(time.Duration(mixed % uint64(s.spec.Jitter)).Truncate(time.Second))
}

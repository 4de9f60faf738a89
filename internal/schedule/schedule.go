package schedule

import (
	"fmt"
	"hash/fnv"
	"strings"
	"time"
)

// A Spec is a schedule as a user writes it.
type Spec struct {
	// Every says when runs come, in one of three forms. The first is the five fields of cron:
	// minute, hour, day of month, month and day of week; months and days of the week may be
	// names. As in crontab(5), if both the day of month and the day of week are restricted, one
	// of the two must match. The second form is one of @hourly, @daily, @weekly, @monthly and
	// @yearly. The third is a period such as "36h", "7d" or "2w", which is counted from run to
	// run.
	Every string
	// Zone is the name of a time zone, such as Europe/Rome; empty means UTC.
	Zone string
	// Jitter is the longest delay of a run after its time in the schedule. Each run has its own
	// delay, which is shorter than Jitter. Jitter must be shorter than the time between two
	// runs.
	Jitter time.Duration
	// Overlap says what happens to a run whose time comes while the previous run is still
	// running. "" means OverlapSkip.
	Overlap Overlap
	// CatchUp says what happens to runs whose time came while no scheduler was running. ""
	// means CatchUpNone.
	CatchUp CatchUp
	// Keep is the number of snapshots that the user wants to keep. Older snapshots are
	// reported, but never removed. 0 means all.
	Keep int
}

// An Overlap says what happens to a run whose time comes while the previous run is still
// running.
type Overlap string

const (
	OverlapSkip Overlap = "skip" // the run is missed, and does not start later
	OverlapWait Overlap = "wait" // the run starts when the previous run has ended; if several runs wait, only the newest starts
)

// A CatchUp says what happens to runs whose time came while no scheduler was running.
type CatchUp string

const (
	CatchUpNone CatchUp = "none" // no run is started late: all runs of that time are missed
	CatchUpOnce CatchUp = "once" // the newest run of that time is started late, and the others are missed
)

// Grace is the longest delay with which a run still counts as started in time.
const Grace = time.Hour

// A FieldError says which field of a Spec is wrong, and how to correct it.
type FieldError struct {
	Field string // every, zone, jitter, overlap, catch-up or keep
	Text  string
}

func (e *FieldError) Error() string { return e.Field + ": " + e.Text }

// A Schedule computes the times of the runs of a job. Its methods are safe for concurrent use.
type Schedule struct {
	spec  Spec
	times times
}

// A times computes the nominal times of runs.
type times interface {
	// next returns the first nominal time after the given time. ok is false if there is no
	// further one.
	next(after time.Time) (at time.Time, ok bool)
}

// New parses a schedule. The error is a *FieldError.
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
		return nil, &FieldError{"overlap", fmt.Sprintf("%q is not one of %s, %s", spec.Overlap, OverlapSkip, OverlapWait)}
	}
	switch spec.CatchUp {
	case "":
		s.spec.CatchUp = CatchUpNone
	case CatchUpNone, CatchUpOnce:
	default:
		return nil, &FieldError{"catch-up", fmt.Sprintf("%q is not one of %s, %s", spec.CatchUp, CatchUpNone, CatchUpOnce)}
	}
	if spec.Keep < 0 {
		return nil, &FieldError{"keep", fmt.Sprintf("%d: give how many snapshots are wanted, 0 for all", spec.Keep)}
	}
	return s, nil
}

func zoneOf(name string) (*time.Location, error) {
	// Refuse the zone of the machine, because the job may move to another machine.
	if name == "Local" {
		return nil, &FieldError{"zone", "Local is another zone on each machine: give its name, as Europe/Rome"}
	}
	zone, err := time.LoadLocation(name)
	if err != nil {
		return nil, &FieldError{"zone", fmt.Sprintf("there is no time zone %q on this machine: give a name of the IANA database, as Europe/Rome or UTC", name)}
	}
	return zone, nil
}

// judged is how many runs of a schedule checkJitter looks at: more than a year, if there is one
// run a day. It looks at the first runs after judgedFrom, so the result does not depend on the
// current day.
const judged = 400

var judgedFrom = time.Date(2026, time.January, 1, 0, 0, 0, 0, time.UTC)

// checkJitter returns an error if the jitter is so long that a run might start as late as the
// next run.
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
			return &FieldError{"jitter", fmt.Sprintf("%v is not less than the %v from one run to the next (that of %s UTC): give less", s.spec.Jitter, gap, at.UTC().Format(time.DateTime))}
		}
		at = next
	}
	return nil
}

// Spec returns the Spec that New got, with default policies in place of empty ones.
func (s *Schedule) Spec() Spec { return s.spec }

// Next returns the first nominal time after the given time. It returns the zero time if no run
// comes within many years.
func (s *Schedule) Next(after time.Time) time.Time {
	at, _ := s.times.next(after)
	return at
}

// Start returns when the run with the given nominal time starts: the nominal time plus a delay.
// The delay is shorter than Jitter. It depends only on the name of the series and the nominal
// time.
func (s *Schedule) Start(series string, nominal time.Time) time.Time {
	if s.spec.Jitter == 0 {
		return nominal
	}
	h := fnv.New64a()
	fmt.Fprintf(h, "%s\x00%d", series, nominal.Unix())
	mixed := h.Sum64()
	mixed ^= mixed >> 32 // mix the halves, because the upper half of an FNV-1a hash hardly depends on the last bytes
	mixed *= 0xd6e8feb86659fd93
	mixed ^= mixed >> 32
	return nominal.Add(time.Duration(mixed % uint64(s.spec.Jitter)).Truncate(time.Second))
}

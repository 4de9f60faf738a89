package schedule

import (
	"fmt"
	"hash/fnv"
	"strings"
	"time"
)

// A Spec is a schedule as a person writes it.
type Spec struct {
	// Every says when runs come, in one of three forms. The first is the five fields of cron:
	// minute, hour, day of month, month, day of week, in which months and days of the week may
	// be names. The second is one of @hourly, @daily, @weekly, @monthly and @yearly. The third
	// is a period such as "36h", "7d" or "2w", which is counted from run to run. As in
	// crontab(5), if both the day of month and the day of week are restricted, a day that
	// matches one of the two is enough.
	Every string
	// Zone is the name of a time zone, such as Europe/Rome; empty means UTC.
	Zone string
	// Jitter is the maximum delay of a run after its time in the schedule. Each run has its own
	// delay, which is shorter than Jitter. Jitter must be shorter than the time between two
	// runs.
	Jitter time.Duration
	// Overlap says what to do with a run whose time comes while the run before it is still
	// running. Empty means OverlapSkip.
	Overlap Overlap
	// CatchUp says what to do with runs whose time came while no scheduler was running. Empty
	// means CatchUpNone.
	CatchUp CatchUp
	// Keep is the number of snapshots to keep. Older snapshots are reported, but never removed.
	// 0 means all.
	Keep int
}

// An Overlap is a policy for a run whose time comes while the run before it is still running.
type Overlap string

const (
	OverlapSkip Overlap = "skip" // the run is missed
	OverlapWait Overlap = "wait" // the run starts after the run before it has ended; if several runs wait, only the newest of them starts
)

// A CatchUp is a policy for runs whose time came while no scheduler was running.
type CatchUp string

const (
	CatchUpNone CatchUp = "none" // all these runs are missed
	CatchUpOnce CatchUp = "once" // the newest of these runs starts late, the others are missed
)

// Grace is the longest delay after which a run still counts as started in time.
const Grace = time.Hour

// A FieldError says which field of a Spec is wrong, and how to correct it.
type FieldError struct {
	Field string // every, zone, jitter, overlap, catch-up, keep
	Text  string
}

func (e *FieldError) Error() string { return e.Field + ": " + e.Text }

// A Schedule computes the times of the runs of a job. Its methods are safe for concurrent use.
type Schedule struct {
	spec  Spec
	times times
}

// times are the nominal times of runs.
type times interface {
	// next returns the first nominal time after the given time. ok is false if there is none.
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
	// The zone of the machine is not part of the job, because the job may move to another
	// machine.
	if name == "Local" {
		return nil, &FieldError{"zone", "Local is another zone on each machine: give its name, as Europe/Rome"}
	}
	zone, err := time.LoadLocation(name)
	if err != nil {
		return nil, &FieldError{"zone", fmt.Sprintf("there is no time zone %q on this machine: give a name of the IANA database, as Europe/Rome or UTC", name)}
	}
	return zone, nil
}

// judged is how many runs of a schedule checkJitter looks at. With one run a day these are the
// runs of more than a year. They are the first runs after judgedFrom, so that the result does
// not depend on the current day.
const judged = 400

var judgedFrom = time.Date(2026, time.January, 1, 0, 0, 0, 0, time.UTC)

// checkJitter returns an error if the jitter is so long that a run might start at the nominal
// time of the next run or later.
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

// Spec returns the Spec that was given to New, with the default policies filled in.
func (s *Schedule) Spec() Spec { return s.spec }

// Next returns the first nominal time after the given time. If there is none for many years, it
// returns the zero time.
func (s *Schedule) Next(after time.Time) time.Time {
	at, _ := s.times.next(after)
	return at
}

// Start returns when the run with the given nominal time starts. That is the nominal time plus
// a delay. The delay is shorter than Jitter, and depends only on the name of the series and on
// the nominal time.
func (s *Schedule) Start(series string, nominal time.Time) time.Time {
	if s.spec.Jitter == 0 {
		return nominal
	}
	h := fnv.New64a()
	fmt.Fprintf(h, "%s\x00%d", series, nominal.Unix())
	mixed := h.Sum64()
	mixed ^= mixed >> 32 // mixes the halves, because the upper half of an FNV-1a hash hardly depends on the last bytes
	mixed *= 0xd6e8feb86659fd93
	mixed ^= mixed >> 32
	return nominal.Add(time.Duration(mixed % uint64(s.spec.Jitter)).Truncate(time.Second))
}

package schedule

import "time"

// A Ran says which runs of a series have happened.
type Ran struct {
	// Last is the latest nominal time (time in the schedule) whose run was started or recorded
	// as missed. It is zero if there was none.
	Last time.Time
	// Since is when a scheduler began to run the series. Before the first run, times before
	// Since do not count as missed. Zero means now.
	Since time.Time
	// Going says that the newest run has not ended.
	Going bool
	// Ended is when the newest run ended. It is zero if that is not known, or if there was no
	// run.
	Ended time.Time
}

// A Why says why a run was missed.
type Why string

const (
	WhyOff     Why = "off"     // no scheduler was running at its time
	WhyOverlap Why = "overlap" // the previous run was still running
)

// A Miss is a run that did not happen, and why.
type Miss struct {
	Due time.Time // nominal time of the run
	Why Why
}

// A Plan says what a scheduler has to do now.
type Plan struct {
	// Missed has the runs that the caller must record as missed, beginning with the oldest.
	Missed []Miss
	// More says that there are more missed runs than those in Missed. The caller must record
	// these, and call Plan again.
	More bool
	// Run is the nominal time of the run that must be started now. It is zero if no run must be
	// started.
	Run time.Time
	// Late says that no scheduler was running at the time of Run.
	Late bool
	// Waiting is the nominal time of a run that starts when the previous run has ended. It is
	// zero if no run waits.
	Waiting time.Time
	// Next is the nominal time of the first run after those in the Plan, and Wake is when that
	// run starts. Until Wake, or until a run ends, there is nothing to do. Both are zero if
	// there is no further run.
	Next, Wake time.Time
}

// mostMissed is the largest number of missed runs in one Plan. There may be many more: if a
// machine is off for a year, a job that runs every minute misses half a million runs.
const mostMissed = 1000

// Plan returns what a scheduler has to do for a series at the time now. ran says which runs
// have happened. For the same arguments Plan returns the same result.
func (s *Schedule) Plan(series string, ran Ran, now time.Time) (p Plan) {
	last := ran.Last
	if last.IsZero() {
		if _, periodic := s.times.(period); periodic {
			p.Run = now.UTC().Truncate(time.Second) // a period has no fixed times, so the first run is now, and later times count from it
			p.Next = s.Next(p.Run)
			p.Wake = s.Start(series, p.Next)
			return p
		}
		if last = ran.Since; last.IsZero() {
			last = now
		}
	}
	var due []time.Time
	for p.Next = s.Next(last); !p.Next.IsZero(); p.Next = s.Next(p.Next) {
		if p.Wake = s.Start(series, p.Next); p.Wake.After(now) {
			break
		}
		if due = append(due, p.Next); len(due) > mostMissed {
			p.More = true
			break
		}
	}
	for i, nominal := range due {
		if newest := i == len(due)-1; !newest {
			p.miss(nominal, s.overlapped(series, nominal, ran))
		} else if !p.More {
			s.newest(&p, series, nominal, ran, now)
		}
	}
	return p
}

// newest decides about the newest run whose start time has come: it is started, waits, or is
// missed. All older runs are missed.
func (s *Schedule) newest(p *Plan, series string, nominal time.Time, ran Ran, now time.Time) {
	overlapped := s.overlapped(series, nominal, ran)
	late := now.Sub(s.Start(series, nominal)) > Grace
	switch {
	case overlapped && s.spec.Overlap == OverlapSkip, !overlapped && late && s.spec.CatchUp == CatchUpNone:
		p.miss(nominal, overlapped)
	case ran.Going:
		p.Waiting = nominal
	default:
		p.Run, p.Late = nominal, !overlapped && late
	}
}

// overlapped reports whether the previous run was still running when the run with this nominal
// time had to start.
func (s *Schedule) overlapped(series string, nominal time.Time, ran Ran) bool {
	return ran.Going || s.Start(series, nominal).Before(ran.Ended)
}

func (p *Plan) miss(nominal time.Time, overlapped bool) {
	why := WhyOff
	if overlapped {
		why = WhyOverlap
	}
	p.Missed = append(p.Missed, Miss{nominal, why})
}

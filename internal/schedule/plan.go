package schedule

import "time"

// A Ran is what happened so far in a series.
type Ran struct {
	// Last is the newest nominal time that has run or was recorded as missed; zero if there is
	// none.
	Last time.Time
	// Since is when a scheduler began to run the series; before the first run, earlier times
	// were not missed. Zero means now.
	Since time.Time
	// Going says that the newest run has not ended.
	Going bool
	// Ended is when the newest run ended; zero if that is unknown, or if there was none.
	Ended time.Time
}

// A Why says why a run was missed.
type Why string

const (
	WhyOff     Why = "off"     // no scheduler was running at its time
	WhyOverlap Why = "overlap" // the run before it was still running
)

// A Miss is a run that did not happen.
type Miss struct {
	Due time.Time // its nominal time
	Why Why
}

// A Plan says what a schedule requires at a time.
type Plan struct {
	// Missed are the runs to record as missed, the oldest first.
	Missed []Miss
	// More says that there are further missed runs: record these, and call Plan again.
	More bool
	// Run is the nominal time of the run to start now; zero if there is none.
	Run time.Time
	// Late says that no scheduler was running at the time of Run.
	Late bool
	// Waiting is the nominal time of a run that starts when the one before has ended; zero if
	// there is none.
	Waiting time.Time
	// Next is the nominal time of the run after these, and Wake is when it starts. Nothing has
	// to be done until then, or until a run ends. Both are zero if there is no further run.
	Next, Wake time.Time
}

// mostMissed is the maximum number of missed runs in one Plan. If the machine is off for a
// year, a job of each minute misses half a million.
const mostMissed = 1000

// Plan returns what to do at a time, after the runs in ran. It returns the same for the same
// arguments.
func (s *Schedule) Plan(series string, ran Ran, now time.Time) (p Plan) {
	last := ran.Last
	if last.IsZero() {
		if _, periodic := s.times.(period); periodic {
			p.Run = now.UTC().Truncate(time.Second) // the times of all later runs count from the first run
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

// newest decides about the newest of the runs whose start time has come. The older ones are
// missed in any case.
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

// overlapped reports whether the run before was still running when this one had to start.
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

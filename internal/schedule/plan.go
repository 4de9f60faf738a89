package schedule

import "time"

// Ran is what there was of a series.
type Ran struct {
	// Last is the newest nominal time that is accounted for, as a run or as a missed one;
	// zero: there is none yet.
	Last time.Time
	// Since is the moment from which on somebody looks; before the first run nothing was
	// missed that came earlier. Zero: that of the question.
	Since time.Time
	// Going says that the newest run has not ended.
	Going bool
	// Ended is when the newest run ended; zero: nobody knows, or there was none.
	Ended time.Time
}

// A Why says why a run was missed.
type Why string

const (
	WhyOff     Why = "off"     // nobody looked when its time came
	WhyOverlap Why = "overlap" // the run before it was going on
)

// A Miss is a run that did not happen.
type Miss struct {
	Due time.Time // its nominal time
	Why Why
}

// A Plan is what a schedule asks for at a moment.
type Plan struct {
	// Missed are runs to be recorded as missed, the oldest first.
	Missed []Miss
	// More says that these are not all: once they are recorded, ask again.
	More bool
	// Run is the nominal time of the run that is to start now; zero: none.
	Run time.Time
	// Late says that the time of Run came while nobody looked.
	Late bool
	// Waiting is the nominal time of a run that starts when the one before has ended;
	// zero: none.
	Waiting time.Time
	// Next is the nominal time of the run behind these, and Wake when it starts: until
	// then, or until a run ends, there is nothing to do. Zero: there is none.
	Next, Wake time.Time
}

// mostMissed is how many missed runs one Plan has at most: a job of each minute whose
// machine was off for a year missed half a million.
const mostMissed = 1000

// Plan says what is to be done at a moment, by what there was. Of the same series it
// says the same, whoever asks and however often, until what there was has changed.
func (s *Schedule) Plan(series string, ran Ran, now time.Time) (p Plan) {
	last := ran.Last
	if last.IsZero() {
		if _, periodic := s.times.(period); periodic {
			p.Run = now.UTC().Truncate(time.Second) // the first run is what the others are counted from
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

// newest decides about the newest of the runs whose start has come: the others are
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

// overlapped reports whether the run before went on when this one was to start.
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

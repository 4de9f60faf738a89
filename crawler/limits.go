package crawler

import (
	"cmp"
	"fmt"
	"math"
	"strings"
	"time"

	"golang.org/x/time/rate"

	"github.com/permesso-crawler/permesso/frontier"
	"github.com/permesso-crawler/permesso/internal/setting"
)

// Limits bound the resources and the duration of a run. A run begins with the limits in Options.
// Allow changes them.
type Limits struct {
	Pages int // maximum number of pages in the whole crawl; 0: no limit
	// Maximum number of bytes in all answers of the crawl, counted on the wire; 0: no limit.
	Bytes int64
	// The run is stopped when this time has passed since the start of Run; 0: no limit.
	Time time.Duration
	Rate float64 // requests per second to all sites together; 0: no limit
	// The run ends if no URL may be requested within this time; 0: 2 min, -1: at once,
	// frontier.Forever: the run ends when no URL waits any more.
	Patience time.Duration

	// Maximum number of concurrent visits, at most Options.Concurrency; 0: Options.Concurrency.
	Concurrency int

	// The run does not end when nothing is left or Pages or Bytes are used up: it waits for Add or
	// Allow, and only Stop and Time end it.
	Open bool
}

func (o *Options) limits() Limits {
	return Limits{Pages: o.Limit, Bytes: o.MaxBytes, Time: o.MaxTime, Rate: o.Rate, Patience: o.Patience}
}

// put returns a function that sets the limits of a frontier to l. visits is the maximum number of
// concurrent visits if l.Concurrency is 0.
func (l *Limits) put(visits int) func(*frontier.Limits) {
	return func(f *frontier.Limits) {
		*f = frontier.Limits{
			Pages: l.Pages, Bytes: l.Bytes, Rate: rate.Limit(l.Rate), Turns: cmp.Or(l.Concurrency, visits),
			Patience: l.Patience, Open: l.Open, Paused: f.Paused,
		}
	}
}

func (l *Limits) check(o *Options) error {
	for _, n := range []struct {
		field string
		bad   bool
	}{
		{"Pages", l.Pages < 0}, {"Bytes", l.Bytes < 0}, {"Time", l.Time < 0}, {"Rate", l.Rate < 0}, {"Concurrency", l.Concurrency < 0},
	} {
		if n.bad {
			return &OptionError{Field: "Limits." + n.field, Reason: "is negative"}
		}
	}
	if wrong := setting.BelowNone(l.Patience); wrong != "" {
		return &OptionError{Field: "Limits.Patience", Reason: wrong}
	}
	if l.Concurrency > o.Concurrency {
		return &OptionError{Field: "Limits.Concurrency", Reason: fmt.Sprintf("is more than the %d that the run was begun with", o.Concurrency)}
	}
	if math.IsNaN(l.Rate) {
		return &OptionError{Field: "Limits.Rate", Reason: "is no number"}
	}
	return nil
}

func (l *Limits) patience() time.Duration { return max(0, cmp.Or(l.Patience, 2*time.Minute)) }

// copyTo copies the limits to the fields of o. It leaves o.Concurrency unchanged if l.Concurrency
// is 0.
func (l *Limits) copyTo(o *Options) {
	o.Limit, o.MaxBytes, o.MaxTime, o.Rate, o.Patience = l.Pages, l.Bytes, l.Time, l.Rate, l.Patience
	if l.Concurrency > 0 {
		o.Concurrency = l.Concurrency
	}
}

// set sets the limit with the given name to the value of text, in the form of limitTexts. It
// ignores unknown names.
func (l *Limits) set(name, text string) error {
	var o Options
	l.copyTo(&o)
	for _, s := range o.Settings() {
		if s.Name == name {
			if err := s.Set(text); err != nil {
				return err
			}
		}
	}
	open := l.Open
	*l = o.limits()
	l.Concurrency, l.Open = o.Concurrency, open
	return nil
}

// differences describes the limits that differ between was and is, with their old and new values.
// It returns "" if all are equal. Both maps have the texts of limits by name.
func differences(was, is map[string]string) string {
	var all []string
	for _, name := range setting.Limits() {
		if was[name] != is[name] {
			all = append(all, fmt.Sprintf("%s %s -> %s", name, setting.InWords(was[name]), setting.InWords(is[name])))
		}
	}
	return strings.Join(all, "; ")
}

// allowed holds the limits of a run and its timers. Crawler.mu guards it.
type allowed struct {
	limits Limits
	began  time.Time   // start of the run; zero before Run
	timer  *time.Timer // calls timeUp; nil before Run
	// Cancels the running requests timeGrace after the time is up; nil until the time is up.
	cancelTimer *time.Timer
}

// arm sets the timer of the run to the remaining time. It does nothing before Run.
func (a *allowed) arm() {
	if a.timer == nil {
		return
	}
	if a.timer.Stop(); a.limits.Time > 0 {
		a.timer.Reset(a.limits.Time - time.Since(a.began))
	}
}

// changed returns the limits in is that differ from those in was. All maps have the texts of limits
// by name.
func changed(was, is map[string]string) map[string]string {
	all := map[string]string{}
	for name, text := range is {
		if was[name] != text {
			all[name] = text
		}
	}
	return all
}

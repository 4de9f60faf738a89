package schedule

import (
	"fmt"
	"regexp"
	"strings"
	"time"

	"github.com/adhocore/gronx"

	periods "github.com/permesso-crawler/permesso/internal/period"
)

var names = map[string]string{
	"@hourly": "0 * * * *", "@daily": "0 0 * * *", "@midnight": "0 0 * * *", "@weekly": "0 0 * * 0",
	"@monthly": "0 0 1 * *", "@yearly": "0 0 1 1 *", "@annually": "0 0 1 1 *",
}

func timesOf(every string, zone *time.Location) (times, error) {
	switch expression, named := names[strings.ToLower(every)]; {
	case every == "":
		return nil, &FieldError{"every", `give when: "0 3 * * MON" (minute, hour, day of month, month, day of week), @daily, or a period as 7d`}
	case named:
		return cronOf(expression, zone)
	case strings.HasPrefix(every, "@"):
		return nil, &FieldError{"every", fmt.Sprintf("%q is not one of @hourly, @daily, @weekly, @monthly, @yearly", every)}
	case !strings.ContainsAny(every, " \t"):
		return periodOf(every)
	}
	return cronOf(every, zone)
}

// A period is the time from one run to the next.
type period time.Duration

func (p period) next(after time.Time) (time.Time, bool) {
	return after.Add(time.Duration(p)), true
}

func periodOf(text string) (times, error) {
	d, err := periods.Parse(text)
	if err != nil {
		return nil, &FieldError{"every", fmt.Sprintf(`%v; or five fields of cron ("0 3 * * MON"), or a name as @daily`, err)}
	}
	return period(d), nil
}

// A cron is a cron expression of five fields, and the time zone in which it is read.
type cron struct {
	expression string
	zone       *time.Location
}

var (
	numbers = regexp.MustCompile(`^[0-9*,/-]+$`)
	months  = regexp.MustCompile(`^(?:[0-9*,/-]|(?i:jan|feb|mar|apr|may|jun|jul|aug|sep|oct|nov|dec))+$`)
	days    = regexp.MustCompile(`^(?:[0-9*,/-]|(?i:sun|mon|tue|wed|thu|fri|sat))+$`)

	fields = []struct {
		what string
		may  *regexp.Regexp
	}{
		{"minute", numbers}, {"hour", numbers}, {"day of month", numbers}, {"month", months}, {"day of week", days},
	}
)

// cronOf parses the syntax of crontab(5). It refuses letters that only other programs know,
// such as L and W, because neither systemd nor cron has an equivalent for them.
func cronOf(expression string, zone *time.Location) (times, error) {
	is := strings.Fields(expression)
	if len(is) != len(fields) {
		return nil, &FieldError{"every", fmt.Sprintf("%q has %d fields, and cron five: minute, hour, day of month, month, day of week", expression, len(is))}
	}
	for i, f := range fields {
		if !f.may.MatchString(is[i]) {
			return nil, &FieldError{"every", fmt.Sprintf("%q is no %s: give a number, a list as 1,15, a range as 1-5, steps as */10, or *", is[i], f.what)}
		}
		alone := []string{"*", "*", "*", "*", "*"}
		alone[i] = is[i]
		if !gronx.IsValid(strings.Join(alone, " ")) {
			return nil, &FieldError{"every", fmt.Sprintf("%q is no %s: it is out of bounds, or badly written", is[i], f.what)}
		}
	}
	c := cron{strings.Join(is, " "), zone}
	if !gronx.IsValid(c.expression) {
		return nil, &FieldError{"every", fmt.Sprintf("%q is not a cron expression", expression)}
	}
	if _, ok := c.next(judgedFrom); !ok {
		return nil, &FieldError{"every", fmt.Sprintf("%q never comes: no month has such a day", expression)}
	}
	return c, nil
}

// next returns the first moment after the given time at which the clock of the zone shows a
// local time that matches the expression.
func (c cron) next(after time.Time) (time.Time, bool) {
	wall := c.wall(after)
	for {
		next, err := gronx.NextTickAfter(c.expression, wall, false)
		if err != nil || !next.After(wall) {
			return time.Time{}, false
		}
		if at := c.moment(next); at.After(after) {
			return at.UTC(), true
		}
		wall = next // the clock shows this local time for the second time, so take the next one
	}
}

// wall returns the local time that a clock in the zone shows at a moment, as a time in UTC.
func (c cron) wall(at time.Time) time.Time {
	_, offset := at.In(c.zone).Zone()
	return at.UTC().Add(time.Duration(offset) * time.Second)
}

// moment returns when the clock of the zone first shows the local time wall, which is given as
// a time in UTC. If the clock skips that local time because it is put forward, moment returns
// the moment of the change.
func (c cron) moment(wall time.Time) time.Time {
	// An offset changes by at most a day. So if the local time exists, its offset is the one a
	// day before or the one a day after.
	before, after := c.offset(wall.Add(-24*time.Hour)), c.offset(wall.Add(24*time.Hour))
	early, late := wall.Add(-max(before, after)), wall.Add(-min(before, after))
	if c.wall(early).Equal(wall) {
		return early
	}
	if c.wall(late).Equal(wall) {
		return late
	}
	// The local time does not exist, because the clock is put forward. early is before the
	// change, and late is after it.
	for late.Sub(early) > time.Second {
		middle := early.Add(late.Sub(early) / 2).Truncate(time.Second)
		if c.wall(middle).Before(wall) {
			early = middle
		} else {
			late = middle
		}
	}
	return late
}

func (c cron) offset(at time.Time) time.Duration {
	_, offset := at.In(c.zone).Zone()
	return time.Duration(offset) * time.Second
}

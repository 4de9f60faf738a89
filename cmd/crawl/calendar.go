package main

import (
	"cmp"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/permesso-crawler/permesso/crawler/schedule"
)

// cronNames are the expressions that have a name.
var cronNames = map[string]string{
	"@hourly": "0 * * * *", "@daily": "0 0 * * *", "@midnight": "0 0 * * *", "@weekly": "0 0 * * 0",
	"@monthly": "0 0 1 * *", "@yearly": "0 0 1 1 *", "@annually": "0 0 1 1 *",
}

var (
	monthNames   = []string{"jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec"}
	weekdayNames = []string{"Sun", "Mon", "Tue", "Wed", "Thu", "Fri", "Sat"}
)

// onCalendar says the times of a schedule as systemd.time(7) does, on one line or two:
// a timer comes at the times of all its lines. A period cannot be said.
func onCalendar(spec schedule.Spec) ([]string, error) {
	every := strings.TrimSpace(spec.Every)
	if named := cronNames[strings.ToLower(every)]; named != "" {
		every = named
	}
	fields := strings.Fields(every)
	if len(fields) != 5 {
		return nil, fmt.Errorf("every: %s is counted from run to run, which a timer of systemd that outlasts a boot cannot do: give five fields of cron, as \"0 3 * * MON\", or leave --timers out", spec.Every)
	}
	bounds := [][2]int{{0, 59}, {0, 23}, {1, 31}, {1, 12}, {0, 7}}
	names := [][]string{nil, nil, nil, monthNames, weekdayNames}
	var sets [5]string
	for i, f := range fields {
		values, err := cronValues(f, bounds[i][0], bounds[i][1], names[i])
		if err != nil {
			return nil, err
		}
		sets[i] = calendarField(values, i)
	}
	zone := cmp.Or(spec.Zone, "UTC")
	line := func(day, weekday string) string {
		return strings.TrimSpace(fmt.Sprintf("%s *-%s-%s %s:%s:00 %s", weekday, sets[3], day, sets[1], sets[0], zone))
	}
	day, weekday := sets[2], sets[4]
	// Where both are restricted one that fits suffices, but for steps of all days.
	if day != "*" && weekday != "" && !strings.HasPrefix(fields[2], "*") && !strings.HasPrefix(fields[4], "*") {
		return []string{line(day, ""), line("*", weekday)}, nil
	}
	return []string{line(day, weekday)}, nil
}

// cronValues are the values that a field of cron has.
func cronValues(field string, least, most int, names []string) (values []int, err error) {
	for part := range strings.SplitSeq(field, ",") {
		span, stepText, stepped := strings.Cut(part, "/")
		step := 1
		if stepped {
			if step, err = strconv.Atoi(stepText); err != nil || step < 1 {
				return nil, fmt.Errorf("every: %q has no steps", part)
			}
		}
		from, to := least, most
		if span != "*" {
			first, last, ranged := strings.Cut(span, "-")
			if from, err = cronValue(first, names, least); err != nil {
				return nil, err
			}
			switch {
			case ranged:
				if to, err = cronValue(last, names, least); err != nil {
					return nil, err
				}
			case !stepped:
				to = from
			}
		} else if names != nil && least == 0 {
			to = 6 // Sunday once
		}
		for v := from; v <= to; v += step {
			values = append(values, v)
		}
	}
	slices.Sort(values)
	return slices.Compact(values), nil
}

func cronValue(text string, names []string, least int) (int, error) {
	if i := slices.IndexFunc(names, func(name string) bool { return strings.EqualFold(name, text) }); i >= 0 {
		return i + least, nil
	}
	v, err := strconv.Atoi(text)
	if err != nil {
		return 0, fmt.Errorf("every: %q is no number", text)
	}
	return v, nil
}

// calendarField is a field of a time of systemd; of weekdays, the empty text for all.
func calendarField(values []int, field int) string {
	all := []int{60, 24, 31, 12, 7}[field]
	var words []string
	known := map[string]bool{}
	for _, v := range values {
		word := fmt.Sprintf("%02d", v)
		if field == 4 {
			word = weekdayNames[v%7]
		}
		if !known[word] {
			known[word] = true
			words = append(words, word)
		}
	}
	switch {
	case len(words) == all && field == 4:
		return ""
	case len(words) == all:
		return "*"
	}
	return strings.Join(words, ",")
}

package schedule_test

import (
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/permesso-crawler/permesso/internal/schedule"
	"pgregory.net/rapid"
)

func newSchedule(t rapid.TB, spec schedule.Spec) *schedule.Schedule {
	t.Helper()
	s, err := schedule.New(spec)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

func at(t rapid.TB, text string) time.Time {
	t.Helper()
	moment, err := time.Parse(time.RFC3339, text)
	if err != nil {
		t.Fatal(err)
	}
	return moment
}

// Spec returns the given schedule, with defaults in place of empty fields.
func TestASpecHasThePoliciesThatHold(t *testing.T) {
	spec := schedule.Spec{Every: "7d", Zone: "Europe/Rome", Jitter: time.Hour, Keep: 3}
	is := newSchedule(t, spec).Spec()
	if spec.Overlap, spec.CatchUp = schedule.OverlapSkip, schedule.CatchUpNone; is != spec {
		t.Errorf("%+v, want %+v", is, spec)
	}
	spec.Overlap, spec.CatchUp = schedule.OverlapWait, schedule.CatchUpOnce
	if is := newSchedule(t, spec).Spec(); is != spec {
		t.Errorf("%+v, want %+v", is, spec)
	}
}

func TestRunsComeWhenTheClockOfTheZoneSaysSo(t *testing.T) {
	for _, test := range []struct{ every, zone, after, want string }{
		{"0 3 * * MON", "Europe/Rome", "2026-11-22T12:00:00Z", "2026-11-23T02:00:00Z"},
		{"0 3 * * mon", "Europe/Rome", "2026-07-20T00:59:59Z", "2026-07-20T01:00:00Z"},
		{"0 3 * * 1", "Europe/Rome", "2026-07-20T01:00:00Z", "2026-07-27T01:00:00Z"},
		{"@hourly", "", "2026-11-22T12:10:00Z", "2026-11-22T13:00:00Z"},
		{"@daily", "", "2026-11-22T12:00:00Z", "2026-11-23T00:00:00Z"},
		{"@Midnight", "", "2026-11-22T12:00:00Z", "2026-11-23T00:00:00Z"},
		{"@weekly", "UTC", "2026-11-22T12:00:00Z", "2026-11-29T00:00:00Z"},
		{"@monthly", "", "2026-11-22T12:00:00Z", "2026-12-01T00:00:00Z"},
		{"@yearly", "", "2026-11-22T12:00:00Z", "2027-01-01T00:00:00Z"},
		{"@annually", "", "2026-11-22T12:00:00Z", "2027-01-01T00:00:00Z"},
		{"0 0 29 2 *", "", "2026-11-22T12:00:00Z", "2028-02-29T00:00:00Z"},
		{"0 0 13 * 5", "", "2026-11-22T12:00:00Z", "2026-11-27T00:00:00Z"}, // the 27th is a Friday; the 13th also matches
		{"7d", "Europe/Rome", "2026-10-24T12:00:00Z", "2026-10-31T12:00:00Z"},
		{"2w", "", "2026-10-24T12:00:00Z", "2026-11-07T12:00:00Z"},
		{"1d12h", "", "2026-10-24T12:00:01Z", "2026-10-26T00:00:01Z"},
		{"36h", "", "2026-10-24T12:00:01Z", "2026-10-26T00:00:01Z"},
		// The clock goes forward from 02:00 to 03:00 on 29 March.
		{"30 2 * * *", "Europe/Rome", "2026-03-28T12:00:00Z", "2026-03-29T01:00:00Z"},
		{"30 2 * * *", "Europe/Rome", "2026-03-29T01:00:00Z", "2026-03-30T00:30:00Z"},
		// The clock goes back from 03:00 to 02:00 on 25 October.
		{"30 2 * * *", "Europe/Rome", "2026-10-24T12:00:00Z", "2026-10-25T00:30:00Z"},
		{"30 2 * * *", "Europe/Rome", "2026-10-25T00:30:00Z", "2026-10-26T01:30:00Z"},
		{"30 2 * * *", "Europe/Rome", "2026-10-25T01:10:00Z", "2026-10-26T01:30:00Z"},
		// Samoa had no 30 December 2011.
		{"0 12 30 12 *", "Pacific/Apia", "2011-12-01T00:00:00Z", "2011-12-30T10:00:00Z"},
	} {
		s := newSchedule(t, schedule.Spec{Every: test.every, Zone: test.zone})
		if got := s.Next(at(t, test.after)); !got.Equal(at(t, test.want)) {
			t.Errorf("%q in %q, after %s: %s, want %s", test.every, test.zone, test.after, got.Format(time.RFC3339), test.want)
		}
	}
}

func TestWhatIsNoScheduleIsSaid(t *testing.T) {
	for _, test := range []struct {
		spec        schedule.Spec
		field, text string
	}{
		{schedule.Spec{}, "every", "give when"},
		{schedule.Spec{Every: "0 3 * *"}, "every", "has 4 fields"},
		{schedule.Spec{Every: "0 0 3 * * MON"}, "every", "has 6 fields"},
		{schedule.Spec{Every: "60 3 * * *"}, "every", `"60" is no minute`},
		{schedule.Spec{Every: "0 24 * * *"}, "every", `"24" is no hour`},
		{schedule.Spec{Every: "0 3 32 * *"}, "every", `"32" is no day of month`},
		{schedule.Spec{Every: "0 3 L * *"}, "every", `"L" is no day of month`},
		{schedule.Spec{Every: "0 3 * MON *"}, "every", `"MON" is no month`},
		{schedule.Spec{Every: "0 3 * * MONDAY"}, "every", `"MONDAY" is no day of week`},
		{schedule.Spec{Every: "0 3 * * 1#2"}, "every", `"1#2" is no day of week`},
		{schedule.Spec{Every: "*/0 3 * * *"}, "every", `"*/0" is no minute`},
		{schedule.Spec{Every: "5-1 3 * * *"}, "every", `"5-1" is no minute`},
		{schedule.Spec{Every: "TZ=0 3 * * *"}, "every", `"TZ=0" is no minute`},
		{schedule.Spec{Every: "0 0 31 2 *"}, "every", "never comes"},
		{schedule.Spec{Every: "@fortnightly"}, "every", "is not one of"},
		{schedule.Spec{Every: "weekly"}, "every", `"weekly" is not a time`},
		{schedule.Spec{Every: "0d"}, "every", "less than 1m"},
		{schedule.Spec{Every: "30s"}, "every", `"30s" is not a time`},
		{schedule.Spec{Every: "-7d"}, "every", "five fields of cron"},
		{schedule.Spec{Every: "@daily", Zone: "Europe/Roma"}, "zone", `no time zone "Europe/Roma"`},
		{schedule.Spec{Every: "@daily", Zone: "Local"}, "zone", "another zone on each machine"},
		{schedule.Spec{Every: "@daily", Jitter: -1}, "jitter", "how much later"},
		{schedule.Spec{Every: "@daily", Jitter: 24 * time.Hour}, "jitter", "from one run to the next"},
		{schedule.Spec{Every: "@daily", Zone: "Europe/Rome", Jitter: 23 * time.Hour}, "jitter", "23h0m0s"}, // one day in a year has only 23 hours
		{schedule.Spec{Every: "6h", Jitter: 7 * time.Hour}, "jitter", "6h0m0s"},
		{schedule.Spec{Every: "@daily", Overlap: "stop"}, "overlap", "skip, wait"},
		{schedule.Spec{Every: "@daily", CatchUp: "all"}, "catch-up", "none, once"},
		{schedule.Spec{Every: "@daily", Keep: -1}, "keep", "0 for all"},
	} {
		_, err := schedule.New(test.spec)
		var wrong *schedule.FieldError
		if !errors.As(err, &wrong) || wrong.Field != test.field || !strings.Contains(wrong.Text, test.text) || err.Error() != wrong.Field+": "+wrong.Text {
			t.Errorf("%+v: %v, want %s: ...%s...", test.spec, err, test.field, test.text)
		}
	}
}

// The jitter is compared with the first 400 gaps between runs after the beginning of 2026 in
// UTC. On 8 March the clock of Chicago is put forward, which makes one gap too short for the
// jitter. With runs in minute 0, this gap is the last of the 400. With runs in minute 1 it is
// the next gap, because a run on the last day of 2025 is in 2026 by UTC.
func TestTheJitterIsComparedWithTheGapsOfFourHundredRuns(t *testing.T) {
	for minute, want := range map[string]bool{"0": true, "1": false} {
		_, err := schedule.New(schedule.Spec{Every: minute + " 0-18/3 * * 0,2-6", Zone: "America/Chicago", Jitter: 150 * time.Minute})
		if refused := err != nil; refused != want {
			t.Errorf("minute %s: %v, want an error: %v", minute, err, want)
		}
	}
}

// fits is a second implementation of parsing a cron field. It returns the numbers that match,
// and whether the field begins with *.
func fits(t rapid.TB, field string, least, most int) (in map[int]bool, star bool) {
	in = map[int]bool{}
	number := func(text string) int {
		n, err := strconv.Atoi(text)
		if err != nil {
			t.Fatal(err)
		}
		return n
	}
	for part := range strings.SplitSeq(field, ",") {
		span, every, stepped := strings.Cut(part, "/")
		step, lo, hi := 1, least, most
		if stepped {
			step = number(every)
		}
		if span != "*" {
			first, last, isSpan := strings.Cut(span, "-")
			lo, hi = number(first), number(first)
			if isSpan {
				hi = number(last)
			}
		}
		for n := lo; n <= hi; n += step {
			in[n] = true
		}
	}
	return in, strings.HasPrefix(field, "*")
}

// modelRuns is a second implementation of finding the runs of a cron expression between two
// times. It looks at the local time of each minute.
func modelRuns(t rapid.TB, expression string, zone *time.Location, from, to time.Time) (runs []time.Time) {
	is := strings.Fields(expression)
	minutes, _ := fits(t, is[0], 0, 59)
	hours, _ := fits(t, is[1], 0, 23)
	monthDays, anyDay := fits(t, is[2], 1, 31)
	months, _ := fits(t, is[3], 1, 12)
	weekDays, anyWeekDay := fits(t, is[4], 0, 6)
	matches := func(wall time.Time) bool {
		day, week := monthDays[wall.Day()], weekDays[int(wall.Weekday())]
		both := day && week || !anyDay && !anyWeekDay && (day || week)
		return both && minutes[wall.Minute()] && hours[wall.Hour()] && months[int(wall.Month())]
	}
	shows := func(moment time.Time) time.Time {
		local := moment.In(zone)
		return time.Date(local.Year(), local.Month(), local.Day(), local.Hour(), local.Minute(), 0, 0, time.UTC)
	}
	shown := shows(from) // the latest local time so far
	for moment := from.Add(time.Minute); !moment.After(to); moment = moment.Add(time.Minute) {
		due := false
		for ; shown.Before(shows(moment)); shown = shown.Add(time.Minute) {
			due = due || matches(shown.Add(time.Minute))
		}
		if due {
			runs = append(runs, moment)
		}
	}
	return runs
}

func TestRunsAreThoseOfAClockThatIsLookedAtEachMinute(t *testing.T) {
	field := func(least, most int) *rapid.Generator[string] {
		number := rapid.IntRange(least, most)
		return rapid.Custom(func(t *rapid.T) string {
			parts := make([]string, rapid.IntRange(1, 2).Draw(t, "parts"))
			for i := range parts {
				a, b := number.Draw(t, "a"), number.Draw(t, "b")
				parts[i] = rapid.SampledFrom([]string{
					strconv.Itoa(a), fmt.Sprintf("%d-%d", min(a, b), max(a, b)), fmt.Sprintf("%d-%d/%d", min(a, b), max(a, b), rapid.IntRange(1, 4).Draw(t, "step")),
				}).Draw(t, "part")
			}
			return strings.Join(parts, ",")
		})
	}
	often := func(f *rapid.Generator[string]) *rapid.Generator[string] {
		return rapid.OneOf(rapid.Just("*"), rapid.Just("*"), rapid.SampledFrom([]string{"*/2", "*/3"}), f)
	}
	rapid.Check(t, func(t *rapid.T) {
		expression := strings.Join([]string{
			rapid.OneOf(field(0, 59), rapid.SampledFrom([]string{"*/15", "0,30", "59"})).Draw(t, "minute"), often(field(0, 23)).Draw(t, "hour"),
			often(field(1, 28)).Draw(t, "day of month"), "*", often(field(0, 6)).Draw(t, "day of week"),
		}, " ")
		change := rapid.SampledFrom([]struct{ zone, day string }{
			{"Europe/Rome", "2026-03-29T00:00:00Z"}, {"Europe/Rome", "2026-10-25T00:00:00Z"}, {"America/New_York", "2026-03-08T07:00:00Z"},
			{"America/New_York", "2026-11-01T06:00:00Z"}, {"Australia/Lord_Howe", "2026-04-04T15:00:00Z"}, {"Australia/Lord_Howe", "2026-10-03T15:30:00Z"},
			{"Pacific/Apia", "2011-12-30T10:00:00Z"}, {"Asia/Kathmandu", "2026-06-01T00:00:00Z"}, {"UTC", "2026-03-01T00:00:00Z"},
		}).Draw(t, "change")
		s, err := schedule.New(schedule.Spec{Every: expression, Zone: change.zone})
		if err != nil {
			t.Skip(err) // for example because the day of the month and the month never coincide
		}
		zone, err := time.LoadLocation(change.zone)
		if err != nil {
			t.Fatal(err)
		}
		from, to := at(t, change.day).Add(-40*time.Hour), at(t, change.day).Add(40*time.Hour)
		var got []time.Time
		for next := s.Next(from); !next.IsZero() && !next.After(to); next = s.Next(next) {
			got = append(got, next)
		}
		if want := modelRuns(t, expression, zone, from, to); !slices.EqualFunc(got, want, time.Time.Equal) {
			t.Fatalf("%q in %s: runs at\n%v, and the clock says\n%v", expression, change.zone, got, want)
		}
	})
}

func TestARunStartsWithinItsJitter(t *testing.T) {
	s := newSchedule(t, schedule.Spec{Every: "@daily", Jitter: 30 * time.Minute})
	var least, most time.Duration = time.Hour, 0
	nominal := at(t, "2026-01-01T00:00:00Z")
	for range 1000 {
		nominal = s.Next(nominal)
		late := s.Start("weekly", nominal).Sub(nominal)
		least, most = min(least, late), max(most, late)
		if again := s.Start("weekly", nominal).Sub(nominal); again != late {
			t.Fatalf("the run of %v starts %v late, and %v late when computed again", nominal, late, again)
		}
	}
	if least < 0 || least > time.Minute || most >= 30*time.Minute || most < 29*time.Minute {
		t.Errorf("1000 runs start between %v and %v late: the starts should be spread over 30m", least, most)
	}
	// Two series start at different times. A new version of the program must compute the same
	// times, so that no run starts twice.
	for series, want := range map[string]string{"weekly": "2026-01-01T00:00:59Z", "daily": "2026-01-01T00:04:52Z"} {
		if start := s.Start(series, at(t, "2026-01-01T00:00:00Z")); !start.Equal(at(t, want)) {
			t.Errorf("%s starts at %s, want %s", series, start.Format(time.RFC3339), want)
		}
	}
}

package main

import (
	"fmt"
	"os"
	"os/exec"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/permesso-crawler/permesso/crawler/schedule"
)

func TestASchedulesTimesAreSaidToSystemd(t *testing.T) {
	for every, want := range map[string]string{
		"0 3 * * MON":      "Mon *-*-* 03:00:00 Europe/Rome",
		"*/20 0-6/3 * * *": "*-*-* 00,03,06:00,20,40:00 Europe/Rome",
		"@monthly":         "*-*-01 00:00:00 Europe/Rome",
		"30 4 1,15 jan *":  "*-01-01,15 04:30:00 Europe/Rome",
		"0 0 13 * 5-7":     "*-*-13 00:00:00 Europe/Rome; Fri,Sat,Sun *-*-* 00:00:00 Europe/Rome",
		"0 0 */2 * mon":    "Mon *-*-01,03,05,07,09,11,13,15,17,19,21,23,25,27,29,31 00:00:00 Europe/Rome",
		"5 * * * *":        "*-*-* *:05:00 Europe/Rome",
	} {
		spec := schedule.Spec{Every: every, Zone: "Europe/Rome"}
		lines, err := onCalendar(spec)
		got := strings.Join(lines, "; ")
		if err != nil || got != want {
			t.Errorf("%s: %q (%v), want %q", every, got, err, want)
		}
		comesAlike(t, spec, lines)
	}
	if _, err := onCalendar(schedule.Spec{Every: "36h"}); err == nil || !strings.Contains(err.Error(), "leave --timers out") {
		t.Error(err)
	}
}

// comesAlike compares the times of a schedule with those that systemd finds, away from
// the changes of daylight saving.
func comesAlike(t *testing.T, spec schedule.Spec, lines []string) {
	t.Helper()
	const from, count = "2026-11-22 12:00:00", 12
	ours := ourTimes(t, spec, from, count)
	if theirs, ok := theirTimes(t, lines, from, count); ok && !slices.Equal(ours, theirs) {
		t.Errorf("%s: systemd comes at %q, we at %q", spec.Every, theirs, ours)
	}
}

// ourTimes are the next so many of a schedule behind a moment, all in UTC.
func ourTimes(t *testing.T, spec schedule.Spec, from string, count int) (times []string) {
	t.Helper()
	s, err := schedule.New(spec)
	if err != nil {
		t.Fatal(err)
	}
	at, err := time.Parse(time.DateTime, from)
	if err != nil {
		t.Fatal(err)
	}
	for range count {
		at = s.Next(at)
		times = append(times, at.Format(time.DateTime))
	}
	return times
}

// theirTimes are those that systemd finds for lines of OnCalendar; ok is false where there is
// no systemd to ask.
func theirTimes(t *testing.T, lines []string, from string, count int) (times []string, ok bool) {
	t.Helper()
	analyze, err := exec.LookPath("systemd-analyze")
	if err != nil {
		withoutSystemd(t, err.Error())
		return nil, false
	}
	for _, line := range lines {
		cmd := exec.Command(analyze, "calendar", "--base-time="+from+" UTC", fmt.Sprint("--iterations=", count), line)
		cmd.Env = append(os.Environ(), "TZ=UTC")
		said, err := cmd.CombinedOutput()
		if err != nil {
			withoutSystemd(t, err.Error()+string(said))
			return nil, false
		}
		for _, m := range regexp.MustCompile(`(?:Next elapse|Iter[^:]*|\(in UTC\)): \w+ (\d{4}-\d\d-\d\d \d\d:\d\d:\d\d) UTC`).FindAllStringSubmatch(string(said), -1) {
			times = append(times, m[1])
		}
	}
	slices.Sort(times)
	times = slices.Compact(times)
	return times[:min(count, len(times))], true
}

// At the changes of daylight saving systemd differs from us in two ways, in every zone: a
// time that does not exist it leaves out; and who asks within the hour that comes a second
// time is told of the times in it that have been.
func TestSystemdHasItsOwnWayAtTheChangesOfDaylightSaving(t *testing.T) {
	for _, c := range []struct {
		zone, every, from string
		ours, theirs      []string // theirs: nil, as ours
	}{
		// The clock is put forward.
		{"Europe/Rome", "30 2 * * *", "2026-03-28 12:00:00", []string{"2026-03-29 01:00:00", "2026-03-30 00:30:00"}, []string{"2026-03-30 00:30:00", "2026-03-31 00:30:00"}},
		{"Europe/Rome", "30 2 * * SUN", "2026-03-28 12:00:00", []string{"2026-03-29 01:00:00", "2026-04-05 00:30:00"}, []string{"2026-04-05 00:30:00", "2026-04-12 00:30:00"}},
		{"Europe/Rome", "5 * * * *", "2026-03-29 00:00:00", []string{"2026-03-29 00:05:00", "2026-03-29 01:00:00", "2026-03-29 01:05:00"}, []string{"2026-03-29 00:05:00", "2026-03-29 01:05:00", "2026-03-29 02:05:00"}},
		{"Europe/Rome", "0 3 * * *", "2026-03-28 12:00:00", []string{"2026-03-29 01:00:00", "2026-03-30 01:00:00"}, nil},
		{"America/New_York", "0 2 * * *", "2026-03-07 12:00:00", []string{"2026-03-08 07:00:00", "2026-03-09 06:00:00"}, []string{"2026-03-09 06:00:00", "2026-03-10 06:00:00"}},
		{"Australia/Lord_Howe", "10 2 * * *", "2026-10-03 00:00:00", []string{"2026-10-03 15:30:00", "2026-10-04 15:10:00"}, []string{"2026-10-04 15:10:00", "2026-10-05 15:10:00"}},
		{"America/Santiago", "0 0 * * *", "2026-09-05 12:00:00", []string{"2026-09-06 04:00:00", "2026-09-07 03:00:00"}, []string{"2026-09-07 03:00:00", "2026-09-08 03:00:00"}},
		{"Antarctica/Troll", "30 2 * * *", "2026-03-28 12:00:00", []string{"2026-03-29 01:00:00", "2026-03-30 00:30:00"}, []string{"2026-03-30 00:30:00", "2026-03-31 00:30:00"}},
		// It is put back: who asks before that, and within the hour that comes again.
		{"Europe/Rome", "30 2 * * *", "2026-10-24 12:00:00", []string{"2026-10-25 00:30:00", "2026-10-26 01:30:00"}, nil},
		{"Europe/Rome", "30 2 * * *", "2026-10-25 00:30:00", []string{"2026-10-26 01:30:00", "2026-10-27 01:30:00"}, nil},
		{"Europe/Rome", "30 2 * * *", "2026-10-25 01:00:00", []string{"2026-10-26 01:30:00", "2026-10-27 01:30:00"}, []string{"2026-10-25 01:30:00", "2026-10-26 01:30:00"}},
		{"Europe/Rome", "5 * * * *", "2026-10-24 23:50:00", []string{"2026-10-25 00:05:00", "2026-10-25 02:05:00"}, nil},
		{"Europe/Rome", "5 * * * *", "2026-10-25 01:00:00", []string{"2026-10-25 02:05:00", "2026-10-25 03:05:00"}, []string{"2026-10-25 01:05:00", "2026-10-25 02:05:00"}},
		{"America/New_York", "10 1 * * *", "2026-10-31 12:00:00", []string{"2026-11-01 05:10:00", "2026-11-02 06:10:00"}, nil},
		{"America/New_York", "10 1 * * *", "2026-11-01 06:00:00", []string{"2026-11-02 06:10:00", "2026-11-03 06:10:00"}, []string{"2026-11-01 06:10:00", "2026-11-02 06:10:00"}},
		{"Australia/Lord_Howe", "40 1 * * *", "2026-04-04 12:00:00", []string{"2026-04-04 14:40:00", "2026-04-05 15:10:00"}, nil},
		{"Australia/Lord_Howe", "40 1 * * *", "2026-04-04 15:00:00", []string{"2026-04-05 15:10:00", "2026-04-06 15:10:00"}, []string{"2026-04-04 15:10:00", "2026-04-05 15:10:00"}},
		{"America/Santiago", "10 23 * * *", "2026-04-04 12:00:00", []string{"2026-04-05 02:10:00", "2026-04-06 03:10:00"}, nil},
		{"America/Santiago", "10 23 * * *", "2026-04-05 03:00:00", []string{"2026-04-06 03:10:00", "2026-04-07 03:10:00"}, []string{"2026-04-05 03:10:00", "2026-04-06 03:10:00"}},
		{"Antarctica/Troll", "10 1 * * *", "2026-10-24 12:00:00", []string{"2026-10-24 23:10:00", "2026-10-26 01:10:00"}, nil},
		{"Antarctica/Troll", "10 1 * * *", "2026-10-25 01:00:00", []string{"2026-10-26 01:10:00", "2026-10-27 01:10:00"}, []string{"2026-10-25 01:10:00", "2026-10-26 01:10:00"}},
	} {
		spec := schedule.Spec{Every: c.every, Zone: c.zone}
		lines, err := onCalendar(spec)
		if err != nil {
			t.Fatal(err)
		}
		if ours := ourTimes(t, spec, c.from, len(c.ours)); !slices.Equal(ours, c.ours) {
			t.Errorf("%s in %s from %s: we come at %q, want %q", c.every, c.zone, c.from, ours, c.ours)
		}
		if c.theirs == nil {
			c.theirs = c.ours
		}
		if theirs, ok := theirTimes(t, lines, c.from, len(c.theirs)); ok && !slices.Equal(theirs, c.theirs) {
			t.Errorf("%s in %s from %s: systemd comes at %q, want %q", c.every, c.zone, c.from, theirs, c.theirs)
		}
	}
}

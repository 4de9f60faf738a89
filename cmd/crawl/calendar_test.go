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
	analyze, err := exec.LookPath("systemd-analyze")
	if err != nil {
		withoutSystemd(t, err.Error())
		return
	}
	const count = 12
	var theirs []string
	for _, line := range lines {
		cmd := exec.Command(analyze, "calendar", "--base-time=2026-11-22 12:00:00 UTC", fmt.Sprint("--iterations=", count), line)
		cmd.Env = append(os.Environ(), "TZ=UTC")
		said, err := cmd.CombinedOutput()
		if err != nil {
			withoutSystemd(t, err.Error()+string(said))
			return
		}
		for _, m := range regexp.MustCompile(`(?:Next elapse|Iter[^:]*|\(in UTC\)): \w+ (\d{4}-\d\d-\d\d \d\d:\d\d:\d\d) UTC`).FindAllStringSubmatch(string(said), -1) {
			theirs = append(theirs, m[1])
		}
	}
	slices.Sort(theirs)
	theirs = slices.Compact(theirs)
	s, err := schedule.New(spec)
	if err != nil {
		t.Fatal(err)
	}
	var ours []string
	at := time.Date(2026, 11, 22, 12, 0, 0, 0, time.UTC)
	for range count {
		at = s.Next(at)
		ours = append(ours, at.Format(time.DateTime))
	}
	if len(theirs) < count || !slices.Equal(ours, theirs[:count]) {
		t.Errorf("%s: systemd comes at %q, we at %q", spec.Every, theirs, ours)
	}
}

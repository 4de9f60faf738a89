// Package timetable says when the runs of jobs are due, what has become of earlier runs, and
// which commands start the runs. It does this in text for people, and in JSON, whose names are
// never changed. It changes no file.
package timetable

import (
	"cmp"
	"errors"
	"io/fs"
	"path/filepath"
	"strings"
	"time"

	"github.com/permesso-crawler/permesso/cmd/crawl/internal/say"
	"github.com/permesso-crawler/permesso/cmd/crawl/internal/scheduler"
	"github.com/permesso-crawler/permesso/internal/schedule"
	"github.com/permesso-crawler/permesso/internal/series"
)

// A Plan is what crawl check and crawl schedule print about a schedule.
type Plan struct {
	Every   string      `json:"every"`
	Zone    string      `json:"zone"`
	Jitter  float64     `json:"jitter_seconds,omitempty"`
	Overlap string      `json:"overlap"`
	CatchUp string      `json:"catch_up"`
	Keep    int         `json:"keep,omitempty"`
	Next    []time.Time `json:"next"` // nominal times, in UTC

	zone *time.Location
}

// PlanOf returns the plan of the schedule in a job file, with the first count times from now on. dir
// is the series of the job, or "" if the user has named none. If there is no such series yet, the
// times are those of a series without runs. The error is one of reading the series.
func PlanOf(s *schedule.Schedule, job, dir string, now time.Time, count int) (*Plan, error) {
	dir, _ = seriesOf(job, dir)
	known := scheduler.Dir{Series: series.Series{Dir: dir}}
	ran, _, err := known.Known(false)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, err
	}
	return comingOf(s, s.Plan(scheduler.Name(dir), ran, now), count), nil
}

// comingOf returns the plan of a schedule, with the first count times: what is due now, what waits,
// and what comes.
func comingOf(s *schedule.Schedule, due schedule.Plan, count int) *Plan {
	spec := s.Spec()
	plan := &Plan{
		Every: spec.Every, Zone: cmp.Or(spec.Zone, "UTC"), Jitter: spec.Jitter.Seconds(),
		Overlap: string(spec.Overlap), CatchUp: string(spec.CatchUp), Keep: spec.Keep, Next: []time.Time{}, zone: time.UTC,
	}
	if zone, err := time.LoadLocation(spec.Zone); err == nil {
		plan.zone = zone
	}
	at := cmp.Or(due.Run, due.Waiting, due.Next)
	for ; len(plan.Next) < count && !at.IsZero(); at = s.Next(at) {
		plan.Next = append(plan.Next, at.UTC().Truncate(time.Second))
	}
	return plan
}

// StartedBy returns the commands that start the runs of a job, each run into a snapshot
// of a series. The user needs them because no run starts by itself. dir is the series, or
// "" if the user has named none.
func StartedBy(job, dir string) []string {
	dir, there := seriesOf(job, dir)
	place := filepath.Join(dir, series.JobFile)
	job, place, dir = say.ShellQuoted(job), say.ShellQuoted(place), say.ShellQuoted(dir)
	lines := []string{"  they are started by: crawl schedule run " + dir}
	if !there {
		lines = append(lines, "  which looks for the job in the directory of its snapshots: mkdir -p "+dir+" && cp "+job+" "+place)
	}
	return append(lines, "  one of them now, by hand: crawl run --job "+job+" --series "+dir)
}

// seriesOf returns the directory of the series of a job file, and whether the file is the job of the
// series already. dir is the series that the user has named, or "".
func seriesOf(job, dir string) (of string, there bool) {
	if dir != "" {
		return dir, filepath.Clean(job) == filepath.Join(dir, series.JobFile)
	}
	if filepath.Base(job) == series.JobFile {
		return filepath.Dir(job), true
	}
	if dir = strings.TrimSuffix(job, filepath.Ext(job)); dir == job {
		dir += ".series"
	}
	return dir, false
}

// Words returns the schedule in words, on one line.
func (s *Plan) Words() string {
	text := s.Every + " (" + s.Zone
	if s.Jitter > 0 {
		text += ", up to " + say.InSeconds(s.Jitter) + " later"
	}
	return text + ")"
}

// At returns a time in the zone of the schedule and in UTC.
func (s *Plan) At(t time.Time) string { return inZone(t, s.zone) }

// Clock returns a time of day in the zone of the schedule.
func (s *Plan) Clock(t time.Time) string { return t.In(s.zone).Format("15:04:05") }

// inZone returns a time in a zone and in UTC, to the minute.
func inZone(t time.Time, zone *time.Location) string {
	const layout = "Mon 2006-01-02 15:04"
	utc := t.UTC().Format(layout + " UTC")
	if zone == nil || zone.String() == "UTC" || zone == time.UTC {
		return utc
	}
	if is := t.In(zone); is.Format(time.DateOnly) != t.UTC().Format(time.DateOnly) {
		return is.Format(layout+" MST") + " = " + utc
	}
	return t.In(zone).Format(layout+" MST") + " = " + t.UTC().Format("15:04 UTC")
}

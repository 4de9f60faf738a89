package main

import (
	"cmp"
	"errors"
	"path/filepath"
	"slices"
	"strings"
	"time"
	_ "time/tzdata" // for machines without a database of time zones

	"github.com/permesso-crawler/permesso/cmd/crawl/internal/guess"
	"github.com/permesso-crawler/permesso/cmd/crawl/internal/say"
	"github.com/permesso-crawler/permesso/cmd/crawl/internal/settings"
	"github.com/permesso-crawler/permesso/crawler"
	"github.com/permesso-crawler/permesso/internal/schedule"
	"github.com/permesso-crawler/permesso/internal/series"
	"go.yaml.in/yaml/v3"
)

// scheduleFields are the fields of a schedule, and scheduleFrom the settings whose values
// are written in the same way.
var (
	scheduleFields = []string{"every", "zone", "jitter", "overlap", "catch-up", "keep"}
	scheduleFrom   = map[string]string{"jitter": "max-time", "keep": "limit"}
)

// readSchedule reads the schedule of a job.
func (j *jobFile) readSchedule(key, n *yaml.Node) {
	spec, at := schedule.Spec{}, map[string]*yaml.Node{}
	before := len(j.problems)
	var o crawler.Options
	all := o.Settings()
	texts := map[string]*string{
		"every": &spec.Every, "zone": &spec.Zone, "overlap": (*string)(&spec.Overlap), "catch-up": (*string)(&spec.CatchUp),
	}
	j.mapping(n, keySchedule, func(key, value *yaml.Node) {
		at[key.Value] = value
		switch to, ok := texts[key.Value]; {
		case ok:
			j.assign(crawler.Setting{Name: key.Value, Value: settings.Text(to)}, value)
		case slices.Contains(scheduleFields, key.Value):
			s := all[slices.IndexFunc(all, func(s crawler.Setting) bool { return s.Name == scheduleFrom[key.Value] })]
			s.Name = key.Value
			j.assign(s, value)
		default:
			j.wrong(key, "a schedule has no %q: %sit may have %s", key.Value, guess.DidYouMean(key.Value, scheduleFields), strings.Join(scheduleFields, ", "))
		}
	})
	spec.Jitter, spec.Keep = max(0, o.MaxTime), max(0, o.Limit)
	for range scheduleFields {
		var err error
		if j.flags.Schedule, err = schedule.New(spec); err == nil {
			break
		}
		var wrong *schedule.FieldError
		if !errors.As(err, &wrong) {
			j.wrong(key, "schedule: %v", err)
			break
		}
		j.wrong(cmp.Or(at[wrong.Field], key), "%v%s", wrong, meantField(wrong.Field, spec))
		spec = without(spec, wrong.Field)
	}
	if len(j.problems) > before {
		j.flags.Schedule = nil
	}
}

// meantField guesses which policy was meant.
func meantField(field string, spec schedule.Spec) string {
	switch field {
	case "overlap":
		return guess.Meant(string(spec.Overlap), []string{string(schedule.OverlapSkip), string(schedule.OverlapWait)})
	case "catch-up":
		return guess.Meant(string(spec.CatchUp), []string{string(schedule.CatchUpNone), string(schedule.CatchUpOnce)})
	}
	return ""
}

// without returns a schedule without one field, so that its other fields can be checked
// though that one is wrong.
func without(spec schedule.Spec, field string) schedule.Spec {
	switch field {
	case "every":
		spec.Every = "@yearly"
	case "zone":
		spec.Zone = ""
	case "jitter":
		spec.Jitter = 0
	case "overlap":
		spec.Overlap = ""
	case "catch-up":
		spec.CatchUp = ""
	}
	return spec
}

// planTimes is how many times a plan shows.
const planTimes = 3

// A planSchedule is what crawl check and crawl schedule print about a schedule. The names
// of its fields are never changed.
type planSchedule struct {
	Every   string      `json:"every"`
	Zone    string      `json:"zone"`
	Jitter  float64     `json:"jitter_seconds,omitempty"`
	Overlap string      `json:"overlap"`
	CatchUp string      `json:"catch_up"`
	Keep    int         `json:"keep,omitempty"`
	Next    []time.Time `json:"next"` // nominal times, in UTC

	zone    *time.Location
	started []string // lines about what starts the runs, for people
}

// planTheSchedule returns a schedule with its first times after a moment.
func planTheSchedule(s *schedule.Schedule, after time.Time, count int) *planSchedule {
	spec := s.Spec()
	plan := &planSchedule{
		Every: spec.Every, Zone: cmp.Or(spec.Zone, "UTC"), Jitter: spec.Jitter.Seconds(),
		Overlap: string(spec.Overlap), CatchUp: string(spec.CatchUp), Keep: spec.Keep, Next: []time.Time{}, zone: time.UTC,
	}
	if zone, err := time.LoadLocation(spec.Zone); err == nil {
		plan.zone = zone
	}
	for range count {
		if after = s.Next(after); after.IsZero() {
			break
		}
		plan.Next = append(plan.Next, after.UTC().Truncate(time.Second))
	}
	return plan
}

// startedBy returns the commands that start the runs of a job, each into a snapshot of a
// series: no run starts by itself. dir is the series, or "" if none was named.
func startedBy(job, dir string) []string {
	place := filepath.Join(dir, series.JobFile)
	there := dir == "" && filepath.Base(job) == series.JobFile || dir != "" && filepath.Clean(job) == place
	if dir == "" {
		if dir = filepath.Dir(job); !there {
			if dir = strings.TrimSuffix(job, filepath.Ext(job)); dir == job {
				dir += ".series"
			}
		}
	}
	place = filepath.Join(dir, series.JobFile)
	job, place, dir = say.ShellQuoted(job), say.ShellQuoted(place), say.ShellQuoted(dir)
	lines := []string{"  they are started by: crawl schedule run " + dir}
	if !there {
		lines = append(lines, "  which looks for the job in the directory of its snapshots: mkdir -p "+dir+" && cp "+job+" "+place)
	}
	return append(lines, "  one of them now, by hand: crawl run --job "+job+" --series "+dir)
}

// words returns a schedule on one line.
func (s *planSchedule) words() string {
	text := s.Every + " (" + s.Zone
	if s.Jitter > 0 {
		text += ", up to " + say.InSeconds(s.Jitter) + " later"
	}
	return text + ")"
}

// at returns a time in the zone of the schedule and in UTC.
func (s *planSchedule) at(t time.Time) string { return inZone(t, s.zone) }

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

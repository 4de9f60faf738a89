package jobfile

import (
	"cmp"
	"errors"
	"slices"
	"strings"
	_ "time/tzdata" // for machines without a database of time zones

	"github.com/permesso-crawler/permesso/cmd/crawl/internal/guess"
	"github.com/permesso-crawler/permesso/cmd/crawl/internal/settings"
	"github.com/permesso-crawler/permesso/crawler"
	"github.com/permesso-crawler/permesso/internal/schedule"
	"github.com/permesso-crawler/permesso/internal/setting"
	"go.yaml.in/yaml/v3"
)

// scheduleFields are the fields of a schedule. The value of a field in scheduleFrom is written
// like the value of a setting of crawl run, whose name scheduleFrom has.
var (
	scheduleFields = []string{"every", "zone", "jitter", "overlap", "catch-up", "keep"}
	scheduleFrom   = map[string]string{"jitter": "max-time", "keep": "limit"}
)

// readSchedule reads the schedule of a job.
func (j *File) readSchedule(key, n *yaml.Node) {
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
			j.assign(setting.Setting{Name: key.Value, Value: settings.Text(to)}, value)
		case slices.Contains(scheduleFields, key.Value):
			s := all[slices.IndexFunc(all, func(s setting.Setting) bool { return s.Name == scheduleFrom[key.Value] })]
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

// meantField guesses which value of overlap or catch-up was meant by an invalid one. For other
// fields it returns "".
func meantField(field string, spec schedule.Spec) string {
	switch field {
	case "overlap":
		return guess.Meant(string(spec.Overlap), []string{string(schedule.OverlapSkip), string(schedule.OverlapWait)})
	case "catch-up":
		return guess.Meant(string(spec.CatchUp), []string{string(schedule.CatchUpNone), string(schedule.CatchUpOnce)})
	}
	return ""
}

// without returns a schedule in which a valid value replaces that of the wrong field, so that
// the other fields can be checked, too.
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

package timetable

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"time"

	"github.com/permesso-crawler/permesso/cmd/crawl/internal/exit"
	"github.com/permesso-crawler/permesso/cmd/crawl/internal/jobfile"
	"github.com/permesso-crawler/permesso/cmd/crawl/internal/say"
	"github.com/permesso-crawler/permesso/cmd/crawl/internal/scheduler"
	"github.com/permesso-crawler/permesso/cmd/crawl/internal/settings"
	"github.com/permesso-crawler/permesso/crawler"
	"github.com/permesso-crawler/permesso/internal/schedule"
	"github.com/permesso-crawler/permesso/internal/series"
)

// ScheduleOf reads the schedule in the job file of the series in dir.
func ScheduleOf(dir string) (*schedule.Schedule, error) {
	f := settings.Usual()
	f.Job = filepath.Join(dir, series.JobFile)
	if _, err := os.Stat(dir); errors.Is(err, fs.ErrNotExist) {
		return nil, exit.Usagef("there is no directory %s: make it, and crawl init %s writes a job file to begin with", dir, f.Job)
	}
	if _, err := os.Stat(f.Job); err != nil {
		return nil, exit.Usagef("%s is not a series: %w: crawl init %s writes one to begin with", dir, err, f.Job)
	}
	j, err := jobfile.Read(f, func(string) bool { return false })
	if err == nil {
		err = j.Err()
	}
	if err == nil && f.Schedule == nil {
		err = exit.Usagef(`%s: it has no schedule: add one, as in "schedule: {every: "0 3 * * MON", zone: Europe/Rome}"`, f.Job)
	}
	return f.Schedule, err
}

// Open returns the series in dirs. Each of them must have a schedule. command is the word
// after crawl schedule, for errors.
func Open(command string, dirs []string) (all []*Series, err error) {
	if len(dirs) == 0 {
		return nil, exit.Usagef("crawl schedule %s takes directories of series, each with a job.yaml in it", command)
	}
	known := map[string]string{}
	for _, dir := range dirs {
		whole, err := filepath.Abs(dir)
		if err != nil {
			return nil, err
		}
		if other := known[whole]; other != "" {
			return nil, exit.Usagef("%s and %s are one directory: name it once", other, dir)
		}
		known[whole] = dir
		s, err := ScheduleOf(dir)
		if err != nil {
			return nil, err
		}
		all = append(all, &Series{Dir: dir, schedule: s, known: &scheduler.Dir{Series: series.Series{Dir: dir}}})
	}
	return all, nil
}

// A Series is a directory of snapshots, with the schedule of its job.
type Series struct {
	Dir      string
	schedule *schedule.Schedule
	known    *scheduler.Dir
}

// Plan returns which runs of a series have happened, and which run is next, at the time now.
func (s *Series) Plan(now time.Time) (schedule.Ran, schedule.Plan, error) {
	ran, _, err := s.known.Known(false)
	return ran, s.schedule.Plan(scheduler.Name(s.Dir), ran, now), err
}

// Coming is what crawl schedule next prints about a series.
type Coming struct {
	Series string `json:"series"`
	Plan
	Starts []time.Time `json:"starts"` // the times of Next, each with its random delay (jitter) added
}

// Next returns the next runs of a series: what is due now, what waits, and what comes.
func (s *Series) Next(plan schedule.Plan, now time.Time, count int) Coming {
	n := Coming{Series: s.Dir, Plan: *comingOf(s.schedule, plan, count), Starts: []time.Time{}}
	for _, at := range n.Next {
		n.Starts = append(n.Starts, s.schedule.Start(scheduler.Name(s.Dir), at).UTC())
	}
	return n
}

// A Listing is what crawl schedule list prints about a series.
type Listing struct {
	Coming
	Snapshots int      `json:"snapshots"`
	Last      *Last    `json:"last,omitempty"`
	Missed    []Miss   `json:"missed,omitempty"`
	Older     []string `json:"older_than_keep,omitempty"` // all snapshots except the newest ones; the schedule says how many to keep
	Needed    []Needs  `json:"needed,omitempty"`
}

// Last describes the newest snapshot.
type Last struct {
	Dir   string    `json:"dir"`
	State string    `json:"state"` // over, going on, not over, made
	End   string    `json:"end,omitempty"`
	Time  time.Time `json:"time,omitzero"` // when it ended
	Pages int       `json:"budget_pages"`  // number of pages, counted as the limits on pages count: a page that was fetched again counts once
	Error string    `json:"error,omitempty"`
}

// A Miss is a run that did not happen.
type Miss struct {
	Due time.Time `json:"due"`
	Why string    `json:"why"`
}

// A Needs is a snapshot to be kept. It needs older snapshots that are not to be kept, because it
// refers to bodies in them.
type Needs struct {
	Dir   string `json:"dir"`
	Error string `json:"error,omitempty"` // why this could not be found out
}

// List reads the state of a series, and changes nothing.
func (s *Series) List(now time.Time) (*Listing, error) {
	_, plan, err := s.Plan(now)
	if err != nil {
		return nil, err
	}
	l := &Listing{Coming: s.Next(plan, now, 1)}
	missed, _, err := s.known.Missed()
	if err != nil {
		return nil, err
	}
	for _, m := range missed {
		l.Missed = append(l.Missed, Miss{m.Due, m.Why})
	}
	for _, m := range plan.Missed { // not recorded yet; the scheduler records them when it looks
		l.Missed = append(l.Missed, Miss{m.Due.UTC(), string(m.Why)})
	}
	snapshots, err := s.known.Snapshots()
	if err != nil {
		return nil, err
	}
	if l.Snapshots = len(snapshots); l.Snapshots > 0 {
		l.Last = lastOf(snapshots[l.Snapshots-1], s.known.Free())
	}
	if older := l.Snapshots - l.Keep; l.Keep > 0 && older > 0 {
		l.older(snapshots[:older], snapshots[older:])
	}
	return l, nil
}

// lastOf describes a snapshot. If the series is in use, it does not read the state of the
// snapshot, because that could disturb a process that is about to open it.
func lastOf(n series.Snapshot, busy error) *Last {
	last := &Last{Dir: n.Dir, State: "not over"}
	if busy != nil {
		last.State = "going on"
		return last
	}
	state, err := n.State()
	switch {
	case err != nil:
		last.Error = err.Error()
		return last
	case state.Running:
		last.State = "going on"
		return last
	case !state.Begun:
		last.State = "made"
		return last
	case state.Over:
		last.State = "over"
	}
	last.End, last.Time, last.Pages = string(state.Status.End), state.Status.Time.UTC(), state.Status.Crawl.BudgetPages
	if last.End == "" {
		last.End = string(state.Status.State)
	}
	return last
}

// older adds to l the snapshots in old, which are older than those to be kept. It also adds the
// snapshots in kept that refer to bodies in older snapshots.
func (l *Listing) older(old, kept []series.Snapshot) {
	for _, n := range old {
		l.Older = append(l.Older, n.Dir)
	}
	before := kept[0].Start
	if facts, err := kept[0].ReadFacts(); err == nil {
		before = facts.Began
	}
	for _, n := range kept {
		refers, err := n.RefersBehind(before)
		switch {
		case err != nil:
			l.Needed = append(l.Needed, Needs{n.Dir, err.Error()})
		case refers:
			l.Needed = append(l.Needed, Needs{Dir: n.Dir})
		}
	}
}

// Lines returns what crawl schedule list prints about a series for people.
func (l *Listing) Lines() []string {
	lines := []string{l.Series}
	add := func(name, format string, args ...any) {
		lines = append(lines, fmt.Sprintf("  %-9s %s", name, fmt.Sprintf(format, args...)))
	}
	add("schedule", "%s; overlap: %s, catch-up: %s", l.Words(), l.Overlap, l.CatchUp)
	if l.Last == nil {
		add("last", "no snapshot yet")
	} else {
		add("last", "%s: %s", filepath.Base(l.Last.Dir), l.Last.words())
	}
	if len(l.Next) > 0 {
		add("next", "%s", l.At(l.Next[0]))
	}
	if n := len(l.Missed); n > 0 {
		add("missed", "%s, the last one that of %s (%s)", say.Plural(n, "run"), l.At(l.Missed[n-1].Due), l.Missed[n-1].Why)
	}
	if n := len(l.Older); n > 0 {
		add("keep", "%s older than the last %d:", say.Plural(n, "snapshot"), l.Keep)
		for _, dir := range l.Older {
			add("", "  %s", dir)
		}
	}
	for _, n := range l.Needed {
		if n.Error != "" {
			add("", "%s cannot be read, and may need them: %s", filepath.Base(n.Dir), n.Error)
			continue
		}
		add("", "%s repeats bodies that are stored in these: keep what it refers to", filepath.Base(n.Dir))
	}
	return lines
}

// words describes the state of a snapshot.
func (l *Last) words() string {
	switch {
	case l.Error != "":
		return l.Error
	case l.State == "going on":
		return "going on now"
	case l.State == "made":
		return "its crawl has not begun: the next run continues it"
	}
	text, mend := l.End, ""
	switch l.End {
	case string(crawler.StateUnknown):
		text = "failed"
	case string(crawler.StateNoRoom):
		text, mend = "stopped because the disk was full", "make room, and "
	}
	text += ", " + say.Plural(l.Pages, "budget page")
	if l.State == "not over" {
		text += ": " + mend + "the next run continues it"
	}
	return text
}

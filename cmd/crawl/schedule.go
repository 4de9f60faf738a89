package main

import (
	"cmp"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"time"

	"github.com/permesso-crawler/permesso/cmd/crawl/internal/exit"
	"github.com/permesso-crawler/permesso/cmd/crawl/internal/say"
	"github.com/permesso-crawler/permesso/cmd/crawl/internal/scheduler"
	"github.com/permesso-crawler/permesso/cmd/crawl/internal/settings"
	"github.com/permesso-crawler/permesso/crawler"
	"github.com/permesso-crawler/permesso/internal/schedule"
	"github.com/permesso-crawler/permesso/internal/series"
	"github.com/spf13/cobra"
)

func (p *program) scheduleCommand() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "schedule",
		Short: "run jobs regularly, each time into a snapshot",
		Long: `schedule looks after series. A series is a directory with a job.yaml that has a
schedule; each run makes a snapshot in it.

  run       start runs when they are due, for many series
  list      the last and the next run of each series
  next      when runs come
  install   a unit for systemd

When a run is due follows from the schedule and the files of the directory: nothing
else is kept.`,
		Example: `  mkdir weekly && crawl init weekly/job.yaml
  crawl schedule next weekly
  crawl schedule run weekly`,
		Args: func(cmd *cobra.Command, args []string) error {
			if len(args) > 0 {
				return unknownCommand(cmd, args[0])
			}
			return nil
		},
		RunE: func(cmd *cobra.Command, args []string) error { return cmd.Help() },
	}
	cmd.AddCommand(p.scheduleRunCommand(), p.scheduleListCommand(), p.scheduleNextCommand(), p.scheduleInstallCommand())
	for _, c := range cmd.Commands() {
		c.ValidArgsFunction = func(*cobra.Command, []string, string) ([]string, cobra.ShellCompDirective) {
			return nil, cobra.ShellCompDirectiveFilterDirs
		}
	}
	return cmd
}

// scheduleOf reads the schedule of the job of a series.
func scheduleOf(dir string) (*schedule.Schedule, error) {
	f := settings.Usual()
	f.Job = filepath.Join(dir, series.JobFile)
	if _, err := os.Stat(dir); errors.Is(err, fs.ErrNotExist) {
		return nil, exit.Usagef("there is no directory %s: make it, and crawl init %s writes a job file to begin with", dir, f.Job)
	}
	if _, err := os.Stat(f.Job); err != nil {
		return nil, exit.Usagef("%s is not a series: %w: crawl init %s writes one to begin with", dir, err, f.Job)
	}
	j, err := readJob(f, func(string) bool { return false })
	if err == nil {
		err = j.err()
	}
	if err == nil && f.Schedule == nil {
		err = exit.Usagef(`%s: it has no schedule: add one, as in "schedule: {every: "0 3 * * MON", zone: Europe/Rome}"`, f.Job)
	}
	return f.Schedule, err
}

// allSeries returns the series in dirs, each of which must have a schedule.
func allSeries(name string, dirs []string) (all []*scheduled, err error) {
	if len(dirs) == 0 {
		return nil, exit.Usagef("crawl schedule %s takes directories of series, each with a job.yaml in it", name)
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
		s, err := scheduleOf(dir)
		if err != nil {
			return nil, err
		}
		all = append(all, &scheduled{dir: dir, schedule: s, known: &scheduler.Dir{Series: series.Series{Dir: dir}}})
	}
	return all, nil
}

// A scheduled is a series with its schedule.
type scheduled struct {
	dir      string
	schedule *schedule.Schedule
	known    *scheduler.Dir
}

// plan returns what has run of a series, and what comes next, at a moment.
func (s *scheduled) plan(now time.Time) (schedule.Ran, schedule.Plan, error) {
	ran, _, err := s.known.Known(false)
	return ran, s.schedule.Plan(scheduler.Name(s.dir), ran, now), err
}

// A scheduleNext is what crawl schedule next prints about a series. The names of its fields
// are never changed.
type scheduleNext struct {
	Series string `json:"series"`
	planSchedule
	Starts []time.Time `json:"starts"` // Next, each with its jitter added
}

func (p *program) scheduleNextCommand() *cobra.Command {
	var count int
	var asJSON bool
	cmd := &cobra.Command{
		Use:   "next DIR ...",
		Short: "print when the next runs are",
		Long: `next prints when the next runs of each series are, in its time zone and in UTC:
their nominal times, which name the snapshots. With jitter a run starts a while
later, which is printed, too.`,
		Example: `  crawl schedule next weekly
  crawl schedule next --count 12 --json weekly daily`,
		Args: cobra.ArbitraryArgs,
		RunE: func(cmd *cobra.Command, args []string) error {
			if count < 1 || count > 10000 {
				return exit.Usagef("--count: %d: give a number from 1 to 10000", count)
			}
			all, err := allSeries("next", args)
			if err != nil {
				return err
			}
			for i, s := range all {
				if err := p.scheduleNext(s, count, asJSON, i > 0); err != nil {
					return err
				}
			}
			return nil
		},
	}
	cmd.Flags().IntVar(&count, "count", 3, "how many runs")
	cmd.Flags().BoolVar(&asJSON, "json", false, "a JSON object for each series")
	return cmd
}

func (p *program) scheduleNext(s *scheduled, count int, asJSON, blank bool) error {
	now := time.Now()
	_, plan, err := s.plan(now)
	if err != nil {
		return err
	}
	next := s.next(plan, now, count)
	if asJSON {
		return p.object(next)
	}
	if blank {
		if err := p.say(""); err != nil {
			return err
		}
	}
	if err := p.say("%s: %s", s.dir, next.words()); err != nil {
		return err
	}
	for i, at := range next.Next {
		line := "  " + next.at(at)
		if start := next.Starts[i]; !start.Equal(at) {
			line += ", starts " + start.In(next.zone).Format("15:04:05")
		}
		if err := p.say("%s", line); err != nil {
			return err
		}
	}
	return nil
}

// next returns the next runs of a series: what is due now, what waits, and what comes.
func (s *scheduled) next(plan schedule.Plan, now time.Time, count int) scheduleNext {
	first := cmp.Or(plan.Run, plan.Waiting, plan.Next)
	n := scheduleNext{Series: s.dir, planSchedule: *planTheSchedule(s.schedule, first, count), Starts: []time.Time{}}
	if !first.IsZero() {
		n.Next = slices.Insert(n.Next, 0, first.UTC().Truncate(time.Second))[:min(count, len(n.Next)+1)]
	}
	for _, at := range n.Next {
		n.Starts = append(n.Starts, s.schedule.Start(scheduler.Name(s.dir), at).UTC())
	}
	return n
}

// A scheduleList is what crawl schedule list prints about a series. The names of its fields
// are never changed.
type scheduleList struct {
	scheduleNext
	Snapshots int           `json:"snapshots"`
	Last      *listedLast   `json:"last,omitempty"`
	Missed    []listedMiss  `json:"missed,omitempty"`
	Older     []string      `json:"older_than_keep,omitempty"` // snapshots that exist, and that keep does not count
	Needed    []listedNeeds `json:"needed,omitempty"`
}

// listedLast describes the newest snapshot.
type listedLast struct {
	Dir   string    `json:"dir"`
	State string    `json:"state"` // over, going on, not over, made
	End   string    `json:"end,omitempty"`
	Time  time.Time `json:"time,omitzero"` // of its end
	Pages int       `json:"budget_pages"`  // as limits count them: each page once
	Error string    `json:"error,omitempty"`
}

// A listedMiss is a run that did not happen.
type listedMiss struct {
	Due time.Time `json:"due"`
	Why string    `json:"why"`
}

// A listedNeeds is a snapshot that is kept and refers to bodies in older ones.
type listedNeeds struct {
	Dir   string `json:"dir"`
	Error string `json:"error,omitempty"` // why that could not be read
}

func (p *program) scheduleListCommand() *cobra.Command {
	var asJSON bool
	cmd := &cobra.Command{
		Use:   "list DIR ...",
		Short: "print the last and the next runs of series",
		Long: `list prints for each series its schedule, its last snapshot and how that ended, the next
run, the runs that were missed, and which snapshots are older than the number that
keep asks for. It removes none. If a snapshot that is kept repeats bodies that are stored
in an older one, that is printed, too: without the older one they could not be read.`,
		Example: `  crawl schedule list weekly daily
  crawl schedule list --json weekly`,
		Args: cobra.ArbitraryArgs,
		RunE: func(cmd *cobra.Command, args []string) error {
			all, err := allSeries("list", args)
			if err != nil {
				return err
			}
			for i, s := range all {
				l, err := s.list(time.Now())
				if err != nil {
					return err
				}
				if asJSON {
					err = p.object(l)
				} else {
					err = p.showScheduled(l, i > 0)
				}
				if err != nil {
					return err
				}
			}
			return nil
		},
	}
	cmd.Flags().BoolVar(&asJSON, "json", false, "a JSON object for each series")
	return cmd
}

// list reads the state of a series, and changes nothing.
func (s *scheduled) list(now time.Time) (*scheduleList, error) {
	_, plan, err := s.plan(now)
	if err != nil {
		return nil, err
	}
	l := &scheduleList{scheduleNext: s.next(plan, now, 1)}
	missed, _, err := s.known.Missed()
	if err != nil {
		return nil, err
	}
	for _, m := range missed {
		l.Missed = append(l.Missed, listedMiss{m.Due, m.Why})
	}
	for _, m := range plan.Missed { // not noted yet: the scheduler does that when it looks
		l.Missed = append(l.Missed, listedMiss{m.Due.UTC(), string(m.Why)})
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

// lastOf describes a snapshot. If the series is in use its state is not read, because that
// could disturb a process that is about to open it.
func lastOf(n series.Snapshot, busy error) *listedLast {
	last := &listedLast{Dir: n.Dir, State: "not over"}
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

// older adds the snapshots that keep does not count, and which of the others need them.
func (l *scheduleList) older(old, kept []series.Snapshot) {
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
			l.Needed = append(l.Needed, listedNeeds{n.Dir, err.Error()})
		case refers:
			l.Needed = append(l.Needed, listedNeeds{Dir: n.Dir})
		}
	}
}

// showScheduled prints a series for people.
func (p *program) showScheduled(l *scheduleList, blank bool) error {
	lines := []string{l.Series}
	if blank {
		lines = []string{"", l.Series}
	}
	add := func(name, format string, args ...any) {
		lines = append(lines, fmt.Sprintf("  %-9s %s", name, fmt.Sprintf(format, args...)))
	}
	add("schedule", "%s; overlap: %s, catch-up: %s", l.words(), l.Overlap, l.CatchUp)
	if l.Last == nil {
		add("last", "no snapshot yet")
	} else {
		add("last", "%s: %s", filepath.Base(l.Last.Dir), l.Last.words())
	}
	if len(l.Next) > 0 {
		add("next", "%s", l.at(l.Next[0]))
	}
	if n := len(l.Missed); n > 0 {
		add("missed", "%s, the last one that of %s (%s)", say.Plural(n, "run"), l.at(l.Missed[n-1].Due), l.Missed[n-1].Why)
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
	for _, line := range lines {
		if err := p.say("%s", line); err != nil {
			return err
		}
	}
	return nil
}

// words describes the state of a snapshot.
func (l *listedLast) words() string {
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

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

	"github.com/permesso-crawler/permesso/cmd/crawl/internal/scheduler"
	"github.com/permesso-crawler/permesso/crawler"
	"github.com/permesso-crawler/permesso/internal/schedule"
	"github.com/permesso-crawler/permesso/internal/series"
	"github.com/spf13/cobra"
)

func (p *program) scheduleCommand() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "schedule",
		Short: "run jobs again and again, each time into a snapshot",
		Long: `schedule looks after series: a directory with a job.yaml that has a schedule, into
which each run makes a snapshot.

  run       start what falls due, until it is stopped: for many series
  list      what each series has come to, and what comes next
  next      when runs come
  install   a unit for systemd

When a run is due follows from the schedule and from what lies in the directory: there
is no other memory.`,
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
	f := usualFlags()
	f.job = filepath.Join(dir, series.JobFile)
	if _, err := os.Stat(dir); errors.Is(err, fs.ErrNotExist) {
		return nil, usage("there is no directory %s: make it, and crawl init %s writes a job file to begin with", dir, f.job)
	}
	if _, err := os.Stat(f.job); err != nil {
		return nil, usage("%s is no series: %w: crawl init %s writes one to begin with", dir, err, f.job)
	}
	j, err := readJob(f, func(string) bool { return false })
	if err == nil {
		err = j.err()
	}
	if err == nil && f.schedule == nil {
		err = usage(`%s: it has no schedule: add one, as in "schedule: {every: "0 3 * * MON", zone: Europe/Rome}"`, f.job)
	}
	return f.schedule, err
}

// allSeries are the series in some directories, each of which has a schedule.
func allSeries(name string, dirs []string) (all []*scheduled, err error) {
	if len(dirs) == 0 {
		return nil, usage("crawl schedule %s takes directories of series, each with a job.yaml in it", name)
	}
	known := map[string]string{}
	for _, dir := range dirs {
		whole, err := filepath.Abs(dir)
		if err != nil {
			return nil, err
		}
		if other := known[whole]; other != "" {
			return nil, usage("%s and %s are one directory: name it once", other, dir)
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

// plan is what there was of a series, and what comes next, at a moment.
func (s *scheduled) plan(now time.Time) (schedule.Ran, schedule.Plan, error) {
	ran, _, err := s.known.Known(false)
	return ran, s.schedule.Plan(scheduler.Name(s.dir), ran, now), err
}

// A scheduleNext is what crawl schedule next prints of a series. The names of its fields
// are never changed.
type scheduleNext struct {
	Series string `json:"series"`
	planSchedule
	Starts []time.Time `json:"starts"` // Next, each with its part of the jitter
}

func (p *program) scheduleNextCommand() *cobra.Command {
	var count int
	var asJSON bool
	cmd := &cobra.Command{
		Use:   "next DIR ...",
		Short: "say when runs come",
		Long: `next says when the next runs of each series come, by the clock of its zone and in UTC:
their nominal times, by which snapshots are named. With jitter a run starts a while
later, which is told, too.`,
		Example: `  crawl schedule next weekly
  crawl schedule next --count 12 --json weekly daily`,
		Args: cobra.ArbitraryArgs,
		RunE: func(cmd *cobra.Command, args []string) error {
			if count < 1 || count > 10000 {
				return usage("--count: %d: give a number from 1 to 10000", count)
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

// next are the next runs of a series: what is due now, what waits, and what comes.
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

// A scheduleList is what crawl schedule list prints of a series. The names of its fields
// are never changed.
type scheduleList struct {
	scheduleNext
	Snapshots int           `json:"snapshots"`
	Last      *listedLast   `json:"last,omitempty"`
	Missed    []listedMiss  `json:"missed,omitempty"`
	Older     []string      `json:"older_than_keep,omitempty"` // snapshots that keep does not ask for, and that are there
	Needed    []listedNeeds `json:"needed,omitempty"`
}

// listedLast is the newest snapshot.
type listedLast struct {
	Dir   string    `json:"dir"`
	State string    `json:"state"` // over, going on, not over, made
	End   string    `json:"end,omitempty"`
	Time  time.Time `json:"time,omitzero"` // of its end
	Pages int       `json:"budget_pages"`  // as limits count them: each once
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
	Error string `json:"error,omitempty"` // it cannot be read whether it does
}

func (p *program) scheduleListCommand() *cobra.Command {
	var asJSON bool
	cmd := &cobra.Command{
		Use:   "list DIR ...",
		Short: "say what series have come to, and what comes next",
		Long: `list says of each series its schedule, its last snapshot and how that ended, the next
run, the runs that were missed, and which snapshots are older than the number that
keep asks for. It removes none. Where a snapshot that is kept repeats bodies that stand
in an older one, that is told, too: without that one they could not be read any more.`,
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

// list reads what there is of a series, and changes nothing.
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
	for _, m := range plan.Missed { // which the scheduler notes when it looks
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

// lastOf is how far a snapshot is. Where the series is in use it is not read, which could
// be in the way of who is about to open it.
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

// older notes the snapshots that keep does not ask for, and which of the others need them.
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
		add("missed", "%s, the last one that of %s (%s)", plural(n, "run"), l.at(l.Missed[n-1].Due), l.Missed[n-1].Why)
	}
	if n := len(l.Older); n > 0 {
		add("keep", "%s older than the last %d:", plural(n, "snapshot"), l.Keep)
		for _, dir := range l.Older {
			add("", "  %s", dir)
		}
	}
	for _, n := range l.Needed {
		if n.Error != "" {
			add("", "%s cannot be read, and may need them: %s", filepath.Base(n.Dir), n.Error)
			continue
		}
		add("", "%s repeats bodies that stand in these: keep what it refers to", filepath.Base(n.Dir))
	}
	for _, line := range lines {
		if err := p.say("%s", line); err != nil {
			return err
		}
	}
	return nil
}

// words say how far a snapshot is.
func (l *listedLast) words() string {
	switch {
	case l.Error != "":
		return l.Error
	case l.State == "going on":
		return "going on now"
	case l.State == "made":
		return "its crawl has not begun: the next run goes on with it"
	}
	text, mend := l.End, ""
	switch l.End {
	case string(crawler.StateUnknown):
		text = "failed"
	case string(crawler.StateNoRoom):
		text, mend = "stopped for want of room on the disk", "make room, and "
	}
	text += ", " + plural(l.Pages, "budget page")
	if l.State == "not over" {
		text += ": " + mend + "the next run goes on with it"
	}
	return text
}

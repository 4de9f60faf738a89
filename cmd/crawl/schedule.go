package main

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"time"

	"github.com/permesso-crawler/permesso/cmd/crawl/internal/exit"
	"github.com/permesso-crawler/permesso/cmd/crawl/internal/scheduler"
	"github.com/permesso-crawler/permesso/cmd/crawl/internal/systemd"
	"github.com/permesso-crawler/permesso/cmd/crawl/internal/timetable"
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
		Args: noCommand,
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
			all, err := timetable.Open("next", args)
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

// apart returns lines. If blank is true, it puts an empty line before the first of them.
func apart(lines []string, blank bool) []string {
	if blank {
		lines = slices.Insert(lines, 0, "")
	}
	return lines
}

func (p *program) scheduleNext(s *timetable.Series, count int, asJSON, blank bool) error {
	now := time.Now()
	_, plan, err := s.Plan(now)
	if err != nil {
		return err
	}
	next := s.Next(plan, now, count)
	if asJSON {
		return p.object(next)
	}
	lines := []string{s.Dir + ": " + next.Words()}
	for i, at := range next.Next {
		line := "  " + next.At(at)
		if start := next.Starts[i]; !start.Equal(at) {
			line += ", starts " + next.Clock(start)
		}
		lines = append(lines, line)
	}
	return p.sayAll(apart(lines, blank))
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
			all, err := timetable.Open("list", args)
			if err != nil {
				return err
			}
			for i, s := range all {
				l, err := s.List(time.Now())
				if err != nil {
					return err
				}
				if asJSON {
					err = p.object(l)
				} else {
					err = p.sayAll(apart(l.Lines(), i > 0))
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

// An installing has the flags of crawl schedule install.
type installing struct {
	systemd.Unit
	user  bool
	print bool // print the unit, and write no file
}

func (p *program) scheduleInstallCommand() *cobra.Command {
	var in installing
	cmd := &cobra.Command{
		Use:   "install [flags] [-] DIR ...",
		Short: "write a unit for systemd",
		Long: `install writes a service for systemd that runs crawl schedule run for some series
whenever the machine is up: for this user, or with --system for the machine, as the
user who calls it. With - it prints what it would write.

Without systemd, have cron start the scheduler with the machine:

  @reboot crawl schedule run /srv/crawls/weekly`,
		Example: `  crawl schedule install weekly daily
  crawl schedule install --system - /srv/crawls/weekly`,
		Args: cobra.ArbitraryArgs,
		RunE: func(cmd *cobra.Command, args []string) error {
			if i := slices.Index(args, "-"); i >= 0 {
				in.print, args = true, slices.Delete(slices.Clone(args), i, i+1)
			}
			return p.scheduleInstall(in, args)
		},
	}
	cmd.Flags().BoolVar(&in.user, "user", false, "a unit of this user (the default)")
	cmd.Flags().BoolVar(&in.System, "system", false, "a unit of the machine")
	cmd.Flags().IntVar(&in.AtOnce, "at-once", 4, "runs at a time, of the service")
	return cmd
}

func (p *program) scheduleInstall(in installing, dirs []string) error {
	if in.user && in.System {
		return exit.Usagef("--user and --system name two places for the unit: take one out")
	}
	all, err := timetable.Open("install", dirs)
	if err != nil {
		return err
	}
	whole := make([]string, len(all))
	for i := range all {
		if whole[i], err = filepath.Abs(all[i].Dir); err != nil {
			return err
		}
		if strings.ContainsFunc(whole[i], func(r rune) bool { return r < ' ' || r == 0x7f }) {
			return exit.Usagef("%q: a unit cannot name a directory with control characters", whole[i])
		}
	}
	self, err := os.Executable()
	if err != nil {
		return err
	}
	text, err := in.Unit.Text(self, whole)
	if err != nil {
		return err
	}
	if in.print {
		_, err := fmt.Fprint(p.out, "# "+systemd.Name+"\n"+text)
		return err
	}
	return p.writeUnit(in, text)
}

// writeUnit writes the unit file of systemd. It fails if the file exists and was not made by
// this program.
func (p *program) writeUnit(in installing, text string) error {
	dir, err := in.Dir()
	if err != nil {
		return exit.Usagef("the directory for units: %v: - prints the unit", err)
	}
	path := filepath.Join(dir, systemd.Name)
	switch raw, err := os.ReadFile(path); {
	case errors.Is(err, fs.ErrNotExist):
	case err != nil:
		return err
	case !strings.HasPrefix(string(raw), systemd.Made):
		return exit.Usagef("%s is there, and crawl schedule install has not made it: move it away, or print the unit with -", path)
	}
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return err
	}
	if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
		return err
	}
	if err := p.say("%s", path); err != nil {
		return err
	}
	control := "systemctl --user"
	if in.System {
		control = "systemctl"
	}
	p.note("crawl: to start it: %s daemon-reload && %s enable --now %s", control, control, systemd.Name)
	if !in.System {
		p.note("crawl: to let it run while you are not logged in: loginctl enable-linger")
	}
	return nil
}

func (p *program) scheduleRunCommand() *cobra.Command {
	var atOnce int
	cmd := &cobra.Command{
		Use:   "run DIR ...",
		Short: "start what falls due, until it is stopped",
		Long: `run looks after series, and starts their runs when they fall due, each in a process
of its own (crawl run --job DIR/job.yaml --series DIR). It continues a snapshot
that did not end, restarts a run that fails, a few times, and notes runs that did
not happen in DIR/missed.jsonl. It has no other state: it may be killed at any time,
and started again.

Ctrl-C (or SIGTERM) lets the runs end after the requests under way, a second one at
once. SIGHUP reads the job files again. crawl schedule install writes a unit by which
systemd starts it with the machine.`,
		Example: `  crawl schedule run weekly
  crawl schedule run --at-once 2 weekly daily news`,
		Args: cobra.ArbitraryArgs,
		RunE: func(cmd *cobra.Command, args []string) error {
			if atOnce < 1 {
				return exit.Usagef("--at-once: %d: give how many runs there may be at a time, 1 or more", atOnce)
			}
			return p.scheduleRun(cmd.Context(), args, atOnce)
		},
	}
	cmd.Flags().IntVar(&atOnce, "at-once", 4, "runs at a time; others wait")
	return cmd
}

func (p *program) scheduleRun(ctx context.Context, dirs []string, atOnce int) error {
	signals := make(chan os.Signal, 4)
	signal.Notify(signals, os.Interrupt, syscall.SIGTERM)
	if !signal.Ignored(syscall.SIGHUP) {
		signal.Notify(signals, syscall.SIGHUP)
	}
	defer signal.Stop(signals)
	if err := p.tellSeries(dirs); err != nil {
		return err
	}
	self, err := os.Executable()
	if err != nil {
		return err
	}
	all := scheduler.New(dirs, scheduler.Options{
		AtOnce: atOnce, Now: time.Now,
		Open: func(dir string) scheduler.Series {
			return &scheduler.Dir{Series: series.Series{Dir: dir}, Job: func() (*schedule.Schedule, error) { return timetable.ScheduleOf(dir) }}
		},
		Start: func(r scheduler.Run) (scheduler.Child, error) { return p.startRun(self, r) },
		Say: func(dir, format string, args ...any) {
			text := fmt.Sprintf(format, args...)
			if dir != "" {
				text = dir + ": " + text
			}
			p.note("crawl: %s", text)
		},
	})
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	commands := make(chan scheduler.Command)
	// This goroutine turns signals into commands for the scheduler. It ends with the scheduler.
	go func() {
		for {
			select {
			case <-ctx.Done():
				return
			case s := <-signals:
				c := scheduler.Stop
				if s == syscall.SIGHUP {
					c = scheduler.Reload
				}
				select {
				case commands <- c:
				case <-ctx.Done():
					return
				}
			}
		}
	}()
	all.Run(ctx, commands)
	return nil
}

// tellSeries prints the next run of each series. If some series have an error, it prints
// these errors; it returns an error only if every series has one.
func (p *program) tellSeries(dirs []string) error {
	var first error
	right := 0
	for _, dir := range dirs {
		all, err := timetable.Open("run", []string{dir})
		if err != nil {
			first = errors.Join(first, err)
			continue
		}
		right++
		s := all[0]
		now := time.Now()
		if _, plan, err := s.Plan(now); err == nil {
			n := s.Next(plan, now, 1)
			p.note("crawl: %s: %s, next %s", dir, n.Words(), n.At(n.Next[0]))
		}
	}
	if _, err := timetable.Open("run", dirs); right == 0 || first == nil {
		return err // one such error is that a series is named twice
	}
	return nil
}

// startRun starts a process for a run. The process uses the standard output and error of
// this process, and may outlive it. The new process has a process group of its own, so
// that an interrupt of the terminal reaches only this process, which passes the interrupt
// on.
func (p *program) startRun(self string, r scheduler.Run) (scheduler.Child, error) {
	args := []string{"run", "--progress", "none", "--job", filepath.Join(r.Dir, series.JobFile), "--series", r.Dir}
	if !r.Due.IsZero() {
		args = append(args, "--due", r.Due.UTC().Format(time.RFC3339))
	}
	if r.Fresh {
		args = append(args, "--fresh")
	}
	cmd := exec.Command(self, args...)
	cmd.Stdout, cmd.Stderr = p.out, p.err
	process, err := scheduler.StartProcess(cmd)
	if err != nil {
		return nil, err
	}
	what := "continues its last snapshot"
	if !r.Due.IsZero() {
		what = "the run of " + r.Due.UTC().Format(time.RFC3339) + " begins"
	}
	p.note("crawl: %s: %s (process %d)", r.Dir, what, cmd.Process.Pid)
	return process, nil
}

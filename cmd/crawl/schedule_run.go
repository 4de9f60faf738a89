package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"syscall"
	"time"

	"github.com/permesso-crawler/permesso/cmd/crawl/internal/exit"
	"github.com/permesso-crawler/permesso/cmd/crawl/internal/scheduler"
	"github.com/permesso-crawler/permesso/internal/schedule"
	"github.com/permesso-crawler/permesso/internal/series"
	"github.com/spf13/cobra"
)

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
			return &scheduler.Dir{Series: series.Series{Dir: dir}, Job: func() (*schedule.Schedule, error) { return scheduleOf(dir) }}
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
	// Turns signals into commands. It ends with the scheduler.
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

// tellSeries prints the next run of each series. Errors of some series are printed; it
// returns an error only if all have one.
func (p *program) tellSeries(dirs []string) error {
	var first error
	right := 0
	for _, dir := range dirs {
		all, err := allSeries("run", []string{dir})
		if err != nil {
			first = errors.Join(first, err)
			continue
		}
		right++
		s := all[0]
		now := time.Now()
		if _, plan, err := s.plan(now); err == nil {
			n := s.next(plan, now, 1)
			p.note("crawl: %s: %s, next %s", dir, n.words(), n.at(n.Next[0]))
		}
	}
	if _, err := allSeries("run", dirs); right == 0 || first == nil {
		return err // also where one is named twice
	}
	return nil
}

// A child is a process that makes a snapshot.
type child struct{ cmd *exec.Cmd }

// startRun starts a process for a run. The process has the standard output and error of
// this one, and may outlive it. It has a process group of its own: an interrupt of the
// terminal reaches only this process, which passes it on.
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
	ownGroup(cmd)
	if err := cmd.Start(); err != nil {
		return nil, fmt.Errorf("the run cannot be started: %w", err)
	}
	what := "continues its last snapshot"
	if !r.Due.IsZero() {
		what = "the run of " + r.Due.UTC().Format(time.RFC3339) + " begins"
	}
	p.note("crawl: %s: %s (process %d)", r.Dir, what, cmd.Process.Pid)
	return &child{cmd}, nil
}

// Wait implements scheduler.Child.
func (c *child) Wait() int {
	err := c.cmd.Wait()
	var ended *exec.ExitError
	if err != nil && !errors.As(err, &ended) {
		return exit.Fatal
	}
	return c.cmd.ProcessState.ExitCode()
}

// Stop implements scheduler.Child. A process that has ended meanwhile is no error.
func (c *child) Stop() { stopProcess(c.cmd.Process) }

package main

import (
	"context"
	"time"

	"github.com/permesso-crawler/permesso/cmd/crawl/internal/crawldir"
	"github.com/permesso-crawler/permesso/cmd/crawl/internal/exit"
	"github.com/permesso-crawler/permesso/cmd/crawl/internal/settings"
	"github.com/permesso-crawler/permesso/crawler"
	"github.com/spf13/cobra"
)

func (p *program) checkCommand() *cobra.Command {
	f := settings.Usual()
	cmd := &cobra.Command{
		Use:   "check [flags] JOB.yaml",
		Short: "validate a job file, and show the plan",
		Long: `check reads a job file, prints all its mistakes at once, and shows the
plan: each site, what its robots.txt says about the seeds, the pause between two
requests, and how long the crawl takes at least; if it has a schedule, when the
next runs are, and by which command. It fetches only robots.txt,
and writes nothing. Its flags are those of crawl run, which win over the file.

The exit code is 3 if robots.txt does not allow a seed, or does not answer.`,
		Example: `  crawl check library.yaml
  crawl check --delay 10s --json library.yaml`,
		Args: cobra.ArbitraryArgs,
		RunE: func(cmd *cobra.Command, args []string) error {
			if len(args) != 1 {
				return exit.Usagef("check reads one job file: crawl init writes one to begin with")
			}
			if !crawldir.Exists(args[0]) {
				return exit.Usagef("there is no job file %s: crawl init %s writes one to begin with", args[0], args[0])
			}
			f.Job = args[0]
			opts, err := p.runOptions(f, cmd.Flags().Changed, nil)
			if err != nil {
				return err
			}
			return p.check(cmd.Context(), opts, f)
		},
	}
	f.Register(cmd.Flags())
	for _, of := range []string{"job", "dry-run", "fresh", "rescan", "due", "progress"} {
		cmd.Flags().Lookup(of).Hidden = true
	}
	return cmd
}

func (p *program) check(ctx context.Context, opts crawler.Options, f *settings.Flags) error {
	plan, err := planOf(ctx, opts)
	if err != nil {
		return err
	}
	if f.Schedule != nil {
		plan.Schedule = planTheSchedule(f.Schedule, time.Now(), planTimes)
		plan.Schedule.started = startedBy(f.Job, f.Series)
	}
	if f.JSON {
		err = p.object(plan)
	} else {
		err = p.showPlan(plan)
	}
	if err == nil && !plan.OK {
		err = exit.With(exit.Check, nil)
	}
	return err
}

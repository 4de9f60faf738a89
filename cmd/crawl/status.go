package main

import (
	"context"
	"errors"
	"os"
	"time"

	"github.com/permesso-crawler/permesso/cmd/crawl/internal/control"
	"github.com/permesso-crawler/permesso/cmd/crawl/internal/crawldir"
	"github.com/permesso-crawler/permesso/cmd/crawl/internal/exit"
	"github.com/permesso-crawler/permesso/cmd/crawl/internal/nodes"
	"github.com/permesso-crawler/permesso/cmd/crawl/internal/progress"
	"github.com/permesso-crawler/permesso/cmd/crawl/internal/terminal"
	"github.com/permesso-crawler/permesso/crawler"
	"github.com/permesso-crawler/permesso/internal/store"
	"github.com/spf13/cobra"
)

func (p *program) statusCommand() *cobra.Command {
	var asJSON, watch bool
	var state string
	cmd := &cobra.Command{
		Use:   "status [flags] [DIR]",
		Short: "show how far a crawl is, whether it runs or not",
		Example: `How far is it, and which sites does it wait for?
  crawl status seeds.crawl

The same every two seconds, until it ends:
  crawl status --watch seeds.crawl

All machines of a crawl whose state is in PostgreSQL:
  crawl status --state postgres://crawler@db/news`,
		Long: `status shows what a running crawl does: how fast it is, which sites it fetches from,
which it waits for and why, what was kept out. If it has ended it shows how, and what is
left. It changes nothing, and no figure is an estimate.

Of a crawl on several machines, status shows what the node of a directory does, and with
--state, or if the node does not run, the whole crawl with all its nodes.

--json prints it as one object; its fields are never renamed. --watch goes on until the
crawl has ended. Docs: docs/guide/steering.md.`,
		RunE: func(cmd *cobra.Command, args []string) error {
			if state != "" && len(args) == 0 {
				return p.wholeStatus(cmd.Context(), state, "", asJSON, watch)
			}
			dir, rest, err := oneDirectory("status", args)
			if err != nil {
				return err
			}
			if state != "" {
				return exit.Usagef("--state and %s: the status is that of all machines, or that of a directory", dir)
			}
			if err := tooMany("status", rest); err != nil {
				return err
			}
			if nodes.Is(dir) {
				if _, err := control.Status(cmd.Context(), dir); errors.Is(err, control.ErrNobody) {
					return p.wholeStatus(cmd.Context(), "", dir, asJSON, watch)
				}
			}
			if watch {
				return p.watchStatus(cmd.Context(), dir, asJSON)
			}
			s, err := status(cmd.Context(), dir)
			if err != nil {
				return err
			}
			return p.showStatus(s, asJSON)
		},
	}
	cmd.Flags().BoolVar(&asJSON, "json", false, "print it as JSON")
	stateFlag(cmd.Flags(), &state)
	cmd.Flags().BoolVar(&watch, "watch", false, "show it every two seconds, until the crawl has ended")
	return cmd
}

// status returns the status of the crawl in dir. It asks the process that runs the crawl
// or, if none exists, reads the files in dir.
func status(ctx context.Context, dir string) (crawler.Status, error) {
	s, err := control.Status(ctx, dir)
	if err == nil {
		s.Dir = dir
		return s, nil
	}
	if !errors.Is(err, control.ErrNobody) {
		return s, shut(err)
	}
	s, err = crawler.ReadStatus(dir)
	if errors.Is(err, os.ErrNotExist) {
		if crawldir.Newest(dir) != "" {
			return s, crawldir.NoCrawl(dir)
		}
		return s, exit.Usagef("%s is not the directory of a crawl: there is no %s in it", dir, store.StateFile)
	}
	return s, err
}

// A wholeLine is the status of a crawl on several machines, as JSON. It has no figures of runs.
type wholeLine struct {
	crawler.Status
	Nodes []nodes.Node `json:"nodes"`
}

// whole returns the status of the crawl on several machines whose state is in a database.
func whole(ctx context.Context, state store.State) (s wholeLine, err error) {
	if s.Nodes, err = nodes.Of(ctx, state); err != nil {
		return s, err
	}
	s.Status, err = crawler.StatusOf(state)
	return s, err
}

// wholeStatus shows the status of a crawl on several machines, with watch every two seconds until
// it has ended. The flag --state names its state or, if it is empty, the directory dir of a node.
func (p *program) wholeStatus(ctx context.Context, flag, dir string, asJSON, watch bool) error {
	state, err := nodes.Find(flag, dir)
	if err != nil {
		return err
	}
	tick := time.NewTicker(2 * time.Second)
	defer tick.Stop()
	for {
		s, err := whole(ctx, state)
		if err != nil {
			return err
		}
		if asJSON {
			err = p.object(s)
		} else {
			w := p.lines()
			progress.WholeLines(w, s.Status, s.Nodes)
			err = w.Err
		}
		if err != nil || !watch || progress.Over(s.Status) {
			return err
		}
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-tick.C:
		}
	}
}

// watchStatus shows a status every two seconds. On a terminal, each status replaces the
// one before.
func (p *program) watchStatus(ctx context.Context, dir string, asJSON bool) error {
	b := terminal.BoardFor(p.out)
	if asJSON {
		b = nil
	}
	tick := time.NewTicker(2 * time.Second)
	defer tick.Stop()
	for {
		s, err := status(ctx, dir)
		if err != nil {
			return err
		}
		switch {
		case b != nil && !progress.Over(s):
			b.Draw(progress.StatusBlock(s, b.Width(), b.Height(), b.Colours))
		default:
			if b != nil {
				b.Draw(nil)
			}
			if err := p.showStatus(s, asJSON); err != nil {
				return err
			}
		}
		if progress.Over(s) {
			return nil
		}
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-tick.C:
		}
	}
}

func (p *program) showStatus(s crawler.Status, asJSON bool) error {
	if asJSON {
		return p.object(s)
	}
	w := p.lines()
	progress.StatusLines(w, s)
	return w.Err
}

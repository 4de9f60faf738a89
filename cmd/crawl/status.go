package main

import (
	"context"
	"errors"
	"os"
	"time"

	"github.com/permesso-crawler/permesso/cmd/crawl/internal/control"
	"github.com/permesso-crawler/permesso/cmd/crawl/internal/crawldir"
	"github.com/permesso-crawler/permesso/cmd/crawl/internal/exit"
	"github.com/permesso-crawler/permesso/cmd/crawl/internal/progress"
	"github.com/permesso-crawler/permesso/cmd/crawl/internal/terminal"
	"github.com/permesso-crawler/permesso/crawler"
	"github.com/permesso-crawler/permesso/internal/store"
	"github.com/spf13/cobra"
)

func (p *program) statusCommand() *cobra.Command {
	var asJSON, watch bool
	cmd := &cobra.Command{
		Use:   "status [flags] DIR",
		Short: "show how far a crawl is, whether it runs or not",
		Example: `How far is it, and which sites does it wait for?
  crawl status seeds.crawl

The same every two seconds, until it ends:
  crawl status --watch seeds.crawl`,
		Long: `status shows what a running crawl does: how fast it is, which sites it fetches from,
which it waits for and why, what was kept out. If it has ended it shows how, and what is
left. It changes nothing, and no figure is an estimate.

--json prints it as one object; its fields are never renamed. --watch goes on until the
crawl has ended. Docs: docs/guide/steering.md.`,
		RunE: func(cmd *cobra.Command, args []string) error {
			dir, rest, err := oneDirectory("status", args)
			if err != nil {
				return err
			}
			if err := tooMany("status", rest); err != nil {
				return err
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
	cmd.Flags().BoolVar(&watch, "watch", false, "show it every two seconds, until the crawl has ended")
	return cmd
}

// status returns the status of the crawl in dir. It asks the process that runs the crawl
// or, if there is none, reads the files in dir.
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

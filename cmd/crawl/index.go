package main

import (
	"context"
	"errors"
	"io/fs"
	"path/filepath"

	"github.com/permesso-crawler/permesso/cmd/crawl/internal/crawldir"
	"github.com/permesso-crawler/permesso/cmd/crawl/internal/exit"
	"github.com/permesso-crawler/permesso/cmd/crawl/internal/say"
	"github.com/permesso-crawler/permesso/internal/store"
	"github.com/spf13/cobra"
)

func (p *program) indexCommand() *cobra.Command {
	return &cobra.Command{
		Use:   "index DIR",
		Short: "make the index of a crawl again from its WARC files",
		Long: `index reads the WARC files in the directory of a crawl and makes index.cdxj again,
with index.part, to which the next run appends. Lines about WARC files that are no longer
in the directory are copied from the existing index. What
cannot be read is named and left out, and the command exits with 3.

A run makes the index by itself when it ends. No crawl may run in the directory.`,
		Example: `  crawl index news.crawl`,
		RunE: func(cmd *cobra.Command, args []string) error {
			if len(args) != 1 {
				return exit.Usagef("crawl index takes one argument, the directory of a crawl")
			}
			if !crawldir.Exists(args[0]) {
				return crawldir.Missing(args[0])
			}
			return p.index(cmd.Context(), args[0])
		},
	}
}

func (p *program) index(ctx context.Context, dir string) error {
	damaged := 0
	var done store.Indexed
	var err error
	p.patiently(ctx, "index", dir, func(ctx context.Context) {
		done, err = store.MakeIndex(ctx, dir, func(problem error) {
			if damaged++; damaged <= say.MaxProblems {
				p.note("%v", problem)
			}
		})
	})
	switch {
	case errors.Is(err, fs.ErrNotExist) && crawldir.Newest(dir) != "":
		return crawldir.NoCrawl(dir)
	case errors.Is(err, fs.ErrNotExist) && !crawldir.Exists(filepath.Join(dir, store.ArchiveDir)):
		return exit.Usagef(`there is no archive in %s: it is not the directory of a crawl, or the crawl was run without "--output warc"`, dir)
	case err != nil:
		return interrupted(err)
	}
	for _, name := range done.Moved {
		if err := p.say("%s was moved away: its lines are those of the index before", name); err != nil {
			return err
		}
	}
	if err := p.say("%s: %s in %s", dir, say.Plural(int(done.Lines), "line"), store.IndexFile); err != nil {
		return err
	}
	if damaged > 0 {
		return exit.With(exit.Check, errors.New(say.Plural(damaged, "part")+" of the archive cannot be read and is left out: crawl verify names all that is wrong"))
	}
	return nil
}

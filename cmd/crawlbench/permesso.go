package main

import (
	"context"
	"path/filepath"
	"strconv"

	"github.com/permesso-crawler/permesso/crawler"
	"github.com/permesso-crawler/permesso/fetch"
)

func runPermessoMemory(ctx context.Context, t *task) (report, error) {
	return runPermesso(ctx, t, crawler.Options{})
}

func runPermessoDurable(ctx context.Context, t *task) (report, error) {
	return runPermesso(ctx, t, crawler.Options{Dir: filepath.Join(t.Dir, "bench.crawl"), Keep: crawler.Keep{Output: []crawler.Output{}}})
}

func runPermessoArchive(ctx context.Context, t *task) (report, error) {
	return runPermesso(ctx, t, crawler.Options{Dir: filepath.Join(t.Dir, "bench.crawl")})
}

func runPermessoSnapshot(ctx context.Context, t *task) (report, error) {
	return runPermesso(ctx, t, crawler.Options{Dir: filepath.Join(t.Dir, "bench.crawl"), Keep: crawler.Keep{TextDigest: true}})
}

// runPermessoAgain crawls after runPermessoSnapshot, whose crawl in the same directory it uses.
func runPermessoAgain(ctx context.Context, t *task) (report, error) {
	return runPermesso(ctx, t, crawler.Options{
		Dir: filepath.Join(t.Dir, "again.crawl"), Keep: crawler.Keep{Previous: filepath.Join(t.Dir, "bench.crawl"), TextDigest: true},
	})
}

func runPermessoPages(ctx context.Context, t *task) (report, error) {
	return runPermesso(ctx, t, crawler.Options{
		Dir: filepath.Join(t.Dir, "bench.crawl"), Keep: crawler.Keep{Output: []crawler.Output{crawler.OutputPages, crawler.OutputBodies}},
	})
}

// runPermesso fills in the settings of all scenarios. The others are the defaults.
func runPermesso(ctx context.Context, t *task, o crawler.Options) (report, error) {
	o.Identity = crawler.Identity{Token: "benchbot", Contact: "https://example.org/benchbot"}
	o.Seeds, o.AllowPrivate, o.RootCAs = t.Seeds, true, t.rootCAs()
	o.Concurrency, o.MaxHostPages, o.Limit = t.Concurrency, -1, t.Limit
	o.Requisites, o.Delay = t.Shown, crawler.NoDelay
	if t.Delay > 0 {
		o.Delay = t.Delay
	}
	if t.Anywhere {
		o.Scope = crawler.Anywhere()
		o.ConnectTo = []fetch.ConnectTo{{ToHost: hostAddr(0).String(), ToPort: strconv.Itoa(t.Port)}}
	}
	c, err := crawler.New(o)
	if err != nil {
		return report{}, err
	}
	err = c.Run(ctx, nil) // without a handler, as the command does
	s := c.Stats()
	return report{Seen: s.Frontier.Entries + s.Fetched, ProgramVersion: crawler.Version}, err
}

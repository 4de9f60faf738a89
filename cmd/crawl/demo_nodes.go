package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/signal"
	"path/filepath"
	"strings"
	"sync"
	"time"

	"github.com/permesso-crawler/permesso/cmd/crawl/internal/crawldir"
	"github.com/permesso-crawler/permesso/cmd/crawl/internal/exit"
	"github.com/permesso-crawler/permesso/cmd/crawl/internal/nodes"
	"github.com/permesso-crawler/permesso/cmd/crawl/internal/progress"
	"github.com/permesso-crawler/permesso/cmd/crawl/internal/say"
	"github.com/permesso-crawler/permesso/crawler"
	"github.com/permesso-crawler/permesso/internal/store"
)

// A demoNodes has the flags of crawl demo --nodes.
type demoNodes struct {
	dir, state  string
	nodes, week int
	json        bool
}

// mostDemoNodes is the most nodes of a demo: they are all in one process.
const mostDemoNodes = 16

// demoNodes crawls the fake web with several nodes, and makes one directory of theirs.
func (p *program) demoNodes(ctx context.Context, f demoNodes) (err error) {
	if f.nodes < 1 || f.nodes > mostDemoNodes {
		return exit.Usagef("--nodes: %d is out of range: 1 to %d", f.nodes, mostDemoNodes)
	}
	if f.dir == "" {
		temp, err := os.MkdirTemp("", "permesso-")
		if err != nil {
			return err
		}
		f.dir = filepath.Join(temp, "demo.crawl")
	}
	if crawldir.Exists(f.dir) {
		return exists(f.dir)
	}
	state, drop, err := nodes.ForDemo(ctx, f.state)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, drop()) }()
	port, closeWeb, err := serveDemo(false, f.week, true)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, closeWeb()) }()
	var all []*crawler.Crawler
	var dirs []string
	for i := range f.nodes {
		dir := fmt.Sprintf("%s-node%d.crawl", strings.TrimSuffix(f.dir, ".crawl"), i+1)
		if crawldir.Exists(dir) {
			return exit.Usagef("%s exists: it would be the directory of a node; give another --dir", dir)
		}
		o := demoOptions(dir, port, true)
		o.State = state
		o.Shared = crawler.NoShared // each node stands for another machine
		c, err := crawler.New(o)
		if err != nil {
			return err
		}
		all, dirs = append(all, c), append(dirs, dir)
	}
	p.note("crawl: %s into %s", say.Plural(f.nodes, "node"), strings.Join(dirs, ", "))
	if err := p.runNodes(ctx, state, all); err != nil {
		return err
	}
	if err := p.collectFrom(ctx, state, dirs, f.dir, collectFlags{json: f.json}); err != nil || f.json {
		return err
	}
	s, err := whole(ctx, state)
	if err != nil {
		return err
	}
	w := p.lines()
	if progress.WholeLines(w, s.Status, s.Nodes); w.Err != nil {
		return w.Err
	}
	return p.say("%-12s crawl report %s", "next", say.ShellQuoted(f.dir))
}

// runNodes runs all nodes to their end, and prints how far they are. The first interrupt stops them,
// the second one at once.
func (p *program) runNodes(ctx context.Context, state store.State, all []*crawler.Crawler) error {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	signals := make(chan os.Signal, 2)
	signal.Notify(signals, stopSignals()...)
	defer signal.Stop(signals)
	errs := make([]error, len(all))
	var running sync.WaitGroup
	for i, c := range all {
		// Each of these goroutines runs a node. It ends with the crawl.
		running.Go(func() { errs[i] = c.Run(ctx, nil) })
	}
	ended := make(chan struct{})
	// This goroutine waits for all nodes.
	go func() {
		running.Wait()
		close(ended)
	}()
	tick := time.NewTicker(2 * time.Second)
	defer tick.Stop()
	for stopped := false; ; {
		select {
		case <-ended:
			return errors.Join(errs...)
		case <-signals:
			if stopped {
				cancel(errForced)
			}
			for _, c := range all {
				c.Stop()
			}
			stopped = true
		case <-tick.C:
			if s, err := whole(ctx, state); err == nil { // the tables may not be there yet
				p.note("crawl: %s", demoProgress(s))
			}
		}
	}
}

func demoProgress(s wholeLine) string {
	text := fmt.Sprintf("%d of %d known URLs", s.Crawl.Done, s.Crawl.Known)
	for _, n := range s.Nodes {
		text += fmt.Sprintf("; %s: %s", n.Name, n.State)
		if n.State == nodes.Running {
			text += fmt.Sprintf(", %d of 256 partitions", n.Partitions)
		}
	}
	return text
}

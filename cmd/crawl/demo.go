package main

import (
	"context"
	"errors"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"strconv"
	"time"

	"github.com/permesso-crawler/permesso/cmd/crawl/internal/crawldir"
	"github.com/permesso-crawler/permesso/cmd/crawl/internal/demoweb"
	"github.com/permesso-crawler/permesso/cmd/crawl/internal/exit"
	"github.com/permesso-crawler/permesso/cmd/crawl/internal/say"
	"github.com/permesso-crawler/permesso/crawler"
	"github.com/permesso-crawler/permesso/fetch"
	"github.com/permesso-crawler/permesso/internal/store"
	"github.com/spf13/cobra"
)

func (p *program) demoCommand() *cobra.Command {
	var dir, state string
	var asJSON bool
	var week, machines int
	cmd := &cobra.Command{
		Use:   "demo",
		Short: "crawl a small fake web on this machine: no network needed",
		Long: `demo serves a small web of several sites on a loopback address and crawls it,
with the real program. The sites have what a crawler meets: rules, a site that
asks for a pause, one that is busy, one whose robots.txt fails, a redirect into
a forbidden path, a trap. They change from week to week: crawl diff tells how.

With --nodes the crawl has several nodes, as it would on several machines, with its
state in a PostgreSQL database. The nodes are collected into one directory at the end.`,
		Example: `  crawl demo
  crawl demo --dir demo.crawl
  crawl demo --week 1 --dir later.crawl
  crawl demo --nodes 3`,
		Args: noArgs,
		RunE: func(cmd *cobra.Command, args []string) error {
			if week < 0 {
				return exit.Usagef("--week: %d is out of range: the least value is 0", week)
			}
			if machines == 0 && state == "" {
				return p.demo(cmd.Context(), dir, week, asJSON)
			}
			return p.demoNodes(cmd.Context(), demoNodes{dir, state, machines, week, asJSON})
		},
	}
	cmd.Flags().StringVarP(&dir, "dir", "d", "", "`directory` of the crawl (default: a new one for temporary files)")
	cmd.Flags().IntVar(&week, "week", 0, "the web as it is so many weeks later")
	cmd.Flags().IntVar(&machines, "nodes", 0, "crawl with so many nodes (default: one, without a database)")
	cmd.Flags().StringVar(&state, "state", "", "with --nodes: `URL` of an empty database (default: a new one on the server that psql would take)")
	cmd.Flags().BoolVar(&asJSON, "json", false, "print the summary as JSON")
	return cmd
}

func (p *program) demo(ctx context.Context, dir string, week int, asJSON bool) error {
	again := ""
	if dir == "" {
		temp, err := os.MkdirTemp("", "permesso-")
		if err != nil {
			return err
		}
		dir = filepath.Join(temp, "demo.crawl")
		again = "crawl demo --dir " + say.ShellQuoted(dir) + " goes on"
	}
	port, closeWeb, err := serveDemo(crawldir.Exists(filepath.Join(dir, store.StateFile)), week, false)
	if err != nil {
		return err
	}
	show := p.screen("auto", asJSON)
	show.again = again
	show.every = min(show.every, 2*time.Second) // the demo is over before the usual time for the first line
	err = p.crawl(ctx, demoOptions(dir, port, false), show)
	if exit.Code(err) == exit.Later {
		err = nil // expected: one of the sites never answers
	}
	return errors.Join(err, closeWeb())
}

// serveDemo serves the fake web at a port of this machine, until closeWeb is called. begun says
// whether the crawl has begun before; apart is that of demoweb.Seeds.
func serveDemo(begun bool, week int, apart bool) (port string, closeWeb func() error, err error) {
	listen, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return "", nil, err
	}
	server := &http.Server{Handler: demoweb.Handler(begun, week, apart), ReadHeaderTimeout: 10 * time.Second}
	served := make(chan error, 1)
	// This goroutine serves the fake web. It ends when the crawl has ended.
	go func() { served <- server.Serve(listen) }()
	return strconv.Itoa(listen.Addr().(*net.TCPAddr).Port), func() error { return closeServer(server, served) }, nil
}

// demoOptions returns the options of the crawl of the fake web at a port of this machine.
func demoOptions(dir, port string, apart bool) crawler.Options {
	return crawler.Options{
		Identity: crawler.Identity{Token: "demobot", Contact: "https://example.org/demobot"},
		Seeds:    demoweb.Seeds(apart), Dir: dir, Keep: crawler.Keep{Output: []crawler.Output{crawler.OutputWARC, crawler.OutputPages, crawler.OutputBodies, crawler.OutputLinks}, TextDigest: true}, Pace: crawler.Pace{Delay: 200 * time.Millisecond}, Budget: crawler.Budget{Patience: 8 * time.Second, MaxHostPages: 25}, Follow: crawler.Follow{Depth: 12},
		Wire: crawler.Wire{ConnectTo: []fetch.ConnectTo{{ToHost: "127.0.0.1", ToPort: port}}},
	}
}

func closeServer(server *http.Server, served <-chan error) error {
	err := server.Close()
	if serr := <-served; !errors.Is(serr, http.ErrServerClosed) {
		err = errors.Join(err, serr)
	}
	return err
}

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
	var dir string
	var asJSON bool
	var week int
	cmd := &cobra.Command{
		Use:   "demo",
		Short: "crawl a small fake web on this machine: no network needed",
		Long: `demo serves a small web of several sites on a loopback address and crawls it,
with the real program. The sites have what a crawler meets: rules, a site that
asks for a pause, one that is busy, one whose robots.txt fails, a redirect into
a forbidden path, a trap. They change from week to week: crawl diff tells how.`,
		Example: `  crawl demo
  crawl demo --dir demo.crawl
  crawl demo --week 1 --dir later.crawl`,
		Args: noArgs,
		RunE: func(cmd *cobra.Command, args []string) error {
			if week < 0 {
				return exit.Usagef("--week: %d is out of range: the least value is 0", week)
			}
			return p.demo(cmd.Context(), dir, week, asJSON)
		},
	}
	cmd.Flags().StringVarP(&dir, "dir", "d", "", "`directory` of the crawl (default: a new one for temporary files)")
	cmd.Flags().IntVar(&week, "week", 0, "the web as it is so many weeks later")
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
	listen, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return err
	}
	server := &http.Server{Handler: demoweb.Handler(crawldir.Exists(filepath.Join(dir, store.StateFile)), week), ReadHeaderTimeout: 10 * time.Second}
	served := make(chan error, 1)
	// This goroutine serves the fake web. It ends when the crawl has ended.
	go func() { served <- server.Serve(listen) }()

	show := p.screen("auto", asJSON)
	show.again = again
	show.every = min(show.every, 2*time.Second) // the demo is over before the usual time for the first line
	port := strconv.Itoa(listen.Addr().(*net.TCPAddr).Port)
	err = p.crawl(ctx, crawler.Options{
		Identity: crawler.Identity{Token: "demobot", Contact: "https://example.org/demobot"},
		Seeds:    demoweb.Seeds(), Dir: dir, Keep: crawler.Keep{Output: []crawler.Output{crawler.OutputWARC, crawler.OutputPages, crawler.OutputBodies, crawler.OutputLinks}, TextDigest: true}, Pace: crawler.Pace{Delay: 200 * time.Millisecond}, Budget: crawler.Budget{Patience: 8 * time.Second, MaxHostPages: 25}, Follow: crawler.Follow{Depth: 12},
		Wire: crawler.Wire{ConnectTo: []fetch.ConnectTo{{ToHost: "127.0.0.1", ToPort: port}}},
	}, show)
	if exit.Code(err) == exit.Later {
		err = nil // expected: one of the sites never answers
	}
	return errors.Join(err, closeServer(server, served))
}

func closeServer(server *http.Server, served <-chan error) error {
	err := server.Close()
	if serr := <-served; !errors.Is(serr, http.ErrServerClosed) {
		err = errors.Join(err, serr)
	}
	return err
}

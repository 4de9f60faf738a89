package main

import (
	"context"
	"crypto/rand"
	"errors"
	"io"
	"log"
	"net"
	"net/http"
	"net/netip"
	"os"
	"os/signal"
	"path/filepath"
	"syscall"
	"time"

	"github.com/permesso-crawler/permesso/cmd/crawl/internal/crawldir"
	"github.com/permesso-crawler/permesso/cmd/crawl/internal/exit"
	"github.com/permesso-crawler/permesso/cmd/crawl/internal/nodes"
	"github.com/permesso-crawler/permesso/cmd/crawl/internal/serve"
	"github.com/permesso-crawler/permesso/cmd/crawl/internal/timetable"
	"github.com/permesso-crawler/permesso/internal/series"
	"github.com/permesso-crawler/permesso/internal/store"
	"github.com/spf13/cobra"
	"golang.org/x/net/netutil"
)

// serveFlags are the flags of crawl serve.
type serveFlags struct {
	listen, temp string
	readOnly     bool
}

func (p *program) serveCommand() *cobra.Command {
	var f serveFlags
	cmd := &cobra.Command{
		Use:   "serve [flags] DIR...",
		Short: "show crawls and series in a browser, as they happen",
		Long: `serve shows crawls and series of crawls on a page for browsers of this machine, which
follows them as they happen: pages a second, the queue, the delays that were required and
kept, what robots.txt decided, answers, errors, the slowest sites, the time that is left.
Each figure leads to its URLs, and each URL to its explanation. A crawl that has ended is
shown with its report, a series with its snapshots.

It prints an address with a token. With the token the page can pause, resume and slow
down a running crawl, and exclude sites. Every user of this machine can look at the
page; only the token can change a crawl.

It listens on loopback addresses alone. Ctrl-C ends it; crawls do not depend on it.
Docs: docs/guide/browser.md.`,
		Example: `  crawl serve news.crawl
  crawl serve --listen 8080 weekly news.crawl
  crawl serve --read-only *.crawl`,
		RunE: func(cmd *cobra.Command, args []string) error { return p.serve(cmd.Context(), &f, args) },
	}
	flags := cmd.Flags()
	flags.StringVar(&f.listen, "listen", "127.0.0.1:9465", "loopback `address` or port; port 0 takes any free one")
	flags.BoolVar(&f.readOnly, "read-only", false, "show only: the page cannot change a crawl, and there is no token")
	flags.StringVar(&f.temp, "temp", "", "directory for temporary files of reports (default: the system's)")
	return cmd
}

// mostConnections is the maximum number of connections of crawl serve. Further clients wait to
// be accepted.
const mostConnections = 2048

// longestShutdown is how long the server waits for its answers when it ends. The streams end sooner.
// If they were broken off, browsers would report an error.
const longestShutdown = time.Second

func (p *program) serve(ctx context.Context, f *serveFlags, dirs []string) error {
	o, err := servedDirs(dirs)
	if err != nil {
		return err
	}
	o.Temp, o.Ask, o.Due = f.temp, p.askFor, due
	fragment := ""
	if !f.readOnly {
		o.Token = rand.Text()
		fragment = "#token=" + o.Token
	}
	l, err := listenLoopback(f.listen)
	if err != nil {
		return err
	}
	signals := make(chan os.Signal, 1)
	signal.Notify(signals, os.Interrupt, syscall.SIGTERM)
	defer signal.Stop(signals)
	s := serve.New(o)
	defer s.Close()
	server := &http.Server{
		Handler: s, ErrorLog: log.New(io.Discard, "", 0), MaxHeaderBytes: 16 << 10,
		ReadHeaderTimeout: 5 * time.Second, ReadTimeout: 10 * time.Second, WriteTimeout: time.Minute, IdleTimeout: time.Minute,
		// A slow reader takes little memory of the kernel.
		ConnContext: func(ctx context.Context, c net.Conn) context.Context {
			if tcp, ok := c.(interface{ SetWriteBuffer(int) error }); ok {
				_ = tcp.SetWriteBuffer(64 << 10)
			}
			return ctx
		},
	}
	ended := make(chan error, 1)
	// This goroutine is the server. It ends with server.Close.
	go func() { ended <- server.Serve(netutil.LimitListener(l, mostConnections)) }()
	if err := p.say("http://%s/%s", l.Addr(), fragment); err != nil {
		return errors.Join(err, closeServer(server, ended))
	}
	select {
	case err := <-ended:
		return err
	case <-signals:
	case <-ctx.Done():
	}
	s.Close()
	wait, cancel := context.WithTimeout(context.Background(), longestShutdown)
	defer cancel()
	_ = server.Shutdown(wait) // ignore the error, because closeServer breaks off the answers that are left
	return closeServer(server, ended)
}

// servedDirs returns the crawls and the series among directories.
func servedDirs(dirs []string) (o serve.Options, err error) {
	if len(dirs) == 0 {
		return o, exit.Usagef("crawl serve needs directories of crawls or of series")
	}
	known := map[string]string{}
	for _, dir := range dirs {
		whole, err := filepath.Abs(dir)
		if err != nil {
			return o, err
		}
		if other, ok := known[whole]; ok {
			return o, exit.Usagef("%s and %s are one directory: name it once", other, dir)
		}
		known[whole] = dir
		switch {
		case !crawldir.Exists(dir):
			return o, crawldir.Missing(dir)
		case crawldir.Exists(filepath.Join(dir, store.StateFile)), nodes.Is(dir):
			o.Crawls = append(o.Crawls, dir)
		case crawldir.Newest(dir) != "" || crawldir.Exists(filepath.Join(dir, series.JobFile)):
			o.Series = append(o.Series, dir)
		default:
			return o, exit.Usagef("%s is neither a crawl nor a series: there is no %s and no snapshot in it", dir, store.StateFile)
		}
	}
	return o, nil
}

// listenLoopback listens on a loopback address. An address without a host means 127.0.0.1.
func listenLoopback(address string) (net.Listener, error) {
	host, port, err := net.SplitHostPort(address)
	if err != nil {
		host, port = "", address
	}
	if host == "" || host == "localhost" {
		host = "127.0.0.1"
	}
	if addr, err := netip.ParseAddr(host); err != nil || !addr.IsLoopback() {
		return nil, exit.Usagef("--listen %s: crawl serve listens on loopback addresses alone, such as 127.0.0.1:9465; from another machine, forward a port: ssh -L 9465:127.0.0.1:9465 HOST", address)
	}
	l, err := net.Listen("tcp", net.JoinHostPort(host, port))
	if err != nil {
		return nil, exit.Usagef("--listen %s: %v: give another port, or 0 for any free one", address, err)
	}
	return l, nil
}

// askFor answers a query of a page.
func (p *program) askFor(ctx context.Context, dir string, q serve.Query, out io.Writer) error {
	of := &program{in: p.in, out: out, err: io.Discard, exit: p.exit, network: p.network}
	if q.URL != "" {
		f := explainFlags{dir: dir}
		if _, err := f.arguments([]string{q.URL}); err != nil {
			return err
		}
		return of.lookAt(ctx, &f.explainQuery, dir)
	}
	list := &listQuery{Fates: q.Fates, JSON: true}
	if q.Site != "" {
		list.Sites = []string{q.Site}
	}
	if err := list.check(); err != nil {
		return err
	}
	return of.lookAt(ctx, list, dir)
}

// due returns the next runs of a series with a schedule, and runs that were missed and are not
// recorded yet.
func due(dir string, now time.Time) (next, missed []time.Time, err error) {
	if !crawldir.Exists(filepath.Join(dir, series.JobFile)) {
		return nil, nil, nil // crawl run --series has made it
	}
	all, err := timetable.Open("next", []string{dir})
	if err != nil {
		return nil, nil, err
	}
	_, plan, err := all[0].Plan(now)
	if err != nil {
		return nil, nil, err
	}
	for _, m := range plan.Missed {
		missed = append(missed, m.Due)
	}
	return all[0].Next(plan, now, 3).Next, missed, nil
}

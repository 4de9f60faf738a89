package main

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"time"

	"github.com/permesso-crawler/permesso/cmd/crawl/internal/control"
	"github.com/permesso-crawler/permesso/cmd/crawl/internal/crawldir"
	"github.com/permesso-crawler/permesso/cmd/crawl/internal/exit"
	"github.com/permesso-crawler/permesso/cmd/crawl/internal/nodes"
	"github.com/permesso-crawler/permesso/cmd/crawl/internal/optout"
	"github.com/permesso-crawler/permesso/cmd/crawl/internal/terminal"
	"github.com/permesso-crawler/permesso/crawler"
	"github.com/permesso-crawler/permesso/internal/account"
	"github.com/permesso-crawler/permesso/internal/store"
)

// servers are the servers of a running crawl: the control socket, through which other processes
// look at the crawl and steer it, and the TCP address for metrics.
type servers struct {
	p       *program
	control bool         // whether to open the socket in the crawl's directory
	figures net.Listener // for metrics; nil if the user has named no address
	open    []*control.Server
}

// listen listens on the address for metrics. It is called before any file of a crawl is
// made, so that a run does not begin without the metrics that its user wants. If address
// is empty, listen returns nil.
func listen(address string) (net.Listener, error) {
	if address == "" {
		return nil, nil
	}
	l, err := control.Listen(address)
	if err != nil {
		return nil, exit.Usagef("--metrics %s: %v: give another address, such as 127.0.0.1:9464", address, err)
	}
	return l, nil
}

// metrics serves the metrics, if the user has named an address for them.
func (s *servers) metrics(c *crawler.Crawler) {
	if s.figures == nil {
		return
	}
	one := control.ServeAt(s.figures, control.Metrics(c.Status))
	s.open = append(s.open, one)
	s.p.note("crawl: figures at http://%s/metrics", one.Where())
}

// socket opens the control socket, if the user wants it. This process must have locked
// the directory before. If the socket cannot be opened, the crawl runs without it.
func (s *servers) socket(c *crawler.Crawler, dir string) {
	if !s.control {
		return
	}
	handler := control.Handler(c)
	control.Queries(handler, s.p.answers(c))
	one, err := control.Open(dir, handler)
	if err != nil {
		s.p.note("crawl: crawl status, and the commands that steer a crawl, cannot reach this run: %v", err)
		return
	}
	s.open = append(s.open, one)
}

// close closes the servers.
func (s *servers) close() {
	for _, one := range s.open {
		if err := one.Close(); err != nil {
			s.p.note("crawl: %s was not closed: %v", one.Where(), err)
		}
	}
	s.open = nil
}

// shut adds the exit code to an error of package control.
func shut(err error) error {
	var closed *control.ShutError
	var refused *control.RefusedError
	switch {
	case errors.As(err, &closed):
		return exit.With(exit.InUse, err)
	case errors.As(err, &refused):
		return exit.With(exit.Usage, err)
	}
	return err
}

// oneDirectory splits the arguments of a command: the first one is the directory of a crawl,
// and rest has the others.
func oneDirectory(command string, args []string) (dir string, rest []string, err error) {
	if len(args) == 0 {
		return "", nil, exit.Usagef("crawl %s needs the directory of a crawl", command)
	}
	if !crawldir.Exists(args[0]) {
		return "", nil, crawldir.Missing(args[0])
	}
	return args[0], args[1:], nil
}

func tooMany(command string, rest []string) error {
	if len(rest) == 0 {
		return nil
	}
	return exit.Usagef("crawl %s takes no more arguments, got %s", command, fmt.Sprintf("%q", rest))
}

// A query prints something about the URLs of a crawl. While a process runs the crawl, the query
// runs in that process. Otherwise the process of the command reads the directory of the crawl.
type query interface {
	name() string
	// print prints the answer, which it reads from the account a. live is true if the crawl is
	// running.
	print(p *program, a *account.Account, live bool) error
}

// queries returns the queries that a running crawl answers, by name.
func queries() map[string]query {
	all := map[string]query{}
	for _, q := range []query{&explainQuery{}, &listQuery{}} {
		all[q.name()] = q
	}
	return all
}

// A queryAsk is what another process sends to a running crawl to have a query answered.
type queryAsk struct {
	Columns int             // width of the terminal that shows the answer; 0 if there is no terminal
	Colours bool            // whether that terminal shows colours
	Query   json.RawMessage // the query
}

// look prints the answer to a query of the crawl in dir, or of the crawl on several machines that
// the flag --state names. If that takes long, it prints what it reads.
func (p *program) look(q query, state, dir string) error {
	of := *p
	of.columns, of.colours = p.width(), terminal.Colours(p.out)
	return p.whileQuiet(reading(q.name(), cmp.Or(dir, state), nil), func(to io.Writer) error {
		of.out = to
		if state == "" && !nodes.Is(dir) {
			return of.lookAt(context.Background(), q, dir)
		}
		r, _, err := crawldir.OpenWhole(state, dir)
		if err != nil {
			return err
		}
		return errors.Join(of.lookInto(context.Background(), q, r, dir), r.Close())
	})
}

// lookAt is like look, and prints nothing else. It stops when ctx ends.
func (p *program) lookAt(ctx context.Context, q query, dir string) error {
	r, _, err := crawldir.Open(dir)
	var inUse *store.InUseError
	for try := 0; errors.As(err, &inUse) && try < 3; try++ {
		text, jerr := json.Marshal(q)
		if jerr != nil {
			return jerr
		}
		printErr := control.Print(ctx, dir, q.name(), queryAsk{p.columns, p.colours, text}, p.out, p.err)
		var shut *control.ShutError
		switch {
		case errors.As(printErr, &shut):
			return err // a program other than crawl run runs the crawl, or the process hangs
		case !errors.Is(printErr, control.ErrNobody):
			return p.looked(dir, printErr)
		}
		r, _, err = crawldir.Open(dir) // the run has just ended
	}
	if err != nil {
		return err
	}
	return errors.Join(p.lookInto(ctx, q, r, dir), r.Close())
}

// lookInto prints the answer to a query of a crawl that no process runs.
func (p *program) lookInto(ctx context.Context, q query, r *store.Reader, dir string) error {
	a, err := account.New(&r.Records, time.Now())
	if err != nil {
		return err
	}
	if a.OptOut, err = optout.Why(); err != nil {
		return err
	}
	a.Quit, a.Over = ctx.Err, dir != "" && crawldir.Over(dir)
	return q.print(p, a, false)
}

// looked returns the error of the command whose query was sent to a running crawl. err is what
// control.Print returned.
func (p *program) looked(dir string, err error) error {
	var ended *control.QueryError
	switch {
	case errors.As(err, &ended) && ended.Reason == "":
		return exit.With(ended.Code, nil)
	case errors.As(err, &ended):
		return exit.With(ended.Code, ended)
	case errors.Is(err, control.ErrCut):
		return exit.With(exit.InUse, errors.New("the run in "+dir+" has ended meanwhile, and the output above is not complete: run the same command again"))
	}
	return shut(err)
}

// answers returns the queries that other processes may send to the running crawl c, by name.
func (p *program) answers(c *crawler.Crawler) map[string]control.Query {
	all := map[string]control.Query{}
	for name := range queries() {
		all[name] = func(raw json.RawMessage, out, errs io.Writer, quit func() error) (code int, err error) {
			ask, q := queryAsk{}, queries()[name]
			if err := json.Unmarshal(raw, &ask); err != nil {
				return exit.Usage, err
			}
			if err := json.Unmarshal(ask.Query, q); err != nil {
				return exit.Usage, err
			}
			records, err := c.Records()
			if err != nil {
				return exit.Code(err), err
			}
			a, err := account.New(records, time.Now())
			if err == nil {
				a.Quit = quit
				a.OptOut, err = optout.Why()
			}
			if err == nil {
				err = q.print(&program{out: out, err: errs, columns: ask.Columns, colours: ask.Colours}, a, true)
			}
			return exit.Code(err), err
		}
	}
	return all
}

// width returns the columns of the terminal that shows the output, or 0 if it is not a
// terminal.
func (p *program) width() int {
	if p.columns > 0 {
		return p.columns
	}
	return terminal.Width(p.out)
}

package main

import (
	"context"
	"encoding/json"
	"errors"
	"io"
	"time"

	"github.com/permesso-crawler/permesso/cmd/crawl/internal/door"
	"github.com/permesso-crawler/permesso/crawler"
	"github.com/permesso-crawler/permesso/storage"
)

// A query is what a command prints of the URLs of a crawl: in its own process by the
// directory, or, while another process runs the crawl, in that one.
type query interface {
	name() string
	// print prints it. The account is of a crawl that runs if live is true.
	print(p *program, a *crawler.Account, live bool) error
}

// queries are those that a running crawl prints for others, by their names.
func queries() map[string]query {
	all := map[string]query{}
	for _, q := range []query{&explainQuery{}, &listQuery{}} {
		all[q.name()] = q
	}
	return all
}

// A queryAsk is what a running crawl is asked for.
type queryAsk struct {
	Columns int             // of the terminal that shows it; 0: no terminal
	Query   json.RawMessage // a query
}

// look prints a query of the crawl in dir. Who sees nothing come is told what is read.
func (p *program) look(q query, dir string) error {
	of := *p
	of.columns = p.width()
	return p.whileQuiet(reading(q.name(), dir), func(to io.Writer) error {
		of.out = to
		return of.lookAt(q, dir)
	})
}

func (p *program) lookAt(q query, dir string) error {
	r, _, err := openReader(dir)
	var inUse *storage.InUseError
	for try := 0; errors.As(err, &inUse) && try < 3; try++ {
		text, jerr := json.Marshal(q)
		if jerr != nil {
			return jerr
		}
		told := door.Print(context.Background(), dir, q.name(), queryAsk{p.columns, text}, p.out, p.err)
		var shut *door.ShutError
		switch {
		case errors.As(told, &shut):
			return err // a program of its own runs it, or it hangs
		case !errors.Is(told, door.ErrNobody):
			return p.looked(dir, told)
		}
		r, _, err = openReader(dir) // the run has ended meanwhile
	}
	if err != nil {
		return err
	}
	return errors.Join(p.lookInto(q, r, dir), r.Close())
}

// lookInto prints a query of a crawl that no process runs.
func (p *program) lookInto(q query, r *storage.Reader, dir string) error {
	a, err := crawler.NewAccount(r, dir, time.Now())
	if err != nil {
		return err
	}
	if a.OptOut, err = optOut(); err != nil {
		return err
	}
	return q.print(p, a, false)
}

// looked is how a query has ended that a running crawl has printed.
func (p *program) looked(dir string, err error) error {
	var ended *door.QueryError
	switch {
	case errors.As(err, &ended) && ended.Reason == "":
		return &exit{ended.Code, nil}
	case errors.As(err, &ended):
		return &exit{ended.Code, ended}
	case errors.Is(err, door.ErrCut):
		return &exit{exitInUse, errors.New("the run in " + dir + " has ended meanwhile, and what is said above is not all: the same command says all of it")}
	}
	return shut(err)
}

// answers prints what other processes ask of a crawl that runs.
func (p *program) answers(c *crawler.Crawler) map[string]door.Query {
	all := map[string]door.Query{}
	for name := range queries() {
		all[name] = func(raw json.RawMessage, out, errs io.Writer, quit func() error) (code int, err error) {
			ask, q := queryAsk{}, queries()[name]
			if err := json.Unmarshal(raw, &ask); err != nil {
				return exitUsage, err
			}
			if err := json.Unmarshal(ask.Query, q); err != nil {
				return exitUsage, err
			}
			a, err := c.Account()
			if err == nil {
				a.Quit = quit
				a.OptOut, err = optOut()
			}
			if err == nil {
				err = q.print(&program{out: out, err: errs, columns: ask.Columns}, a, true)
			}
			return exitCode(err), err
		}
	}
	return all
}

// width is how many columns the terminal has that what is asked for is shown on; 0 if it is
// none.
func (p *program) width() int {
	if p.columns > 0 {
		return p.columns
	}
	return terminalWidth(p.out)
}

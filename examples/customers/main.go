// Command customers runs a crawl for each customer, as programs request over HTTP.
//
//	go run ./examples/customers DIRECTORY &
//	curl -X PUT -d '{"seeds": ["https://example.org/"], "pages": 100}' localhost:8121/customers/smith
//	curl localhost:8121/customers
//	curl -X DELETE localhost:8121/customers/smith
//
// PUT starts a crawl, or continues it with other limits. DELETE stops it. Each crawl has a
// directory and limits of its own. All crawls have the same identity and share the clocks of the
// process: a site that several customers crawl gets its requests at the pace of one crawl.
//
// The service has no passwords, so it listens on localhost only. An interrupt cancels the
// requests under way. After an interrupt or a kill the same command continues all crawls, except
// those that were stopped by DELETE.
package main

import (
	"context"
	"errors"
	"log"
	"log/slog"
	"net"
	"net/http"
	"os"
	"os/signal"
	"path/filepath"
	"regexp"
	"sync"
	"syscall"
	"time"

	"github.com/permesso-crawler/permesso/crawler"
)

func main() {
	if len(os.Args) != 2 {
		log.Fatal("usage: customers DIRECTORY")
	}
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	l, err := net.Listen("tcp", "localhost:8121")
	if err == nil {
		err = serve(ctx, l, os.Args[1], crawler.Options{
			Identity: crawler.Identity{Token: "customerbot", Contact: "https://example.org/customerbot"},
			Pace:     crawler.Pace{Concurrency: 8}, // for each customer
		})
	}
	if err != nil {
		log.Fatal(err)
	}
}

// serve continues the crawls below dir, and answers requests, until ctx ends.
func serve(ctx context.Context, l net.Listener, dir string, opts crawler.Options) error {
	defer context.AfterFunc(ctx, func() { l.Close() })()
	ctx, cancel := context.WithCancel(ctx)
	s := service{ctx: ctx, dir: dir, opts: opts, running: map[string]*crawler.Crawler{}}
	server := &http.Server{Handler: s.handler(), ReadTimeout: 10 * time.Second}
	err := s.resume()
	if err == nil {
		err = server.Serve(l)
	}
	if ctx.Err() != nil {
		err = nil // the listener was closed because the service ends
	}
	err = errors.Join(err, server.Shutdown(context.Background())) // from now on no crawl is started
	cancel()
	s.runs.Wait()
	return err
}

// A service has the crawls of all customers.
type service struct {
	ctx  context.Context // when it ends, all crawls end
	dir  string
	opts crawler.Options // common to all crawls
	runs sync.WaitGroup

	mu      sync.Mutex                  // guards running and the files of the orders
	running map[string]*crawler.Crawler // by the name of the customer
}

// An order is what a customer wants. It is stored in the customer's directory.
type order struct {
	Seeds   []string `json:"seeds"`
	Pages   int      `json:"pages"`         // maximum number of pages; 0: no limit
	Delay   uint16   `json:"delay_seconds"` // least pause of a site; 0: the default. Each site may require a longer pause
	Stopped bool     `json:"stopped"`
}

var (
	names      = regexp.MustCompile(`^[a-z0-9-]{1,40}$`)
	errName    = errors.New("a name of a customer has 1 to 40 lower-case letters, digits and hyphens")
	errSeeds   = errors.New("give at least one seed")
	errRunning = errors.New("the crawl runs: stop it first")
)

// resume continues the crawls that were not stopped. Those that were complete end at once,
// without a request. A crawl that cannot be continued does not affect the others.
func (s *service) resume() error {
	all, err := s.customers()
	for _, name := range all {
		o, err := s.load(name)
		if err == nil && !o.Stopped {
			err = s.start(name, o)
		}
		if err != nil {
			slog.Error("the crawl is not continued", "customer", name, "error", err)
		}
	}
	return err
}

// start stores the order and runs the crawl of a customer.
func (s *service) start(name string, o order) error {
	opts := s.opts
	opts.Dir, opts.Seeds, opts.Limit, opts.Delay = filepath.Join(s.dir, name, "crawl"), o.Seeds, o.Pages, time.Duration(o.Delay)*time.Second
	opts.Logger = slog.With("customer", name)
	c, err := crawler.New(opts)
	switch {
	case err != nil:
		return err
	case !names.MatchString(name):
		return errName
	case len(o.Seeds) == 0:
		return errSeeds
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.running[name] != nil {
		return errRunning
	}
	if err := s.save(name, o); err != nil {
		return err
	}
	s.running[name] = c
	// This goroutine runs the crawl. It ends with the crawl, before serve returns.
	s.runs.Go(func() {
		if err := c.Run(s.ctx, nil); err != nil && s.ctx.Err() == nil {
			opts.Logger.Error("the crawl failed", "error", err)
		}
		s.mu.Lock()
		defer s.mu.Unlock()
		delete(s.running, name)
	})
	return nil
}

// stop stops the crawl of a customer, if it runs. resume does not continue it.
func (s *service) stop(name string) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	o, err := s.load(name)
	if err != nil {
		return err
	}
	o.Stopped = true
	if err := s.save(name, o); err != nil {
		return err
	}
	if c := s.running[name]; c != nil {
		c.Stop()
	}
	return nil
}

// A report is the status of a crawl, or an error if it cannot be read.
type report struct {
	crawler.Status
	Error string `json:"error,omitempty"`
}

// reports returns the reports of all customers, by name.
func (s *service) reports() (map[string]report, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	names, err := s.customers()
	if err != nil {
		return nil, err
	}
	all := map[string]report{}
	for _, name := range names {
		var r report
		if c := s.running[name]; c != nil {
			r.Status = c.Status()
		} else if r.Status, err = crawler.ReadStatus(filepath.Join(s.dir, name, "crawl")); err != nil {
			r.Error = err.Error()
		}
		all[name] = r
	}
	return all, nil
}

package main

import (
	"errors"
	"fmt"
	"net"

	"github.com/permesso-crawler/permesso/cmd/crawl/internal/crawldir"
	"github.com/permesso-crawler/permesso/cmd/crawl/internal/door"
	"github.com/permesso-crawler/permesso/cmd/crawl/internal/exit"
	"github.com/permesso-crawler/permesso/crawler"
)

// doors are the control socket and the address of metrics of a running crawl.
type doors struct {
	p       *program
	control bool         // whether to open the socket in the crawl's directory
	figures net.Listener // for metrics; nil if there are none
	open    []*door.Door
}

// listen listens on the address for metrics, before anything of a crawl is made, so that a
// run does not begin without the metrics that its user wants. It returns nil if address is
// empty.
func listen(address string) (net.Listener, error) {
	if address == "" {
		return nil, nil
	}
	l, err := door.Listen(address)
	if err != nil {
		return nil, exit.Usagef("--metrics %s: %v: give another address, as 127.0.0.1:9464", address, err)
	}
	return l, nil
}

// show serves metrics.
func (d *doors) show(c *crawler.Crawler) {
	if d.figures == nil {
		return
	}
	one := door.ServeAt(d.figures, door.Looks(c.Status))
	d.open = append(d.open, one)
	d.p.note("crawl: figures at http://%s/metrics", one.Where())
}

// let opens the socket, after this process has locked the directory. If it fails, the crawl
// runs without it.
func (d *doors) let(c *crawler.Crawler, dir string) {
	if !d.control {
		return
	}
	rooms := door.Rooms(c)
	door.Queries(rooms, d.p.answers(c))
	one, err := door.Open(dir, rooms)
	if err != nil {
		d.p.note("crawl: crawl status, and the commands that steer a crawl, cannot reach this run: %v", err)
		return
	}
	d.open = append(d.open, one)
}

// close closes all of them.
func (d *doors) close() {
	for _, one := range d.open {
		if err := one.Close(); err != nil {
			d.p.note("crawl: %s is left behind: %v", one.Where(), err)
		}
	}
	d.open = nil
}

// shut adds the exit code to an error of package door.
func shut(err error) error {
	var closed *door.ShutError
	var refused *door.RefusedError
	switch {
	case errors.As(err, &closed):
		return exit.With(exit.InUse, err)
	case errors.As(err, &refused):
		return exit.With(exit.Usage, err)
	}
	return err
}

// oneDirectory returns the directory of a crawl, the first argument of a command, and the
// rest.
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

package main

import (
	"errors"
	"fmt"

	"github.com/permesso-crawler/permesso/cmd/crawl/internal/door"
	"github.com/permesso-crawler/permesso/crawler"
)

// doors are the ways in to a crawl that runs.
type doors struct {
	p       *program
	control bool   // a socket in the crawl's directory is wanted
	figures string // the address for metrics; empty: none
	open    []*door.Door
}

// show opens the address for figures: without it, who asked for them would watch nothing.
func (d *doors) show(c *crawler.Crawler) error {
	if d.figures == "" {
		return nil
	}
	one, err := door.OpenAt(d.figures, door.Looks(c.Status))
	if err != nil {
		return usage("--metrics %s: %v: give another address, as 127.0.0.1:9464", d.figures, err)
	}
	d.open = append(d.open, one)
	d.p.note("crawl: figures at http://%s/metrics", one.Where())
	return nil
}

// let opens the socket, once the directory is this process's. A crawl goes on without.
func (d *doors) let(c *crawler.Crawler, dir string) {
	if !d.control {
		return
	}
	rooms := door.Rooms(c)
	door.Queries(rooms, d.p.answers(c))
	one, err := door.Open(dir, rooms)
	if err != nil {
		d.p.note("crawl: crawl status, and what steers a crawl, cannot reach this run: %v", err)
		return
	}
	d.open = append(d.open, one)
}

// close closes them all.
func (d *doors) close() {
	for _, one := range d.open {
		if err := one.Close(); err != nil {
			d.p.note("crawl: %s is left behind: %v", one.Where(), err)
		}
	}
	d.open = nil
}

// shut names the exit code of what came back from a door.
func shut(err error) error {
	var closed *door.ShutError
	var refused *door.RefusedError
	switch {
	case errors.As(err, &closed):
		return &exit{exitInUse, err}
	case errors.As(err, &refused):
		return &exit{exitUsage, err}
	}
	return err
}

// oneDirectory is the directory of a crawl that a command is given first.
func oneDirectory(command string, args []string) (dir string, rest []string, err error) {
	if len(args) == 0 {
		return "", nil, usage("crawl %s wants the directory of a crawl", command)
	}
	if !exists(args[0]) {
		return "", nil, noDirectory(args[0])
	}
	return args[0], args[1:], nil
}

func tooMany(command string, rest []string) error {
	if len(rest) == 0 {
		return nil
	}
	return usage("crawl %s takes no more arguments, got %s", command, fmt.Sprintf("%q", rest))
}

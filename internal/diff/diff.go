package diff

import (
	"context"
	"errors"

	"github.com/permesso-crawler/permesso/frontier"
	"github.com/permesso-crawler/permesso/storage/crawllog"
)

// DefaultMost is how many rows of each list a Result has.
const DefaultMost = 25

// Options say how two crawls are compared. The zero value is valid.
type Options struct {
	Temp string // directory for temporary files, some 500 bytes for each URL of either crawl; "" is the system's
	Most int    // rows of each list in the Result; 0 is DefaultMost, a negative number none

	// NoText takes two pages for different whose bytes differ, but where pages.jsonl says
	// what their texts are. Otherwise those two bodies are read, where both are archived.
	NoText bool

	// Site says which sites are compared; nil: all.
	Site func(frontier.Site) bool

	// Change and Effect are called with each, in the order of SURT; Begin before that, with
	// what is known by then: the two crawls, and their settings. Their first error ends it
	// all, and is returned.
	Begin  func(*Result) error
	Change func(*Change) error
	Effect func(*Effect) error

	order func(temp string) order // in tests; nil: crawllog.NewOrder
}

// An order is a crawllog.Order.
type order interface {
	Add(key, line []byte) error
	Each(f func(key, line []byte) error) error
	Close() error
}

// Compare tells what has changed between the crawl in the directory was and the later one
// in is, neither of which it changes. As long as it reads, neither can be opened to go on.
// It ends with ctx. The error is a *storage.InUseError where one of them runs, a
// *storage.DamagedError, a *storage.VersionError, a *storage.PurgeError, one that wraps storage.ErrNoCrawl, that
// of a function in the options, or one of the file system.
func Compare(ctx context.Context, was, is string, o Options) (r *Result, err error) {
	if o.Most == 0 {
		o.Most = DefaultMost
	}
	if o.Site == nil {
		o.Site = func(frontier.Site) bool { return true }
	}
	if o.order == nil {
		o.order = func(temp string) order { return crawllog.NewOrder(temp) }
	}
	c := &comparison{Options: o, ctx: ctx, sites: map[frontier.Site]*Counts{}, rules: map[frontier.Site]*Robots{}}
	c.Result = &Result{Format: Format, First: map[Kind][]Change{}, Sites: []Site{}, Robots: []Robots{}}
	if c.was, err = openSnapshot(was); err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, c.was.close()) }()
	if c.is, err = openSnapshot(is); err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, c.is.close()) }()
	for _, step := range []func() error{c.settings, c.eachRobots, c.merge} {
		if err := step(); err != nil {
			return nil, err
		}
	}
	return c.Result, nil
}

// A comparison is of two crawls. It belongs to one goroutine.
type comparison struct {
	*Result
	Options
	ctx     context.Context
	was, is *snapshot

	sites  map[frontier.Site]*Counts
	rules  map[frontier.Site]*Robots // of the sites whose robots.txt is another one
	groups groupCache
}

func (c *comparison) seed(sign, url string, n *int64) {
	if *n++; len(c.Seeds.First) < mostSeeds {
		c.Seeds.First = append(c.Seeds.First, sign+url)
	}
}

// mostSeeds is how many seeds are told by name.
const mostSeeds = 10

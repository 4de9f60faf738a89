package diff

import (
	"context"
	"errors"

	"github.com/permesso-crawler/permesso/frontier"
	"github.com/permesso-crawler/permesso/internal/crawllog"
)

// DefaultMost is the default number of rows of each list in a Result.
const DefaultMost = 25

// Options are the settings of a comparison. The zero value is valid.
type Options struct {
	Temp string // directory for temporary files, which take about 500 bytes for each URL of either crawl; "": the system's directory
	Most int    // number of rows of each list in the Result; 0: DefaultMost; negative: no rows

	// NoText says that archived bodies are not read. Pages with different bytes then count as
	// different, unless pages.jsonl says that their texts are equal. Without NoText both bodies
	// are read, if they are archived.
	NoText bool

	// Site reports whether a site is compared. If it is nil, all sites are.
	Site func(frontier.Site) bool

	// Change and Effect are called for each change and each effect, in the order of SURT
	// (Sort-friendly URI Reordering Transform, which sorts URLs by domain first). Begin is
	// called once before them, with the two crawls and their settings. If one of these
	// functions returns an error, Compare returns it.
	Begin  func(*Result) error
	Change func(*Change) error
	Effect func(*Effect) error

	order func(temp string) order // makes the sorters, in tests; nil: crawllog.NewOrder
}

// An order sorts records on disk, like crawllog.Order.
type order interface {
	Add(key, line []byte) error
	Each(f func(key, line []byte) error) error
	Close() error
}

// Compare returns what has changed between the crawl in the directory was and the later crawl
// in the directory is. It changes neither of them. While it reads, no process can run these
// crawls. When ctx ends, Compare returns its error. Other errors are a *storage.InUseError if
// one of the crawls is running, a *storage.DamagedError, a *storage.VersionError, a
// *storage.PurgeError, an error that wraps storage.ErrNoCrawl, an error of a function in the
// options, or an error of the file system.
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

// A comparison is the state of one call of Compare. It is not safe for concurrent use.
type comparison struct {
	*Result
	Options
	ctx     context.Context
	was, is *snapshot

	sites  map[frontier.Site]*Counts
	rules  map[frontier.Site]*Robots // changes of the robots.txt files, by site
	groups groupCache
}

func (c *comparison) seed(sign, url string, n *int64) {
	if *n++; len(c.Seeds.First) < mostSeeds {
		c.Seeds.First = append(c.Seeds.First, sign+url)
	}
}

// mostSeeds is the largest number of seeds in Seeds.First.
const mostSeeds = 10

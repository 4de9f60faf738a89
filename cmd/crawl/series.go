package main

import (
	"cmp"
	"path/filepath"
	"strings"
	"time"

	"github.com/permesso-crawler/permesso/cmd/crawl/internal/exit"
	"github.com/permesso-crawler/permesso/cmd/crawl/internal/say"
	"github.com/permesso-crawler/permesso/cmd/crawl/internal/settings"
	"github.com/permesso-crawler/permesso/crawler"
	"github.com/permesso-crawler/permesso/internal/series"
)

// checkSeries returns an error if there are flags that make no sense with --series. Otherwise
// it returns the default directory of the snapshot that begins now. A snapshot is one crawl of
// a series.
func checkSeries(f *settings.Flags) (dir string, err error) {
	switch {
	case f.Series == "" && !f.Due.IsZero():
		return "", exit.Usagef("--due names a snapshot of a series: give --series, too")
	case f.Series == "":
		return "", nil
	case f.Job == "":
		return "", exit.Usagef("--series makes a snapshot of a job: give --job, too (crawl init writes one to begin with)")
	}
	due := f.Due
	if due.IsZero() {
		due = time.Now()
	}
	return filepath.Join(f.Series, series.SnapshotName(due)), nil
}

// beginSnapshot makes the next snapshot of a series, or continues the last snapshot, and
// sets the directory in opts. If opts is invalid, it makes no snapshot.
func (p *program) beginSnapshot(f *settings.Flags, opts *crawler.Options) (*series.Run, error) {
	switch {
	case f.Dir != "":
		return nil, exit.Usagef("--series and --dir (or dir in the job file) name two places for one crawl: remove dir")
	case opts.Previous != "":
		return nil, exit.Usagef("--series and --previous (or previous in the job file) both say which crawl was before: remove previous")
	}
	if opts.Revisit != nil {
		return nil, exit.Usagef("--revisit makes a crawl that does not end, and the crawls of a series end: remove one of the two")
	}
	if _, err := crawler.New(*opts); err != nil {
		return nil, err
	}
	r, err := series.Series{Dir: f.Series}.Begin(series.Job{File: f.JobText, Options: opts}, series.Moment{Now: time.Now(), Due: f.Due, Fresh: f.Fresh})
	if err != nil {
		return nil, err
	}
	opts.Dir, opts.Seeds, opts.Previous, opts.TextDigest = r.Dir, r.Seeds, r.Previous, true
	switch name := filepath.Base(r.Dir); {
	case r.Resumed && r.Changed != nil && r.Changed.SeedsAdded+r.Changed.SeedsRemoved > 0:
		p.note("crawl: %s did not end: this run continues it; the seeds of the job have changed (%s): they count from the next snapshot on", name, seedsChanged(r.Changed))
	case r.Resumed:
		p.note("crawl: %s did not end: this run continues it", name)
	case r.Changed != nil:
		p.note("crawl: the job has changed since %s: %s", r.Changed.Since, jobChanged(r.Changed))
	}
	return r, nil
}

// seedsChanged returns a sentence that says how many seeds were added and removed.
func seedsChanged(c *series.Changed) string {
	var parts []string
	if c.SeedsAdded > 0 {
		parts = append(parts, say.Plural(c.SeedsAdded, "seed")+" added")
	}
	if c.SeedsRemoved > 0 {
		parts = append(parts, say.Plural(c.SeedsRemoved, "seed")+" removed")
	}
	return strings.Join(parts, ", ")
}

// jobChanged returns a sentence that says how the job file has changed.
func jobChanged(c *series.Changed) string {
	var parts []string
	for _, s := range c.Settings {
		parts = append(parts, change(crawler.Change{Setting: s.Setting, Was: s.Was, Is: s.Is, Way: s.Way}))
	}
	if seeds := seedsChanged(c); seeds != "" {
		parts = append(parts, seeds)
	}
	return cmp.Or(strings.Join(parts, "; "), "its settings and seeds are the same, the file is not (sites, schedule, comments)")
}

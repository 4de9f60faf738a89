package main

import (
	"cmp"
	"fmt"
	"path/filepath"
	"strings"
	"time"

	"github.com/permesso-crawler/permesso/crawler"
	"github.com/permesso-crawler/permesso/internal/series"
)

// snapshotOver says of a snapshot in the place of sameCommand that no run goes on with it.
const snapshotOver = "the snapshot is over: the same command makes the next one"

// isOver reports whether a crawl is a snapshot of a series that is over.
func isOver(dir string) bool {
	if !exists(filepath.Join(dir, series.FactsFile)) {
		return false
	}
	state, err := series.Snapshot{Dir: dir}.State()
	return err == nil && state.Over
}

// checkSeries refuses what makes no sense together with --series, and says where the
// crawl would live that begins now.
func (f *runFlags) checkSeries() (dir string, err error) {
	switch {
	case f.series == "" && !f.due.IsZero():
		return "", usage("--due names a snapshot of a series: give --series, too")
	case f.series == "":
		return "", nil
	case f.job == "":
		return "", usage("--series makes a snapshot of a job: give --job, too (crawl init writes one to begin with)")
	}
	due := f.due
	if due.IsZero() {
		due = time.Now()
	}
	return filepath.Join(f.series, series.SnapshotName(due)), nil
}

// beginSnapshot makes the next snapshot of a series, or goes on with the last one, and
// lets opts crawl into it. What is not valid makes none.
func (p *program) beginSnapshot(f *runFlags, opts *crawler.Options) (*series.Run, error) {
	switch {
	case f.dir != "":
		return nil, usage("--series and --dir (or dir in the job file) name two places for one crawl: take dir out")
	case opts.Previous != "":
		return nil, usage("--series and --previous (or previous in the job file) both say which crawl was before: take previous out")
	}
	if opts.Revisit != nil {
		return nil, usage("--revisit makes a crawl that does not end, and a series is of crawls that do: take one of the two out")
	}
	if _, err := crawler.New(*opts); err != nil {
		return nil, err
	}
	r, err := series.Series{Dir: f.series}.Begin(series.Job{File: f.jobText, Options: opts}, series.Moment{Now: time.Now(), Due: f.due, Fresh: f.fresh})
	if err != nil {
		return nil, err
	}
	opts.Dir, opts.Seeds, opts.Previous, opts.TextDigest = r.Dir, r.Seeds, r.Previous, true
	switch name := filepath.Base(r.Dir); {
	case r.Resumed && r.Changed != nil && r.Changed.SeedsAdded+r.Changed.SeedsRemoved > 0:
		p.note("crawl: %s did not end: this goes on with it; the seeds of the job are others by now (%s): they count from the next snapshot on", name, seedsChanged(r.Changed))
	case r.Resumed:
		p.note("crawl: %s did not end: this goes on with it", name)
	case r.Changed != nil:
		p.note("crawl: the job is not as for %s: %s", r.Changed.Since, jobChanged(r.Changed))
	}
	return r, nil
}

// seedsChanged says how many seeds came and went.
func seedsChanged(c *series.Changed) string {
	var parts []string
	if c.SeedsAdded > 0 {
		parts = append(parts, plural(c.SeedsAdded, "seed")+" added")
	}
	if c.SeedsRemoved > 0 {
		parts = append(parts, plural(c.SeedsRemoved, "seed")+" removed")
	}
	return strings.Join(parts, ", ")
}

// jobChanged says what a job asks for that it did not ask for before.
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

// A moment is a time as RFC 3339 writes it.
type moment struct{ to *time.Time }

func (moment) Type() string { return "time" }

func (m moment) String() string {
	if m.to.IsZero() {
		return ""
	}
	return m.to.Format(time.RFC3339)
}

func (m moment) Set(text string) error {
	at, err := time.Parse(time.RFC3339, text)
	if err != nil {
		return fmt.Errorf("%q is no time as 2026-11-23T03:00:00Z", text)
	}
	*m.to = at
	return nil
}

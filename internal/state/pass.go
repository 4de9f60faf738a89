package state

import (
	"cmp"
	"slices"
	"time"
)

// These constants decide when the journal is merged into the other buckets. Merging more at
// once changes fewer pages of the file. Merging less at once makes new entries readable sooner.
// someAge and fullAge count from the time when nothing was left to merge, or when the last pass
// ended.
const (
	someAge    = time.Second           // after this time, merge if at most Limits.SomeMerge is pending
	fullAge    = 30 * time.Second      // after this time, merge in any case
	idle       = 20 * time.Millisecond // merge after this time without new work
	siteWeight = 2                     // a site with pending links takes as much memory as this many links
)

// Limits are the limits of writing the state. Tests set low limits. "Pending" are the links and
// completions that are in the journal and not yet merged into the other buckets.
type Limits struct {
	SmallPending int // every commit merges if at most this many links and completions are pending
	SomeMerge    int // merge after the time someAge if at most this many are pending
	FullMerge    int // merge if at least this many are pending
	Slice        int // least size of the part of a pass that one commit merges, in links (see change.cost)
	MaxSlice     int // largest number of links of one site that one commit merges
	RowSize      int // approximate size of a row of a journal, in bytes
	Payloads     int // number of payloads in the payload journal at which they are merged
	MaxBlock     int // largest number of fingerprints in a block
	Sift         int // size of the state file, in bytes, above which Submit drops known links

	// The next three limit how much may wait for a commit before Submit blocks.
	Queue      int // number of operations: completions, snapshots, payloads and values
	QueueLinks int // number of links in the operations that wait
	QueueBytes int // size of the completions in the operations that wait, in bytes
}

// Usual are the limits of a DB without Options.Limits.
var Usual = Limits{
	SmallPending: 64,
	SomeMerge:    20_000,
	FullMerge:    300_000,
	Slice:        6000,
	MaxSlice:     8000,
	// bbolt keeps at least two rows in a leaf and rewrites the last leaf with every commit.
	RowSize: 16 << 10,
	// Until they are merged, payloads are also in memory.
	Payloads: 4096,
	// A block takes a little less than half a page of bbolt.
	MaxBlock: 160,
	// In a smaller file merging known links takes little time, because many of them are on the
	// same page.
	Sift: 512 << 20,

	Queue:      512,
	QueueLinks: 8000,
	QueueBytes: 4 << 20,
}

// with returns l, with its bounds of the queue replaced by those fields of b that are not 0.
func (l Limits) with(b Bounds) Limits {
	l.Queue = cmp.Or(b.Queue, l.Queue)
	l.QueueLinks = cmp.Or(b.Links, l.QueueLinks)
	l.QueueBytes = cmp.Or(b.Bytes, l.QueueBytes)
	return l
}

// mergeSome merges the sites whose entries the frontier has all read (batch.hungry). If a
// pass has begun and not ended, or it is time to begin a pass, it also merges the next sites of
// the pass.
func (c *change) mergeSome(g *commitGroup) error {
	p := c.db.book.pending
	left, budget := p.todo, c.db.limits.Slice
	done := map[*pendingSite]bool{}
	merge := func(s *pendingSite) error {
		budget -= c.cost(s)
		left -= s.done + len(c.some(s))
		done[s] = true
		return c.merge(s)
	}
	for site := range g.hungry {
		if s := p.sites[site]; s != nil {
			if err := merge(s); err != nil {
				return err
			}
		}
	}
	pass := c.db.book.pass
	if pass == nil && left > 0 && c.db.timeToMerge(left, g.quiet) {
		var err error
		if pass, err = c.newPass(g.row, done); err != nil {
			return err
		}
	}
	c.pass = pass
	if pass == nil {
		if left == 0 {
			return c.drain(g.row)
		}
		return nil
	}
	// Merge more than this group adds. Otherwise the pass might never end.
	for _, e := range g.all {
		budget += (1 + len(e.links)) * 3 / 2
	}
	at := pass.at
	for ; at < len(pass.sites) && budget > 0; at++ {
		s := pass.sites[at]
		if p.sites[s.name] != s {
			continue
		}
		if !done[s] {
			if err := merge(s); err != nil {
				return err
			}
		}
		if !c.whole(s) {
			break // the next commit continues with s
		}
	}
	c.at = at
	switch {
	case left == 0:
		return c.drain(g.row)
	case at == len(pass.sites):
		return c.drain(pass.upTo)
	}
	return nil
}

// drain ends a pass: everything in the journal up to the row upTo is merged. drain writes the
// common clocks and deletes these rows.
func (c *change) drain(upTo uint64) error {
	c.pass, c.drained = nil, true
	if err := c.keepCommon(c.db.book.pending.common); err != nil {
		return err
	}
	return c.forget(upTo)
}

// A pass merges everything that was pending when the pass began, in the order of the sites in
// the file, in several commits.
type pass struct {
	sites []*pendingSite
	at    int    // index of the first site that is not merged
	upTo  uint64 // number of the last row of the journal when the pass began
}

func (c *change) newPass(upTo uint64, done map[*pendingSite]bool) (*pass, error) {
	type numberedSite struct {
		n siteNum
		s *pendingSite
	}
	sites := make([]numberedSite, 0, len(c.db.book.pending.sites))
	for _, s := range c.db.book.pending.sites {
		if done[s] && c.whole(s) {
			continue
		}
		n, err := c.lookUp(s)
		if err != nil {
			return nil, err
		}
		if !done[s] { // if this commit has merged the site, the number may be new and not committed yet
			s.num = n
		}
		if n == 0 {
			n-- // skip sites without a number, which come last
		}
		sites = append(sites, numberedSite{n, s})
	}
	slices.SortFunc(sites, func(a, b numberedSite) int {
		x, y := a.s.first(), b.s.first() // compare new sites by the order in which they were found
		return cmp.Or(cmp.Compare(a.n, b.n), cmp.Compare(int32(x.row-y.row), 0), cmp.Compare(x.at, y.at))
	})
	p := &pass{upTo: upTo, sites: make([]*pendingSite, len(sites))}
	for i, s := range sites {
		p.sites[i] = s.s
	}
	return p, nil
}

func (db *DB) timeToMerge(left int, quiet bool) bool {
	age, l := time.Since(db.book.pending.since), &db.limits
	return quiet || !db.book.drained && l.SmallPending > 0 || left <= l.SmallPending || left <= l.SomeMerge && age >= someAge || age >= fullAge ||
		left+siteWeight*len(db.book.pending.sites) >= l.FullMerge
}

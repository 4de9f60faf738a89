package state

import (
	"cmp"
	"slices"
	"time"
)

// When the journal is merged: merging more at once touches fewer pages of the file; merging
// less makes new sites known sooner.
const (
	someAge    = time.Second           // after this, merge if at most someMerge is pending
	fullAge    = 30 * time.Second      // after this, merge in any case
	idle       = 20 * time.Millisecond // after this without new work, merge
	siteWeight = 2                     // memory of a pending site, in links
)

// Limits are the limits of writing the state, in one place so that tests can make them
// small.
type Limits struct {
	SmallPending int // up to here, links and completions are merged at once
	SomeMerge    int // up to here, merging is cheap enough for each second
	FullMerge    int // from here on, merge
	Slice        int // least cost that one commit merges
	MaxSlice     int // links of one site that are merged at once
	RowSize      int // bytes of a row of a journal, about
	Payloads     int // how many are merged at once
	MaxBlock     int // fingerprints in a block
	Sift         int // bytes of the state file from which on Submit looks up known links

	// How much may wait for a commit before Submit blocks.
	Queue      int // number of operations
	QueueLinks int // number of links in them
	QueueBytes int // size of their completions
}

var Usual = Limits{
	SmallPending: 64,
	SomeMerge:    20_000,
	FullMerge:    300_000,
	Slice:        6000,
	MaxSlice:     8000,
	// bbolt keeps at least two rows in a leaf and rewrites the last leaf with every commit.
	RowSize: 16 << 10,
	// They are in memory until then.
	Payloads: 4096,
	// A little less than half a page of bbolt's.
	MaxBlock: 160,
	// In a small file many merged links are on the same page.
	Sift: 512 << 20,

	Queue:      512,
	QueueLinks: 8000,
	QueueBytes: 4 << 20,
}

// with returns l with the bounds that are not 0.
func (l Limits) with(b Bounds) Limits {
	l.Queue = cmp.Or(b.Queue, l.Queue)
	l.QueueLinks = cmp.Or(b.Links, l.QueueLinks)
	l.QueueBytes = cmp.Or(b.Bytes, l.QueueBytes)
	return l
}

// mergeSome merges the sites that the frontier waits for, and a slice of the rest when it
// is time.
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
	for site := range g.taken.hungry {
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
	// A pass must be faster than the new work.
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
			break // the next commit continues with it
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

// drain ends a pass: everything in the journal up to a row is merged.
func (c *change) drain(upTo uint64) error {
	c.pass, c.drained = nil, true
	if err := c.keepCommon(c.db.book.pending.common); err != nil {
		return err
	}
	return c.forget(upTo)
}

// A pass merges everything that was pending when it began, in the order of the file.
type pass struct {
	sites []*pendingSite
	at    int    // index of the first site that is not merged
	upTo  uint64 // the last row of the journal when it began
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
		if !done[s] { // otherwise its number may be one that this commit assigns
			s.num = n
		}
		if n == 0 {
			n-- // after the others
		}
		sites = append(sites, numberedSite{n, s})
	}
	slices.SortFunc(sites, func(a, b numberedSite) int {
		x, y := a.s.first(), b.s.first() // new sites in the order in which they were found
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

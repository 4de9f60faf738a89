package state

import (
	"cmp"
	"slices"
	"time"
)

// These constants decide when the journal is merged into the other buckets. Merging more at
// once touches fewer pages of the file. Merging less at once makes new sites known sooner. The
// two ages count from the time when pending was last empty, or when the last pass ended.
const (
	someAge    = time.Second           // at this age, merge if at most SomeMerge is pending
	fullAge    = 30 * time.Second      // at this age, merge in any case
	idle       = 20 * time.Millisecond // after this time without new work, merge
	siteWeight = 2                     // a pending site takes as much memory as this many links
)

// Limits are the limits of writing the state. Tests make them small. "Pending" are those links
// and completions that are in the journal and not yet merged into the other buckets.
type Limits struct {
	SmallPending int // with at most this many pending, every commit merges
	SomeMerge    int // with at most this many pending, merge after the time someAge
	FullMerge    int // with at least this many pending, merge
	Slice        int // how much one commit of a pass merges at least, in links (see change.cost)
	MaxSlice     int // largest number of links of one site that one commit merges
	RowSize      int // approximate size of a row of a journal, in bytes
	Payloads     int // with this many payloads in their journal, they are merged
	MaxBlock     int // largest number of fingerprints in a block
	Sift         int // size of the state file, in bytes, from which on Submit drops known links

	// How much may wait for a commit before Submit blocks.
	Queue      int // number of operations: completions, snapshots, payloads and values
	QueueLinks int // number of links in these operations
	QueueBytes int // size of the completions in these operations
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
	// Merge more than this group adds, so that the pass ends some time.
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
		if !done[s] { // if this commit has merged the site, the number may be a new one that is not committed yet
			s.num = n
		}
		if n == 0 {
			n-- // sites without a number come after the others
		}
		sites = append(sites, numberedSite{n, s})
	}
	slices.SortFunc(sites, func(a, b numberedSite) int {
		x, y := a.s.first(), b.s.first() // new sites are in the order in which they were found
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

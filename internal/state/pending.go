package state

import (
	"slices"
	"time"

	"github.com/permesso-crawler/permesso/frontier"
)

// pending lists, by site, the completions and links that are in the journal and not yet merged
// into the other buckets. It has only their places in the journal, a few bytes for each. Only
// the committer changes it. Other goroutines hold DB.merging to read it.
type pending struct {
	sites  map[frontier.Site]*pendingSite
	common map[string]time.Time // clocks that several sites share: their due times, by name
	todo   int                  // number of links and completions that are not merged
	since  time.Time            // when nothing was left to merge last
	groups []group              // commits that are not completely merged, oldest first
}

// A group counts the calls of Submit that one commit contains. It settles when all rows of the
// journal up to the number in row are merged.
type group struct {
	row     uint64 // number of the last row of the commit
	submits int
}

// A pendingSite lists what is pending for one site (see pending), in the order of the journal.
type pendingSite struct {
	name   frontier.Site
	num    siteNum // 0 if it is not known (yet)
	done   int     // number of completions that are pending for the site
	last   place   // place of the last completion of the site
	clocks place   // place of the last completion with the clocks of the site; zero: no completion has them
	ends   []pendingEnd
	links  []pendingLink
}

// A place is a position in the journal: the low half of the number of a row, and an offset in
// bytes, which counts from the end of the row's checksum.
type place struct{ row, at uint32 }

func (p place) plus(n uint32) place { return place{p.row, p.at + n} }

// A pendingEnd is the end of an entry, its return to the queue, or a new due time.
type pendingEnd struct {
	named
	waited bool // the row of the entry had kindWaiting
	what   fateOf
	place  // place of the completion in the journal; if what is comesForward, place of the encoded forward
}

// A fateOf says what a pendingEnd does with its entry.
type fateOf uint8

const (
	hasEnded     fateOf = iota
	comesBack           // the entry was put aside, and is queued again
	comesForward        // the entry waits to be fetched again, and its due time becomes earlier
)

type pendingLink struct {
	fp uint64
	place
}

func newPending() *pending {
	return &pending{sites: map[frontier.Site]*pendingSite{}, common: map[string]time.Time{}}
}

func (p *pending) empty() bool { return len(p.sites) == 0 && len(p.common) == 0 }

// site returns the pendingSite of a site. If p has none, it makes one, with a copy of the name.
func (p *pending) site(name frontier.Site) *pendingSite {
	s := p.sites[name]
	if s == nil {
		name = frontier.Site([]byte(name))
		s = &pendingSite{name: name}
		p.sites[name] = s
	}
	return s
}

// add adds the completions of a commit. row is the number of the last row that the commit adds.
func (p *pending) add(row uint64, all []encoded, now time.Time) {
	if len(all) == 0 {
		return
	}
	if p.empty() {
		p.since = now
	}
	submits := 0
	for i := range all {
		e := &all[i]
		if e.own {
			submits++
		}
		if e.site != "" {
			p.site(e.site).complete(e)
			p.todo++
		}
		for _, c := range e.common {
			if c.Due.After(p.common[c.Name]) {
				p.common[c.Name] = c.Due
			}
		}
		var s *pendingSite
		for _, l := range e.links {
			if s == nil || s.name != l.site {
				s = p.site(l.site)
			}
			s.links = append(s.links, pendingLink{l.fp, e.plus(l.at)})
		}
		p.todo += len(e.links)
		p.forward(e)
	}
	if submits > 0 {
		p.groups = append(p.groups, group{row, submits})
	}
}

// forward adds the entries whose due time a completion makes earlier. The completion is counted
// once for each site of these entries.
func (p *pending) forward(e *encoded) {
	at := e.place
	var s *pendingSite
	for i := range e.forwards {
		f := &e.forwards[i]
		if s == nil || s.name != f.site {
			if s = p.site(f.site); s.last != at {
				s.done++
				p.todo++
				s.last = at
			}
		}
		s.ends = append(s.ends, pendingEnd{f.named, false, comesForward, at.plus(f.at)})
	}
}

// complete adds a completion that has the clocks of the site, or entries that are queued again.
func (s *pendingSite) complete(e *encoded) {
	at := e.place
	s.done++
	s.last = at
	if e.num != 0 {
		s.num = e.num
	}
	if e.back == nil {
		s.clocks = at
	}
	if e.entry.fp != 0 {
		s.ends = append(s.ends, pendingEnd{e.entry, e.waited, hasEnded, at})
	}
	for _, b := range e.back {
		s.ends = append(s.ends, pendingEnd{b, false, comesBack, at})
	}
}

// first returns the place of the first pending link of s. If no link is pending, it returns the
// place of the last completion.
func (s *pendingSite) first() place {
	if len(s.links) > 0 {
		return s.links[0].place
	}
	return s.last
}

// had removes from p the completions of s that were merged before the file was opened. The
// journal may still have such completions. effect reports whether the completion at a place was
// merged.
func (p *pending) had(s *pendingSite, effect func(place) bool) {
	s.ends = slices.DeleteFunc(s.ends, func(e pendingEnd) bool { return effect(e.place) })
	if s.done > 0 && effect(s.last) {
		p.todo -= s.done
		s.done, s.last, s.clocks = 0, place{}, place{}
	}
	if s.done == 0 && len(s.links) == 0 {
		delete(p.sites, s.name)
	}
}

// merged removes the completions and the links of a site that a commit has merged.
func (p *pending) merged(m mergedSite) {
	s := m.pendingSite
	s.num = m.num
	p.todo -= s.done + m.count
	s.done, s.ends, s.last, s.clocks = 0, nil, place{}, place{}
	if s.links = s.links[m.count:]; len(s.links) == 0 {
		delete(p.sites, s.name)
	}
}

// settled removes the groups that have settled. The parameter row says that all rows of the
// journal up to this number are merged. settled returns the number of calls of Submit in the
// removed groups.
func (p *pending) settled(row uint64) (n int) {
	for len(p.groups) > 0 && p.groups[0].row <= row {
		n += p.groups[0].submits
		p.groups = p.groups[1:]
	}
	return n
}

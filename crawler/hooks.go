package crawler

import (
	"fmt"

	"github.com/permesso-crawler/permesso/crawler/extract"
	"github.com/permesso-crawler/permesso/frontier"
)

// programmed reports whether the links of pages are passed to a function of the program, which may
// be slow.
func (o *Options) programmed() bool {
	return o.Links != nil || o.Rewrite != nil || o.OnSkip != nil || !isOurs(o.Scope)
}

// wantsLink calls Options.Links for the link l, and reports whether to queue the link.
// Options.Links may change the rank, the tag and the method of the entry e. Redirects are not
// passed to Options.Links.
func (o *Options) wantsLink(p *Page, l *extract.Link, e *frontier.Entry) bool {
	if o.Links == nil || l.Hop == frontier.HopRedirect {
		return true
	}
	link := Link{Link: *l, Rank: frontier.RankOf(e.Depth), Tag: e.Tag}
	link.URL = e.URL
	ok := o.Links(p, &link) && len(link.Tag) <= maxTag
	e.Rank, e.Tag, e.Head = link.Rank, link.Tag, link.Head
	if e.Requisite() {
		e.Rank = frontier.RequisiteRank
	}
	return ok
}

// rewrite returns the result of Options.Rewrite for u, or u if Rewrite is nil.
func (o *Options) rewrite(u frontier.URL) frontier.URL {
	if o.Rewrite == nil {
		return u
	}
	return o.Rewrite(u)
}

// rewriteSeeds replaces the URL of each seed by the result of Options.Rewrite, and sets its
// Entry.Same to the result of Options.Same. The error is an *OptionError if Rewrite refuses a seed
// or panics.
func (o *Options) rewriteSeeds(seeds []frontier.Entry) error {
	for i, e := range seeds {
		if err := tried("Rewrite", func() { seeds[i].URL = o.rewrite(e.URL) }); err != nil {
			return err
		}
		if seeds[i].URL.IsZero() {
			return &OptionError{Field: "Seeds", Reason: fmt.Sprintf("%s is refused by Rewrite: take it out, or let it pass", e.URL)}
		}
	}
	return o.sameSeeds(seeds)
}

// readAhead returns the number of entries of a site that the frontier reads into memory in advance.
// Entries that are found later do not overtake those in memory, even if their rank is lower. So the
// number is 1 with Options.Links, which may set ranks.
func (o *Options) readAhead() int {
	if o.Links != nil {
		return 1
	}
	return o.bounds.readAhead
}

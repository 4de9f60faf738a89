package crawler

import (
	"fmt"

	"github.com/permesso-crawler/permesso/crawler/extract"
	"github.com/permesso-crawler/permesso/frontier"
)

// programmed reports whether some function of the options is called with the links of pages.
// Such a function may be slow.
func (o *Options) programmed() bool {
	return o.Links != nil || o.Rewrite != nil || o.OnSkip != nil || !isOurs(o.Scope)
}

// takes asks Options.Links whether to queue a link.
func (o *Options) takes(p *Page, l *extract.Link, e *frontier.Entry) bool {
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

// rewrite returns the result of Options.Rewrite.
func (o *Options) rewrite(u frontier.URL) frontier.URL {
	if o.Rewrite == nil {
		return u
	}
	return o.Rewrite(u)
}

// rewriteSeeds replaces each seed by the result of Options.Rewrite, and sets its Entry.Same by
// Options.Same. The error is an *OptionError.
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

// readAhead returns how many entries of a site the frontier reads into memory in advance.
// Entries that are found later do not overtake those in memory, even if their rank is lower. So
// it returns 1 with Options.Links, which may set ranks.
func (o *Options) readAhead() int {
	if o.Links != nil {
		return 1
	}
	return o.bounds.readAhead
}

package crawler

import (
	"fmt"
	"time"

	"github.com/permesso-crawler/permesso/crawler/extract"
	"github.com/permesso-crawler/permesso/fetch"
	"github.com/permesso-crawler/permesso/frontier"
)

// A Link is a link that is about to be queued, as passed to Options.Links.
type Link struct {
	extract.Link // the link as the page has it, but its URL is already the result of Options.Rewrite

	// Rank orders the queue of a site: URLs with a lower rank are fetched first, those with
	// equal ranks in the order in which they were found. The default is the depth, up to 255,
	// so that URLs near a seed come first. To fetch the best first, set Rank to 255 minus a
	// score; to fetch the deepest first, set it to 255 minus the depth. Requisites (images,
	// scripts and other resources that a page includes) always have frontier.RequisiteRank,
	// because they are fetched with their page. The rank never makes requests to a site more
	// frequent.
	Rank uint8

	// Tag is the tag of the target page; the default is that of the page with the link. See
	// Tags. A link with a tag of more than 64 KiB is not queued.
	Tag string

	// Head requests the page with HEAD (RFC 9110, section 9.3.2), to learn whether it exists.
	// The handler gets the page without a body. The page has at most one link, the target of a
	// redirect, which is also requested with HEAD. If the server refuses the method (405 or
	// 501), the next request to the site repeats the request with GET. FTP has no HEAD: over
	// FTP the file is retrieved. Robots.txt, pauses and limits apply as for any page. A URL is
	// requested once, in the way that the first link to it says: a later link without Head has
	// no effect. So never set Head on a link to a page whose links the crawl should follow.
	Head bool
}

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

// A Visited is the result of a visit, as passed to Options.OnVisit, for metrics and
// monitoring.
type Visited struct {
	Entry    frontier.Entry // the entry that was visited
	Fate     frontier.Fate  // how the entry ended; frontier.Undecided if its URL will be requested later, for instance after the robots.txt of the site
	Requests []Request      // in order, including those for robots.txt; if robots.txt forbids the URL, there is none for the URL itself
}

// A Request is one request and its result.
type Request struct {
	URL     frontier.URL
	Robots  bool  // the request was for a file that is needed before a page may be requested: robots.txt or tdmrep.json
	Status  int   // HTTP status; 0 if there was no answer
	Bytes   int64 // bytes of the body as it came over the wire
	Started time.Time
	TTFB    time.Duration // time to the first byte of the answer; 0 if there was no answer
	Took    time.Duration // time to the end of the answer
	Err     error         // why there was no answer, or an incomplete one: a *fetch.Error
}

// visited calls OnVisit at the end of a visit, when the site already is free for its next
// visit.
func (j *job) visited(e frontier.Entry, res *fetch.Result, fate frontier.Fate) error {
	if j.opts.OnVisit == nil {
		return nil
	}
	v := Visited{Entry: e, Fate: fate}
	for _, x := range res.Exchanges {
		r := Request{URL: x.URL, Robots: x.Robots, Status: x.Status, Bytes: x.WireBytes, Started: x.Started, Took: x.Ended.Sub(x.Started)}
		if !x.FirstByte.IsZero() {
			r.TTFB = x.FirstByte.Sub(x.Started)
		}
		if x.Err != nil {
			r.Err = x.Err
		}
		v.Requests = append(v.Requests, r)
	}
	return safely("OnVisit", func() { j.opts.OnVisit(v) })
}

// A Skip is a URL that is not fetched. Code says why, and Detail says more: the rule and line
// of robots.txt, the error of the last try, the pattern of a trap, the name of the callback
// that refused the URL, the statement of the owner, or the reason that was given to
// Crawler.Exclude. For a URL that waits, Detail is the name of the clock that makes it wait.
// Some values of Code are for URLs that are still queued: such a URL stays in the queue, and
// the next run continues with it.
type Skip struct {
	URL    frontier.URL
	Via    string // the URL of the page on which URL was found
	Code   frontier.Code
	Detail string
	Until  time.Time // with frontier.Waiting: when the URL may be requested
}

// skipLink counts a link whose URL is not queued, and passes it to OnSkip.
func (j *job) skipLink(s Skip) {
	j.counts.add(func(n *Counts) { increment(&n.SkippedLinks, s.Code) })
	j.skip(s)
}

// skipURL counts a queued URL that ended without a page, and passes it to OnSkip.
func (j *job) skipURL(s Skip) {
	j.counts.add(func(n *Counts) { increment(&n.SkippedURLs, s.Code) })
	j.skip(s)
}

func (j *job) skip(s Skip) {
	if j.opts.OnSkip != nil {
		j.opts.OnSkip(s)
	}
}

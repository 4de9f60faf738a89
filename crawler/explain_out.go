package crawler

import (
	"encoding/json"
	"path/filepath"
	"strings"

	"github.com/permesso-crawler/permesso/frontier"
	"github.com/permesso-crawler/permesso/robots"
	"github.com/permesso-crawler/permesso/storage"
)

// Bounds of the search that explains a URL that has not entered the crawl.
const (
	maxLinkFacts = 20   // links to it
	maxSeedLook  = 2000 // the first entries of a site, among which its seeds are looked for
)

// A LinkFact is a link to a URL that has not entered the crawl, and why it was not
// followed.
type LinkFact struct {
	storage.LinkRecord
	Refusal
}

// A Refusal says why a link does not enter the crawl: one of the reasons of a Skip, or one
// of those below. Reason is empty if nothing that is kept explains it.
type Refusal struct {
	Reason Reason
	Detail string // the setting, with its value; rel, pattern of a trap, line of the opt-out list ...
}

func (r Refusal) String() string {
	if r.Detail == "" {
		return string(r.Reason)
	}
	return string(r.Reason) + ": " + r.Detail
}

// Reasons why a URL on a page is not part of the crawl, though it is not refused.
const (
	SkipShown    Reason = "no link"            // the page includes it: Options.Requisites
	SkipSitemaps Reason = "sitemaps not read"  // Options.Sitemaps
	SkipLinks    Reason = "links not followed" // except those of sitemaps: Options.Sitemaps
)

// guess judges a link to a URL that has not entered the crawl, with the most favourable
// assumptions about where it was found.
func (a *Account) guess(x *Explanation) error {
	x.Standing = StandsUnknown
	if !a.asked {
		return nil
	}
	j, err := a.job(x)
	if err != nil {
		return err
	}
	x.HasLinks = j.opts.writes(OutputLinks)
	r, err := a.refusal(j, &frontier.Entry{URL: x.Asked, Hops: string(frontier.HopLink), Depth: 1}, nil)
	x.refuse(r)
	return err
}

// whatNarrowed finds the setting that excludes an entry that was put aside.
func (a *Account) whatNarrowed(x *Explanation) error {
	j, err := a.job(x)
	if err != nil {
		return err
	}
	x.Refusal, err = a.refusal(j, &x.Entry, nil)
	return err
}

// addLinks adds the links to a URL that has not entered the crawl. The first of them gives
// the reason.
func (a *Account) addLinks(x *Explanation) error {
	if !a.asked {
		return nil
	}
	err := scanLines(filepath.Join(a.dir, storage.LinksFile), a.quit, `"to":`+jsonText(x.Asked.String())+`,`, func(line []byte) bool {
		var l storage.LinkRecord
		if json.Unmarshal(line, &l) == nil && l.To == x.Asked.String() && len(l.Hop) == 1 {
			x.Links = append(x.Links, LinkFact{LinkRecord: l})
		}
		return len(x.Links) < maxLinkFacts
	})
	if err != nil || len(x.Links) == 0 {
		return err
	}
	j, err := a.job(x)
	if err != nil {
		return err
	}
	for i := range x.Links {
		if err := a.judge(j, &x.Links[i], x.Asked); err != nil {
			return err
		}
	}
	x.HasLinks, x.Standing, x.Reason, x.Refusal = true, StandsUnknown, "", Refusal{}
	x.refuse(x.Links[0].Refusal)
	return nil
}

// job returns a job that judges links as the last run did, except for x.Untold.
func (a *Account) job(x *Explanation) (*Job, error) {
	x.Untold = a.stored.Untold
	u := x.Asked
	if x.Known {
		u = x.URL
	}
	j := a.bareJob()
	return j, a.admitRoots(j, u)
}

// bareJob returns a job with the settings of the last run, whose scope has no roots.
func (a *Account) bareJob() *Job {
	j := &Job{opts: a.stored.Options}
	j.sites = &sites{opts: &j.opts}
	j.opts.OptOut, j.opts.Scope = a.OptOut, cloned(j.opts.Scope)
	for _, c := range a.stored.Untold {
		if c.Setting == "scope" {
			j.opts.Scope = Anywhere() // its scope is not known
		}
	}
	return j
}

// admitKept adds the stored roots to the scope.
func (a *Account) admitKept(scope Scope) error {
	return a.from.Each(keyRoot, func(raw string) error {
		if root, err := frontier.ParseURL(raw); err == nil {
			scope.Admit(root)
		}
		return nil
	})
}

// refuse sets the refusal, if it has a reason.
func (x *Explanation) refuse(r Refusal) {
	if r.Reason != "" {
		x.Standing, x.Reason, x.Refusal = StandsOut, r.String(), r
	}
}

// judge sets why a link was not followed.
func (a *Account) judge(j *Job, l *LinkFact, to frontier.URL) error {
	o := &j.opts
	from, err := frontier.ParseURL(l.From)
	if err != nil {
		return nil
	}
	k, ok, err := a.from.Entry(from)
	if err != nil || !ok {
		return err
	}
	hop := frontier.Hop(l.Hop[0])
	switch {
	case k.Fate.Code == frontier.UseRefused:
		l.Refusal = Refusal{SkipUse, k.Fate.Detail}
		return nil
	case hop == frontier.HopEmbed && !o.Requisites:
		l.Refusal = Refusal{SkipShown, "requisites none"}
		return nil
	case hop == frontier.HopManifest && o.Sitemaps == SitemapsNone:
		l.Refusal = Refusal{SkipSitemaps, "sitemaps none"}
		return nil
	case hop == frontier.HopLink && o.Sitemaps == SitemapsOnly && !k.Sitemap():
		l.Refusal = Refusal{SkipLinks, "sitemaps only"}
		return nil
	case hop == frontier.HopLink && robots.RelNoFollow(l.Rel) && !o.FollowNoFollow:
		l.Refusal = Refusal{SkipNoFollow, "rel=" + l.Rel}
		return nil
	}
	e := k.Found(to, hop)
	l.Refusal, err = a.refusal(j, &e, &from)
	return err
}

// refusal returns why an entry does not enter the crawl, found on a page if on is set: as a
// run decides, without what only runs remember.
func (a *Account) refusal(j *Job, e *frontier.Entry, on *frontier.URL) (r Refusal, err error) {
	o := &j.opts
	err = safely("OptOut or Scope", func() {
		if r.Reason = j.unwanted(e); r.Reason == SkipOptOut {
			r.Detail = o.OptOut(e.URL)
		}
	})
	switch {
	case r.Reason == SkipScope:
		r.Detail = "scope " + scopeName(o.Scope)
	case r.Reason == SkipDepth:
		r.Detail = "depth " + o.setting("depth").String()
	case r.Reason == SkipFilter && j.excluded(e):
		r.Detail = "exclude " + o.Exclude.String()
	case r.Reason == SkipFilter:
		r.Detail = "include " + o.Include.String()
	}
	if r.Reason != "" || err != nil || o.FollowTraps || e.Redirects() > 0 {
		return r, err
	}
	f := finder{grown: true}
	if on != nil {
		f = newFinder(*on, a.now)
	}
	if pattern := j.traps.judge(e, &f); pattern != "" {
		r = Refusal{SkipTrap, pattern}
	}
	return r, nil
}

// admitRoots adds to the scope all roots that may have u in it: the seeds of its sites, and
// the stored roots.
func (a *Account) admitRoots(j *Job, u frontier.URL) error {
	scope := j.opts.Scope
	name := scopeName(scope)
	err := a.admitKept(scope)
	if err != nil || name == scopeName(Anywhere()) {
		return err
	}
	if name != scopeName(SameHost()) && name != scopeName(SameDomain()) {
		return a.admitSeeds(scope, u.Site())
	}
	for site, err := range a.from.Names() {
		if err != nil {
			return err
		}
		near := site.Host() == u.Host()
		if name == scopeName(SameDomain()) {
			// The cheap test first: finding a domain needs the list of public suffixes.
			near = strings.HasSuffix(site.Host(), u.Site().Domain()) && site.Domain() == u.Site().Domain()
		}
		if near {
			if err := a.admitSeeds(scope, site); err != nil {
				return err
			}
		}
	}
	return nil
}

// admitSeeds adds the seeds of a site to the scope.
func (a *Account) admitSeeds(scope Scope, site frontier.Site) error {
	n := 0
	for k, err := range a.from.Entries(site) {
		if err != nil {
			return err
		}
		if k.Hops == "" {
			scope.Admit(k.URL)
		}
		if n++; n == maxSeedLook {
			break
		}
	}
	return nil
}

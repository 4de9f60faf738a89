package account

import (
	"encoding/json"
	"fmt"
	"path/filepath"
	"slices"
	"strings"

	"github.com/permesso-crawler/permesso/crawler"
	"github.com/permesso-crawler/permesso/frontier"
	"github.com/permesso-crawler/permesso/internal/kept"
	"github.com/permesso-crawler/permesso/internal/store"
	"github.com/permesso-crawler/permesso/robots"
)

// The bounds of the search that explains a URL that was never queued.
const (
	maxLinkFacts = 20   // number of links to the URL that are returned
	maxSeedLook  = 2000 // number of entries of a site, from the first on, among which its seeds are searched
)

// The names of the scopes that may contain a URL because of a seed on another site.
var (
	anyScope    = fmt.Sprint(crawler.Anywhere())
	hostScope   = fmt.Sprint(crawler.SameHost())
	domainScope = fmt.Sprint(crawler.SameDomain())
)

// A LinkFact is a link to a URL that was never queued, and why it was not followed.
type LinkFact struct {
	store.LinkRecord
	Refusal
}

// guess sets why the settings of the last run exclude a URL that was never queued. No page with
// a link to the URL is known, so guess assumes a page from which the URL would not be excluded.
func (a *Account) guess(x *Explanation) error {
	x.Code = frontier.Unknown
	if !a.asked {
		return nil
	}
	f, err := a.filterFor(x)
	if err != nil {
		return err
	}
	x.HasLinks = slices.Contains(a.stored.Options.Output, crawler.OutputLinks)
	r, err := f.refusal(&frontier.Entry{URL: x.Asked, Hops: string(frontier.HopLink), Depth: 1}, nil)
	x.refuse(r)
	return err
}

// whatNarrowed sets which setting excludes an entry that was queued and not fetched, because a
// later run had a narrower scope.
func (a *Account) whatNarrowed(x *Explanation) error {
	f, err := a.filterFor(x)
	if err != nil {
		return err
	}
	x.Refusal, err = f.refusal(&x.Entry, nil)
	return err
}

// addLinks adds the links to a URL that was never queued. The first link decides the reason.
func (a *Account) addLinks(x *Explanation) error {
	if !a.asked {
		return nil
	}
	err := scanLines(filepath.Join(a.dir, store.LinksFile), a.quit, `"to":`+jsonText(x.Asked.String())+`,`, func(line []byte) bool {
		var l store.LinkRecord
		if json.Unmarshal(line, &l) == nil && l.To == x.Asked.String() && len(l.Hop) == 1 {
			x.Links = append(x.Links, LinkFact{LinkRecord: l})
		}
		return len(x.Links) < maxLinkFacts
	})
	if err != nil || len(x.Links) == 0 {
		return err
	}
	f, err := a.filterFor(x)
	if err != nil {
		return err
	}
	for i := range x.Links {
		if err := a.judge(f, &x.Links[i], x.Asked); err != nil {
			return err
		}
	}
	x.HasLinks, x.Code, x.Reason, x.Refusal = true, frontier.Unknown, "", Refusal{}
	x.refuse(x.Links[0].Refusal)
	return nil
}

// filterFor returns a filter with the settings of the last run, except those in x.Untold. Its
// scope gets all roots through which it may contain the URL of x. A root is a seed, or a URL to
// which a seed has redirected.
func (a *Account) filterFor(x *Explanation) (*filter, error) {
	x.Untold = a.stored.Untold
	u := x.Asked
	if x.Known {
		u = x.URL
	}
	f := a.newFilter()
	return f, a.admitRoots(f.scope, u)
}

// admitStored adds to the scope the URLs to which seeds have redirected, which the crawl has
// stored.
func (a *Account) admitStored(scope crawler.Scope) error {
	for root, err := range kept.Roots(a.from) {
		if err != nil {
			return err
		}
		scope.Admit(root)
	}
	return nil
}

// refuse sets x.Refusal, and the Code and Reason of x, to r. It does nothing if r refuses
// nothing.
func (x *Explanation) refuse(r Refusal) {
	if r.Code != frontier.Undecided {
		x.Code, x.Reason, x.Refusal = r.Code, r.String(), r
	}
}

// judge sets in l why the link was not followed. to is the URL of the link.
func (a *Account) judge(f *filter, l *LinkFact, to frontier.URL) error {
	o := &a.stored.Options
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
		l.Refusal = Refusal{Code: frontier.UseRefused, Detail: k.Fate.Detail}
		return nil
	case hop == frontier.HopEmbed && !o.Requisites:
		l.Refusal = Refusal{Code: frontier.RequisitesOff, Detail: "requisites none"}
		return nil
	case hop == frontier.HopManifest && o.Sitemaps == crawler.SitemapsNone:
		l.Refusal = Refusal{Code: frontier.SitemapsOff, Detail: "sitemaps none"}
		return nil
	case hop == frontier.HopLink && o.Sitemaps == crawler.SitemapsOnly && !k.Sitemap():
		l.Refusal = Refusal{Code: frontier.LinksOff, Detail: "sitemaps only"}
		return nil
	case hop == frontier.HopLink && robots.RelNoFollow(l.Rel) && !o.FollowNoFollow:
		l.Refusal = Refusal{Code: frontier.NoFollow, Detail: "rel=" + l.Rel}
		return nil
	}
	e := k.Found(to, hop)
	l.Refusal, err = f.refusal(&e, &from)
	return err
}

// admitRoots adds to the scope all roots through which it may contain u: seeds of the site of u
// and of related sites, and the stored URLs to which seeds have redirected.
func (a *Account) admitRoots(scope crawler.Scope, u frontier.URL) error {
	if err := a.admitStored(scope); err != nil {
		return err
	}
	name := fmt.Sprint(scope)
	switch name {
	case anyScope:
		return nil
	case hostScope, domainScope:
	default:
		return a.admitSeeds(scope, u.Site())
	}
	for site, err := range a.from.Names() {
		if err != nil {
			return err
		}
		near := site.Host() == u.Host()
		if name == domainScope {
			// Do the cheap test first, because Domain searches the Public Suffix List.
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
func (a *Account) admitSeeds(scope crawler.Scope, site frontier.Site) error {
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

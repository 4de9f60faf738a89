package diff

import (
	"cmp"
	"slices"
	"time"

	"github.com/permesso-crawler/permesso/frontier"
	"github.com/permesso-crawler/permesso/internal/store"
	"github.com/permesso-crawler/permesso/robots"
	"github.com/permesso-crawler/permesso/storage/warc"
)

// eachRobots compares the robots.txt files of each site that both crawls know. Both are read
// with the settings of the later crawl, so that only changes by the site count.
func (c *comparison) eachRobots() error {
	for site, err := range c.was.state.Names() {
		if err := cmp.Or(err, c.ctx.Err()); err != nil {
			return err
		}
		if !c.Site(site) {
			continue
		}
		was, is, policy, err := c.copies(site)
		if err != nil {
			return err
		}
		if was == nil || is == nil {
			continue // skip the site, because only one of the crawls has requested its robots.txt
		}
		r := &Robots{Site: site, Was: copyOf(was, policy), Is: copyOf(is, policy), First: []Effect{}}
		if r.Was.Outcome != r.Is.Outcome || r.Was.Digest != r.Is.Digest {
			c.rules[site] = r
		}
	}
	return nil
}

// copies returns the results of the last requests of both crawls for a site's robots.txt, and
// the policy of the later crawl for the site. A result is nil if there was no request. If was
// is nil, is is nil, too.
func (c *comparison) copies(site frontier.Site) (was, is *robots.Snapshot, policy robots.Policy, err error) {
	if was, err = last(c.was.state, site); err != nil || was == nil {
		return nil, nil, policy, err
	}
	settings, err := c.is.account.Site(site)
	if err != nil {
		return nil, nil, policy, err
	}
	is, err = last(c.is.state, site)
	return was, is, settings.Policy, err
}

func last(r *store.Reader, site frontier.Site) (s *robots.Snapshot, err error) {
	for next, err := range r.Snapshots(site) {
		if err != nil {
			return nil, err
		}
		s = next
	}
	return s, nil
}

// copyOf describes a robots.txt. If its rules depend on the time, it takes those at the time at
// which it was fetched.
func copyOf(s *robots.Snapshot, policy robots.Policy) Copy {
	k := Copy{Fetched: s.Fetched.UTC(), Status: s.Status, Failure: s.Failure}
	g := s.Group(policy, s.Fetched)
	switch v := g.Match("/"); {
	case !s.Reachable():
		k.Outcome = Unreachable
	case v.Reason == robots.Missing:
		k.Outcome = None
	case v.Reason == robots.Forbidden:
		k.Outcome = Forbidden
	default:
		k.Outcome = File
	}
	if good := s.Good(); good != nil && (k.Outcome == File || k.Outcome == Unreachable) {
		k.Digest = warc.PayloadDigest(&warc.HTTP{Body: good.Body})
		if good != s {
			k.Copied = good.Fetched.UTC()
		}
	}
	delay, _ := g.CrawlDelay()
	if gap, _ := g.RequestRate(); gap > delay {
		delay = gap
	}
	k.Delay = float64(delay) / float64(time.Second)
	for _, s := range g.Signals("/").Deciding() {
		k.Signals = append(k.Signals, string(s.Use)+": "+grantWord(s)+" ("+s.String()+")")
	}
	return k
}

func grantWord(s robots.Statement) string {
	if s.Granted {
		return robots.Granted.String()
	}
	return robots.Refused.String()
}

// effect records how the decision about u has changed. It does nothing if the robots.txt of the
// site has not changed.
func (c *comparison) effect(u frontier.URL, p *pair) error {
	r := c.rules[u.Site()]
	if r == nil {
		return nil
	}
	g, err := c.groupsOf(u.Site())
	if err != nil {
		return err
	}
	was, is := g.was.Match(u.Target()), g.is.Match(u.Target())
	if was.Access == is.Access {
		return nil
	}
	if was.Access == robots.Defer || is.Access == robots.Defer {
		r.Unclear++
		return nil
	}
	e := &Effect{
		URL: p.url(), Site: u.Site(), Allowed: is.Allowed(), Was: decision(was), Is: decision(is),
		FateBefore: p.was.Fate, Fate: p.is.Fate,
	}
	if e.Allowed {
		r.Allowed++
		c.Result.Allowed++
	} else {
		r.Disallowed++
		c.Result.Disallowed++
	}
	if len(r.First) < c.Most {
		r.First = append(r.First, *e)
	}
	if c.Effect == nil {
		return nil
	}
	return c.Effect(e)
}

func decision(v robots.Verdict) Decision {
	if v.Rule.Line > 0 {
		return Decision{v.Rule.Line, v.Rule.String()}
	}
	return Decision{Rule: v.Reason.String()}
}

// mostGroups is how many sites have their rules in memory at once. A few are enough, because in
// the order of SURT only the sites of one host are mixed.
const mostGroups = 16

// A groupCache has the rules of the mostGroups sites that were used last.
type groupCache []*siteGroups

type siteGroups struct {
	site    frontier.Site
	was, is *robots.Group
}

func (c *comparison) groupsOf(site frontier.Site) (*siteGroups, error) {
	i := slices.IndexFunc(c.groups, func(g *siteGroups) bool { return g.site == site })
	if i >= 0 {
		return c.groups[i], nil
	}
	was, is, policy, err := c.copies(site)
	if err != nil {
		return nil, err
	}
	g := &siteGroups{site, was.Group(policy, was.Fetched), is.Group(policy, is.Fetched)}
	c.groups.keep(g)
	return g, nil
}

// keep adds the rules of a site. If there are too many sites, it removes the oldest.
func (c *groupCache) keep(g *siteGroups) {
	if len(*c) == mostGroups {
		*c = slices.Delete(*c, 0, 1)
	}
	*c = append(*c, g)
}

package diff

import (
	"cmp"
	"slices"

	"github.com/go-json-experiment/json/v1"
	"github.com/permesso-crawler/permesso/frontier"
)

// A pair has the facts of both crawls about one URL.
type pair struct {
	key     string // sort key of the URL, without the byte that says which crawl it is from
	was, is view
}

// url returns the URL in the spelling of the later crawl, or of the earlier one if the later
// one does not know it.
func (p *pair) url() string { return cmp.Or(p.is.URL, p.was.URL) }

// merge compares all URLs of both crawls, in the order of the sorted facts.
func (c *comparison) merge() error {
	o, err := c.sorted()
	if err != nil {
		return err
	}
	defer o.Close()
	var at pair
	err = o.Each(func(key, line []byte) error {
		of, side, kind := key[:len(key)-2], key[len(key)-2], key[len(key)-1]
		if at.key != string(of) {
			if err := c.url(&at); err != nil {
				return err
			}
			at = pair{key: string(of)}
		}
		var f fact
		if err := json.Unmarshal(line, &f); err != nil {
			return err
		}
		if side == ofWas {
			at.was.take(kind, &f)
		} else {
			at.is.take(kind, &f)
		}
		return nil
	})
	if err == nil {
		err = c.url(&at)
	}
	c.finish()
	return err
}

// url compares one URL, counts it and reports its change.
func (c *comparison) url(p *pair) error {
	if p.was.Fate == frontier.Undecided && p.is.Fate == frontier.Undecided { // skip a URL that neither crawl has queued
		return nil
	}
	if err := c.ctx.Err(); err != nil {
		return err
	}
	u, err := frontier.ParseURL(p.url())
	if err != nil {
		return err
	}
	c.count(p)
	if err := c.effect(u, p); err != nil {
		return err
	}
	change, err := c.change(u, p)
	if err != nil {
		return err
	}
	c.Counts[change.Kind.index()]++
	if !change.Kind.IsChange() {
		return nil
	}
	here := c.sites[change.Site]
	if here == nil {
		here = new(Counts)
		c.sites[change.Site] = here
	}
	here[change.Kind.index()]++
	if list := c.First[change.Kind]; len(list) < c.Most {
		c.First[change.Kind] = append(list, *change)
	}
	if c.Change != nil {
		return c.Change(change)
	}
	return nil
}

// count adds a URL to the numbers of both crawls.
func (c *comparison) count(p *pair) {
	for _, of := range []struct {
		v *view
		s *Snapshot
	}{{&p.was, &c.Was}, {&p.is, &c.Is}} {
		stage := of.v.stage()
		if stage == absent {
			continue
		}
		of.s.URLs++
		switch stage {
		case page, redirect:
			of.s.There++
		case waiting:
			if of.v.mayBeAsked() {
				of.s.Waiting++
			}
		}
		if at := of.v.Time; !at.IsZero() {
			if of.s.First.IsZero() || at.Before(of.s.First) {
				of.s.First = at
			}
			if at.After(of.s.Last) {
				of.s.Last = at
			}
		}
	}
	if p.is.Seed && !p.was.Seed {
		c.seed("+", p.is.URL, &c.Seeds.Added)
	}
	if p.was.Seed && !p.is.Seed {
		c.seed("-", p.was.URL, &c.Seeds.Removed)
	}
}

// finish sets the tables of the Result after the last URL.
func (c *comparison) finish() {
	for site, counts := range c.sites {
		c.Sites = append(c.Sites, Site{site, *counts})
	}
	slices.SortFunc(c.Sites, func(a, b Site) int { return cmp.Compare(a.Site, b.Site) })
	for _, r := range c.rules {
		c.Robots = append(c.Robots, *r)
	}
	slices.SortFunc(c.Robots, func(a, b Robots) int { return cmp.Compare(a.Site, b.Site) })
}

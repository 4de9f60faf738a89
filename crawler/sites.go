package crawler

import (
	"cmp"
	"errors"
	"maps"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/permesso-crawler/permesso/fetch"
	"github.com/permesso-crawler/permesso/frontier"
	"github.com/permesso-crawler/permesso/storage"
	"github.com/permesso-crawler/permesso/storage/crawllog"
)

// maxSites is how many sites are remembered whose settings were asked for. Who is
// forgotten is asked for again.
const maxSites = 1 << 14

// sites remembers what Options.Site has said of each site, so that a visit is under the
// same settings throughout.
type sites struct {
	opts *Options                        // checked; never changed
	db   func(frontier.Site) *storage.DB // nil: no crawl keeps settings of sites from an earlier run

	mu    sync.Mutex // guards known: every link and every visit looks here. Options.Site is asked without
	known map[frontier.Site]*siteAnswer
}

// A siteAnswer is what Options.Site has said of a site. It is never changed, but for told.
type siteAnswer struct {
	SiteOptions
	err  error       // it is not valid, or Site panicked: an *OptionError, or *PanicError
	told atomic.Bool // its Reason was
}

// usualSite is the answer about sites that have no settings of their own.
var usualSite = new(siteAnswer)

// any reports whether a site may have settings of its own, now or in an earlier run.
func (s *sites) any() bool { return s.opts.Site != nil || s.db != nil }

// of is what holds for site alone.
func (s *sites) of(site frontier.Site) *siteAnswer {
	if !s.any() {
		return usualSite
	}
	s.mu.Lock()
	a := s.known[site]
	s.mu.Unlock()
	if a != nil {
		return a
	}
	site = frontier.Site(strings.Clone(string(site))) // it would keep the whole URL
	a = s.ask(site)
	s.mu.Lock()
	defer s.mu.Unlock()
	if first := s.known[site]; first != nil { // another visit has asked meanwhile
		return first
	}
	if most := cmp.Or(s.opts.bounds.sites, maxSites); s.known == nil || len(s.known) >= most {
		s.forget(most)
	}
	s.known[site] = a
	return a
}

// forget makes room. Answers whose reason was told stay, so that it is told once, as far
// as they are not too many themselves. It requires that mu is held.
func (s *sites) forget(most int) {
	maps.DeleteFunc(s.known, func(_ frontier.Site, a *siteAnswer) bool { return !a.told.Load() })
	if s.known == nil || len(s.known) > most/2 {
		s.known = map[frontier.Site]*siteAnswer{}
	}
}

// ask asks Options.Site. No lock is held.
func (s *sites) ask(site frontier.Site) *siteAnswer {
	var o SiteOptions
	var err error
	if s.opts.Site != nil {
		err = safely("Site", func() { o = s.opts.Site(site) })
	}
	if err == nil {
		o.Header = o.Header.Clone()
		err = s.opts.CheckSite(o)
	}
	had := false
	if err == nil && o.usual() {
		had, err = s.had(site)
	}
	var invalid *OptionError
	if errors.As(err, &invalid) {
		invalid.Site = string(site)
	}
	switch {
	case err != nil:
		return &siteAnswer{err: err}
	case o.usual() && !had:
		return usualSite
	}
	return &siteAnswer{SiteOptions: o}
}

// had reports whether a site had settings of its own in an earlier run.
func (s *sites) had(site frontier.Site) (bool, error) {
	if s.db == nil {
		return false, nil
	}
	var kept keptSite
	_, err := s.db(site).Get(keySite+string(site), &kept)
	return !kept.none(), err
}

// usual reports whether nothing is said.
func (s *SiteOptions) usual() bool {
	return s.Delay == 0 && s.MaxPages == 0 && s.MaxBytes == 0 && s.MaxTime == 0 && s.Scope == nil && !s.Exclude &&
		!s.AllowForbidden && len(s.Header) == 0 && s.Reason == ""
}

// contains reports whether e belongs to the crawl by the settings of its own site. An
// answer that is not valid keeps nothing out: it ends the crawl once the site is to be
// asked, and the link is not lost.
func (s *sites) contains(e *frontier.Entry) bool {
	a := s.of(e.URL.Site())
	return a.Scope == nil || a.Scope.Contains(*e)
}

// optedOut says why u must not be asked for, whatever else allows it.
func (s *sites) optedOut(u frontier.URL) (why string, err error) {
	if why, err = s.opts.optedOut(u); why != "" || err != nil {
		return why, err
	}
	a := s.of(u.Site())
	if a.Exclude {
		why = "Site: " + cmp.Or(a.Reason, "excluded")
	}
	return why, a.err
}

// SiteLimits are those that Options.Site names: whoever hands out turns is to have them
// asked for, as by frontier.Options.Site, before a site is asked for anything. An error
// ends the crawl: the settings are not valid (*OptionError), or Site panicked
// (*PanicError).
func (j *Job) SiteLimits(site frontier.Site) (frontier.SiteLimits, error) {
	a, err := j.siteInForce(site)
	if err != nil {
		return frontier.SiteLimits{}, err
	}
	return frontier.SiteLimits{Delay: a.Delay, Max: frontier.Spent{Pages: a.MaxPages, Bytes: a.MaxBytes, Time: a.MaxTime}}, nil
}

// siteWire is what the fetcher wants to know.
func (j *Job) siteWire(site frontier.Site) (fetch.SiteOptions, error) {
	a, err := j.siteInForce(site)
	if err != nil {
		return fetch.SiteOptions{}, err
	}
	return fetch.SiteOptions{AllowForbidden: a.AllowForbidden, Header: a.Header}, nil
}

// siteInForce is what holds for a site that is about to be asked. What it has of its own is
// told before that.
func (j *Job) siteInForce(site frontier.Site) (*siteAnswer, error) {
	a := j.sites.of(site)
	if a.err != nil {
		return nil, a.err
	}
	if a != usualSite && a.told.CompareAndSwap(false, true) {
		return a, j.tellSite(site, a)
	}
	return a, nil
}

// tellSite tells of the settings that a site has of its own, or had in an earlier run: in the
// log, and in the state. The lines of its requests come later.
func (j *Job) tellSite(site frontier.Site, a *siteAnswer) error {
	kept := keptSite{Own: j.opts.ownSettings(&a.SiteOptions), Reason: a.Reason}
	notes := []string{"site:" + string(site)}
	said := []any{"site", string(site)}
	for _, own := range kept.Own {
		if own.Wider {
			notes = append(notes, "allows:"+own.Name+"="+own.Value)
			said = append(said, "allows", own.Name+"="+own.Value)
		} else {
			notes = append(notes, "own:"+own.Name+"="+own.Value)
		}
	}
	if a.Reason != "" {
		notes = append(notes, "reason:"+a.Reason)
		j.opts.Logger.Info("a site has settings of its own", append(said, "reason", a.Reason)...)
	}
	db := j.db(site)
	if db == nil || a.Exclude {
		return nil
	}
	err := db.Put(keySite+string(site), kept)
	return errors.Join(err, db.Log().Write(&crawllog.Line{Time: time.Now(), Size: -1, URL: crawllog.RunURL, Annotations: notes}))
}

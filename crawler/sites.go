package crawler

import (
	"cmp"
	"errors"
	"maps"
	"strings"
	"sync"
	"sync/atomic"

	"github.com/permesso-crawler/permesso/frontier"
	"github.com/permesso-crawler/permesso/internal/kept"
	"github.com/permesso-crawler/permesso/internal/store"
)

// maxSites is the maximum number of sites whose settings are cached.
const maxSites = 1 << 14

// sites caches the results of Options.Site, so that the settings of a site do not change during a
// visit.
type sites struct {
	opts *Options // validated; constant
	// Returns the storage of a site, which may have settings from an earlier run; nil if no earlier
	// run stored any.
	db func(frontier.Site) *store.DB

	// Guards known, which is read for every link and in every visit; not held while Options.Site
	// runs.
	mu    sync.Mutex
	known map[frontier.Site]*siteAnswer
}

// A siteAnswer is the result of Options.Site for one site. All its fields except logged are
// constant.
type siteAnswer struct {
	SiteOptions
	// An *OptionError if the settings are not valid, or a *PanicError if Site panicked.
	err    error
	logged atomic.Bool // the settings of the site were written to the log
}

// usualSite is the siteAnswer of all sites without settings of their own.
var usualSite = new(siteAnswer)

// any reports whether a site may have settings of its own, or had some in an earlier run.
func (s *sites) any() bool { return s.opts.Site != nil || s.db != nil }

// of returns the settings of a site. It calls Options.Site if they are not in the cache.
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
	site = frontier.Site(strings.Clone(string(site))) // cloned, because a substring would keep the whole URL in memory
	a = s.ask(site)
	s.mu.Lock()
	defer s.mu.Unlock()
	if first := s.known[site]; first != nil { // another visit has called Site meanwhile, and its result is kept
		return first
	}
	if most := cmp.Or(s.opts.bounds.sites, maxSites); s.known == nil || len(s.known) >= most {
		s.forget(most)
	}
	s.known[site] = a
	return a
}

// forget removes settings from the cache, which is full. Settings that were logged stay, so that
// they are not logged again. But if these alone fill more than half of the cache, all settings are
// removed. The caller holds mu.
func (s *sites) forget(most int) {
	maps.DeleteFunc(s.known, func(_ frontier.Site, a *siteAnswer) bool { return !a.logged.Load() })
	if s.known == nil || len(s.known) > most/2 {
		s.known = map[frontier.Site]*siteAnswer{}
	}
}

// ask calls Options.Site and checks the result. The caller must not hold mu.
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
	var was kept.OfSite
	_, err := s.db(site).Get(kept.KeySite+string(site), &was)
	return !was.None(), err
}

// usual reports whether all settings in s are zero.
func (s *SiteOptions) usual() bool {
	return s.Delay == 0 && s.MaxPages == 0 && s.MaxBytes == 0 && s.MaxTime == 0 && s.Scope == nil && !s.Exclude &&
		!s.AllowForbidden && len(s.Header) == 0 && s.Reason == ""
}

// contains reports whether e is in the SiteOptions.Scope of its own site. If the settings of that
// site are invalid, contains returns true: the link is queued and not lost. The crawl then ends
// with an error before it sends a request to the site.
func (s *sites) contains(e *frontier.Entry) bool {
	a := s.of(e.URL.Site())
	return a.Scope == nil || a.Scope.Contains(*e)
}

// optedOut returns the reason why Options.OptOut or SiteOptions.Exclude forbids requests for u. It
// returns "" if neither does.
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

// optedOut returns the result of Options.OptOut for u, which is the reason why u must not be
// requested, or "". If OptOut panics, the error is a *PanicError, which ends the crawl.
func (o *Options) optedOut(u frontier.URL) (why string, err error) {
	if o.OptOut != nil {
		err = safely("OptOut", func() { why = o.OptOut(u) })
	}
	return why, err
}

// bySite reports whether the decision to queue a link depends only on the site of its target. It is
// used for links of one page that are of the same kind (frontier.Hop).
func (o *Options) bySite() bool {
	return o.OptOut == nil && o.Exclude == nil && o.Include == nil && o.Site == nil && scopeBySite(o.Scope)
}

package crawler

import (
	"time"

	"github.com/permesso-crawler/permesso/frontier"
)

// An admission decides whether a URL that was found enters the crawl: by the scope, the
// depth, the filters, the opt-out list, and the settings of its site.
type admission struct {
	opts  *Options // checked; constant
	sites *sites
}

// unwanted returns why an entry that was found does not enter the frontier; "" if it does.
func (a *admission) unwanted(e *frontier.Entry) frontier.Code {
	reason := a.unwantedAnywhere(e)
	if reason == frontier.Undecided && a.sites.of(e.URL.Site()).Exclude {
		return frontier.OptedOut
	}
	return reason
}

// unwantedAnywhere is unwanted without the check of excluded sites.
func (a *admission) unwantedAnywhere(e *frontier.Entry) frontier.Code {
	switch {
	case a.opts.OptOut != nil && a.opts.OptOut(e.URL) != "":
		return frontier.OptedOut
	case e.Redirects() > frontier.MaxRedirects:
		return frontier.TooManyRedirects
	case e.FromSeed():
		// Redirects of a seed are followed to any host that is not excluded: the host of
		// the seed is often not the one that is meant.
		if a.excluded(e) {
			return frontier.Filtered
		}
		return frontier.Undecided
	}
	return a.narrowed(e)
}

func (a *admission) excluded(e *frontier.Entry) bool {
	return a.opts.Exclude != nil && a.opts.Exclude.MatchString(e.URL.String())
}

// narrowed returns why e is not in scope; "" if it is.
func (a *admission) narrowed(e *frontier.Entry) frontier.Code {
	o := a.opts
	switch {
	case o.Depth > 0 && e.Depth > o.Depth:
		return frontier.TooDeep
	case a.excluded(e):
		return frontier.Filtered
	}
	if e.Hops != "" && e.Hops[len(e.Hops)-1] != byte(frontier.HopLink) && !e.Page() {
		switch {
		case e.Sitemap() && (o.Sitemaps == SitemapsNone || nested(e) > maxNested):
			return frontier.TooDeep
		case o.Requisites && e.Requisite() || named(e):
			// Outside the scope, but needed to show the page or to read the sitemap.
			return frontier.Undecided
		}
	}
	switch {
	case !o.Scope.Contains(*e):
		return frontier.OutOfScope
	case o.Include != nil && !o.Include.MatchString(e.URL.String()):
		return frontier.Filtered
	case !a.sites.contains(e):
		return frontier.OutOfScope
	}
	return frontier.Undecided
}

// A Refusal says why a URL does not enter the crawl. Reason is empty if it may.
type Refusal struct {
	Code   frontier.Code
	Detail string // the setting, with its value; rel, pattern of a trap, line of the opt-out list ...
}

func (r Refusal) String() string {
	if r.Detail == "" {
		return r.Code.String()
	}
	return r.Code.String() + ": " + r.Detail
}

// A Filter says whether URLs may enter a crawl, by the settings of its last run. It does
// not know what only a running crawl knows: how many links were seen, and the results of
// Options.Site. Its methods must not be called concurrently.
type Filter struct {
	opts   Options
	admits admission
	traps  traps
	now    time.Time
}

// NewFilter returns the Filter of a crawl with the stored options; its scope has no roots
// yet. A scope that is not stored contains all URLs. optOut is as Options.OptOut; nil: no
// URL is on a list. Dates in URLs are compared with now.
func NewFilter(s Stored, optOut func(frontier.URL) string, now time.Time) *Filter {
	f := &Filter{opts: s.Options, now: now}
	_ = f.opts.fill() // a run had these settings: they are valid
	if f.opts.Scope == nil {
		f.opts.Scope = SameHost()
	}
	f.opts.OptOut, f.opts.Scope = optOut, cloned(f.opts.Scope)
	for _, c := range s.Untold {
		if c.Setting == "scope" {
			f.opts.Scope = Anywhere()
		}
	}
	f.admits = admission{&f.opts, &sites{opts: &f.opts}}
	return f
}

// Scope returns the scope, which the roots must be added to.
func (f *Filter) Scope() Scope { return f.opts.Scope }

// Refusal returns why an entry does not enter the crawl. on is the page that it was found
// on; nil if it is not known. The error is a *PanicError of the scope or of optOut.
func (f *Filter) Refusal(e *frontier.Entry, on *frontier.URL) (r Refusal, err error) {
	o := &f.opts
	err = safely("OptOut or Scope", func() {
		if r.Code = f.admits.unwanted(e); r.Code == frontier.OptedOut {
			r.Detail = o.OptOut(e.URL)
		}
	})
	switch {
	case r.Code == frontier.OutOfScope:
		r.Detail = "scope " + scopeName(o.Scope)
	case r.Code == frontier.TooDeep:
		r.Detail = "depth " + o.setting("depth").String()
	case r.Code == frontier.Filtered && f.admits.excluded(e):
		r.Detail = "exclude " + o.Exclude.String()
	case r.Code == frontier.Filtered:
		r.Detail = "include " + o.Include.String()
	}
	if r.Code != frontier.Undecided || err != nil || o.FollowTraps || e.Redirects() > 0 {
		return r, err
	}
	from := finder{grown: true}
	if on != nil {
		from = newFinder(*on, f.now)
	}
	if pattern := f.traps.judge(e, &from); pattern != "" {
		r = Refusal{frontier.Trap, pattern}
	}
	return r, nil
}

// EachRoot calls f with each root of the scope that a crawl has stored: the URLs at which
// redirects of seeds have ended.
func EachRoot(from Values, f func(frontier.URL)) error {
	return from.Each(keyRoot, func(raw string) error {
		if root, err := frontier.ParseURL(raw); err == nil {
			f(root)
		}
		return nil
	})
}

package crawler

import (
	"time"

	"github.com/permesso-crawler/permesso/frontier"
)

// An admission decides whether a URL that was found enters the crawl: by the scope, the
// depth, the filters, the opt-out list, and the settings of its site.
type admission struct {
	opts  *Options // validated; never changed
	sites *sites
}

// unwanted returns why a URL that was found is not queued, or Undecided if it is.
func (a *admission) unwanted(e *frontier.Entry) frontier.Code {
	reason := a.unwantedAnywhere(e)
	if reason == frontier.Undecided && a.sites.of(e.URL.Site()).Exclude {
		return frontier.OptedOut
	}
	return reason
}

// unwantedAnywhere is like unwanted, but does not check whether the site is excluded.
func (a *admission) unwantedAnywhere(e *frontier.Entry) frontier.Code {
	switch {
	case a.opts.OptOut != nil && a.opts.OptOut(e.URL) != "":
		return frontier.OptedOut
	case e.Redirects() > frontier.MaxRedirects:
		return frontier.TooManyRedirects
	case e.FromSeed():
		// Redirects of a seed are followed to any host, unless Exclude matches the URL: a seed
		// often redirects to another host, which then has the site that the seed names.
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

// narrowed returns why e is outside the depth, the filters or the scope of the crawl, or
// Undecided if it is inside all of them.
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

// A Refusal says why a URL does not enter the crawl. Its Code is frontier.Undecided if the URL
// may enter.
type Refusal struct {
	Code   frontier.Code
	Detail string // the setting with its value, the pattern of an endless space of URLs, or the line of the opt-out list
}

// String returns the code, with the detail if there is one.
func (r Refusal) String() string {
	if r.Detail == "" {
		return r.Code.String()
	}
	return r.Code.String() + ": " + r.Detail
}

// A Filter says whether URLs may enter a crawl, by the settings of the last run of the crawl.
// It does not know two things that only a running crawl knows: which links were seen so far,
// and the results of Options.Site. Its methods must not be called concurrently.
type Filter struct {
	opts   Options
	admits admission
	traps  traps
	now    time.Time
}

// NewFilter returns the Filter of a crawl with the options o of its last run. The scope of the
// Filter has no roots yet. A root is a URL from which a scope is made, such as a seed (see
// Scope.Admit). optOut is as Options.OptOut; if it is nil, no URL is opted out. The Filter compares
// dates in URLs with the time now, to find calendars without end.
func NewFilter(o Options, optOut func(frontier.URL) string, now time.Time) *Filter {
	f := &Filter{opts: o, now: now}
	_ = f.opts.fill() // a run had these settings: they are valid
	if f.opts.Scope == nil {
		f.opts.Scope = SameHost()
	}
	f.opts.OptOut, f.opts.Scope = optOut, cloned(f.opts.Scope)
	f.admits = admission{&f.opts, &sites{opts: &f.opts}}
	return f
}

// Scope returns the scope of the filter. The caller must add the roots of the crawl to it: see
// Roots.
func (f *Filter) Scope() Scope { return f.opts.Scope }

// Refusal returns why the URL of e does not enter the crawl. The parameter on is the URL of the
// page on which the URL of e was found; nil if that page is not known. The error is a
// *PanicError of the scope or of optOut.
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

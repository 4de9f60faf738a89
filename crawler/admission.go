package crawler

import (
	"github.com/permesso-crawler/permesso/frontier"
	"github.com/permesso-crawler/permesso/internal/admit"
)

// An admission decides whether a URL that was found enters the crawl: by the scope, the
// depth, the filters, the opt-out list, and the settings of its site.
type admission struct {
	rules admit.Rules
	sites *sites
}

// newAdmission returns the admission of a crawl with the options o, which are validated and never
// change.
func newAdmission(o *Options, s *sites) admission {
	return admission{admit.Rules{
		OptOut: o.OptOut, Scope: func(e frontier.Entry) bool { return o.Scope.Contains(e) }, Site: s.contains,
		Include: o.Include, Exclude: o.Exclude, Depth: o.Depth, Requisites: o.Requisites, NoSitemaps: o.Sitemaps == SitemapsNone,
	}, s}
}

// unwanted returns why a URL that was found is not queued, or Undecided if it is.
func (a *admission) unwanted(e *frontier.Entry) frontier.Code {
	reason := a.rules.Unwanted(e)
	if reason == frontier.Undecided && a.sites.of(e.URL.Site()).Exclude {
		return frontier.OptedOut
	}
	return reason
}

// narrowed returns why e is outside the depth, the filters or the scope of the crawl, or
// Undecided if it is inside all of them.
func (a *admission) narrowed(e *frontier.Entry) frontier.Code { return a.rules.Narrowed(e) }

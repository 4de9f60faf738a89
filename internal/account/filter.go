package account

import (
	"runtime/debug"
	"time"

	"github.com/permesso-crawler/permesso/crawler"
	"github.com/permesso-crawler/permesso/frontier"
	"github.com/permesso-crawler/permesso/internal/admit"
)

// A Refusal says why a URL was not queued. Its Code is frontier.Undecided if the URL may be
// queued.
type Refusal struct {
	Code   frontier.Code
	Detail string // the setting with its value, the pattern of an endless space of URLs, or the line of the opt-out list
}

// String returns the code, followed by Detail if that is not empty.
func (r Refusal) String() string {
	if r.Detail == "" {
		return r.Code.String()
	}
	return r.Code.String() + ": " + r.Detail
}

// A filter says which URLs may be queued, by the settings of the last run. Only a running crawl
// knows which links it has seen so far, and the results of Options.Site; a filter does not. Its
// methods must not be called concurrently.
type filter struct {
	rules admit.Rules
	scope crawler.Scope
	texts map[string]string // texts of the settings, by name
	traps *admit.Traps      // finds links into endless spaces; nil: such links are followed
	now   time.Time
}

// newFilter returns a filter with the settings of the last run. The caller must add the roots
// of its scope. A root is a URL from which the scope is computed, such as a seed (see
// Scope.Admit). If the scope is not stored, because a function decided it, the filter has a
// scope that contains all URLs. To find calendars without end, the filter compares dates in
// URLs with a.now.
func (a *Account) newFilter() *filter {
	o := a.stored.Options
	f := &filter{texts: map[string]string{}, now: a.now}
	for _, s := range o.Settings() {
		f.texts[s.Name] = s.String()
		if s.Name == "scope" {
			_ = s.Set(s.String()) // make a scope without the roots of other filters
		}
	}
	f.scope = o.Scope
	for _, c := range a.stored.Untold {
		if c.Setting == "scope" {
			f.scope = crawler.Anywhere()
		}
	}
	if !o.FollowTraps {
		f.traps = new(admit.Traps)
	}
	f.rules = admit.Rules{
		OptOut: a.OptOut, Scope: f.scope.Contains, Include: o.Include, Exclude: o.Exclude,
		Depth: o.Depth, Requisites: o.Requisites, NoSitemaps: o.Sitemaps == crawler.SitemapsNone,
	}
	return f
}

// refusal returns why the URL of e is not queued. on is the URL of the page with the link, or
// nil if that page is not known. The error is a *crawler.PanicError of the scope or of OptOut.
func (f *filter) refusal(e *frontier.Entry, on *frontier.URL) (r Refusal, err error) {
	if r, err = f.ruled(e); r.Code != frontier.Undecided || err != nil || f.traps == nil || e.Redirects() > 0 {
		return r, err
	}
	from := admit.Finder{Grown: true}
	if on != nil {
		from = admit.NewFinder(*on, f.now)
	}
	if pattern := f.traps.Judge(e, &from); pattern != "" {
		r = Refusal{frontier.Trap, pattern}
	}
	return r, nil
}

// ruled returns which rule excludes the URL of e.
func (f *filter) ruled(e *frontier.Entry) (r Refusal, err error) {
	defer func() {
		if v := recover(); v != nil {
			err = &crawler.PanicError{Where: "OptOut or Scope", Value: v, Stack: debug.Stack()}
		}
	}()
	switch r.Code = f.rules.Unwanted(e); {
	case r.Code == frontier.OptedOut:
		r.Detail = f.rules.OptOut(e.URL)
	case r.Code == frontier.OutOfScope:
		r.Detail = "scope " + f.texts["scope"]
	case r.Code == frontier.TooDeep:
		r.Detail = "depth " + f.texts["depth"]
	case r.Code == frontier.Filtered && f.rules.Excluded(e):
		r.Detail = "exclude " + f.rules.Exclude.String()
	case r.Code == frontier.Filtered:
		r.Detail = "include " + f.rules.Include.String()
	}
	return r, nil
}

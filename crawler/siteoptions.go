package crawler

import (
	"cmp"
	"fmt"
	"net/http"
	"time"

	"github.com/permesso-crawler/permesso/fetch"
	"github.com/permesso-crawler/permesso/internal/setting"
)

// SiteOptions are the settings of one site: see Options.Site. The zero value is a site
// without settings of its own.
//
// Settings that allow more requests than for other sites need a Reason: AllowForbidden, and
// a budget that is larger than that of the crawl, or unlimited. No setting makes the pause
// of a site shorter, and only AllowForbidden allows otherwise forbidden requests.
type SiteOptions struct {
	Delay time.Duration // least pause, from the end of a response; one that is shorter than the pause in force has no effect

	MaxPages int           // pages of the site, instead of MaxHostPages; 0: as there, -1: no limit
	MaxBytes int64         // of its answers, instead of MaxHostBytes; 0: as there, -1: no limit
	MaxTime  time.Duration // total time of requests to it, instead of MaxHostTime; 0: as there, -1: no limit

	// Scope decides which pages of the site belong to the crawl, among those in
	// Options.Scope; nil: all. As there, seeds and requisites are fetched anyway. Admit is
	// never called: a caller that needs roots, as SamePrefix does, admits them before.
	Scope   Scope
	Exclude bool // it gets no request, not even for robots.txt; Reason is written to the log

	AllowForbidden bool        // its robots.txt permits if its status is 401, 402, 403 or 451, as RFC 9309 says
	Header         http.Header // further fields of its requests, which add to those of the crawl or replace them; the same are refused

	Reason string // why it has settings of its own: written to the Logger and to crawl.log
}

// CheckSite returns the error with which s for a site would end a crawl with the options o.
// The error is an *OptionError without a Site.
func (o *Options) CheckSite(s SiteOptions) error {
	if err := fetch.CheckHeader(s.Header); err != nil {
		return &OptionError{Field: "Site.Header", Reason: err.Error(), Err: err}
	}
	for _, n := range []struct{ field, wrong string }{
		{"Delay", setting.BelowNone(s.Delay)}, {"MaxPages", setting.BelowNone(s.MaxPages)}, {"MaxBytes", setting.BelowNone(s.MaxBytes)}, {"MaxTime", setting.BelowNone(s.MaxTime)},
	} {
		if n.wrong != "" {
			return &OptionError{Field: "Site." + n.field, Reason: n.wrong}
		}
	}
	if more := o.loosened(&s); s.Reason == "" && len(more) > 0 {
		return &OptionError{Field: "Site." + more[0].field, Reason: fmt.Sprintf("allows more requests than for other sites (%s): say why, in Reason", more[0])}
	}
	return nil
}

// A loosening is a setting that allows more requests than for other sites, with its name
// and value as a setting of a crawl.
type loosening struct{ field, setting, value string }

func (l loosening) String() string { return l.setting + "=" + l.value }

// loosened returns the settings of s that allow more requests than for other sites.
func (o *Options) loosened(s *SiteOptions) (more []loosening) {
	if s.AllowForbidden && !o.AllowForbidden {
		more = append(more, loosening{"AllowForbidden", "robots-forbidden", "allow"})
	}
	if larger(s.MaxPages, cmp.Or(o.MaxHostPages, DefaultHostPages)) {
		more = append(more, loosening{"MaxPages", "max-host-pages", setting.Count(&s.MaxPages, 0, 0).String()})
	}
	if larger(s.MaxBytes, o.MaxHostBytes) {
		more = append(more, loosening{"MaxBytes", "max-host-bytes", setting.Size(&s.MaxBytes, 0, 0).String()})
	}
	if larger(s.MaxTime, o.MaxHostTime) {
		more = append(more, loosening{"MaxTime", "max-host-time", setting.Span(&s.MaxTime, 0, 0).String()})
	}
	return more
}

// larger reports whether a budget of a site is larger than the usual one, which is
// unlimited if it is 0 or negative.
func larger[T ~int | ~int64](own, usual T) bool {
	return usual > 0 && (own < 0 || own > usual)
}

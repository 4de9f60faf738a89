package crawler

import (
	"cmp"
	"fmt"
	"net/http"
	"time"

	"github.com/permesso-crawler/permesso/fetch"
)

// SiteOptions are the settings of one site: see Options.Site. The zero value is a site
// like all others.
//
// What asks more of the site than of the others needs a Reason: AllowForbidden, and a
// budget that is larger than that of the crawl, or none. No setting makes the pause of a
// site shorter, or has something fetched that is not allowed otherwise but by
// AllowForbidden.
type SiteOptions struct {
	Delay time.Duration // least pause, from the end of a response; one that is shorter than what counts already has no effect

	MaxPages int           // pages of the site, in the place of MaxHostPages; 0: as there, -1: no limit
	MaxBytes int64         // of its answers, in the place of MaxHostBytes; 0: as there, -1: no limit
	MaxTime  time.Duration // of the requests to it in all, in the place of MaxHostTime; 0: as there, -1: no limit

	// Scope says which pages of the site belong to the crawl, of those that are in its
	// Scope; nil: all. As there, seeds are asked for all the same, and so is what pages
	// are shown with. Admit is never called: who wants what is near some roots admits
	// them himself, as to SamePrefix.
	Scope   Scope
	Exclude bool // it is asked for nothing, not even robots.txt, whoever names it; Reason stands in the log

	AllowForbidden bool        // its robots.txt permits where that answers 401, 402, 403 or 451, as RFC 9309 reads it
	Header         http.Header // further fields of its requests, beside those of the crawl or in their place; the same are refused

	Reason string // why it has settings of its own: told to the Logger, and kept in crawl.log
}

// CheckSite says what is not valid in s for a site of a crawl with the options o, as that
// would end the crawl: before it has begun. The error is an *OptionError without a Site.
func (o *Options) CheckSite(s SiteOptions) error {
	if err := fetch.CheckHeader(s.Header); err != nil {
		return &OptionError{Field: "Site.Header", Reason: err.Error(), Err: err}
	}
	for _, n := range []struct{ field, wrong string }{
		{"Delay", belowNone(s.Delay)}, {"MaxPages", belowNone(s.MaxPages)}, {"MaxBytes", belowNone(s.MaxBytes)}, {"MaxTime", belowNone(s.MaxTime)},
	} {
		if n.wrong != "" {
			return &OptionError{Field: "Site." + n.field, Reason: n.wrong}
		}
	}
	if more := o.loosened(&s); s.Reason == "" && len(more) > 0 {
		return &OptionError{Field: "Site." + more[0].field, Reason: fmt.Sprintf("asks for more than of other sites (%s): say why, in Reason", more[0])}
	}
	return nil
}

// A loosening is a setting that asks more of a site than of others: in the words of the
// settings of a crawl.
type loosening struct{ field, setting, value string }

func (l loosening) String() string { return l.setting + "=" + l.value }

// loosened are the settings of s that ask more of a site than of others.
func (o *Options) loosened(s *SiteOptions) (more []loosening) {
	if s.AllowForbidden && !o.AllowForbidden {
		more = append(more, loosening{"AllowForbidden", "robots-forbidden", "allow"})
	}
	if larger(s.MaxPages, cmp.Or(o.MaxHostPages, DefaultHostPages)) {
		more = append(more, loosening{"MaxPages", "max-host-pages", count(&s.MaxPages, 0, 0).String()})
	}
	if larger(s.MaxBytes, o.MaxHostBytes) {
		more = append(more, loosening{"MaxBytes", "max-host-bytes", size(&s.MaxBytes, 0, 0).String()})
	}
	if larger(s.MaxTime, o.MaxHostTime) {
		more = append(more, loosening{"MaxTime", "max-host-time", span(&s.MaxTime, 0, 0).String()})
	}
	return more
}

// larger reports whether a budget of a site is larger than the usual one, which is none
// where it is 0 or negative.
func larger[T ~int | ~int64](own, usual T) bool {
	return usual > 0 && (own < 0 || own > usual)
}

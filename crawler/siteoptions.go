package crawler

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/permesso-crawler/permesso/fetch"
	"github.com/permesso-crawler/permesso/frontier"
	"github.com/permesso-crawler/permesso/internal/kept"
	"github.com/permesso-crawler/permesso/internal/places"
	"github.com/permesso-crawler/permesso/internal/setting"
)

// CheckSite checks the settings s of a site. It returns the *OptionError with which a crawl with
// the options o would end if its Options.Site returned s. OptionError.Site is empty.
func (o *Options) CheckSite(s SiteOptions) error {
	if err := fetch.CheckHeader(s.Header, true); err != nil {
		return &OptionError{Field: "Site.Header", Reason: err.Error(), Err: err}
	}
	for _, n := range []struct{ field, wrong string }{
		{"Delay", setting.BelowNone(s.Delay)}, {"MaxPages", setting.BelowNone(s.MaxPages)}, {"MaxBytes", setting.BelowNone(s.MaxBytes)}, {"MaxTime", setting.BelowNone(s.MaxTime)},
	} {
		if n.wrong != "" {
			return &OptionError{Field: "Site." + n.field, Reason: n.wrong}
		}
	}
	if s.Reason == "" && fetch.CheckHeader(s.Header, false) != nil {
		return &OptionError{Field: "Site.Header", Reason: "has Authorization or Cookie, with which the crawl sees what is not public: say in Reason why the site may be crawled"}
	}
	if more := o.loosened(&s); s.Reason == "" && len(more) > 0 {
		return &OptionError{Field: "Site." + more[0].field, Reason: fmt.Sprintf("allows more requests than for other sites (%s): say why, in Reason", more[0])}
	}
	return nil
}

// A loosening is a setting of a site that allows more requests than for other sites. field is the
// name in SiteOptions, setting and value are the name and the value of the corresponding setting of
// a crawl.
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

// larger reports whether own, the budget of one site, is larger than usual, the budget of other
// sites. A usual budget of 0 or less is unlimited, and so is a negative own budget.
func larger[T ~int | ~int64](own, usual T) bool {
	return usual > 0 && (own < 0 || own > usual)
}

// ownSettings returns the settings in s that its site does not share with other sites.
func (o *Options) ownSettings(s *SiteOptions) (own []kept.Own) {
	wider := o.loosened(s)
	add := func(name, value string) {
		is := slices.ContainsFunc(wider, func(l loosening) bool { return l.setting == name })
		own = append(own, kept.Own{Name: name, Value: value, Wider: is})
	}
	if s.Delay > 0 {
		add("delay", setting.Span(&s.Delay, 0, 0).String())
	}
	if len(s.Header) > 0 {
		add("header", strings.Join(slices.Sorted(maps.Keys(s.Header)), " "))
	}
	if s.MaxBytes != 0 {
		add("max-host-bytes", setting.Size(&s.MaxBytes, 0, 0).String())
	}
	if s.MaxPages != 0 {
		add("max-host-pages", setting.Count(&s.MaxPages, 0, 0).String())
	}
	if s.MaxTime != 0 {
		add("max-host-time", setting.Span(&s.MaxTime, 0, 0).String())
	}
	if s.AllowForbidden {
		add("robots-forbidden", "allow")
	}
	if s.Scope != nil {
		add("scope", "")
	}
	return own
}

// siteSettings returns the settings of sites that have no settings of their own. fill must have
// filled in the defaults of o.
func (o *Options) siteSettings() kept.Site {
	return kept.Site{
		Policy: o.policy(), Delay: max(0, o.Delay),
		Max: frontier.Spent{Pages: max(0, o.MaxHostPages), Bytes: max(0, o.MaxHostBytes), Time: max(0, o.MaxHostTime)},
	}
}

// SitesByHost returns a function for Options.Site that looks up sites in a table. A key of the
// table is a host or a site. A host, such as example.org, includes all its subdomains, and every
// scheme and port. A site, such as http://localhost:8080, includes only itself. For each site only
// one key applies: the key of the site itself if there is one, otherwise the longest host name that
// includes it. Sites without a key have no settings of their own. The function is safe for
// concurrent use if the scopes in the table are. The table may be changed after SitesByHost has
// returned.
//
// The error is an *OptionError for a key that is neither a host nor a site, or that is equivalent
// to another key. OptionError.Site is the key as written. The settings in the table are not checked
// here: Options.CheckSite checks them, and so does each crawl.
func SitesByHost(table map[string]SiteOptions) (func(frontier.Site) SiteOptions, error) {
	hosts, sites := map[string]SiteOptions{}, map[frontier.Site]SiteOptions{}
	written := map[string]string{}
	for _, key := range slices.Sorted(maps.Keys(table)) {
		host, site, err := siteKey(key)
		if err != nil {
			return nil, err
		}
		name := host + string(site)
		if other, twice := written[name]; twice {
			return nil, &OptionError{Field: "Site", Site: key, Reason: fmt.Sprintf("names what %q does, too: take one of them out", other)}
		}
		if written[name] = key; host != "" {
			hosts[host] = table[key]
		} else {
			sites[site] = table[key]
		}
	}
	return func(site frontier.Site) SiteOptions {
		if o, ok := sites[site]; ok {
			return o
		}
		for name := site.Host(); name != ""; {
			if o, ok := hosts[name]; ok {
				return o
			}
			_, name, _ = strings.Cut(name, ".")
		}
		return SiteOptions{}
	}, nil
}

// siteKey parses a key of the table of SitesByHost. It returns either a host or a site.
func siteKey(key string) (host string, site frontier.Site, err error) {
	if !strings.Contains(key, "://") {
		if host = places.Host(key); host == "" {
			return "", "", &OptionError{Field: "Site", Site: key, Reason: "is neither a host, such as example.org, which includes all hosts below it and all ports, nor a site, such as http://localhost:8080"}
		}
		return host, "", nil
	}
	u, err := frontier.ParseURL(key)
	switch {
	case err != nil:
		return "", "", &OptionError{Field: "Site", Site: key, Reason: err.Error(), Err: err}
	case u.Target() != "/":
		return "", "", &OptionError{Field: "Site", Site: key, Reason: fmt.Sprintf("is a page: write the site alone, as %s", u.Site())}
	}
	return "", u.Site(), nil
}

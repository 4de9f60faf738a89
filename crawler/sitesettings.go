package crawler

import (
	"iter"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/permesso-crawler/permesso/frontier"
	"github.com/permesso-crawler/permesso/internal/setting"
	"github.com/permesso-crawler/permesso/internal/store"
	"github.com/permesso-crawler/permesso/robots"
)

// SiteSettings are the settings that apply to one site: each is the setting that the site has
// of its own, or else that of the crawl.
type SiteSettings struct {
	Policy robots.Policy
	Delay  time.Duration  // least pause between two requests, if the site does not require a longer one; 0: none
	Max    frontier.Spent // the budget of the site; 0: no limit
	Own    []OwnSetting   // the settings that only this site has, sorted by name
	Reason string         // why it has them: SiteOptions.Reason
}

// An OwnSetting is a setting that one site has of its own. Value is in the form of
// Setting.String, with two exceptions: for the setting "header" it is the names of the fields,
// for "scope" it is empty.
type OwnSetting struct {
	Name  string `json:"name"`
	Value string `json:"value"`
	Wider bool   `json:"wider,omitempty"` // the setting allows more requests than for other sites
}

// ownSettings returns the settings that s has for its site, other than those of all sites in a
// crawl with the options o.
func (o *Options) ownSettings(s *SiteOptions) (own []OwnSetting) {
	wider := o.loosened(s)
	add := func(name, value string) {
		is := slices.ContainsFunc(wider, func(l loosening) bool { return l.setting == name })
		own = append(own, OwnSetting{name, value, is})
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

// siteSettings returns the settings for sites that have none of their own. o must have its
// defaults filled in (see fill).
func (o *Options) siteSettings() SiteSettings {
	return SiteSettings{
		Policy: o.policy(), Delay: max(0, o.Delay),
		Max: frontier.Spent{Pages: max(0, o.MaxHostPages), Bytes: max(0, o.MaxHostBytes), Time: max(0, o.MaxHostTime)},
	}
}

// With returns a copy of s in which the settings in own replace those of the crawl. Settings
// with unknown names are ignored. The error says which value is invalid.
func (s SiteSettings) With(own []OwnSetting, reason string) (SiteSettings, error) {
	var o Options
	all := o.Settings()
	s.Own, s.Reason = own, reason
	for _, one := range own {
		i := slices.IndexFunc(all, func(of setting.Setting) bool { return of.Name == one.Name })
		if i < 0 {
			continue
		}
		switch one.Name {
		case "delay", "max-host-bytes", "max-host-pages", "max-host-time", "robots-forbidden":
			if err := restore(all[i], one.Value); err != nil {
				return s, err
			}
		}
		switch one.Name {
		case "delay":
			s.Delay = max(s.Delay, o.Delay)
		case "max-host-bytes":
			s.Max.Bytes = max(0, o.MaxHostBytes)
		case "max-host-pages":
			s.Max.Pages = max(0, o.MaxHostPages)
		case "max-host-time":
			s.Max.Time = max(0, o.MaxHostTime)
		case "robots-forbidden":
			s.Policy.AllowForbidden = s.Policy.AllowForbidden || o.AllowForbidden
		}
	}
	return s, nil
}

// Over returns which budget of s is used up by what a site has spent. The result is the name
// and the value of the setting, or "" if no budget is used up.
func (s *SiteSettings) Over(spent frontier.Spent) string {
	var o Options
	switch {
	case s.Max.Pages > 0 && spent.Pages >= s.Max.Pages:
		o.MaxHostPages = s.Max.Pages
		return "max-host-pages " + o.setting("max-host-pages").String()
	case s.Max.Bytes > 0 && spent.Bytes >= s.Max.Bytes:
		o.MaxHostBytes = s.Max.Bytes
		return "max-host-bytes " + o.setting("max-host-bytes").String()
	case s.Max.Time > 0 && spent.Time >= s.Max.Time:
		o.MaxHostTime = s.Max.Time
		return "max-host-time " + o.setting("max-host-time").String()
	}
	return ""
}

// A keptSite has the settings that are stored for a site: those that it had of its own at the
// last request to it.
type keptSite struct {
	Own    []OwnSetting `json:"own,omitempty"`
	Reason string       `json:"reason,omitempty"`
}

// keySite is the prefix of the keys under which keptSite values are stored. The site follows
// it.
const keySite = "site "

func (s *keptSite) none() bool { return len(s.Own) == 0 && s.Reason == "" }

// keepsSites reports whether a crawl stores settings of any site.
func keepsSites(from store.Values) (bool, error) {
	for _, err := range from.Keys(keySite) {
		return err == nil, err
	}
	return false, nil
}

// StoredSites reads the settings that a crawl has stored for single sites.
type StoredSites struct {
	usual SiteSettings
	from  store.Values // nil: no site has settings of its own
}

// ReadStoredSites returns the StoredSites of a crawl. o are the options of its last run.
func ReadStoredSites(from store.Values, o Options) (StoredSites, error) {
	_ = o.fill() // a run had these settings: they are valid
	s := StoredSites{usual: o.siteSettings()}
	any, err := keepsSites(from)
	if any {
		s.from = from
	}
	return s, err
}

// Of returns the settings that applied to a site at the time of the last request to it. If the
// site has no settings of its own, they are those of the last run.
func (s *StoredSites) Of(site frontier.Site) (SiteSettings, error) {
	if s.from == nil {
		return s.usual, nil
	}
	var kept keptSite
	if ok, err := s.from.Get(keySite+string(site), &kept); !ok || err != nil {
		return s.usual, err
	}
	return s.usual.With(kept.Own, kept.Reason)
}

// Sites iterates over the sites that have settings of their own, in byte order; Of returns the
// settings of each. If the directory cannot be read, the last pair has the error.
func (s *StoredSites) Sites() iter.Seq2[frontier.Site, error] {
	return func(yield func(frontier.Site, error) bool) {
		if s.from == nil {
			return
		}
		for name, err := range s.from.Keys(keySite) {
			site, one := frontier.Site(name), SiteSettings{}
			if err == nil {
				one, err = s.Of(site)
			}
			switch {
			case err != nil:
				yield("", err)
				return
			case len(one.Own) == 0 && one.Reason == "":
			case !yield(site, nil):
				return
			}
		}
	}
}

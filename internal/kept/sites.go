package kept

import (
	"fmt"
	"iter"
	"strings"
	"time"

	"github.com/permesso-crawler/permesso/frontier"
	"github.com/permesso-crawler/permesso/internal/setting"
	"github.com/permesso-crawler/permesso/internal/store"
	"github.com/permesso-crawler/permesso/robots"
)

// A Site has the settings that apply to one site: each is the setting that the site has of its
// own, or else that of the crawl.
type Site struct {
	Policy robots.Policy
	Delay  time.Duration  // least pause between two requests, if the site does not require a longer one; 0: none
	Max    frontier.Spent // the budget of the site; 0: no limit
	Own    []Own          // the settings that only this site has, sorted by name
	Reason string         // why it has them: crawler.SiteOptions.Reason
}

// An Own is a setting that one site has of its own. Value is in the form of Setting.String, with
// two exceptions: for the setting "header" it is the names of the fields, for "scope" it is empty.
type Own struct {
	Name  string `json:"name"`
	Value string `json:"value"`
	Wider bool   `json:"wider,omitempty"` // the setting allows more requests than for other sites
}

// With returns a copy of s in which the settings in own replace those of the crawl. Settings
// with unknown names are ignored. The error says which value is invalid.
func (s Site) With(own []Own, reason string) (Site, error) {
	s.Own, s.Reason = own, reason
	for _, one := range own {
		var err error
		switch one.Name {
		case "delay":
			var delay time.Duration
			err = setting.Span(&delay, frontier.DefaultDelay, 0).Set(one.Value)
			s.Delay = max(s.Delay, delay)
		case "max-host-bytes":
			err = setting.Size(&s.Max.Bytes, 0, 0).Set(one.Value)
			s.Max.Bytes = max(0, s.Max.Bytes)
		case "max-host-pages":
			err = setting.Count(&s.Max.Pages, 0, 0).Set(one.Value)
			s.Max.Pages = max(0, s.Max.Pages)
		case "max-host-time":
			err = setting.Span(&s.Max.Time, 0, 0).Set(one.Value)
			s.Max.Time = max(0, s.Max.Time)
		case "robots-forbidden":
			switch {
			case strings.EqualFold(one.Value, "allow"):
				s.Policy.AllowForbidden = true
			case !strings.EqualFold(one.Value, "deny"):
				err = fmt.Errorf("%q is not one of deny, allow", one.Value)
			}
		}
		if err != nil {
			return s, err
		}
	}
	return s, nil
}

// Over returns which budget of s is used up by what a site has spent. The result is the name
// and the value of the setting, or "" if no budget is used up.
func (s *Site) Over(spent frontier.Spent) string {
	switch m := s.Max; {
	case m.Pages > 0 && spent.Pages >= m.Pages:
		return "max-host-pages " + setting.Count(&m.Pages, 0, 0).String()
	case m.Bytes > 0 && spent.Bytes >= m.Bytes:
		return "max-host-bytes " + setting.Size(&m.Bytes, 0, 0).String()
	case m.Time > 0 && spent.Time >= m.Time:
		return "max-host-time " + setting.Span(&m.Time, 0, 0).String()
	}
	return ""
}

// An OfSite has the settings that are stored for a site, under KeySite and the site: those that it
// had of its own at the last request to it.
type OfSite struct {
	Own    []Own  `json:"own,omitempty"`
	Reason string `json:"reason,omitempty"`
}

// KeySite is the prefix of the keys under which OfSite values are stored.
const KeySite = "site "

// None reports whether the site had no settings of its own.
func (s *OfSite) None() bool { return len(s.Own) == 0 && s.Reason == "" }

// Any reports whether a crawl stores settings of any site.
func Any(from store.Values) (bool, error) {
	for _, err := range from.Keys(KeySite) {
		return err == nil, err
	}
	return false, nil
}

// Sites reads the settings that a crawl has stored for single sites.
type Sites struct {
	usual Site
	from  store.Values // nil: no site has settings of its own
}

// ReadSites returns the Sites of a crawl. The sites without settings of their own have the usual
// ones: those of the last run.
func ReadSites(from store.Values, usual Site) (Sites, error) {
	s := Sites{usual: usual}
	any, err := Any(from)
	if any {
		s.from = from
	}
	return s, err
}

// Of returns the settings that applied to a site at the time of the last request to it. If the
// site has no settings of its own, they are those of the last run.
func (s *Sites) Of(site frontier.Site) (Site, error) {
	if s.from == nil {
		return s.usual, nil
	}
	var kept OfSite
	if ok, err := s.from.Get(KeySite+string(site), &kept); !ok || err != nil {
		return s.usual, err
	}
	return s.usual.With(kept.Own, kept.Reason)
}

// Sites iterates over the sites that have settings of their own, in byte order; Of returns the
// settings of each. If the directory cannot be read, the last pair has the error.
func (s *Sites) Sites() iter.Seq2[frontier.Site, error] {
	return func(yield func(frontier.Site, error) bool) {
		if s.from == nil {
			return
		}
		for name, err := range s.from.Keys(KeySite) {
			site, one := frontier.Site(name), Site{}
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

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

// A Site has the settings that apply to one site: its own settings, and the crawl's settings
// for all others.
type Site struct {
	Policy robots.Policy
	Delay  time.Duration  // least pause between two requests, unless the site requires a longer one; 0: none
	Max    frontier.Spent // budget of the site; 0: no limit
	Own    []Own          // settings that only this site has, sorted by name
	Reason string         // why the site has its own settings: crawler.SiteOptions.Reason
}

// An Own is one setting that a site has of its own. Value has the form of Setting.String, with
// two exceptions: for the setting "header" it has only the names of the fields, and for "scope"
// it is empty.
type Own struct {
	Name  string `json:"name"`
	Value string `json:"value"`
	Wider bool   `json:"wider,omitempty"` // the setting allows more requests than other sites get
}

// With returns a copy of s in which the settings in own replace those of the crawl. It ignores
// settings with unknown names. If a value is invalid, it returns an error about it.
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

// Over returns the name and the value of the setting whose budget is used up, when a site has
// spent the given amounts. It returns "" if no budget is used up.
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

// An OfSite has the stored settings of a site: those that it had of its own at its last
// request. It is stored under the key KeySite with the name of the site.
type OfSite struct {
	Own    []Own  `json:"own,omitempty"`
	Reason string `json:"reason,omitempty"`
}

// KeySite is the prefix of the keys in the state under which OfSite values are stored.
const KeySite = "site "

// None reports whether the site had no settings of its own.
func (s *OfSite) None() bool { return len(s.Own) == 0 && s.Reason == "" }

// Any reports whether a crawl has stored settings for any site.
func Any(from store.Values) (bool, error) {
	for _, err := range from.Keys(KeySite) {
		return err == nil, err
	}
	return false, nil
}

// Sites reads the stored settings of single sites.
type Sites struct {
	usual Site
	from  store.Values // the values of the crawl; nil: no site has settings of its own
}

// ReadSites returns the Sites of a crawl. usual has the settings of the last run, which apply
// to sites without settings of their own.
func ReadSites(from store.Values, usual Site) (Sites, error) {
	s := Sites{usual: usual}
	any, err := Any(from)
	if any {
		s.from = from
	}
	return s, err
}

// Of returns the settings of a site at the time of its last request. If the site has none of
// its own, these are the settings of the last run.
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

// Sites iterates over the sites that have settings of their own, in byte order. Of returns the
// settings of each. If the state cannot be read, the last pair has the error.
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

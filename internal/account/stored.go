package account

import (
	"github.com/permesso-crawler/permesso/crawler"
	"github.com/permesso-crawler/permesso/frontier"
	"github.com/permesso-crawler/permesso/internal/kept"
	"github.com/permesso-crawler/permesso/internal/setting"
	"github.com/permesso-crawler/permesso/internal/store"
	"github.com/permesso-crawler/permesso/robots"
)

// A Stored has those options of the last run of a crawl that are stored in its directory.
type Stored struct {
	// Options has the identity and the settings that have a text form. It leaves out the
	// settings of connections (GroupWire), the seeds, and the functions of the program.
	Options crawler.Options
	// Untold are the settings whose values could not be stored because they have no text form,
	// such as a scope that is a function of the program. In Options they have their defaults.
	Untold []crawler.Change
}

// ReadStored reads the options of the last run. ok is false for a directory in which no run
// has begun yet.
func ReadStored(from store.Values) (s Stored, ok bool, err error) {
	id, texts, ok, err := kept.LastRun(from)
	if !ok || err != nil {
		return s, ok, err
	}
	s.Options.Identity = crawler.Identity(id)
	for _, set := range kept.Restore(s.Options.Settings(), texts) {
		s.Untold = append(s.Untold, crawler.Change{
			Setting: set.Name, Was: setting.InWords(texts[set.Name]), Is: setting.InWords(set.String()), Way: setting.Other, Effect: set.Resume,
		})
	}
	return s, true, nil
}

// usual returns the settings of sites that have none of their own.
func (s *Stored) usual() kept.Site {
	o := s.Options
	for _, set := range o.Settings() {
		if number, ok := set.Value.(interface{ Fill() string }); ok {
			number.Fill() // fill in the default; the value is valid, because a run had it
		}
	}
	return kept.Site{
		Policy: robots.Policy{Dialect: o.Dialect, Token: o.Identity.Token, Aliases: o.Aliases, AllowForbidden: o.AllowForbidden}, Delay: max(0, o.Delay),
		Max: frontier.Spent{Pages: max(0, o.MaxHostPages), Bytes: max(0, o.MaxHostBytes), Time: max(0, o.MaxHostTime)},
	}
}

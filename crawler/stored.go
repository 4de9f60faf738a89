package crawler

import (
	"slices"
	"strings"

	"github.com/permesso-crawler/permesso/internal/setting"
	"github.com/permesso-crawler/permesso/internal/store"
)

// A Stored has the options of the last run of a crawl, as far as they are stored in its
// directory.
type Stored struct {
	// Options has the identity, and the settings that have a text form. The settings of
	// connections (GroupWire), the seeds, and the functions of the program are left out.
	Options Options
	// Untold are the settings whose values could not be stored because they have no text form,
	// such as a scope that is a function of the program. In Options they have their defaults.
	Untold []Change
}

// ReadStored reads the options of the last run. ok is false for a directory in which no run
// has begun yet.
func ReadStored(from store.Values) (s Stored, ok bool, err error) {
	var last asked
	if ok, err = from.Get(keyAsked, &last); !ok || err != nil {
		return s, ok, err
	}
	s.Options.Identity = last.Identity
	for _, set := range s.Options.Settings() {
		text, known := last.Settings[set.Name]
		if !known || set.Group == setting.GroupWire || text == set.String() {
			continue
		}
		if err := restore(set, text); err != nil {
			s.Untold = append(s.Untold, Change{Setting: set.Name, Was: setting.InWords(text), Is: setting.InWords(set.String()), Way: setting.Other, Effect: set.Resume})
		}
	}
	return s, true, nil
}

// listSettings are the names of settings that are lists: String returns all elements in one
// text, and Set takes one element at a time.
var listSettings = []string{"alias"}

// restore sets a setting from a text that its method String has returned.
func restore(s setting.Setting, text string) error {
	if !slices.Contains(listSettings, s.Name) {
		return s.Set(text)
	}
	for _, word := range strings.Fields(text) {
		if err := s.Set(word); err != nil {
			return err
		}
	}
	return nil
}

package crawler

import (
	"slices"
	"strings"

	"github.com/permesso-crawler/permesso/internal/setting"
	"github.com/permesso-crawler/permesso/storage"
)

// Values reads what a crawl stores about itself: a storage.Reader or a storage.DB.
type Values = storage.Values

// A Stored has the options of the last run of a crawl, from its directory.
type Stored struct {
	// Options have the identity, and each setting that has a text form. The settings of
	// connections (GroupWire), the seeds, and functions of the program are not stored.
	Options Options
	// Untold are settings whose value cannot be stored because the program has made it, such as
	// a scope that is a function. In Options they have their defaults.
	Untold []Change
}

// ReadStored reads the options of the last run. ok is false for a directory in which no run
// has begun yet.
func ReadStored(from Values) (s Stored, ok bool, err error) {
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

// restore sets a setting from text, a result of its String method.
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

package crawler

import (
	"slices"
	"strings"

	"github.com/permesso-crawler/permesso/storage"
)

// Values are what a crawl keeps about itself: those of a storage.Reader, or of a
// storage.DB.
type Values = storage.Values

// A Stored is what the last run of a crawl was asked to be, as its directory tells it.
type Stored struct {
	// Options have the identity, and each setting that text can say. How sites were
	// reached is left out (GroupWire), and so are seeds and functions of the program.
	Options Options
	// Untold are settings whose value is one that the program made: a scope, as a
	// function. In Options they have their defaults.
	Untold []Change
}

// ReadStored reads what the last run was asked to be. ok is false for a directory
// in which no run has begun yet.
func ReadStored(from Values) (s Stored, ok bool, err error) {
	var last asked
	if ok, err = from.Get(keyAsked, &last); !ok || err != nil {
		return s, ok, err
	}
	s.Options.Identity = last.Identity
	for _, set := range s.Options.Settings() {
		text, known := last.Settings[set.Name]
		if !known || set.Group == GroupWire || text == set.String() {
			continue
		}
		if err := set.restore(text); err != nil {
			s.Untold = append(s.Untold, Change{Setting: set.Name, Was: InWords(text), Is: InWords(set.String()), Way: Other, Effect: set.Resume})
		}
	}
	return s, true, nil
}

// listSettings are those that String tells as words, and Set takes one by one.
var listSettings = []string{"alias"}

// restore sets what String has told.
func (s Setting) restore(text string) error {
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

// Package kept reads what a crawl has stored about itself: the settings of its last run, those of
// single sites, and the roots of its scope.
package kept

import (
	"iter"
	"slices"
	"strings"

	"github.com/permesso-crawler/permesso/frontier"
	"github.com/permesso-crawler/permesso/internal/processes"
	"github.com/permesso-crawler/permesso/internal/setting"
	"github.com/permesso-crawler/permesso/internal/store"
)

// KeyAsked is the key under which the options of the last run are stored.
const KeyAsked = processes.HistoryKey

// An Identity is a crawler.Identity.
type Identity struct{ Token, Contact, Mail string }

// LastRun returns the identity and the settings of the last run of a crawl. The map has the name of
// each setting and its text (see Setting.String). ok is false for a directory in which no run has
// begun.
func LastRun(from store.Values) (id Identity, settings map[string]string, ok bool, err error) {
	var last struct {
		Identity Identity
		Settings map[string]string
	}
	ok, err = from.Get(KeyAsked, &last)
	return last.Identity, last.Settings, ok, err
}

// Asked is like LastRun, but if no run has begun, the error is a *store.NotBegunError. A run stores
// its options before its first request.
func Asked(r *store.Reader) (Identity, map[string]string, error) {
	id, settings, ok, err := LastRun(r)
	if err == nil && !ok {
		err = &store.NotBegunError{Dir: r.Dir()}
	}
	return id, settings, err
}

// Restore sets all settings from the texts of the last run, except those of connections
// (setting.GroupWire). It returns the settings whose values have no text form, such as a scope
// that is a function of the program: they keep their values.
func Restore(all []setting.Setting, texts map[string]string) (untold []setting.Setting) {
	for _, set := range all {
		text, known := texts[set.Name]
		if !known || set.Group == setting.GroupWire || text == set.String() {
			continue
		}
		if err := restore(set, text); err != nil {
			untold = append(untold, set)
		}
	}
	return untold
}

// lists are the names of settings that are lists: String returns all elements in one text, and
// Set takes one element at a time.
var lists = []string{"alias"}

// restore sets a setting from a text that its method String has returned.
func restore(s setting.Setting, text string) error {
	if !slices.Contains(lists, s.Name) {
		return s.Set(text)
	}
	for _, word := range strings.Fields(text) {
		if err := s.Set(word); err != nil {
			return err
		}
	}
	return nil
}

// KeyRoot is the prefix of the keys with the URLs at which redirects of a seed have ended.
const KeyRoot = "root "

// Roots iterates over the roots of the scope that a crawl has stored. Such a root is a URL at
// which redirects of a seed have ended. A stored text that is not a URL is left out. If the
// directory cannot be read, the last pair has the error. The body of the loop may use from.
func Roots(from store.Values) iter.Seq2[frontier.URL, error] {
	return func(yield func(frontier.URL, error) bool) {
		for raw, err := range from.Keys(KeyRoot) {
			root, bad := frontier.ParseURL(raw)
			if err == nil && bad != nil {
				continue
			}
			if !yield(root, err) || err != nil {
				return
			}
		}
	}
}

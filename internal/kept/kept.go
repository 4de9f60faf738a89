// Package kept reads what a crawl has stored about itself: the settings of its last run, the
// settings of single sites, and the roots of its scope.
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

// KeyAsked is the key in the state under which the options of the last run are stored.
const KeyAsked = processes.HistoryKey

// An Identity is a crawler.Identity.
type Identity struct{ Token, Contact, Mail string }

// LastRun returns the identity and the settings of the last run of a crawl. settings has the
// text of each setting (see Setting.String), by name. ok is false if no run has begun.
func LastRun(from store.Values) (id Identity, settings map[string]string, ok bool, err error) {
	var last struct {
		Identity Identity
		Settings map[string]string
	}
	ok, err = from.Get(KeyAsked, &last)
	return last.Identity, last.Settings, ok, err
}

// Asked is like LastRun, but returns a *store.NotBegunError if no run has begun. A run stores
// its options before its first request.
func Asked(r *store.Reader) (Identity, map[string]string, error) {
	id, settings, ok, err := LastRun(r)
	if err == nil && !ok {
		err = &store.NotBegunError{Dir: r.Dir()}
	}
	return id, settings, err
}

// Restore sets all settings from their texts in the last run, except settings of connections
// (setting.GroupWire). It returns the settings whose values have no text form, such as a scope
// that is a function of the program. These settings are not changed.
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

// lists has the names of settings that are lists. String returns all elements as one text, and
// Set takes one element at a time.
var lists = []string{"alias"}

// restore sets a setting from the text that its method String has returned.
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

// KeyRoot is the prefix of the keys in the state under which URLs are stored to which seeds
// have redirected.
const KeyRoot = "root "

// Roots iterates over the stored roots of the scope: the URLs to which seeds have redirected.
// It skips a stored text that is not a URL. If the state cannot be read, the last pair has the
// error. The body of the loop may use from.
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

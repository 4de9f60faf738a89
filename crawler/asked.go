package crawler

import "github.com/permesso-crawler/permesso/internal/store"

// LastRun returns the identity and the settings of the last run of the crawl in r. The map has
// the name of each setting (see Options.Settings) and its text (see Setting.String). If no run
// has begun, the error is a *storage.NotBegunError.
func LastRun(r *store.Reader) (Identity, map[string]string, error) {
	var last asked
	err := lastAsked(r, &last)
	return last.Identity, last.Settings, err
}

// lastAsked reads the options of the last run. A run stores its options before its first
// request. If none are stored, no run has made a request, and the error is a
// *storage.NotBegunError.
func lastAsked(r *store.Reader, last *asked) error {
	known, err := r.Get(keyAsked, last)
	if err == nil && !known {
		err = &store.NotBegunError{Dir: r.Dir()}
	}
	return err
}

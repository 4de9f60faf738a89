package crawler

import "github.com/permesso-crawler/permesso/storage"

// LastRun is who crawls, and the settings of the last run of the crawl in r, by the
// names of Options.Settings and as Setting.String writes them. The error is a
// *storage.NotBegunError if no run has begun.
func LastRun(r *storage.Reader) (Identity, map[string]string, error) {
	var last asked
	err := lastAsked(r, &last)
	return last.Identity, last.Settings, err
}

// lastAsked reads what the last run was asked to be. A run keeps that before its first
// request: where nothing is kept, it ended before, and the error is a
// *storage.NotBegunError.
func lastAsked(r *storage.Reader, last *asked) error {
	known, err := r.Get(keyAsked, last)
	if err == nil && !known {
		err = &storage.NotBegunError{Dir: r.Dir()}
	}
	return err
}

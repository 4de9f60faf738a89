package crawler

import "github.com/permesso-crawler/permesso/storage"

// LastRun is who crawls, and the settings of the last run of the crawl in r, by the
// names of Options.Settings and as Setting.String writes them. The Identity has no
// Token where no run has begun.
func LastRun(r *storage.Reader) (Identity, map[string]string, error) {
	var last asked
	_, err := r.Get(keyAsked, &last)
	return last.Identity, last.Settings, err
}

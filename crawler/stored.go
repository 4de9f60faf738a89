package crawler

import (
	"github.com/permesso-crawler/permesso/internal/kept"
	"github.com/permesso-crawler/permesso/internal/store"
)

// readStored reads the options of the last run, as far as they are stored: without those of
// connections, the seeds, and the functions of the program. whole is false if the value of any
// other option could not be stored. ok is false for a directory in which no run has begun yet.
func readStored(from store.Values) (o Options, whole, ok bool, err error) {
	id, texts, ok, err := kept.LastRun(from)
	if !ok || err != nil {
		return o, false, ok, err
	}
	o.Identity = Identity(id)
	return o, len(kept.Restore(o.Settings(), texts)) == 0, true, nil
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

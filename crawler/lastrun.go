package crawler

import (
	"time"

	"github.com/permesso-crawler/permesso/internal/kept"
	"github.com/permesso-crawler/permesso/internal/processes"
	"github.com/permesso-crawler/permesso/internal/setting"
	"github.com/permesso-crawler/permesso/internal/store"
)

// storedRun holds the options of a run. They are stored with the crawl so that the next run can
// report changed options.
type storedRun struct {
	Identity Identity
	Settings map[string]string
	Began    time.Time // start of the run
	// This run or an earlier one had Options.Revisit, so the queue has URLs that wait to be fetched
	// again.
	Revisits bool
	// A rescan (Options.Rescan) was begun by this run or an earlier one, and no run has completed
	// it.
	Rescan bool

	processes.History // the processes of all runs, including this run
}

// changes returns the settings whose values in o differ from those of the last run. A setting that
// the last run did not know yet is compared with its default.
func (a storedRun) changes(o *Options) (all []Change) {
	usual := new(Options).Settings()
	for i, s := range o.Settings() {
		if s.Resume == setting.ThisRun {
			continue
		}
		was, known := a.Settings[s.Name]
		if !known {
			was = usual[i].String()
		}
		if is := s.String(); was != is {
			all = append(all, Change{Setting: s.Name, Was: setting.InWords(was), Is: setting.InWords(is), Way: s.Compare(was, is), Effect: s.Resume})
		}
	}
	return all
}

// readStored reads the options of the last run. Seeds, functions of the program and options of
// connections are not stored, and stay zero in o. whole is false if another option could not be
// stored. ok is false if no run has begun in the directory yet.
func readStored(from store.Values) (o Options, whole, ok bool, err error) {
	id, texts, ok, err := kept.LastRun(from)
	if !ok || err != nil {
		return o, false, ok, err
	}
	o.Identity = Identity(id)
	return o, len(kept.Restore(o.Settings(), texts)) == 0, true, nil
}

// readStoredRun reads the options of the last run into last. The error is a *storage.NotBegunError
// if none are stored. A run stores its options before its first request, so no run has made a
// request then.
func readStoredRun(r *store.Reader, last *storedRun) error {
	known, err := r.Get(keyStoredRun, last)
	if err == nil && !known {
		err = &store.NotBegunError{Dir: r.Dir()}
	}
	return err
}

// Keys of the values that a crawl stores about itself.
const (
	keyRoot      = kept.KeyRoot  // prefix of URLs at which redirects of a seed ended
	keyStoredRun = kept.KeyAsked // the options of the last run
)

// keyStatus is the key of the keptStatus of a run.
const keyStatus = processes.EndKey

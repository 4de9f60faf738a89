package crawler

import (
	"time"

	"github.com/permesso-crawler/permesso/internal/kept"
	"github.com/permesso-crawler/permesso/internal/processes"
	"github.com/permesso-crawler/permesso/internal/setting"
	"github.com/permesso-crawler/permesso/internal/store"
)

// asked has the options of a run, stored with the crawl so that the next run can report
// what has changed.
type asked struct {
	Identity Identity
	Settings map[string]string
	Began    time.Time // start of the run
	Revisits bool      // some run had Options.Revisit: the queue has URLs that wait to be fetched again
	Rescan   bool      // this run, or an earlier one, has begun a rescan of the archive that has not ended

	processes.History // the processes of all runs, including this run
}

// changes returns the settings whose values in o differ from those of the last run. If a
// setting did not exist yet in the last run, its default counts as the value of that run.
func (a asked) changes(o *Options) (all []Change) {
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

// Keys of the values that a crawl stores about itself.
const (
	keyRoot  = kept.KeyRoot  // prefix of URLs at which redirects of a seed ended
	keyAsked = kept.KeyAsked // the options of the last run
)

// keyStatus is the key of the keptStatus of a run.
const keyStatus = processes.EndKey

package crawler

import (
	"fmt"
	"os"
	"path/filepath"
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

// A Start describes the beginning of a run.
type Start struct {
	Resumed  bool     // an earlier run had begun the crawl
	Changes  []Change // settings that differ from those of the last run
	Rescan   bool     // this run continues a rescan of the archive (Options.Rescan), which an earlier run began and did not end
	Requeued int      // number of URLs that are queued again: an earlier run with a narrower scope had dropped them from the queue
	Orders   []Order  // calls of Slow and Exclude in earlier runs that still apply
	Carried  int      // in the first run of a crawl, the number of sites whose robots.txt was copied from Options.Previous
}

// A Change is a setting whose value differs from that in the last run. Was and Is are the old
// and the new value.
type Change struct {
	Setting, Was, Is string
	Way              setting.Way    // "tighter", "wider" or "other"
	Effect           setting.Effect // how the changed setting takes effect, in words
}

// String returns the setting with its old and its new value.
func (c Change) String() string { return fmt.Sprintf("%s: %s -> %s", c.Setting, c.Was, c.Is) }

// begun logs the changed settings, and calls Options.OnStart.
func (c *Crawler) begun(s Start) error {
	for _, d := range s.Changes {
		c.opts.Logger.Info("resumed with another setting", "setting", d.Setting, "was", d.Was, "is", d.Is)
	}
	if c.opts.OnStart == nil {
		return nil
	}
	return safely("OnStart", func() { c.opts.OnStart(s) })
}

func (c *Crawler) asked() asked {
	a := asked{Identity: c.opts.Identity, Settings: map[string]string{}, Began: time.Now().UTC()}
	for _, s := range c.opts.Settings() {
		a.Settings[s.Name] = s.String()
	}
	return a
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

// Idle reports whether Run would send no request and only record that it ran. That is so if the
// last run had the same settings, all seeds are known to the crawl, and the last run ended
// because its queue was empty. If Idle returns true, Summary returns the Summary that Run would
// have, and a program may skip Run, so that every file of the crawl stays unchanged. Idle
// changes nothing. If a file of the crawl cannot be read, it returns false, and Run will report
// the error. It must be called before Run: after that it returns false.
func (c *Crawler) Idle() bool {
	o := &c.opts
	c.mu.Lock()
	late := c.ran || len(c.early) > 0
	c.mu.Unlock()
	if o.Dir == "" || o.State != nil || o.Rescan || len(o.Lift) > 0 || o.Revisit != nil || late {
		return false
	}
	if _, err := os.Stat(filepath.Join(o.Dir, store.StateFile)); err != nil {
		return false
	}
	r, err := store.OpenReader(o.Dir)
	if err != nil {
		return false
	}
	defer r.Close()
	still, ok := c.still(r)
	if ok {
		c.idle = &still
	}
	return ok
}

// still returns the summary of a run that finds nothing to do; ok is false if there may be
// something to do.
func (c *Crawler) still(r *store.Reader) (s Summary, ok bool) {
	var was asked
	if known, err := r.Get(keyAsked, &was); !known || err != nil || was.Revisits || was.Identity != c.opts.Identity || len(was.changes(&c.opts)) > 0 {
		return s, false
	}
	if last, err := lastStatus(r, &was); err != nil || last.State != StateEnded || last.End != EndDone {
		return s, false
	}
	if orders, err := readOrders(r.Dir(), r); err != nil || len(orders) > 0 || !asWritten(r) {
		return s, false
	}
	if aside, err := r.Aside(); err != nil || aside {
		return s, false
	}
	if _, whole, _, err := readStored(r); err != nil || !whole { // some settings have no text that could be compared
		return s, false
	}
	s.End = EndDone
	left := 0
	for st, err := range r.Sites() {
		if err != nil {
			return s, false
		}
		left += st.Left()
		s.Frontier.Done += st.Known
		s.Frontier.Spent.Pages += st.Spent.Pages
		s.Frontier.Spent.Bytes += st.Spent.Bytes
		s.Frontier.Spent.Time += st.Spent.Time
		if !st.Clocks.Ended.IsZero() {
			s.Sites++
		}
	}
	s.Frontier.Sites = s.Sites
	if left > 0 {
		return s, false
	}
	for _, e := range c.seeds {
		if _, known, err := r.Entry(e.URL); !known || err != nil {
			return s, false
		}
	}
	return s, true
}

// asWritten reports whether the files of a crawl exist and have the lengths that the state
// records. If it returns false, a run is needed to repair them.
func asWritten(r *store.Reader) bool {
	written, err := r.Written()
	for name, w := range written {
		info, serr := os.Stat(filepath.Join(r.Dir(), filepath.FromSlash(name)))
		if w.Length > 0 && (serr != nil || info.Size() != w.Length) {
			return false
		}
	}
	return err == nil && !r.Unclean()
}

package crawler

import (
	"fmt"
	"time"

	"github.com/permesso-crawler/permesso/internal/processes"
	"github.com/permesso-crawler/permesso/internal/setting"
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

package crawler

import (
	"fmt"
	"time"
)

// asked is what a crawl was asked to be: kept with it, so that a run that goes
// on can say what has changed.
type asked struct {
	Identity Identity
	Settings map[string]string
	Began    time.Time // the run
	Revisits bool      // some run has fetched pages again: what waits for that is in the queue
	Rescan   bool      // the run, or one before it, has begun to read the archive again and has not ended that

	Processes []Process        // of the runs, this one included
	Builds    map[string]Build // of them, by their digests
	Forgotten int              // runs before those
}

// A Start says how a run begins.
type Start struct {
	Resumed  bool     // an earlier run had begun the crawl
	Changes  []Change // settings that are not those of the last run
	Rescan   bool     // it goes on reading the archive again, which an earlier run with Options.Rescan did not end
	Requeued int      // URLs that a narrower scope had put aside and that are queued again
	Orders   []Order  // of earlier runs, that hold
	Carried  int      // sites whose robots.txt is known from the crawl that Options.Previous names, in a crawl that begins
}

// A Change is a setting that is not the same as in the last run.
type Change struct {
	Setting, Was, Is string
	Way              Way
	Effect           Effect
}

func (c Change) String() string { return fmt.Sprintf("%s: %s -> %s", c.Setting, c.Was, c.Is) }

// begun tells of the start of a run.
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

// changes are the settings that are not the same in o. One that the last run did
// not know of counts as the default.
func (a asked) changes(o *Options) (all []Change) {
	usual := new(Options).Settings()
	for i, s := range o.Settings() {
		if s.Resume == ThisRun {
			continue
		}
		was, known := a.Settings[s.Name]
		if !known {
			was = usual[i].String()
		}
		if is := s.String(); was != is {
			all = append(all, Change{Setting: s.Name, Was: InWords(was), Is: InWords(is), Way: s.Compare(was, is), Effect: s.Resume})
		}
	}
	return all
}

package crawler

import (
	"errors"
	"os"
	"path/filepath"
	"time"

	"github.com/permesso-crawler/permesso/frontier"
	"github.com/permesso-crawler/permesso/internal/kept"
	"github.com/permesso-crawler/permesso/internal/processes"
	"github.com/permesso-crawler/permesso/internal/store"
	"github.com/permesso-crawler/permesso/storage"
)

// ReadStatus returns the Status of a crawl that is not running, from its directory, and changes
// nothing. The figures of the last run are those at its end. If that run was killed or the disk was
// full, the figures of the run are missing, the other fields have the last committed state, and
// Time is the time of that commit. If the crawl is in StateNotBegun, only Version, Dir, Time and
// State are set. ReadStatus fails like storage.OpenReader, except with a *storage.NotBegunError.
func ReadStatus(dir string) (s Status, err error) {
	var notBegun *store.NotBegunError
	if s, err = readStatus(dir); errors.As(err, &notBegun) {
		return Status{Version: statusVersion, Dir: dir, Time: time.Now(), State: StateNotBegun}, nil
	}
	return s, err
}

func readStatus(dir string) (s Status, err error) {
	r, err := store.OpenReader(dir)
	if err != nil {
		return Status{}, err
	}
	s, err = statusOf(r)
	return s, errors.Join(err, r.Close())
}

// StatusOf returns the Status of a whole crawl on several nodes, and changes nothing. The nodes may
// be running. The Status has no figures of a run, because each node has its own (Crawler.Status).
// StatusOf fails if the database cannot be read, or has no crawl.
func StatusOf(state storage.State) (s Status, err error) {
	r, err := store.OpenState(state, "")
	if err != nil {
		return Status{}, err
	}
	s, err = statusOf(r)
	s.Run, s.Polite, s.Limits, s.Seconds, s.Began = StatusRun{}, StatusPolite{}, nil, 0, time.Time{}
	if r.Live() {
		s.State, s.End, s.Time = StateRunning, "", time.Now()
	}
	return s, errors.Join(err, r.Close())
}

// statusOf returns the status of the crawl that r reads.
func statusOf(r *store.Reader) (s Status, err error) {
	dir := r.Dir()
	var was storedRun
	if err := readStoredRun(r, &was); err != nil {
		return Status{}, err
	}
	if s, err = lastStatus(r, &was); err != nil {
		return Status{}, err
	}
	orders, err := kept.Orders(dir, r)
	if err != nil {
		return Status{}, err
	}
	s.Orders = ordersOf(orders)
	o := was.options()
	s.Version, s.Dir, s.Name = statusVersion, dir, was.Identity.Token
	s.Crawl, s.Sites, s.Left = StatusCrawl{}, StatusSites{}, map[frontier.Code]int{}
	left := leftReasons{o: &o, now: s.Time, end: s.End, excluded: kept.ExclusionsOf(orders), pauses: kept.PausesOf(orders)}
	if left.own, err = kept.ReadSites(r, o.siteSettings()); err != nil {
		return Status{}, err
	}
	for st, err := range r.Sites() {
		if err != nil {
			return Status{}, err
		}
		n := &s.Crawl
		n.BudgetPages += st.Spent.Pages
		n.Bytes += st.Spent.Bytes
		n.Known += st.Known
		n.Queued += st.Queued
		n.Again += st.Again
		if !st.Clocks.Ended.IsZero() || st.Left() > 0 {
			s.Sites.Known++
		}
		one, err := left.site(st)
		if err != nil {
			return Status{}, err
		}
		n.NextAgain = earlier(n.NextAgain, nextAgain(one))
		s.Sites.add(one, s.Time)
		if one.Queued > 0 {
			s.Left[left.why(one)] += one.Queued
		}
	}
	s.Crawl.Done = s.Crawl.Known - s.Crawl.Queued - s.Crawl.Again
	return s, nil
}

// lastStatus returns the status that the last run has stored. If it has stored none, the result has
// only the State and the time of the last commit. In a status of version 1 some figures had other
// names; they are missing in the result.
func lastStatus(r *store.Reader, was *storedRun) (Status, error) {
	var s keptStatus
	_, err := r.Get(keyStatus, &s)
	switch {
	case err != nil:
		return Status{}, err
	case r.Unclean() && diskWasFull(r.Dir()):
		return Status{State: StateNoRoom, Time: r.LastCommit()}, nil
	case r.Unclean():
		return Status{State: StateKilled, Time: r.LastCommit()}, nil
	case !s.Of.Equal(was.Began) || s.End == "" || s.Version > statusVersion || s.State != StateEnded:
		return Status{State: StateUnknown, Time: r.LastCommit()}, nil
	}
	var ends []keptStatus
	if _, err := r.Get(processes.EndsKey, &ends); err != nil {
		return Status{}, err
	}
	return s.withNodes(ends), nil
}

// diskWasFull reports whether the last run ended because the disk was full. On a full disk the run
// cannot record its end in the state, so this is recorded elsewhere.
func diskWasFull(dir string) bool {
	if dir == "" {
		return false
	}
	run, err := store.ReadRun(dir)
	return err == nil && run.Full
}

// A leftReasons computes the reasons why the queued URLs of a crawl that is not running were not
// fetched.
type leftReasons struct {
	o        *Options
	own      kept.Sites
	now      time.Time
	end      End
	excluded kept.Exclusions
	pauses   kept.Pauses
}

// site returns the status of a site that a frontier would return during a run.
func (l *leftReasons) site(st frontier.SiteState) (frontier.SiteStatus, error) {
	settings, err := l.own.Of(st.Site)
	one := frontier.SiteStatus{
		Site: st.Site, Queued: st.Queued, Again: st.Again, NextAgain: st.NextAgain, Spent: st.Spent, Due: st.Clocks.Due, By: st.Clocks.By, Given: st.Fate,
		Over: settings.Over(st.Spent) != "",
	}
	if !st.Ready && st.Waiting.After(one.Due) {
		one.Due, one.By = st.Waiting, frontier.RetryClock
		if !st.NextAgain.IsZero() && !st.NextAgain.After(st.Waiting) {
			one.By = frontier.AgainClock
		}
	}
	one.ExcludedAs, one.Excluded = l.excluded.Of(st.Site)
	one.Gap, _ = st.Clocks.Steady(max(settings.Delay, l.pauses.Of(st.Site)))
	return one, err
}

func (l *leftReasons) why(one frontier.SiteStatus) frontier.Code {
	return heldAt(one, l.end, l.now, (&Limits{Patience: l.o.Patience}).patience()).Code
}

// options returns the options of a run from the stored texts. An option whose text cannot be parsed
// keeps its default.
func (a storedRun) options() (o Options) {
	for _, s := range o.Settings() {
		if text, known := a.Settings[s.Name]; known {
			_ = s.Set(text) // errors are ignored, so the option keeps its default
		}
	}
	_ = o.fill()
	return o
}

// Idle reports whether Run would send no request and only record that it ran. This is the case if
// the last run had the same settings, all seeds are known to the crawl, and the last run ended
// because its queue was empty. If Idle returns true, Summary returns the Summary that Run would
// have, and a program may skip Run, so that every file of the crawl stays unchanged. Idle changes
// nothing. If a file of the crawl cannot be read, Idle returns false, and Run will report the
// error. Idle must be called before Run; after Run it returns false.
func (c *Crawler) Idle() bool {
	o := &c.opts
	c.mu.Lock()
	late := c.ran || len(c.earlySeeds) > 0
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
	still, ok := c.idleSummary(r)
	if ok {
		c.idle = &still
	}
	return ok
}

// idleSummary returns the summary of a run that would find nothing to do. ok is false if the run
// may find something to do.
func (c *Crawler) idleSummary(r *store.Reader) (s Summary, ok bool) {
	var was storedRun
	if known, err := r.Get(keyStoredRun, &was); !known || err != nil || was.Revisits || was.Identity != c.opts.Identity || len(was.changes(&c.opts)) > 0 {
		return s, false
	}
	if last, err := lastStatus(r, &was); err != nil || last.State != StateEnded || last.End != EndDone {
		return s, false
	}
	if orders, err := readOrders(r.Dir(), r); err != nil || len(orders) > 0 || !filesIntact(r) {
		return s, false
	}
	if aside, err := r.Aside(); err != nil || aside {
		return s, false
	}
	if _, whole, _, err := readStored(r); err != nil || !whole { // settings without a text form cannot be compared
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
	for i := range c.seeds {
		if known, err := r.Known(&c.seeds[i]); !known || err != nil {
			return s, false
		}
	}
	return s, true
}

// filesIntact reports whether the files of a crawl exist and have the lengths that the state
// records. Otherwise a run is needed to repair them.
func filesIntact(r *store.Reader) bool {
	written, err := r.Written()
	for name, w := range written {
		info, serr := os.Stat(filepath.Join(r.Dir(), filepath.FromSlash(name)))
		if w.Length > 0 && (serr != nil || info.Size() != w.Length) {
			return false
		}
	}
	return err == nil && !r.Unclean()
}

package crawler

import (
	"context"
	"errors"
	"time"

	"github.com/permesso-crawler/permesso/frontier"
	"github.com/permesso-crawler/permesso/internal/kept"
	"github.com/permesso-crawler/permesso/internal/processes"
	"github.com/permesso-crawler/permesso/internal/store"
	"github.com/permesso-crawler/permesso/storage"
)

// keyStatus is the key of the keptStatus of a run.
const keyStatus = processes.EndKey

// A keptStatus is the status that a run stores at its end, with the start of that run. A run
// that fails stores no status, so that of an earlier run stays stored. The start shows from which
// run the status is.
type keptStatus struct {
	Of time.Time `json:"of_run"` // asked.Began of the run
	Status
}

// keepStatus stores the status at the end of a run, for ReadStatus. err is the error of the
// run. If it is not nil, and not the cause for which ctx has ended, the run has failed, and
// keepStatus stores nothing.
func (c *Crawler) keepStatus(ctx context.Context, err error) error {
	if c.db == nil || err != nil && !errors.Is(err, context.Cause(ctx)) {
		return nil
	}
	s := c.Status()
	s.Orders, s.Memory = nil, StatusMemory{} // ReadStatus calls readOrders for the orders that apply
	return c.db.Put(keyStatus, keptStatus{c.run, s})
}

// ReadStatus returns the Status of a crawl that is not running, from its directory, and changes
// nothing. The figures of the last run are those at its end. If that run was killed or the disk
// was full, its figures are missing. The Status then has what was committed last, and Time is
// the time of that commit. If the crawl is in StateNotBegun, only Version, Dir, Time and State
// are set. It fails as storage.OpenReader does, except with a *storage.NotBegunError.
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

// StatusOf returns the Status of a whole crawl on several nodes, while nodes run or not, and changes
// nothing. It has no figures of a run, because each node has its own (Crawler.Status). It fails if
// the database cannot be read, or has no crawl.
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
	var was asked
	if err := lastAsked(r, &was); err != nil {
		return Status{}, err
	}
	if s, err = lastStatus(r, &was); err != nil {
		return Status{}, err
	}
	if s.Orders, err = readOrders(dir, r); err != nil {
		return Status{}, err
	}
	o := was.options()
	s.Version, s.Dir, s.Name = statusVersion, dir, was.Identity.Token
	s.Crawl, s.Sites, s.Left = StatusCrawl{}, StatusSites{}, map[frontier.Code]int{}
	left := leftOf{o: &o, now: s.Time, end: s.End, orders: s.Orders}
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
		n.NextAgain = earlier(n.NextAgain, st.NextAgain)
		if !st.Clocks.Ended.IsZero() || st.Left() > 0 {
			s.Sites.Known++
		}
		one, err := left.site(st)
		if err != nil {
			return Status{}, err
		}
		s.Sites.add(one, s.Time)
		if one.Queued > 0 {
			s.Left[left.why(one)] += one.Queued
		}
	}
	s.Crawl.Done = s.Crawl.Known - s.Crawl.Queued - s.Crawl.Again
	return s, nil
}

// lastStatus returns the status that the last run has stored. If it has stored none, the result
// has only the State and the time of the last commit. If the status has version 1, some of its
// figures have other names, and are missing in the result.
func lastStatus(r *store.Reader, was *asked) (Status, error) {
	var s keptStatus
	_, err := r.Get(keyStatus, &s)
	switch {
	case err != nil:
		return Status{}, err
	case r.Unclean() && endedFull(r.Dir()):
		return Status{State: StateNoRoom, Time: r.LastCommit()}, nil
	case r.Unclean():
		return Status{State: StateKilled, Time: r.LastCommit()}, nil
	case !s.Of.Equal(was.Began) || s.End == "" || s.Version > statusVersion || s.State != StateEnded:
		return Status{State: StateUnknown, Time: r.LastCommit()}, nil
	}
	return s.Status, nil
}

// endedFull reports whether the last run ended because the disk was full. Such a run cannot
// record its end in the state.
func endedFull(dir string) bool {
	if dir == "" {
		return false
	}
	run, err := store.ReadRun(dir)
	return err == nil && run.Full
}

// A leftOf finds out why the queued URLs of a crawl that is not running were not fetched.
type leftOf struct {
	o      *Options
	own    kept.Sites
	now    time.Time
	end    End
	orders []Order
}

// site returns the status of a site as a frontier would return it in a run.
func (l *leftOf) site(st frontier.SiteState) (frontier.SiteStatus, error) {
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
	delay := settings.Delay
	for _, o := range l.orders {
		if o.Of != "" && o.Of != string(st.Site) && o.Of != st.Site.Host() {
			continue
		}
		switch slow, _ := time.ParseDuration(o.What); o.Do {
		case OrderSlow:
			delay = max(delay, slow)
		case orderExclude:
			one.Excluded = o.Reason
		}
	}
	one.Gap, _ = st.Clocks.Steady(delay)
	return one, err
}

func (l *leftOf) why(one frontier.SiteStatus) frontier.Code {
	return heldAt(one, l.end, l.now, (&Limits{Patience: l.o.Patience}).patience()).Code
}

// options returns the options of a run from the stored texts. An option whose text cannot be
// parsed any more has its default.
func (a asked) options() (o Options) {
	for _, s := range o.Settings() {
		if text, known := a.Settings[s.Name]; known {
			_ = s.Set(text) // unknown settings are ignored
		}
	}
	_ = o.fill()
	return o
}

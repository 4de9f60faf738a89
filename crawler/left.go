package crawler

import (
	"errors"
	"iter"
	"time"

	"github.com/permesso-crawler/permesso/frontier"
	"github.com/permesso-crawler/permesso/internal/store"
)

// Left iterates over the URLs that are still queued, site by site, each with the reason why it is
// not fetched. URLs that were fetched and wait to be fetched again are not included. Left holds a
// few hundred URLs in memory. While the crawl runs, a URL that Left yields may have been fetched
// meanwhile. If the run was cancelled or failed, the last URLs that it found may be missing.
//
// If the crawl's directory cannot be read, the last pair has an error of one of the types that Run
// returns.
func (c *Crawler) Left() iter.Seq2[Skip, error] {
	return func(yield func(Skip, error) bool) {
		if !c.running() {
			return
		}
		q, done, err := c.openQueue()
		if err == nil {
			var all bool
			if all, err = c.left(q, func(frontier.Code) bool { return true }, yield); !all {
				done()
				return
			}
			err = errors.Join(err, done())
		}
		if err != nil {
			yield(Skip{}, err)
		}
	}
}

// openQueue returns the queue of the run. After the run it returns the queue that is stored in the
// directory. The returned function closes the queue.
func (c *Crawler) openQueue() (queue, func() error, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.queue != nil {
		return c.queue, func() error { return nil }, nil
	}
	if c.opts.State != nil {
		return nil, nil, errors.New("crawler: the queue of this crawl is in a database, and can be read after crawl collect")
	}
	q, err := store.OpenReader(c.opts.Dir)
	if err != nil {
		return nil, nil, err
	}
	return q, q.Close, nil
}

// left yields the URLs in q that were never fetched, each with the reason why it is not fetched.
// The reason is the same for all URLs of a site, except that a single URL may have to wait longer.
// The function some is called with the code of the reason; if it returns false, the site is left
// out. all is false if yield returned false.
func (c *Crawler) left(q queue, some func(frontier.Code) bool, yield func(Skip, error) bool) (all bool, err error) {
	for _, st := range c.unfinished() {
		if st.Queued == 0 {
			continue // all URLs of the site were fetched and wait to be fetched again
		}
		why := c.held(st)
		if !some(why.Code) {
			continue
		}
		for e, err := range q.Queued(st.Site) {
			if err != nil {
				return true, err
			}
			if e.Again() {
				continue // the URL was fetched before and waits to be fetched again
			}
			s := why
			s.URL, s.Via = e.URL, e.Via
			if s.Code == frontier.Waiting && e.Due.After(s.Until) {
				s.Until, s.Detail = e.Due, string(frontier.RetryClock)
			}
			if !yield(s, nil) {
				return false, nil
			}
		}
	}
	return true, nil
}

// unfinished returns the sites that have URLs to fetch, or to fetch again.
func (c *Crawler) unfinished() []frontier.SiteStatus {
	var sites []frontier.SiteStatus
	for st := range c.frontier.Sites() {
		if st.Left() > 0 {
			sites = append(sites, st)
		}
	}
	return sites
}

// held returns the reason why the queued URLs of a site are not fetched now. After the run it
// returns the reason why they were not fetched.
func (c *Crawler) held(st frontier.SiteStatus) Skip {
	c.mu.Lock()
	end, now, patience := c.end, c.endedAt, c.limits.patience()
	c.mu.Unlock()
	if now.IsZero() {
		now = time.Now()
	}
	return heldAt(st, end, now, patience)
}

// heldAt returns the reason why the queued URLs of a site are not fetched. The parameter end is the
// reason why the run ended, or "" while it runs. The parameter now is the time at which it ended,
// or the current time. patience is Limits.Patience.
func heldAt(st frontier.SiteStatus, end End, now time.Time, patience time.Duration) Skip {
	switch {
	case st.Excluded != "":
		return Skip{Code: frontier.Excluded, Detail: st.Excluded}
	case st.Given.Code == frontier.RobotsUnreachable:
		return Skip{Code: frontier.RobotsUnreachable, Detail: st.Given.Detail}
	case st.Given.Code != frontier.Undecided:
		return Skip{Code: frontier.SiteDead, Detail: st.Given.Detail}
	case st.Over, st.Shut:
		return Skip{Code: frontier.BudgetSpent}
	case end == EndLimit:
		return Skip{Code: frontier.LimitReached}
	case end == EndPatience || st.Due.After(now.Add(patience)):
		return Skip{Code: frontier.Waiting, Detail: string(st.By), Until: st.Due}
	}
	return Skip{Code: frontier.Queued}
}

// skipLeft calls OnSkip for the URLs that are still queued at the end of the run. It leaves out
// URLs with the code frontier.Queued: nothing held them back except that the run was stopped early.
func (c *Crawler) skipLeft() error {
	if c.opts.OnSkip == nil {
		return nil
	}
	var panicked error
	_, err := c.left(c.queue, func(r frontier.Code) bool { return r != frontier.Queued }, func(s Skip, _ error) bool {
		panicked = safely("OnSkip", func() { c.opts.OnSkip(s) })
		return panicked == nil
	})
	return errors.Join(panicked, err)
}

// Lookup returns the fate of a URL in the running crawl. The fate is frontier.Undecided if the URL
// is queued, and frontier.Waiting if it waits for another try. ok is false if the crawl has not
// found the URL. The URL is written as in Options.Seeds. Options.Rewrite and Options.Same are
// applied to it. Lookup needs Options.Dir. It fails like Records, and with an *OptionError if the
// text is not a URL. For the fates of all URLs of a crawl see storage.Reader.
func (c *Crawler) Lookup(url string) (fate frontier.Fate, ok bool, err error) {
	records, err := c.Records()
	if err != nil {
		return fate, false, err
	}
	seeds, err := parseSeeds([]string{url})
	if err == nil {
		err = c.opts.rewriteSeeds(seeds)
	}
	if err != nil {
		return fate, false, err
	}
	if fate, ok, err = records.Fate(seeds[0].URL); ok || err != nil || seeds[0].Same.IsZero() {
		return fate, ok, err
	}
	return records.Fate(seeds[0].Same) // the Records do not know a rule that is a function of the program
}

// Records returns the records that the running crawl has committed to its directory. A visit is
// committed a few hundredths of a second after its end. Records returns ErrEnded if the crawl is
// not running, and another error if it has no directory.
func (c *Crawler) Records() (*store.Records, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	switch {
	case c.queue == nil:
		return nil, ErrEnded
	case c.db == nil:
		return nil, errors.New("crawler: the crawl has no directory: set Options.Dir")
	}
	return &c.db.Records, nil
}

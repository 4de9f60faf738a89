package crawler

import (
	"os"
	"path/filepath"

	"github.com/permesso-crawler/permesso/internal/store"
)

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

package frontier

import "time"

// A work is what few sites have at a time: those that somebody is at work on, that wait
// for somebody, of which pages have failed, or are to be fetched again. All others do
// without its memory.
type work struct {
	retry time.Time // when the first of the waiting entries is due
	kept  time.Time // the same, as the backlog has it
	shown shown

	again   int       // entries that are to be fetched again
	revisit time.Time // when the first of those is due, as the backlog has it

	ahead []Entry // read and not handed out, next first; but see next

	heldPages int       // see holding
	ends      []heldEnd // Done was called while the site was out: who has it submits them

	asked uint64    // the entry that was handed out last, if it may come again, and
	first time.Time // when it was the first time of those in a row

	starts  [kinds]time.Time // that it was promised: see part
	machine refused          // by another process
	wants   *site            // its robots.txt redirects there; set by want alone
	suitors int              // sites that want this one
	wanted  []*site          // parked until this site is released
}

// noWork is that of all sites that have none. It is never written to.
var noWork work

// work is what is going on with s, to be looked at alone.
func (s *site) work() *work {
	if s.doing == nil {
		return &noWork
	}
	return s.doing
}

// atWork is what is going on with s, to be changed.
func (s *site) atWork() *work {
	if s.doing == nil {
		s.doing = &work{}
	}
	return s.doing
}

// rest gives the memory of what is going on back where nothing is.
func (s *site) rest() {
	if s.doing != nil && s.doing.over() {
		s.doing = nil
	}
}

// over reports whether there is nothing in w that has to be kept.
func (w *work) over() bool {
	return w.retry.IsZero() && w.kept.IsZero() && w.shown == shown{} && w.again == 0 && w.revisit.IsZero() && len(w.ahead) == 0 &&
		w.heldPages == 0 && len(w.ends) == 0 && w.asked == 0 && w.first.IsZero() &&
		w.starts == [kinds]time.Time{} && w.machine == refused{} && w.wants == nil && w.suitors == 0 && len(w.wanted) == 0
}

// setRetry notes when the first of the waiting entries of s is due, here and by the
// backlog.
func (s *site) setRetry(retry, kept time.Time) {
	if s.doing != nil || !retry.IsZero() || !kept.IsZero() {
		w := s.atWork()
		w.retry, w.kept = retry, kept
	}
}

// setAgain notes how many entries of s are to be fetched again, and when the first of them
// is due.
func (s *site) setAgain(again int, next time.Time) {
	if s.doing != nil || again > 0 {
		w := s.atWork()
		w.again, w.revisit = again, next
	}
}

// setShown notes what is known of what pages of s are shown with.
func (s *site) setShown(known shown) {
	if s.doing != nil || known != (shown{}) {
		s.atWork().shown = known
	}
}

// handOut takes an entry that was read ahead. What is left of them takes no memory where
// that is nothing.
func (w *work) handOut(i int) Entry {
	e := w.ahead[i]
	copy(w.ahead[i:], w.ahead[i+1:])
	w.ahead[len(w.ahead)-1] = Entry{}
	if w.ahead = w.ahead[:len(w.ahead)-1]; len(w.ahead) == 0 {
		w.ahead = nil
	}
	return e
}

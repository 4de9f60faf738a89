package frontier

import "time"

// A work holds the state that few sites have at the same time: the state of sites that have a
// turn, wait for another turn, or have entries that wait for a retry or to be fetched again. All
// other sites have no work, to save memory.
type work struct {
	retry      time.Time // the earliest Due of the entries that have one
	kept       time.Time // the value of retry that the backlog has stored
	requisites requisites

	again   int       // number of entries to fetch again
	revisit time.Time // the earliest Due of the entries that the field again counts, as the backlog has stored it

	ahead []Entry // entries that were read from the backlog and not handed out, in the order of the backlog

	held, heldPages int32 // numbers of held entries and of possible pages among them: see holding
	// ends are the ends of held entries for which Done was called while the site was out. The
	// goroutine that has the site submits them.
	ends []heldEnd

	asked uint64    // ID of the entry that was handed out last, if this entry may be handed out again
	first time.Time // when the entry asked was first handed out, if it was handed out in several turns in a row

	starts   [kinds]time.Time // the starts that commons have promised to the site, by kind: see part
	machine  refused          // how often and why another process of this machine kept the site waiting
	wants    *site            // the site to which the robots.txt of this site redirects; only want sets it
	wantedBy int              // how many sites have this site in wants
	wanted   []*site          // sites that are parked until the turn of this site ends
}

// noWork is what the method work returns for sites without a work. It is never changed.
var noWork work

// work returns the work of s, which the caller must not change.
func (s *site) work() *work {
	if s.doing == nil {
		return &noWork
	}
	return s.doing
}

// atWork returns the work of s, which the caller may change. It makes a work if s has none.
func (s *site) atWork() *work {
	if s.doing == nil {
		s.doing = &work{}
	}
	return s.doing
}

// rest removes the work of s if it is empty.
func (s *site) rest() {
	if s.doing != nil && s.doing.over() {
		s.doing = nil
	}
}

// over reports whether w is empty, so that it can be removed.
func (w *work) over() bool {
	return w.retry.IsZero() && w.kept.IsZero() && w.requisites == requisites{} && w.again == 0 && w.revisit.IsZero() && len(w.ahead) == 0 &&
		w.held == 0 && w.heldPages == 0 && len(w.ends) == 0 && w.asked == 0 && w.first.IsZero() &&
		w.starts == [kinds]time.Time{} && w.machine == refused{} && w.wants == nil && w.wantedBy == 0 && len(w.wanted) == 0
}

// setRetry sets the earliest Due of the waiting entries of s. The parameter kept is the value that
// the backlog has stored.
func (s *site) setRetry(retry, kept time.Time) {
	if s.doing != nil || !retry.IsZero() || !kept.IsZero() {
		w := s.atWork()
		w.retry, w.kept = retry, kept
	}
}

// setAgain sets the number of entries of s to fetch again, and their earliest Due.
func (s *site) setAgain(again int, next time.Time) {
	if s.doing != nil || again > 0 {
		w := s.atWork()
		w.again, w.revisit = again, next
	}
}

// setRequisites records the result of the last search for requisites of s.
func (s *site) setRequisites(known requisites) {
	if s.doing != nil || known != (requisites{}) {
		s.atWork().requisites = known
	}
}

// handOut removes and returns entry i of ahead. It frees the memory of ahead if no entry is left.
func (w *work) handOut(i int) Entry {
	e := w.ahead[i]
	copy(w.ahead[i:], w.ahead[i+1:])
	w.ahead[len(w.ahead)-1] = Entry{}
	if w.ahead = w.ahead[:len(w.ahead)-1]; len(w.ahead) == 0 {
		w.ahead = nil
	}
	return e
}

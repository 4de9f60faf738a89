package frontier

import "errors"

// A held entry ends later than its turn, by a call of Done. Between Finish and Done the caller
// handles the answer, the site can have other turns, and the entry stays queued. If the process is
// killed before Done, the next run requests the entry again.

// errNotHeld is returned by Done if the entry of the turn is not held: Finish did not hold it, or
// Done was called before.
var errNotHeld = errors.New("frontier: the turn holds no entry: Finish was not called with Hold, or has queued the entry again, or Done was called before")

// holding counts the held entries. Finish adds to the counts; Done and submitEnds subtract.
type holding struct {
	held      int           // entries for which Done was not called yet
	heldPages int           // entries that will count for Spent.Pages: they are held, or their ends are not submitted yet
	idle      chan struct{} // the channel that Idle returns; its capacity is 1
}

// A heldEnd is the end of a held entry, between the call of Done and the Submit to the backlog.
type heldEnd struct {
	entry Entry
	fate  Fate
	visit visitOutcome
	links []Entry
}

// Held reports whether Finish has held the entry of t and Done was not called yet.
func (t *Turn) Held() bool {
	t.frontier.mu.Lock()
	defer t.frontier.mu.Unlock()
	return t.end.Code != Undecided
}

// Done ends the entry that Finish has held, with the fate that Finish returned. It also queues
// links: entries that were found on the page after Finish. If the process is killed, the backlog
// has either both the end and the links, or neither. Done may be called from any goroutine, even
// after the end of the run, and waits no longer than Finish does. If another turn has the site,
// the end is submitted when that turn is finished. Done returns ErrNoURL if a link has no URL. It
// also returns errors of the backlog, and an error if no entry is held.
func (t *Turn) Done(links ...Entry) error {
	if err := checkEntries(links); err != nil {
		return err
	}
	f := t.frontier
	f.mu.Lock()
	defer f.mu.Unlock()
	if t.end.Code == Undecided {
		return errNotHeld
	}
	s := t.site
	s.atWork().ends = append(s.work().ends, heldEnd{t.entry, t.end, t.visit, links})
	t.end = Fate{}
	f.held--
	s.atWork().held--
	if s.place == placeOut {
		return nil // the other turn submits the end; the run cannot end before that turn does
	}
	// No other goroutine may submit completions of the site at the same time. A completion with
	// earlier clocks would reset the clocks if it came later.
	f.take(s)
	f.closing++
	err := f.submitEnds(s)
	f.closing--
	f.free(s)
	f.kickLocked()
	return err
}

// Idle returns a channel that receives a value when only held entries are left. Next then returns
// no turn until Done is called. All callers get the same channel, and only one receiver gets the
// value. The frontier removes an old value when it hands out a turn. Still, when a value is
// received, there may be other entries again.
func (f *Frontier) Idle() <-chan struct{} { return f.idle }

// tellIdle sends a value on f.idle if only held entries are left. The caller must hold f.mu.
func (f *Frontier) tellIdle() {
	if f.held == 0 || !f.still() {
		return
	}
	select {
	case f.idle <- struct{}{}:
	default:
	}
}

// notIdle removes the value of tellIdle when a turn is handed out. Otherwise a receiver would get
// this value much later, while the frontier is busy. The caller must hold f.mu.
func (f *Frontier) notIdle() {
	select {
	case <-f.idle:
	default:
	}
}

// hold stores the fate with which Done will end the entry of t. The caller must hold f.mu.
func (t *Turn) hold(fate Fate) {
	t.end = fate
	t.frontier.held++
	t.site.atWork().held++
	if fate.counts(t.entry) {
		t.site.atWork().heldPages++
		t.frontier.heldPages++
	}
}

// submitEnds submits work.ends of s: the ends of entries that calls of Done could not submit,
// because the site was out. The caller must have set the place of s to placeOut, and must hold
// f.mu. submitEnds unlocks and locks f.mu for each end.
func (f *Frontier) submitEnds(s *site) error {
	for len(s.work().ends) > 0 {
		w := s.atWork()
		e := w.ends[0]
		if w.ends = w.ends[1:]; len(w.ends) == 0 {
			w.ends = nil
		}
		if e.fate.Ends() {
			f.done++
		}
		if e.fate.counts(e.entry) {
			w.heldPages--
			f.heldPages--
			s.spend(Spent{Pages: 1})
			f.spent.Pages++
		}
		c := Completion{
			Site: s.name, Clocks: s.clocks(), Spent: s.spent(), Given: s.fate(), Entry: e.entry.after(e.fate, e.visit), Fate: e.fate, Held: true, Links: e.links,
		}
		f.submitted()
		f.mu.Unlock()
		err := f.backlog.Submit(c)
		f.mu.Lock()
		if err != nil {
			w.ends = nil
			f.fail(err)
			return err
		}
	}
	return nil
}

// submitLeftEnds submits work.ends of the sites of t (see submitEnds). The caller must hold mu,
// and submitLeftEnds may unlock and lock it.
func (t *Turn) submitLeftEnds() {
	for again := true; again; {
		again = false
		for _, s := range [...]*site{t.held, t.site} {
			if s != nil && len(s.work().ends) > 0 {
				t.frontier.submitEnds(s)
				again = true
			}
		}
	}
}

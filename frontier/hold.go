package frontier

import "errors"

// A held entry ends later than its turn, by a call of Done. In between the caller handles
// the answer, the site can have other turns, and the entry stays queued. If the process is
// killed before Done, the next run requests the entry again.

// errNotHeld is returned by Done if the entry of the turn is not held: Finish has not held it,
// or Done was called before.
var errNotHeld = errors.New("frontier: the turn holds no entry: Finish was not called with Hold, or has queued the entry again, or Done was called before")

// holding counts the held entries. Finish adds to the counts; Done and submitEnds subtract.
type holding struct {
	held      int           // entries whose Done was not called
	heldPages int           // entries that will count for Spent.Pages: they are held, or their ends are not submitted yet
	idle      chan struct{} // of capacity 1, see Idle
}

// A heldEnd is the end of a held entry, between the call of Done and the Submit to the backlog.
type heldEnd struct {
	entry Entry
	fate  Fate
	visit visitOutcome
	links []Entry
}

// Held reports whether the entry of t is held: Finish has held it, and Done was not called yet.
func (t *Turn) Held() bool {
	t.frontier.mu.Lock()
	defer t.frontier.mu.Unlock()
	return t.end.Code != Undecided
}

// Done ends the entry that Finish has held, with the fate that Finish returned. It also queues
// links: entries that were found on the page after Finish. If the process is killed, the
// backlog has either both the end and the links, or neither. Done may be called from any
// goroutine, even after the end of the run, and waits no longer than Finish does. If another
// turn has the site, the end is submitted when that turn is finished. Done returns ErrNoURL if a
// link has no URL, an error of the backlog, or an error that says that no entry is held.
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
		return nil // the run cannot end before that turn does
	}
	// No other goroutine may submit completions of the site at the same time, because a
	// completion with earlier clocks would reset the clocks if it came later.
	f.take(s)
	f.closing++
	err := f.submitEnds(s)
	f.closing--
	f.free(s)
	f.kickLocked()
	return err
}

// Idle returns a channel that receives a value when only held entries are left. Then no turn is
// handed out before a call of Done. Only one receiver gets the value. A value that was not
// received is removed when a turn is handed out. Still, there may be other entries again when a
// value is received.
func (f *Frontier) Idle() <-chan struct{} { return f.idle }

// tellIdle sends a value on f.idle if only held entries are left. It requires that f.mu is
// held.
func (f *Frontier) tellIdle() {
	if f.held == 0 || !f.still() {
		return
	}
	select {
	case f.idle <- struct{}{}:
	default:
	}
}

// notIdle removes the value of tellIdle, since a turn is handed out: otherwise a receiver would
// get it much later, while the frontier is busy. It requires that f.mu is held.
func (f *Frontier) notIdle() {
	select {
	case <-f.idle:
	default:
	}
}

// hold stores the fate with which Done will end the entry of t. It requires that f.mu is held.
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
// because the site was out. It requires that the caller has s, whose place is placeOut, and
// that f.mu is held. It unlocks and locks f.mu for each end.
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

// submitLeftEnds submits work.ends of the sites of t (see submitEnds). It requires that mu is
// held, and may unlock and lock mu.
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

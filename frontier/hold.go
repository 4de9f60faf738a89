package frontier

import "errors"

// Here the end of an entry is apart from that of its turn: who handles what was
// fetched somewhere else, and later, has the site go on meanwhile, and the entry
// queued until it is handled. A process that is killed in between asks for it again.

// ErrNotHeld is returned by Done for a turn whose entry Finish has not held, or that
// was called before.
var ErrNotHeld = errors.New("frontier: the turn holds no entry: Finish was not called with Hold, or has queued the entry again, or Done was called before")

// holding counts the entries that are held. Finish adds to it, Done and submitEnds take
// away.
type holding struct {
	held      int           // whose Done was not called
	heldPages int           // of those and of the ones that are to be submitted: will count for Spent.Pages
	idle      chan struct{} // room for one word that all else is at rest
}

// A heldEnd is the end of an entry that was held, on its way to the backlog.
type heldEnd struct {
	entry Entry
	fate  Fate
	visit visitOutcome
	links []Entry
}

// Held reports whether Finish has held the entry, and Done was not called.
func (t *Turn) Held() bool {
	t.frontier.mu.Lock()
	defer t.frontier.mu.Unlock()
	return t.end.Code != Undecided
}

// Done ends the entry that Finish has held, with the fate that it returned then, and
// queues links that were found on the page since: both or, after a kill, neither. It may
// be called from any goroutine, also after an end of the frontier, and waits no longer
// than Finish does. While another turn has the site, that one hands the end on when it
// is given back. The error is ErrNotHeld, ErrNoURL, or one of the backlog.
func (t *Turn) Done(links ...Entry) error {
	if err := checkEntries(links); err != nil {
		return err
	}
	f := t.frontier
	f.mu.Lock()
	defer f.mu.Unlock()
	if t.end.Code == Undecided {
		return ErrNotHeld
	}
	s := t.site
	s.atWork().ends = append(s.work().ends, heldEnd{t.entry, t.end, t.visit, links})
	t.end = Fate{}
	f.held--
	if s.place == placeOut {
		return nil // and nothing is at its end before that turn is
	}
	// Nobody else may submit anything of the site meanwhile: its clocks would go back.
	f.take(s)
	f.closing++
	err := f.submitEnds(s)
	f.closing--
	f.free(s)
	f.kickLocked()
	return err
}

// Idle is told when nothing is left to be done, or may be done, before one of the
// entries that are held is: who waits for more before he calls Done waits in vain. There
// is one word for all who listen; it may be old.
func (f *Frontier) Idle() <-chan struct{} { return f.idle }

// tellIdle requires that mu is held.
func (f *Frontier) tellIdle() {
	if f.held == 0 || !f.still() {
		return
	}
	select {
	case f.idle <- struct{}{}:
	default:
	}
}

// hold keeps back the end of the entry of t. It requires that mu is held.
func (t *Turn) hold(fate Fate) {
	t.end = fate
	t.frontier.held++
	if fate.counts(t.entry) {
		t.site.atWork().heldPages++
		t.frontier.heldPages++
	}
}

// submitEnds submits the ends of s that were held. The site is out, and belongs to the
// caller. It requires that mu is held, and lets go of it.
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

// handOn submits what was held of the sites that t has: what Done has left to it. It
// requires that mu is held, and lets go of it.
func (t *Turn) handOn() {
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

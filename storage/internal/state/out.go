package state

import "sync"

// hands know which entries were read and not given back: Read returns none of them
// again, though the file still says that they are queued.
type hands struct {
	mu    sync.Mutex // taken with queue.mu held, never the other way round
	sites map[siteNum]*outEntries
}

// outEntries are the entries of a site that were read and of which the file still
// says that they are queued: somebody has them in hand, or their end is not merged
// yet. A nil one has none.
type outEntries struct {
	ready map[uint32]bool // by number: whether it is with kindReady
	hand  int             // how many are in hand, but for those that are held
	dry   bool            // the last read brought all there was
	upTo  []byte          // every row with kindReady is out whose key is not behind it
}

func (o *outEntries) has(num uint32) bool {
	if o == nil {
		return false
	}
	_, is := o.ready[num]
	return is
}

// count is how many ready ones there are that f says something of.
func (o *outEntries) count(f func(num uint32) bool) (n int) {
	if o == nil {
		return 0
	}
	for num, ready := range o.ready {
		if ready && f(num) {
			n++
		}
	}
	return n
}

// take marks an entry as out, unless it is.
func (h *hands) take(n siteNum, num uint32, ready bool) bool {
	h.mu.Lock()
	defer h.mu.Unlock()
	o := h.sites[n]
	if o.has(num) {
		return false
	}
	if o == nil {
		o = &outEntries{ready: map[uint32]bool{}}
		h.sites[n] = o
	}
	o.ready[num] = ready
	return true
}

// hold reports whether an entry is out.
func (h *hands) hold(n siteNum, num uint32) bool {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.sites[n].has(num)
}

// begin adds the key up to which every ready row of a site is out to key, so that a
// read need not look at all of them again.
func (h *hands) begin(n siteNum, key []byte) []byte {
	h.mu.Lock()
	defer h.mu.Unlock()
	if o := h.sites[n]; o != nil {
		key = append(key, o.upTo...)
	}
	return key
}

// read notes that so many entries of a site are in hand now that were not, whether
// there are no more of them, and up to which key every ready row is out; nil if that is
// not known.
func (h *hands) read(n siteNum, entries int, dry bool, upTo []byte) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if o := h.sites[n]; o != nil {
		o.hand += entries
		o.dry = dry
		if upTo != nil {
			o.upTo = append(o.upTo[:0], upTo...)
		}
	}
}

// give notes that an entry has ended, or is held. It reports whether nobody has
// anything of its site in hand any more, or anything to read: what is known to be found
// there lies in the journal alone then.
func (h *hands) give(e *encoded) (starves bool) {
	if !e.leaves {
		return false
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	o := h.sites[e.num]
	if o == nil {
		return false
	}
	o.hand--
	return o.hand <= 0 && o.dry
}

// merged forgets entries whose end the file knows. Sites that were changed may have
// got rows before those that were read.
func (h *hands) merged(changed []changedSite, ids []uint64) {
	h.mu.Lock()
	defer h.mu.Unlock()
	for _, s := range changed {
		if o := h.sites[s.num]; o != nil {
			o.upTo = o.upTo[:0]
		}
	}
	for _, id := range ids {
		n, num := splitID(id)
		if o := h.sites[n]; o != nil {
			delete(o.ready, num)
			if len(o.ready) == 0 {
				delete(h.sites, n)
			}
		}
	}
}

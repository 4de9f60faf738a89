package state

import "sync"

// handedOut tracks the entries that were handed out: Read does not return them again, though
// the file still says that they are queued.
type handedOut struct {
	mu    sync.Mutex // taken after queue.mu, never before it
	sites map[siteNum]*outEntries
}

// outEntries are the entries of a site that were read and are still queued in the file: the
// frontier has them, or their end is not merged yet. A nil outEntries is empty.
type outEntries struct {
	ready map[uint32]bool // by number: whether it has kindReady
	hand  int             // how many the frontier has, without those that are held
	dry   bool            // the last read returned all entries
	upTo  []byte          // every row with kindReady whose key is not greater is out
}

func (o *outEntries) has(num uint32) bool {
	if o == nil {
		return false
	}
	_, is := o.ready[num]
	return is
}

// count returns how many ready entries f returns true for.
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

// take marks an entry as out; it reports whether it was not.
func (h *handedOut) take(n siteNum, num uint32, ready bool) bool {
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

// isOut reports whether an entry is out.
func (h *handedOut) isOut(n siteNum, num uint32) bool {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.sites[n].has(num)
}

// begin appends to key the key up to which every ready row of a site is out, so that a read
// need not look at all of them again.
func (h *handedOut) begin(n siteNum, key []byte) []byte {
	h.mu.Lock()
	defer h.mu.Unlock()
	if o := h.sites[n]; o != nil {
		key = append(key, o.upTo...)
	}
	return key
}

// read records how many more entries of a site the frontier has, whether there are no more
// of them, and up to which key every ready row is out; nil if that is not known.
func (h *handedOut) read(n siteNum, entries int, dry bool, upTo []byte) {
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

// give records that an entry has ended, or is held. It reports whether the frontier has no
// entry of its site any more, and the file none to read: new ones may be in the journal
// only.
func (h *handedOut) give(e *encoded) (starves bool) {
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

// merged forgets entries whose end was merged. Sites that were changed may have got rows
// before those that were read.
func (h *handedOut) merged(changed []changedSite, ids []uint64) {
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

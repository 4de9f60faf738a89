package state

import "sync"

// handedOut tracks the entries that are out: those that Read has returned, and those that ended
// in an earlier run. An entry is out until its end is merged. In the file it is still queued,
// but Read does not return it again.
type handedOut struct {
	mu    sync.Mutex // taken after queue.mu, never before it
	sites map[siteNum]*outEntries
}

// outEntries has the entries of a site that are out (see handedOut). A nil outEntries is empty.
type outEntries struct {
	ready map[uint32]bool // the entries that are out (see handedOut), by number; true if the row of the entry has kindReady
	hand  int             // number of entries that the frontier has, without entries on hold (frontier.Completion.Held)
	dry   bool            // the last read returned all entries of the site that were left
	upTo  []byte          // all entries of kindReady with a key up to upTo are out (see handedOut)
}

func (o *outEntries) has(num uint32) bool {
	if o == nil {
		return false
	}
	_, is := o.ready[num]
	return is
}

// count returns the number of entries with kindReady for which f returns true.
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

// take marks an entry as out (see handedOut), so that Read does not return it again. It returns
// false if the entry was marked before.
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

// isOut reports whether an entry is out (see handedOut), so that Read must not return it.
func (h *handedOut) isOut(n siteNum, num uint32) bool {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.sites[n].has(num)
}

// begin appends outEntries.upTo of a site to key, so that a read can begin after the entries
// that Read has returned before.
func (h *handedOut) begin(n siteNum, key []byte) []byte {
	h.mu.Lock()
	defer h.mu.Unlock()
	if o := h.sites[n]; o != nil {
		key = append(key, o.upTo...)
	}
	return key
}

// read records a read of a site: how many entries the frontier got, whether no more are left,
// and the new outEntries.upTo. If upTo is nil, the old value stays.
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

// give records that the entry of a completion has ended, or is held (frontier.Completion.Held).
// It returns true if the frontier has no other entry of the site, and the file had none left at
// the last read. Then further entries of the site that can be fetched may be in the journal.
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

// merged forgets the entries ids, whose end was merged. It also clears upTo of the changed
// sites, because new rows may come before the key in upTo.
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

package storage

import "github.com/permesso-crawler/permesso/frontier"

// outEntries are the entries of a site that were read and of which the file still
// says that they are queued: somebody has them in hand, or their end is not merged
// yet. A nil one has none. DB.mu guards it.
type outEntries struct {
	ready map[uint32]bool // by number: whether it is with kindReady
	hand  int             // how many are in hand
	dry   bool            // the last read brought all there was
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

// takeOut marks an entry as out, unless it is. It requires that mu is held.
func (db *DB) takeOut(n siteNum, num uint32, ready bool) bool {
	o := db.out[n]
	if o.has(num) {
		return false
	}
	if o == nil {
		o = &outEntries{ready: map[uint32]bool{}}
		db.out[n] = o
	}
	o.ready[num] = ready
	return true
}

// noteRead notes that read entries of a site are in hand now, and whether there
// are no more of them.
func (db *DB) noteRead(n siteNum, read int, dry bool) {
	db.mu.Lock()
	defer db.mu.Unlock()
	if o := db.out[n]; o != nil {
		o.hand += read
		o.dry = dry
	}
}

// givenBack notes that the end of an entry was submitted. It reports whether
// nobody has anything of its site in hand any more, or anything to read: what is
// known to be found there lies in the journal. It requires that mu is held.
func (db *DB) givenBack(id uint64) bool {
	n, _ := splitID(id)
	o := db.out[n]
	if o == nil {
		return false
	}
	o.hand--
	return o.hand <= 0 && o.dry
}

// starve has the next commit merge what is pending for a site. It requires that mu
// is held.
func (db *DB) starve(site frontier.Site) {
	if db.hungry == nil {
		db.hungry = map[frontier.Site]bool{}
	}
	db.hungry[site] = true
}

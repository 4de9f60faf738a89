package storage

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"maps"
	"sort"
	"time"

	"github.com/permesso-crawler/permesso/frontier"
	"go.etcd.io/bbolt"
)

// A change is what one group does to the buckets, within one transaction.
type change struct {
	db                                                        *DB
	tx                                                        *bbolt.Tx
	sites, states, seen, entries, ready, waiting, fates, meta *bbolt.Bucket

	records map[siteNum]*siteRecord // read or made by this group
	nums    map[frontier.Site]siteNum

	links   []frontier.Entry // of all completions of the group
	settled int
	ended   []endedEntry
	touched []frontier.SiteState
}

type endedEntry struct {
	site frontier.Site
	num  uint32
}

func newChange(db *DB, tx *bbolt.Tx) *change {
	return &change{
		db: db, tx: tx,
		sites: tx.Bucket(bucketSites), states: tx.Bucket(bucketStates), seen: tx.Bucket(bucketSeen),
		entries: tx.Bucket(bucketEntries), ready: tx.Bucket(bucketReady), waiting: tx.Bucket(bucketWaiting),
		fates: tx.Bucket(bucketFates), meta: tx.Bucket(bucketMeta),
		records: map[siteNum]*siteRecord{}, nums: map[frontier.Site]siteNum{},
	}
}

func (c *change) apply(o op) error {
	switch {
	case o.completion != nil:
		c.settled++
		return c.complete(o.completion)
	case o.snapshot != nil:
		return putSnapshot(c.tx, o.site, o.snapshot)
	default:
		raw, err := encode(o.value)
		if err != nil {
			return err
		}
		return c.meta.Put([]byte(o.key), raw)
	}
}

func (c *change) complete(done *frontier.Completion) error {
	if done.Site != "" {
		n, r, err := c.site(done.Site)
		if err != nil {
			return err
		}
		r.Clocks, r.Given = done.Clocks, done.Given
		if done.Fate.Code != frontier.Undecided {
			if err := c.end(n, r, done); err != nil {
				return err
			}
		}
	}
	c.links = append(c.links, done.Links...)
	return nil
}

// end moves an entry out of the queue: to its fate, or among those that wait.
func (c *change) end(n siteNum, r *siteRecord, done *frontier.Completion) error {
	num := uint32(done.Entry.ID)
	key := entryKey(n, num)
	raw := c.entries.Get(key)
	if raw == nil {
		return fmt.Errorf("entry %d of %s ended, which was never queued", num, r.Site)
	}
	var e entryRecord
	if err := decode(bucketEntries, key, raw, &e); err != nil {
		return err
	}
	if err := c.dequeue(n, r, &e, num); err != nil {
		return err
	}
	c.ended = append(c.ended, endedEntry{r.Site, num})
	if done.Fate.Code == frontier.Waiting {
		e.Tries, e.Due = done.Entry.Tries, dueMillis(done.Fate.Until)
		if err := put(c.entries, key, &e); err != nil {
			return err
		}
		return c.waiting.Put(waitingKey(n, e.Due, num), nil)
	}
	r.Queued--
	if done.Fate.Page() {
		r.Pages++
	}
	return put(c.fates, key, &done.Fate)
}

func (c *change) dequeue(n siteNum, r *siteRecord, e *entryRecord, num uint32) error {
	if e.Due != 0 {
		return c.waiting.Delete(waitingKey(n, e.Due, num))
	}
	key := readyKey(n, priority(e), num)
	if c.ready.Get(key) == nil {
		return fmt.Errorf("entry %d of %s ended twice", num, r.Site)
	}
	r.Ready--
	return c.ready.Delete(key)
}

func priority(e *entryRecord) uint8 { return frontier.Entry{Depth: e.Depth}.Priority() }

// link queues what was never seen. Rows are looked up and put in the order of
// their keys: bbolt holds what a transaction adds to a leaf in one sorted list,
// and to insert into that at random is quadratic.
func (c *change) link() error {
	links := c.links
	type place struct {
		n  siteNum
		fp uint64
		i  int
	}
	places := make([]place, len(links))
	for i, e := range links {
		n, _, err := c.site(e.URL.Site())
		if err != nil {
			return err
		}
		places[i] = place{n, fingerprint(e.URL, c.db.seed), i}
	}
	sort.Slice(places, func(i, j int) bool {
		a, b := places[i], places[j]
		switch {
		case a.n != b.n:
			return a.n < b.n
		case a.fp != b.fp:
			return a.fp < b.fp
		}
		return a.i < b.i
	})
	isNew := make([]bool, len(links))
	for k, p := range places {
		same := k > 0 && places[k-1].n == p.n && places[k-1].fp == p.fp
		isNew[p.i] = !same && c.seen.Get(seenKey(p.n, p.fp)) == nil
	}
	// Numbers are given in the order in which the links were found.
	nums := make([]uint32, len(links))
	for i, e := range links {
		if !isNew[i] {
			continue
		}
		_, r, err := c.site(e.URL.Site())
		if err != nil {
			return err
		}
		r.Entries++
		r.Queued++
		r.Ready++
		nums[i] = r.Entries
	}
	for _, p := range places {
		if !isNew[p.i] {
			continue
		}
		if err := c.seen.Put(seenKey(p.n, p.fp), binary.BigEndian.AppendUint32(nil, nums[p.i])); err != nil {
			return err
		}
	}
	sort.Slice(places, func(i, j int) bool {
		a, b := places[i], places[j]
		if a.n != b.n {
			return a.n < b.n
		}
		return nums[a.i] < nums[b.i]
	})
	for _, p := range places {
		if !isNew[p.i] {
			continue
		}
		e := links[p.i]
		if err := put(c.entries, entryKey(p.n, nums[p.i]), recordOf(e)); err != nil {
			return err
		}
		if err := c.ready.Put(readyKey(p.n, e.Priority(), nums[p.i]), nil); err != nil {
			return err
		}
	}
	return nil
}

// site is the number and record of a site, new if need be.
func (c *change) site(name frontier.Site) (siteNum, *siteRecord, error) {
	if n, ok := c.nums[name]; ok {
		return n, c.records[n], nil
	}
	var n siteNum
	r := &siteRecord{Site: name}
	if raw := c.sites.Get([]byte(name)); raw != nil {
		n = siteNum(binary.BigEndian.Uint32(raw))
		if err := decode(bucketStates, n.key(), c.states.Get(n.key()), r); err != nil {
			return 0, nil, err
		}
	} else {
		next, err := c.sites.NextSequence()
		if err != nil {
			return 0, nil, err
		}
		n = siteNum(next)
		if err := c.sites.Put([]byte(name), n.key()); err != nil {
			return 0, nil, err
		}
	}
	c.nums[name], c.records[n] = n, r
	return n, r, nil
}

// finish writes the records of the sites that were touched, and the lengths of
// the outputs.
func (c *change) finish(lengths map[string]int64) error {
	for n, r := range c.records {
		if err := put(c.states, n.key(), r); err != nil {
			return err
		}
		c.touched = append(c.touched, stateOf(c.waiting, n, r, c.out(r.Site)))
	}
	return put(c.meta, keyOutputs, lengths)
}

// out are the entries of a site that are out once the group is committed.
func (c *change) out(site frontier.Site) map[uint32]bool {
	c.db.mu.Lock()
	defer c.db.mu.Unlock()
	out := maps.Clone(c.db.out[site])
	for _, e := range c.ended {
		if e.site == site {
			delete(out, e.num)
		}
	}
	return out
}

// stateOf is the state of a site of which some entries are out.
func stateOf(waiting *bbolt.Bucket, n siteNum, r *siteRecord, out map[uint32]bool) frontier.SiteState {
	st := frontier.SiteState{
		Site: r.Site, Clocks: r.Clocks, Queued: r.Queued, Ready: r.Ready, Pages: r.Pages, Fate: r.Given,
	}
	for _, ready := range out {
		if ready {
			st.Ready--
		}
	}
	prefix := n.key()
	rows := waiting.Cursor()
	for key, _ := rows.Seek(prefix); bytes.HasPrefix(key, prefix); key, _ = rows.Next() {
		if _, is := out[lastNum(key)]; !is {
			st.Waiting = time.UnixMilli(int64(binary.BigEndian.Uint64(key[4:])))
			break
		}
	}
	return st
}

func put(b *bbolt.Bucket, key []byte, v any) error {
	raw, err := encode(v)
	if err != nil {
		return err
	}
	return b.Put(key, raw)
}

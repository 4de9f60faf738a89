package storage

import (
	"bytes"
	"crypto/sha256"
	"encoding/binary"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"time"

	"github.com/permesso-crawler/permesso/frontier"
	"go.etcd.io/bbolt"
)

func (v *verifier) state(tx *bbolt.Tx) error {
	for err := range tx.Check() {
		v.problem("%s: %w", StateFile, err)
	}
	if first, _ := tx.Cursor().First(); first == nil && Remains(v.dir) == "" {
		return noCrawl(v.dir, "a run was killed before it began")
	}
	for _, name := range buckets {
		if tx.Bucket(name) == nil {
			return &DamagedError{filepath.Join(v.dir, StateFile), fmt.Errorf("bucket %s is missing", name)}
		}
	}
	if err := v.meta(tx.Bucket(bucketMeta)); err != nil {
		return err
	}
	each(tx.Bucket(bucketJournal), v.journal)
	each(tx.Bucket(bucketCommon), func(key, value []byte) {
		_, err := unseal(bucketCommon, key, value)
		v.failed(err)
	})
	each(tx.Bucket(bucketFinished), func(key, value []byte) {
		var m mark
		if !v.failed(decode(bucketFinished, key, value, &m)) {
			v.finished[string(key)] = m
		}
	})
	each(tx.Bucket(bucketPayloads), func(key, value []byte) {
		if p, err := getPayload(key, value); !v.failed(err) {
			v.know(referredKey(p.url, p.date), ofPayload, 0, "")
		}
	})
	v.sites(tx)
	v.snapshots(tx)
	return nil
}

// each calls f with the rows of a bucket, of which none is a bucket.
func each(b *bbolt.Bucket, f func(key, value []byte)) {
	c := b.Cursor()
	for key, value := c.First(); key != nil; key, value = c.Next() {
		f(key, value)
	}
}

func (v *verifier) meta(meta *bbolt.Bucket) error {
	var err error
	if v.seed, err = layout(meta, filepath.Join(v.dir, StateFile)); err != nil {
		return err
	}
	each(meta, func(key, value []byte) {
		if !bytes.Equal(key, keyVersion) && !bytes.Equal(key, keySeed) {
			_, err := unseal(bucketMeta, key, value)
			v.failed(err)
		}
	})
	if raw := meta.Get(keyOutputs); raw != nil {
		v.failed(decode(bucketMeta, keyOutputs, raw, &v.marks))
	}
	if raw := meta.Get(keyIndex); raw != nil {
		v.failed(decode(bucketMeta, keyIndex, raw, &v.made))
	}
	v.done.Unclean = meta.Get(keyOpen) != nil
	if _, err := os.Stat(filepath.Join(v.dir, RunFile)); v.done.Unclean && errors.Is(err, fs.ErrNotExist) {
		v.problem("%s: a run has not ended, and there is no %s: that was removed, or the state is an older one", StateFile, RunFile)
	}
	_, err = getCommit(meta)
	v.failed(err)
	return nil
}

// journal notes what is not merged: the links, and the ends of entries.
func (v *verifier) journal(key, value []byte) {
	all, _, err := decodeRow(key, value)
	if v.failed(err) {
		return
	}
	for i := range all {
		e := &all[i]
		if e.entry != 0 {
			d := decoder{b: e.raw}
			v.ends[e.entry] = d.completion().fate
		}
		for _, l := range e.links {
			text := decoder{b: e.raw[l.at:]}
			d := decoder{b: text.lengthed()}
			if entry, err := d.entry(l.site); !v.failed(err) {
				v.knowFate(entry.URL, frontier.Fate{})
			}
		}
	}
}

// sites compares each site's record, name, entries and fingerprints.
func (v *verifier) sites(tx *bbolt.Tx) {
	states, names := tx.Bucket(bucketStates), tx.Bucket(bucketNames)
	count := 0
	each(names, func(key, value []byte) {
		count++
		n, err := siteNumber(names, frontier.Site(key))
		if !v.failed(err) && states.Get(n.key()) == nil {
			v.problem("%s: site %s has the number %d and no record", StateFile, key, n)
		}
	})
	each(states, func(key, value []byte) {
		count--
		v.done.Sites++
		var r siteRecord
		if v.failed(r.decode(key, value)) {
			return
		}
		n := keySite(key)
		if is, err := siteNumber(names, r.Site); !v.failed(err) && is != n {
			v.problem("%s: site %s has the record %d and the number %d", StateFile, r.Site, n, is)
		}
		v.site(tx, n, &r)
	})
	if count != 0 {
		v.problem("%s: there are %d more names than records of sites", StateFile, count)
	}
	each(tx.Bucket(bucketAside), func([]byte, []byte) { v.setAside-- })
	if v.setAside != 0 {
		v.problem("%s: there are %d more entries set aside than entries that ended out of scope", StateFile, -v.setAside)
	}
	last := siteNum(names.Sequence())
	for _, bucket := range []*bbolt.Bucket{states, tx.Bucket(bucketEntries)} {
		if key, _ := bucket.Cursor().Last(); len(key) >= 4 && keySite(key) > last {
			v.problem("%s: there are rows of site %d, and only %d sites", StateFile, keySite(key), last)
		}
	}
}

func (v *verifier) site(tx *bbolt.Tx, n siteNum, r *siteRecord) {
	queued := make([]uint64, r.Entries) // fingerprints of the entries, by number
	seen := make([]uint64, r.Entries)   // as the blocks have them
	counts := map[byte]int{}
	note := func(to []uint64, what string, num uint32, fp uint64) {
		switch {
		case num == 0 || num > r.Entries:
			v.problem("%s: site %s: %s %d of %d", StateFile, r.Site, what, num, r.Entries)
		case to[num-1] != 0:
			v.problem("%s: site %s: %s %d is there twice", StateFile, r.Site, what, num)
		default:
			to[num-1] = fp
		}
	}
	c := tx.Bucket(bucketEntries).Cursor()
	prefix := n.key()
	for key, value := c.Seek(prefix); bytes.HasPrefix(key, prefix); key, value = c.Next() {
		raw, err := unseal(bucketEntries, key, value)
		if v.failed(err) {
			continue
		}
		kind := key[4]
		counts[kind]++
		if kind == kindSeen {
			b := block(raw)
			for i := range b.len() {
				if i > 0 && b.finger(i) <= b.finger(i-1) || b.finger(i) < binary.BigEndian.Uint64(key[5:]) {
					v.problem("%s: site %s: fingerprints are not in order", StateFile, r.Site)
				}
				note(seen, "fingerprint of entry", b.num(i), b.finger(i))
			}
			continue
		}
		d := decoder{b: raw}
		e, err := d.entry(r.Site)
		fate := v.ends[entryID(n, lastNum(key))]
		if kind == kindEnded {
			if fate = d.fate(); fate.Code == frontier.OutOfScope {
				v.aside(tx, n, lastNum(key))
			}
		}
		if err == nil {
			err = d.err()
		}
		if v.failed(err) {
			continue
		}
		v.done.Entries++
		v.knowFate(e.URL, fate)
		note(queued, "entry", lastNum(key), fingerprint(e.URL, v.seed))
	}
	for i := range queued {
		if queued[i] != seen[i] {
			v.problem("%s: site %s: entry %d was not seen, or is lost", StateFile, r.Site, i+1)
		}
	}
	if counts[kindReady] != r.Ready || counts[kindWaiting] != r.Waiting {
		v.problem("%s: site %s: %d ready and %d waiting entries, its record says %d and %d",
			StateFile, r.Site, counts[kindReady], counts[kindWaiting], r.Ready, r.Waiting)
	}
}

// aside checks that an entry that ended out of scope can come back.
func (v *verifier) aside(tx *bbolt.Tx, n siteNum, num uint32) {
	key := rowKey(entryID(n, num))
	value := tx.Bucket(bucketAside).Get(key)
	if value == nil {
		v.problem("%s: entry %d of site %d ended out of scope and was not set aside", StateFile, num, n)
		return
	}
	v.setAside++
	_, err := unseal(bucketAside, key, value)
	v.failed(err)
}

func (v *verifier) snapshots(tx *bbolt.Tx) {
	bodies := tx.Bucket(bucketBodies)
	snapshots := tx.Bucket(bucketSnapshots)
	each(snapshots, func(key, value []byte) {
		site, at, _ := bytes.Cut(key, []byte{0})
		if len(at) == 0 {
			last, err := unseal(bucketSnapshots, key, value)
			if !v.failed(err) && snapshots.Get(append(bytes.Clone(key), last...)) == nil {
				v.problem("%s: the last robots.txt of %s is missing", StateFile, site)
			}
			return
		}
		v.done.Snapshots++
		s, err := getSnapshot(tx, frontier.Site(site), key, value)
		if v.failed(err) || len(s.Body) == 0 {
			return
		}
		sum := sha256.Sum256(s.Body)
		if bodies.Get(sum[:]) == nil {
			v.problem("%s: robots.txt of %s, fetched %s, is not what was stored", StateFile, site, s.Fetched.Format(time.RFC3339))
		}
	})
}

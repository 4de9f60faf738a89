package state

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/binary"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"runtime/debug"
	"time"

	"github.com/permesso-crawler/permesso/frontier"
	"go.etcd.io/bbolt"
)

// A Check reads a whole state file and checks that its parts do not contradict each other.
type Check struct {
	Problem func(error)                       // called with each part that is damaged or contradicts another; the error has the path of state.db
	Fate    func(frontier.URL, frontier.Fate) // called with the URL and the fate of each entry; called again if the journal also has the URL, and with the fate of a last visit
	Payload func(Payload)                     // called with each archived answer in bucketPayloads or the journal of payloads
}

// Checked is the result of a Check.
type Checked struct {
	Sites, Entries, Snapshots int

	Unclean  bool       // the last run did not close the state
	Growing  Marks      // marks of the outputs to which a run appends
	Finished Marks      // marks of the finished outputs
	Index    IndexMarks // marks of the index and of index.part
}

// ErrEmpty says that a state file has no buckets: the run that created the file ended before it
// began the crawl.
var ErrEmpty = errors.New("no bucket was made")

// Read reads the state of the crawl in dir, and changes nothing. It needs 16 bytes of memory
// for each URL of the largest site. It stops when ctx ends, except while bbolt checks the tree
// of pages.
//
// It returns the error of ctx, an *InUseError, a *VersionError, a *DamagedError if nothing in
// the file can be read, or an error of the file system. Some kinds of damage make bbolt panic
// in a goroutine of its own, which ends the process.
func (c Check) Read(ctx context.Context, dir string) (done Checked, err error) {
	r := &checker{Check: c, ctx: ctx, path: filepath.Join(dir, File), ends: map[siteEntry]frontier.Fate{}}
	r.done.Growing, r.done.Finished = Marks{}, Marks{}
	defer func() {
		if p := recover(); p != nil { // bbolt panics if it reads damaged pages
			done, err = r.done, damaged(r.path, nil, p)
		}
	}()
	defer debug.SetPanicOnFault(debug.SetPanicOnFault(true))
	bolt, err := openChecked(dir, true)
	if err != nil {
		return r.done, err
	}
	err = bolt.View(r.state)
	return r.done, errors.Join(err, bolt.Close())
}

// A siteEntry identifies an entry that the journal names.
type siteEntry struct {
	site frontier.Site
	fp   uint64
}

type checker struct {
	Check
	ctx      context.Context
	path     string
	done     Checked
	seed     uint64
	ends     map[siteEntry]frontier.Fate // fates of the entries whose end is only in the journal
	setAside int                         // number of entries that were put aside (frontier.Code.Aside)
}

func (v *checker) problem(format string, args ...any) {
	v.Problem(fmt.Errorf(File+": "+format, args...))
}

// failed passes err to Problem unless err is nil. It reports whether err is not nil.
func (v *checker) failed(err error) bool {
	if err != nil {
		v.problem("%w", err)
	}
	return err != nil
}

func (v *checker) state(tx *bbolt.Tx) error {
	for err := range tx.Check() {
		v.failed(err)
	}
	if first, _ := tx.Cursor().First(); first == nil {
		return &DamagedError{v.path, ErrEmpty}
	}
	var err error
	if v.seed, err = checkBuckets(tx, v.path); err != nil {
		return err
	}
	if err := v.meta(tx.Bucket(bucketMeta)); err != nil {
		return err
	}
	for _, step := range []func(*bbolt.Tx){v.journals, v.common, v.files, v.payloads, v.sites, v.snapshots} {
		if v.over() {
			break
		}
		step(tx)
	}
	return v.ctx.Err()
}

// over reports whether the context has ended. After that, parts that are not found may only be
// unread, so they are not damage.
func (v *checker) over() bool { return v.ctx.Err() != nil }

// each calls f with the rows of b, a bucket without nested buckets, until the context ends.
func (v *checker) each(b *bbolt.Bucket, f func(key, value []byte)) {
	c := b.Cursor()
	for key, value := c.First(); key != nil && !v.over(); key, value = c.Next() {
		f(key, value)
	}
}

func (v *checker) journals(tx *bbolt.Tx) { v.each(tx.Bucket(bucketJournal), v.journal) }

func (v *checker) common(tx *bbolt.Tx) {
	v.each(tx.Bucket(bucketCommon), func(key, value []byte) {
		_, err := unseal(bucketCommon, key, value)
		v.failed(err)
	})
}

func (v *checker) files(tx *bbolt.Tx) {
	v.each(tx.Bucket(bucketFinished), func(key, value []byte) {
		var m Mark
		if !v.failed(decode(bucketFinished, key, value, &m)) {
			v.done.Finished[string(key)] = m
		}
	})
	_, err := loadArchives(tx)
	v.failed(err)
}

func (v *checker) payloads(tx *bbolt.Tx) {
	v.each(tx.Bucket(bucketPayloads), func(key, value []byte) {
		if p, err := getPayload(key, value); !v.failed(err) {
			v.Payload(*p)
		}
	})
	v.each(tx.Bucket(bucketPayloadJournal), func(key, value []byte) {
		v.failed(payloadsOf(key, value, func(_ journaledPayload, p Payload) { v.Payload(p) }))
	})
}

func (v *checker) meta(meta *bbolt.Bucket) error {
	v.each(meta, func(key, value []byte) {
		if !bytes.Equal(key, keyVersion) && !bytes.Equal(key, keySeed) {
			_, err := unseal(bucketMeta, key, value)
			v.failed(err)
		}
	})
	growing, index, err := getMarks(meta)
	if !v.failed(err) {
		v.done.Growing, v.done.Index = growing, index
	}
	v.done.Unclean = meta.Get(keyOpen) != nil
	if _, err := os.Stat(filepath.Join(filepath.Dir(v.path), RunFile)); v.done.Unclean && errors.Is(err, fs.ErrNotExist) {
		v.problem("a run has not ended, and there is no %s: that was removed, or the state is an older one", RunFile)
	}
	_, err = getCommit(meta)
	v.failed(err)
	return nil
}

// journal checks a row of the journal: the links, and the ends of entries that are not merged
// yet.
func (v *checker) journal(key, value []byte) {
	all, err := decodeRow(key, value)
	if v.failed(err) {
		return
	}
	for i := range all {
		e := &all[i]
		if e.entry.fp != 0 {
			d := decoder{b: e.raw}
			v.ends[siteEntry{e.site, e.entry.fp}] = d.completion().fate
		}
		for _, b := range e.back {
			v.ends[siteEntry{e.site, b.fp}] = frontier.Fate{}
		}
		for _, l := range e.links {
			text := decoder{b: e.raw[l.at:]}
			d := decoder{b: text.lengthed()}
			if entry, err := d.entry(l.site); !v.failed(err) {
				v.Fate(entry.URL, frontier.Fate{})
			}
		}
	}
}

// sites checks that the record, the name, the entries and the fingerprints of each site agree.
func (v *checker) sites(tx *bbolt.Tx) {
	states, names := tx.Bucket(bucketStates), tx.Bucket(bucketNames)
	count := 0
	v.each(names, func(key, value []byte) {
		count++
		n, err := siteNumber(names, frontier.Site(key))
		if !v.failed(err) && states.Get(n.key()) == nil {
			v.problem("site %s has the number %d and no record", key, n)
		}
	})
	v.each(states, func(key, value []byte) {
		count--
		v.done.Sites++
		var r siteRecord
		if v.failed(r.decode(key, value)) {
			return
		}
		n := keySite(key)
		if is, err := siteNumber(names, r.Site); !v.failed(err) && is != n {
			v.problem("site %s has the record %d and the number %d", r.Site, n, is)
		}
		v.site(tx, n, &r)
	})
	if v.over() {
		return
	}
	if count != 0 {
		v.problem("there are %d more names than records of sites", count)
	}
	v.each(tx.Bucket(bucketAside), func([]byte, []byte) { v.setAside-- })
	if v.setAside != 0 && !v.over() {
		v.problem("there are %d more entries set aside than entries that ended out of scope", -v.setAside)
	}
	last := siteNum(names.Sequence())
	for _, bucket := range []*bbolt.Bucket{states, tx.Bucket(bucketEntries)} {
		if key, _ := bucket.Cursor().Last(); len(key) >= 4 && keySite(key) > last {
			v.problem("there are rows of site %d, and only %d sites", keySite(key), last)
		}
	}
}

func (v *checker) site(tx *bbolt.Tx, n siteNum, r *siteRecord) {
	queued := make([]uint64, r.Entries) // fingerprints of the entries, by number - 1
	seen := make([]uint64, r.Entries)   // fingerprints of the entries in the blocks, also by number - 1
	counts, again := map[byte]int{}, 0
	note := func(to []uint64, what string, num uint32, fp uint64) {
		switch {
		case num == 0 || num > r.Entries:
			v.problem("site %s: %s %d of %d", r.Site, what, num, r.Entries)
		case to[num-1] != 0:
			v.problem("site %s: %s %d is there twice", r.Site, what, num)
		default:
			to[num-1] = fp
		}
	}
	c := tx.Bucket(bucketEntries).Cursor()
	prefix := n.key()
	for key, value := c.Seek(prefix); bytes.HasPrefix(key, prefix) && !v.over(); key, value = c.Next() {
		raw, err := unseal(bucketEntries, key, value)
		if v.failed(err) {
			continue
		}
		kind := key[4]
		counts[kind]++
		if kind == kindSeen {
			b := block(raw)
			v.ordered(r.Site, b, binary.BigEndian.Uint64(key[5:]))
			for i := range b.len() {
				note(seen, "fingerprint of entry", b.num(i), b.finger(i))
			}
			continue
		}
		d := decoder{b: raw}
		e, err := d.entry(r.Site)
		fate := v.ends[siteEntry{r.Site, fingerprint(e.Key(), v.seed)}]
		if kind == kindEnded {
			var wrong error
			if fate, wrong = d.ended(tx.Bucket(bucketArchives)); fate.Code.Aside() {
				v.aside(tx, n, lastNum(key))
			}
			if err == nil && wrong != nil {
				err = recordError(bucketEntries, key, wrong)
			}
		}
		if v.failed(err) {
			continue
		}
		v.done.Entries++
		if kind == kindWaiting && waitsAgain(raw) {
			again++
		}
		v.Fate(e.URL, fate)
		if e.Visits != nil {
			v.Fate(e.URL, e.Visits.Last)
		}
		note(queued, "entry", lastNum(key), fingerprint(e.Key(), v.seed))
	}
	if v.over() {
		return
	}
	for i := range queued {
		if queued[i] != seen[i] {
			v.problem("site %s: entry %d was not seen, or is lost", r.Site, i+1)
		}
	}
	if counts[kindReady] != r.Ready || counts[kindWaiting] != r.Waiting {
		v.problem("site %s: %d ready and %d waiting entries, its record says %d and %d",
			r.Site, counts[kindReady], counts[kindWaiting], r.Ready, r.Waiting)
	}
	if again != r.Again {
		v.problem("site %s: %d entries to be fetched again, its record says %d", r.Site, again, r.Again)
	}
}

// ordered checks that the fingerprints in b are sorted, and not less than first, the
// fingerprint in the key of b.
func (v *checker) ordered(site frontier.Site, b block, first uint64) {
	for i := range b.len() {
		if i > 0 && b.finger(i) <= b.finger(i-1) || b.finger(i) < first {
			v.problem("site %s: fingerprints are not in order", site)
		}
	}
}

// aside checks that bucketAside names an entry whose fate has Code.Aside.
func (v *checker) aside(tx *bbolt.Tx, n siteNum, num uint32) {
	key := rowKey(entryID(n, num))
	value := tx.Bucket(bucketAside).Get(key)
	if value == nil {
		v.problem("entry %d of site %d ended out of scope and was not set aside", num, n)
		return
	}
	v.setAside++
	_, err := unseal(bucketAside, key, value)
	v.failed(err)
}

func (v *checker) snapshots(tx *bbolt.Tx) {
	bodies := tx.Bucket(bucketBodies)
	snapshots := tx.Bucket(bucketSnapshots)
	v.each(snapshots, func(key, value []byte) {
		site, at, _ := bytes.Cut(key, []byte{0})
		if len(at) == 0 {
			last, err := unseal(bucketSnapshots, key, value)
			if !v.failed(err) && snapshots.Get(append(bytes.Clone(key), last...)) == nil {
				v.problem("the last %s is missing", copyOf(frontier.Site(site)))
			}
			return
		}
		if !isLicense(frontier.Site(site)) {
			v.done.Snapshots++
		}
		s, err := getSnapshot(tx, frontier.Site(site), key, value)
		if v.failed(err) || len(s.Body) == 0 {
			return
		}
		sum := sha256.Sum256(s.Body)
		if bodies.Get(sum[:]) == nil {
			v.problem("%s, fetched %s, is not what was stored", copyOf(frontier.Site(site)), s.Fetched.Format(time.RFC3339))
		}
	})
}

package storage

import (
	"bufio"
	"bytes"
	"crypto/sha256"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"math"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/permesso-crawler/permesso/frontier"
	"github.com/permesso-crawler/permesso/storage/cdxj"
	"github.com/permesso-crawler/permesso/storage/crawllog"
	"github.com/permesso-crawler/permesso/storage/warc"
	"go.etcd.io/bbolt"
	berrors "go.etcd.io/bbolt/errors"
)

// Verified is what Verify has looked at.
type Verified struct {
	Sites, Entries, Snapshots int
	Pages, LogLines           int
	Records                   int // of WARC files
	Problems                  int
}

// Verify reads everything that the crawl in dir consists of, changes nothing,
// and calls problem with each thing that is not as it was written, or that does
// not fit the rest: checksums, the queue and what ended against what was seen,
// the counts of sites, the outputs. It needs 16 bytes of memory for each URL of
// the largest site.
//
// The error is an *InUseError, a *VersionError, or says that there is nothing
// that could be read. A state file that is damaged in a certain way makes bbolt
// panic in a goroutine of its own, which ends the process: who must go on calls
// Verify in a child process.
func Verify(dir string, problem func(error)) (Verified, error) {
	v := &verifier{dir: dir, report: problem}
	path := filepath.Join(dir, StateFile)
	if _, err := os.Stat(path); err != nil {
		return v.done, fmt.Errorf("there is no crawl in %s: %w", dir, err)
	}
	if err := preflight(path); err != nil {
		return v.done, &DamagedError{path, err}
	}
	bolt, err := bbolt.Open(path, 0o444, &bbolt.Options{ReadOnly: true, Timeout: time.Second, PreLoadFreelist: true})
	if errors.Is(err, berrors.ErrTimeout) {
		run, _ := ReadRun(dir)
		return v.done, &InUseError{dir, run}
	}
	if err != nil {
		return v.done, &DamagedError{path, err}
	}
	err = bolt.View(v.state)
	return v.done, errors.Join(err, bolt.Close(), v.outputs())
}

type verifier struct {
	dir     string
	report  func(error)
	done    Verified
	seed    uint64
	lengths map[string]int64

	setAside int // entries that ended out of scope
}

func (v *verifier) problem(format string, args ...any) {
	v.done.Problems++
	v.report(fmt.Errorf(format, args...))
}

// failed reports err, if there is one.
func (v *verifier) failed(err error) bool {
	if err != nil {
		v.problem("%w", err)
	}
	return err != nil
}

func (v *verifier) state(tx *bbolt.Tx) error {
	for err := range tx.Check() {
		v.problem("%s: %w", StateFile, err)
	}
	for _, name := range buckets {
		if tx.Bucket(name) == nil {
			return &DamagedError{filepath.Join(v.dir, StateFile), fmt.Errorf("bucket %s is missing", name)}
		}
	}
	if err := v.meta(tx.Bucket(bucketMeta)); err != nil {
		return err
	}
	each(tx.Bucket(bucketJournal), func(key, value []byte) {
		_, _, err := decodeRow(key, value)
		v.failed(err)
	})
	each(tx.Bucket(bucketCommon), func(key, value []byte) {
		_, err := unseal(bucketCommon, key, value)
		v.failed(err)
	})
	each(tx.Bucket(bucketPayloads), func(key, value []byte) {
		_, err := getPayload(key, value)
		v.failed(err)
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
	version, seed := meta.Get(keyVersion), meta.Get(keySeed)
	if len(version) != 8 || len(seed) != 8 {
		return &DamagedError{filepath.Join(v.dir, StateFile), errors.New("not the state of a crawl")}
	}
	if have := binary.BigEndian.Uint64(version); have != schemaVersion {
		return &VersionError{filepath.Join(v.dir, StateFile), have, schemaVersion}
	}
	v.seed = binary.BigEndian.Uint64(seed)
	each(meta, func(key, value []byte) {
		if !bytes.Equal(key, keyVersion) && !bytes.Equal(key, keySeed) {
			_, err := unseal(bucketMeta, key, value)
			v.failed(err)
		}
	})
	if raw := meta.Get(keyOutputs); raw != nil {
		v.failed(decode(bucketMeta, keyOutputs, raw, &v.lengths))
	}
	_, _, err := getCommit(meta)
	v.failed(err)
	return nil
}

// sites compares each site's record, name, entries and fingerprints.
func (v *verifier) sites(tx *bbolt.Tx) {
	states, names := tx.Bucket(bucketStates), tx.Bucket(bucketNames)
	count := 0
	each(names, func(key, value []byte) {
		count++
		n, err := siteNumber(names, frontier.Site(key))
		if !v.failed(err) && states.Get(n.key()) == nil {
			v.problem("site %s has the number %d and no record", key, n)
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
		if is, err := siteNumber(names, r.Site); err != nil || is != n {
			v.problem("site %s has the record %d and the number %d: %w", r.Site, n, is, errors.Join(err))
		}
		v.site(tx, n, &r)
	})
	if count != 0 {
		v.problem("there are %d more names than records of sites", count)
	}
	each(tx.Bucket(bucketAside), func([]byte, []byte) { v.setAside-- })
	if v.setAside != 0 {
		v.problem("there are %d more entries set aside than entries that ended out of scope", -v.setAside)
	}
	last := siteNum(names.Sequence())
	for _, bucket := range []*bbolt.Bucket{states, tx.Bucket(bucketEntries)} {
		if key, _ := bucket.Cursor().Last(); len(key) >= 4 && keySite(key) > last {
			v.problem("there are rows of site %d, and only %d sites", keySite(key), last)
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
			v.problem("site %s: %s %d of %d", r.Site, what, num, r.Entries)
		case to[num-1] != 0:
			v.problem("site %s: %s %d is there twice", r.Site, what, num)
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
					v.problem("site %s: fingerprints are not in order", r.Site)
				}
				note(seen, "fingerprint of entry", b.num(i), b.finger(i))
			}
			continue
		}
		d := decoder{b: raw}
		e, err := d.entry(r.Site)
		if kind == kindEnded && d.fate().Code == frontier.OutOfScope {
			v.aside(tx, n, lastNum(key))
		}
		if err == nil {
			err = d.err()
		}
		if v.failed(err) {
			continue
		}
		v.done.Entries++
		note(queued, "entry", lastNum(key), fingerprint(e.URL, v.seed))
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
}

// aside checks that an entry that ended out of scope can come back.
func (v *verifier) aside(tx *bbolt.Tx, n siteNum, num uint32) {
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

func (v *verifier) snapshots(tx *bbolt.Tx) {
	bodies := tx.Bucket(bucketBodies)
	each(tx.Bucket(bucketSnapshots), func(key, value []byte) {
		v.done.Snapshots++
		site, _, _ := bytes.Cut(key, []byte{0})
		s, err := getSnapshot(tx, frontier.Site(site), key, value)
		if v.failed(err) || len(s.Body) == 0 {
			return
		}
		sum := sha256.Sum256(s.Body)
		if bodies.Get(sum[:]) == nil {
			v.problem("robots.txt of %s, fetched %s, is not what was stored", site, s.Fetched.Format(time.RFC3339))
		}
	})
}

// outputs reads the files beside the state.
func (v *verifier) outputs() error {
	err := v.lines(PagesFile, v.lengths[PagesFile], func(line []byte) error {
		v.done.Pages++
		var p PageRecord
		return json.Unmarshal(line, &p)
	})
	err = errors.Join(err, v.lines(LogFile, -1, func(line []byte) error {
		v.done.LogLines++
		_, err := crawllog.Parse(string(line))
		return err
	}))
	err = errors.Join(err, v.lines(LinksFile, v.lengths[LinksFile], func(line []byte) error {
		var l LinkRecord
		return json.Unmarshal(line, &l)
	}))
	err = errors.Join(err, v.lines(indexPart, v.lengths[indexPart], func(line []byte) error {
		_, err := cdxj.Parse(string(line))
		return err
	}))
	return errors.Join(err, v.archive())
}

// archive reads the WARC files, those that still grow up to what was committed.
func (v *verifier) archive() error {
	dir := filepath.Join(v.dir, ArchiveDir)
	files, err := os.ReadDir(dir)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	for _, f := range files {
		name, open := strings.CutSuffix(f.Name(), openSuffix)
		if !strings.HasSuffix(name, archiveFile) {
			continue
		}
		length := int64(math.MaxInt64)
		if open {
			length = v.lengths[archiveKey(name)]
		}
		err = errors.Join(err, v.records(filepath.Join(dir, f.Name()), length))
	}
	for key, length := range v.lengths {
		if name, ok := strings.CutPrefix(key, ArchiveDir+"/"); ok {
			info, err := os.Stat(filepath.Join(dir, name))
			if err != nil {
				info, err = os.Stat(filepath.Join(dir, name+openSuffix))
			}
			if err != nil || info.Size() < length {
				v.problem("%s is missing, or shorter than the %d bytes that were written", filepath.Join(dir, name), length)
			}
		}
	}
	return err
}

func (v *verifier) records(path string, length int64) error {
	f, err := os.Open(path)
	if err != nil {
		return err
	}
	defer f.Close()
	in := warc.NewReader(io.LimitReader(f, length))
	for {
		r, err := in.Next()
		if err == io.EOF {
			return nil
		}
		if err == nil {
			v.done.Records++
			if err = r.Verify(); err == nil {
				continue
			}
		}
		v.problem("%s: %w", path, err)
		if !errors.Is(err, warc.ErrDigest) {
			return nil
		}
	}
}

// lines checks the lines of a file, up to a length; -1: all, but a torn last
// one.
func (v *verifier) lines(name string, length int64, check func(line []byte) error) error {
	path := filepath.Join(v.dir, name)
	f, err := os.Open(path)
	if errors.Is(err, fs.ErrNotExist) {
		if length > 0 {
			v.problem("%s is missing, of which %d bytes were written", path, length)
		}
		return nil
	}
	if err != nil {
		return err
	}
	defer f.Close()
	r := io.Reader(f)
	if length >= 0 {
		info, err := f.Stat()
		if err != nil {
			return err
		}
		if info.Size() < length {
			v.problem("%s is %d bytes long where %d were written", path, info.Size(), length)
		}
		r = io.LimitReader(f, length)
	}
	lines := bufio.NewReaderSize(r, 1<<16)
	for n := 1; ; n++ {
		line, err := lines.ReadBytes('\n')
		if err == io.EOF && (len(line) == 0 || length < 0) {
			return nil
		}
		if err != nil && err != io.EOF {
			return err
		}
		if err := check(bytes.TrimSuffix(line, []byte("\n"))); err != nil {
			v.problem("%s:%d: %w", path, n, err)
		}
		if err == io.EOF {
			return nil
		}
	}
}

package storage

import (
	"encoding/base32"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"runtime/debug"
	"strings"
	"sync"
	"time"

	"github.com/permesso-crawler/permesso/storage/warc"
	"go.etcd.io/bbolt"
)

// Names of the archive in a crawl's directory.
const (
	ArchiveDir  = "warc"
	IndexFile   = "index.cdxj"
	indexPart   = "index.part" // the lines of IndexFile, as they came
	openSuffix  = ".open"      // of a WARC file that still grows
	archiveFile = ".warc.gz"
)

// Archive is how WARC files are written. Software and the like are those of
// the warcinfo record at the beginning of each file.
type Archive struct {
	Info    warc.Info
	MaxSize int64 // bytes of a file, after which the next is begun; 0: 1 GiB
}

// Archived says where the record of an answer stands.
type Archived struct {
	File           string // in ArchiveDir
	Offset, Length int64  // bytes
	Revisit        bool   // it refers to an earlier answer with the same payload
}

// A RecordError says that an exchange cannot be written as WARC records.
type RecordError struct {
	URL string
	Err error
}

func (e *RecordError) Error() string { return fmt.Sprintf("archive %s: %v", e.URL, e.Err) }

func (e *RecordError) Unwrap() error { return e.Err }

// encode makes the records of x. If it cannot make all of them, it makes that of
// the response alone.
func (a *archive) encode(b []byte, x *warc.Exchange) ([]byte, []warc.Placed, error) {
	records, placed, err := a.encoder.AppendExchange(b, x)
	if err == nil || x.Response == nil {
		return records, placed, err
	}
	plain, response := *x, *x.Response
	response.Head = nil
	plain.Response, plain.Request, plain.Metadata = &response, nil, nil
	if records, placed, err2 := a.encoder.AppendExchange(b, &plain); err2 == nil {
		return records, placed, nil
	}
	return nil, nil, err
}

var archiveBuffers = sync.Pool{New: func() any { return new([]byte) }}

// maxScratch is the largest buffer that is kept for another record.
const maxScratch = 1 << 20

// A payload is where an answer was archived first.
type payload struct {
	date time.Time
	url  string
}

// smallPayload bytes are not worth a revisit record.
const smallPayload = 64

// repeats makes x a revisit, if its payload is known. It returns the digest by
// which it is to be known otherwise.
func (db *DB) repeats(x *warc.Exchange) (string, error) {
	if x.Response == nil || x.Revisit != nil || len(x.Response.Body) < smallPayload || x.Truncated != "" {
		return "", nil
	}
	if x.PayloadDigest == "" {
		x.PayloadDigest = warc.PayloadDigest(x.Response)
	}
	digest := x.PayloadDigest
	p, err := db.payload(digest)
	if err != nil || p == nil {
		return digest, err
	}
	x.Revisit = &warc.RevisitOf{Profile: warc.IdenticalPayloadDigest, URL: p.url, Date: p.date, PayloadDigest: digest}
	return "", nil
}

func payloadKey(digest string) []byte {
	sum, err := base32.StdEncoding.DecodeString(strings.TrimPrefix(digest, sha1Prefix))
	if err != nil {
		return []byte(digest)
	}
	return sum
}

func (db *DB) payload(digest string) (p *payload, err error) {
	db.mu.Lock()
	p = db.payloads[digest]
	db.mu.Unlock()
	if p != nil {
		return p, nil
	}
	key := payloadKey(digest)
	err = db.view(func(tx *bbolt.Tx) error {
		value := tx.Bucket(bucketPayloads).Get(key)
		if value == nil {
			return nil
		}
		var err error
		p, err = getPayload(key, value)
		return err
	})
	return p, err
}

func getPayload(key, value []byte) (*payload, error) {
	raw, err := unseal(bucketPayloads, key, value)
	if err != nil {
		return nil, err
	}
	d := decoder{b: raw}
	p := &payload{d.time(), d.string()}
	if d.bad {
		return nil, recordError(bucketPayloads, key, errRecord)
	}
	return p, nil
}

func (c *change) putPayload(digest string, p *payload) error {
	bucket, key := c.tx.Bucket(bucketPayloads), payloadKey(digest)
	if bucket.Get(key) != nil { // of an answer that came at the same time
		return nil
	}
	b := c.arena.take(32 + len(p.url))[:checksumSize]
	return put(bucket, key, appendString(appendTime(b, p.date), p.url))
}

// archive is the WARC files that a run writes: one that grows, and those that
// are full but not yet committed.
type archive struct {
	opts    Archive
	dir     string
	prefix  string // of the names of this run's files
	encoder *warc.Encoder
	disk    disk

	// With outputs.moment held; the committer alone takes files out.
	serial int
	files  []*namedOutput // not finished: the last one grows, the others are full
	began  bool           // one of them was, since the directory was synced
}

// maxPrefix leaves room for the rest of a name: file systems take 255 bytes.
const maxPrefix = 200

func newArchive(dir string, opts Archive, disk disk, now time.Time) (*archive, error) {
	if opts.MaxSize <= 0 {
		opts.MaxSize = 1 << 30
	}
	encoder, err := warc.NewEncoder(warc.Options{})
	if err != nil {
		return nil, err
	}
	name, err := filepath.Abs(dir)
	if err != nil {
		return nil, err
	}
	a := &archive{opts: opts, dir: filepath.Join(dir, ArchiveDir), encoder: encoder, disk: disk}
	a.prefix = strings.TrimSuffix(filepath.Base(name), ".crawl") + "-" + now.UTC().Format("20060102150405")
	a.prefix = strings.Map(func(r rune) rune {
		if 'a' <= r|0x20 && r|0x20 <= 'z' || '0' <= r && r <= '9' || r == '-' || r == '.' || r == '_' {
			return r
		}
		return '_'
	}, a.prefix)
	if n := len(a.prefix); n > maxPrefix { // its end is the time
		a.prefix = a.prefix[:maxPrefix/2] + a.prefix[n-maxPrefix/2:]
	}
	return a, os.MkdirAll(a.dir, 0o755)
}

// append adds whole records and says in which file, and where. It requires that
// outputs.moment is held.
func (a *archive) append(records []byte) (file string, at int64, err error) {
	if n := len(a.files); n == 0 || a.files[n-1].mark().Length >= a.opts.MaxSize {
		if err := a.begin(); err != nil {
			return "", 0, err
		}
	}
	f := a.files[len(a.files)-1]
	at, err = f.append(records)
	return filepath.Base(f.name), at, err
}

// begin opens the next file. It requires that outputs.moment is held.
func (a *archive) begin() error {
	name := ""
	for {
		name = fmt.Sprintf("%s-%05d%s", a.prefix, a.serial, archiveFile)
		a.serial++
		_, err := os.Stat(filepath.Join(a.dir, name))
		_, err2 := os.Stat(filepath.Join(a.dir, name+openSuffix))
		if errors.Is(err, fs.ErrNotExist) && errors.Is(err2, fs.ErrNotExist) {
			break
		}
		if err := errors.Join(err, err2); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return err
		}
	}
	o, err := openOutput(filepath.Join(a.dir, name+openSuffix), mark{}, a.disk)
	if err != nil {
		return err
	}
	info := a.opts.Info
	info.Filename, info.Date = name, time.Now()
	record, _, err := a.encoder.AppendInfo(nil, &info)
	if err == nil {
		_, err = o.append(record)
	}
	if err != nil {
		return errors.Join(err, o.file.Close(), os.Remove(o.file.Name()))
	}
	a.began = true
	a.files = append(a.files, &namedOutput{archiveKey(name), o})
	return nil
}

// A warcFile is one in the directory of a crawl.
type warcFile struct {
	name  string // without openSuffix
	path  string
	grows bool // it has openSuffix
}

// warcFiles are those of the crawl in dir, by name.
func warcFiles(dir string) (all []warcFile, err error) {
	entries, err := os.ReadDir(filepath.Join(dir, ArchiveDir))
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	for _, e := range entries {
		f := warcFile{path: filepath.Join(dir, ArchiveDir, e.Name())}
		if f.name, f.grows = strings.CutSuffix(e.Name(), openSuffix); strings.HasSuffix(f.name, archiveFile) {
			all = append(all, f)
		}
	}
	return all, err
}

// ArchiveFiles are the paths of the WARC files of the crawl in dir that do not
// grow, in the order in which they were begun. The error is one of the file system.
func ArchiveFiles(dir string) (paths []string, err error) {
	all, err := warcFiles(dir)
	for _, f := range all {
		if !f.grows {
			paths = append(paths, f.path)
		}
	}
	return paths, err
}

func archiveKey(name string) string { return ArchiveDir + "/" + name }

// finish gives files their names, which are committed as they are.
func (a *archive) finish(full []*namedOutput) error {
	var errs []error
	for _, f := range full {
		err := f.file.Close()
		if err == nil {
			path := filepath.Join(a.dir, filepath.Base(f.name))
			err = os.Rename(path+openSuffix, path)
		}
		errs = append(errs, err)
	}
	// A name that is lost in a power cut would be that of a file nobody knows.
	return errors.Join(append(errs, a.disk.syncDir(a.dir))...)
}

// close gives what still grows its end and its name: what was not committed is
// cut off, so that the archive can be read, whatever ended the run.
func (a *archive) close(committed marks) error {
	var errs []error
	for _, f := range a.files {
		n := committed[f.name].Length
		path := filepath.Join(a.dir, filepath.Base(f.name))
		err := errors.Join(f.file.Truncate(n), f.file.Close())
		switch {
		case err != nil:
		case n == 0:
			err = os.Remove(path + openSuffix)
		default:
			err = os.Rename(path+openSuffix, path)
		}
		errs = append(errs, err)
	}
	return errors.Join(append(errs, a.disk.syncDir(a.dir))...)
}

// abandon closes what still grows, and leaves it to the next run to find out
// what counts.
func (a *archive) abandon() {
	for _, f := range a.files {
		f.file.Close()
	}
}

// recoverArchive gives the files that an earlier run left open their ends and
// names: they are cut to what was committed.
func recoverArchive(dir string, known marks, disk disk) error {
	for key, m := range known {
		name, ok := strings.CutPrefix(key, ArchiveDir+"/")
		if !ok {
			continue
		}
		path := filepath.Join(dir, ArchiveDir, name)
		switch o, err := openExisting(path+openSuffix, m, disk); {
		case errors.Is(err, fs.ErrNotExist):
			if info, err := os.Stat(path); err != nil || info.Size() != m.Length {
				return &DamagedError{path, fmt.Errorf("it is missing or not %d bytes long, as was written", m.Length)}
			}
		case err != nil:
			return err
		default:
			if err := errors.Join(disk.sync(o.file), o.file.Close()); err != nil {
				return err
			}
			if m.Length == 0 {
				err = os.Remove(path + openSuffix)
			} else {
				err = os.Rename(path+openSuffix, path)
			}
			if err != nil {
				return err
			}
		}
	}
	// Of the others nothing was committed.
	left, err := warcFiles(dir)
	for _, f := range left {
		if f.grows {
			err = errors.Join(err, os.Remove(f.path))
		}
	}
	if _, serr := os.Stat(filepath.Join(dir, ArchiveDir)); serr == nil {
		err = errors.Join(err, disk.syncDir(filepath.Join(dir, ArchiveDir)))
	}
	return err
}

// release makes the index, and says that nobody holds the crawl any more and what
// it has come to.
func (db *DB) release() (err error) {
	defer func() {
		if panicked := recover(); panicked != nil {
			db.broken = true
			err = db.damaged(nil, panicked)
		}
	}()
	defer debug.SetPanicOnFault(debug.SetPanicOnFault(true))
	if err := db.writeIndex(); err != nil {
		return err
	}
	return db.bolt.Update(func(tx *bbolt.Tx) error {
		meta := tx.Bucket(bucketMeta)
		return errors.Join(db.finished(tx), putIndex(meta, db.index), meta.Delete(keyOpen))
	})
}

// finished puts the marks of the files of the archive with those that are only
// compared by Verify: who has the files elsewhere by then can go on with the
// crawl.
func (db *DB) finished(tx *bbolt.Tx) error {
	for name, m := range db.marks {
		if !strings.HasPrefix(name, ArchiveDir+"/") {
			continue
		}
		if m.Length > 0 {
			if err := putFinished(tx, name, m); err != nil {
				return err
			}
		}
		delete(db.marks, name)
	}
	return putMarks(tx.Bucket(bucketMeta), db.marks)
}

func putFinished(tx *bbolt.Tx, name string, m mark) error {
	raw, err := encode(m)
	if err != nil {
		return err
	}
	return put(tx.Bucket(bucketFinished), []byte(name), raw)
}

// openExisting is openOutput for a file that must be there.
func openExisting(path string, committed mark, disk disk) (*output, error) {
	if _, err := os.Stat(path); err != nil {
		return nil, err
	}
	return openOutput(path, committed, disk)
}

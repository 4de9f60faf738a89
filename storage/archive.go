package storage

import (
	"bufio"
	"encoding/base32"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/permesso-crawler/permesso/storage/cdxj"
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

// PutExchange archives one exchange. An answer whose payload was archived
// before becomes a revisit record (WARC 1.1, section 6.7). What is returned
// holds once the file is committed; where no archive is kept, it is zero.
func (db *DB) PutExchange(x *warc.Exchange) (Archived, error) {
	a := db.archive
	if a == nil {
		return Archived{}, nil
	}
	digest, err := db.repeats(x)
	if err != nil {
		return Archived{}, err
	}
	buf := archiveBuffers.Get().(*[]byte)
	defer archiveBuffers.Put(buf)
	records, placed, err := a.encode((*buf)[:0], x)
	if err != nil {
		return Archived{}, err
	}
	if cap(records) <= maxScratch {
		*buf = records
	}
	where, err := db.place(records, placed[0])
	if err == nil && digest != "" && !where.Revisit {
		// Behind the record: no commit holds the payload without it.
		err = db.enqueue(op{digest: digest, payload: &payload{x.Date, x.URL}})
	}
	return where, err
}

// place appends the records of an exchange, and the line of the first of them: a commit
// holds both, or neither.
func (db *DB) place(records []byte, first warc.Placed) (Archived, error) {
	db.archive.whole.RLock()
	defer db.archive.whole.RUnlock()
	f, at, err := db.archive.append(records)
	if err != nil {
		return Archived{}, err
	}
	where := Archived{File: f, Offset: at + first.Offset, Length: first.Length, Revisit: first.Type == warc.Revisit}
	return where, db.index(first, where)
}

// A RecordError says that an exchange cannot be written as WARC records.
type RecordError struct {
	URL string
	Err error
}

func (e *RecordError) Error() string { return fmt.Sprintf("archive %s: %v", e.URL, e.Err) }

func (e *RecordError) Unwrap() error { return e.Err }

// encode makes the records of x: without what surrounds the answer, where that
// is in the way. The error is a *RecordError.
func (a *archive) encode(b []byte, x *warc.Exchange) ([]byte, []warc.Placed, error) {
	records, placed, err := a.encoder.AppendExchange(b, x)
	if err == nil || x.Response == nil {
		return records, placed, recordErrorOf(x, err)
	}
	plain, response := *x, *x.Response
	response.Head = nil
	plain.Response, plain.Request, plain.Metadata = &response, nil, nil
	if records, placed, err2 := a.encoder.AppendExchange(b, &plain); err2 == nil {
		return records, placed, nil
	}
	return nil, nil, recordErrorOf(x, err)
}

func recordErrorOf(x *warc.Exchange, err error) error {
	if err == nil {
		return nil
	}
	return &RecordError{x.URL, err}
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
	b := append(c.arena.take(32+len(p.url)), 0, 0, 0, 0)
	return put(bucket, key, appendString(appendTime(b, p.date), p.url))
}

// index writes the line of a record at its place, if an index lists it.
func (db *DB) index(p warc.Placed, at Archived) error {
	p.Offset = at.Offset
	e, err := cdxj.EntryOf(&p, at.File)
	if err != nil || e == nil {
		return err
	}
	line, err := e.Append(nil)
	if err != nil {
		return err
	}
	_, err = db.indexed.append(line)
	return err
}

// archive is the WARC files that a run writes: one that grows, and those that
// are full but not yet committed.
type archive struct {
	opts    Archive
	dir     string
	prefix  string // of the names of this run's files
	encoder *warc.Encoder

	whole sync.RWMutex // held by who adds a record and its line, and to note how long the files are

	mu     sync.Mutex
	serial int
	files  []*namedOutput // the last one grows
}

func newArchive(dir string, opts Archive, now time.Time) (*archive, error) {
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
	a := &archive{opts: opts, dir: filepath.Join(dir, ArchiveDir), encoder: encoder}
	a.prefix = strings.TrimSuffix(filepath.Base(name), ".crawl") + "-" + now.UTC().Format("20060102150405")
	a.prefix = strings.Map(func(r rune) rune {
		if 'a' <= r|0x20 && r|0x20 <= 'z' || '0' <= r && r <= '9' || r == '-' || r == '.' || r == '_' {
			return r
		}
		return '_'
	}, a.prefix)
	return a, os.MkdirAll(a.dir, 0o755)
}

// append adds whole records and says in which file, and where.
func (a *archive) append(records []byte) (file string, at int64, err error) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if n := len(a.files); n == 0 || a.files[n-1].size() >= a.opts.MaxSize {
		if err := a.begin(); err != nil {
			return "", 0, err
		}
	}
	f := a.files[len(a.files)-1]
	at, err = f.append(records)
	return filepath.Base(f.name), at, err
}

// begin opens the next file. It requires that mu is held.
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
	o, err := openOutput(filepath.Join(a.dir, name+openSuffix), 0)
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
		o.file.Close()
		return err
	}
	a.files = append(a.files, &namedOutput{archiveKey(name), o})
	return nil
}

// grown are the files that are not finished, those that are full first.
func (a *archive) grown() []*namedOutput {
	a.mu.Lock()
	defer a.mu.Unlock()
	return slices.Clone(a.files)
}

func archiveKey(name string) string { return ArchiveDir + "/" + name }

// finish gives files their names, which are committed as they are.
func (a *archive) finish(full []*namedOutput, lengths map[string]int64) error {
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
	if err := errors.Join(append(errs, syncDir(a.dir))...); err != nil {
		return err
	}
	for _, f := range full {
		delete(lengths, f.name)
	}
	a.mu.Lock()
	a.files = slices.DeleteFunc(a.files, func(f *namedOutput) bool { return slices.Contains(full, f) })
	a.mu.Unlock()
	return nil
}

// close gives what still grows its end and its name: what was not committed is
// cut off, so that the archive can be read, whatever ended the run.
func (a *archive) close(committed map[string]int64) error {
	var errs []error
	for _, f := range a.files {
		n := committed[f.name]
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
	return errors.Join(append(errs, syncDir(a.dir))...)
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
func recoverArchive(dir string, lengths map[string]int64) error {
	for key, length := range lengths {
		name, ok := strings.CutPrefix(key, ArchiveDir+"/")
		if !ok {
			continue
		}
		path := filepath.Join(dir, ArchiveDir, name)
		switch o, err := openExisting(path+openSuffix, length); {
		case errors.Is(err, fs.ErrNotExist):
			if info, err := os.Stat(path); err != nil || info.Size() != length {
				return &DamagedError{path, fmt.Errorf("it is missing or not %d bytes long, as was written", length)}
			}
		case err != nil:
			return err
		default:
			if err := errors.Join(o.file.Sync(), o.file.Close()); err != nil {
				return err
			}
			if length == 0 {
				err = os.Remove(path + openSuffix)
			} else {
				err = os.Rename(path+openSuffix, path)
			}
			if err != nil {
				return err
			}
		}
		delete(lengths, key)
	}
	// Of the others nothing was committed.
	left, err := filepath.Glob(filepath.Join(dir, ArchiveDir, "*"+archiveFile+openSuffix))
	for _, path := range left {
		err = errors.Join(err, os.Remove(path))
	}
	if _, serr := os.Stat(filepath.Join(dir, ArchiveDir)); serr == nil {
		err = errors.Join(err, syncDir(filepath.Join(dir, ArchiveDir)))
	}
	return err
}

// release makes the files of the archive no more a part of the state: who has
// them elsewhere by then can go on with the crawl.
func (db *DB) release() error {
	maps.DeleteFunc(db.lengths, func(name string, _ int64) bool { return strings.HasPrefix(name, ArchiveDir+"/") })
	return db.bolt.Update(func(tx *bbolt.Tx) error { return putLengths(tx.Bucket(bucketMeta), db.lengths) })
}

// openExisting is openOutput for a file that must be there.
func openExisting(path string, committed int64) (*output, error) {
	if _, err := os.Stat(path); err != nil {
		return nil, err
	}
	return openOutput(path, committed)
}

// writeIndex sorts the lines of the index into IndexFile, which is replaced as
// a whole.
func (db *DB) writeIndex() (err error) {
	path := filepath.Join(db.dir, IndexFile)
	in, err := os.Open(filepath.Join(db.dir, indexPart))
	if err != nil {
		return err
	}
	defer in.Close()
	sorter := cdxj.NewSorter(db.dir, 0)
	defer func() { err = errors.Join(err, sorter.Close()) }()
	lines := bufio.NewReaderSize(io.LimitReader(in, db.committed[indexPart]), 1<<16)
	for {
		line, err := lines.ReadBytes('\n')
		if err == io.EOF && len(line) == 0 {
			break
		}
		if err == nil {
			err = sorter.AddLine(line)
		}
		if err != nil {
			return fmt.Errorf("%s: %w", in.Name(), err)
		}
	}
	out, err := os.Create(path + ".new")
	if err != nil {
		return err
	}
	_, err = sorter.WriteTo(out)
	if err = errors.Join(err, out.Sync(), out.Close()); err != nil {
		return err
	}
	return os.Rename(path+".new", path)
}

package store

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"time"

	"github.com/permesso-crawler/permesso/internal/disk"
	"github.com/permesso-crawler/permesso/internal/gauge"
	"github.com/permesso-crawler/permesso/internal/state"
	"github.com/permesso-crawler/permesso/storage/warc"
)

// File names of the archive in a crawl's directory.
const (
	ArchiveDir  = "warc"
	IndexFile   = "index.cdxj"
	indexPart   = "index.part" // lines of IndexFile, in the order in which their records were written
	openSuffix  = ".open"      // suffix of a WARC file that is still being written
	archiveFile = ".warc.gz"
)

// Archive configures how WARC files are written. Info goes into the warcinfo record at the
// beginning of each file.
type Archive struct {
	Info    warc.Info
	MaxSize int64 // size in bytes after which the next file is begun; 0: 1 GiB
}

// archived says where the record of an answer was written.
type archived struct {
	File           string // name of the WARC file in ArchiveDir
	Offset, Length int64  // position and length of the record in that file, in bytes
	Revisit        bool   // the record has no payload; it refers to an earlier answer with the same payload
}

// encode appends the records of x to b. If x cannot be encoded, encode appends only the
// response, with a head made from its header instead of the head as the server sent it. If that
// fails, too, encode returns the error of the first attempt.
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

// maxScratch is the size in bytes of the largest buffer that is kept for another record.
const maxScratch = 1 << 20

// smallPayload is a size in bytes. A smaller payload is never replaced by a revisit record:
// it is stored again, even if it is known.
const smallPayload = 64

// repeats makes x a revisit record if a record has its payload already: a record of this
// archive, or v.Before, the capture of an earlier crawl. It then returns "". Otherwise it
// returns the digest under which the caller must record the payload in the state, or "" if the
// payload must not be recorded.
func (db *DB) repeats(x *warc.Exchange, v *Visit) (string, error) {
	if x.Response == nil || x.Head || x.Revisit != nil || len(x.Response.Body) < smallPayload || x.Truncated != "" {
		return "", nil
	}
	if x.PayloadDigest == "" {
		x.PayloadDigest = warc.PayloadDigest(x.Response)
	}
	digest := x.PayloadDigest
	p, err := db.state.Payload(digest)
	if err != nil {
		return digest, err
	}
	if p == nil {
		p = v.repeated(x, digest)
	}
	if p == nil {
		return digest, nil
	}
	x.Revisit = &warc.RevisitOf{Profile: warc.IdenticalPayloadDigest, URL: p.URL, Date: p.Date, PayloadDigest: digest}
	return "", nil
}

// repeated returns the answer of an earlier crawl (v.Before) that has the same payload digest
// as x, or nil. It reads and checks the body of that answer, so that a revisit record never
// refers to a body that cannot be read.
func (v *Visit) repeated(x *warc.Exchange, digest string) *state.Payload {
	b := v.Before
	if b == nil || x != v.Answer || b.Digest != digest || b.Truncated {
		return nil
	}
	if v.Unread = b.Check(); v.Unread != nil {
		return nil
	}
	return &state.Payload{Date: b.OfDate, URL: b.OfURL}
}

// An archive holds the WARC files that a run writes: the file that is being written, and
// the full files that are not yet committed.
type archive struct {
	opts    Archive
	dir     string
	prefix  string // the beginning of the names of this run's files
	encoder *warc.Encoder
	disk    disk.Disk

	// The lock outputs.moment guards serial, files and began. Only the goroutine that commits
	// removes elements of files.
	serial int
	files  []*namedOutput // unfinished files: the last one is being written, the others are full
	began  bool           // a file was created since the directory was last synced
}

// maxPrefix is the largest length of archive.prefix, in bytes. File systems allow 255 bytes for
// a whole file name.
const maxPrefix = 200

func newArchive(dir string, opts Archive, d disk.Disk, now time.Time) (*archive, error) {
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
	a := &archive{opts: opts, dir: filepath.Join(dir, ArchiveDir), encoder: encoder, disk: d}
	a.prefix = warcPrefix(strings.TrimSuffix(filepath.Base(name), ".crawl"), now)
	return a, os.MkdirAll(a.dir, 0o755)
}

// warcPrefix returns the beginning of the names of the WARC files of a run that begins now.
func warcPrefix(name string, now time.Time) string {
	prefix := strings.Map(func(r rune) rune {
		if 'a' <= r|0x20 && r|0x20 <= 'z' || '0' <= r && r <= '9' || r == '-' || r == '.' || r == '_' {
			return r
		}
		return '_'
	}, name+"-"+now.UTC().Format("20060102150405"))
	if n := len(prefix); n > maxPrefix { // keep the end of the prefix, because it has the time
		prefix = prefix[:maxPrefix/2] + prefix[n-maxPrefix/2:]
	}
	return prefix
}

// append adds whole records to the last file. It returns the name of this file, and the offset
// of the records in the file, in bytes. The caller holds outputs.moment.
func (a *archive) append(records []byte) (file string, at int64, err error) {
	if n := len(a.files); n == 0 || a.files[n-1].length() >= a.opts.MaxSize {
		if err := a.begin(); err != nil {
			return "", 0, err
		}
	}
	f := a.files[len(a.files)-1]
	at, err = f.append(records)
	return filepath.Base(f.name), at, err
}

// begin creates the next file. The caller holds outputs.moment.
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
	o, err := openOutput(filepath.Join(a.dir, name+openSuffix), state.Mark{}, a.disk)
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

// A warcFile is a WARC file in the directory of a crawl.
type warcFile struct {
	name  string // the file's name without openSuffix
	path  string
	grows bool // the name has openSuffix, because the file is still being written
}

// warcFiles returns the WARC files of the crawl in dir, sorted by name.
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

// expectArchive adds the WARC files in dir to what the gauge of ctx expects.
func expectArchive(ctx context.Context, dir string) {
	files, _ := warcFiles(dir) // who reads them reports the error
	for _, f := range files {
		gauge.Of(ctx).Expect(f.path)
	}
}

// ArchiveFiles returns the paths of the finished WARC files of the crawl in dir, in the
// order in which they were begun. It fails only if the directory cannot be read.
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

// finish renames the given full files, whose contents are committed, to their final names.
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
	// Without the sync a power cut could lose the new name of a committed file.
	return errors.Join(append(errs, a.disk.SyncDir(a.dir))...)
}

// close truncates the unfinished files to their committed lengths and renames them to their
// final names, so that the archive can be read even if the run has failed.
func (a *archive) close(committed state.Marks) error {
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
	return errors.Join(append(errs, a.disk.SyncDir(a.dir))...)
}

// abandon closes the unfinished files without truncating them. The next run truncates the files
// to their committed lengths.
func (a *archive) abandon() {
	for _, f := range a.files {
		f.file.Close()
	}
}

// recoverArchive finishes the WARC files that an earlier run has left unfinished: it truncates
// them to their lengths in known, the marks of the last commit, and renames them to their final
// names. It returns a *DamagedError if a file that has a mark in known is missing or is not as
// long as it was written.
func recoverArchive(dir string, known state.Marks, d disk.Disk) error {
	for key, m := range known {
		name, ok := strings.CutPrefix(key, ArchiveDir+"/")
		if !ok {
			continue
		}
		path := filepath.Join(dir, ArchiveDir, name)
		switch o, err := openExisting(path+openSuffix, m, d); {
		case errors.Is(err, fs.ErrNotExist):
			if info, err := os.Stat(path); err != nil || info.Size() != m.Length {
				return &DamagedError{Path: path, Err: fmt.Errorf("it is missing or not %d bytes long, as was written", m.Length)}
			}
		case err != nil:
			return err
		default:
			if err := errors.Join(d.Sync(o.file), o.file.Close()); err != nil {
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
	// The files that still have openSuffix have no mark, so nothing in them was committed.
	left, err := warcFiles(dir)
	for _, f := range left {
		if f.grows {
			err = errors.Join(err, os.Remove(f.path))
		}
	}
	if _, serr := os.Stat(filepath.Join(dir, ArchiveDir)); serr == nil {
		err = errors.Join(err, d.SyncDir(filepath.Join(dir, ArchiveDir)))
	}
	return err
}

// openExisting is like openOutput, but returns an error if the file does not exist.
func openExisting(path string, committed state.Mark, d disk.Disk) (*output, error) {
	if _, err := os.Stat(path); err != nil {
		return nil, err
	}
	return openOutput(path, committed, d)
}

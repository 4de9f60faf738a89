package storage

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"maps"
	"math"
	"os"
	"path/filepath"
	"slices"

	"github.com/permesso-crawler/permesso/storage/cdxj"
	"github.com/permesso-crawler/permesso/storage/internal/lines"
	"github.com/permesso-crawler/permesso/storage/warc"
	"go.etcd.io/bbolt"
)

// What an indexer has made, in two files that have not their names yet.
type madeIndex struct {
	part, sorted mark
	lines        int64
}

// indexMarks say what index.cdxj is, and of what it was made.
type indexMarks struct {
	Part  mark `json:"part"`
	Index mark `json:"index"`
}

func putIndex(meta *bbolt.Bucket, m indexMarks) error {
	raw, err := encode(m)
	if err != nil {
		return err
	}
	return put(meta, keyIndex, raw)
}

// recoverIndex makes index.part again where a run is to append to it, and it is
// not there. Whether it is what it was is looked at when it is sorted.
func (db *DB) recoverIndex() error {
	m := db.marks[indexPart]
	if db.opts.Archive == nil || m.Length == 0 && !m.Lost {
		return nil
	}
	if !m.Lost && wholeLine(filepath.Join(db.dir, indexPart), m) == nil {
		return nil
	}
	return db.remakeIndex()
}

// writeIndex makes index.cdxj, unless it is that of all that was archived. What
// is not in index.part as it was written is read in the WARC files.
func (db *DB) writeIndex() error {
	part := db.committed[indexPart]
	if part.Length == 0 && !part.Lost {
		return nil
	}
	path := filepath.Join(db.dir, IndexFile)
	if info, err := os.Stat(path); err == nil && db.index.Part.same(part) && info.Size() == db.index.Index.Length {
		return nil
	}
	sorted, err := db.sortIndex(part)
	if errors.Is(err, errIndexLost) {
		return db.remakeIndex()
	}
	if err == nil {
		err = errors.Join(rename(db.dir, IndexFile), db.disk.syncDir(db.dir))
	}
	db.index = indexMarks{part, sorted}
	return err
}

var errIndexLost = errors.New(indexPart + " is not what was written")

// sortIndex sorts index.part into a new file.
func (db *DB) sortIndex(part mark) (sorted mark, err error) {
	in, err := os.Open(filepath.Join(db.dir, indexPart))
	if errors.Is(err, fs.ErrNotExist) || part.Lost {
		return sorted, errIndexLost
	}
	if err != nil {
		return sorted, err
	}
	defer in.Close()
	sorter := cdxj.NewSorter(db.dir, 0)
	defer func() { err = errors.Join(err, sorter.Close()) }()
	marked := &marking{r: io.LimitReader(in, part.Length)}
	reader := lines.NewReader(marked)
	for {
		line, err := reader.Next()
		if err == io.EOF {
			break
		}
		if err == nil {
			err = sorter.AddLine(append(line, '\n'))
		}
		if err != nil {
			return sorted, errors.Join(errIndexLost, err)
		}
	}
	if !marked.same(part) {
		return sorted, errIndexLost
	}
	return writeSorted(filepath.Join(db.dir, IndexFile+newSuffix), sorter, db.disk)
}

// remakeIndex makes both files again. What cannot be read of the archive is left
// out: Verify names it.
func (db *DB) remakeIndex() error {
	x := &indexer{dir: db.dir, disk: db.disk, marks: db.marks, problem: func(error) {}}
	made, err := x.make()
	if err != nil {
		return err
	}
	db.index = indexMarks{made.part, made.sorted}
	return x.commit(db.bolt, db.marks, made)
}

// Indexed is what MakeIndex has done.
type Indexed struct {
	Lines int64    // of the index
	Moved []string // names of WARC files that are not there, whose lines were taken over
}

// MakeIndex makes index.cdxj again, of the WARC files of the crawl in dir, with
// index.part that a later run appends to. Lines about files that are not in the
// directory are taken over from the index that is there. What cannot be read is
// given to problem and left out. It needs no more memory for a large archive than
// for a small one. Without a state file the WARC files alone are indexed.
//
// The error is an *InUseError, a *DamagedError, a *VersionError, or one of the
// file system.
func MakeIndex(dir string, problem func(error)) (done Indexed, err error) {
	if problem == nil {
		problem = func(error) {}
	}
	x := &indexer{dir: dir, problem: problem}
	path := filepath.Join(dir, StateFile)
	var bolt *bbolt.DB
	if _, err := os.Stat(path); err == nil {
		if bolt, err = openChecked(dir, false); err != nil {
			return done, err
		}
		defer func() { err = errors.Join(err, bolt.Close()) }()
		if err := bolt.View(func(tx *bbolt.Tx) error { return x.read(tx, path) }); err != nil {
			return done, err
		}
	} else if !errors.Is(err, fs.ErrNotExist) {
		return done, err
	}
	if _, err := os.Stat(filepath.Join(dir, ArchiveDir)); err != nil {
		return done, fmt.Errorf("there is no archive in %s: %w", dir, err)
	}
	made, err := x.make()
	if err == nil && bolt != nil {
		err = x.commit(bolt, x.marks, made)
	} else if err == nil {
		err = errors.Join(os.Remove(filepath.Join(dir, indexPart+newSuffix)), rename(dir, IndexFile))
	}
	return Indexed{made.lines, slices.Sorted(maps.Keys(x.gone))}, err
}

// read reads the marks.
func (x *indexer) read(tx *bbolt.Tx, path string) error {
	meta := tx.Bucket(bucketMeta)
	if _, err := layout(meta, path); err != nil {
		return err
	}
	x.marks = marks{}
	if raw := meta.Get(keyOutputs); raw != nil {
		if err := decode(bucketMeta, keyOutputs, raw, &x.marks); err != nil {
			return &DamagedError{path, err}
		}
	}
	return nil
}

// commit gives the new files their names. A kill in between leaves a state that
// says that they are to be made again.
func (x *indexer) commit(bolt *bbolt.DB, all marks, made madeIndex) error {
	put := func(m mark) error {
		all[indexPart] = m
		return bolt.Update(func(tx *bbolt.Tx) error {
			meta := tx.Bucket(bucketMeta)
			return errors.Join(putMarks(meta, all), putIndex(meta, indexMarks{made.part, made.sorted}))
		})
	}
	if err := put(mark{Lost: true}); err != nil {
		return err
	}
	if err := errors.Join(rename(x.dir, indexPart), rename(x.dir, IndexFile), x.disk.syncDir(x.dir)); err != nil {
		return err
	}
	return put(made.part)
}

func rename(dir, name string) error {
	path := filepath.Join(dir, name)
	return os.Rename(path+newSuffix, path)
}

// An indexer makes index.part and index.cdxj again, of the WARC files. What it
// knows of those that are not in the directory any more it takes from the index
// that is there.
type indexer struct {
	dir     string
	disk    disk
	marks   marks       // of WARC files that grow: what counts of them
	problem func(error) // is told what cannot be read, and is left out

	present map[string]bool // WARC files, by name
	gone    map[string]bool // those that are not there
	sorter  *cdxj.Sorter
	part    *bufio.Writer
}

const newSuffix = ".new"

func (x *indexer) make() (made madeIndex, err error) {
	part, err := os.Create(filepath.Join(x.dir, indexPart+newSuffix))
	if err != nil {
		return made, err
	}
	defer func() {
		if err != nil { // they may be what fills the disk
			os.Remove(filepath.Join(x.dir, indexPart+newSuffix))
			os.Remove(filepath.Join(x.dir, IndexFile+newSuffix))
		}
	}()
	defer func() { err = errors.Join(err, part.Close()) }()
	marked := &marking{w: part}
	x.part = bufio.NewWriterSize(marked, 1<<16)
	x.sorter = cdxj.NewSorter(x.dir, 0)
	defer func() { err = errors.Join(err, x.sorter.Close()) }()
	if err := x.files(); err != nil {
		return made, err
	}
	if err := x.moved(); err != nil {
		return made, err
	}
	if err := errors.Join(x.part.Flush(), x.disk.sync(part)); err != nil {
		return made, err
	}
	made.part, made.lines = marked.mark, x.sorter.Len()
	made.sorted, err = writeSorted(filepath.Join(x.dir, IndexFile+newSuffix), x.sorter, x.disk)
	return made, err
}

// files indexes the WARC files that are there.
func (x *indexer) files() error {
	x.present, x.gone = map[string]bool{}, map[string]bool{}
	files, err := warcFiles(x.dir)
	if err != nil {
		return err
	}
	for _, f := range files {
		length := int64(math.MaxInt64)
		if f.grows {
			length = x.marks[archiveKey(f.name)].Length
		}
		x.present[f.name] = true
		if err := x.file(f, length); err != nil {
			return err
		}
	}
	return nil
}

// file indexes what counts of a file.
func (x *indexer) file(f warcFile, length int64) error {
	file, err := os.Open(f.path)
	if err != nil {
		return err
	}
	defer file.Close()
	return cdxj.Index(io.LimitReader(file, length), f.name, func(e *cdxj.Entry) error {
		line, err := e.Append(nil)
		if err != nil {
			return err
		}
		return x.add(line)
	}, func(bad *warc.Error) error {
		x.problem(fmt.Errorf("%s: %w", f.path, bad))
		return nil
	})
}

func (x *indexer) add(line []byte) error {
	if _, err := x.part.Write(line); err != nil {
		return err
	}
	return x.sorter.AddLine(line)
}

// moved takes over the lines of WARC files that are not there, once each.
func (x *indexer) moved() (err error) {
	known := cdxj.NewSorter(x.dir, 0)
	defer func() { err = errors.Join(err, known.Close()) }()
	for _, name := range []string{IndexFile, indexPart} {
		if err := x.known(name, known); err != nil {
			return err
		}
	}
	var before []byte
	_, err = known.WriteTo(&lineWriter{each: func(line []byte) error {
		if bytes.Equal(line, before) {
			return nil
		}
		before = append(before[:0], line...)
		return x.add(line)
	}})
	return err
}

// known reads an index that is there, as far as it can be read.
func (x *indexer) known(name string, to *cdxj.Sorter) error {
	f, err := os.Open(filepath.Join(x.dir, name))
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return err
	}
	defer f.Close()
	reader := lines.NewReader(f)
	for {
		line, err := reader.Next()
		if err == io.EOF {
			return nil
		}
		if err != nil && err != lines.ErrLong {
			return err
		}
		if err != nil || reader.Torn() || len(line) >= cdxj.MaxLine {
			continue // none that was written here
		}
		if e, err := cdxj.Parse(string(line)); err == nil && !x.present[e.Filename] {
			x.gone[e.Filename] = true
			if err := to.AddLine(append(line, '\n')); err != nil {
				return err
			}
		}
	}
}

// A lineWriter is called with each whole line that is written to it, with its end.
type lineWriter struct {
	each func(line []byte) error
	rest []byte
}

func (w *lineWriter) Write(p []byte) (int, error) {
	w.rest = append(w.rest, p...)
	at := 0
	for {
		n := bytes.IndexByte(w.rest[at:], '\n')
		if n < 0 {
			break
		}
		if err := w.each(w.rest[at : at+n+1]); err != nil {
			return 0, err
		}
		at += n + 1
	}
	w.rest = append(w.rest[:0], w.rest[at:]...)
	return len(p), nil
}

// writeSorted writes all lines to a new file, and syncs it.
func writeSorted(path string, lines *cdxj.Sorter, disk disk) (mark, error) {
	f, err := os.Create(path)
	if err != nil {
		return mark{}, err
	}
	out := &marking{w: f}
	_, err = lines.WriteTo(out)
	return out.mark, errors.Join(err, disk.sync(f), f.Close())
}

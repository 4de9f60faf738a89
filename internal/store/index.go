package store

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"maps"
	"math"
	"os"
	"path/filepath"
	"slices"

	"github.com/permesso-crawler/permesso/internal/digest"
	"github.com/permesso-crawler/permesso/internal/disk"
	"github.com/permesso-crawler/permesso/internal/lines"
	"github.com/permesso-crawler/permesso/internal/state"
	"github.com/permesso-crawler/permesso/internal/warcscan"
	"github.com/permesso-crawler/permesso/storage/cdxj"
	"github.com/permesso-crawler/permesso/storage/warc"
)

// A madeIndex describes the two new files that an indexer has written. The files do not have
// their final names yet.
type madeIndex struct {
	part, sorted state.Mark // marks of the new index.part and of the new index.cdxj
	lines        int64
}

// A marksPutter stores the marks (lengths and checksums) of a crawl's files in its state.
type marksPutter interface {
	PutMarks(growing state.Marks, index state.IndexMarks) error
}

// recoverIndex makes index.part again if that file is missing or too short, because a run must
// append to it. The contents of an existing file are checked only when it is sorted.
func (s *outputs) recoverIndex(known state.Marks) error {
	m := known[indexPart]
	if m.Length == 0 && !m.Lost {
		return nil
	}
	if !m.Lost && wholeLine(filepath.Join(s.dir, indexPart), m) == nil {
		return nil
	}
	return s.remakeIndex(known)
}

// writeIndex makes index.cdxj from index.part, unless the existing index.cdxj was made from the
// same lines. If index.part is not as it was written, writeIndex makes both files from the WARC
// files.
func (s *outputs) writeIndex(committed state.Marks) error {
	part := committed[indexPart]
	if part.Length == 0 && !part.Lost {
		return nil
	}
	path := filepath.Join(s.dir, IndexFile)
	if info, err := os.Stat(path); err == nil && s.made.Part.Same(part) && info.Size() == s.made.Index.Length {
		return nil
	}
	sorted, err := s.sortIndex(part)
	if errors.Is(err, errIndexLost) {
		return s.remakeIndex(committed)
	}
	if err == nil {
		err = errors.Join(rename(s.dir, IndexFile), s.disk.SyncDir(s.dir))
	}
	s.made = state.IndexMarks{Part: part, Index: sorted}
	return err
}

var errIndexLost = errors.New(indexPart + " is not what was written")

// sortIndex writes the sorted lines of index.part to a new file. It returns errIndexLost if
// index.part is missing or is not as it was written.
func (s *outputs) sortIndex(part state.Mark) (sorted state.Mark, err error) {
	in, err := os.Open(filepath.Join(s.dir, indexPart))
	if errors.Is(err, fs.ErrNotExist) || part.Lost {
		return sorted, errIndexLost
	}
	if err != nil {
		return sorted, err
	}
	defer in.Close()
	sorter := cdxj.NewSorter(s.dir, 0)
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
	if !marked.Same(part) {
		return sorted, errIndexLost
	}
	return writeSorted(context.Background(), s.dir, sorter, s.disk)
}

// remakeIndex makes index.part and index.cdxj again from the WARC files. Records that cannot be
// read are left out; Verify reports these records.
func (s *outputs) remakeIndex(known state.Marks) error {
	x := &indexer{ctx: context.Background(), dir: s.dir, disk: s.disk, marks: known, problem: func(error) {}}
	made, err := x.make()
	if err != nil {
		return err
	}
	s.made = state.IndexMarks{Part: made.part, Index: made.sorted}
	return x.commit(s.state, made)
}

// Indexed is the result of MakeIndex.
type Indexed struct {
	Lines int64    // number of lines of the new index
	Moved []string // names of missing WARC files, whose lines were copied from the old index
}

// MakeIndex makes index.cdxj again from the WARC files of the crawl in dir. It mends a crawl if
// each problem that Verify finds is an *IndexError; other damage needs a Repair first. If there is
// a state file, MakeIndex also makes index.part again, to which a later run appends. The lines of
// the existing index about WARC files that are not in the directory are copied. If a record cannot
// be read, MakeIndex leaves it out and calls problem, if problem is not nil. The memory needed does
// not depend on the size of the archive. If ctx ends before both files are made, MakeIndex removes
// its new files, changes nothing and returns the error of ctx.
//
// Otherwise the error is an *InUseError, a *NotBegunError, a *DamagedError, a *VersionError, a
// *PurgeError, or an error of the file system.
func MakeIndex(ctx context.Context, dir string, problem func(error)) (done Indexed, err error) {
	if problem == nil {
		problem = func(error) {}
	}
	if err := errors.Join(ended(ctx), NotBegun(dir)); err != nil {
		return done, err
	}
	x := &indexer{ctx: ctx, dir: dir, problem: problem}
	path := filepath.Join(dir, StateFile)
	var outline *state.Outline
	if _, err := os.Stat(path); err == nil {
		if outline, err = state.OpenOutline(dir); err != nil {
			return done, err
		}
		defer func() { err = errors.Join(err, outline.Close()) }()
		if err := errors.Join(notPurging(dir), notRepairing(dir)); err != nil {
			return done, err
		}
		x.marks, x.index = outline.Marks, outline.Index
	} else if !errors.Is(err, fs.ErrNotExist) {
		return done, err
	}
	if _, err := os.Stat(filepath.Join(dir, ArchiveDir)); err != nil {
		return done, fmt.Errorf("there is no archive in %s: %w", dir, err)
	}
	made, err := x.make()
	if err == nil && outline != nil {
		err = x.commit(outline, made)
	} else if err == nil {
		err = errors.Join(removeNew(dir, indexPart), rename(dir, IndexFile))
	}
	return Indexed{made.lines, slices.Sorted(maps.Keys(x.gone))}, err
}

// commit renames the new files to their final names and stores their marks. Before that it
// stores in the state that the index is lost. So if the process is killed in between, the next
// run makes the files again.
func (x *indexer) commit(to marksPutter, made madeIndex) error {
	put := func(m state.Mark) error {
		x.marks[indexPart] = m
		return to.PutMarks(x.marks, state.IndexMarks{Part: made.part, Index: made.sorted})
	}
	same := x.unchanged(made)
	if !same {
		if err := put(state.Mark{Lost: true}); err != nil {
			return err
		}
	}
	if err := errors.Join(rename(x.dir, indexPart), rename(x.dir, IndexFile), x.disk.SyncDir(x.dir)); err != nil || same {
		return err
	}
	return put(made.part)
}

// unchanged reports whether the new files have the marks that the state has already. Then
// commit must not write to the state, because the provenance of the crawl names the digest of
// the state file.
func (x *indexer) unchanged(made madeIndex) bool {
	part := x.marks[indexPart]
	return !part.Lost && part.Same(made.part) && x.index.Part.Same(made.part) && x.index.Index.Same(made.sorted)
}

// An indexer makes index.part and index.cdxj again from the WARC files. It copies the lines
// about missing WARC files from the existing index.
type indexer struct {
	ctx     context.Context
	dir     string
	disk    disk.Disk
	marks   state.Marks      // committed lengths of unfinished WARC files
	index   state.IndexMarks // marks of index.cdxj and of its index.part at the last commit
	problem func(error)      // called for each record that cannot be read; the record is left out

	present map[string]bool // names of the WARC files in the directory
	gone    map[string]bool // names of the WARC files that are missing
	sorter  *cdxj.Sorter
	part    *bufio.Writer
}

func (x *indexer) make() (made madeIndex, err error) {
	if _, err := newName(x.dir, IndexFile); err != nil {
		return made, err
	}
	part, err := createNew(x.dir, indexPart)
	if err != nil {
		return made, err
	}
	defer func() {
		if err != nil { // remove the new files, because they may be the reason why the disk is full
			_ = removeNew(x.dir, indexPart)
			_ = removeNew(x.dir, IndexFile)
		}
	}()
	defer func() { err = errors.Join(err, part.Close()) }()
	marked := &marking{w: part, sha: digest.New()}
	x.part = bufio.NewWriterSize(marked, 1<<16)
	x.sorter = cdxj.NewSorter(x.dir, 0)
	defer func() { err = errors.Join(err, x.sorter.Close()) }()
	if err := x.files(); err != nil {
		return made, err
	}
	if err := x.moved(); err != nil {
		return made, err
	}
	if err := errors.Join(x.part.Flush(), x.disk.Sync(part)); err != nil {
		return made, err
	}
	made.part, made.lines = marked.mark(), x.sorter.Len()
	made.sorted, err = writeSorted(x.ctx, x.dir, x.sorter, x.disk)
	return made, err
}

// files adds the lines of all WARC files in the directory.
func (x *indexer) files() error {
	x.present, x.gone = map[string]bool{}, map[string]bool{}
	files, err := warcFiles(x.dir)
	if err != nil {
		return err
	}
	expectArchive(x.ctx, x.dir)
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

// file adds the lines of the records in the first length bytes of f.
func (x *indexer) file(f warcFile, length int64) error {
	file, err := os.Open(f.path)
	if err != nil {
		return err
	}
	defer file.Close()
	info, err := file.Stat()
	if err != nil {
		return err
	}
	for e, err := range warcscan.Entries(x.ctx, file, min(length, info.Size()), f.name) {
		var bad *warc.Error
		if errors.As(err, &bad) {
			x.problem(fmt.Errorf("%s: %w", f.path, bad))
			continue
		}
		var line []byte
		if err == nil {
			line, err = e.Append(nil)
		}
		if err == nil {
			err = x.add(line)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

func (x *indexer) add(line []byte) error {
	if err := ended(x.ctx); err != nil {
		return err
	}
	if _, err := x.part.Write(line); err != nil {
		return err
	}
	return x.sorter.AddLine(line)
}

// moved copies the lines about missing WARC files from the existing index.cdxj and index.part.
// A line that is in both files is copied only once.
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

// known adds to a sorter those lines of an existing index that are about missing WARC files. It
// skips lines that it cannot parse.
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
		if over := ended(x.ctx); over != nil {
			return over
		}
		if err != nil && err != lines.ErrLong {
			return err
		}
		if err != nil || reader.Torn() || len(line) >= cdxj.MaxLine {
			continue // a line that this package has not written
		}
		if e, err := cdxj.Parse(string(line)); err == nil && !x.present[e.Filename] {
			x.gone[e.Filename] = true
			if err := to.AddLine(append(line, '\n')); err != nil {
				return err
			}
		}
	}
}

// A lineWriter calls each with every whole line that is written to the lineWriter, including
// the newline.
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

// writeSorted writes all lines to the new version of IndexFile (see createNew), and syncs it.
func writeSorted(ctx context.Context, dir string, lines *cdxj.Sorter, d disk.Disk) (state.Mark, error) {
	f, err := createNew(dir, IndexFile)
	if err != nil {
		return state.Mark{}, err
	}
	out := &marking{w: &stopping{ctx: ctx, w: f}, sha: digest.New()}
	_, err = lines.WriteTo(out)
	return out.mark(), errors.Join(err, d.Sync(f), f.Close())
}

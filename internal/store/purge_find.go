package store

import (
	"context"
	"errors"
	"io"
	"io/fs"
	"math"
	"os"
	"path/filepath"

	"github.com/permesso-crawler/permesso/frontier"
	"github.com/permesso-crawler/permesso/internal/state"
	"github.com/permesso-crawler/permesso/storage/warc"
)

// A finder looks for the records and lines that a Purge removes.
type finder struct {
	*Purge
	ctx     context.Context
	dir     string
	marks   state.Files
	done    *Purged
	record  func(*purgeRecord) error // called with each record to remove; may be nil
	wrong   []string                 // names of files that do not match their marks
	present map[string]bool          // names of the WARC files in the directory
	gone    map[string]bool          // keys of the answers that are removed (see RepeatedAnswer)

	// repeats counts records that stay, but repeat an answer that is removed. The first key is
	// the key of the answer, and the second key is the host of the record's own URL.
	repeats map[string]map[string]int64
}

func (f *finder) find() error {
	f.present, f.gone, f.repeats = map[string]bool{}, map[string]bool{}, map[string]map[string]int64{}
	files, err := warcFiles(f.dir)
	if err != nil {
		return err
	}
	for _, file := range files {
		f.present[file.name] = true
		if err := f.records(file); err != nil {
			return err
		}
	}
	f.bodiless()
	for _, name := range purgedLines {
		if err := f.lines(name); err != nil {
			return err
		}
	}
	return nil
}

// bodiless counts the records that stay but lose their body. It is called after all files were
// read, because an answer may be in a later file than a record that repeats the answer.
func (f *finder) bodiless() {
	for answer, hosts := range f.repeats {
		if !f.gone[answer] {
			continue
		}
		if f.done.Bodiless == nil {
			f.done.Bodiless = map[string]int64{}
		}
		for host, n := range hosts {
			f.done.Bodiless[host] += n
		}
	}
}

// stays is called with a record that stays. If r repeats an answer that may be removed, stays
// counts r in f.repeats.
func (f *finder) stays(r *warc.Record) {
	answer := RepeatedAnswer(r)
	if answer == "" || f.Why(r.Header.Get(warc.FieldRefersToURI)) == "" {
		return
	}
	host := r.TargetURI()
	if u, err := frontier.ParseURL(host); err == nil {
		host = u.Host()
	}
	if f.repeats[answer] == nil {
		f.repeats[answer] = map[string]int64{}
	}
	f.repeats[answer][host]++
}

// check adds a file to f.wrong if it does not match its mark. Such a file must not match its
// new mark either (see purger.honest).
func (f *finder) check(name string, is, want state.Mark) {
	if !is.Same(want) && !want.Lost {
		f.wrong = append(f.wrong, name)
	}
}

// records reads the records of a WARC file. Of an unfinished file it reads only the committed
// length.
func (f *finder) records(w warcFile) error {
	key := archiveKey(w.name)
	want, known := f.marks.Finished[key]
	if !known {
		want = f.marks.Growing[key]
	}
	file, err := os.Open(w.path)
	if err != nil {
		return err
	}
	defer file.Close()
	length := int64(math.MaxInt64)
	if w.grows {
		length = want.Length
	}
	marked := &marking{r: io.LimitReader(file, length)}
	in := warc.NewReader(marked)
	for {
		if err := ended(f.ctx); err != nil {
			return err
		}
		r, err := in.Next()
		if err == io.EOF {
			break
		}
		var found *purgeRecord
		if err == nil {
			found, err = f.purged(r, file, w.name)
		}
		if err == nil && found != nil {
			f.done.take(f.Why(r.TargetURI()), Taken{Records: 1, RecordBytes: found.Length})
			if f.record != nil {
				err = f.record(found)
			}
		}
		if err == nil {
			continue
		}
		var bad *warc.Error
		if !errors.As(err, &bad) {
			return err
		}
		passed, err := in.Skip()
		if err != nil && err != io.EOF {
			return err
		}
		f.problem(f.done, "%s: %w: it and what follows, up to %d bytes, stay as they are", w.path, bad, passed)
	}
	f.check(key, marked.Mark, want)
	return nil
}

// purged returns the line of the purgeFile about r, if r must be removed. It returns nil if r
// stays.
func (f *finder) purged(r *warc.Record, file io.ReaderAt, name string) (*purgeRecord, error) {
	url := r.TargetURI()
	if url == "" || f.Why(url) == "" {
		f.stays(r)
		return nil, nil
	}
	length, err := r.Close()
	if err != nil {
		return nil, err
	}
	var magic [2]byte
	if _, err := file.ReadAt(magic[:], r.Offset); err != nil || magic != [2]byte{0x1f, 0x8b} {
		return nil, &warc.Error{Offset: r.Offset, Err: errors.Join(err, errors.New("the record is not a gzip member of its own"))}
	}
	found := &purgeRecord{File: name, Offset: r.Offset, Length: length, ID: r.ID, Was: purgedRecord}
	if r.Type == warc.Response || r.Type == warc.Resource {
		answer := referred(url, r.Date)
		found.Was = purgedAnswer + answer
		f.gone[answer] = true
	}
	filler := warc.Purged{ID: found.ID, Date: f.Time, Was: found.Was}
	if err := filler.Fill(io.Discard, length); err != nil {
		return nil, &warc.Error{Offset: r.Offset, Err: err}
	}
	return found, nil
}

// Values of warc.FieldPurged, the field that says what a purged record was.
const (
	purgedRecord = "record"
	purgedAnswer = "answer " // followed by the key of the answer, see RepeatedAnswer
)

// lines reads the lines of an output.
func (f *finder) lines(name string) error {
	path := filepath.Join(f.dir, name)
	file, err := os.Open(path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return err
	}
	defer file.Close()
	want := f.marks.Growing[name]
	if name == IndexFile {
		want = f.marks.Index.Index
	}
	marked := &marking{r: &stopping{ctx: f.ctx, r: file}}
	filter := lineFilter{name: name, why: f.Why, unreadable: func(n int64, err error) {
		f.problem(f.done, "%s:%d: %w: the line stays as it is", path, n, err)
	}}
	filter.dropped = func(why, warcFile string, size int64) {
		switch name {
		case PagesFile:
			f.done.take(why, Taken{Pages: 1, PageBytes: size})
		case LinksFile:
			f.done.take(why, Taken{Links: 1, LinkBytes: size})
		case IndexFile:
			f.done.take(why, Taken{Captures: 1})
			f.moved(warcFile)
		}
	}
	if err := filter.copy(io.Discard, marked); err != nil {
		return err
	}
	if want.Length > 0 {
		f.check(name, marked.Mark, want)
	}
	return nil
}

// moved counts a removed line of the index if its WARC file is missing.
func (f *finder) moved(file string) {
	if f.present[file] {
		return
	}
	if f.done.Moved == nil {
		f.done.Moved = map[string]int64{}
	}
	f.done.Moved[file]++
}

// purgedLines are the outputs from which lines are removed.
var purgedLines = []string{PagesFile, LinksFile, indexPart, IndexFile}

package store

import (
	"bytes"
	"crypto/sha256"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/permesso-crawler/permesso/internal/crawllog"
	"github.com/permesso-crawler/permesso/internal/lines"
	"github.com/permesso-crawler/permesso/internal/state"
	"github.com/permesso-crawler/permesso/storage/cdxj"
)

// make fills the stage, the directory of the mended files: it repairs each file by itself, then
// corrects where the files contradict each other.
func (r *Repair) make() (err error) {
	if err := os.MkdirAll(filepath.Join(r.stage, ArchiveDir), 0o755); err != nil {
		return err
	}
	for _, name := range []string{StateFile, PagesFile, LinksFile, LogFile, IndexFile, indexPart, RunFile} {
		if err := r.copyTo(name); err != nil {
			return err
		}
	}
	if err := r.files(); err != nil {
		return err
	}
	if r.Restored, err = r.restored(); err != nil {
		return err
	}
	if r.Restored {
		r.gone = nil // these files need not be put aside, because the next run truncates and renames them
	} else {
		for _, step := range []func() error{r.noteFiles, r.settle, r.fit} {
			if err := step(); err != nil {
				return err
			}
		}
	}
	left := Check{Moved: r.opts.Moved, Temp: r.opts.Temp, Problem: func(problem error) {
		var away *MissingAnswerError
		if !errors.As(problem, &away) {
			r.Left = append(r.Left, r.inCrawl(problem))
		}
	}, beside: r.dir}
	if _, err := left.Verify(r.ctx, r.stage); err != nil {
		return err
	}
	if len(r.Left) > 0 && r.unmarked > 0 { // files still refer to URLs that the state does not know, so the state seems to be older
		return r.olderError("seems to be", r.unmarked)
	}
	if err := os.Remove(filepath.Join(r.stage, RunFile)); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	r.Changed, err = r.differing()
	return err
}

// files repairs each file of the stage by itself and stores its new mark in r.marks.
func (r *Repair) files() (err error) {
	n, err := state.MendFlips(r.stage)
	if err != nil {
		return err
	}
	if n > 0 {
		r.mended("%s: bits that had flipped are as they were written: %d", StateFile, n)
	}
	outline, err := state.OpenOutline(r.stage)
	var damaged *DamagedError
	if errors.As(err, &damaged) {
		return errors.Join(r.onlyFiles(), err)
	}
	if err != nil {
		return err
	}
	unclean, err := r.known(outline)
	if err = errors.Join(err, outline.Close()); err != nil { // close the state before other functions read it
		return err
	}
	if err := r.older(unclean); err != nil {
		return err
	}
	if err := r.archive(); err != nil {
		return err
	}
	for _, f := range []struct {
		name  string
		check func(line []byte) error
	}{
		{PagesFile, func(line []byte) error {
			var p PageRecord
			err := json.Unmarshal(line, &p)
			if err == nil && p.URL == "" {
				err = errors.New("a page without a URL")
			}
			return err
		}},
		{LinksFile, func(line []byte) error {
			var l LinkRecord
			err := json.Unmarshal(line, &l)
			if err == nil && (l.From == "" || l.To == "") {
				err = errors.New("a link without both URLs")
			}
			return err
		}},
		{LogFile, func(line []byte) error { _, err := crawllog.Parse(string(line)); return err }},
		{indexPart, func(line []byte) error { _, err := cdxj.Parse(string(line)); return err }},
	} {
		if err := r.lines(f.name, f.check); err != nil {
			return err
		}
	}
	if info, err := os.Stat(filepath.Join(r.stage, IndexFile)); err != nil || info.Size() != r.marks.Index.Index.Length || r.sumOf(IndexFile) != r.marks.Index.Index.Sum {
		if r.marks.Index.Index.Length > 0 {
			r.mended("%s: made again of the archive", IndexFile)
		}
		r.marks.Index = state.IndexMarks{}
	}
	return nil
}

// noteFiles writes the new marks and the repairNote into the state.
func (r *Repair) noteFiles() error {
	outline, err := state.OpenOutline(r.stage)
	if err != nil {
		return err
	}
	return errors.Join(outline.PutFiles(r.marks), outline.Put(keyRepaired, &r.note), outline.Close())
}

// restored rebuilds the index if the index was damaged. It then reports whether all files are
// as they were written and do not contradict each other. If so, the state and the files made
// from the crawl need not be changed.
func (r *Repair) restored() (bool, error) {
	if len(r.Lost) > 0 || !sameMarks(r.marks.Growing, r.was.Growing) || !sameMarks(r.marks.Finished, r.was.Finished) {
		return false, nil
	}
	if part := r.was.Growing[indexPart]; part.Length > 0 && (r.marks.Growing[indexPart].Lost || r.marks.Index != r.was.Index) {
		// Lines about WARC files that are not in the directory are not copied: these files may
		// belong to another crawl.
		if err := r.forgetIndex(); err != nil {
			return false, err
		}
		before, whole := r.sumOf(StateFile), true
		if _, err := MakeIndex(r.ctx, r.stage, func(error) { whole = false }); err != nil {
			return false, err
		}
		if !whole || r.sumOf(StateFile) != before {
			return false, nil
		}
	}
	fits := true
	_, err := Check{Moved: r.opts.Moved, Temp: r.opts.Temp, Problem: func(problem error) {
		var away *MissingAnswerError
		fits = fits && errors.As(problem, &away)
	}, beside: r.dir}.Verify(r.ctx, r.stage)
	return fits && err == nil, err
}

// sameMarks reports whether the marks after the repair are the same as the marks before the
// repair. It ignores the marks of the index.
func sameMarks(is, was state.Marks) bool {
	for _, name := range slices.Concat(slices.Collect(maps.Keys(is)), slices.Collect(maps.Keys(was))) {
		if a := is[name]; !a.Same(was[name]) && !a.Lost {
			return false
		}
	}
	return true
}

// known reads the marks of the files, which are their committed lengths and checksums, from the
// state. unclean says that the last run did not close the crawl.
func (r *Repair) known(o *state.Outline) (unclean bool, err error) {
	if r.marks, err = o.All(); err != nil {
		return false, err
	}
	r.was = state.Files{Growing: maps.Clone(r.marks.Growing), Finished: maps.Clone(r.marks.Finished), Index: r.marks.Index}
	if err := o.Get(keyRepaired, &r.note); err != nil {
		return false, err
	}
	r.note.Time = r.opts.Time
	return o.Unclean()
}

// older returns a *DamagedError if the state is older than pages.jsonl, for example because it
// was copied back from a backup: the repair would cut off the pages that the state does not
// know. After a kill such pages do not show that the state is older, because the run may have
// written them without committing them. Then older counts these pages in r.unmarked, and
// returns nil.
func (r *Repair) older(unclean bool) error {
	_, err := os.Stat(filepath.Join(r.dir, RunFile))
	killed := unclean && err == nil
	want := r.marks.Growing[PagesFile]
	f, err := os.Open(filepath.Join(r.stage, PagesFile))
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return err
	}
	defer f.Close()
	if info, err := f.Stat(); err != nil || info.Size() <= want.Length {
		return err
	}
	prefix := marking{r: io.LimitReader(r.reading(f), want.Length)}
	if _, err := io.Copy(io.Discard, &prefix); err != nil || !prefix.Same(want) {
		return err // the committed part of pages.jsonl is damaged, so it says nothing about the age of the state
	}
	if _, err := f.Seek(0, io.SeekStart); err != nil {
		return err
	}
	at, more := int64(0), int64(0)
	known := map[string]bool{}
	err = eachLineOf(r.reading(f), func(line []byte, n int64, long bool) error {
		var p PageRecord
		after := at >= want.Length
		at += n
		if long || json.Unmarshal(line, &p) != nil || p.URL == "" {
			return nil
		}
		key := referred(p.URL, p.Time)
		if after && !known[key] {
			more++
		}
		known[key] = true
		return nil
	})
	switch {
	case err != nil || more == 0 || at <= want.Length:
		return err
	case killed:
		r.unmarked = more
		return nil
	}
	return r.olderError("is", more)
}

// olderError returns the error about a state that is, or may be, older than pages.jsonl. The
// first parameter is the verb of the sentence, such as "is". more is the number of pages that
// the state does not know.
func (r *Repair) olderError(is string, more int64) error {
	return &DamagedError{Path: filepath.Join(r.dir, StateFile), Err: fmt.Errorf("it %s older than %s, which has %d pages more: bring back the %s of the same time, as repair would cut these pages off", is, PagesFile, more, StateFile)}
}

// reading returns a reader that fails after the context of r has ended.
func (r *Repair) reading(f io.Reader) io.Reader { return &stopping{ctx: r.ctx, r: f} }

// sumOf returns the checksum of a file of the stage.
func (r *Repair) sumOf(name string) uint32 {
	f, err := os.Open(filepath.Join(r.stage, name))
	if err != nil {
		return 0
	}
	defer f.Close()
	m := marking{r: r.reading(f)}
	_, _ = io.Copy(io.Discard, &m) // if the file cannot be read, the result is another sum
	return m.Sum
}

// lines repairs an output that consists of lines. If one bit has flipped, it corrects the bit.
// Otherwise it rebuilds lost lines, if that is possible, or else leaves out the invalid lines
// and keeps the others.
func (r *Repair) lines(name string, check func(line []byte) error) error {
	path, want := filepath.Join(r.stage, name), r.marks.Growing[name]
	if want.Lost {
		return nil // the index is rebuilt later
	}
	is, size, bad, err := r.lineMark(name, want, check)
	if errors.Is(err, fs.ErrNotExist) {
		if want.Length == 0 {
			return nil
		}
		if name == indexPart {
			r.mended("%s, which was missing: made again of the archive", name)
			r.marks.Growing[name] = state.Mark{Lost: true}
			return nil
		}
		if err := os.WriteFile(path, nil, 0o644); err != nil {
			return err
		}
		if made, ok, err := r.rewritten(name, want); err != nil || ok {
			r.mended("%s, which was missing: %d lines are made again of the archive: it is as it was written", name, made)
			return err
		}
		r.lost("%s is missing; %d bytes of it were written", name, want.Length)
		r.noLine(name)
		r.marks.Growing[name] = state.Mark{Part: want.Part}
		return nil
	}
	if err != nil {
		return err
	}
	if is.Same(want) {
		if size > want.Length && name != LogFile {
			r.mended("%s: %d bytes after its end are put aside", name, size-want.Length)
			return os.Truncate(path, want.Length)
		}
		if name == LogFile && size > want.Length {
			return r.logTail(path, want)
		}
		return nil
	}
	if is.Length == want.Length {
		low, high := int64(0), want.Length
		if bad.n > 0 {
			low, high = bad.low, bad.high
		}
		found, ok, err := findFlip(r.ctx, path, want, low, high)
		if err != nil {
			return err
		}
		if ok {
			if err := flip(path, found.at, found.bit); err != nil {
				return err
			}
			if _, _, still, err := r.lineMark(name, want, check); err != nil || still.n == 0 {
				r.mended("%s: one bit of byte %d had flipped: it is as it was written", name, found.at)
				return err
			}
			if err := flip(path, found.at, found.bit); err != nil {
				return err
			}
		}
	}
	if name == indexPart {
		r.mended("%s: made again of the archive", name)
		r.marks.Growing[name] = state.Mark{Lost: true}
		return nil
	}
	dropped, now, err := r.keepLines(name, check)
	if err != nil {
		return err
	}
	if now.Same(want) {
		r.mended("%s: %d invalid lines are left out: it is as it was written", name, dropped)
		return nil
	}
	if made, ok, err := r.rewritten(name, want); err != nil || ok {
		r.mended("%s: %d lines are made again of the archive: it is as it was written", name, made)
		return err
	}
	r.noLine(name)
	r.lost("%s: it is not what was written; %d lines of it are invalid and are left out", name, dropped)
	now.Part = want.Part
	r.marks.Growing[name] = now
	return nil
}

// noLine records that lines of a file are lost.
func (r *Repair) noLine(name string) {
	if name == LogFile {
		r.note.Log = true
	}
}

// logTail leaves out invalid lines after the committed length of crawl.log.
func (r *Repair) logTail(path string, want state.Mark) error {
	raw, err := os.ReadFile(path)
	if err != nil {
		return err
	}
	var tail []byte
	known := map[string]bool{}
	for line := range bytes.Lines(raw) {
		known[string(line)] = true
		if len(known) > 1<<20 {
			clear(known)
		}
	}
	for line := range bytes.Lines(raw[want.Length:]) {
		if _, err := crawllog.Parse(strings.TrimSuffix(string(line), "\n")); err == nil && line[len(line)-1] == '\n' && !bytes.Contains(raw[:want.Length], line) {
			tail = append(tail, line...)
		}
	}
	if int64(len(raw)) == want.Length+int64(len(tail)) && r.Problems == 0 {
		return nil
	}
	r.marks.Growing[LogFile] = want.Plus(tail)
	return os.WriteFile(path, append(raw[:want.Length:want.Length], tail...), 0o644)
}

// A badLines describes the invalid lines of a file.
type badLines struct {
	n         int   // number of invalid lines
	low, high int64 // offsets where the first invalid line begins, and where the last one ends
}

// lineMark reads the committed part of an output that consists of lines. It returns the mark of
// that part, the size of the whole file, and the invalid lines of that part.
func (r *Repair) lineMark(name string, want state.Mark, check func([]byte) error) (is state.Mark, size int64, bad badLines, err error) {
	f, err := os.Open(filepath.Join(r.stage, name))
	if err != nil {
		return is, 0, bad, err
	}
	defer f.Close()
	info, err := f.Stat()
	if err != nil {
		return is, 0, bad, err
	}
	counts := &marking{r: io.LimitReader(r.reading(f), want.Length)}
	at := int64(0)
	err = eachLineOf(counts, func(line []byte, n int64, long bool) error {
		if long || check(line) != nil {
			if bad.n == 0 {
				bad.low = at
			}
			bad.n, bad.high = bad.n+1, at+n
		}
		at += n
		return nil
	})
	return counts.Mark, info.Size(), bad, err
}

// eachLineOf calls f with each line, without its newline, and with n, the line's length
// including the newline. If the line is too long, or is a last line without a newline, long is
// true, and f must not use the text of the line.
func eachLineOf(from io.Reader, f func(line []byte, n int64, long bool) error) error {
	var line []byte
	var buf [64 << 10]byte
	n, long := int64(0), false
	end := func() error {
		err := f(line, n, long)
		line, n, long = line[:0], 0, false
		return err
	}
	for {
		read, err := from.Read(buf[:])
		for part := range bytes.Lines(buf[:read]) {
			text, ended := bytes.CutSuffix(part, []byte("\n"))
			n += int64(len(part))
			if long = long || len(line)+len(text) > 64*lines.Max; !long {
				line = append(line, text...)
			}
			if ended {
				if err := end(); err != nil {
					return err
				}
			}
		}
		if err == io.EOF {
			if n > 0 { // a line without a newline is ignored
				long = true
				return end()
			}
			return nil
		}
		if err != nil {
			return err
		}
	}
}

// keepLines rewrites an output with only its valid lines. Except in links.jsonl, it also leaves
// out repeated lines. It returns the number of lines that it left out, and the new mark.
func (r *Repair) keepLines(name string, check func([]byte) error) (dropped int, now state.Mark, err error) {
	path := filepath.Join(r.stage, name)
	from, err := os.Open(path)
	if err != nil {
		return 0, now, err
	}
	defer from.Close()
	out, err := os.Create(path + newSuffix)
	if err != nil {
		return 0, now, err
	}
	defer out.Close()
	to := &marking{w: out}
	known := map[[16]byte]bool{}
	err = eachLineOf(r.reading(from), func(line []byte, _ int64, long bool) error {
		if long || check(line) != nil {
			dropped++
			return nil
		}
		if name != LinksFile { // a page may have two identical links
			sum := sha256.Sum256(line)
			key := [16]byte(sum[:16])
			if known[key] {
				dropped++
				return nil
			}
			known[key] = true
		}
		_, err := to.Write(append(line, '\n'))
		return err
	})
	if err = errors.Join(err, out.Sync()); err == nil {
		err = os.Rename(path+newSuffix, path)
	}
	return dropped, to.Mark, err
}

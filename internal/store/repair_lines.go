package store

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/permesso-crawler/permesso/internal/state"
	"github.com/permesso-crawler/permesso/storage/warc"
)

// An Answered is an answer in the archive of a crawl, from which a Writer rebuilds lines. Its
// Status and Header are those of the page that was made from this answer.
type Answered struct {
	*Capture
	Head      bool         // the answer was requested with HEAD
	Truncated string       // WARC-Truncated of the answer's record, if this record has the body
	Fields    []warc.Field // fields of the metadata record of the answer
}

// A Writer rebuilds the lines that a crawl has written about an answer: the line of
// pages.jsonl, without the place of the answer, and the lines of links.jsonl. If a Writer
// cannot know which of two pages was written, it returns both. If no page was written, or that
// is unknown, it returns no page. If it returns an error, only this answer is skipped.
type Writer func(*Answered) ([]*PageRecord, []LinkRecord, error)

// rewritten rebuilds pages.jsonl or links.jsonl from the lines that can be read and from the
// archive. If the result matches the mark want, rewritten replaces the file and ok is true.
// Otherwise it leaves the file unchanged, because a rebuilt line may differ from the lost
// line. made is the number of rebuilt lines.
func (r *Repair) rewritten(name string, want state.Mark) (made int, ok bool, err error) {
	if r.opts.Writer == nil || name != PagesFile && name != LinksFile || want.Length == 0 {
		return 0, false, nil
	}
	write, err := r.writer()
	if err != nil || write == nil {
		return 0, false, err
	}
	path := filepath.Join(r.stage, name)
	w := &rewriter{write: write}
	defer func() { err = errors.Join(err, w.discard()) }()
	if name == PagesFile {
		if w.lines, err = r.placedLines(path); err != nil {
			return 0, false, err
		}
		defer w.lines.close()
	}
	for i := range candidates {
		if err := w.begin(fmt.Sprintf("%s%s%d", path, newSuffix, i)); err != nil {
			return 0, false, err
		}
	}
	if err := r.answers(w); err != nil {
		return 0, false, err
	}
	for _, f := range w.files {
		if err := f.finish(); err != nil {
			return 0, false, err
		}
		if f.mark.Same(want) {
			return f.made, true, os.Rename(f.path, path)
		}
	}
	return 0, false, nil
}

// writer returns the Writer that r.opts.Writer makes for the settings in the state. It returns
// nil if the settings cannot be read.
func (r *Repair) writer() (Writer, error) {
	reader, err := openPurging(r.stage)
	if err != nil {
		return nil, nil // ignore the error, because later checks report it
	}
	write, err := r.opts.Writer(reader)
	if cerr := reader.Close(); cerr != nil {
		return nil, cerr
	}
	if err != nil {
		return nil, nil
	}
	return write, nil
}

// A rewriter writes the lines about the answers of an archive, in the order of the answers'
// records. The lost lines were in the same order.
type rewriter struct {
	write Writer
	lines *placed // the readable lines of pages.jsonl; nil: links.jsonl is written
	files []*rewrittenFile
}

// candidates is how many versions of pages.jsonl or links.jsonl are made, to find one that
// matches the mark. Versions 0 and 1 keep the lines that can be read. Versions 2 and 3 rebuild
// all lines, because a line that can be read may be damaged, too. If a Writer returns two
// pages, versions 0 and 2 have the first page, and versions 1 and 3 have the second.
const candidates = 4

// A rewrittenFile is one of several new versions (see candidates) of a file that has lost
// lines.
type rewrittenFile struct {
	path string
	file *os.File
	buf  *bufio.Writer
	mark *marking
	made int // number of lines that were rebuilt
}

func (w *rewriter) begin(path string) error {
	f, err := os.Create(path)
	if err != nil {
		return err
	}
	m := &marking{w: f}
	w.files = append(w.files, &rewrittenFile{path: path, file: f, mark: m, buf: bufio.NewWriter(m)})
	return nil
}

func (f *rewrittenFile) finish() error { return errors.Join(f.buf.Flush(), f.file.Sync()) }

// discard closes all versions of the file and removes those that were not renamed.
func (w *rewriter) discard() (err error) {
	for _, f := range w.files {
		err = errors.Join(err, f.file.Close())
		if _, gone := os.Lstat(f.path); gone == nil {
			err = errors.Join(err, os.Remove(f.path))
		}
	}
	return err
}

// answer writes the lines about an answer to all versions of the file.
func (w *rewriter) answer(a *Answered, at warc.Placed, file string) error {
	pages, links, err := w.write(a)
	if w.lines == nil {
		if err != nil || len(links) == 0 {
			return nil
		}
		text, err := linkLines(links)
		if err != nil {
			return err
		}
		f := w.files[0]
		f.made += len(links)
		_, err = f.buf.Write(text)
		return err
	}
	kept, after, rerr := w.lines.at(file, at.Offset)
	if rerr != nil {
		return rerr
	}
	var again [2][]byte
	for i, p := range pages[:min(len(pages), 2)] {
		p.WARC, p.Offset, p.Length = file, at.Offset, at.Length
		if again[i], err = jsonLine(p); err != nil {
			return err
		}
	}
	if len(pages) == 1 {
		again[1] = again[0]
	}
	for i, f := range w.files {
		line := kept
		if again := again[i%2]; again != nil && (kept == nil || i >= 2) {
			line = again
			f.made++
		}
		if _, err := f.buf.Write(append(line[:len(line):len(line)], after...)); err != nil {
			return err
		}
	}
	return nil
}

// A placed is a pages.jsonl with a map of its lines, which finds each line by the place of its
// answer in the archive.
type placed struct {
	file  *os.File
	lines map[string]placedLine
}

// A placedLine is the position of a line in the file, and the length of the lines after it that
// name no place.
type placedLine struct{ at, length, after int64 }

func (r *Repair) placedLines(path string) (*placed, error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	p := &placed{file: f, lines: map[string]placedLine{}}
	at, last := int64(0), captureKey("", 0) // the key of the lines before the first line that names a place
	err = eachLineOf(r.reading(f), func(line []byte, n int64, _ bool) error {
		var page PageRecord
		if err := json.Unmarshal(line, &page); err != nil {
			return err
		}
		l := p.lines[last]
		if page.WARC == "" {
			if l.length == 0 && l.after == 0 {
				l.at = at
			}
			l.after += n
		} else {
			last = captureKey(page.WARC, page.Offset)
			l = placedLine{at: at, length: n}
		}
		p.lines[last] = l
		at += n
		return nil
	})
	if err != nil {
		f.Close()
		return nil, err
	}
	return p, nil
}

func (p *placed) close() error { return p.file.Close() }

// at returns the line about the answer at offset in a WARC file, and the lines after it that
// name no place.
func (p *placed) at(file string, offset int64) (line, after []byte, err error) {
	l, ok := p.lines[captureKey(file, offset)]
	if !ok {
		return nil, nil, nil
	}
	text := make([]byte, l.length+l.after)
	if _, err := p.file.ReadAt(text, l.at); err != nil {
		return nil, nil, err
	}
	return text[:l.length:l.length], text[l.length:], nil
}

// answers calls w for each answer of the archive in the stage, the directory of the mended
// files.
func (r *Repair) answers(w *rewriter) error {
	files, err := warcFiles(r.stage)
	if err != nil {
		return err
	}
	if w.lines != nil {
		_, first, err := w.lines.at("", 0)
		if err != nil {
			return err
		}
		for _, f := range w.files {
			if _, err := f.buf.Write(first); err != nil {
				return err
			}
		}
	}
	found := map[string]place{} // places of the answers to which revisit records may refer
	past := PastOf(r.dir)
	find := func(url string, at time.Time) (*original, error) {
		if p, ok := found[referred(url, at)]; ok {
			return originalAt(p, url)
		}
		return past.find(url, at)
	}
	for _, f := range files {
		m, ok := r.marks.Finished[archiveKey(f.name)]
		if !ok {
			m = r.marks.Growing[archiveKey(f.name)]
		}
		if err := answersOf(r.ctx, f, m.Length, found, find, w); err != nil {
			return err
		}
	}
	return nil
}

// answersOf calls w for the answers in a WARC file that have a metadata record, which comes
// after the answer.
func answersOf(ctx context.Context, f warcFile, length int64, found map[string]place, find findOriginal, w *rewriter) error {
	file, err := os.Open(f.path)
	if err != nil {
		return err
	}
	defer file.Close()
	in := warc.NewReader(io.LimitReader(file, length))
	var answer warc.Placed
	var id, truncated string
	for {
		if err := ended(ctx); err != nil {
			return err
		}
		rec, err := in.Next()
		if err == io.EOF {
			return nil
		}
		if err == nil {
			err = func() error {
				switch rec.Type {
				case warc.Response, warc.Revisit:
					id, truncated = rec.ID, rec.Header.Get(warc.FieldTruncated)
					if rec.Type == warc.Revisit {
						truncated = "" // WARC-Truncated of a revisit only says that the body is elsewhere
					}
					answer, err = rec.Placed()
					if err == nil && rec.Type == warc.Response {
						found[referred(answer.URL, answer.Date)] = place{path: f.path, offset: answer.Offset, length: answer.Length}
					}
					return err
				case warc.Metadata:
					if id == "" || strings.Trim(rec.Header.Get(warc.FieldConcurrentTo), "<>") != id {
						return nil
					}
					id = ""
					fields, err := rec.Fields()
					if err != nil {
						return err
					}
					c, err := captureAt(place{path: f.path, offset: answer.Offset, length: answer.Length}, answer.URL, find)
					if err != nil || c == nil {
						return nil // skip the answer; its line stays in the file, if the line can be read
					}
					defer c.Release()
					return w.answer(&Answered{Capture: c, Head: answer.Head, Truncated: truncated, Fields: fields}, answer, f.name)
				}
				return nil
			}()
		}
		if err == nil {
			continue
		}
		var bad *warc.Error
		if !errors.As(err, &bad) {
			return err
		}
		if _, err := in.Skip(); err != nil && err != io.EOF {
			return fmt.Errorf("%s: %w", f.path, err)
		}
	}
}

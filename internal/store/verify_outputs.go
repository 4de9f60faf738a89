package store

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/go-json-experiment/json/v1"
	"github.com/permesso-crawler/permesso/frontier"
	"github.com/permesso-crawler/permesso/internal/crawllog"
	"github.com/permesso-crawler/permesso/internal/gauge"
	"github.com/permesso-crawler/permesso/internal/lines"
	"github.com/permesso-crawler/permesso/internal/state"
	"github.com/permesso-crawler/permesso/internal/warcscan"
	"github.com/permesso-crawler/permesso/storage/cdxj"
	"github.com/permesso-crawler/permesso/storage/warc"
)

// outputs reads the files of the crawl, except the state file.
func (v *verifier) outputs() error {
	expectArchive(v.ctx, v.dir)
	for _, name := range []string{PagesFile, LinksFile, indexPart, LogFile, IndexFile} {
		gauge.Of(v.ctx).Expect(filepath.Join(v.dir, name))
	}
	err := errors.Join(
		v.lines(PagesFile, v.state.Growing[PagesFile], lineCheck{each: (*batch).page}),
		v.links(),
		v.lines(indexPart, v.state.Growing[indexPart], lineCheck{each: indexLine(ofPart)}),
		v.log(), v.index())
	if over := ended(v.ctx); over != nil {
		return over
	}
	return errors.Join(err, v.archive())
}

func (b *batch) page(n int64, line []byte) error {
	b.count.pages++
	var p PageRecord
	if err := json.Unmarshal(line, &p); err != nil {
		return err
	}
	b.know(urlKey(p.URL), ofPage, n, pageFact(&p))
	if p.WARC != "" {
		b.know(captureKey(p.WARC, p.Offset), ofPage, n, placeFact(&p))
	}
	return nil
}

// A linked is a page, and how many of its links some lines of links.jsonl have.
type linked struct {
	from  string
	first int64 // number of the first line of links.jsonl that is counted
	count int
}

// link counts the links of each page. The lines of a page follow each other.
func (b *batch) link(n int64, line []byte) error {
	var l LinkRecord
	if err := json.Unmarshal(line, &l); err != nil {
		return err
	}
	if l.From == "" || l.To == "" {
		return errors.New("a link without both URLs")
	}
	if last := len(b.named) - 1; last < 0 || b.named[last].from != l.From {
		b.named = append(b.named, linked{from: l.From, first: n})
	}
	if l.Hop == string(frontier.HopLink) {
		b.named[len(b.named)-1].count++
	}
	return nil
}

// links reads links.jsonl.
func (v *verifier) links() error {
	var page linked
	flush := func() {
		if page.from != "" {
			v.know(urlKey(page.from), ofLinks, page.first, fmt.Sprint(page.count))
		}
	}
	err := v.lines(LinksFile, v.state.Growing[LinksFile], lineCheck{each: (*batch).link, all: func(b *batch) {
		for _, l := range b.named {
			if l.from == page.from {
				page.count += l.count
				continue
			}
			flush()
			page = l
		}
	}})
	flush()
	return err
}

// log reads crawl.log. If the last run did not close the crawl, it also reads the lines after
// the committed length, because a run never truncates the log.
func (v *verifier) log() error {
	return v.lines(LogFile, v.state.Growing[LogFile], lineCheck{each: (*batch).logLine})
}

func (b *batch) logLine(n int64, line []byte) error {
	b.count.logLines++
	l, err := crawllog.Parse(string(line))
	if err != nil {
		return err
	}
	_, site := l.Annotation("queued")
	b.count.crawled = b.count.crawled || l.URL == crawllog.RunURL
	if l.URL != crawllog.RunURL && !site && !strings.HasSuffix(l.Hops, string(frontier.HopPrerequisite)) {
		b.know(urlKey(l.URL), ofLog, n, logFact(l))
	}
	return nil
}

// index reads index.cdxj, unless the next run must rebuild it.
func (v *verifier) index() error {
	if v.done.Unclean {
		return nil
	}
	part, path := v.state.Growing[indexPart], filepath.Join(v.dir, IndexFile)
	if part.Lost {
		v.problemOf(indexPart, "%s was being made again, and is not whole", filepath.Join(v.dir, indexPart))
		return nil
	}
	if _, err := os.Stat(path); errors.Is(err, fs.ErrNotExist) && part.Length > 0 {
		v.problemOf(IndexFile, "%s is missing", path)
		return nil
	}
	if !v.state.Index.Part.Same(part) {
		v.problemOf(IndexFile, "%s does not cover everything that was archived", path)
	}
	v.indexed = true
	var before []byte
	return v.lines(IndexFile, v.state.Index.Index, lineCheck{each: indexLine(ofIndex), next: func(line []byte) error {
		if bytes.Compare(before, line) > 0 {
			return errors.New("the line sorts before the one above it")
		}
		before = append(before[:0], line...)
		return nil
	}})
}

// indexLine returns a function that adds the lines of an index to the facts.
func indexLine(from source) func(*batch, int64, []byte) error {
	return func(b *batch, n int64, line []byte) error {
		e, err := cdxj.Parse(string(line))
		if err != nil {
			return err
		}
		b.know(captureKey(e.Filename, e.Offset), from, n, string(line))
		return nil
	}
}

// archive reads the WARC files. Of unfinished files it reads only the committed length.
func (v *verifier) archive() error {
	v.present, v.absent = map[string]bool{}, map[string]int{}
	files, err := warcFiles(v.dir)
	if err != nil {
		return err
	}
	var errs []error
	for _, f := range files {
		m, ok := v.state.Finished[archiveKey(f.name)]
		if !ok {
			m, ok = v.state.Growing[archiveKey(f.name)]
		}
		if !ok && f.grows && v.done.Unclean {
			continue // skip the file, because nothing in it was committed, and the next run removes it
		}
		v.present[f.name] = true
		if !ok {
			v.problem("%s: %s does not know this file", f.path, StateFile)
		}
		if err := v.records(f, m); err != nil {
			errs = append(errs, err)
		}
		if err := ended(v.ctx); err != nil {
			return err
		}
	}
	for _, known := range []state.Marks{v.state.Finished, v.state.Growing} {
		for key := range known {
			if name, ok := strings.CutPrefix(key, ArchiveDir+"/"); ok && !v.present[name] && known[key].Length > 0 {
				v.absent[name] += 0
			}
		}
	}
	return errors.Join(errs...)
}

// records reads a WARC file. Of an unfinished file it reads only the committed length.
func (v *verifier) records(f warcFile, want state.Mark) error {
	file, err := os.Open(f.path)
	if err != nil {
		return err
	}
	defer file.Close()
	info, err := file.Stat()
	if err != nil {
		return err
	}
	length := info.Size()
	if f.grows {
		length = min(length, want.Length)
	}
	marked := &marking{w: io.Discard}
	scan := warcscan.Scan[*batch]{
		New:  newBatch,
		Work: func(b *batch, r *warc.Record) error { return b.record(r, f.name) },
		Size: (*batch).memory,
		Use:  func(b *batch) error { v.take(b); return nil },
		Bad: func(in *warc.Reader, err error) error {
			v.problem("%s: %w", f.path, err)
			var bad *warc.Error
			if !errors.As(err, &bad) {
				return errNoMore
			}
			if _, err := in.Skip(); err != nil && err != io.EOF {
				return fmt.Errorf("%s: %w", f.path, err)
			}
			return nil
		},
		Mark: marked, Read: gauge.Of(v.ctx).Add, Workers: v.split.Workers, Segment: int64(v.split.Block),
	}
	switch err := scan.File(v.ctx, file, length); {
	case err == errNoMore:
		return nil
	case err != nil:
		return err
	}
	v.compareMark(f.path, marked.Mark, want)
	return nil
}

// errNoMore says that the rest of a file is not read, because of a problem that was reported.
var errNoMore = errors.New("the rest is not read")

// compareMark reports a problem if two marks of a file differ: is was computed from the file,
// and want is the mark in the state.
func (v *verifier) compareMark(path string, is, want state.Mark) {
	switch {
	case is.Length != want.Length:
		v.problemOf(filepath.Base(path), "%s is %d bytes long where %d were written", path, is.Length, want.Length)
	case is.Sum != want.Sum:
		v.problemOf(filepath.Base(path), "%s: its first %d bytes are not those that were written", path, want.Length)
	}
}

// record adds a record of the WARC file with the given name.
func (b *batch) record(r *warc.Record, name string) error {
	b.count.records++
	wrong := r.Verify()
	if wrong != nil && !errors.Is(wrong, warc.ErrDigest) {
		return wrong
	}
	p, err := r.Placed()
	if err != nil {
		return err
	}
	if was := r.Header.Get(warc.FieldPurged); was != "" && p.URL == "" {
		if was == lostRecord {
			b.count.lostRecords++
			return wrong
		}
		b.count.purged++
		if answer, ok := strings.CutPrefix(was, purgedAnswer); ok {
			b.know(aboutReferred+answer, ofPurged, p.Offset, "")
		}
		return wrong
	}
	if p.Head { // no index lists the answer to a HEAD request, and no record repeats it
		b.know(captureKey(name, p.Offset), ofRecord, p.Offset, recordFact(&p, nil))
		return wrong
	}
	e, err := cdxj.EntryOf(&p, name)
	if err != nil || e == nil {
		return errors.Join(wrong, err)
	}
	line, err := e.Append(nil)
	if err != nil {
		return err
	}
	said := p
	if r.Header.Get(warc.FieldProfile) == string(warc.ServerNotModified) {
		said.Status = 0 // the page has the status of the earlier answer, not 304
	}
	b.know(captureKey(name, p.Offset), ofRecord, p.Offset, recordFact(&said, bytes.TrimSuffix(line, []byte("\n"))))
	if p.Type != warc.Revisit {
		b.know(referredKey(p.URL, p.Date), ofRecord, p.Offset, name)
	} else if r.Header.Get(warc.FieldRefersToDate) != "" || r.Header.Get(warc.FieldProfile) == string(warc.IdenticalPayloadDigest) {
		date, err := time.Parse(time.RFC3339Nano, r.Header.Get(warc.FieldRefersToDate))
		if err != nil {
			return &warc.Error{Offset: p.Offset, Err: err}
		}
		url := r.Header.Get(warc.FieldRefersToURI)
		b.know(referredKey(url, date), ofRevisit, p.Offset, revisitFact(url, date, name))
	}
	return wrong
}

// A lineCheck says what to do with the lines of a file.
type lineCheck struct {
	each func(b *batch, n int64, line []byte) error // adds line n to a batch; called by several goroutines
	next func(line []byte) error                    // called after each for the lines without an error, in their order; may be nil
	all  func(b *batch)                             // called for each batch, in the order of the file; may be nil
}

// lines calls check for the committed lines of a file, and compares the file with its mark. If
// the file is the log, and the last run did not close the crawl, it also checks later lines,
// except an incomplete last line.
func (v *verifier) lines(name string, want state.Mark, check lineCheck) error {
	path := filepath.Join(v.dir, name)
	f, err := os.Open(path)
	if errors.Is(err, fs.ErrNotExist) {
		if want.Length > 0 {
			v.problemOf(name, "%s is missing; %d bytes of it were written", path, want.Length)
		}
		return nil
	}
	if err != nil {
		return err
	}
	defer f.Close()
	info, err := f.Stat()
	if err != nil {
		return err
	}
	file := gauge.Of(v.ctx).Reader(f)
	counts := &marking{r: io.LimitReader(file, want.Length)}
	in, later := io.Reader(counts), v.done.Unclean && name == LogFile
	if later {
		in = io.MultiReader(counts, file)
	}
	reader := lines.NewReader(in)
	if name == PagesFile {
		reader = lines.NewPageReader(in)
	}
	type checked struct {
		*batch
		wrong []error // errors of the lines of this batch, by line; nil: the line is valid
	}
	err = lines.InOrder(v.ctx, reader, v.split, func(b *lines.Block[checked]) {
		b.Value.batch = newBatch()
		b.Each(func(l lines.Line) error {
			switch {
			case l.Err != nil:
			case later && l.Torn: // ignore an incomplete last line of the log
			default:
				l.Err = check.each(b.Value.batch, l.N, l.Text)
			}
			b.Value.wrong = append(b.Value.wrong, l.Err)
			return nil
		})
	}, func(b *lines.Block[checked]) error {
		b.Each(func(l lines.Line) error {
			wrong := b.Value.wrong[l.N-b.First]
			if wrong == nil && check.next != nil {
				wrong = check.next(l.Text)
			}
			if wrong != nil && !(later && l.Torn) {
				v.problemOf(name, "%s:%d: %w", path, l.N, wrong)
			}
			return nil
		})
		if check.all != nil {
			check.all(b.Value.batch)
		}
		v.take(b.Value.batch)
		return v.ctx.Err()
	})
	if err != nil {
		return err
	}
	if info.Size() > want.Length && !v.done.Unclean {
		counts.Length = info.Size()
	}
	v.compareMark(path, counts.Mark, want)
	return nil
}

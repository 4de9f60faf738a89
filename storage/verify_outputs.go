package storage

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/permesso-crawler/permesso/frontier"
	"github.com/permesso-crawler/permesso/internal/crawllog"
	"github.com/permesso-crawler/permesso/internal/lines"
	"github.com/permesso-crawler/permesso/storage/cdxj"
	"github.com/permesso-crawler/permesso/storage/internal/state"
	"github.com/permesso-crawler/permesso/storage/warc"
)

// outputs reads the files of the crawl, except the state file.
func (v *verifier) outputs() error {
	err := errors.Join(
		v.lines(PagesFile, v.state.Growing[PagesFile], v.page),
		v.links(),
		v.lines(indexPart, v.state.Growing[indexPart], v.indexLine(ofPart, nil)),
		v.log(), v.index())
	if over := ended(v.ctx); over != nil {
		return over
	}
	return errors.Join(err, v.archive())
}

func (v *verifier) page(n int64, line []byte) error {
	v.done.Pages++
	var p PageRecord
	if err := json.Unmarshal(line, &p); err != nil {
		return err
	}
	v.know(urlKey(p.URL), ofPage, n, pageFact(&p))
	if p.WARC != "" {
		v.know(captureKey(p.WARC, p.Offset), ofPage, n, placeFact(&p))
	}
	return nil
}

// links reads links.jsonl, and counts the links of each page. The lines of a page follow each
// other.
func (v *verifier) links() error {
	from, first, count := "", int64(0), 0
	flush := func() {
		if from != "" {
			v.know(urlKey(from), ofLinks, first, fmt.Sprint(count))
		}
	}
	err := v.lines(LinksFile, v.state.Growing[LinksFile], func(n int64, line []byte) error {
		var l LinkRecord
		if err := json.Unmarshal(line, &l); err != nil {
			return err
		}
		if l.From == "" || l.To == "" {
			return errors.New("a link without both URLs")
		}
		if l.From != from {
			flush()
			from, first, count = l.From, n, 0
		}
		if l.Hop == string(frontier.HopLink) {
			count++
		}
		return nil
	})
	flush()
	return err
}

// log reads crawl.log. If the last run did not close the crawl, it also reads the lines after
// the committed length, because a run never truncates the log.
func (v *verifier) log() error {
	return v.lines(LogFile, v.state.Growing[LogFile], func(n int64, line []byte) error {
		v.done.LogLines++
		l, err := crawllog.Parse(string(line))
		if err != nil {
			return err
		}
		_, site := l.Annotation("queued")
		v.crawled = v.crawled || l.URL == crawllog.RunURL
		if l.URL != crawllog.RunURL && !site && !strings.HasSuffix(l.Hops, string(frontier.HopPrerequisite)) {
			v.know(urlKey(l.URL), ofLog, n, logFact(l))
		}
		return nil
	})
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
	return v.lines(IndexFile, v.state.Index.Index, v.indexLine(ofIndex, new([]byte)))
}

// indexLine returns a function that adds the lines of an index to the facts. If the pointer is
// not nil, it is used to store the last line. The function then also returns an error for a
// line that sorts before the line above it.
func (v *verifier) indexLine(from source, before *[]byte) func(int64, []byte) error {
	return func(n int64, line []byte) error {
		e, err := cdxj.Parse(string(line))
		if err != nil {
			return err
		}
		v.know(captureKey(e.Filename, e.Offset), from, n, string(line))
		if before != nil {
			if bytes.Compare(*before, line) > 0 {
				return errors.New("the line sorts before the one above it")
			}
			*before = append((*before)[:0], line...)
		}
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
	marked := &marking{r: file}
	if f.grows {
		marked.r = io.LimitReader(file, want.Length)
	}
	in := warc.NewReader(marked)
	for {
		if err := ended(v.ctx); err != nil {
			return err
		}
		r, err := in.Next()
		if err == io.EOF {
			break
		}
		if err == nil {
			v.done.Records++
			err = v.record(r, f.name)
		}
		if err == nil {
			continue
		}
		v.problem("%s: %w", f.path, err)
		var bad *warc.Error
		if !errors.As(err, &bad) {
			return nil
		}
		if _, err := in.Skip(); err != nil && err != io.EOF {
			return fmt.Errorf("%s: %w", f.path, err)
		}
	}
	v.compareMark(f.path, marked.Mark, want)
	return nil
}

// compareMark compares two marks: the first is that of the file as it was read, and want is
// that in the state.
func (v *verifier) compareMark(path string, is, want state.Mark) {
	switch {
	case is.Length != want.Length:
		v.problemOf(filepath.Base(path), "%s is %d bytes long where %d were written", path, is.Length, want.Length)
	case is.Sum != want.Sum:
		v.problemOf(filepath.Base(path), "%s: its first %d bytes are not those that were written", path, want.Length)
	}
}

func (v *verifier) record(r *warc.Record, name string) error {
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
			v.done.LostRecords++
			return wrong
		}
		v.done.Purged++
		if answer, ok := strings.CutPrefix(was, purgedAnswer); ok {
			v.know(aboutReferred+answer, ofPurged, p.Offset, "")
		}
		return wrong
	}
	if p.Head { // no index lists the answer to a HEAD request, and no record repeats it
		v.know(captureKey(name, p.Offset), ofRecord, p.Offset, recordFact(&p, nil))
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
	v.know(captureKey(name, p.Offset), ofRecord, p.Offset, recordFact(&said, bytes.TrimSuffix(line, []byte("\n"))))
	if p.Type != warc.Revisit {
		v.know(referredKey(p.URL, p.Date), ofRecord, p.Offset, name)
	} else if r.Header.Get(warc.FieldRefersToDate) != "" || r.Header.Get(warc.FieldProfile) == string(warc.IdenticalPayloadDigest) {
		date, err := time.Parse(time.RFC3339Nano, r.Header.Get(warc.FieldRefersToDate))
		if err != nil {
			return &warc.Error{Offset: p.Offset, Err: err}
		}
		url := r.Header.Get(warc.FieldRefersToURI)
		v.know(referredKey(url, date), ofRevisit, p.Offset, revisitFact(url, date, name))
	}
	return wrong
}

// lines calls check for the committed lines of a file, and compares the file with its mark. If
// the file is the log, and the last run did not close the crawl, it also checks later lines,
// except an incomplete last line.
func (v *verifier) lines(name string, want state.Mark, check func(n int64, line []byte) error) error {
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
	counts := &marking{r: io.LimitReader(f, want.Length)}
	in, later := io.Reader(counts), v.done.Unclean && name == LogFile
	if later {
		in = io.MultiReader(counts, f)
	}
	reader := lines.NewReader(in)
	if name == PagesFile {
		reader = lines.NewPageReader(in)
	}
	for n := int64(1); ; n++ {
		if err := ended(v.ctx); err != nil {
			return err
		}
		line, err := reader.Next()
		if err == io.EOF || later && reader.Torn() {
			break // ignore an incomplete last line of the log
		}
		if err != nil && err != lines.ErrLong {
			return err
		}
		if err == nil {
			err = check(n, line)
		}
		if err != nil {
			v.problemOf(name, "%s:%d: %w", path, n, err)
		}
	}
	if info.Size() > want.Length && !v.done.Unclean {
		counts.Length = info.Size()
	}
	v.compareMark(path, counts.Mark, want)
	return nil
}

package storage

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"math"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/permesso-crawler/permesso/frontier"
	"github.com/permesso-crawler/permesso/storage/cdxj"
	"github.com/permesso-crawler/permesso/storage/crawllog"
	"github.com/permesso-crawler/permesso/storage/warc"
)

// outputs reads the files beside the state.
func (v *verifier) outputs() error {
	err := errors.Join(
		v.lines(PagesFile, v.lengths[PagesFile], v.page),
		v.links(),
		v.lines(indexPart, v.lengths[indexPart], v.indexLine(ofPart, nil)),
		v.log(), v.index())
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

// links reads links.jsonl: the links of a page follow each other.
func (v *verifier) links() error {
	from, first, count := "", int64(0), 0
	flush := func() {
		if from != "" {
			v.know(urlKey(from), ofLinks, first, fmt.Sprint(count))
		}
	}
	err := v.lines(LinksFile, v.lengths[LinksFile], func(n int64, line []byte) error {
		var l LinkRecord
		if err := json.Unmarshal(line, &l); err != nil {
			return err
		}
		if l.From == "" || l.To == "" {
			return errors.New("a link without its two ends")
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

// log reads crawl.log, all but a torn last line.
func (v *verifier) log() error {
	return v.lines(LogFile, -1, func(n int64, line []byte) error {
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

// index reads index.cdxj, unless the next run has to make it anew.
func (v *verifier) index() error {
	path := filepath.Join(v.dir, IndexFile)
	if v.done.Unclean {
		return nil
	}
	if _, err := os.Stat(path); errors.Is(err, fs.ErrNotExist) {
		if v.lengths[indexPart] > 0 {
			v.problem("%s is missing: crawl index makes it again", path)
		}
		return nil
	}
	v.indexed = true
	return v.lines(IndexFile, math.MaxInt64, v.indexLine(ofIndex, new([]byte)))
}

// indexLine notes lines of an index, which come in order where before is given.
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

// archive reads the WARC files, those that still grow up to what was committed.
func (v *verifier) archive() error {
	v.present = map[string]bool{}
	dir := filepath.Join(v.dir, ArchiveDir)
	files, err := os.ReadDir(dir)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	var errs []error
	for _, f := range files {
		name, open := strings.CutSuffix(f.Name(), openSuffix)
		if !strings.HasSuffix(name, archiveFile) {
			continue
		}
		length := int64(math.MaxInt64)
		if open {
			length = v.lengths[archiveKey(name)]
		}
		v.present[name] = true
		errs = append(errs, v.records(filepath.Join(dir, f.Name()), name, length))
	}
	for key, length := range v.lengths {
		if name, ok := strings.CutPrefix(key, ArchiveDir+"/"); ok {
			info, err := os.Stat(filepath.Join(dir, name))
			if err != nil {
				info, err = os.Stat(filepath.Join(dir, name+openSuffix))
			}
			if err != nil || info.Size() < length {
				v.problem("%s is missing, or shorter than the %d bytes that were written", filepath.Join(dir, name), length)
			}
		}
	}
	return errors.Join(errs...)
}

// records reads a WARC file up to a length.
func (v *verifier) records(path, name string, length int64) error {
	f, err := os.Open(path)
	if err != nil {
		return err
	}
	defer f.Close()
	in := warc.NewReader(io.LimitReader(f, length))
	for {
		r, err := in.Next()
		if err == io.EOF {
			return nil
		}
		if err == nil {
			v.done.Records++
			err = v.record(r, name)
		}
		if err == nil {
			continue
		}
		v.problem("%s: %w", path, err)
		var bad *warc.Error
		if !errors.As(err, &bad) {
			return nil
		}
		if _, err := in.Skip(); err != nil && err != io.EOF {
			return fmt.Errorf("%s: %w", path, err)
		}
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
	e, err := cdxj.EntryOf(&p, name)
	if err != nil || e == nil {
		return errors.Join(wrong, err)
	}
	line, err := e.Append(nil)
	if err != nil {
		return err
	}
	v.know(captureKey(name, p.Offset), ofRecord, p.Offset, recordFact(&p, bytes.TrimSuffix(line, []byte("\n"))))
	if p.Type != warc.Revisit {
		v.know(referredKey(p.URL, p.Date), ofRecord, p.Offset, name)
	} else if r.Header.Get(warc.FieldProfile) == string(warc.IdenticalPayloadDigest) {
		date, err := time.Parse(time.RFC3339Nano, r.Header.Get(warc.FieldRefersToDate))
		if err != nil {
			return &warc.Error{Offset: p.Offset, Err: err}
		}
		v.know(referredKey(r.Header.Get(warc.FieldRefersToURI), date), ofRevisit, p.Offset, name)
	}
	return wrong
}

// lines checks the lines of a file, up to a length; -1: all, but a torn last
// one.
func (v *verifier) lines(name string, length int64, check func(n int64, line []byte) error) error {
	path := filepath.Join(v.dir, name)
	f, err := os.Open(path)
	if errors.Is(err, fs.ErrNotExist) {
		if length > 0 {
			v.problem("%s is missing, of which %d bytes were written", path, length)
		}
		return nil
	}
	if err != nil {
		return err
	}
	defer f.Close()
	r := io.Reader(f)
	if length >= 0 && length < math.MaxInt64 {
		info, err := f.Stat()
		if err != nil {
			return err
		}
		if info.Size() < length {
			v.problem("%s is %d bytes long where %d were written", path, info.Size(), length)
		}
		r = io.LimitReader(f, length)
	}
	lines := bufio.NewReaderSize(r, 1<<16)
	for n := int64(1); ; n++ {
		line, err := lines.ReadBytes('\n')
		if err == io.EOF && (len(line) == 0 || length < 0) {
			return nil
		}
		if err != nil && err != io.EOF {
			return err
		}
		if err := check(n, bytes.TrimSuffix(line, []byte("\n"))); err != nil {
			v.problem("%s:%d: %w", path, n, err)
		}
		if err == io.EOF {
			return nil
		}
	}
}

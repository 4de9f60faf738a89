package storage

import (
	"cmp"
	"crypto/sha1"
	"encoding/base32"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net/http"
	"os"
	"path"
	"path/filepath"
	"slices"
	"sync"
	"time"

	"github.com/permesso-crawler/permesso/frontier"
	"github.com/permesso-crawler/permesso/storage/cdxj"
	"github.com/permesso-crawler/permesso/storage/internal/state"
	"github.com/permesso-crawler/permesso/storage/warc"
)

// A Past is what an ended crawl has archived: the memory of the one behind it. It changes
// nothing, and holds no file open between two calls: so many captures of so large a crawl
// can be looked up as one likes. Its methods are safe for concurrent use.
//
// A capture that repeats an earlier one (a revisit record) is followed to the body: in the
// same crawl, in the crawl that this one knew as the one before it, and so on, and in the
// crawls beside it in its directory, the last by name first.
type Past struct {
	dir   string
	older func() []string // directories beside dir, in which bodies may stand
}

// OpenPast looks at the crawl in dir. The error is an *InUseError where a process runs it,
// one that wraps ErrNoCrawl where there is none, or one of the file system.
func OpenPast(dir string) (*Past, error) {
	if run, held := state.Holder(dir); held {
		return nil, &InUseError{Dir: dir, Run: run}
	}
	p := PastOf(dir)
	if p.Remembers() {
		return p, nil
	}
	if _, err := os.Stat(filepath.Join(dir, StateFile)); errors.Is(err, fs.ErrNotExist) {
		return nil, noCrawl(dir, "it has neither "+StateFile+" nor "+IndexFile)
	} else if err != nil {
		return nil, err
	}
	return p, nil
}

// PastOf is OpenPast of a crawl that may be running: nothing is looked at yet.
func PastOf(dir string) *Past {
	return &Past{dir, sync.OnceValue(func() []string { return olderThan(dir) })}
}

// Dir is the directory of the crawl.
func (p *Past) Dir() string { return p.dir }

// Remembers reports whether there is an archive with an index: without one no capture is
// found.
func (p *Past) Remembers() bool {
	info, err := os.Stat(filepath.Join(p.dir, IndexFile))
	return err == nil && info.Mode().IsRegular()
}

// A Capture is the last answer to a URL that a crawl has archived.
type Capture struct {
	URL  string
	Date time.Time // when its request began

	// Status and Header are those of the answer. Where the server has said that nothing
	// has changed, they are those of the answer that this repeats, its header brought up
	// to date (RFC 9111, section 3.2). Header has the content coding that the body has.
	Status int
	Header http.Header

	Digest    string // of the payload, with its content coding, as in WARC-Payload-Digest
	Truncated bool   // the payload is not the whole body

	// OfURL and OfDate name the record that has the body: what WARC-Refers-To-Target-URI
	// and WARC-Refers-To-Date of a record that repeats this one are to say.
	OfURL  string
	OfDate time.Time

	body place // the record that has the body
}

// A place is where a record begins.
type place struct {
	path   string // of the WARC file
	offset int64
}

// Capture is the last capture of u; nil if there is none, or if a Purge has taken out what
// has its body. Nothing of the body is read yet. The error says that the index, or a record, cannot be read, or that the one with the
// body is nowhere: a *warc.Error, one of the file system, or another.
func (p *Past) Capture(u frontier.URL) (*Capture, error) {
	e, err := p.last(p.dir, u.String(), time.Time{})
	if err != nil || e == nil {
		return nil, err
	}
	return captureAt(placeOf(p.dir, e), u.String(), p.find)
}

// Capture is the answer to u whose record is at a place in the archive of this crawl, and
// whose body is in the one at another; nil where that is no answer of a server that speaks
// HTTP. Both were written by PutVisit, and no byte of them is read yet. The error is as
// that of Past.Capture.
func (db *DB) Capture(u frontier.URL, answer, body frontier.Place) (*Capture, error) {
	in := func(p frontier.Place) place {
		return place{filepath.Join(db.Dir(), ArchiveDir, filepath.Base(p.File)), p.Offset}
	}
	return captureAt(in(answer), u.String(), func(url string, at time.Time) (*original, place, error) {
		o, err := originalAt(in(body), url)
		if err == nil && !o.date.Equal(at) {
			err = &warc.Error{Offset: body.Offset, Err: fmt.Errorf("%s: the record is of %s, and one of %s is repeated", body.File, o.date, at)}
		}
		return o, in(body), err
	})
}

// captureAt is the capture whose record is at a place; find finds the record that it may
// repeat.
func captureAt(at place, url string, find func(url string, at time.Time) (*original, place, error)) (*Capture, error) {
	rec, file, err := openRecord(at, url)
	if errors.Is(err, ErrPurged) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	defer file.Close()
	switch rec.Type {
	case warc.Response, warc.Revisit:
	default: // of a server that speaks no HTTP
		return nil, nil
	}
	resp, err := rec.Response()
	if err != nil {
		return nil, fmt.Errorf("%s: %w", file.Name(), err)
	}
	c := &Capture{
		URL: url, Date: rec.Date, Status: resp.StatusCode, Header: plainHeader(resp.Header),
		Digest: rec.Header.Get(warc.FieldPayloadDigest), Truncated: rec.Header.Get(warc.FieldTruncated) != "",
		OfURL: url, OfDate: rec.Date, body: at,
	}
	if rec.Type == warc.Revisit {
		err = c.follow(rec, find)
	}
	if errors.Is(err, ErrPurged) {
		return nil, nil
	}
	return c, err
}

// follow finds the record that has the body of a capture, which repeats it.
func (c *Capture) follow(rec *warc.Record, find func(url string, at time.Time) (*original, place, error)) error {
	url, date := rec.Header.Get(warc.FieldRefersToURI), rec.Header.Get(warc.FieldRefersToDate)
	at, err := time.Parse(time.RFC3339Nano, date)
	if err != nil {
		return &warc.Error{Offset: rec.Offset, Err: fmt.Errorf("%s of the record of %s is no time: %w", warc.FieldRefersToDate, c.URL, err)}
	}
	first, place, err := find(url, at)
	if err != nil {
		return err
	}
	c.OfURL, c.OfDate, c.body = url, at, place
	if c.Truncated = first.truncated; c.Header == nil {
		c.Status, c.Header = first.status, first.header
	} else if rec.Header.Get(warc.FieldProfile) == string(warc.ServerNotModified) {
		c.Status, c.Header = first.status, UpdatedHeader(first.header, c.Header)
	}
	if c.Digest == "" {
		c.Digest = first.digest
	}
	return nil
}

// ErrPurged is what an error about an answer wraps that a Purge has taken out.
var ErrPurged = errors.New("what was captured was purged")

// Original is the answer that a revisit record in the archive of the crawl repeats, be it
// there or in a crawl before it. The error is as that of Capture, and wraps ErrPurged
// where that answer was purged.
func (p *Past) Original(rec *warc.Record) (*Capture, error) {
	c := &Capture{URL: rec.TargetURI(), Date: rec.Date}
	return c, c.follow(rec, p.find)
}

// An original is what a record says that others repeat.
type original struct {
	date      time.Time
	status    int
	header    http.Header
	digest    string
	truncated bool
}

// find looks for the record of an answer, in this crawl and in those beside it. The error
// is that of the first record that is damaged, or says that there is none.
func (p *Past) find(url string, at time.Time) (*original, place, error) {
	var bad error
	for _, dir := range append([]string{p.dir}, p.older()...) {
		e, err := p.last(dir, url, at)
		if err == nil && e == nil {
			continue
		}
		if err == nil {
			var o *original
			if o, err = originalAt(placeOf(dir, e), url); err == nil {
				return o, placeOf(dir, e), nil
			}
		}
		bad = cmp.Or(bad, err)
	}
	if purged := p.purged(url); purged != nil {
		return nil, place{}, purged
	}
	if bad == nil {
		bad = fmt.Errorf("the answer of %s of %s is repeated, and is neither in %s nor in a crawl beside it: bring back the crawl that has it",
			url, at.UTC().Format(time.RFC3339Nano), p.dir)
	}
	return nil, place{}, bad
}

// purged is the error about a URL whose captures a Purge has taken out of this crawl, or
// of one beside it; nil where none has, or where that cannot be told.
func (p *Past) purged(url string) error {
	u, err := frontier.ParseURL(url)
	if err != nil {
		return nil
	}
	for _, dir := range append([]string{p.dir}, p.older()...) {
		if fate, err := fateIn(dir, u); err == nil {
			if _, gone := PurgedFate(fate); gone {
				return fmt.Errorf("%s: %w at %s: %s", dir, ErrPurged, fate.Time.UTC().Format(time.RFC3339), url)
			}
		}
	}
	return nil
}

func fateIn(dir string, u frontier.URL) (frontier.Fate, error) {
	r, err := OpenReader(dir)
	if err != nil {
		return frontier.Fate{}, err
	}
	fate, _, err := r.Fate(u)
	return fate, errors.Join(err, r.Close())
}

// originalAt reads the head of an answer that others repeat.
func originalAt(at place, url string) (*original, error) {
	rec, file, err := openRecord(at, url)
	if err != nil {
		return nil, err
	}
	defer file.Close()
	if rec.Type != warc.Response {
		return nil, &warc.Error{Offset: at.offset, Err: fmt.Errorf("%s: the record of %s is a %s, which others must not repeat (WARC 1.1, section 6.7)", at.path, url, rec.Type)}
	}
	resp, err := rec.Response()
	if err != nil {
		return nil, fmt.Errorf("%s: %w", at.path, err)
	}
	return &original{
		date: rec.Date, status: resp.StatusCode, header: plainHeader(resp.Header), digest: rec.Header.Get(warc.FieldPayloadDigest),
		truncated: rec.Header.Get(warc.FieldTruncated) != "",
	}, nil
}

// last is the last line about a URL in the index of a crawl; with a time, the one of that.
// It is nil if there is none, also where there is no index.
func (p *Past) last(dir, url string, at time.Time) (last *cdxj.Entry, err error) {
	index, err := openRegular(filepath.Join(dir, IndexFile))
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	defer index.Close()
	info, err := index.Stat()
	if err != nil {
		return nil, err
	}
	for e, bad := range cdxj.Find(index, info.Size(), url) {
		switch {
		case bad != nil:
			err = cmp.Or(err, fmt.Errorf("%s: %w: crawl verify %s says more, and crawl index makes it again", index.Name(), bad, dir))
		case !at.IsZero() && (!e.Time.Equal(at.UTC().Truncate(time.Second)) || !p.isOf(dir, e, at)):
		case last == nil || after(e, last):
			last = e
		}
	}
	if last != nil {
		err = nil
	}
	return last, err
}

// isOf reports whether a line is that of the answer of a time, which it has to the second.
// It is where that cannot be told: what is wrong with the record is told of later.
func (p *Past) isOf(dir string, e *cdxj.Entry, at time.Time) bool {
	rec, file, err := openRecord(placeOf(dir, e), e.URL)
	if err != nil {
		return true
	}
	defer file.Close()
	return rec.Date.Truncate(time.Microsecond).Equal(at.Truncate(time.Microsecond)) && rec.Type != warc.Revisit
}

// after reports whether a line is of a later answer than another.
func after(a, b *cdxj.Entry) bool {
	return cmp.Or(a.Time.Compare(b.Time), cmp.Compare(a.Filename, b.Filename), cmp.Compare(a.Offset, b.Offset)) > 0
}

func placeOf(dir string, e *cdxj.Entry) place {
	return place{filepath.Join(dir, ArchiveDir, filepath.Base(e.Filename)), e.Offset}
}

// openRecord reads the header of the record at a place, which is to be of a URL. Who calls
// it closes the file.
func openRecord(at place, url string) (*warc.Record, *os.File, error) {
	file, err := OpenArchive(at.path)
	if err != nil {
		return nil, nil, err
	}
	rec, err := warc.ReadAt(file, at.offset)
	if err == nil && rec.Header.Get(warc.FieldPurged) != "" && rec.TargetURI() == "" {
		err = fmt.Errorf("%w: %s", ErrPurged, url)
	}
	if err == nil && rec.TargetURI() != url {
		err = &warc.Error{Offset: at.offset, Err: fmt.Errorf("the record is of %s, and the index says %s", rec.TargetURI(), url)}
	}
	if err != nil {
		file.Close()
		return nil, nil, fmt.Errorf("%s: %w", at.path, err)
	}
	return rec, file, nil
}

// OpenArchive opens a WARC file of a crawl, which may still be growing: then it has
// another name than its records are known by.
func OpenArchive(path string) (*os.File, error) {
	file, err := openRegular(path)
	if errors.Is(err, fs.ErrNotExist) {
		if open, also := openRegular(path + openSuffix); also == nil {
			return open, nil
		}
	}
	return file, err
}

// openRegular opens a file for reading. What is none, such as a named pipe, for whose
// other end a reader would wait for ever, is an error.
func openRegular(path string) (*os.File, error) {
	info, err := os.Stat(path)
	if err != nil {
		return nil, err
	}
	if !info.Mode().IsRegular() {
		return nil, &fs.PathError{Op: "open", Path: path, Err: fmt.Errorf("is no regular file (%s)", info.Mode().Type())}
	}
	return os.Open(path)
}

// Place is where the record that has the body begins: the path of its WARC file, which may
// be that of another crawl, and the offset there, in bytes.
func (c *Capture) Place() (path string, offset int64) { return c.body.path, c.body.offset }

// Open is the answer with its body, as it was sent but for the transfer coding; the caller
// closes it. The body ends with an error where the record is damaged: nothing of it should
// be taken for whole before it has ended.
func (c *Capture) Open() (*http.Response, error) {
	rec, file, err := openRecord(c.body, c.OfURL)
	if err != nil {
		return nil, err
	}
	resp, err := rec.Response()
	if err != nil {
		file.Close()
		return nil, fmt.Errorf("%s: %w", c.body.path, err)
	}
	resp.StatusCode, resp.Status = c.Status, ""
	resp.Header = c.Header.Clone()
	resp.Body = &wholeBody{from: resp.Body, rec: rec, file: file}
	return resp, nil
}

// check reads the body, and compares its digest.
func (c *Capture) check() error {
	resp, err := c.Open()
	if err != nil {
		return err
	}
	defer resp.Body.Close()
	sum := sha1.New()
	if _, err := io.Copy(sum, resp.Body); err != nil {
		return err
	}
	if is := sha1Digest(sum.Sum(nil)); is != c.Digest {
		return &warc.Error{Offset: c.body.offset, Err: fmt.Errorf("%s: the payload of %s has the digest %s, not %s", c.body.path, c.OfURL, is, c.Digest)}
	}
	return nil
}

func sha1Digest(sum []byte) string { return "sha1:" + base32.StdEncoding.EncodeToString(sum) }

// A wholeBody is a body in a record, whose checksum stands behind it.
type wholeBody struct {
	from io.ReadCloser
	rec  *warc.Record
	file *os.File
}

func (b *wholeBody) Read(p []byte) (int, error) {
	n, err := b.from.Read(p)
	if err == io.EOF || errors.Is(err, io.ErrUnexpectedEOF) {
		// Servers count wrongly: where the record ends, the body does.
		err = io.EOF
		if _, bad := b.rec.Close(); bad != nil {
			err = fmt.Errorf("%s: %w", b.file.Name(), bad)
		}
	}
	return n, err
}

func (b *wholeBody) Close() error { return b.file.Close() }

// olderThan are the crawls in which the bodies of a crawl may stand, besides its own: those
// beside it, and those that it, and they, knew as the one before.
func olderThan(dir string) (all []string) {
	dir, err := filepath.Abs(dir)
	if err != nil {
		return nil
	}
	parent := filepath.Dir(dir)
	around, _ := fs.Glob(os.DirFS(parent), "*/"+IndexFile) // the name of parent may have characters that a pattern has
	slices.Sort(around)
	slices.Reverse(around)
	for _, index := range around {
		if d := filepath.Join(parent, path.Dir(index)); d != dir {
			all = append(all, d)
		}
	}
	for before := previousOf(dir); before != "" && before != dir && !slices.Contains(all, before); before = previousOf(before) {
		all = append(all, before)
	}
	return all
}

// keyPrevious is the value of the state that names the crawl before.
const keyPrevious = "previous"

// PutPrevious notes which crawl is the one before this: what revisit records here refer to
// is there, or in the one before that.
func (db *DB) PutPrevious(dir string) error {
	dir, err := filepath.Abs(dir)
	if err != nil {
		return err
	}
	return db.Put(keyPrevious, dir)
}

// Previous is the crawl that the one in dir knew as the one before; "" where it knew none,
// or that cannot be read.
func Previous(dir string) string { return previousOf(dir) }

// previousOf is the crawl that the one in dir knew as the one before; "" where it knew
// none, or that cannot be read.
func previousOf(dir string) string {
	r, err := OpenReader(dir)
	if err != nil {
		return ""
	}
	defer r.Close()
	var before string
	if _, err := r.Get(keyPrevious, &before); err != nil || before == "" {
		return ""
	}
	if _, err := os.Stat(before); err != nil { // both may have been moved
		before = filepath.Join(filepath.Dir(dir), filepath.Base(before))
	}
	return filepath.Clean(before)
}

// Behind are the crawls beside the one in dir that know it as the one before, or as one
// before that: they may repeat bodies that are here alone. One that runs is none of them.
func Behind(dir string) (all []string) {
	dir, err := filepath.Abs(dir)
	if err != nil {
		return nil
	}
	beside, _ := fs.Glob(os.DirFS(filepath.Dir(dir)), "*/"+StateFile)
	for _, file := range beside {
		d := filepath.Join(filepath.Dir(dir), path.Dir(file))
		known := []string{d}
		for before := previousOf(d); before != "" && !slices.Contains(known, before); before = previousOf(before) {
			known = append(known, before)
		}
		if d != dir && slices.Contains(known, dir) {
			all = append(all, d)
		}
	}
	return all
}

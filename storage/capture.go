package storage

import (
	"crypto/sha1"
	"encoding/base32"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net/http"
	"os"
	"path/filepath"
	"time"

	"github.com/permesso-crawler/permesso/frontier"
	"github.com/permesso-crawler/permesso/storage/warc"
)

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

// An original is what a record says that others repeat.
type original struct {
	date      time.Time
	status    int
	header    http.Header
	digest    string
	truncated bool
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

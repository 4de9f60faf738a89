package storage

import (
	"cmp"
	"crypto/sha1"
	"encoding/base32"
	"errors"
	"fmt"
	"io"
	"net/http"
	"path/filepath"
	"strings"
	"time"

	"github.com/permesso-crawler/permesso/frontier"
	"github.com/permesso-crawler/permesso/storage/warc"
)

// A Capture is the last answer to a URL that a crawl has archived. It holds no file open, and
// of its record at most 32 KiB in memory, until Release. It is for one goroutine at a time.
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

	// TextDigest is what was noted beside the answer of the text that readers saw of it, by
	// the Content-Type of Header: empty where nothing was, and as long as the body was not
	// read to its end.
	TextDigest string

	body    excerpt // the record that has the body
	repeats bool    // the answer has a record of its own, without it
	checked bool    // Check has read it
	damage  error   // and this is what is wrong
}

// Capture is the answer to u whose record is at a place in the archive of this crawl, and
// whose body is in the one at another; nil where that is no answer of a server that speaks
// HTTP. Both were written by PutVisit. The error is as that of Past.Capture.
func (db *DB) Capture(u frontier.URL, answer, body frontier.Place) (*Capture, error) {
	in := func(p frontier.Place) place {
		return place{path: filepath.Join(db.Dir(), ArchiveDir, filepath.Base(p.File)), offset: p.Offset}
	}
	return captureAt(in(answer), u.String(), func(url string, at time.Time) (*original, error) {
		o, err := originalAt(in(body), url)
		if err == nil && !o.date.Equal(at) {
			err = &warc.Error{Offset: body.Offset, Err: fmt.Errorf("%s: the record is of %s, and one of %s is repeated", body.File, o.date, at)}
		}
		return o, err
	})
}

// captureAt is the capture whose record is at a place; find finds the record that it may
// repeat.
func captureAt(at place, url string, find findOriginal) (*Capture, error) {
	rec, err := openPlace(at, url)
	if errors.Is(err, ErrPurged) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	defer rec.close()
	switch rec.Type {
	case warc.Response, warc.Revisit:
	default: // of a server that speaks no HTTP
		return nil, nil
	}
	resp, err := rec.Response()
	if err != nil {
		return nil, fmt.Errorf("%s: %w", at.path, err)
	}
	c := &Capture{
		URL: url, Date: rec.Date, Status: resp.StatusCode, Header: plainHeader(resp.Header),
		Digest: rec.Header.Get(warc.FieldPayloadDigest), Truncated: rec.Header.Get(warc.FieldTruncated) != "",
		OfURL: url, OfDate: rec.Date, body: rec.excerpt,
	}
	if rec.Type == warc.Revisit {
		err = c.follow(rec.Record, find)
		c.TextDigest = rec.textDigest()
	}
	if errors.Is(err, ErrPurged) {
		return nil, nil
	}
	return c, err
}

// findOriginal finds the record of an answer that another one repeats.
type findOriginal func(url string, at time.Time) (*original, error)

// follow finds the record that has the body of a capture, which repeats it.
func (c *Capture) follow(rec *warc.Record, find findOriginal) error {
	url, date := rec.Header.Get(warc.FieldRefersToURI), rec.Header.Get(warc.FieldRefersToDate)
	at, err := time.Parse(time.RFC3339Nano, date)
	if err != nil {
		return &warc.Error{Offset: rec.Offset, Err: fmt.Errorf("%s of the record of %s is no time: %w", warc.FieldRefersToDate, c.URL, err)}
	}
	first, err := find(url, at)
	if err != nil {
		return err
	}
	c.OfURL, c.OfDate, c.body, c.repeats = url, at, first.body, true
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
	repeats   bool // and that is none of its own: see the error
	body      excerpt
}

// originalAt reads the head of an answer that others repeat. Of a record that is none there
// is the date, with the error.
func originalAt(at place, url string) (*original, error) {
	rec, err := openPlace(at, url)
	if err != nil {
		return nil, err
	}
	defer rec.close()
	o := &original{date: rec.Date, repeats: rec.Type == warc.Revisit, body: rec.excerpt}
	if rec.Type != warc.Response {
		return o, &warc.Error{Offset: at.offset, Err: fmt.Errorf("%s: the record of %s is a %s, which others must not repeat (WARC 1.1, section 6.7)", at.path, url, rec.Type)}
	}
	resp, err := rec.Response()
	if err != nil {
		return o, fmt.Errorf("%s: %w", at.path, err)
	}
	o.status, o.header, o.digest = resp.StatusCode, plainHeader(resp.Header), rec.Header.Get(warc.FieldPayloadDigest)
	o.truncated = rec.Header.Get(warc.FieldTruncated) != ""
	return o, nil
}

// Place is where the record that has the body begins: the path of its WARC file, which may
// be that of another crawl, and the offset there, in bytes.
func (c *Capture) Place() (path string, offset int64) { return c.body.path, c.body.offset }

// Open is the answer with its body, as it was sent but for the transfer coding; the caller
// closes it. The body ends with an error where the record is damaged: nothing of it should
// be taken for whole before it has ended.
func (c *Capture) Open() (*http.Response, error) {
	rec, err := c.body.open(c.OfURL)
	if err != nil {
		return nil, err
	}
	resp, err := rec.Response()
	if err != nil {
		rec.close()
		return nil, fmt.Errorf("%s: %w", c.body.path, err)
	}
	resp.StatusCode, resp.Status = c.Status, ""
	resp.Header = c.Header.Clone()
	resp.Body = &wholeBody{from: resp.Body, rec: rec, of: c}
	return resp, nil
}

// Release lets go of what the capture has in memory of its record: it is read from the file
// again where it is opened once more.
func (c *Capture) Release() { c.body.bytes = nil }

// Check reads the body, and compares its digest. What it has found it says again when it is
// called once more. The error is as that of Past.Capture.
func (c *Capture) Check() error {
	if !c.checked {
		c.checked, c.damage = true, c.check()
	}
	return c.damage
}

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
	rec  *placedRecord
	of   *Capture
	end  error // that was met
}

func (b *wholeBody) Read(p []byte) (int, error) {
	if b.end != nil {
		return 0, b.end
	}
	n, err := b.from.Read(p)
	if err == io.EOF || errors.Is(err, io.ErrUnexpectedEOF) {
		// Servers count wrongly: where the record ends, the body does.
		err = io.EOF
		if _, bad := b.rec.Record.Close(); bad != nil {
			err = fmt.Errorf("%s: %w", b.of.body.path, bad)
		} else if !b.of.repeats {
			b.of.TextDigest = b.rec.textDigest()
		}
	}
	b.end = err
	return n, err
}

func (b *wholeBody) Close() error {
	b.end = cmp.Or(b.end, http.ErrBodyReadAfterClose)
	return b.rec.close()
}

// FieldTextDigest is the field of a metadata record that has the digest of what readers see
// of a page: "sha256:" and hexadecimal digits.
const FieldTextDigest = "textDigest"

// textDigest is what was noted of the text of the answer whose record has been read, behind
// it and its request; empty where nothing was, or where that cannot be read.
func (r *placedRecord) textDigest() string {
	for range 2 {
		rec, err := r.reader.Next()
		if err != nil || rec.TargetURI() != r.TargetURI() || strings.Trim(rec.Header.Get(warc.FieldConcurrentTo), "<>") != r.ID {
			return ""
		}
		if rec.Type != warc.Metadata {
			continue
		}
		fields, err := rec.Fields()
		if _, bad := rec.Close(); err != nil || bad != nil {
			return ""
		}
		for _, f := range fields {
			if f.Name == FieldTextDigest {
				return f.Value
			}
		}
		break
	}
	return ""
}

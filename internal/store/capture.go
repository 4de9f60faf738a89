package store

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

// A Capture is the last archived answer to a URL. Until Release it keeps at most 32 KiB of its
// record in memory. It holds no file open. It must not be used by several goroutines at the
// same time.
type Capture struct {
	URL  string
	Date time.Time // when the request for the answer began

	// Status and Header are from the answer itself. If the answer is a 304 (not modified), they
	// are from the earlier answer that it confirms, with the header updated (RFC 9111, section
	// 3.2). The Content-Encoding in Header is the coding of the body in the archive.
	Status int
	Header http.Header

	Digest    string // digest of the payload, in its content coding, as in WARC-Payload-Digest
	Truncated bool   // the payload is not the whole body

	// OfURL and OfDate name the record that has the body. A revisit record that repeats this
	// answer has these values in WARC-Refers-To-Target-URI and WARC-Refers-To-Date.
	OfURL  string
	OfDate time.Time

	// TextDigest is the recorded digest of the answer's visible text, as decoded by the
	// Content-Type of Header. It is empty if none was recorded. If the record of the answer
	// has the body, TextDigest is set only after the body was read to its end.
	TextDigest string

	body    excerpt // the record that has the body
	repeats bool    // the answer has a record of its own, which is a revisit without the body
	checked bool    // Check has read the body
	damage  error   // the error that Check has returned
}

// Capture returns an answer to u from the archive of this crawl. The first place is that of the
// answer's record, as PutVisit has set it in Visit.Place. The second place is that of the
// record that has the answer's body. This is the answer's record itself, or the earlier record
// to which it refers. Capture returns nil if the answer's record is not an HTTP response, or if
// one of the records was purged. It fails with the same errors as Past.Capture.
func (db *DB) Capture(u frontier.URL, answer, body frontier.Place) (*Capture, error) {
	in := func(p frontier.Place) place {
		return place{path: filepath.Join(db.Dir(), ArchiveDir, filepath.Base(p.File)), offset: p.Offset}
	}
	return captureAt(in(answer), u.String(), func(url string, at time.Time) (*original, error) {
		o, err := originalAt(in(body), url)
		if err == nil && !o.date.Equal(at) {
			err = &warc.Error{Offset: body.Offset, Err: fmt.Errorf("%s: the record is of %s, but the revisit record refers to %s", body.File, o.date, at)}
		}
		return o, err
	})
}

// captureAt returns the capture whose record is at the given place. If that record is a
// revisit, captureAt calls find for the record with the body. It returns nil if the record is
// not an HTTP response, or if one of the records was purged.
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
	default: // the server did not speak HTTP
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

// A findOriginal is a function that returns the record to which a revisit record refers. url
// and at are the URL and the time of that earlier record, which the revisit record names.
type findOriginal func(url string, at time.Time) (*original, error)

// follow completes c, whose own record rec is a revisit without a body. It calls find for the
// record that has the body, and copies to c what that record says.
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

// ErrPurged is wrapped by errors about an answer whose body a Purge has removed.
var ErrPurged = errors.New("the capture was purged")

// An original is a record to which revisit records refer.
type original struct {
	date      time.Time
	status    int
	header    http.Header
	digest    string
	truncated bool
	repeats   bool // the record is a revisit itself, which is an error
	body      excerpt
}

// originalAt reads the header of the record at a place, to which revisit records refer. If the
// record is not a response, originalAt returns an error together with the date of the record.
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

// Place returns where the record with the body begins: the path of its WARC file, which may
// belong to another crawl, and the offset in that file, in bytes.
func (c *Capture) Place() (path string, offset int64) { return c.body.path, c.body.offset }

// Open returns the answer with its body as it was sent, but without the transfer coding. The
// caller must close the body. If the record is damaged, reading the body fails at its end, so
// the caller must not rely on any part of the body before io.EOF. The Status of the answer is
// empty: use its StatusCode.
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

// Release frees the memory that holds the record. A later Open reads the file again.
func (c *Capture) Release() { c.body.bytes = nil }

// Check reads the body and compares its digest with Digest. It fails with the same errors as
// Past.Capture. Later calls return the result of the first call.
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

// A wholeBody reads the body in a record. At the end of the body it also checks the rest of the
// record.
type wholeBody struct {
	from io.ReadCloser
	rec  *placedRecord
	of   *Capture
	end  error // the error that Read returns at the end of the body
}

func (b *wholeBody) Read(p []byte) (int, error) {
	if b.end != nil {
		return 0, b.end
	}
	n, err := b.from.Read(p)
	if err == io.EOF || errors.Is(err, io.ErrUnexpectedEOF) {
		// The Content-Length can be wrong. Then the body ends where the record ends.
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

// FieldTextDigest is the field of a metadata record with the digest of the visible text of
// a page: "sha256:" and hexadecimal digits.
const FieldTextDigest = "textDigest"

// textDigest returns the digest of the text (FieldTextDigest) in the metadata record that
// follows r, the record of an answer, and the record of its request. It returns "" if there is
// no such digest, or if it cannot be read.
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

package warc

import (
	"bytes"
	"crypto/sha1"
	"encoding/base32"
	"errors"
	"io"
	"net/http/httputil"
	"strconv"
	"time"

	"github.com/klauspost/compress/gzip"
)

// A record is a record that is being written.
type record struct {
	Type         Type
	id           string
	date         time.Time
	url          string
	concurrentTo string
	x            *Exchange // the exchange that the record belongs to; nil in a warcinfo record
	fields       []Field
	contentType  string
	payloadType  string
	truncated    Truncation
	head, body   []byte // head followed by body is the block of the record
	payload      bool   // body is a payload, so the record gets a payload digest
	chunked      bool   // body consists of chunks (transfer coding)
	digest       string // digest of the payload; if it is empty and payload is set, it is computed from body
}

// write writes r. It compresses r directly to the output, so only the header is in memory.
func (e *Encoder) write(s *state, r *record) (Placed, error) {
	p := Placed{Type: r.Type, ID: r.id, URL: r.url, Date: r.date, Offset: s.count, PayloadDigest: r.digest, ContentType: r.contentType}
	if r.Type == Response || r.Type == Revisit {
		p.Status, p.ContentType = answer(r.head)
		p.Head = r.x.Head
	}
	if r.date.IsZero() || r.date.UTC().Year() < 0 || r.date.UTC().Year() > 9999 {
		return p, errors.New("without a date of four digits for the year: set Date")
	}
	s.sum.Reset()
	s.sum.Write(r.head)
	s.sum.Write(r.body)
	block := s.labelled()
	if r.payload && r.digest == "" {
		if p.PayloadDigest = block; len(r.head) > 0 || r.chunked {
			p.PayloadDigest = s.payloadDigest(r.body, r.chunked)
		}
	}

	header, err := s.header(r, block, p.PayloadDigest)
	if err == nil {
		err = e.compress(s, header, r.head, r.body, recordEnd)
	}
	if err == nil {
		p.Length = s.count - p.Offset
	}
	return p, err
}

// header returns the header of r, including the empty line after it. block and payload are the
// digests of the block and of the payload. The result is valid until the next call.
func (s *state) header(r *record, block, payload string) ([]byte, error) {
	b := append(s.warc[:0], "WARC/1.1\r\n"...)
	var err error
	line := func(name string, value ...string) {
		if err == nil {
			b, err = appendField(b, name, value...)
		}
	}
	field := func(name, value string) {
		if value != "" {
			line(name, value)
		}
	}
	field(fieldType, string(r.Type))
	line(fieldRecordID, "<", r.id, ">")
	if !r.date.Equal(s.date) || len(s.dateText) == 0 {
		s.date, s.dateText = r.date, r.date.UTC().AppendFormat(s.dateText[:0], dateForm)
	}
	line(FieldDate, string(s.dateText))
	field(FieldTargetURI, r.url)
	if x := r.x; x != nil {
		if x.IP.IsValid() {
			var ip [len("ffff:ffff:ffff:ffff:ffff:ffff:ffff:ffff")]byte
			line(FieldIPAddress, string(x.IP.Unmap().WithZone("").AppendTo(ip[:0])))
		}
		if r.concurrentTo != "" {
			line(FieldConcurrentTo, "<", r.concurrentTo, ">")
		}
		if x.InfoID != "" {
			line(fieldWarcinfoID, "<", x.InfoID, ">")
		}
		if r.Type != Metadata {
			for _, protocol := range x.Protocol {
				field(fieldProtocol, protocol)
			}
			field(fieldCipherSuite, x.Cipher)
		}
	}
	for _, f := range r.fields {
		field(f.Name, f.Value)
	}
	field(FieldTruncated, string(r.truncated))
	field(FieldIdentifiedType, r.payloadType)
	field(FieldPayloadDigest, payload)
	field(fieldBlockDigest, block)
	field(FieldContentType, r.contentType)
	var length [20]byte
	line(fieldContentLength, string(strconv.AppendInt(length[:0], int64(len(r.head)+len(r.body)), 10)))
	b = append(b, "\r\n"...)
	s.warc = b
	return b, err
}

// compress writes parts as one gzip member, or uncompressed if Options.Plain was set.
func (e *Encoder) compress(s *state, parts ...[]byte) (err error) {
	if member := e.asShort(s, parts); member != nil {
		_, err := s.Write(member)
		return err
	}
	var w io.Writer = s
	if !e.plain {
		if s.zip == nil {
			if s.zip, err = gzip.NewWriterLevel(s, e.level); err != nil {
				return err
			}
		} else {
			s.zip.Reset(s)
		}
		w = s.zip
	}
	for _, part := range parts {
		if _, err := w.Write(part); err != nil {
			return err
		}
	}
	if !e.plain {
		return s.zip.Close()
	}
	return nil
}

// asShort returns parts as one gzip member, compressed with the code that short records share. It
// returns nil if parts are too long or contain a byte that has no code.
func (e *Encoder) asShort(s *state, parts [][]byte) []byte {
	size := 0
	for _, part := range parts {
		size += len(part)
	}
	if e.short == nil || size > maxShort {
		return nil
	}
	s.whole = s.whole[:0]
	for _, part := range parts {
		s.whole = append(s.whole, part...)
	}
	member, ok := e.short.append(s.member[:0], s.whole)
	s.member = member
	if !ok {
		return nil
	}
	return member
}

// recordEnd follows every block (section 4).
var recordEnd = []byte("\r\n\r\n")

// payloadDigest returns the digest of body without its transfer coding (section 6.3.2). If the
// chunks are cut off, the digest covers the part before the cut.
func (s *state) payloadDigest(body []byte, chunked bool) string {
	s.sum.Reset()
	if chunked {
		_, _ = io.Copy(s.sum, httputil.NewChunkedReader(bytes.NewReader(body)))
	} else {
		s.sum.Write(body)
	}
	return s.labelled()
}

// PayloadDigest returns the WARC-Payload-Digest that a record of m gets. With it the caller can
// find out whether the same answer was archived before, and then write a revisit record.
func PayloadDigest(m *HTTP) string {
	s := state{sum: sha1.New()}
	return s.payloadDigest(m.Body, m.chunked())
}

// labelled returns the digest that s has computed, in the form of section 5.8: algorithm, colon,
// value.
func (s *state) labelled() string {
	const prefix = "sha1:"
	var sum [sha1.Size]byte
	var text [len(prefix) + 32]byte
	copy(text[:], prefix)
	base32.StdEncoding.Encode(text[len(prefix):], s.sum.Sum(sum[:0]))
	return string(text[:])
}

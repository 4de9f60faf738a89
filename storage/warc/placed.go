package warc

import (
	"bytes"
	"errors"
	"strconv"
	"strings"
	"time"
)

// A Placed is the position of a record in a file, with the data that an index needs. Writing a
// record and reading it give the same Placed.
type Placed struct {
	Type   Type
	ID     string // ID of the record, without angle brackets
	URL    string // value of WARC-Target-URI
	Date   time.Time
	Offset int64 // position in bytes, from the start of the written bytes or of the file that was read
	Length int64 // length of the record as stored, in bytes; if compressed, that of the gzip member
	// PayloadDigest is the value of WARC-Payload-Digest, or "".
	PayloadDigest string
	// Status and ContentType describe the HTTP response in the block of a response or revisit
	// record. If the block has none, they are 0 and "". For any other record, ContentType is the
	// type of the block.
	Status      int
	ContentType string
	Head        bool // the record is an answer to HEAD, without a payload (field WARC-Request-Method)
}

// Placed reads the block of the record and returns the record's Placed. No part of the block may
// have been read before, except by Verify. The error is an *Error.
func (rec *Record) Placed() (Placed, error) {
	p := Placed{
		Type: rec.Type, ID: rec.ID, URL: rec.TargetURI(), Date: rec.Date, Offset: rec.Offset,
		PayloadDigest: rec.Header.Get(FieldPayloadDigest), ContentType: rec.Header.Get(FieldContentType),
		Head: rec.Head(),
	}
	if rec.Type == Response || rec.Type == Revisit {
		var unreadable *Error
		if rec.left == rec.Size {
			if _, _, err := rec.head(); err != nil && !errors.As(err, &unreadable) {
				return p, err
			}
		}
		p.Status, p.ContentType = answer(rec.start)
	}
	var err error
	p.Length, err = rec.Close()
	return p, err
}

// answer returns the status and the first Content-Type of the head of an HTTP response. If a value
// continues on the next line (RFC 9112, section 5.2), only its first line is returned.
func answer(head []byte) (status int, contentType string) {
	first, fields, _ := bytes.Cut(head, []byte("\n"))
	if !bytes.HasPrefix(first, []byte("HTTP/")) || len(head) > maxHead {
		return 0, ""
	}
	if words := bytes.Fields(first[:min(len(first), 64)]); len(words) > 1 && len(words[1]) == 3 {
		if n, err := strconv.ParseUint(string(words[1]), 10, 16); err == nil {
			status = int(n)
		}
	}
	for line := range bytes.Lines(fields) {
		name, value, ok := bytes.Cut(line, []byte(":"))
		if ok && strings.EqualFold(string(bytes.TrimRight(name, " \t")), FieldContentType) {
			return status, string(bytes.TrimSpace(value))
		}
	}
	return status, ""
}

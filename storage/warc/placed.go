package warc

import (
	"bytes"
	"errors"
	"strconv"
	"strings"
	"time"
)

// A Placed says where a record stands, and what an index says of it. It is the
// same whether the record was just written or is read again.
type Placed struct {
	Type   Type
	ID     string // without angle brackets
	URL    string // WARC-Target-URI
	Date   time.Time
	Offset int64 // bytes: from where the call began to write, or of the file that is read
	Length int64 // bytes as stored: of the gzip member
	// PayloadDigest is the value of WARC-Payload-Digest, "" without one.
	PayloadDigest string
	// Status and ContentType are those of the HTTP response in the block, 0
	// and "" where there is none. ContentType of any other record is that of
	// its block.
	Status      int
	ContentType string
	Head        bool // it answers HEAD, by FieldMethod: there is no payload
}

// Placed reads the record with its block, of which nothing may have been read
// before but by Verify. The error is an *Error.
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

// answer reads the status and the first Content-Type of the head of an HTTP
// response. A value that is folded (RFC 9112, section 5.2) counts up to there.
func answer(head []byte) (status int, contentType string) {
	first, fields, _ := bytes.Cut(head, []byte("\n"))
	if !bytes.HasPrefix(first, []byte("HTTP/")) || len(head) > MaxHead {
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

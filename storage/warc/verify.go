package warc

import (
	"bufio"
	"bytes"
	"crypto/md5"
	"crypto/sha1"
	"crypto/sha256"
	"crypto/sha512"
	"encoding/base32"
	"encoding/base64"
	"encoding/hex"
	"errors"
	"fmt"
	"hash"
	"io"
	"net/http/httputil"
	"strings"
)

// Verify reads the whole block and checks its digests: WARC-Block-Digest, and WARC-Payload-Digest
// if the payload is in the block. No part of the block may have been read before. If a digest does
// not match, the error is an *Error that wraps ErrDigest. If the algorithm of a digest is not one
// of md5, sha1, sha256 and sha512, it is another *Error. The Reader can continue after both. A
// record without digests is valid.
func (rec *Record) Verify() error {
	if rec.left != rec.Size {
		return &Error{rec.Offset, errors.New("a part of the block was read: Verify must come first")}
	}
	block, err := newDigest(rec.Header.Get(fieldBlockDigest))
	if err != nil {
		return &Error{rec.Offset, fmt.Errorf("%s: %w", fieldBlockDigest, err)}
	}
	var payload *digest
	if rec.hasPayload() {
		if payload, err = newDigest(rec.Header.Get(FieldPayloadDigest)); err != nil {
			return &Error{rec.Offset, fmt.Errorf("%s: %w", FieldPayloadDigest, err)}
		}
	}
	var chunked bool
	var rest []byte
	if rec.isHTTP() && (payload != nil || rec.Type == Response || rec.Type == Revisit) {
		if _, rest, err = rec.head(); err != nil {
			return err
		}
		block.write(rec.start)
		block.write(rest)
	}
	if payload != nil && rec.isHTTP() {
		chunked = endsChunked(headField(rec.start, "Transfer-Encoding"))
		body := io.MultiReader(bytes.NewReader(rest), io.TeeReader(rec, block))
		if chunked {
			body = httputil.NewChunkedReader(bufio.NewReader(body))
		}
		if err := rec.r.drain(payload, body); err != nil && rec.err != nil {
			return rec.err
		}
		// The rest of the block is trailers, or the bytes after an invalid chunk.
	}
	sink := io.Writer(block)
	if payload != nil && !rec.isHTTP() {
		sink = io.MultiWriter(block, payload)
	}
	if err := rec.r.drain(sink, rec); err != nil {
		return err
	}
	if !block.fits() {
		return &Error{rec.Offset, fmt.Errorf("%s: %w: %s", fieldBlockDigest, ErrDigest, block.difference())}
	}
	if !payload.fits() {
		note := ""
		if chunked {
			note = " (some writers digest the chunks as they are; section 6.3.2 wants them joined)"
		}
		return &Error{rec.Offset, fmt.Errorf("%s: %w: %s%s", FieldPayloadDigest, ErrDigest, payload.difference(), note)}
	}
	return nil
}

// hasPayload reports whether the block contains the whole payload of the record. A revisit
// has its payload elsewhere, and a segment has only a part of it.
func (rec *Record) hasPayload() bool {
	if rec.Header.Get("WARC-Segment-Number") != "" {
		return false
	}
	switch rec.Type {
	case Response, Request:
		return rec.isHTTP()
	case Resource, Conversion:
		return true
	}
	return false
}

// A digest compares the bytes written to it with an expected digest in the form of section 5.8. A
// nil *digest matches any bytes.
type digest struct {
	hash.Hash
	want string
}

func newDigest(label string) (*digest, error) {
	if label == "" {
		return nil, nil
	}
	algorithm, want, _ := strings.Cut(label, ":")
	switch strings.ReplaceAll(strings.ToLower(algorithm), "-", "") {
	case "md5":
		return &digest{md5.New(), want}, nil
	case "sha1":
		return &digest{sha1.New(), want}, nil
	case "sha256":
		return &digest{sha256.New(), want}, nil
	case "sha512":
		return &digest{sha512.New(), want}, nil
	}
	return nil, fmt.Errorf("%w: %q", errAlgorithm, clip(label))
}

// Write implements io.Writer, also for a nil digest.
func (d *digest) Write(p []byte) (int, error) {
	if d == nil {
		return len(p), nil
	}
	return d.Hash.Write(p)
}

func (d *digest) write(p []byte) { _, _ = d.Write(p) }

// fits reports whether the digests match. It accepts base 32 and base 16 in upper or lower case,
// and base 64 with either alphabet, because all of these are in use.
func (d *digest) fits() bool {
	if d == nil {
		return true
	}
	sum := d.Sum(nil)
	want := strings.TrimRight(d.want, "=")
	return strings.EqualFold(want, strings.TrimRight(base32.StdEncoding.EncodeToString(sum), "=")) ||
		strings.EqualFold(want, hex.EncodeToString(sum)) ||
		want == base64.RawStdEncoding.EncodeToString(sum) || want == base64.RawURLEncoding.EncodeToString(sum)
}

func (d *digest) difference() string {
	return fmt.Sprintf("it should be %s or %X and is %s", base32.StdEncoding.EncodeToString(d.Sum(nil)), d.Sum(nil), clip(d.want))
}

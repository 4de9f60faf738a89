package fetch

import (
	"errors"
	"io"
	"net/http"
	"strings"

	"github.com/klauspost/compress/gzip"
)

const acceptEncoding = "gzip"

var errEncoding = errors.New("Content-Encoding is not one that was asked for")

// readBody reads an answer's body, decoded, up to limit bytes. cut says that
// there was more. alive is called after each read from the wire with the
// number of bytes.
func readBody(resp *http.Response, limit int64, alive func(int)) (body []byte, cut bool, err error) {
	wire := &watched{resp.Body, alive}
	r := io.Reader(wire)
	encodings := resp.Header.Values("Content-Encoding")
	switch strings.ToLower(strings.TrimSpace(strings.Join(encodings, ","))) {
	case "", "identity":
	case "gzip", "x-gzip":
		z, zerr := gzip.NewReader(wire)
		if zerr == io.EOF { // an empty body is not compressed
			return nil, false, nil
		}
		if zerr != nil {
			return nil, false, encodingError(zerr)
		}
		defer z.Close()
		r = z
	default:
		return nil, false, &decodeError{errEncoding}
	}
	size := int64(4 << 10)
	if n := resp.ContentLength; n > 0 {
		size = min(n, limit, 1<<20)
	}
	body, err = readAll(r, make([]byte, 0, size+1), limit)
	if int64(len(body)) > limit {
		return body[:limit], true, nil
	}
	if err != nil && r != io.Reader(wire) {
		err = encodingError(err)
	}
	return body, false, err
}

// readAll appends what r has to b, up to one byte more than limit.
func readAll(r io.Reader, b []byte, limit int64) ([]byte, error) {
	for int64(len(b)) <= limit {
		if len(b) == cap(b) {
			b = append(b, 0)[:len(b)]
		}
		room := b[len(b):cap(b)]
		if most := limit + 1 - int64(len(b)); int64(len(room)) > most {
			room = room[:most]
		}
		n, err := r.Read(room)
		b = b[:len(b)+n]
		if err == io.EOF {
			return b, nil
		}
		if err != nil {
			return b, err
		}
	}
	return b, nil
}

// decodeError is an error of the encoding, not of the connection.
type decodeError struct{ error }

func encodingError(err error) error {
	if errors.Is(err, gzip.ErrHeader) || errors.Is(err, gzip.ErrChecksum) || strings.HasPrefix(err.Error(), "flate:") {
		return &decodeError{err}
	}
	return err
}

// watched reports each read.
type watched struct {
	r    io.Reader
	read func(int)
}

func (w *watched) Read(p []byte) (int, error) {
	n, err := w.r.Read(p)
	w.read(n)
	return n, err
}

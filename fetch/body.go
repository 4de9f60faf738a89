package fetch

import (
	"bytes"
	"errors"
	"io"
	"net/http"
	"slices"
	"strings"
	"sync"

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
	switch coding := strings.ToLower(strings.TrimSpace(strings.Join(encodings, ","))); coding {
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
		z.Multistream(false) // what comes behind it is no part of the body
		r = z
	case "compress", "x-compress", "deflate", "br", "zstd", "dcb", "dcz", "exi", "pack200-gzip", "aes128gcm":
		return nil, false, &decodeError{errEncoding}
	default:
		if strings.Contains(coding, ",") {
			return nil, false, &decodeError{errEncoding}
		}
		// No coding that anybody registered: a mistake of the server.
	}
	body, cut, err = readCapped(r, limit)
	if err != nil && r != io.Reader(wire) {
		err = encodingError(err)
	}
	return body, cut, err
}

// scratch holds buffers to read bodies into: growing one for each body would
// cost more than HTTP does.
var scratch = sync.Pool{New: func() any { return new([]byte) }}

// maxScratch is the largest buffer that is kept.
const maxScratch = 1 << 20

// readCapped reads r up to limit bytes. cut says that there was more.
func readCapped(r io.Reader, limit int64) (body []byte, cut bool, err error) {
	buf := scratch.Get().(*[]byte)
	read, err := readAll(r, (*buf)[:0], limit)
	if int64(len(read)) > limit {
		read, cut, err = read[:limit], true, nil
	}
	if cap(read) > maxScratch {
		return read, cut, err
	}
	body = bytes.Clone(read)
	*buf = read
	scratch.Put(buf)
	return body, cut, err
}

// readAll appends what r has to b, up to one byte more than limit.
func readAll(r io.Reader, b []byte, limit int64) ([]byte, error) {
	for int64(len(b)) <= limit {
		if len(b) == cap(b) {
			b = slices.Grow(b, int(min(int64(max(4<<10, len(b))), limit+1-int64(len(b)))))
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

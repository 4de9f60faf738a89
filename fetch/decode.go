package fetch

import (
	"io"
	"net/http"
)

// Decode undoes a content coding of a body that was fetched by somebody, or kept, without
// a Fetcher: gzip, br or zstd, by the names that Content-Encoding has for them (RFC 9110,
// section 8.4.1; RFC 9659); a body with none of the registered codings is left as it is.
// Memory is bounded by the window of the coding, 8 MiB for zstd and 16 for br, and a
// decompression bomb ends with ErrBomb. How much is read in all is for who reads.
//
// The error is that of a coding that is registered and not known here, or of several in a
// row; an error of Read says what is wrong with the body, and is io.ErrUnexpectedEOF for
// one that was cut. Close must be called, and does not close r.
func Decode(coding string, r io.Reader) (io.ReadCloser, error) {
	coding, err := codingOf(http.Header{"Content-Encoding": {coding}})
	if err != nil {
		return nil, err
	}
	if coding == "" {
		return io.NopCloser(r), nil
	}
	d := newDecoder(coding)
	d.src = source{r: r, read: func(int) {}}
	d.begin()
	return &decoded{guarded{d: d}}, nil
}

// decoded is a body for who has no Fetcher.
type decoded struct{ guarded }

// Read implements io.Reader.
func (d *decoded) Read(p []byte) (int, error) {
	n, err := d.guarded.Read(p)
	switch {
	case err == nil, err == io.EOF, err == ErrBomb:
	case d.d.src.err == nil && d.d.src.n == 0: // an empty body is not compressed
		err = io.EOF
	default:
		err = blame(err, &d.d.src)
	}
	return n, err
}

// Close implements io.Closer.
func (d *decoded) Close() error {
	d.d.close()
	return nil
}

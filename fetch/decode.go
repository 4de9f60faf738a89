package fetch

import (
	"io"
	"net/http"
)

// Decode undoes the content codings of a body that was kept, or that another program has
// fetched, without a Fetcher: gzip, deflate, br and zstd, by the names that Content-Encoding
// has for them (RFC 9110, section 8.4.1; RFC 9659), at most three of them in a row, separated
// by commas. Names that are not registered are left out; a body with no other is left as it
// is. Memory is bounded by the window of each coding, 8 MiB for zstd and 16 for br, and a
// decompression bomb ends with ErrBomb. The caller bounds how much is read in all.
//
// The error is that of a registered coding that is not known here, or of more than three; an
// error of Read says what is wrong with the body, and is io.ErrUnexpectedEOF for one that was
// cut. Close must be called, and does not close r.
func Decode(codings string, r io.Reader) (io.ReadCloser, error) {
	names, err := codingsOf(http.Header{"Content-Encoding": {codings}})
	if err != nil {
		return nil, err
	}
	if len(names) == 0 {
		return io.NopCloser(r), nil
	}
	d := &decoded{decoding: newDecoding(names, newDecoder)}
	d.out = d.begin(source{r: r, read: func(int) {}})
	return d, nil
}

// decoded is a body that is read without a Fetcher.
type decoded struct {
	*decoding
	out io.Reader
}

// Read implements io.Reader.
func (d *decoded) Read(p []byte) (int, error) {
	n, err := d.out.Read(p)
	switch {
	case err == nil, err == io.EOF:
	case d.empty():
		err = io.EOF
	case d.cut(err):
		err = ErrBomb
	default:
		err = d.blame(err)
	}
	return n, err
}

// Close implements io.Closer.
func (d *decoded) Close() error {
	for _, l := range d.layers {
		l.close()
	}
	return nil
}

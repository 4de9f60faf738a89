package fetch

import (
	"io"
	"net/http"
)

// Decode removes the content codings of a stored body, or of a body that another program has
// fetched. It needs no Fetcher. codings is a list in the form of Content-Encoding (RFC 9110,
// section 8.4.1; RFC 9659), separated by commas. It may name gzip, deflate, br and zstd, at most
// three in all. Names that are not registered are ignored. If no coding is left, the body is not
// changed. The memory is limited by the window of each coding: 8 MiB for zstd and 16 MiB for br. A
// body with more than 4 MiB and more than a hundred decoded bytes for each encoded byte ends with
// an error, because it may be a decompression bomb. The caller must limit the total number of
// bytes that it reads.
//
// Decode fails if a registered coding is not supported, or if there are more than three codings.
// An error of Read says what is wrong with the body; it is io.ErrUnexpectedEOF if the body was
// cut. The caller must call Close, which does not close r.
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

// A decoded is a body that is decoded without a Fetcher.
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
		err = errBomb
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

package extract

import (
	"bufio"
	"bytes"
	"compress/gzip"
	"io"
)

// A capped is an io.Reader that reads from r, but at most left bytes. If r has more bytes, it
// returns err.
type capped struct {
	r    io.Reader
	left int64
	err  error
}

func (c *capped) Read(p []byte) (int, error) {
	if c.left < 0 {
		return 0, c.err
	}
	// Reads one byte more than allowed, to find out whether the text is too long.
	n, err := c.r.Read(p[:min(int64(len(p)), c.left+1)])
	if c.left -= int64(n); c.left < 0 {
		return n - 1, c.err
	}
	return n, err
}

func isGzip(head []byte) bool { return bytes.HasPrefix(head, []byte("\x1f\x8b\x08")) }

// unzip returns the content of a sitemap, decompressed if it is compressed with gzip. If a server
// compresses a compressed file, there are two layers of gzip. maxSitemapBytes limits each layer,
// because a large layer may decompress to nothing in the next layer.
func unzip(r io.Reader) (*bufio.Reader, error) {
	in := bufio.NewReaderSize(&capped{r, maxSitemapBytes, errSitemapBytes}, bufferSize)
	for range 2 {
		if head, _ := in.Peek(3); !isGzip(head) {
			break
		}
		z, err := gzip.NewReader(in)
		if err != nil {
			return nil, err
		}
		in = bufio.NewReaderSize(&capped{z, maxSitemapBytes, errSitemapBytes}, bufferSize)
	}
	return in, nil
}

// toUTF8 converts a text to UTF-8. Its encoding is recognized by a byte order mark, by the zero
// bytes of UTF-16, or by an XML declaration. Without them it is UTF-8.
func toUTF8(in *bufio.Reader) *bufio.Reader {
	head, _ := in.Peek(1024)
	e, name := declaredEncoding(xmlEncoding(bytes.TrimLeft(head, blanks)))
	if told := unicodeOf(head); told != "" {
		e, name = encodingOf(told)
	}
	if e != nil && name != "utf-8" {
		in = bufio.NewReaderSize(e.NewDecoder().Reader(in), bufferSize)
	}
	if mark, _ := in.Peek(3); string(mark) == "\ufeff" {
		in.Discard(len(mark))
	}
	return in
}

const bufferSize = 16 << 10

package crawllog

import (
	"errors"
	"io"

	"github.com/permesso-crawler/permesso/storage/internal/extsort"
	"github.com/permesso-crawler/permesso/storage/internal/lines"
)

// orderMemory is how many bytes of lines an Order holds; the rest is in files.
const orderMemory = 8 << 20

// An Order puts lines into the order of the bytes of keys, in bounded memory: what
// does not fit is in temporary files, which a kill does not leave behind. Lines with
// equal keys keep the order in which they were added. It is not safe for concurrent
// use, and Close must be called.
type Order struct{ sorter *extsort.Sorter }

// NewOrder makes an Order with temporary files in dir; "" is the system's.
func NewOrder(dir string) *Order { return &Order{extsort.New(dir, orderMemory)} }

// Add takes a line under a key, both of which are copied.
func (o *Order) Add(key, line []byte) error { return o.sorter.Add(key, line) }

// Each calls f with each line in order, until it returns an error: that is returned.
// What f is given is valid until it returns.
func (o *Order) Each(f func(key, line []byte) error) error { return o.sorter.Each(f) }

// Close removes the files.
func (o *Order) Close() error { return o.sorter.Close() }

// ErrLong is that of a line that is longer than any line of a log.
var ErrLong = lines.ErrLong

// Texts calls f with the number of each line, from 1 on, and its bytes without their
// end, valid until f returns; torn says that the last one has no end. It takes
// bounded memory whatever stands in r, and reads no line: see Parse. It stops at the
// first error of f, or of r, and at a line that is too long with ErrLong and its number.
func Texts(r io.Reader, f func(n int64, text []byte, torn bool) error) (n int64, err error) {
	in := lines.NewReader(r)
	for n = 1; ; n++ {
		text, err := in.Next()
		if err == nil {
			err = f(n, text, in.Torn())
		}
		if err == io.EOF {
			return n - 1, nil
		}
		if err != nil {
			return n, err
		}
	}
}

// errTorn is that of a last line without an end.
var errTorn = errors.New("it has no end, as in a log that is still written, or of a crawl that was killed")

// Sift calls line with the number of each line of a log, and what it says, and other
// with the number of each that is none, and why: one of another form, one that is too long, and
// a last one without an end. It takes bounded memory whatever stands in r, and stops at
// the first error of a function, or of r.
func Sift(r io.Reader, line func(n int64, l *Line, text []byte) error, other func(n int64, why error) error) error {
	return SiftTexts(r, func(n int64, text []byte, torn bool) error {
		if torn {
			return other(n, errTorn)
		}
		l, err := Parse(string(text))
		if err != nil {
			return other(n, err)
		}
		return line(n, l, text)
	}, other)
}

// SiftTexts calls text with each line of a log as Texts does, and other with the number of
// each line that is too long, and why. It stops at the first error of a function, or of r.
func SiftTexts(r io.Reader, text func(n int64, text []byte, torn bool) error, other func(n int64, why error) error) error {
	in := lines.NewReader(r)
	for n := int64(1); ; n++ {
		line, err := in.Next()
		switch {
		case err == io.EOF:
			return nil
		case err == nil:
			err = text(n, line, in.Torn())
		case errors.Is(err, lines.ErrLong):
			err = other(n, err)
		}
		if err != nil {
			return err
		}
	}
}

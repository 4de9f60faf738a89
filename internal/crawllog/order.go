package crawllog

import (
	"context"
	"errors"
	"io"

	"github.com/permesso-crawler/permesso/internal/extsort"
	"github.com/permesso-crawler/permesso/internal/lines"
)

// orderMemory is how many bytes of lines an Order holds in memory. Further lines are written to
// temporary files.
const orderMemory = 8 << 20

// An Order sorts lines by the bytes of their keys, in bounded memory. Further lines are in
// temporary files, which the system removes even after a kill. Lines with equal keys keep the
// order in which they were added. An Order is not safe for concurrent use, and Close must be
// called.
type Order struct{ sorter *extsort.Sorter }

// NewOrder returns an Order with temporary files in dir; "": in the system's directory for
// them.
func NewOrder(dir string) *Order { return &Order{extsort.New(dir, orderMemory)} }

// Add adds a line under a key; it copies both.
func (o *Order) Add(key, line []byte) error { return o.sorter.Add(key, line) }

// Each calls f with the key and the line of each line, in order. If f returns an error, Each
// stops and returns it. The arguments of f are valid until f returns.
func (o *Order) Each(f func(key, line []byte) error) error { return o.sorter.Each(f) }

// Close removes the temporary files.
func (o *Order) Close() error { return o.sorter.Close() }

// ErrLong is the error for a line that is too long to be a line of a log.
var ErrLong = lines.ErrLong

// Texts calls f with the number of each line, from 1, and its text without the newline. The
// text is valid until f returns. torn is true if the last line has no newline. Texts does not
// parse lines (see Parse), and needs bounded memory for any r. It stops at the first error of f
// or r, and with ErrLong at a line that is too long. It returns the number of the last line.
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

// errTorn is the error for a last line without a newline.
var errTorn = errors.New("it has no end, as in a log that is still written, or of a crawl that was killed")

// Sift parses a log. It calls line for each line, with its number. If a line cannot be parsed,
// is too long or has no newline, it calls other with the number and the reason. Sift needs
// bounded memory for any r. It stops at the first error of a function or of r. It reads ahead.
func Sift(r io.Reader, line func(n int64, l *Line, text []byte) error, other func(n int64, why error) error) error {
	type parsed struct {
		line *Line
		err  error
	}
	return lines.InOrder(context.Background(), lines.NewReader(r), lines.Split{}, func(b *lines.Block[[]parsed]) {
		_ = b.Each(func(l lines.Line) error {
			var p parsed
			switch {
			case l.Err != nil:
				p.err = l.Err
			case l.Torn:
				p.err = errTorn
			default:
				p.line, p.err = Parse(string(l.Text))
			}
			b.Value = append(b.Value, p)
			return nil
		})
	}, func(b *lines.Block[[]parsed]) error {
		return b.Each(func(l lines.Line) error {
			p := b.Value[l.N-b.First]
			if p.err != nil {
				return other(l.N, p.err)
			}
			return line(l.N, p.line, l.Text)
		})
	})
}

// SiftTexts calls text for each line of a log, as Texts calls f. If a line is too long, it
// calls other with the number and the reason. It stops at the first error of a function or of
// r.
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

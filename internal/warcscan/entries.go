package warcscan

import (
	"context"
	"errors"
	"fmt"
	"io"
	"iter"
	"os"

	"github.com/permesso-crawler/permesso/internal/gauge"
	"github.com/permesso-crawler/permesso/storage/cdxj"
	"github.com/permesso-crawler/permesso/storage/warc"
)

// An entries is a batch: the index entries of some records.
type entries struct {
	all    []*cdxj.Entry
	memory int // size of the entries, in bytes
}

// errStop stops reading, because the caller needs no more entries.
var errStop = errors.New("enough")

// Entries yields the same pairs as cdxj.Index, for the first length bytes of a file, but uses
// all processors.
func Entries(ctx context.Context, file *os.File, length int64, filename string) iter.Seq2[*cdxj.Entry, error] {
	return entriesOf(ctx, file, length, filename, 0, 0)
}

// entriesOf is like Entries. workers and segment are as in a Scan.
func entriesOf(ctx context.Context, file io.ReaderAt, length int64, filename string, workers int, segment int64) iter.Seq2[*cdxj.Entry, error] {
	return func(yield func(*cdxj.Entry, error) bool) {
		scan := Scan[*entries]{
			New: func() *entries { return new(entries) },
			Work: func(b *entries, rec *warc.Record) error {
				e, err := cdxj.NewEntry(rec, filename)
				if err == nil && e != nil {
					b.all = append(b.all, e)
					b.memory += 250 + 2*len(e.URL)
				}
				return err
			},
			Size: func(b *entries) int { return b.memory },
			Use: func(b *entries) error {
				for _, e := range b.all {
					if !yield(e, nil) {
						return errStop
					}
				}
				return nil
			},
			Bad: func(in *warc.Reader, wrong error) error {
				err, goesOn := passed(in, wrong)
				if !yield(nil, fmt.Errorf("%s: %w", filename, err)) || !goesOn {
					return errStop
				}
				return nil
			},
			Read: gauge.Of(ctx).Add, Workers: workers, Segment: segment,
		}
		if err := scan.File(ctx, file, length); err != nil && err != errStop {
			yield(nil, err)
		}
	}
}

// passed moves a reader to the next record after a record that could not be read. wrong is the
// error of that record. If the reader itself fails, goesOn is false and err is the reason.
func passed(in *warc.Reader, wrong error) (err error, goesOn bool) {
	var bad *warc.Error
	if !errors.As(wrong, &bad) {
		return wrong, false
	}
	_, err = in.Skip()
	if err == nil || err == io.EOF {
		return wrong, true
	}
	if errors.As(err, &bad) { // callers continue after a *warc.Error, so err must not be one
		err = fmt.Errorf("byte %d: %w", bad.Offset, bad.Err)
	}
	return err, false
}

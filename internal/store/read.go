package store

import (
	"context"
	"errors"
	"fmt"
	"io"
	"iter"
	"os"
	"path/filepath"

	"github.com/go-json-experiment/json/v1"
	"github.com/permesso-crawler/permesso/internal/gauge"
	"github.com/permesso-crawler/permesso/internal/lines"
)

// ReadPages iterates over the records in pages.jsonl of the crawl in dir, which may be running,
// in the order of the file. The records come without the bodies of the pages, and belong to the
// caller. A kill may leave a page there twice: it is fetched again if the crawl had not yet
// recorded that it was fetched.
//
// A line that is not a record comes as a pair without a record, and with a *DamagedError that
// says which line it is. The iteration then goes on with the next line. An incomplete last line
// of a crawl that is running or was killed is such a line; its error also wraps
// io.ErrUnexpectedEOF.
//
// After any other error the iteration ends: fs.ErrNotExist if the crawl writes no pages, the
// error of ctx, which is checked before each line, or an error of the file system. The file is
// closed when the loop ends, also if its body leaves the loop.
func ReadPages(ctx context.Context, dir string) iter.Seq2[*PageRecord, error] {
	return readLines(ctx, filepath.Join(dir, PagesFile), lines.NewPageReader, 0, (*PageRecord).missing)
}

// ReadBodies is like ReadPages, but the records have the bodies of the pages if the crawl keeps
// them in pages.jsonl. It needs memory for the longest line; a line of more than 128 MiB is
// damaged.
func ReadBodies(ctx context.Context, dir string) iter.Seq2[*PageRecord, error] {
	return readLines(ctx, filepath.Join(dir, PagesFile), lines.NewBodyReader, 1, (*PageRecord).missing)
}

// ReadLinks is like ReadPages, for links.jsonl.
func ReadLinks(ctx context.Context, dir string) iter.Seq2[*LinkRecord, error] {
	return readLines(ctx, filepath.Join(dir, LinksFile), lines.NewReader, 0, (*LinkRecord).missing)
}

// missing returns the name of a member that p must have and does not have, or "".
func (p *PageRecord) missing() string {
	if p.URL == "" {
		return "url"
	}
	return ""
}

// missing returns the name of a member that l must have and does not have, or "".
func (l *LinkRecord) missing() string {
	if l.To == "" {
		return "to"
	}
	return ""
}

// readLines iterates over the lines of a file of JSON objects, as ReadPages says. missing returns
// the name of a member that a record lacks, or "" if it lacks none.
func readLines[T any](ctx context.Context, path string, reader func(io.Reader) *lines.Reader, workers int, missing func(*T) string) iter.Seq2[*T, error] {
	type result struct {
		record *T
		err    error
	}
	return func(yield func(*T, error) bool) {
		if err := ended(ctx); err != nil {
			yield(nil, err)
			return
		}
		file, err := os.Open(path)
		if err != nil {
			yield(nil, err)
			return
		}
		defer file.Close()
		err = lines.InOrder(ctx, reader(gauge.Of(ctx).Reader(file)), lines.Split{Workers: workers}, func(b *lines.Block[[]result]) {
			_ = b.Each(func(l lines.Line) error {
				record, err := new(T), l.Err
				if err == nil {
					err = parseLine(l.Text, record, missing)
				}
				if err != nil {
					if l.Torn {
						err = fmt.Errorf("%w: %w", io.ErrUnexpectedEOF, err)
					}
					record, err = nil, &DamagedError{Path: path, Err: fmt.Errorf("line %d: %w", l.N, err)}
				}
				b.Value = append(b.Value, result{record, err})
				return nil
			})
		}, func(b *lines.Block[[]result]) error {
			for _, r := range b.Value {
				if err := ctx.Err(); err != nil {
					return err
				}
				if !yield(r.record, r.err) {
					return errStop
				}
			}
			return nil
		})
		if err != nil && err != errStop {
			yield(nil, err)
		}
	}
}

// errStop says that the caller needs no more records.
var errStop = errors.New("enough")

func parseLine[T any](line []byte, record *T, missing func(*T) string) error {
	if err := json.Unmarshal(line, record); err != nil {
		return err
	}
	if name := missing(record); name != "" {
		return fmt.Errorf("it has no %q", name)
	}
	return nil
}

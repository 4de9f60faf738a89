package export

import (
	"context"
	"encoding/binary"
	"iter"
	"strings"
	"time"

	"github.com/permesso-crawler/permesso/internal/extsort"
	"github.com/permesso-crawler/permesso/internal/inorder"
	"github.com/permesso-crawler/permesso/internal/store"
	"github.com/permesso-crawler/permesso/storage/cdxj"
)

// Rows yields the captures, sorted by the bytes of SURT, then of URL, then by time. It ends at
// the first error.
//
// A line of pages.jsonl and a WARC record are one capture if they have the same URL and the
// same time to the microsecond. If WARC-Date has no fraction, as in WARC 1.0, the same second
// is enough. If several captures have the same URL and time, only one of them is joined with
// the line, and the others are rows of their own.
func (s *Source) Rows(ctx context.Context) iter.Seq2[*Row, error] {
	return func(yield func(*Row, error) bool) {
		if err := s.rows(ctx, func(r *Row) bool { return yield(r, nil) }); err != nil {
			yield(nil, err)
		}
	}
}

// rows calls yield for each row that Rows yields. It returns after an error, or when yield has
// returned false.
func (s *Source) rows(ctx context.Context, yield func(*Row) bool) error {
	memory := s.Memory
	if memory <= 0 {
		memory = DefaultMemory
	}
	sorted := extsort.New(s.Temp, memory)
	defer sorted.Close()
	if err := s.sort(ctx, sorted); err != nil {
		return err
	}
	if err := s.join(ctx, sorted, yield); err != errStop {
		return err
	}
	return nil
}

// sort adds to sorted a row for each line of pages.jsonl and each archived capture.
func (s *Source) sort(ctx context.Context, sorted *extsort.Sorter) error {
	err := pages(ctx, s, func(p *store.PageRecord) (e encodedRows, err error) {
		err = e.add(pageRow(p))
		return e, err
	}, func(e encodedRows) error { return e.each(sorted.Add) })
	if err != nil {
		return err
	}
	return s.captures(ctx, sorted.Add)
}

// encodedRows has rows in the form in which they are sorted.
type encodedRows struct {
	buf  []byte // keys and rows, one after the other
	ends []int  // the offset in buf at which each key and each row ends
}

// add encodes a row and adds it.
func (e *encodedRows) add(r *Row) error {
	// Replace invalid UTF-8 in the URL before sorting, so that the written rows are in order.
	r.URL = strings.ToValidUTF8(r.URL, "\uFFFD")
	r.SURT = cdxj.SURT(r.URL)
	value, err := r.store()
	if err != nil {
		return err
	}
	e.buf = r.appendKey(e.buf)
	e.ends = append(e.ends, len(e.buf))
	e.buf = append(e.buf, value...)
	e.ends = append(e.ends, len(e.buf))
	return nil
}

// each calls f for the key and the encoded row of each row.
func (e *encodedRows) each(f func(key, row []byte) error) error {
	at := 0
	for i := 0; i < len(e.ends); i += 2 {
		key, end := e.ends[i], e.ends[i+1]
		if err := f(e.buf[at:key], e.buf[key:end]); err != nil {
			return err
		}
		at = end
	}
	return nil
}

// empty returns e without rows, to be filled again in the same memory.
func (e encodedRows) empty() encodedRows { return encodedRows{e.buf[:0], e.ends[:0]} }

// ahead is how many rows are decoded at a time.
const ahead = 256

// rowsMemory is the largest memory, in bytes, of rows that are decoded before they are needed.
const rowsMemory = 8 << 20

// restored decodes the sorted rows in several goroutines, and calls f for each row in order.
func (s *Source) restored(ctx context.Context, sorted *extsort.Sorter, f func(*Row) error) error {
	type batch struct {
		stored encodedRows
		rows   []*Row
		err    error // the error of reading the row after rows
	}
	return inorder.Each(inorder.Limits{Workers: s.split.Workers, Memory: rowsMemory}, func(put func(*batch, int64) bool) error {
		next := new(batch)
		full := func() bool {
			b := next
			next = new(batch)
			return put(b, int64(4*len(b.stored.buf)))
		}
		err := sorted.Each(func(_, value []byte) error {
			if err := ctx.Err(); err != nil {
				return err
			}
			e := &next.stored
			e.buf = append(e.buf, value...)
			if e.ends = append(e.ends, len(e.buf)); len(e.ends) == ahead && !full() {
				return errStop
			}
			return nil
		})
		if full(); err == errStop {
			err = nil
		}
		return err
	}, func(b *batch) *batch {
		at := 0
		for _, end := range b.stored.ends {
			var r *Row
			if r, b.err = restore(b.stored.buf[at:end]); b.err != nil {
				break
			}
			b.rows, at = append(b.rows, r), end
		}
		return b
	}, func(b *batch) error {
		for _, r := range b.rows {
			if err := ctx.Err(); err != nil {
				return err
			}
			if err := f(r); err != nil {
				return err
			}
		}
		return b.err
	})
}

// join calls yield for each sorted row, after it has joined each page with its archived
// capture. If yield returns false, join returns errStop.
func (s *Source) join(ctx context.Context, sorted *extsort.Sorter, yield func(*Row) bool) error {
	put := func(r *Row) error {
		if r == nil {
			return nil
		}
		r.finish(s.Pages != "")
		if !yield(r) {
			return errStop
		}
		return nil
	}
	var archived *Row // the last archived capture, if the next page may belong to it; nil: it cannot
	err := s.restored(ctx, sorted, func(r *Row) error {
		before := archived
		archived = nil
		if !r.Page {
			archived = r
			return put(before)
		}
		if before != nil && before.isOf(r) {
			r.addCapture(before)
		} else if err := put(before); err != nil {
			return err
		}
		return put(r)
	})
	if err == nil {
		err = put(archived)
	}
	return err
}

// isOf reports whether the archived capture r belongs to the line page of pages.jsonl.
func (r *Row) isOf(page *Row) bool {
	if r.URL != page.URL {
		return false
	}
	return r.Time.Equal(page.Time) || r.Time.Nanosecond() == 0 && r.Time.Equal(page.Time.Truncate(time.Second))
}

// appendKey appends the sort key of a row. If a page and an archived capture have the same URL
// and time, the capture sorts just before the page.
func (r *Row) appendKey(b []byte) []byte {
	b = append(append(b, r.SURT...), 0)
	b = append(append(b, r.URL...), 0)
	b = binary.BigEndian.AppendUint64(b, uint64(r.Time.UnixMicro())^1<<63)
	if r.Page {
		return append(b, 1)
	}
	return append(b, 0)
}

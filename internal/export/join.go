package export

import (
	"context"
	"encoding/binary"
	"iter"
	"strings"
	"time"

	"github.com/permesso-crawler/permesso/internal/extsort"
	"github.com/permesso-crawler/permesso/storage"
	"github.com/permesso-crawler/permesso/storage/cdxj"
)

// Rows returns the captures, sorted by the bytes of SURT, then of URL, then by time. It ends at
// the first error.
//
// A line of pages.jsonl and a WARC record are one capture if they have the same URL and the
// same time to the microsecond. If WARC-Date has no fraction, as in WARC 1.0, the same second
// is enough. If several captures have the same URL and time, only one of them is joined with
// the line, and the others are separate rows.
func (s *Source) Rows(ctx context.Context) iter.Seq2[*Row, error] {
	return func(yield func(*Row, error) bool) {
		if err := s.rows(ctx, func(r *Row) bool { return yield(r, nil) }); err != nil {
			yield(nil, err)
		}
	}
}

// rows calls yield for each row of Rows, until yield returns false.
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
	var key []byte
	add := func(r *Row) error {
		// The URL is made valid before sorting, so that the written rows are in order.
		r.URL = strings.ToValidUTF8(r.URL, "\uFFFD")
		r.SURT = cdxj.SURT(r.URL)
		value, err := r.store()
		if err != nil {
			return err
		}
		key = r.appendKey(key[:0])
		return sorted.Add(key, value)
	}
	if err := s.pages(ctx, func(p *storage.PageRecord) error { return add(pageRow(p)) }); err != nil {
		return err
	}
	return s.captures(ctx, add)
}

// join yields the sorted rows. A page and its capture become one row. If yield returns false,
// the error is errStop.
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
	var archived *Row // the last capture, if the next page may belong to it
	err := sorted.Each(func(_, value []byte) error {
		if err := ctx.Err(); err != nil {
			return err
		}
		r, err := restore(value)
		if err != nil {
			return err
		}
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

// isOf reports whether r, an archived capture, belongs to page.
func (r *Row) isOf(page *Row) bool {
	if r.URL != page.URL {
		return false
	}
	return r.Time.Equal(page.Time) || r.Time.Nanosecond() == 0 && r.Time.Equal(page.Time.Truncate(time.Second))
}

// appendKey appends the sort key of a row. If a capture and a page have the same time, the
// capture sorts first, so that the capture of a page is just before the page.
func (r *Row) appendKey(b []byte) []byte {
	b = append(append(b, r.SURT...), 0)
	b = append(append(b, r.URL...), 0)
	b = binary.BigEndian.AppendUint64(b, uint64(r.Time.UnixMicro())^1<<63)
	if r.Page {
		return append(b, 1)
	}
	return append(b, 0)
}

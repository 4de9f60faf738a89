package export

import (
	"context"
	"iter"
	"time"
)

// A Series is several crawls of one job in order of time, exported as one table. Its methods
// must not be called concurrently.
type Series []Snapshot

// A Snapshot is one crawl of a Series.
type Snapshot struct {
	Start  time.Time // when its run began, which identifies the crawl in the rows
	Source *Source
}

// Rows returns the captures of all crawls, in the order of the series. Captures of one crawl
// are in the order of Source.Rows, with Row.Snapshot set. It needs only as much memory and as
// many temporary files as one crawl. It ends at the first error.
func (s Series) Rows(ctx context.Context) iter.Seq2[*Row, error] {
	return func(yield func(*Row, error) bool) {
		for _, of := range s {
			for r, err := range of.Source.Rows(ctx) {
				if err == nil {
					r.Snapshot = of.Start.UTC()
				}
				if !yield(r, err) || err != nil {
					return
				}
			}
		}
	}
}

// Read returns how many bytes of all files were read, like Source.Read for one crawl.
func (s Series) Read() (n int64) {
	for _, of := range s {
		n += of.Source.Read()
	}
	return n
}

// Size returns the length of all files together, in bytes.
func (s Series) Size() (size int64, err error) {
	for _, of := range s {
		n, err := of.Source.Size()
		if err != nil {
			return 0, err
		}
		size += n
	}
	return size, nil
}

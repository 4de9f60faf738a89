package export

import (
	"context"
	"iter"
	"time"
)

// A Series has several crawls of one job, in order of time, which are exported as one table.
// Its methods must not be called concurrently.
type Series []Snapshot

// A Snapshot is one crawl of a Series.
type Snapshot struct {
	Start  time.Time // when the run of the crawl began; identifies the crawl in the rows
	Source *Source
}

// Rows yields the captures of all crawls, one crawl after the other. The captures of one crawl
// have the order of Source.Rows, and Row.Snapshot is set. It needs the memory and the temporary
// files of one crawl. It ends at the first error.
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

// Read returns how many bytes of the files of all crawls were read.
func (s Series) Read() (n int64) {
	for _, of := range s {
		n += of.Source.Read()
	}
	return n
}

// Size returns the length of the files of all crawls together, in bytes.
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

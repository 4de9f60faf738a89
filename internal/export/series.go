package export

import (
	"context"
	"iter"
	"time"
)

// A Series are crawls of one job that were made one after the other, as one table. Its
// methods may be called one after the other, and not at once.
type Series []Snapshot

// A Snapshot is one crawl of a Series.
type Snapshot struct {
	Start  time.Time // of its run; it is what tells the rows of one crawl from those of another
	Source *Source
}

// Rows goes through the captures of all crawls, in the order of the series; within a crawl
// in that of Source.Rows, with Row.Snapshot set. No more is held in memory, or in temporary
// files, than one crawl takes. It ends at the first error.
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

// Read is how many bytes of all files were read, as Source.Read says it.
func (s Series) Read() (n int64) {
	for _, of := range s {
		n += of.Source.Read()
	}
	return n
}

// Size is the length of all files together, in bytes.
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

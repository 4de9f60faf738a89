package state

import (
	"encoding/binary"
	"io"
	"slices"

	"go.etcd.io/bbolt"
)

// bbolt maps the file for random access, so that the system reads only the page that is used.
// The pages of a bucket are all over the file. So a loop over a bucket waits for the disk once
// for each page. prefetch reads the same pages in the order of the file, many at a time.

const (
	nearPages = 16 // largest gap between two pages, in pages, that is read together with the pages
	mostRead  = 1 << 20
)

// prefetch makes the system read whole buckets into its memory, before the caller iterates over
// them. It ignores errors, because the caller will get the same errors.
func (f *file) prefetch(tx *bbolt.Tx, buckets ...*bbolt.Bucket) {
	size := int64(tx.DB().Info().PageSize)
	r := pageReader{f.handle, size, uint64(tx.Size() / size)}
	var pages []uint64
	for _, b := range buckets {
		if root := uint64(b.Root()); root != 0 { // a small bucket has no root, because it is within the page of another bucket
			pages = append(pages, r.leaves(root)...)
		}
	}
	slices.Sort(pages)
	var room []byte
	for _, run := range runs(pages, int(mostRead/size)) {
		if room == nil {
			room = make([]byte, mostRead)
		}
		if _, err := r.file.ReadAt(room[:int64(run.count)*size], int64(run.first)*size); err != nil {
			return
		}
	}
}

// A pageReader reads pages of a state file that bbolt has opened.
type pageReader struct {
	file  io.ReaderAt
	size  int64
	pages uint64
}

// leaves returns the leaf pages below the page root, without their continuation pages.
func (r *pageReader) leaves(root uint64) (all []uint64) {
	level, met := []uint64{root}, uint64(1)
	for r.isBranch(level[0]) { // all pages of a level of the tree are branches, or all are leaves
		var below []uint64
		for _, n := range level {
			below = r.below(n, below)
		}
		if met += uint64(len(below)); len(below) == 0 || met > r.pages {
			return nil
		}
		level = below
	}
	return level
}

func (r *pageReader) isBranch(n uint64) bool {
	flags, _, _ := r.head(n)
	return flags == branchPage
}

// head returns the flags and the number of elements in the header of page n, and the size of
// the page with its continuation pages, in bytes. It returns zeros if the page cannot be read.
func (r *pageReader) head(n uint64) (flags uint16, elements int, size int64) {
	var h [pageHeader]byte
	if n >= r.pages {
		return 0, 0, 0
	}
	if _, err := r.file.ReadAt(h[:], int64(n)*r.size); err != nil {
		return 0, 0, 0
	}
	more := min(uint64(binary.NativeEndian.Uint32(h[12:])), r.pages-n-1)
	return binary.NativeEndian.Uint16(h[8:]), int(binary.NativeEndian.Uint16(h[10:])), int64(more+1) * r.size
}

// below appends the pages to which the branch page n refers.
func (r *pageReader) below(n uint64, to []uint64) []uint64 {
	flags, elements, size := r.head(n)
	if flags != branchPage || int64(pageHeader+elements*pageElement) > size {
		return to
	}
	b := make([]byte, elements*pageElement)
	if _, err := r.file.ReadAt(b, int64(n)*r.size+pageHeader); err != nil {
		return to
	}
	for ; len(b) > 0; b = b[pageElement:] {
		to = append(to, binary.NativeEndian.Uint64(b[8:]))
	}
	return to
}

// A pageRun is a range of pages that are read at once.
type pageRun struct {
	first uint64
	count int
}

// runs groups sorted pages into ranges, which include gaps smaller than nearPages. The
// parameter most is the largest number of pages of a range.
func runs(pages []uint64, most int) (all []pageRun) {
	for _, n := range pages {
		if last := len(all) - 1; last >= 0 {
			r := &all[last]
			if end := r.first + uint64(r.count); n < end+nearPages && n+1-r.first <= uint64(most) {
				r.count = int(max(end, n+1) - r.first)
				continue
			}
		}
		all = append(all, pageRun{n, 1})
	}
	return all
}

package state

import (
	"encoding/binary"
	"errors"
	"fmt"
	"hash/fnv"
	"io/fs"
	"math/bits"
	"os"
	"path/filepath"
)

// firstPages is how many pages a new file of bbolt's has.
const firstPages = 4

// Unwritten reports whether the state file in dir was never written whole: a disk was
// full, or a kill came, when the crawl was begun.
func Unwritten(dir string) bool {
	info, err := os.Stat(filepath.Join(dir, File))
	return err == nil && info.Size() < int64(firstPages*os.Getpagesize())
}

// Empty reports whether the state file in dir holds nothing: it is Unwritten, or has no
// bucket. A run that is killed, or finds the disk full, while it begins leaves such a file.
func Empty(dir string) bool {
	if Unwritten(dir) {
		return true
	}
	f, err := os.Open(filepath.Join(dir, File))
	if err != nil {
		return false
	}
	defer f.Close()
	h, err := newestHead(f)
	if err != nil || h.root >= h.pages {
		return false
	}
	var root [pageHeader]byte
	if _, err := f.ReadAt(root[:], int64(h.root*h.pageSize)); err != nil {
		return false
	}
	flags, elements := binary.NativeEndian.Uint16(root[8:]), binary.NativeEndian.Uint16(root[10:])
	return flags == leafPage && elements == 0
}

// StartAgain empties a state file that is Unwritten, unless somebody is writing it.
func StartAgain(dir string) error {
	if !Unwritten(dir) {
		return nil
	}
	f, err := os.OpenFile(filepath.Join(dir, File), os.O_RDWR, 0)
	if err != nil {
		return err
	}
	defer f.Close()
	if locked(f) || !Unwritten(dir) {
		return nil // who holds it is told by who opens it
	}
	return f.Truncate(0)
}

// preflight finds what would end the process when bbolt reads a damaged file, and
// what no recover can mend: a file that is shorter than it says, pages that lead
// in a circle, a free list without an end. It does not look at the leaves of the
// buckets: a hundred times as many. An empty or missing file is a new one.
func preflight(path string) error {
	f, err := os.Open(path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return err
	}
	defer f.Close()
	info, err := f.Stat()
	if err != nil || info.Size() == 0 {
		return err
	}
	if locked(f) {
		return nil // who holds it is told by who opens it
	}
	h, err := newestHead(f)
	if err != nil {
		return err
	}
	if hi, least := bits.Mul64(h.pages, h.pageSize); hi > 0 || uint64(info.Size()) < least {
		return fmt.Errorf("%d bytes long where at least %d were written", info.Size(), least)
	}
	return newTree(f, h).walk(h)
}

// A head is what a valid meta page of bbolt says.
type head struct {
	pageSize, root, freelist, pages, tx uint64
}

// newestHead is the meta page that bbolt goes by.
func newestHead(f *os.File) (newest head, err error) {
	for _, at := range metaOffsets(f) {
		var b [80]byte
		if _, err := f.ReadAt(b[:], at); err != nil {
			continue
		}
		m := b[16:]
		sum := fnv.New64a()
		sum.Write(m[:56])
		if binary.NativeEndian.Uint32(m) != 0xED0CDAED || sum.Sum64() != binary.NativeEndian.Uint64(m[56:]) {
			continue
		}
		h := head{
			pageSize: uint64(binary.NativeEndian.Uint32(m[8:])), root: binary.NativeEndian.Uint64(m[16:]),
			freelist: binary.NativeEndian.Uint64(m[32:]), pages: binary.NativeEndian.Uint64(m[40:]), tx: binary.NativeEndian.Uint64(m[48:]),
		}
		if newest.pageSize == 0 || h.tx > newest.tx {
			newest = h
		}
	}
	if newest.pageSize == 0 {
		return newest, errors.New("no valid head: not the state of a crawl")
	}
	return newest, nil
}

// metaOffsets are the places of the two meta pages: the second stands one page
// in, and the size of a page is known from the first alone, if that is whole.
func metaOffsets(f *os.File) []int64 {
	offsets := []int64{0}
	for size := int64(1024); size <= 64<<10; size *= 2 {
		offsets = append(offsets, size)
	}
	return offsets
}

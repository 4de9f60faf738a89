package storage

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"os"
)

// What bbolt keeps in its pages (go.etcd.io/bbolt/internal/common): a header of
// number, flags, count of elements and count of further pages; then the elements,
// each with the place of its key and value from where it stands itself.
const (
	pageHeader  = 16
	pageElement = 16

	branchPage   = 0x01
	leafPage     = 0x02
	freelistPage = 0x10

	leafBucket = 0x01 // flag of an element of a leaf: its value is a bucket

	noFreelist = ^uint64(0)
)

// A tree is the pages of a state file. bbolt trusts them: a page that leads to
// itself, or beyond the end of the file, makes it read for ever, or ends the
// process. So they are walked before it opens a file that may be damaged.
type tree struct {
	file  io.ReaderAt
	size  int64  // of a page, in bytes
	pages uint64 // in use, or once in use
	seen  []uint64
	todo  []uint64 // pages that others lead to
}

// A treeError says which page is wrong.
type treeError struct {
	page uint64
	err  error
}

func (e *treeError) Error() string { return fmt.Sprintf("page %d: %v", e.page, e.err) }

func (e *treeError) Unwrap() error { return e.err }

// checkTree walks the pages of the state file at path, of which preflight found
// nothing wrong.
func checkTree(path string) error {
	f, err := os.Open(path)
	if err != nil {
		return err
	}
	defer f.Close()
	h, err := newestHead(f)
	if err != nil {
		return err
	}
	t := &tree{file: f, size: int64(h.pageSize), pages: h.pages, seen: make([]uint64, h.pages/64+1), todo: []uint64{h.root}}
	t.seen[0] = 3 // the heads
	if h.freelist != noFreelist {
		if err := t.freelist(h.freelist); err != nil {
			return err
		}
	}
	for len(t.todo) > 0 {
		n := t.todo[len(t.todo)-1]
		t.todo = t.todo[:len(t.todo)-1]
		b, err := t.page(n)
		if err == nil {
			err = t.elements(b)
		}
		if err != nil {
			return &treeError{n, err}
		}
	}
	return nil
}

// page reads a page with those that belong to it, each of them once.
func (t *tree) page(n uint64) ([]byte, error) {
	if n >= t.pages {
		return nil, fmt.Errorf("there are %d", t.pages)
	}
	var h [pageHeader]byte
	if _, err := t.file.ReadAt(h[:], int64(n)*t.size); err != nil {
		return nil, err
	}
	if is := binary.NativeEndian.Uint64(h[:]); is != n {
		return nil, fmt.Errorf("it says that it is page %d", is)
	}
	more := uint64(binary.NativeEndian.Uint32(h[12:]))
	if more >= t.pages-n {
		return nil, fmt.Errorf("it goes on for %d pages of %d", more, t.pages)
	}
	for i := n; i <= n+more; i++ {
		if t.seen[i/64]&(1<<(i%64)) != 0 {
			return nil, errors.New("it is in use twice")
		}
		t.seen[i/64] |= 1 << (i % 64)
	}
	b := make([]byte, int64(more+1)*t.size)
	_, err := t.file.ReadAt(b, int64(n)*t.size)
	return b, err
}

func (t *tree) freelist(n uint64) error {
	b, err := t.page(n)
	if err != nil {
		return &treeError{n, err}
	}
	count, from := uint64(binary.NativeEndian.Uint16(b[10:])), pageHeader
	if count == 0xffff {
		count, from = binary.NativeEndian.Uint64(b[pageHeader:]), pageHeader+8
	}
	if binary.NativeEndian.Uint16(b[8:]) != freelistPage || count > uint64(len(b)-from)/8 {
		return &treeError{n, errors.New("it is no list of free pages")}
	}
	last := uint64(1)
	for i := range count {
		free := binary.NativeEndian.Uint64(b[from+8*int(i):])
		if free <= last || free >= t.pages {
			return &treeError{n, fmt.Errorf("page %d cannot be free", free)}
		}
		last = free
	}
	return nil
}

// elements looks at a page, or at the one that a small bucket is.
func (t *tree) elements(b []byte) error {
	flags, count := binary.NativeEndian.Uint16(b[8:]), int(binary.NativeEndian.Uint16(b[10:]))
	if flags != branchPage && flags != leafPage || flags == branchPage && count == 0 {
		return fmt.Errorf("it is neither a branch nor a leaf (%#x, %d elements)", flags, count)
	}
	if pageHeader+count*pageElement > len(b) {
		return fmt.Errorf("%d elements do not fit", count)
	}
	var before []byte
	for i := range count {
		at := pageHeader + i*pageElement
		e := b[at:]
		if flags == branchPage {
			key, _, err := text(b, at, e[0:], e[4:], nil)
			if err != nil {
				return err
			}
			if i > 0 && bytes.Compare(before, key) >= 0 {
				return errUnsorted
			}
			before = key
			t.todo = append(t.todo, binary.NativeEndian.Uint64(e[8:]))
			continue
		}
		key, value, err := text(b, at, e[4:], e[8:], e[12:])
		if err != nil {
			return err
		}
		if i > 0 && bytes.Compare(before, key) >= 0 {
			return errUnsorted
		}
		before = key
		if binary.NativeEndian.Uint32(e)&leafBucket != 0 {
			if err := t.bucket(value); err != nil {
				return err
			}
		}
	}
	return nil
}

var errUnsorted = errors.New("its keys are not in order")

// bucket follows a bucket: its root, or the page that stands behind.
func (t *tree) bucket(value []byte) error {
	if len(value) < 16 {
		return errors.New("a bucket is too short")
	}
	if root := binary.NativeEndian.Uint64(value); root != 0 {
		t.todo = append(t.todo, root)
		return nil
	}
	inline := value[16:]
	if len(inline) < pageHeader || binary.NativeEndian.Uint16(inline[8:]) != leafPage {
		return errors.New("a small bucket is no leaf")
	}
	return t.elements(inline)
}

// text is the key and the value of the element at a place in a page.
func text(b []byte, at int, pos, keySize, valueSize []byte) (key, value []byte, err error) {
	from := uint64(at) + uint64(binary.NativeEndian.Uint32(pos))
	middle := from + uint64(binary.NativeEndian.Uint32(keySize))
	end := middle
	if valueSize != nil {
		end += uint64(binary.NativeEndian.Uint32(valueSize))
	}
	if end > uint64(len(b)) {
		return nil, nil, errors.New("an element ends behind the page")
	}
	return b[from:middle], b[middle:end], nil
}

package state

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"os"
)

// The layout of bbolt's pages (go.etcd.io/bbolt/internal/common): first a header with the
// number of the page, flags, the number of elements, and the number of continuation pages;
// then the elements. Each element has the offset of its key and value from its own start.
const (
	pageHeader  = 16
	pageElement = 16

	branchPage   = 0x01
	leafPage     = 0x02
	freelistPage = 0x10

	leafBucket = 0x01 // flag of an element in a leaf page that says that the value of the element is a bucket

	noFreelist = ^uint64(0)
)

// A tree checks the pages of a state file, before bbolt opens a file that may be damaged. bbolt
// does not check the pages: if a page refers to itself, or beyond the end of the file, bbolt
// reads forever, or ends the process.
type tree struct {
	file   io.ReaderAt
	size   int64    // size of a page, in bytes
	pages  uint64   // number of pages of the file
	seen   []uint64 // one bit for each page; it is set when a reference to the page is found
	todo   []branchEnd
	leaves bool // check the leaves of the buckets, too
}

// A branchEnd is a page to which a branch page refers. The keys of this page must be at least
// low and less than high.
type branchEnd struct {
	page      uint64
	low, high []byte // nil: there is no such bound
	inBucket  bool
}

// A treeError says which page is invalid, and why.
type treeError struct {
	page uint64
	err  error
}

func (e *treeError) Error() string { return fmt.Sprintf("page %d: %v", e.page, e.err) }

func (e *treeError) Unwrap() error { return e.err }

// checkTree checks all pages of the state file at path, also the leaves. It must be called
// after preflight.
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
	t := newTree(f, h)
	t.leaves = true
	return t.walk(h)
}

func newTree(f io.ReaderAt, h head) *tree {
	return &tree{file: f, size: int64(h.pageSize), pages: h.pages, seen: make([]uint64, h.pages/64+1)}
}

// walk checks the pages to which the meta page h refers, directly or through other pages.
func (t *tree) walk(h head) error {
	t.seen[0] = 3 // mark the two meta pages as used
	if h.freelist != noFreelist {
		if err := t.freelist(h.freelist); err != nil {
			return err
		}
	}
	t.todo = []branchEnd{{page: h.root}}
	for len(t.todo) > 0 {
		n := t.todo[len(t.todo)-1]
		t.todo = t.todo[:len(t.todo)-1]
		b, err := t.page(n.page)
		if err == nil {
			err = t.elements(b, n)
		}
		if err != nil {
			return &treeError{n.page, err}
		}
	}
	return nil
}

// use records a reference to page n. It returns an error if the page does not exist, or if an
// earlier reference to it was found.
func (t *tree) use(n uint64) error {
	if n >= t.pages {
		return fmt.Errorf("there are %d", t.pages)
	}
	if t.seen[n/64]&(1<<(n%64)) != 0 {
		return errors.New("it is in use twice")
	}
	t.seen[n/64] |= 1 << (n % 64)
	return nil
}

// head reads the header of page n. pages is the number of pages that it has, including its
// continuation pages.
func (t *tree) head(n uint64) (flags uint16, pages uint64, err error) {
	if n >= t.pages {
		return 0, 0, fmt.Errorf("there are %d", t.pages)
	}
	var h [pageHeader]byte
	if _, err := t.file.ReadAt(h[:], int64(n)*t.size); err != nil {
		return 0, 0, err
	}
	if is := binary.NativeEndian.Uint64(h[:]); is != n {
		return 0, 0, fmt.Errorf("it says that it is page %d", is)
	}
	more := uint64(binary.NativeEndian.Uint32(h[12:]))
	if more >= t.pages-n || more*uint64(t.size) > t.mostOfPage() {
		return 0, 0, fmt.Errorf("it goes on for %d pages of %d", more, t.pages)
	}
	return binary.NativeEndian.Uint16(h[8:]), more + 1, nil
}

// mostOfPage returns the largest size of a page with its continuation pages, in bytes. It is
// far more than any row of the state needs, and more than the list of all free pages needs.
func (t *tree) mostOfPage() uint64 { return max(256<<20, 16*t.pages) }

// page reads page n with its continuation pages. It returns an error if an earlier reference to
// one of these pages was found.
func (t *tree) page(n uint64) ([]byte, error) {
	_, pages, err := t.head(n)
	if err != nil {
		return nil, err
	}
	for i := n; i < n+pages; i++ {
		if err := t.use(i); err != nil {
			return nil, err
		}
	}
	b := make([]byte, int64(pages)*t.size)
	_, err = t.file.ReadAt(b, int64(n)*t.size)
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
		if err := t.use(free); err != nil {
			return &treeError{free, err}
		}
		last = free
	}
	return nil
}

// elements checks the elements of a page, or those of a small bucket that is within a page.
func (t *tree) elements(b []byte, is branchEnd) error {
	flags, count := binary.NativeEndian.Uint16(b[8:]), int(binary.NativeEndian.Uint16(b[10:]))
	if flags != branchPage && flags != leafPage || flags == branchPage && count == 0 {
		return fmt.Errorf("it is neither a branch nor a leaf (%#x, %d elements)", flags, count)
	}
	if pageHeader+count*pageElement > len(b) {
		return fmt.Errorf("%d elements do not fit", count)
	}
	var before []byte
	var below []branchEnd
	for i := range count {
		at := pageHeader + i*pageElement
		e := b[at:]
		var key, value []byte
		var err error
		if flags == branchPage {
			key, _, err = text(b, at, e[0:], e[4:], nil)
		} else {
			key, value, err = text(b, at, e[4:], e[8:], e[12:])
		}
		if err != nil {
			return err
		}
		if i > 0 && bytes.Compare(before, key) >= 0 || bytes.Compare(key, is.low) < 0 || is.high != nil && bytes.Compare(key, is.high) >= 0 {
			return errUnsorted
		}
		before = key
		switch {
		case flags == branchPage:
			if i > 0 {
				below[i-1].high = key
			}
			below = append(below, branchEnd{binary.NativeEndian.Uint64(e[8:]), key, is.high, is.inBucket})
		case binary.NativeEndian.Uint32(e)&leafBucket != 0:
			if err := t.bucket(value); err != nil {
				return err
			}
		}
	}
	return t.follow(below)
}

// follow adds the pages to which a branch refers to t.todo. All are branches, or all are
// leaves. If they are leaves that need not be checked, follow only records the references.
func (t *tree) follow(below []branchEnd) error {
	if len(below) == 0 {
		return nil
	}
	if !t.leaves && below[0].inBucket {
		flags, _, err := t.head(below[0].page)
		if err != nil {
			return &treeError{below[0].page, err}
		}
		if flags == leafPage {
			for _, n := range below {
				if err := t.use(n.page); err != nil {
					return &treeError{n.page, err}
				}
			}
			return nil
		}
	}
	t.todo = append(t.todo, below...)
	return nil
}

var errUnsorted = errors.New("its keys are not in order")

// bucket checks a bucket. It adds the root page of the bucket to t.todo, or checks the elements
// if the bucket is within a page.
func (t *tree) bucket(value []byte) error {
	if len(value) < 16 {
		return errors.New("a bucket is too short")
	}
	if root := binary.NativeEndian.Uint64(value); root != 0 {
		t.todo = append(t.todo, branchEnd{page: root, inBucket: true})
		return nil
	}
	inline := value[16:]
	if len(inline) < pageHeader || binary.NativeEndian.Uint16(inline[8:]) != leafPage {
		return errors.New("a small bucket is no leaf")
	}
	return t.elements(inline, branchEnd{inBucket: true})
}

// text returns the key and the value of the element at an offset in a page.
func text(b []byte, at int, pos, keySize, valueSize []byte) (key, value []byte, err error) {
	from := uint64(at) + uint64(binary.NativeEndian.Uint32(pos))
	middle := from + uint64(binary.NativeEndian.Uint32(keySize))
	end := middle
	if valueSize != nil {
		end += uint64(binary.NativeEndian.Uint32(valueSize))
	}
	if end > uint64(len(b)) {
		return nil, nil, errors.New("an element ends after the page")
	}
	return b[from:middle], b[middle:end], nil
}

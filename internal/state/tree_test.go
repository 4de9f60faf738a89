package state

import (
	"bytes"
	"encoding/binary"
	"errors"
	"testing"
)

// If a free list has many entries, their number is stored after its header.
func TestFreelists(t *testing.T) {
	const size, at = 1024, 2
	list := func(n int, spoil func(free []byte)) error {
		more := (n*8 + 64) / size
		b := make([]byte, (at+1+more)*size)
		p := b[at*size:]
		binary.NativeEndian.PutUint64(p, at)
		binary.NativeEndian.PutUint16(p[8:], freelistPage)
		binary.NativeEndian.PutUint32(p[12:], uint32(more))
		free := p[pageHeader:]
		if n < 0xffff {
			binary.NativeEndian.PutUint16(p[10:], uint16(n))
		} else {
			binary.NativeEndian.PutUint16(p[10:], 0xffff)
			binary.NativeEndian.PutUint64(free, uint64(n))
			free = free[8:]
		}
		first := at + 1 + more
		for i := range n {
			binary.NativeEndian.PutUint64(free[8*i:], uint64(first+i))
		}
		if spoil != nil {
			spoil(free)
		}
		h := head{pageSize: size, pages: uint64(first + n)}
		tree := newTree(bytes.NewReader(b), h)
		tree.use(0)
		tree.use(1)
		if err := tree.freelist(at); err != nil {
			return err
		}
		for n := range h.pages {
			if tree.use(n) == nil {
				t.Errorf("page %d of %d is neither free nor in use", n, h.pages)
			}
		}
		return nil
	}
	for _, n := range []int{0, 1, 125, 0xfffe, 0xffff, 0x10000, 70_000} {
		if err := list(n, nil); err != nil {
			t.Errorf("%d free pages: %v", n, err)
		}
		if n < 2 {
			continue
		}
		var is *treeError
		last := func(free []byte) []byte { return free[8*(n-1):] }
		for what, spoil := range map[string]func([]byte){
			"twice":       func(free []byte) { copy(last(free), free[8*(n-2):8*(n-1)]) },
			"a head":      func(free []byte) { binary.NativeEndian.PutUint64(free, 1) },
			"beyond":      func(free []byte) { binary.NativeEndian.PutUint64(last(free), 1<<40) },
			"just beyond": func(free []byte) { binary.NativeEndian.PutUint64(last(free), uint64(at+1+(n*8+64)/size+n)) },
			"the list":    func(free []byte) { binary.NativeEndian.PutUint64(free, at) },
		} {
			if err := list(n, spoil); !errors.As(err, &is) {
				t.Errorf("%d free pages, %s: %v", n, what, err)
			}
		}
	}
}

// A place has only the low half of the number of its row. change.number returns the number of
// the newest row with this low half.
func TestPlacesOfManyRows(t *testing.T) {
	for _, last := range []uint64{0, 1, 7, 1<<32 - 1, 1 << 32, 1<<32 + 1, 3<<32 + 5, 1<<40 - 1} {
		c := &change{row: last}
		for _, back := range []uint64{0, 1, 2, 5, 6, 1000, 1<<32 - 1} {
			if back > last {
				continue
			}
			if n := c.number(place{row: uint32(last - back)}); n != last-back {
				t.Errorf("row %d, of %d, is taken for %d", last-back, last, n)
			}
		}
	}
}

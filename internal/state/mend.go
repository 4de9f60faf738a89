package state

import (
	"bytes"
	"encoding/binary"
	"errors"
	"hash/fnv"
	"os"
	"path/filepath"
	"slices"
)

// MendFlips corrects single flipped bits in the state file in dir, in place, and returns their
// number. It corrects bits in rows and in the meta pages, where a checksum says which bit has
// flipped, and in the headers of pages. No process may have the file open.
func MendFlips(dir string) (n int, err error) {
	f, err := os.OpenFile(filepath.Join(dir, File), os.O_RDWR, 0)
	if err != nil {
		return 0, err
	}
	defer f.Close()
	info, err := f.Stat()
	if err != nil {
		return 0, err
	}
	m := &mender{file: f, size: info.Size()}
	if err := errors.Join(m.heads(), m.rows()); err != nil {
		return m.n, err
	}
	return m.n, f.Sync()
}

type mender struct {
	file *os.File
	size int64
	n    int
}

// heads corrects the two meta pages of bbolt by their checksums.
func (m *mender) heads() error {
	page := int64(os.Getpagesize())
	for _, at := range []int64{0, page} {
		var b [80]byte
		if _, err := m.file.ReadAt(b[:], at); err != nil {
			return nil // the page is beyond the end of the file, which was truncated
		}
		if bit, ok := oneBit(b[16:], func() bool { return goodHead(b[16:]) }); ok {
			m.n++
			if _, err := m.file.WriteAt(b[16+bit/8:16+bit/8+1], at+16+int64(bit/8)); err != nil {
				return err
			}
		}
	}
	return nil
}

func goodHead(b []byte) bool {
	sum := fnv.New64a()
	sum.Write(b[:56])
	return binary.NativeEndian.Uint32(b) == 0xED0CDAED && sum.Sum64() == binary.NativeEndian.Uint64(b[56:])
}

// oneBit flips each bit of b in turn, until good returns true. If good returns true before any
// bit is flipped, or for no bit, ok is false and b is unchanged.
func oneBit(b []byte, good func() bool) (bit int, ok bool) {
	if good() {
		return 0, false
	}
	for i := range len(b) * 8 {
		b[i/8] ^= 1 << (i % 8)
		if good() {
			return i, true
		}
		b[i/8] ^= 1 << (i % 8)
	}
	return 0, false
}

// maxMended is the length of the longest row that is searched for a flipped bit, in bytes. The
// time of a search grows with the square of the length.
const maxMended = 16 << 10

// rows corrects the pages that are in use: their numbers and kinds, the positions of their
// rows, and the rows themselves.
func (m *mender) rows() error {
	h, err := newestHead(m.file)
	if err != nil || h.pageSize == 0 {
		return nil // ignore the error, because opening the file reports it
	}
	seen := map[uint64]bool{}
	type node struct {
		page   uint64
		bucket bool
	}
	todo := []node{{h.root, false}}
	for len(todo) > 0 {
		at := todo[len(todo)-1]
		todo = todo[:len(todo)-1]
		if seen[at.page] || at.page < 2 || at.page >= h.pages || int64(at.page+1)*int64(h.pageSize) > m.size {
			continue
		}
		seen[at.page] = true
		b := make([]byte, h.pageSize)
		if _, err := m.file.ReadAt(b, int64(at.page*h.pageSize)); err != nil {
			return nil
		}
		if more := uint64(binary.NativeEndian.Uint32(b[12:])); more > 0 && more < h.pages-at.page && more < 1<<16 {
			b = make([]byte, (more+1)*h.pageSize)
			if _, err := m.file.ReadAt(b, int64(at.page*h.pageSize)); err != nil {
				return nil
			}
		}
		was := bytes.Clone(b)
		if is := binary.NativeEndian.Uint64(b); is != at.page {
			binary.NativeEndian.PutUint64(b, at.page)
			m.n++
		}
		flags, count := binary.NativeEndian.Uint16(b[8:]), int(binary.NativeEndian.Uint16(b[10:]))
		if flags != branchPage && flags != leafPage || pageHeader+count*pageElement > len(b) {
			continue
		}
		for i := range count {
			e := pageHeader + i*pageElement
			if flags == branchPage {
				todo = append(todo, node{binary.NativeEndian.Uint64(b[e+8:]), at.bucket})
				continue
			}
			m.element(b, e, at.bucket)
			if binary.NativeEndian.Uint32(b[e:])&leafBucket != 0 && !at.bucket {
				_, value, err := text(b, e, b[e+4:], b[e+8:], b[e+12:])
				if err == nil && len(value) >= 16 {
					if root := binary.NativeEndian.Uint64(value); root != 0 {
						todo = append(todo, node{root, true})
					} else if len(value) >= 16+pageHeader {
						m.inline(value[16:])
					}
				}
				continue
			}
			m.row(b, e)
		}
		if bytes.Equal(was, b) {
			continue
		}
		if _, err := m.file.WriteAt(b, int64(at.page*h.pageSize)); err != nil {
			return err
		}
	}
	return nil
}

// element corrects the flag that says whether an element of a leaf is a bucket, and the name of
// a bucket. This is possible because all buckets are in the root, and their names are known.
func (m *mender) element(b []byte, e int, inBucket bool) {
	key, _, err := text(b, e, b[e+4:], b[e+8:], b[e+12:])
	if err != nil {
		return
	}
	known := func() bool {
		return slices.ContainsFunc(buckets, func(name []byte) bool { return bytes.Equal(name, key) })
	}
	want := uint32(leafBucket)
	if inBucket {
		want = 0
	} else if _, ok := oneBit(key, known); ok {
		m.n++
	}
	if (inBucket || known()) && binary.NativeEndian.Uint32(b[e:]) != want {
		binary.NativeEndian.PutUint32(b[e:], want)
		m.n++
	}
}

// inline corrects the rows of a small bucket, which bbolt stores within the page of its parent.
func (m *mender) inline(b []byte) {
	count := int(binary.NativeEndian.Uint16(b[10:]))
	if pageHeader+count*pageElement > len(b) {
		return
	}
	for i := range count {
		m.element(b, pageHeader+i*pageElement, true)
		m.row(b, pageHeader+i*pageElement)
	}
}

// row corrects the row of an element of a leaf.
func (m *mender) row(b []byte, e int) {
	good := func() bool {
		key, value, err := text(b, e, b[e+4:], b[e+8:], b[e+12:])
		return err == nil && len(value) >= checksumSize && len(value) < 1<<30 && checksum(key, value) == binary.BigEndian.Uint32(value)
	}
	key, value, err := text(b, e, b[e+4:], b[e+8:], b[e+12:])
	if err == nil && (good() || bytes.Equal(key, keyVersion) || bytes.Equal(key, keySeed) || len(key) == 32) {
		return // the row is undamaged, or has no checksum
	}
	if _, ok := oneBit(b[e:e+pageElement], good); ok {
		m.n++
		return
	}
	if err != nil || len(key)+len(value) > maxMended {
		return
	}
	// bbolt stores a key and its value next to each other, so search both.
	if _, ok := oneBit(key, good); ok {
		m.n++
	} else if _, ok := oneBit(value, good); ok {
		m.n++
	}
}

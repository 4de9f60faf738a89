package state

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"hash/fnv"
	"io"
	"io/fs"
	"math/bits"
	"os"
	"path/filepath"
)

// firstPages is how many pages a new file of bbolt has.
const firstPages = 4

// Unwritten reports whether the state file in dir is too short to be a bbolt file, because the
// disk was full, or the process was killed, when a run began the crawl. It returns false for a
// short file of another program, which must not be overwritten.
func Unwritten(dir string) bool {
	info, err := os.Stat(filepath.Join(dir, File))
	if err != nil || info.Size() >= int64(firstPages*os.Getpagesize()) {
		return false
	}
	if info.IsDir() {
		return true // the result is true, because StartAgain reports the error
	}
	f, err := os.Open(filepath.Join(dir, File))
	if err != nil {
		return false
	}
	defer f.Close()
	begin := make([]byte, len(firstBytes))
	n, err := io.ReadFull(f, begin)
	begin = begin[:n]
	return (err == nil || errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF)) &&
		(bytes.HasPrefix(firstBytes, begin) || bytes.Count(begin, []byte{0}) == n)
}

// firstBytes are the first bytes of a bbolt file: the header of the first page, a meta page, and
// the magic number. A file whose bytes did not reach the disk may have zeros instead.
var firstBytes = func() []byte {
	const metaPage = 4
	b := make([]byte, 8, 20) // the number of the page, which is 0
	b = binary.NativeEndian.AppendUint16(b, metaPage)
	b = append(b, make([]byte, 6)...) // the numbers of elements and of continuation pages, which are 0
	return binary.NativeEndian.AppendUint32(b, 0xED0CDAED)
}()

// Empty reports whether the state file in dir is Unwritten or has no bucket. A run that is
// killed, or finds the disk full, before it has begun the crawl leaves such a file.
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

// StartAgain truncates the state file in dir to length 0 if the file is Unwritten, unless
// another process is writing it.
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
		return nil // do nothing, because opening the file reports the other process
	}
	return f.Truncate(0)
}

// preflight looks for damage that would end the process when bbolt reads the file, because
// recover cannot catch it. Such damage is a file that is shorter than its header says, pages
// that refer to each other in a cycle, or a list of free pages without an end. preflight does
// not check the leaves of the buckets, because there are a hundred times as many leaves as
// other pages. An empty or missing file is valid.
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
		return nil // report no damage, because opening the file reports the other process
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

// A head has the values in a valid meta page of bbolt.
type head struct {
	pageSize, root, freelist, pages, tx uint64
}

// newestHead returns the contents of the meta page that bbolt uses: the newest valid one.
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

// metaOffsets returns the possible offsets of the two meta pages. The second is one page after
// the first. But only a meta page says how long a page is, and the first may be damaged.
func metaOffsets(f *os.File) []int64 {
	offsets := []int64{0}
	for size := int64(1024); size <= 64<<10; size *= 2 {
		offsets = append(offsets, size)
	}
	return offsets
}

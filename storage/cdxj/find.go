package cdxj

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"
	"iter"
)

// Find goes through the lines about one URL in an index of so many bytes, in their order:
// those with its key, but for those of other URLs that share it. It reads some thirty
// small pieces of a large index, and holds one line in memory. A line that is none is an
// error; what stands behind it comes all the same. In a file whose lines are not in the
// order of their bytes lines may be missed. r may be read by others at the same time.
func Find(r io.ReaderAt, size int64, url string) iter.Seq2[*Entry, error] {
	return func(yield func(*Entry, error) bool) {
		key := append([]byte(SURT(url)), ' ')
		at, err := firstLine(r, size, key)
		if err != nil {
			yield(nil, err)
			return
		}
		in := bufio.NewReaderSize(io.NewSectionReader(r, at, size-at), findPiece)
		for {
			line, err := nextLine(in)
			if err == io.EOF && len(line) == 0 {
				return
			}
			if err != nil && err != io.EOF {
				yield(nil, err)
				return
			}
			switch bytes.Compare(line[:min(len(line), len(key))], key) {
			case -1:
				continue
			case 1:
				return
			}
			e, err := Parse(string(line))
			if err == nil && e.URL != url {
				continue
			}
			if !yield(e, err) {
				return
			}
		}
	}
}

// findPiece is how much of an index is read at once, in bytes.
const findPiece = 4 << 10

// firstLine is where a line begins, no further than one piece before the first that is not
// less than the key, or where that begins.
func firstLine(r io.ReaderAt, size int64, key []byte) (int64, error) {
	low, high := int64(0), size
	buf := make([]byte, max(findPiece, len(key)))
	for high-low > findPiece {
		middle := low + (high-low)/2
		at, err := lineAfter(r, middle, high, buf[:findPiece])
		if err != nil {
			return 0, err
		}
		if at >= high {
			high = middle
			continue
		}
		n, err := r.ReadAt(buf[:len(key)], at)
		if err != nil && err != io.EOF {
			return 0, err
		}
		if bytes.Compare(buf[:n], key) < 0 {
			low = at
		} else {
			high = middle
		}
	}
	return low, nil
}

// lineAfter is where the first line behind from begins; end, or more, where none does
// before that.
func lineAfter(r io.ReaderAt, from, end int64, buf []byte) (int64, error) {
	for from < end {
		n, err := r.ReadAt(buf[:min(int64(len(buf)), end-from)], from)
		if i := bytes.IndexByte(buf[:n], '\n'); i >= 0 {
			return from + int64(i) + 1, nil
		}
		if err != nil && err != io.EOF {
			return 0, err
		}
		if n == 0 {
			break
		}
		from += int64(n)
	}
	return end, nil
}

var errLine = fmt.Errorf("CDXJ: a line is longer than %d bytes", MaxLine)

// nextLine reads a line without its end.
func nextLine(in *bufio.Reader) (line []byte, err error) {
	for {
		piece, err := in.ReadSlice('\n')
		if len(line)+len(piece) > MaxLine {
			return nil, errLine
		}
		line = append(line, piece...)
		if !errors.Is(err, bufio.ErrBufferFull) {
			return bytes.TrimSuffix(line, []byte("\n")), err
		}
	}
}

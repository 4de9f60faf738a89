package cdxj

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"
	"iter"
)

// Find returns the entries of one URL in an index of size bytes, in the order of the index. It
// leaves out other URLs with the same key. It reads about thirty small pieces of a large index,
// and holds one line in memory. If a line is malformed, it yields an error and continues with the
// next line. The lines of the index must be sorted by their bytes; otherwise Find may miss some.
// Other goroutines may use r at the same time.
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

// findPiece is how many bytes of an index are read at once.
const findPiece = 4 << 10

// firstLine returns an offset from which a forward search finds the first line whose key is not
// less than key. The offset is that of a line, at most findPiece bytes before the found one.
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

// lineAfter returns the offset of the first line that begins after the offset from. If no line
// begins between from and end, the result is end or more.
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

// nextLine reads a line and returns it without its newline.
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

package lines

import (
	"cmp"
	"context"
	"io"

	"github.com/permesso-crawler/permesso/internal/inorder"
)

const (
	blockSize = 64 << 10 // size in bytes at which a block is full
	memory    = 24 << 20 // memory of all blocks together and of their values, in bytes
)

// A Block has some consecutive lines of a file.
type Block[V any] struct {
	First int64 // number of the first line, from 1
	Value V     // result of work for the lines of the block

	text  []byte
	lines []line
}

type line struct {
	end  int // where the line ends in the text of the block
	err  error
	torn bool
}

// A Line is a line of a file.
type Line struct {
	N    int64
	Text []byte // the line without its newline
	Err  error  // ErrLong if the line was skipped because it is too long, otherwise nil
	Torn bool   // the line had no newline
}

// Each calls f for each line. It stops at the first error of f and returns it.
func (b *Block[V]) Each(f func(Line) error) error {
	at := 0
	for i, l := range b.lines {
		if err := f(Line{b.First + int64(i), b.text[at:l.end:l.end], l.err, l.torn}); err != nil {
			return err
		}
		at = l.end
	}
	return nil
}

// A Split says how InOrder divides its work. The zero value is what most callers want.
type Split struct {
	Workers int // number of goroutines that work; 0: GOMAXPROCS
	Block   int // size in bytes at which a block is full; 0: 64 KiB
}

// InOrder reads the remaining lines of r in blocks. It calls work for each block, in several
// goroutines, and then use, in the order of the file, in the goroutine that has called InOrder.
// The blocks take 24 MiB, or more if a single line is longer.
//
// If use returns an error, InOrder returns it. Otherwise it uses all lines before the first
// error of ctx or r, and returns that error.
func InOrder[V any](ctx context.Context, r *Reader, split Split, work func(*Block[V]), use func(*Block[V]) error) error {
	return inorder.Each(inorder.Limits{Workers: split.Workers, Memory: memory}, func(put func(*Block[V], int64) bool) error {
		most := int64(3 * cmp.Or(split.Block, blockSize))
		next := &Block[V]{First: 1}
		full := func() bool {
			b := next
			next = &Block[V]{First: b.First + int64(len(b.lines)), text: make([]byte, 0, min(cap(b.text), 2*blockSize)), lines: make([]line, 0, len(b.lines))}
			return len(b.lines) == 0 || put(b, b.size())
		}
		for {
			err := ctx.Err()
			var text []byte
			if err == nil {
				text, err = r.Next()
			}
			if err != nil && err != ErrLong {
				if full(); err == io.EOF {
					err = nil
				}
				return err
			}
			next.text = append(next.text, text...)
			next.lines = append(next.lines, line{len(next.text), err, r.Torn()})
			if next.size() >= most && !full() {
				return nil
			}
		}
	}, func(b *Block[V]) *Block[V] {
		work(b)
		return b
	}, use)
}

// size returns the memory that the block and its value need, in bytes.
func (b *Block[V]) size() int64 { return 3*int64(len(b.text)) + 100*int64(len(b.lines)) }

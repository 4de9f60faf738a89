package store

import (
	"context"
	"hash/crc32"
	"io"
	"os"

	"github.com/permesso-crawler/permesso/internal/state"
)

var castagnoli = crc32.MakeTable(crc32.Castagnoli)

// An aFlip is one bit of a file that differs from what was written.
type aFlip struct {
	at  int64 // offset of the byte
	bit byte  // the bit, as a mask of the byte
}

// findFlip looks for the only bit that must change so that the file matches the mark want. It
// looks at offsets from low to less than high. ok is false if there is no such bit, or more
// than one.
//
// A CRC is linear: a flipped bit makes a difference in the sum, and each later byte changes
// that difference in a known way. So findFlip goes back from the end of the file, byte by byte,
// until the difference is that of one bit. With CRC-32C the position is unique in files of less
// than 256 MiB. A file with other damage has such a position by chance, with a probability of
// 8*length/2^32. So the caller must give narrow bounds, or check the changed file.
func findFlip(ctx context.Context, path string, want state.Mark, low, high int64) (found aFlip, ok bool, err error) {
	f, err := os.Open(path)
	if err != nil {
		return found, false, err
	}
	defer f.Close()
	sum := crc32.New(castagnoli)
	n, err := io.Copy(sum, io.LimitReader(&stopping{ctx: ctx, r: f}, want.Length))
	if err != nil || n != want.Length {
		return found, false, err
	}
	diff := sum.Sum32() ^ want.Sum
	if diff == 0 {
		return found, false, nil
	}
	var before [256]uint32 // maps the first byte of a table value of the CRC to the index of this value
	for i := range 256 {
		before[castagnoli[i]>>24] = uint32(i)
	}
	for at := want.Length - 1; at >= low; at-- {
		if at%(1<<20) == 0 {
			if err := ended(ctx); err != nil {
				return found, false, err
			}
		}
		i := before[diff>>24]
		if at < high && diff == castagnoli[i] && i&(i-1) == 0 {
			if ok {
				return found, false, nil
			}
			found, ok = aFlip{at, byte(i)}, true
		}
		diff = (diff^castagnoli[i])<<8 | i
	}
	return found, ok, nil
}

// flip changes one bit of the file at path. at is the offset of the byte, and bit is a mask
// with only this bit set.
func flip(path string, at int64, bit byte) error {
	f, err := os.OpenFile(path, os.O_RDWR, 0)
	if err != nil {
		return err
	}
	defer f.Close()
	var b [1]byte
	if _, err := f.ReadAt(b[:], at); err != nil {
		return err
	}
	b[0] ^= bit
	if _, err := f.WriteAt(b[:], at); err != nil {
		return err
	}
	return f.Sync()
}

package state

import (
	"bytes"
	"encoding/binary"
	"slices"
	"sort"

	"go.etcd.io/bbolt"
)

// A block holds the fingerprints (hashes) of some of a site's URLs, sorted, each with the
// number of its entry. The key of a block has the first fingerprint of the block. But the key
// of a site's first block has 0 instead. So the keys say in which block a fingerprint is.
type block []byte

const fingerSize = 8 + 4

func (b block) len() int            { return len(b) / fingerSize }
func (b block) finger(i int) uint64 { return binary.BigEndian.Uint64(b[i*fingerSize:]) }
func (b block) num(i int) uint32    { return binary.BigEndian.Uint32(b[i*fingerSize+8:]) }

// find returns the index of fp in b. If b does not have fp, ok is false, and i is the index at
// which fp would be inserted.
func (b block) find(fp uint64) (i int, ok bool) {
	i = sort.Search(b.len(), func(i int) bool { return b.finger(i) >= fp })
	return i, i < b.len() && b.finger(i) == fp
}

// A numbered is a fingerprint and the number of its entry.
type numbered struct {
	fp  uint64
	num uint32
}

func appendNumbered(b []byte, n numbered) []byte {
	return binary.BigEndian.AppendUint32(binary.BigEndian.AppendUint64(b, n.fp), n.num)
}

// findBlock returns the only block of a site that may have fp. first is the fingerprint in the
// key of this block, and next the fingerprint in the key of the block after it. last is true if
// no block comes after it.
func findBlock(c *bbolt.Cursor, n siteNum, fp uint64) (first uint64, b block, next uint64, last bool, err error) {
	want := seenKey(n, fp)
	prefix := want[:5]
	key, value := c.Seek(want)
	if !bytes.Equal(key, want) {
		last = !bytes.HasPrefix(key, prefix)
		if !last {
			next = binary.BigEndian.Uint64(key[5:])
		}
		if key == nil {
			key, value = c.Last()
		} else {
			key, value = c.Prev()
		}
		// Prev returns nothing if this transaction has deleted all rows of the leaf before the
		// current one. Seek and Next skip such leaves.
		if key == nil {
			for k, v := c.Seek(seenKey(n, 0)); bytes.HasPrefix(k, prefix) && bytes.Compare(k, want) < 0; k, v = c.Next() {
				key, value = k, v
			}
		}
		if !bytes.HasPrefix(key, prefix) {
			return 0, nil, next, last, nil
		}
	} else if after, _ := c.Next(); bytes.HasPrefix(after, prefix) {
		next = binary.BigEndian.Uint64(after[5:])
	} else {
		last = true
	}
	b, err = unseal(bucketEntries, key, value)
	return binary.BigEndian.Uint64(key[5:]), b, next, last, err
}

// seenNum returns the number of the entry of a site that has the fingerprint fp. ok is false if
// there is no such entry.
func seenNum(c *bbolt.Cursor, n siteNum, fp uint64) (num uint32, ok bool, err error) {
	_, b, _, _, err := findBlock(c, n, fp)
	if err != nil {
		return 0, false, err
	}
	i, ok := b.find(fp)
	if ok {
		num = b.num(i)
	}
	return num, ok, nil
}

// unseen calls add with the index of each of fps that is not in a block of the site. fps must
// be sorted and distinct. add must not change the bucket.
func unseen(c *bbolt.Cursor, n siteNum, fps []finger, add func(i int32)) error {
	for i := 0; i < len(fps); {
		_, b, next, last, err := findBlock(c, n, fps[i].fp)
		if err != nil {
			return err
		}
		for ; i < len(fps) && (last || fps[i].fp < next); i++ {
			if _, ok := b.find(fps[i].fp); !ok {
				add(fps[i].i)
			}
		}
	}
	return nil
}

// insert adds the fingerprints news to the blocks of a site. They must be sorted, and in no
// block yet. The parameter most is the largest number of fingerprints in a block; it must be at
// least 2. rows is a cursor of bucket. The arena provides the memory for the blocks.
func insert(bucket *bbolt.Bucket, rows *bbolt.Cursor, n siteNum, news []numbered, most int, a *arena) error {
	for i := 0; i < len(news); {
		first, b, next, last, err := findBlock(rows, n, news[i].fp)
		if err != nil {
			return err
		}
		j := i
		for j < len(news) && (last || news[j].fp < next) {
			j++
		}
		if err := putBlocks(bucket, n, first, insertSorted(b, news[i:j]), most, a); err != nil {
			return err
		}
		i = j
	}
	return nil
}

// insertSorted returns b merged with news.
func insertSorted(b block, news []numbered) []byte {
	out := make([]byte, 0, len(b)+len(news)*fingerSize)
	at := 0
	for _, n := range news {
		i, _ := b.find(n.fp)
		out = append(out, b[at:i*fingerSize]...)
		at = i * fingerSize
		out = appendNumbered(out, n)
	}
	return append(out, b[at:]...)
}

// putBlocks writes b under the key with the given first fingerprint. If b has more fingerprints
// than a block may have (most), putBlocks splits b into several blocks.
func putBlocks(bucket *bbolt.Bucket, n siteNum, first uint64, b block, most int, a *arena) error {
	parts := (b.len() + most - 1) / most
	if parts > 1 {
		// Leave room in each part for later fingerprints.
		parts = (b.len() + most*3/4 - 1) / (most * 3 / 4)
	}
	each := (b.len() + parts - 1) / parts
	for part := range slices.Chunk(b, each*fingerSize) {
		if err := put(bucket, seenKey(n, first), a.value(part)); err != nil {
			return err
		}
		b = b[len(part):]
		if len(b) > 0 {
			first = b.finger(0)
		}
	}
	return nil
}

// An arena allocates memory for many small values at once. The memory stays valid as long as
// bbolt needs it, which is until the end of the transaction. The zero arena is empty.
type arena struct{ free []byte }

const arenaSize = 256 << 10

// take returns an empty slice with a capacity of n bytes.
func (a *arena) take(n int) []byte {
	if n > arenaSize/8 {
		return make([]byte, 0, n)
	}
	if n > len(a.free) {
		a.free = make([]byte, arenaSize)
	}
	b := a.free[:0:n]
	a.free = a.free[n:]
	return b
}

// value returns the concatenation of parts, with free room for the checksum before it.
func (a *arena) value(parts ...[]byte) []byte {
	n := checksumSize
	for _, p := range parts {
		n += len(p)
	}
	b := a.take(n)[:checksumSize]
	for _, p := range parts {
		b = append(b, p...)
	}
	return b
}

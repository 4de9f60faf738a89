package state

import (
	"encoding/binary"

	"github.com/permesso-crawler/permesso/frontier"
	"go.etcd.io/bbolt"
)

// The rows of ended entries have the number of a WARC file instead of its name, because the
// name takes forty bytes and a WARC file has thousands of answers.

// appendEnded appends the fate of an ended entry, and the place of its answer in the
// archive, if it has one: the number of the file, and the offset.
func (c *change) appendEnded(b []byte, f frontier.Fate) ([]byte, error) {
	answer := f.Answer
	f.Answer = frontier.Place{}
	b = appendFate(b, &f)
	if answer == (frontier.Place{}) {
		return b, nil
	}
	n, err := c.archiveNumber(answer.File)
	return binary.AppendUvarint(binary.AppendUvarint(b, uint64(n)), uint64(answer.Offset)), err
}

// ended reads a fate that appendEnded has encoded.
func (d *decoder) ended(archives *bbolt.Bucket) (f frontier.Fate, err error) {
	f = d.fate()
	if d.bad || len(d.b) == 0 {
		return f, d.err()
	}
	n, offset := d.uvarint(), d.uvarint()
	if err := d.err(); err != nil {
		return f, err
	}
	key := archiveKey(uint32(n))
	name, err := unseal(bucketArchives, key, archives.Get(key))
	f.Answer = frontier.Place{File: string(name), Offset: int64(offset)}
	return f, err
}

func archiveKey(n uint32) []byte { return binary.BigEndian.AppendUint32(nil, n) }

// archiveNumber returns the number of a WARC file. If the file has no number yet, it gets a new
// one.
func (c *change) archiveNumber(name string) (uint32, error) {
	if n := c.archived[name]; n != 0 {
		return n, nil
	}
	if n := c.db.book.archived[name]; n != 0 {
		return n, nil
	}
	archives := c.tx.Bucket(bucketArchives)
	next, err := archives.NextSequence()
	if err != nil {
		return 0, err
	}
	n := uint32(next)
	if c.archived == nil {
		c.archived = map[string]uint32{}
	}
	c.archived[name] = n
	return n, put(archives, archiveKey(n), c.arena.value([]byte(name)))
}

// loadArchives returns the numbers of all WARC files, by the names of the files.
func loadArchives(tx *bbolt.Tx) (map[string]uint32, error) {
	numbers := map[string]uint32{}
	return numbers, tx.Bucket(bucketArchives).ForEach(func(key, value []byte) error {
		name, err := unseal(bucketArchives, key, value)
		if err == nil && len(key) != 4 {
			err = recordError(bucketArchives, key, errRecord)
		}
		if err == nil {
			numbers[string(name)] = binary.BigEndian.Uint32(key)
		}
		return err
	})
}

package state

import (
	"encoding/binary"
	"errors"
	"fmt"
	"hash/crc32"
	"time"

	"go.etcd.io/bbolt"
)

// Values begin with a CRC-32C of the key and the rest of the value, because bbolt does not
// notice flipped bits in a leaf. Lengths and numbers in values are unsigned varints. Times
// are Unix nanoseconds in 8 bytes, big-endian; 0 is the zero time.

const checksumSize = 4

var castagnoli = crc32.MakeTable(crc32.Castagnoli)

var (
	errChecksum = errors.New("checksum does not fit the record")
	errTwice    = errors.New("the number of a new site is that of another one")
	errRecord   = errors.New("record is not of the known form")
)

// checksum returns the checksum of a row: a key and its value. It covers the key, because ranks
// and due times are only in keys.
func checksum(key, value []byte) uint32 {
	return crc32.Update(crc32.Checksum(key, castagnoli), castagnoli, value[checksumSize:])
}

// put writes a row. value must begin with room for the checksum, which put fills in.
func put(bucket *bbolt.Bucket, key, value []byte) error {
	binary.BigEndian.PutUint32(value, checksum(key, value))
	return bucket.Put(key, value)
}

// unseal returns a value without its checksum, or an error if the checksum does not match.
func unseal(bucket, key, value []byte) ([]byte, error) {
	if len(value) < checksumSize || checksum(key, value) != binary.BigEndian.Uint32(value) {
		return nil, recordError(bucket, key, errChecksum)
	}
	return value[checksumSize:], nil
}

func recordError(bucket, key []byte, err error) error {
	return fmt.Errorf("bucket %s, key %x: %w", bucket, key, err)
}

func appendString(b []byte, s string) []byte {
	return append(binary.AppendUvarint(b, uint64(len(s))), s...)
}

func appendTime(b []byte, t time.Time) []byte {
	n := int64(0)
	if !t.IsZero() {
		n = t.UnixNano()
	}
	return binary.BigEndian.AppendUint64(b, uint64(n))
}

// A decoder reads the bytes that the append functions have written. After the first missing or
// invalid part all methods return zero values, and err returns an error.
type decoder struct {
	b   []byte
	bad bool
}

func (d *decoder) err() error {
	if d.bad {
		return errRecord
	}
	return nil
}

func (d *decoder) bytes(n uint64) []byte {
	if n > uint64(len(d.b)) {
		d.bad, d.b = true, nil
		return nil
	}
	b := d.b[:n:n]
	d.b = d.b[n:]
	return b
}

func (d *decoder) uvarint() uint64 {
	n, size := binary.Uvarint(d.b)
	if size <= 0 {
		d.bad, d.b = true, nil
		return 0
	}
	d.b = d.b[size:]
	return n
}

func (d *decoder) byte() byte {
	if b := d.bytes(1); b != nil {
		return b[0]
	}
	return 0
}

func (d *decoder) uint64() uint64 {
	if b := d.bytes(8); b != nil {
		return binary.BigEndian.Uint64(b)
	}
	return 0
}

// lengthed reads a length, and returns as many bytes after it, without copying them.
func (d *decoder) lengthed() []byte { return d.bytes(d.uvarint()) }

func (d *decoder) string() string { return string(d.lengthed()) }

func (d *decoder) time() time.Time {
	n := int64(d.uint64())
	if n == 0 {
		return time.Time{}
	}
	return time.Unix(0, n)
}

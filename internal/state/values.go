package state

import (
	"bytes"
	"encoding/json"
	"iter"

	"go.etcd.io/bbolt"
	berrors "go.etcd.io/bbolt/errors"
)

// valuePrefix is the prefix of the keys of values in bucketMeta.
const valuePrefix = "put "

// Put stores a value of the crawl under key, as JSON. Changes take effect in the order of
// calls: Put after everything that was submitted earlier, and before everything that is
// submitted later.
func (db *DB) Put(key string, value any) error {
	raw, err := encode(value)
	if err != nil {
		return err
	}
	key = valuePrefix + key
	if len(key) > bbolt.MaxKeySize {
		return berrors.ErrKeyTooLarge
	}
	return db.enqueue(op{key: key, value: raw})
}

// Keys iterates over the keys of committed Puts that begin with prefix, in byte order. It yields
// the part of each key after prefix. It reads some hundred keys at a time, and holds no lock
// while the body of the loop runs.
func (db *DB) Keys(prefix string) iter.Seq2[string, error] {
	return func(yield func(string, error) bool) {
		first := []byte(valuePrefix + prefix)
		var last []byte
		for more := true; more; {
			some, left, err := db.keysAfter(first, last)
			for _, key := range some {
				if !yield(string(key[len(first):]), nil) {
					return
				}
				last = key
			}
			if err != nil {
				yield("", err)
				return
			}
			more = left
		}
	}
}

// keysAfter returns the next keys in bucketMeta that begin with prefix and come after last, or
// the first ones if last is nil. more is true if further keys may follow.
func (db *DB) keysAfter(prefix, last []byte) (some [][]byte, more bool, err error) {
	err = db.file.view(func(tx *bbolt.Tx) error {
		meta := tx.Bucket(bucketMeta)
		if meta == nil {
			return nil // there are no buckets, because Begin has not created the state yet
		}
		c := meta.Cursor()
		key, _ := c.Seek(prefix)
		if last != nil {
			key, _ = rowAfter(c, last)
		}
		for ; bytes.HasPrefix(key, prefix) && len(some) < sitesAtOnce; key, _ = c.Next() {
			some = append(some, bytes.Clone(key))
		}
		more = bytes.HasPrefix(key, prefix)
		return nil
	})
	return some, more, err
}

// Get reads into value what Put has stored under key, also if it is not committed yet. If
// nothing is stored under key, ok is false.
func (db *DB) Get(key string, value any) (ok bool, err error) {
	k := []byte(valuePrefix + key)
	db.queue.mu.Lock()
	put := db.queue.values[string(k)]
	db.queue.mu.Unlock()
	if put != nil {
		return true, json.Unmarshal(put[checksumSize:], value)
	}
	err = db.file.view(func(tx *bbolt.Tx) error {
		var raw []byte
		if meta := tx.Bucket(bucketMeta); meta != nil { // meta is nil if Begin has not created the state yet
			raw = meta.Get(k)
		}
		if raw == nil {
			return nil
		}
		ok = true
		return decode(bucketMeta, k, raw, value)
	})
	return ok, err
}

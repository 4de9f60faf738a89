package state

import (
	"bytes"
	"encoding/json"

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

// Each calls f for every key of a committed Put that begins with prefix. The parameter rest of
// f is the part of the key after prefix. If f returns an error, Each stops and returns this
// error.
func (db *DB) Each(prefix string, f func(rest string) error) error {
	return db.file.view(func(tx *bbolt.Tx) error {
		p := []byte(valuePrefix + prefix)
		meta := tx.Bucket(bucketMeta)
		if meta == nil {
			return nil // without buckets: a state that Begin will create
		}
		c := meta.Cursor()
		for k, _ := c.Seek(p); bytes.HasPrefix(k, p); k, _ = c.Next() {
			if err := callbackError(f(string(k[len(p):]))); err != nil {
				return err
			}
		}
		return nil
	})
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
		if meta := tx.Bucket(bucketMeta); meta != nil { // nil: a state that Begin will create
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

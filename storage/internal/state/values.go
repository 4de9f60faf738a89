package state

import (
	"bytes"

	"go.etcd.io/bbolt"
	berrors "go.etcd.io/bbolt/errors"
)

// valuePrefix is what the keys of values begin with in bucketMeta.
const valuePrefix = "put "

// Put keeps a value of the crawl under key, after what was submitted before
// and before what is submitted later. The value is stored as JSON.
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

// Each calls f with the rest of every key that begins with prefix and that was
// Put and committed, until f returns an error: that is returned.
func (db *DB) Each(prefix string, f func(rest string) error) error {
	return db.file.view(func(tx *bbolt.Tx) error {
		p := []byte(valuePrefix + prefix)
		meta := tx.Bucket(bucketMeta)
		if meta == nil {
			return nil // a state that Begin makes
		}
		c := meta.Cursor()
		for k, _ := c.Seek(p); bytes.HasPrefix(k, p); k, _ = c.Next() {
			if err := told(f(string(k[len(p):]))); err != nil {
				return err
			}
		}
		return nil
	})
}

// Get reads what was Put and committed. It reports whether there is anything.
func (db *DB) Get(key string, value any) (ok bool, err error) {
	err = db.file.view(func(tx *bbolt.Tx) error {
		k := []byte(valuePrefix + key)
		var raw []byte
		if meta := tx.Bucket(bucketMeta); meta != nil { // nil: a state that Begin makes
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

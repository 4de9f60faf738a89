package store

import (
	"encoding/binary"
	"errors"
	"path/filepath"

	"go.etcd.io/bbolt"
)

// setVersion adds relative to the layout version of the state in dir, and returns the new
// version.
func setVersion(dir string, relative int) (v uint64, err error) {
	b, err := bbolt.Open(filepath.Join(dir, StateFile), 0o644, nil)
	if err != nil {
		return 0, err
	}
	err = b.Update(func(tx *bbolt.Tx) error {
		meta := tx.Bucket([]byte("meta"))
		v = binary.BigEndian.Uint64(meta.Get([]byte("version"))) + uint64(relative)
		return meta.Put([]byte("version"), binary.BigEndian.AppendUint64(nil, v))
	})
	return v, errors.Join(err, b.Close())
}

// PutPage writes a page without an archived answer.
func (db *DB) PutPage(p *PageRecord) error {
	_, err := db.PutVisit(&Visit{Page: p})
	return err
}

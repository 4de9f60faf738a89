package storage

import (
	"encoding/binary"

	"go.etcd.io/bbolt"
)

func setVersion(v uint64) func(*bbolt.Tx) error {
	return func(tx *bbolt.Tx) error {
		return tx.Bucket(bucketMeta).Put([]byte("version"), binary.BigEndian.AppendUint64(nil, v))
	}
}

// PutPage writes a page of which no answer is archived.
func (db *DB) PutPage(p *PageRecord) error {
	_, err := db.PutVisit(&Visit{Page: p})
	return err
}

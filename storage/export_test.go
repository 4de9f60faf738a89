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

package state

import (
	"encoding/base32"
	"strings"
	"time"

	"go.etcd.io/bbolt"
)

// A Payload says which answer was archived first with some bytes.
type Payload struct {
	Date time.Time
	URL  string
}

// Payload is the first answer whose payload has the digest ("sha1:" and base 32), nil
// if there is none.
func (db *DB) Payload(digest string) (p *Payload, err error) {
	db.queue.mu.Lock()
	p = db.queue.payloads[digest]
	db.queue.mu.Unlock()
	if p != nil {
		return p, nil
	}
	key := payloadKey(digest)
	err = db.file.view(func(tx *bbolt.Tx) error {
		value := tx.Bucket(bucketPayloads).Get(key)
		if value == nil {
			return nil
		}
		var err error
		p, err = getPayload(key, value)
		return err
	})
	return p, err
}

// PutPayload notes an answer whose record was appended before.
func (db *DB) PutPayload(digest string, p Payload) error {
	return db.enqueue(op{digest: digest, payload: &p})
}

func payloadKey(digest string) []byte {
	sum, err := base32.StdEncoding.DecodeString(strings.TrimPrefix(digest, sha1Prefix))
	if err != nil {
		return []byte(digest)
	}
	return sum
}

func getPayload(key, value []byte) (*Payload, error) {
	raw, err := unseal(bucketPayloads, key, value)
	if err != nil {
		return nil, err
	}
	d := decoder{b: raw}
	p := &Payload{d.time(), d.string()}
	if d.bad {
		return nil, recordError(bucketPayloads, key, errRecord)
	}
	return p, nil
}

func (c *change) putPayload(digest string, p *Payload) error {
	bucket, key := c.tx.Bucket(bucketPayloads), payloadKey(digest)
	if bucket.Get(key) != nil { // of an answer that came at the same time
		return nil
	}
	b := c.arena.take(32 + len(p.URL))[:checksumSize]
	return put(bucket, key, appendString(appendTime(b, p.Date), p.URL))
}

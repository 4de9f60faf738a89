package state

import (
	"bytes"
	"encoding/base32"
	"encoding/binary"
	"slices"
	"strings"
	"time"

	"go.etcd.io/bbolt"
)

// A Payload names the first archived answer with a certain payload (body), by the answer's time
// and URL.
type Payload struct {
	Date time.Time
	URL  string
}

// Payload returns the first answer whose payload has the digest ("sha1:" and base 32), or nil
// if there is no such answer.
func (db *DB) Payload(digest string) (p *Payload, err error) {
	key := payloadKey(digest)
	db.queue.mu.Lock()
	p = db.queue.payloads[string(key)]
	db.queue.mu.Unlock()
	if p != nil {
		return p, nil
	}
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

// PutPayload stores an answer under the digest of its payload. The record of the answer must
// have been appended before, so that no commit has the payload without the record.
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
	p := d.payload()
	if d.bad {
		return nil, recordError(bucketPayloads, key, errRecord)
	}
	return &p, nil
}

func (d *decoder) payload() Payload { return Payload{d.time(), d.string()} }

// The payloads of one commit have unrelated digests. If each commit wrote them to
// bucketPayloads, nearly every payload would rewrite another page of the file. So each commit
// appends its payloads to a journal of their own, and keeps them in memory. When there are
// many, they are merged into bucketPayloads.

// A journaledPayload is a payload in a row of the journal of payloads: its key, and its value
// for bucketPayloads without the checksum. In the row the length of the key comes before the
// key.
type journaledPayload struct{ key, raw []byte }

func appendPayload(row, key []byte, p *Payload) []byte {
	row = append(binary.AppendUvarint(row, uint64(len(key))), key...)
	return appendString(appendTime(row, p.Date), p.URL)
}

// payloadsOf calls f for each payload in a row of the journal of payloads.
func payloadsOf(key, value []byte, f func(journaledPayload, Payload)) error {
	raw, err := unseal(bucketPayloadJournal, key, value)
	if err != nil {
		return err
	}
	for d := (decoder{b: raw}); len(d.b) > 0; {
		j := journaledPayload{key: d.lengthed(), raw: d.b}
		p := d.payload()
		if d.bad {
			return recordError(bucketPayloadJournal, key, errRecord)
		}
		j.raw = j.raw[:len(j.raw)-len(d.b)]
		f(j, p)
	}
	return nil
}

// loadPayloads reads the journal of payloads into memory.
func (db *DB) loadPayloads(tx *bbolt.Tx) error {
	return tx.Bucket(bucketPayloadJournal).ForEach(func(key, value []byte) error {
		return payloadsOf(key, value, func(j journaledPayload, p Payload) {
			db.book.payloads = append(db.book.payloads, string(j.key))
			db.queue.keepPayload(string(j.key), &p)
		})
	})
}

// keepPayloads writes the payloads of a group to their journal, and merges the journal if
// it is long, or if this is the last commit.
func (c *change) keepPayloads(g *commitGroup) error {
	if err := c.journalPayloads(g.ops); err != nil {
		return err
	}
	n := len(c.db.book.payloads) + len(c.payloads)
	if c.payloadsMerged = n > 0 && (n >= c.db.limits.Payloads || g.last); c.payloadsMerged {
		return c.mergePayloads()
	}
	return nil
}

func (c *change) journalPayloads(ops []op) error {
	journal := c.tx.Bucket(bucketPayloadJournal)
	journal.FillPercent = 1
	number := uint64(0)
	if last, _ := journal.Cursor().Last(); last != nil {
		number = binary.BigEndian.Uint64(last)
	}
	row := make([]byte, checksumSize)
	end := func() error {
		number++
		err := put(journal, rowKey(number), row)
		row = make([]byte, checksumSize) // a new row, because bbolt uses the other one until the commit
		return err
	}
	for _, o := range ops {
		if o.payload == nil {
			continue
		}
		key := payloadKey(o.digest)
		c.payloads = append(c.payloads, string(key))
		if row = appendPayload(row, key, o.payload); len(row) < c.db.limits.RowSize {
			continue
		}
		if err := end(); err != nil {
			return err
		}
	}
	if len(row) == checksumSize {
		return nil
	}
	return end()
}

// mergePayloads moves the payloads from their journal to bucketPayloads. If several answers
// have the same payload, it keeps the first.
func (c *change) mergePayloads() error {
	all := make([]journaledPayload, 0, len(c.db.book.payloads)+len(c.payloads))
	err := c.tx.Bucket(bucketPayloadJournal).ForEach(func(key, value []byte) error {
		return payloadsOf(key, value, func(j journaledPayload, _ Payload) { all = append(all, j) })
	})
	if err != nil {
		return err
	}
	slices.SortStableFunc(all, func(a, b journaledPayload) int { return bytes.Compare(a.key, b.key) })
	bucket := c.tx.Bucket(bucketPayloads)
	for _, j := range all {
		if bucket.Get(j.key) != nil {
			continue
		}
		if err := put(bucket, j.key, c.arena.value(j.raw)); err != nil {
			return err
		}
	}
	if err := c.tx.DeleteBucket(bucketPayloadJournal); err != nil {
		return err
	}
	_, err = c.tx.CreateBucket(bucketPayloadJournal)
	return err
}

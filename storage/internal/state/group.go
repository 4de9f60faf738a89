package state

import (
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"

	"github.com/permesso-crawler/permesso/frontier"
	"github.com/permesso-crawler/permesso/robots"
	"go.etcd.io/bbolt"
)

// A Log receives each group before the group is committed. It copies groups to another
// directory, where Apply replays them. Only the committer calls it, one call at a time.
type Log interface {
	// Append adds a group. Its first argument is the position of the previous group, 0 for
	// the first group. It returns the position of the new group, which must be larger and is
	// committed with the group. If Append returns an error, neither this group nor a later
	// group is committed, and all callers that submit get the error. Append must not keep
	// the slice group.
	Append(after uint64, group []byte) (position uint64, err error)
}

// An encoded group begins with its format (1) and the seed of the fingerprints (8). Then
// follow the operations in the order in which they take effect: kind (1), length, content.
//
//	c  a completion, as in a row of the journal
//	r  a snapshot of a robots.txt: its site after the length of the site, and JSON
//	v  a value: its key after the length of the key, and JSON
//	p  a payload that was archived: its digest after the length of the digest, time, URL
const (
	groupForm = 1
	groupHead = 1 + 8

	groupCompletion = 'c'
	groupSnapshot   = 'r'
	groupValue      = 'v'
	groupPayload    = 'p'
)

// encodeGroup encodes ops for a Log.
func encodeGroup(seed uint64, ops []op) ([]byte, error) {
	b := binary.BigEndian.AppendUint64([]byte{groupForm}, seed)
	for _, o := range ops {
		kind, content := byte(groupValue), appendString(nil, o.key)
		switch {
		case o.completion != nil:
			kind, content = groupCompletion, o.completion.raw
		case o.snapshot != nil:
			raw, err := json.Marshal(o.snapshot)
			if err != nil {
				return nil, err
			}
			kind, content = groupSnapshot, append(appendString(nil, string(o.site)), raw...)
		case o.payload != nil:
			kind = groupPayload
			content = append(appendTime(appendString(nil, o.digest), o.payload.Date), o.payload.URL...)
		default:
			content = append(content, o.value[checksumSize:]...)
		}
		b = append(binary.AppendUvarint(append(b, kind), uint64(len(content))), content...)
	}
	return b, nil
}

// decodeGroup decodes the result of encodeGroup.
func decodeGroup(seed uint64, group []byte) (ops []op, err error) {
	if len(group) < groupHead || group[0] != groupForm {
		return nil, errors.New("it is not of the form that this version reads")
	}
	if is := binary.BigEndian.Uint64(group[1:]); is != seed {
		return nil, fmt.Errorf("its fingerprints have the seed %x, those of this file %x: a file that is to be the same is made with Options.Seed", is, seed)
	}
	for d := (decoder{b: group[groupHead:]}); len(d.b) > 0; {
		kind, content := d.byte(), d.lengthed()
		o, ok := decodeOp(kind, content)
		if d.bad || !ok {
			return nil, fmt.Errorf("the part before byte %d of it is not as it was written", len(group)-len(d.b))
		}
		ops = append(ops, o)
	}
	return ops, nil
}

func decodeOp(kind byte, content []byte) (o op, ok bool) {
	content = append([]byte(nil), content...) // the caller of Apply may reuse its memory before the commit
	d := decoder{b: content}
	switch kind {
	case groupCompletion:
		e, ok := decodeCompletion(content)
		return op{completion: &e}, ok
	case groupSnapshot:
		o.site, o.snapshot = frontier.Site(d.string()), new(robots.Snapshot)
		return o, !d.bad && json.Unmarshal(d.b, o.snapshot) == nil && len(o.snapshot.Body) <= maxRulesBody
	case groupValue:
		o.key = d.string()
		o.value = append(make([]byte, checksumSize, checksumSize+len(d.b)), d.b...)
		return o, !d.bad && len(o.key) <= bbolt.MaxKeySize && json.Valid(d.b)
	case groupPayload:
		o.digest = d.string()
		o.payload = &Payload{Date: d.time(), URL: string(d.b)}
		key := payloadKey(o.digest)
		return o, !d.bad && len(key) > 0 && len(key) <= bbolt.MaxKeySize
	}
	return o, false
}

// Position returns the position of the last group that was committed: the position that
// Options.Log returned, or the one that was passed to Apply. It returns 0 if there was no
// such group.
func (db *DB) Position() uint64 {
	db.merging.Lock()
	defer db.merging.Unlock()
	return db.book.position
}

// An applied is a decoded group that another DB has committed.
type applied struct {
	ops      []op
	position uint64
}

// Apply replays a group of another DB, with the position that its Log returned. Groups must
// be applied in order; a group whose position is not larger than that of the group before is
// skipped. Applied groups are not passed to Options.Log.
//
// Apply does not wait until the group is on disk. When the group is on disk, Position
// returns at least position; Close waits for that. Before, Read may still return an entry
// that has ended in the group.
//
// If something other than an applied group was put since Open, Apply returns ErrNotAlone.
func (db *DB) Apply(position uint64, group []byte) error {
	ops, err := decodeGroup(db.seed, group)
	if err != nil {
		return fmt.Errorf("group %d: %w", position, err)
	}
	return db.enqueue(op{applied: &applied{ops, position}})
}

// tell passes a group to Options.Log, before the group is committed, and sets its position.
func (db *DB) tell(g *commitGroup) error {
	if db.opts.Log == nil || len(g.own) == 0 {
		return nil
	}
	group, err := encodeGroup(db.seed, g.own)
	if err != nil {
		return err
	}
	after := max(g.after, g.position)
	g.position, err = db.opts.Log.Append(after, group)
	if err == nil && g.position <= after {
		err = fmt.Errorf("Options.Log gave a group the position %d after %d", g.position, after)
	}
	return callbackError(err)
}

func putPosition(meta *bbolt.Bucket, position uint64) error {
	return put(meta, keyPosition, binary.BigEndian.AppendUint64(make([]byte, checksumSize, checksumSize+8), position))
}

// getPosition returns the position that was put last, or 0 if none was put.
func getPosition(meta *bbolt.Bucket) (uint64, error) {
	value := meta.Get(keyPosition)
	if value == nil {
		return 0, nil
	}
	raw, err := unseal(bucketMeta, keyPosition, value)
	d := decoder{b: raw}
	position := d.uint64()
	if err == nil {
		err = d.err()
	}
	return position, err
}

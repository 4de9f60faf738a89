package storage

import (
	"bytes"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"hash/crc32"
	"time"

	"github.com/permesso-crawler/permesso/frontier"
	"github.com/zeebo/xxh3"
)

// schemaVersion is the layout of the buckets below.
const schemaVersion = 1

// The buckets. Numbers in keys are big-endian, so that bytewise order is
// numeric order. A site is named by a number given when it is first seen, an
// entry by a number within its site; both start from 1. Values marked * are
// JSON behind a CRC-32C of it (bbolt does not notice flipped bytes).
var (
	// "version" -> schemaVersion; "seed" -> 8 bytes, key of the fingerprints;
	// "outputs" -> * committed length by file name; "restart" -> * time of the
	// last open after an unclean end; "put " and a key -> *, by Put
	bucketMeta = []byte("meta")
	// site -> site number (4)
	bucketSites = []byte("sites")
	// site number (4) -> * siteRecord
	bucketStates = []byte("states")
	// site number (4), fingerprint of the URL's key (8) -> entry number (4).
	// Two URLs of one site are one if their fingerprints are equal: with a
	// million URLs on a site the chance that any two are is 3e-8.
	bucketSeen = []byte("seen")
	// site number (4), entry number (4) -> * entryRecord
	bucketEntries = []byte("entries")
	// site number (4), priority (1), entry number (4) -> nothing
	bucketReady = []byte("ready")
	// site number (4), due in Unix milliseconds (8), entry number (4) -> nothing
	bucketWaiting = []byte("waiting")
	// site number (4), entry number (4) -> * frontier.Fate
	bucketFates = []byte("fates")
	// site, 0, time of the attempt in Unix nanoseconds (8) -> * snapshotRecord
	bucketSnapshots = []byte("snapshots")
	// SHA-256 of a robots.txt (32) -> its bytes, gzip
	bucketBodies = []byte("bodies")
)

var buckets = [][]byte{
	bucketMeta, bucketSites, bucketStates, bucketSeen, bucketEntries, bucketReady,
	bucketWaiting, bucketFates, bucketSnapshots, bucketBodies,
}

var (
	keyOutputs = []byte("outputs")
	keyRestart = []byte("restart")
)

type siteNum uint32

// siteRecord is what is kept of a site.
type siteRecord struct {
	Site    frontier.Site
	Clocks  frontier.Clocks
	Given   frontier.Fate
	Entries uint32 // numbers given
	Queued  int    // entries that have not ended
	Ready   int    // rows in bucketReady
	Pages   int
}

// entryRecord is an entry without what its key says.
type entryRecord struct {
	Target string
	Via    string `json:",omitempty"`
	Hops   string `json:",omitempty"`
	Tag    string `json:",omitempty"`
	Depth  int    `json:",omitempty"`
	Tries  int    `json:",omitempty"`
	Due    int64  `json:",omitempty"` // Unix milliseconds, if it stands in bucketWaiting
}

func (r *entryRecord) entry(site frontier.Site, num uint32) (frontier.Entry, error) {
	u, err := frontier.ParseURL(string(site) + r.Target)
	if err != nil {
		return frontier.Entry{}, err
	}
	e := frontier.Entry{URL: u, Via: r.Via, Hops: r.Hops, Tag: r.Tag, Depth: r.Depth, Tries: r.Tries, ID: uint64(num)}
	if r.Due != 0 {
		e.Due = time.UnixMilli(r.Due)
	}
	return e, nil
}

func recordOf(e frontier.Entry) *entryRecord {
	return &entryRecord{Target: e.URL.Target(), Via: e.Via, Hops: e.Hops, Tag: e.Tag, Depth: e.Depth}
}

func (n siteNum) key() []byte { return binary.BigEndian.AppendUint32(nil, uint32(n)) }

func entryKey(n siteNum, num uint32) []byte {
	return binary.BigEndian.AppendUint32(n.key(), num)
}

func seenKey(n siteNum, fp uint64) []byte {
	return binary.BigEndian.AppendUint64(n.key(), fp)
}

func readyKey(n siteNum, priority uint8, num uint32) []byte {
	return binary.BigEndian.AppendUint32(append(n.key(), priority), num)
}

// dueMillis rounds up: an entry must not come back before it is due.
func dueMillis(t time.Time) int64 { return t.Add(time.Millisecond - 1).UnixMilli() }

func waitingKey(n siteNum, due int64, num uint32) []byte {
	return binary.BigEndian.AppendUint32(binary.BigEndian.AppendUint64(n.key(), uint64(due)), num)
}

func snapshotKey(site frontier.Site, t time.Time) []byte {
	return binary.BigEndian.AppendUint64(append([]byte(site), 0), uint64(t.UnixNano()))
}

// lastNum is the entry number at the end of a key.
func lastNum(key []byte) uint32 { return binary.BigEndian.Uint32(key[len(key)-4:]) }

func fingerprint(u frontier.URL, seed uint64) uint64 {
	return xxh3.HashStringSeed(u.Key(), seed)
}

var castagnoli = crc32.MakeTable(crc32.Castagnoli)

var errChecksum = errors.New("checksum does not fit the record")

// encode is JSON behind its checksum.
func encode(v any) ([]byte, error) {
	b := bytes.NewBuffer(make([]byte, 4, 256))
	enc := json.NewEncoder(b)
	enc.SetEscapeHTML(false)
	if err := enc.Encode(v); err != nil {
		return nil, err
	}
	out := bytes.TrimSuffix(b.Bytes(), []byte("\n"))
	binary.BigEndian.PutUint32(out, crc32.Checksum(out[4:], castagnoli))
	return out, nil
}

func decode(bucket, key, value []byte, v any) error {
	if len(value) < 4 || crc32.Checksum(value[4:], castagnoli) != binary.BigEndian.Uint32(value) {
		return fmt.Errorf("bucket %s, key %x: %w", bucket, key, errChecksum)
	}
	if err := json.Unmarshal(value[4:], v); err != nil {
		return fmt.Errorf("bucket %s, key %x: %w", bucket, key, err)
	}
	return nil
}

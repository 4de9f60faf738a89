package state

import (
	"encoding/binary"
	"encoding/json"
	"time"

	"github.com/permesso-crawler/permesso/frontier"
	"github.com/zeebo/xxh3"
	"go.etcd.io/bbolt"
)

// schemaVersion is the layout of the buckets below. This version also reads files with layouts
// from oldestLayout on. If an old layout has no room for a value, the value was the same in all
// files of that layout, and this version uses that value. A run that continues a crawl of an
// old layout changes the file to schemaVersion.
const (
	oldestLayout  = 10
	schemaVersion = 10
)

// The buckets. Numbers in keys are big-endian, so that bytewise order is numeric order. A site
// is named by a number given when it is first seen, an entry by a number within its site. Both
// kinds of numbers start from 1. All values begin with a checksum of key and value (codec.go),
// except those of "version" and "seed" and those of bucketBodies. Values marked * are JSON; the
// others are laid out in records.go and journal.go.
var (
	// "version" -> schemaVersion (8)
	// "seed" -> key of the fingerprints (8)
	// "commit" -> number of the last commit (8), number of the last row that was ever
	//   in the journal (8), time of that commit by the clock at that time (8)
	// "outputs" -> * marks of the files that grow, by name
	// "index" -> * mark of index.cdxj, and the mark that index.part had when
	//   index.cdxj was made
	// "open" -> * true, while a process holds the crawl, or after it was killed
	// "position" -> not read by this version; an earlier version may have written it
	// "restart" -> * time of the last open after an unclean end
	// "put " and a key -> * the value that Put stored under the key
	bucketMeta = []byte("meta")

	// row number (8) -> completions, until all completions of the row are merged into
	// the buckets below
	bucketJournal = []byte("journal")

	// site -> site number (4)
	bucketNames = []byte("names")
	// site number (4) -> siteRecord
	bucketStates = []byte("states")

	// The rows of a site are next to each other, so that a small site is in one leaf:
	// site number (4), one of
	//   kindSeen, first fingerprint (8) -> block of fingerprints (blocks.go)
	//   kindReady, rank (1), entry number (4) -> entry
	//   kindWaiting, due in Unix milliseconds (8), entry number (4) -> entry
	//   kindEnded, entry number (4) -> entry, fate, place of its answer (places.go)
	bucketEntries = []byte("entries")

	// entry ID (8) -> nothing: an entry that was put aside (frontier.Code.Aside), which
	// Requeue may queue again
	bucketAside = []byte("aside")

	// name of a clock that several sites share -> its due time
	bucketCommon = []byte("common")

	// site or URL of a license document, a zero byte, time of the attempt in Unix
	// nanoseconds (8) -> * snapshotRecord
	// site or URL of a license document, a zero byte -> time of the snapshot that was put
	// last (8), if that snapshot does not have the latest time
	bucketSnapshots = []byte("snapshots")
	// number of a WARC file with answers of ended entries (4) -> its name
	bucketArchives = []byte("archives")
	// path of a WARC file that does not grow any more -> * mark
	bucketFinished = []byte("finished")
	// SHA-1 of a payload that was archived (20) -> date and URL of its record
	bucketPayloads = []byte("payloads")
	// row number (8) -> payloads, until they are merged into bucketPayloads
	bucketPayloadJournal = []byte("payload journal")
	// SHA-256 of a robots.txt or license (32) -> its bytes, gzip, without a checksum
	bucketBodies = []byte("bodies")
)

var buckets = [][]byte{
	bucketMeta, bucketJournal, bucketNames, bucketStates, bucketEntries, bucketCommon, bucketSnapshots, bucketBodies,
	bucketPayloads, bucketPayloadJournal, bucketAside, bucketFinished, bucketArchives,
}

var (
	keyVersion = []byte("version")
	keySeed    = []byte("seed")
	keyCommit  = []byte("commit")
	keyOutputs = []byte("outputs")
	keyRestart = []byte("restart")
	keyIndex   = []byte("index")
	keyOpen    = []byte("open")
)

// The kinds of rows in bucketEntries.
const (
	kindSeen    = 's'
	kindReady   = 'r'
	kindWaiting = 'w'
	kindEnded   = 'e'
)

type siteNum uint32

func (n siteNum) key() []byte { return binary.BigEndian.AppendUint32(nil, uint32(n)) }

// prefix returns the beginning of the keys of all rows of one kind of the site in
// bucketEntries.
func (n siteNum) prefix(kind byte) []byte {
	return append(binary.BigEndian.AppendUint32(make([]byte, 0, 24), uint32(n)), kind)
}

// seenKey returns the key of a block of fingerprints. A fingerprint identifies a URL of a site:
// with a million URLs, the probability that any two have the same fingerprint is 3e-8.
func seenKey(n siteNum, fp uint64) []byte {
	return binary.BigEndian.AppendUint64(n.prefix(kindSeen), fp)
}

func readyKey(n siteNum, rank uint8, num uint32) []byte {
	return binary.BigEndian.AppendUint32(append(n.prefix(kindReady), rank), num)
}

// dueMillis returns t in Unix milliseconds, rounded up, because an entry must not be read
// before it is due.
func dueMillis(t time.Time) int64 { return t.Add(time.Millisecond - 1).UnixMilli() }

func waitingKey(n siteNum, due int64, num uint32) []byte {
	return binary.BigEndian.AppendUint32(binary.BigEndian.AppendUint64(n.prefix(kindWaiting), uint64(due)), num)
}

func endedKey(n siteNum, num uint32) []byte {
	return binary.BigEndian.AppendUint32(n.prefix(kindEnded), num)
}

// The functions below return parts of keys in bucketEntries.
func keySite(key []byte) siteNum  { return siteNum(binary.BigEndian.Uint32(key)) }
func readyRank(k []byte) uint8    { return k[5] }
func waitingDue(key []byte) int64 { return int64(binary.BigEndian.Uint64(key[5:])) }
func lastNum(key []byte) uint32   { return binary.BigEndian.Uint32(key[len(key)-4:]) }

// entryID returns the ID of an entry: the number of its site, and its number in that site.
func entryID(n siteNum, num uint32) uint64 { return uint64(n)<<32 | uint64(num) }

func splitID(id uint64) (siteNum, uint32) { return siteNum(id >> 32), uint32(id) }

func rowKey(n uint64) []byte { return binary.BigEndian.AppendUint64(nil, n) }

func snapshotKey(site frontier.Site, t time.Time) []byte {
	return binary.BigEndian.AppendUint64(lastPutKey(site), uint64(t.UnixNano()))
}

// lastPutKey returns the key that names the snapshot of a site that was put last. It is also
// the prefix of all keys of the site's snapshots.
func lastPutKey(site frontier.Site) []byte { return append([]byte(site), 0) }

// fingerprint returns the hash of an entry's key (frontier.Entry.Key) that identifies the
// entry.
func fingerprint(key string, seed uint64) uint64 {
	return max(1, xxh3.HashStringSeed(key, seed)) // never 0, because 0 means that there is no entry
}

// encode returns v as JSON, after room for the checksum.
func encode(v any) ([]byte, error) {
	raw, err := json.Marshal(v)
	if err != nil {
		return nil, err
	}
	return append(make([]byte, checksumSize, checksumSize+len(raw)), raw...), nil
}

func putJSON(bucket *bbolt.Bucket, key []byte, v any) error {
	raw, err := encode(v)
	if err != nil {
		return err
	}
	return put(bucket, key, raw)
}

func decode(bucket, key, value []byte, v any) error {
	raw, err := unseal(bucket, key, value)
	if err == nil {
		if err = json.Unmarshal(raw, v); err != nil {
			err = recordError(bucket, key, err)
		}
	}
	return err
}

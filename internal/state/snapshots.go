package state

import (
	"bytes"
	"compress/gzip"
	"crypto/sha256"
	"fmt"
	"io"
	"strings"
	"sync"
	"time"

	"github.com/permesso-crawler/permesso/frontier"
	"github.com/permesso-crawler/permesso/robots"
	"go.etcd.io/bbolt"
)

// maxRulesBody is the length of the longest robots.txt that is stored and read, in bytes. It is
// many times the limit of fetching. This length bounds the memory that reading damaged data
// needs.
const maxRulesBody = 16 << 20

// A snapshotRecord is the stored form of a snapshot. The body is stored separately, once for
// all snapshots with the same body. Snapshot.Copy is stored as another snapshot of the site.
type snapshotRecord struct {
	Snapshot robots.Snapshot
	Body     []byte    `json:",omitempty"` // key of the body in bucketBodies
	Copy     time.Time `json:",omitzero"`  // when the snapshot in Snapshot.Copy was fetched
}

// Snapshot implements fetch.Snapshots. It returns the last snapshot of the site that was put.
func (db *DB) Snapshot(site frontier.Site) (*robots.Snapshot, error) {
	db.queue.mu.Lock()
	s := db.queue.snapshots[site]
	db.queue.mu.Unlock()
	if s != nil {
		return s, nil
	}
	err := db.file.view(func(tx *bbolt.Tx) error {
		snapshots := tx.Bucket(bucketSnapshots)
		key := newestSnapshot(snapshots.Cursor(), site)
		if lastKey := lastPutKey(site); snapshots.Get(lastKey) != nil {
			at, err := unseal(bucketSnapshots, lastKey, snapshots.Get(lastKey))
			if err != nil {
				return err
			}
			key = append(lastKey, at...)
		}
		if key == nil {
			return nil
		}
		var err error
		s, err = getSnapshot(tx, site, key, snapshots.Get(key))
		return err
	})
	return s, err
}

// newestSnapshot returns the key of the snapshot of a site with the latest time, or nil.
func newestSnapshot(c *bbolt.Cursor, site frontier.Site) []byte {
	last := c.Prev
	if key, _ := c.Seek(append([]byte(site), 1)); key == nil {
		last = c.Last
	}
	if key, _ := last(); bytes.HasPrefix(key, lastPutKey(site)) {
		return key
	}
	return nil
}

// PutSnapshot implements fetch.Snapshots. The crawl keeps all snapshots, not only the last one.
func (db *DB) PutSnapshot(site frontier.Site, s *robots.Snapshot) error {
	if len(s.Body) > maxRulesBody {
		return fmt.Errorf("robots.txt of %s: it is longer than %d bytes", site, maxRulesBody)
	}
	return db.enqueue(op{snapshot: s, site: site})
}

// License implements fetch.Snapshots. It returns the last snapshot of u that was put.
func (db *DB) License(u frontier.URL) (*robots.Snapshot, error) { return db.Snapshot(licenseAt(u)) }

// PutLicense implements fetch.Snapshots. The crawl keeps all snapshots, not only the last one.
func (db *DB) PutLicense(u frontier.URL, s *robots.Snapshot) error {
	if len(s.Body) > maxRulesBody {
		return fmt.Errorf("license %s: it is longer than %d bytes", u, maxRulesBody)
	}
	return db.enqueue(op{snapshot: s, site: licenseAt(u)})
}

// licenseAt returns the key under which a license document is stored, where other snapshots
// have a site: the document's URL, which differs from the name of every site because it has a
// path.
func licenseAt(u frontier.URL) frontier.Site { return frontier.Site(u.Key()) }

func isLicense(of frontier.Site) bool {
	_, path, _ := strings.Cut(string(of), "://")
	return strings.Contains(path, "/")
}

// copyOf returns the name of a document for error messages. of is the site of a robots.txt, or
// the URL of a license document.
func copyOf(of frontier.Site) string {
	if isLicense(of) {
		return "license " + string(of)
	}
	return "robots.txt of " + string(of)
}

// putSnapshot adds the last snapshot of a site. If the time of the snapshot is not the latest,
// because the wall clock was once ahead, it also stores that time under lastPutKey.
func putSnapshot(tx *bbolt.Tx, site frontier.Site, s *robots.Snapshot) error {
	if err := addSnapshot(tx, site, s); err != nil {
		return err
	}
	snapshots := tx.Bucket(bucketSnapshots)
	key, lastKey := snapshotKey(site, s.Fetched), lastPutKey(site)
	if !bytes.Equal(newestSnapshot(snapshots.Cursor(), site), key) {
		return put(snapshots, lastKey, append(make([]byte, checksumSize), key[len(lastKey):]...))
	}
	return snapshots.Delete(lastKey)
}

func addSnapshot(tx *bbolt.Tx, site frontier.Site, s *robots.Snapshot) error {
	r := snapshotRecord{Snapshot: *s}
	r.Snapshot.Body, r.Snapshot.Copy = nil, nil
	if len(s.Body) > 0 {
		sum := sha256.Sum256(s.Body)
		r.Body = sum[:]
		bodies := tx.Bucket(bucketBodies)
		if bodies.Get(r.Body) == nil {
			var b bytes.Buffer
			z := gzip.NewWriter(&b)
			z.Write(s.Body)
			if err := z.Close(); err != nil {
				return err
			}
			if err := bodies.Put(r.Body, b.Bytes()); err != nil {
				return err
			}
		}
	}
	snapshots := tx.Bucket(bucketSnapshots)
	if s.Copy != nil {
		r.Copy = s.Copy.Fetched
		if snapshots.Get(snapshotKey(site, r.Copy)) == nil {
			if err := addSnapshot(tx, site, s.Copy); err != nil {
				return err
			}
		}
	}
	raw, err := encode(&r)
	if err != nil {
		return err
	}
	return put(snapshots, snapshotKey(site, s.Fetched), raw)
}

// gunzips are gzip readers for reuse. They are reused because they need much memory.
var gunzips = sync.Pool{New: func() any { return new(gzip.Reader) }}

func getSnapshot(tx *bbolt.Tx, site frontier.Site, key, raw []byte) (*robots.Snapshot, error) {
	var r snapshotRecord
	if err := decode(bucketSnapshots, key, raw, &r); err != nil {
		return nil, err
	}
	s := &r.Snapshot
	if r.Body != nil {
		z := gunzips.Get().(*gzip.Reader)
		err := z.Reset(bytes.NewReader(tx.Bucket(bucketBodies).Get(r.Body)))
		if err == nil {
			s.Body, err = io.ReadAll(io.LimitReader(z, maxRulesBody+1))
		}
		gunzips.Put(z)
		if len(s.Body) > maxRulesBody {
			err = fmt.Errorf("it is longer than %d bytes", maxRulesBody)
		}
		if err != nil {
			return nil, fmt.Errorf("bucket %s, key %x: %w", bucketBodies, r.Body, err)
		}
	}
	if !r.Copy.IsZero() {
		key := snapshotKey(site, r.Copy)
		var err error
		if s.Copy, err = getSnapshot(tx, site, key, tx.Bucket(bucketSnapshots).Get(key)); err != nil {
			return nil, err
		}
	}
	return s, nil
}

package fetch

import (
	"encoding/json"
	"errors"
	"fmt"
	"iter"
	"os"
	"path/filepath"
	"time"

	"github.com/permesso-crawler/permesso/frontier"
	"github.com/permesso-crawler/permesso/robots"
	"go.etcd.io/bbolt"
	bolterrors "go.etcd.io/bbolt/errors"
)

// A clientState keeps the clocks of sites and the copies of robots.txt of a Client in a file. It
// implements Snapshots. A method that writes returns after its data is on disk. Several goroutines
// that write may share one transaction.
//
// The values in all buckets are JSON. The buckets are:
//
//	meta      "version" -> clientVersion
//	          "open" -> the time when the file was opened; removed when it is closed
//	sites     site -> frontier.SiteState
//	common    name of a clock -> time
//	robots    site -> robots.Snapshot
//	licenses  key of a URL -> robots.Snapshot
type clientState struct {
	bolt      *bbolt.DB
	restarted time.Time // when the last process opened the file, if it did not close the file; otherwise zero
}

// clientFile is the name of the file in ClientOptions.Dir.
const clientFile = "client.db"

const clientVersion = 1

var (
	bucketMeta     = []byte("meta")
	bucketSites    = []byte("sites")
	bucketCommon   = []byte("common")
	bucketRobots   = []byte("robots")
	bucketLicenses = []byte("licenses")

	keyVersion = []byte("version")
	keyOpen    = []byte("open")
)

// openClientState opens the file in dir. If the file or dir is missing, it makes them.
func openClientState(dir string) (s *clientState, err error) {
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return nil, err
	}
	path := filepath.Join(dir, clientFile)
	defer func() {
		if err == nil {
			return
		}
		switch {
		case errors.Is(err, bolterrors.ErrTimeout):
			err = fmt.Errorf("fetch: %s is in use by another Client: give each a directory of its own", path)
		default:
			err = fmt.Errorf("fetch: %s: %w", path, err)
		}
		if s != nil {
			s.bolt.Close()
		}
	}()
	err = unpanicked(func() error {
		db, err := bbolt.Open(path, 0o644, &bbolt.Options{Timeout: 100 * time.Millisecond})
		if err != nil {
			return err
		}
		s = &clientState{bolt: db}
		return db.Update(s.begin)
	})
	return s, err
}

// begin makes the buckets, checks the version, and sets restarted.
func (s *clientState) begin(tx *bbolt.Tx) error {
	for _, name := range [][]byte{bucketMeta, bucketSites, bucketCommon, bucketRobots, bucketLicenses} {
		if _, err := tx.CreateBucketIfNotExists(name); err != nil {
			return err
		}
	}
	version := clientVersion
	if _, err := getJSON(tx, bucketMeta, keyVersion, &version); err != nil {
		return err
	}
	if version != clientVersion {
		return fmt.Errorf("it has version %d, this program reads version %d", version, clientVersion)
	}
	if tx.Bucket(bucketMeta).Get(keyOpen) != nil {
		s.restarted = time.Now()
	}
	return putJSON(tx, bucketMeta, keyVersion, version)
}

// mark stores in the file that it is open. It is called before the first request.
func (s *clientState) mark() error {
	return s.write(func(tx *bbolt.Tx) error { return putJSON(tx, bucketMeta, keyOpen, time.Now()) })
}

// close removes the mark, and closes the file.
func (s *clientState) close() error {
	err := unpanicked(func() error {
		return s.bolt.Update(func(tx *bbolt.Tx) error { return tx.Bucket(bucketMeta).Delete(keyOpen) })
	})
	return errors.Join(err, s.bolt.Close())
}

// unpanicked calls f. If bbolt panics because the file is damaged, unpanicked returns the panic as
// an error.
func unpanicked(f func() error) (err error) {
	defer func() {
		if v := recover(); v != nil {
			err = damagedState(v)
		}
	}()
	return f()
}

func damagedState(why any) error {
	return fmt.Errorf("it is damaged (%v): remove it, and wait for the longest pause of your sites, because it had their clocks", why)
}

func getJSON(tx *bbolt.Tx, bucket, key []byte, v any) (ok bool, err error) {
	raw := tx.Bucket(bucket).Get(key)
	if raw == nil {
		return false, nil
	}
	if err := json.Unmarshal(raw, v); err != nil {
		return false, damagedState(fmt.Errorf("the value of %q in %s is not valid: %w", key, bucket, err))
	}
	return true, nil
}

func putJSON(tx *bbolt.Tx, bucket, key []byte, v any) error {
	raw, err := json.Marshal(v)
	if err != nil {
		return err
	}
	return tx.Bucket(bucket).Put(key, raw)
}

// get reads a value into v. ok is false if there is no such value.
func (s *clientState) get(bucket, key []byte, v any) (ok bool, err error) {
	err = unpanicked(func() error {
		return s.bolt.View(func(tx *bbolt.Tx) (err error) {
			ok, err = getJSON(tx, bucket, key, v)
			return err
		})
	})
	return ok, err
}

// write calls f with a transaction, which it may share with other goroutines. It returns when
// the transaction is on disk.
func (s *clientState) write(f func(tx *bbolt.Tx) error) error {
	return unpanicked(func() error { return s.bolt.Batch(f) })
}

// each iterates over the values of a bucket, converted by f. The body of the loop must not use s,
// because it runs inside a transaction.
func each[V, T any](s *clientState, bucket []byte, f func(key string, value V) T) iter.Seq2[T, error] {
	return func(yield func(T, error) bool) {
		left := errors.New("the loop was left")
		err := unpanicked(func() error {
			return s.bolt.View(func(tx *bbolt.Tx) error {
				return tx.Bucket(bucket).ForEach(func(key, _ []byte) error {
					var v V
					if _, err := getJSON(tx, bucket, key, &v); err != nil {
						return err
					}
					if !yield(f(string(key), v), nil) {
						return left
					}
					return nil
				})
			})
		})
		if err != nil && !errors.Is(err, left) {
			var none T
			yield(none, err)
		}
	}
}

func (s *clientState) sites() iter.Seq2[frontier.SiteState, error] {
	return each(s, bucketSites, func(_ string, st frontier.SiteState) frontier.SiteState { return st })
}

func (s *clientState) common() iter.Seq2[frontier.CommonClock, error] {
	return each(s, bucketCommon, func(name string, due time.Time) frontier.CommonClock {
		return frontier.CommonClock{Name: name, Due: due}
	})
}

// state returns the state of a site, with zero clocks if the site is not known.
func (s *clientState) state(of frontier.Site) (frontier.SiteState, error) {
	st := frontier.SiteState{Site: of}
	_, err := s.get(bucketSites, []byte(of), &st)
	return st, err
}

// know stores a site with zero clocks, unless the file already has this site.
func (s *clientState) know(of frontier.Site) error {
	var st frontier.SiteState
	if ok, err := s.get(bucketSites, []byte(of), &st); ok || err != nil {
		return err
	}
	return s.put(frontier.SiteState{Site: of}, nil)
}

// put stores the state of a site, and common, the clocks that this site shares with others.
func (s *clientState) put(st frontier.SiteState, common []frontier.CommonClock) error {
	return s.write(func(tx *bbolt.Tx) error {
		for _, c := range common {
			if err := putJSON(tx, bucketCommon, []byte(c.Name), c.Due); err != nil {
				return err
			}
		}
		return putJSON(tx, bucketSites, []byte(st.Site), st)
	})
}

func (s *clientState) snapshot(bucket []byte, key string) (*robots.Snapshot, error) {
	snapshot := new(robots.Snapshot)
	if ok, err := s.get(bucket, []byte(key), snapshot); !ok || err != nil {
		return nil, err
	}
	return snapshot, nil
}

func (s *clientState) putSnapshot(bucket []byte, key string, snapshot *robots.Snapshot) error {
	return s.write(func(tx *bbolt.Tx) error { return putJSON(tx, bucket, []byte(key), snapshot) })
}

// Snapshot implements Snapshots.
func (s *clientState) Snapshot(of frontier.Site) (*robots.Snapshot, error) {
	return s.snapshot(bucketRobots, string(of))
}

// PutSnapshot implements Snapshots.
func (s *clientState) PutSnapshot(of frontier.Site, snapshot *robots.Snapshot) error {
	return s.putSnapshot(bucketRobots, string(of), snapshot)
}

// License implements Snapshots.
func (s *clientState) License(u frontier.URL) (*robots.Snapshot, error) {
	return s.snapshot(bucketLicenses, u.Key())
}

// PutLicense implements Snapshots.
func (s *clientState) PutLicense(u frontier.URL, snapshot *robots.Snapshot) error {
	return s.putSnapshot(bucketLicenses, u.Key(), snapshot)
}

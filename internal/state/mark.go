package state

import (
	"hash/crc32"

	"github.com/permesso-crawler/permesso/internal/digest"
	"go.etcd.io/bbolt"
)

// A Mark is the length of a file and the CRC-32C of the file's first Length bytes. It is
// updated as the file grows, so that a run can append to the file without reading it. The CRC
// detects accidental changes, but not intended ones.
type Mark struct {
	Length int64  `json:"length"`
	Sum    uint32 `json:"crc32c,omitempty"`
	Part   bool   `json:"part,omitempty"` // a run did not write this file, so the file does not cover the whole crawl
	Lost   bool   `json:"lost,omitempty"` // the file is being rebuilt

	// SHA256 is the state of the SHA-256 of the same bytes, which the next run continues
	// (digest.Resume). It is empty if it is not known.
	SHA256 string `json:"sha256,omitempty"`
}

// Digest returns the SHA-256 of the first Length bytes of the file, or nil if it is not known.
func (m Mark) Digest() []byte { return digest.Of(m.SHA256, m.Length) }

// Of returns a copy of m that has the length and the checksums of o.
func (m Mark) Of(o Mark) Mark {
	m.Length, m.Sum, m.SHA256 = o.Length, o.Sum, o.SHA256
	return m
}

// Marks are the marks of files, by the paths of the files in the directory of the crawl.
type Marks map[string]Mark

// Expect records in m whether the run that begins writes a file. It sets Mark.Part of the file
// if this run does not write it, or an earlier run did not. first says whether this run is the
// first.
func (m Marks) Expect(name string, written, first bool) {
	known, ok := m[name]
	known.Part = known.Part || !written || !ok && !first
	m[name] = known
}

// Plus returns the mark that a file with the mark m has after p was appended, without the
// SHA-256.
func (m Mark) Plus(p []byte) Mark {
	m.Length += int64(len(p))
	m.Sum = crc32.Update(m.Sum, castagnoli, p)
	m.SHA256 = ""
	return m
}

// Same reports whether two marks have the same length and CRC-32C.
func (m Mark) Same(o Mark) bool { return m.Length == o.Length && m.Sum == o.Sum }

// IndexMarks are the mark of index.cdxj, and the mark that index.part had when index.cdxj was
// made from its lines.
type IndexMarks struct {
	Part  Mark `json:"part"`
	Index Mark `json:"index"`
}

func putMarks(meta *bbolt.Bucket, now Marks) error { return putJSON(meta, keyOutputs, now) }

func putIndex(meta *bbolt.Bucket, m IndexMarks) error { return putJSON(meta, keyIndex, m) }

func putFinished(tx *bbolt.Tx, name string, m Mark) error {
	return putJSON(tx.Bucket(bucketFinished), []byte(name), m)
}

// getMarks reads the marks of the files that grow, and of the index, from bucketMeta.
func getMarks(meta *bbolt.Bucket) (growing Marks, index IndexMarks, err error) {
	growing = Marks{}
	if raw := meta.Get(keyOutputs); raw != nil {
		if err := decode(bucketMeta, keyOutputs, raw, &growing); err != nil {
			return nil, index, err
		}
	}
	if raw := meta.Get(keyIndex); raw != nil {
		err = decode(bucketMeta, keyIndex, raw, &index)
	}
	return growing, index, err
}

// An Outline reads and replaces marks and values in the state of a crawl. No process may run
// the crawl meanwhile.
type Outline struct {
	Marks Marks      // marks of the files to which a run appends
	Index IndexMarks // marks of the index and of index.part
	bolt  *bbolt.DB
}

// OpenOutline checks all pages of the state of the crawl in dir, and opens it. It fails with
// an *InUseError, a *DamagedError, a *VersionError, or an error of the file system.
func OpenOutline(dir string) (o *Outline, err error) {
	bolt, err := openChecked(dir, false)
	if err != nil {
		return nil, err
	}
	o = &Outline{bolt: bolt}
	path := bolt.Path()
	err = bolt.View(func(tx *bbolt.Tx) (err error) {
		if _, err := checkBuckets(tx, path); err != nil {
			return err
		}
		o.Marks, o.Index, err = getMarks(tx.Bucket(bucketMeta))
		return err
	})
	if err != nil {
		bolt.Close()
		return nil, damaged(path, err, nil)
	}
	return o, nil
}

// PutMarks stores new marks of the files to which a run appends, and of the index.
func (o *Outline) PutMarks(growing Marks, index IndexMarks) error {
	return updateMarks(o.bolt, growing, index)
}

// Close closes the state.
func (o *Outline) Close() error { return o.bolt.Close() }

// PutMarks stores new marks of the files to which a run appends, and of the index. It must be
// called before Begin or after the last commit.
func (db *DB) PutMarks(growing Marks, index IndexMarks) error {
	return db.file.guarded(true, func() error { return updateMarks(db.file.bolt, growing, index) })
}

func updateMarks(bolt *bbolt.DB, growing Marks, index IndexMarks) error {
	return bolt.Update(func(tx *bbolt.Tx) error {
		meta := tx.Bucket(bucketMeta)
		if err := putMarks(meta, growing); err != nil {
			return err
		}
		return putIndex(meta, index)
	})
}

// All returns the marks of all files. Unlike Files, it also works if the last run did not
// close the state.
func (o *Outline) All() (f Files, err error) {
	err = o.bolt.View(func(tx *bbolt.Tx) (err error) {
		f, err = getFiles(tx)
		return err
	})
	return f, damaged(o.bolt.Path(), err, nil)
}

// Put stores a value of the crawl under key, as DB.Put does.
func (o *Outline) Put(key string, value any) error {
	return o.bolt.Update(func(tx *bbolt.Tx) error {
		return putJSON(tx.Bucket(bucketMeta), []byte(valuePrefix+key), value)
	})
}

// Get reads into value what was stored under key by Put. If there is no such value, Get leaves
// value unchanged and returns nil.
func (o *Outline) Get(key string, value any) error {
	err := o.bolt.View(func(tx *bbolt.Tx) error {
		k := []byte(valuePrefix + key)
		raw := tx.Bucket(bucketMeta).Get(k)
		if raw == nil {
			return nil
		}
		return decode(bucketMeta, k, raw, value)
	})
	return damaged(o.bolt.Path(), err, nil)
}

// Unclean reports whether the last run did not close the state.
func (o *Outline) Unclean() (unclean bool, err error) {
	err = o.bolt.View(func(tx *bbolt.Tx) error {
		unclean = tx.Bucket(bucketMeta).Get(keyOpen) != nil
		return nil
	})
	return unclean, err
}

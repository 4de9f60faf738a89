package export

import (
	"context"
	"errors"
	"fmt"
	"hash/maphash"
	"io"
	"os"
	"path/filepath"
	"time"

	"github.com/permesso-crawler/permesso/storage"
	"github.com/permesso-crawler/permesso/storage/warc"
)

// referredFile is the name of the WARC file that has the answers of crawls before this one
// which records of this one repeat.
const referredFile = "referred-to.warc.gz"

// A referred is that file while it is made: the records are copied as they are stored.
type referred struct {
	s    *Source
	dir  string // of the crawl
	past *storage.Past
	file *os.File
	seed maphash.Seed
	has  map[uint64]bool // places of the records that are in it, 16 bytes for each
}

// referredTo copies the answers of crawls before this one which its records repeat into a
// WARC file in a temporary directory, so that the crawl can be replayed alone. It is ""
// where there are none. What cannot be found is told as damage. The caller removes the
// directory of the file.
func (s *Source) referredTo(ctx context.Context) (path string, err error) {
	dir := filepath.Dir(filepath.Dir(s.WARCs[0]))
	if storage.Previous(dir) == "" {
		return "", nil
	}
	r := &referred{s: s, dir: dir, past: storage.PastOf(dir), seed: maphash.MakeSeed(), has: map[uint64]bool{}}
	defer func() {
		if r.file == nil {
			return
		}
		if err = errors.Join(err, r.file.Close()); err != nil {
			os.RemoveAll(filepath.Dir(r.file.Name()))
			path = ""
		}
	}()
	err = s.records(ctx, r.record)
	if r.file != nil {
		path = r.file.Name()
	}
	return path, err
}

// record looks at a record of the crawl.
func (r *referred) record(rec *warc.Record, name string) error {
	if rec.Type != warc.Revisit || rec.Header.Get(warc.FieldRefersToDate) == "" {
		return nil
	}
	c, err := r.past.Original(rec)
	if errors.Is(err, storage.ErrPurged) { // as somebody has wanted it
		return nil
	}
	if err != nil {
		return r.s.damaged(&Damage{File: filepath.Join(r.dir, storage.ArchiveDir, name), Offset: rec.Offset, Err: err})
	}
	path, offset := c.Place()
	if filepath.Dir(filepath.Dir(path)) == r.dir {
		return nil
	}
	key := maphash.String(r.seed, fmt.Sprint(path, " ", offset))
	if r.has[key] {
		return nil
	}
	r.has[key] = true
	return r.copy(path, offset)
}

// copy copies a record as it is stored.
func (r *referred) copy(path string, offset int64) error {
	if r.file == nil {
		if err := r.begin(); err != nil {
			return err
		}
	}
	from, err := storage.OpenArchive(path)
	if err != nil {
		return err
	}
	defer from.Close()
	rec, err := warc.ReadAt(from, offset)
	length := int64(0)
	if err == nil {
		length, err = rec.Close()
	}
	if err != nil {
		return r.s.damaged(&Damage{File: path, Offset: offset, Err: err})
	}
	_, err = io.Copy(r.file, io.NewSectionReader(from, offset, length))
	return err
}

// begin makes the file.
func (r *referred) begin() error {
	dir, err := os.MkdirTemp(r.s.Temp, "referred-*")
	if err != nil {
		return err
	}
	file, err := os.Create(filepath.Join(dir, referredFile))
	if err != nil {
		os.RemoveAll(dir)
		return err
	}
	r.file = file
	encoder, err := warc.NewEncoder(warc.Options{})
	if err != nil {
		return err
	}
	_, err = encoder.WriteInfo(file, &warc.Info{
		Filename: referredFile, Date: time.Now(), IsPartOf: filepath.Base(r.dir),
		More: []warc.Field{{Name: "description", Value: "answers of earlier crawls that records of this one repeat"}},
	})
	return err
}

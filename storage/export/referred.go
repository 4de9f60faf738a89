package export

import (
	"bufio"
	"cmp"
	"context"
	"errors"
	"fmt"
	"hash/maphash"
	"io"
	"io/fs"
	"net/http"
	"os"
	"path/filepath"
	"time"

	"github.com/permesso-crawler/permesso/storage"
	"github.com/permesso-crawler/permesso/storage/cdxj"
	"github.com/permesso-crawler/permesso/storage/warc"
)

// referredFile is the name of the WARC file that has the answers of crawls before this one
// which records of this one repeat, and what stands for each 304.
const referredFile = "referred-to.warc.gz"

// A referred is that file while it is made: answers are copied as they are stored.
type referred struct {
	s       *Source
	dir     string // of the crawl
	past    *storage.Past
	file    *os.File
	encoder *warc.Encoder
	seed    maphash.Seed
	has     map[uint64]bool // places of the records that are in it, 16 bytes for each
	stood   map[uint64]bool // places of the 304s that another record stands for
}

// referredTo copies the answers of crawls before this one which its records repeat into a
// WARC file in a temporary directory, so that the crawl can be replayed alone. The path is
// "" where there are none. What cannot be found is told as damage. The caller removes the
// directory of the file.
//
// For each 304 the file has a record of the same time that repeats the same answer with
// the status and the header which that has by the 304: who replays a 304 as it was sent
// shows an empty page. stood reports whether there is such a record for a capture.
func (s *Source) referredTo(ctx context.Context) (path string, stood func(*cdxj.Entry) bool, err error) {
	dir := filepath.Dir(filepath.Dir(s.WARCs[0]))
	r := &referred{s: s, dir: dir, past: storage.PastOf(dir), seed: maphash.MakeSeed(), has: map[uint64]bool{}, stood: map[uint64]bool{}}
	stood = func(e *cdxj.Entry) bool { return r.stood[r.key(e.Filename, e.Offset)] }
	if storage.Previous(dir) == "" {
		if any, err := has304(dir); err != nil || !any {
			return "", stood, err
		}
	}
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
	return path, stood, err
}

// has304 reports whether a crawl that knows none before it repeats itself with a 304, as
// one does that is scanned again: to read its index is quicker than to read its archive.
func has304(dir string) (bool, error) {
	index, err := os.Open(filepath.Join(dir, storage.IndexFile))
	if errors.Is(err, fs.ErrNotExist) {
		return false, nil
	}
	if err != nil {
		return false, err
	}
	defer index.Close()
	lines := bufio.NewScanner(index)
	lines.Buffer(nil, 1<<20)
	for lines.Scan() {
		// A line that is no line is told of by who lists it.
		if e, err := cdxj.Parse(lines.Text()); err == nil && e.Status == http.StatusNotModified {
			return true, nil
		}
	}
	return false, lines.Err()
}

func (r *referred) key(file string, offset int64) uint64 {
	return maphash.String(r.seed, fmt.Sprint(file, " ", offset))
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
	if rec.Header.Get(warc.FieldProfile) == string(warc.ServerNotModified) && !rec.Head() {
		if err := r.stand(rec, c, name); err != nil {
			return err
		}
	}
	path, offset := c.Place()
	if filepath.Dir(filepath.Dir(path)) == r.dir {
		return nil
	}
	key := r.key(path, offset)
	if r.has[key] {
		return nil
	}
	r.has[key] = true
	return r.copy(path, offset)
}

// stand writes what stands for a 304, unless it is of an archive without digests.
func (r *referred) stand(rec *warc.Record, c *storage.Capture, name string) error {
	digest := cmp.Or(c.Digest, rec.Header.Get(warc.FieldPayloadDigest))
	if digest == "" {
		return nil
	}
	by, err := rec.Response()
	if err != nil {
		return err
	}
	if err := r.begin(); err != nil {
		return err
	}
	_, err = r.encoder.WriteExchange(r.file, &warc.Exchange{
		URL: rec.TargetURI(), Date: rec.Date, PayloadDigest: digest,
		Response: &warc.HTTP{StartLine: warc.StatusLine(c.Status), Header: storage.UpdatedHeader(c.Header, by.Header)},
		Revisit:  &warc.RevisitOf{Profile: warc.IdenticalPayloadDigest, URL: c.OfURL, Date: c.OfDate},
	})
	r.stood[r.key(name, rec.Offset)] = true
	return err
}

// copy copies a record as it is stored.
func (r *referred) copy(path string, offset int64) error {
	if err := r.begin(); err != nil {
		return err
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

// begin makes the file, if it is not there.
func (r *referred) begin() error {
	if r.file != nil {
		return nil
	}
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
	if r.encoder, err = warc.NewEncoder(warc.Options{}); err != nil {
		return err
	}
	_, err = r.encoder.WriteInfo(file, &warc.Info{
		Filename: referredFile, Date: time.Now(), IsPartOf: filepath.Base(r.dir),
		More: []warc.Field{{Name: "description", Value: "answers of earlier crawls that records of this one repeat, and for each 304 the answer that it stands for"}},
	})
	return err
}

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
	"os"
	"path/filepath"
	"time"

	"github.com/permesso-crawler/permesso/internal/outfile"
	"github.com/permesso-crawler/permesso/internal/store"
	"github.com/permesso-crawler/permesso/storage/cdxj"
	"github.com/permesso-crawler/permesso/storage/warc"
)

// referredFile is the name of a WARC file that is added to a package. It has the answers of
// earlier crawls to which revisit records of this crawl refer, and a record in place of each
// 304.
const referredFile = "referred-to.warc.gz"

// A referred writes the file referredFile. It copies records as they are stored.
type referred struct {
	s       *Source
	dir     string // directory of the crawl
	past    *store.Past
	file    *os.File
	remove  func() error // removes the temporary directory of the file
	encoder *warc.Encoder
	seed    maphash.Seed
	has     map[uint64]bool // hashes of the places of the records that were copied; about 16 bytes each
	stood   map[uint64]bool // hashes of the places of those 304s that another record in the file replaces

	found   map[string]bool     // repeated answers that were found, by the key that store.RepeatedAnswer returns
	missing map[string]*missing // repeated answers that were not found, by the same key
	order   []string            // keys of missing, in the order of the archive
	purged  map[string]bool     // answers that were purged from this crawl, by the same key
}

// A missing is an answer that was not found although revisit records repeat it.
type missing struct {
	records []*Damage // the first records that repeat the answer, at most maxRecords
	n       int64     // number of all records that repeat the answer
	purged  bool      // the answer was purged from an earlier crawl
}

// maxRecords is how many of the records that repeat one missing answer are reported.
const maxRecords = 10

// referredTo copies the answers of earlier crawls that records of this crawl repeat into a WARC
// file in a temporary directory, so that the crawl can be replayed alone. path is "" if there
// are no such answers; otherwise the caller must call remove. Answers that are not found are
// reported as damage.
//
// A replay of a 304 would show an empty page. So the file has another record for each 304, with
// the same time. This record repeats the answer that the 304 confirms: it has the status of
// that answer, and its header as updated by the 304. stood reports whether a line of the index
// is about a 304 for which the file has such a record.
func (s *Source) referredTo(ctx context.Context) (path string, stood func(*cdxj.Entry) bool, remove func() error, err error) {
	dir := filepath.Dir(filepath.Dir(s.WARCs[0]))
	r := &referred{s: s, dir: dir, past: store.PastOf(dir), seed: maphash.MakeSeed(), has: map[uint64]bool{}, stood: map[uint64]bool{},
		found: map[string]bool{}, missing: map[string]*missing{}, purged: map[string]bool{}}
	stood = func(e *cdxj.Entry) bool { return r.stood[r.key(e.Filename, e.Offset)] }
	if store.Previous(dir) == "" {
		if any, err := repeatsAny(dir); err != nil || !any {
			return "", stood, nil, err
		}
	}
	defer func() {
		if r.file == nil {
			return
		}
		if err = errors.Join(err, r.file.Close()); err != nil {
			err = errors.Join(err, r.remove())
			path = ""
		}
	}()
	if err = s.records(ctx, r.record, s.damaged); err == nil {
		err = r.tellMissing()
	}
	if r.file != nil {
		path = r.file.Name()
	}
	return path, stood, r.remove, err
}

// repeatsAny reports whether a crawl has a revisit record. It reads the index, which is quicker
// than reading the archive. It is used for a crawl without a previous crawl.
func repeatsAny(dir string) (bool, error) {
	index, err := os.Open(filepath.Join(dir, store.IndexFile))
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
		// Ignore a damaged line here, because it is reported when the index is listed.
		if e, err := cdxj.Parse(lines.Text()); err == nil && e.MIME == "warc/revisit" {
			return true, nil
		}
	}
	return false, lines.Err()
}

func (r *referred) key(file string, offset int64) uint64 {
	return maphash.String(r.seed, fmt.Sprint(file, " ", offset))
}

// record looks up the answer that a record of the crawl repeats. It copies the answer if it is
// in an earlier crawl. For a 304 it writes another record.
func (r *referred) record(rec *warc.Record, name string) error {
	if purged := store.PurgedAnswer(rec); purged != "" {
		r.purged[purged] = true
		return nil
	}
	if rec.Type != warc.Revisit || rec.Header.Get(warc.FieldRefersToDate) == "" {
		return nil
	}
	answer := store.RepeatedAnswer(rec)
	replaced := rec.Header.Get(warc.FieldProfile) == string(warc.ServerNotModified) && !rec.Head()
	if r.found[answer] && !replaced {
		return nil
	}
	damage := &Damage{File: filepath.Join(r.dir, store.ArchiveDir, name), Offset: rec.Offset}
	if m := r.missing[answer]; m != nil {
		m.add(damage, m.records[0].Err)
		return nil
	}
	c, err := r.past.Original(rec)
	var away *store.MissingAnswerError
	if purged := errors.Is(err, store.ErrPurged); purged || errors.As(err, &away) {
		m := &missing{purged: purged}
		m.add(damage, err)
		r.missing[answer], r.order = m, append(r.order, answer)
		return nil
	}
	if err != nil {
		damage.Err = err
		return r.s.damaged(damage)
	}
	if replaced {
		if err := r.writeNotModified(rec, c, name); err != nil {
			return err
		}
	}
	path, offset := c.Place()
	r.found[answer] = true
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

func (m *missing) add(record *Damage, err error) {
	if m.n++; len(m.records) < maxRecords {
		record.Err = err
		m.records = append(m.records, record)
	}
}

// tellMissing counts the records whose answer is missing, and reports them as damage. It reads
// from the archive whether an answer was purged, because the state forgets this when the URL is
// captured again.
func (r *referred) tellMissing() error {
	for _, answer := range r.order {
		m := r.missing[answer]
		if m.purged || r.purged[answer] {
			r.s.Missing.Purged += m.n
			continue
		}
		r.s.Missing.Away += m.n
		for _, record := range m.records {
			if err := r.s.damaged(record); err != nil {
				return err
			}
		}
	}
	return nil
}

// writeNotModified writes the record in place of a 304. It does nothing if the archive has no
// digests.
func (r *referred) writeNotModified(rec *warc.Record, c *store.Capture, name string) error {
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
		Response: &warc.HTTP{StartLine: warc.StatusLine(c.Status), Header: store.UpdatedHeader(c.Header, by.Header)},
		Revisit:  &warc.RevisitOf{Profile: warc.IdenticalPayloadDigest, URL: c.OfURL, Date: c.OfDate},
	})
	r.stood[r.key(name, rec.Offset)] = true
	return err
}

// copy copies a record as it is stored, from the WARC file at path.
func (r *referred) copy(path string, offset int64) error {
	if err := r.begin(); err != nil {
		return err
	}
	from, err := store.OpenArchive(path)
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

// begin creates the file unless it exists.
func (r *referred) begin() error {
	if r.file != nil {
		return nil
	}
	dir, remove, err := outfile.TempDir(r.s.Temp, "referred-")
	if err != nil {
		return err
	}
	file, err := os.Create(filepath.Join(dir, referredFile))
	if err != nil {
		return errors.Join(err, remove())
	}
	r.file, r.remove = file, remove
	if r.encoder, err = warc.NewEncoder(warc.Options{}); err != nil {
		return err
	}
	_, err = r.encoder.WriteInfo(file, &warc.Info{
		Filename: referredFile, Date: time.Now(), IsPartOf: filepath.Base(r.dir),
		More: []warc.Field{{Name: "description", Value: "answers of earlier crawls that records of this one repeat, and for each 304 the answer that it stands for"}},
	})
	return err
}

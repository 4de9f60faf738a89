package provenance

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"hash/crc32"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/permesso-crawler/permesso/internal/gauge"
	"github.com/permesso-crawler/permesso/internal/store"
)

// outputNames returns the names of the files that a crawl may have. It leaves out WARC files
// and the files that Write makes.
func outputNames() []string {
	return []string{
		store.StateFile, store.LogFile, store.PagesFile, store.LinksFile, store.IndexFile, "index.part",
		"job.yaml", "seeds.txt", "snapshot.json",
	}
}

// expect adds what Write will read to what the gauge of its context expects. With Options.Kept,
// digests are computed of few files, and these are not counted.
func (w *writer) expect() {
	names := []string{store.LogFile, store.PagesFile}
	if !w.Kept {
		archive, _ := archiveNames(w.dir) // readOutputs reports the error
		names = slices.Concat(names, outputNames(), archive)
	}
	for _, name := range names {
		gauge.Of(w.ctx).Expect(filepath.Join(w.dir, filepath.FromSlash(name)))
	}
}

// readOutputs computes the digest of each file of the crawl, and compares it with what the
// crawl has recorded. If files differ, it returns a *store.DamagedError with the path of the
// first.
func (w *writer) readOutputs() error {
	written, err := w.state.Written()
	if err != nil {
		return err
	}
	names := outputNames()
	archive, err := archiveNames(w.dir)
	if err != nil {
		return err
	}
	earlier := w.earlier()
	for _, name := range append(names, archive...) {
		known := store.OutputName(name)
		of, ok := written[known]
		out, err := w.output(name, of, ok)
		if errors.Is(err, fs.ErrNotExist) {
			continue
		}
		if err == nil && of.SHA256 == nil {
			err = w.unlike(out, earlier)
		}
		if err != nil {
			return err
		}
		delete(written, known)
		w.Outputs = append(w.Outputs, out)
	}
	for name, of := range written {
		out, err := w.missing(name, of, earlier)
		if err != nil {
			return err
		}
		if out.Bytes > 0 {
			w.Outputs = append(w.Outputs, out)
		}
	}
	slices.SortFunc(w.Outputs, func(a, b Output) int { return strings.Compare(a.Name, b.Name) })
	return nil
}

// output returns a file with its digest. If the crawl has recorded a digest, Options.Kept is
// set and the file no longer grows, this is the recorded digest. Otherwise output reads the
// file. It returns a *store.DamagedError if the file is not as the crawl has written it.
func (w *writer) output(name string, of store.Written, known bool) (Output, error) {
	path := filepath.Join(w.dir, filepath.FromSlash(name))
	if !known {
		out, _, err := digestFile(w.ctx, path, name, 0)
		return out, err
	}
	info, err := os.Stat(path)
	if err != nil {
		return Output{}, err
	}
	damaged := func(format string, args ...any) (Output, error) {
		return Output{}, &store.DamagedError{Path: path, Err: fmt.Errorf(format, args...)}
	}
	if n := info.Size(); info.Mode().IsRegular() && (n < of.Length || n > of.Length && !of.Grows) {
		return damaged("it is %d bytes long where %d were written", n, of.Length)
	}
	if kept := of.SHA256; w.Kept && kept != nil && !of.Grows && info.Mode().IsRegular() {
		return Output{name, of.Length, hex.EncodeToString(kept)}, nil
	}
	out, sum, err := digestFile(w.ctx, path, name, of.Length)
	switch {
	case err != nil:
		return Output{}, err
	case sum != of.CRC32C || out.Bytes == of.Length && of.SHA256 != nil && out.SHA256 != hex.EncodeToString(of.SHA256):
		return damaged("its first %d bytes are not those that were written", of.Length)
	}
	return out, nil
}

// earlier returns the files in the existing provenance.json, by name. It returns none if that
// file cannot be read, or if a purge may have changed files since it was written.
func (w *writer) earlier() map[string]Output {
	all := map[string]Output{}
	text, err := readBounded(filepath.Join(w.dir, File), mostFile)
	var p Provenance
	if err != nil || json.Unmarshal(text, &p) != nil || w.Purge != nil {
		return all
	}
	for _, o := range p.Outputs {
		all[o.Name] = o
	}
	return all
}

// unlike compares a WARC file with the earlier provenance.json. It returns an error if the
// lengths are equal and the digests are not. It is called for a file if the crawl has recorded
// no digest of it.
func (w *writer) unlike(o Output, earlier map[string]Output) error {
	was, known := earlier[o.Name]
	if !known || !strings.HasPrefix(o.Name, store.ArchiveDir+"/") || was.Bytes != o.Bytes || was.SHA256 == o.SHA256 {
		return nil
	}
	return &store.DamagedError{
		Path: filepath.Join(w.dir, filepath.FromSlash(o.Name)), Err: fmt.Errorf("its SHA-256 is not the one that %s has of it", File),
	}
}

// missing returns the length and the digest of a missing WARC file, from the state or from the
// earlier provenance.json. The file may have been moved away (crawl verify --moved), and still
// belongs to the crawl. The error is a *store.DamagedError if the digest is not known, or if
// the file is not a WARC file. A file that was empty may be missing.
func (w *writer) missing(name string, of store.Written, earlier map[string]Output) (Output, error) {
	if of.Length == 0 {
		return Output{}, nil
	}
	if strings.HasPrefix(name, store.ArchiveDir+"/") && !of.Grows {
		if of.SHA256 != nil {
			return Output{name, of.Length, hex.EncodeToString(of.SHA256)}, nil
		}
		if was := earlier[name]; was.Bytes == of.Length {
			return was, nil
		}
	}
	return Output{}, &store.DamagedError{
		Path: filepath.Join(w.dir, filepath.FromSlash(name)), Err: fmt.Errorf("it is missing; %d bytes of it were written", of.Length),
	}
}

// archiveNames returns the names of all files in the directory of WARC files.
func archiveNames(dir string) (names []string, err error) {
	files, err := os.ReadDir(filepath.Join(dir, store.ArchiveDir))
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	for _, f := range files {
		if !f.IsDir() {
			names = append(names, store.ArchiveDir+"/"+f.Name())
		}
	}
	return names, err
}

// digestFile returns a file with its digest, and the CRC-32C of its first bytes; first is their
// number. A file that is not regular counts as missing, because reading a pipe might never end.
func digestFile(ctx context.Context, path, name string, first int64) (Output, uint32, error) {
	info, err := os.Stat(path)
	if err != nil {
		return Output{}, 0, err
	}
	if !info.Mode().IsRegular() {
		return Output{}, 0, &fs.PathError{Op: "read", Path: path, Err: fs.ErrNotExist}
	}
	file, err := os.Open(path)
	if err != nil {
		return Output{}, 0, err
	}
	defer file.Close()
	sha, crc := sha256.New(), crc32.New(castagnoli)
	in, block := gauge.Of(ctx).Reader(&contextReader{ctx, file}), make([]byte, 1<<20)
	n, err := io.CopyBuffer(io.MultiWriter(sha, crc), io.LimitReader(in, first), block)
	if err == nil {
		var more int64
		more, err = io.CopyBuffer(sha, in, block)
		n += more
	}
	return Output{name, n, hex.EncodeToString(sha.Sum(nil))}, crc.Sum32(), err
}

var castagnoli = crc32.MakeTable(crc32.Castagnoli)

// Current reports whether the provenance in dir still describes the files in dir: no run and no
// purge has changed them. It compares only the lengths of the files. If signed is set, there
// must also be a signature.
func Current(dir string, signed bool) bool {
	text, err := readBounded(filepath.Join(dir, File), mostFile)
	var p Provenance
	if err != nil || json.Unmarshal(text, &p) != nil || !reads(p.Format) {
		return false
	}
	if _, err := os.Stat(filepath.Join(dir, SignatureFile)); signed && err != nil {
		return false
	}
	for _, o := range p.Outputs {
		info, err := os.Stat(filepath.Join(dir, filepath.FromSlash(o.Name)))
		if err == nil && info.Size() != o.Bytes {
			return false
		}
	}
	return true
}

// A contextReader returns an error after its context ends.
type contextReader struct {
	ctx context.Context
	r   io.Reader
}

func (c *contextReader) Read(p []byte) (int, error) {
	if c.ctx.Err() != nil {
		return 0, context.Cause(c.ctx)
	}
	return c.r.Read(p)
}

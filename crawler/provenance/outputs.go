package provenance

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/permesso-crawler/permesso/storage"
)

// outputNames are the files of a crawl, but for those of the archive and those that Write
// makes itself. None of them need be there.
func outputNames() []string {
	return []string{
		storage.StateFile, storage.LogFile, storage.PagesFile, storage.LinksFile, storage.IndexFile, "index.part",
		"job.yaml", "seeds.txt", "snapshot.json",
	}
}

// readOutputs takes the digest of each file of the crawl. None is taken over from an earlier
// provenance: that the length and the time of a file are the same proves nothing.
func (w *writer) readOutputs() error {
	names := outputNames()
	archive, err := archiveNames(w.dir)
	if err != nil {
		return err
	}
	for _, name := range append(names, archive...) {
		out, err := digestFile(w.ctx, filepath.Join(w.dir, filepath.FromSlash(name)), name)
		if errors.Is(err, fs.ErrNotExist) {
			continue
		}
		if err != nil {
			return err
		}
		w.Outputs = append(w.Outputs, out)
	}
	slices.SortFunc(w.Outputs, func(a, b Output) int { return strings.Compare(a.Name, b.Name) })
	return nil
}

// archiveNames are all files in the directory of the archive.
func archiveNames(dir string) (names []string, err error) {
	files, err := os.ReadDir(filepath.Join(dir, storage.ArchiveDir))
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	for _, f := range files {
		if !f.IsDir() {
			names = append(names, storage.ArchiveDir+"/"+f.Name())
		}
	}
	return names, err
}

// digestFile reads a file. A name that is not that of a regular file is as if it was not
// there: a pipe would not end.
func digestFile(ctx context.Context, path, name string) (Output, error) {
	info, err := os.Stat(path)
	if err != nil {
		return Output{}, err
	}
	if !info.Mode().IsRegular() {
		return Output{}, &fs.PathError{Op: "read", Path: path, Err: fs.ErrNotExist}
	}
	file, err := os.Open(path)
	if err != nil {
		return Output{}, err
	}
	defer file.Close()
	sum := sha256.New()
	n, err := io.CopyBuffer(sum, &contextReader{ctx, file}, make([]byte, 1<<20))
	return Output{name, n, hex.EncodeToString(sum.Sum(nil))}, err
}

// A contextReader ends where its context does.
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

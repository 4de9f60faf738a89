package main

import (
	"archive/tar"
	"archive/zip"
	"bytes"
	"compress/gzip"
	"crypto/sha256"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"time"
)

// A file is a file of a release or of an archive.
type file struct {
	name  string // with slashes; a directory ends in a slash
	data  []byte
	mode  fs.FileMode // 0 means 0644, or 0755 for a directory
	owner int         // user and group
}

func (f file) isDir() bool { return strings.HasSuffix(f.name, "/") }

// permissions returns the permissions of the file.
func (f file) permissions() fs.FileMode {
	switch {
	case f.mode != 0:
		return f.mode
	case f.isDir():
		return 0o755
	}
	return 0o644
}

// under returns the files in a directory.
func under(dir string, files []file) []file {
	all := slices.Clone(files)
	for i := range all {
		all[i].name = path.Join(dir, all[i].name)
		if files[i].isDir() {
			all[i].name += "/"
		}
	}
	return all
}

// withDirs returns the files and the directories above them, in the order of their names.
func withDirs(files []file) []file {
	all := slices.Clone(files)
	known := map[string]bool{}
	for _, f := range files {
		known[f.name] = true
	}
	for _, f := range files {
		for dir := path.Dir(strings.TrimSuffix(f.name, "/")); dir != "."; dir = path.Dir(dir) {
			if !known[dir+"/"] {
				known[dir+"/"] = true
				all = append(all, file{name: dir + "/"})
			}
		}
	}
	slices.SortFunc(all, func(a, b file) int { return strings.Compare(a.name, b.name) })
	return all
}

// tarred returns an archive whose bytes depend only on its arguments.
func tarred(files []file, at time.Time) ([]byte, error) {
	var b bytes.Buffer
	w := tar.NewWriter(&b)
	for _, f := range withDirs(files) {
		h := &tar.Header{
			Typeflag: tar.TypeReg, Name: f.name, Size: int64(len(f.data)), Mode: int64(f.permissions().Perm()),
			ModTime: at, Uid: f.owner, Gid: f.owner, Format: tar.FormatUSTAR,
		}
		if f.mode&fs.ModeSticky != 0 {
			h.Mode |= 0o1000
		}
		if f.isDir() {
			h.Typeflag = tar.TypeDir
		}
		if err := w.WriteHeader(h); err != nil {
			return nil, err
		}
		if _, err := w.Write(f.data); err != nil {
			return nil, err
		}
	}
	err := w.Close() // it writes the end of the archive
	return b.Bytes(), err
}

// gzipped compresses data, without a name or a time.
func gzipped(data []byte) ([]byte, error) {
	var b bytes.Buffer
	w, err := gzip.NewWriterLevel(&b, gzip.BestCompression)
	if err != nil {
		return nil, err
	}
	_, err = w.Write(data)
	err = errors.Join(err, w.Close())
	return b.Bytes(), err
}

func targz(files []file, at time.Time) ([]byte, error) {
	data, err := tarred(files, at)
	if err != nil {
		return nil, err
	}
	return gzipped(data)
}

// zipped is targz for Windows.
func zipped(files []file, at time.Time) ([]byte, error) {
	var b bytes.Buffer
	w := zip.NewWriter(&b)
	for _, f := range withDirs(files) {
		h := &zip.FileHeader{Name: f.name, Method: zip.Deflate, Modified: at.UTC()}
		if f.isDir() {
			h.Method = zip.Store
		}
		h.SetMode(f.permissions())
		to, err := w.CreateHeader(h)
		if err != nil {
			return nil, err
		}
		if _, err := to.Write(f.data); err != nil {
			return nil, err
		}
	}
	err := w.Close() // it writes the end of the archive
	return b.Bytes(), err
}

// sums is the file with the checksums of the others, which sha256sum -c reads.
const sums = "SHA256SUMS"

// checksums returns a line for each file.
func checksums(files []file) []byte {
	var b bytes.Buffer
	for _, f := range files {
		fmt.Fprintf(&b, "%s  %s\n", sha(f.data), f.name)
	}
	return b.Bytes()
}

// write writes the files into a directory, which has all of them or is as it was. It replaces the
// files of another release, and fails if the directory has other files.
func write(dir string, files []file) (err error) {
	dir, err = filepath.Abs(dir)
	if err != nil {
		return err
	}
	if err := replaceable(dir); err != nil {
		return err
	}
	if err := os.MkdirAll(filepath.Dir(dir), 0o755); err != nil {
		return err
	}
	part, err := os.MkdirTemp(filepath.Dir(dir), ".permesso-release-")
	if err != nil {
		return err
	}
	defer func() {
		if err != nil {
			err = errors.Join(err, os.RemoveAll(part))
		}
	}()
	for _, f := range files {
		name := filepath.Join(part, filepath.FromSlash(f.name))
		if err := os.MkdirAll(filepath.Dir(name), 0o755); err != nil {
			return err
		}
		if err := os.WriteFile(name, f.data, 0o644); err != nil {
			return err
		}
	}
	if err := os.Chmod(part, 0o755); err != nil {
		return err
	}
	if err := os.RemoveAll(dir); err != nil {
		return err
	}
	return os.Rename(part, dir)
}

// replaceable returns an error if a directory has files that are not of a release.
func replaceable(dir string) error {
	listed := map[string]bool{sums: true}
	raw, err := os.ReadFile(filepath.Join(dir, sums))
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	for line := range strings.Lines(string(raw)) {
		_, name, _ := strings.Cut(strings.TrimSuffix(line, "\n"), "  ")
		listed[name] = true
	}
	err = filepath.WalkDir(dir, func(p string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		name, err := filepath.Rel(dir, p)
		if err == nil && !listed[filepath.ToSlash(name)] {
			err = fmt.Errorf("%s is not a file of a release: move it away, or give another directory with -o", p)
		}
		return err
	})
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	return err
}

func sha(data []byte) string { return fmt.Sprintf("%x", sha256.Sum256(data)) }

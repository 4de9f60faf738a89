// Package outfile writes output files. A file gets its name only when it is complete. Until
// then, an earlier file with that name does not change. If the name belongs to a device or a
// named pipe, the output is written into it, and it is not replaced. If the name is a symbolic
// link, the target of the link is replaced, and the link stays.
package outfile

import (
	"crypto/rand"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"syscall"
)

// maxLinks is how many symbolic links are followed for one name. Linux has the same limit.
const maxLinks = 40

// A File is an output that is being written. Unless it is written in place, it is a temporary
// file in the directory of the output, and Name returns the temporary name.
type File struct {
	*os.File
	path   string // path of the output, without symbolic links; empty: the output is written in place
	closed bool
}

// Create begins the output at path, for writing and reading. If path exists and is not a
// regular file, such as a device, Create opens it, and the output is written in place; for a
// named pipe, Create waits for a reader. Create removes temporary files that killed processes
// have left for the same output.
func Create(path string) (*File, error) {
	real, inPlace, err := Resolve(path)
	if err != nil {
		return nil, err
	}
	if inPlace {
		f, err := os.OpenFile(path, os.O_WRONLY|os.O_APPEND, 0)
		return &File{File: f}, err
	}
	dir, name := filepath.Split(real)
	sweep(dir, name)
	for {
		f, err := os.OpenFile(dir+before(name)+rand.Text()+after, os.O_RDWR|os.O_CREATE|os.O_EXCL, 0o666)
		if err != nil {
			return nil, err
		}
		// The lock says that the file is in use, so that other processes do not remove it. But
		// before it was locked here, another process may have taken it for a file that is left,
		// and removed it. Then make another file.
		if got, err := Lock(f); err != nil || got && hasName(f) {
			if old, err := os.Lstat(real); err == nil {
				_ = f.Chmod(old.Mode().Perm()) // allow the same users to read the new file; ignore an error, because not every system can
			}
			return &File{File: f, path: real}, nil
		}
		f.Close()
	}
}

// CreateRegular is like Create, but fails if path is a device or a named pipe. It is for files
// that are read again later.
func CreateRegular(path string) (*File, error) {
	if _, err := ResolveRegular(path); err != nil {
		return nil, err
	}
	return Create(path)
}

// Write writes text as the complete output at path.
func Write(path string, text []byte) error {
	f, err := Create(path)
	if err != nil {
		return err
	}
	_, err = f.Write(text)
	if err == nil {
		err = f.Commit()
	}
	return errors.Join(err, f.Discard())
}

// InPlace reports whether the output is written directly into an existing device, pipe or other
// file that is not regular.
func (f *File) InPlace() bool { return f.path == "" }

// Path returns the path of the output without symbolic links. It returns "" if the output is
// written in place.
func (f *File) Path() string { return f.path }

// Finish syncs and closes the file. Commit calls it, but the caller may call it earlier.
func (f *File) Finish() error {
	if f.closed {
		return nil
	}
	f.closed = true
	var err error
	if !f.InPlace() { // a pipe cannot be synced
		err = f.Sync()
	}
	return errors.Join(err, f.Close())
}

// Commit renames the file to its final name, and so replaces an earlier file with that name. If
// Commit fails, the earlier file is unchanged.
func (f *File) Commit() error {
	if err := f.Finish(); err != nil || f.InPlace() {
		return err
	}
	return f.named(os.Rename(f.Name(), f.path))
}

// CommitNew renames the file to its final name if no other file has that name. Otherwise it
// returns fs.ErrExist.
func (f *File) CommitNew() error {
	if err := f.Finish(); err != nil || f.InPlace() {
		return err
	}
	switch err := os.Link(f.Name(), f.path); {
	case err == nil:
		return f.named(os.Remove(f.Name()))
	case errors.Is(err, fs.ErrExist):
		return err
	}
	// This file system has no hard links, so check for another file before renaming.
	if _, err := os.Lstat(f.path); err == nil {
		return &fs.PathError{Op: "create", Path: f.path, Err: fs.ErrExist}
	}
	return f.named(os.Rename(f.Name(), f.path))
}

// named is called after the file was renamed, with the error of renaming it. If err is nil,
// named syncs the directory, so that a power cut does not lose the name.
func (f *File) named(err error) error {
	if err != nil {
		return err
	}
	if dir, err := os.Open(filepath.Dir(f.path)); err == nil {
		_ = dir.Sync() // ignore the error, because some systems cannot sync a directory
		dir.Close()
	}
	f.path = ""
	return nil
}

// Discard removes the temporary file. It does nothing if the file has its final name already.
func (f *File) Discard() error {
	if !f.closed {
		f.closed = true
		f.Close()
	}
	if f.path == "" {
		return nil
	}
	f.path = ""
	return os.Remove(f.Name())
}

// Resolve follows symbolic links from path, and returns the path of the file at their end. The
// file need not exist. If it exists and is not regular, inPlace is true, and the caller must
// open path itself. The error is syscall.EISDIR for a directory, and fs.ErrNotExist if the
// directory of the file does not exist.
func Resolve(path string) (real string, inPlace bool, err error) {
	info, err := os.Stat(path)
	switch {
	case err == nil && info.IsDir():
		return "", false, &fs.PathError{Op: "write", Path: path, Err: syscall.EISDIR}
	case err == nil && info.Mode()&fs.ModeSocket != 0:
		return "", false, &fs.PathError{Op: "write", Path: path, Err: errors.New("it is a socket")}
	case err == nil && !info.Mode().IsRegular():
		return path, true, nil
	case err != nil && !errors.Is(err, fs.ErrNotExist):
		return "", false, err
	}
	real = path
	for range maxLinks {
		dir, name := filepath.Split(real)
		if name == "" || name == "." || name == ".." {
			return "", false, &fs.PathError{Op: "write", Path: path, Err: syscall.EISDIR}
		}
		if dir == "" {
			dir = "."
		}
		if dir, err = filepath.EvalSymlinks(dir); err != nil {
			return "", false, err
		}
		if openFiles(dir) {
			return path, true, nil
		}
		real = filepath.Join(dir, name)
		info, err := os.Lstat(real)
		switch {
		case errors.Is(err, fs.ErrNotExist):
			return real, false, nil
		case err != nil:
			return "", false, err
		case info.Mode()&fs.ModeSymlink == 0:
			return real, false, nil
		}
		to, err := os.Readlink(real)
		if err != nil {
			return "", false, err
		}
		if real = to; !filepath.IsAbs(to) {
			real = dir + string(filepath.Separator) + to // do not clean the path, because a ".." may follow a symbolic link
		}
	}
	return "", false, &fs.PathError{Op: "write", Path: path, Err: errors.New("too many symbolic links")}
}

// ResolveRegular is like Resolve, but fails if the file exists and is not regular.
func ResolveRegular(path string) (real string, err error) {
	real, inPlace, err := Resolve(path)
	if err == nil && inPlace {
		err = &fs.PathError{Op: "write", Path: path, Err: errors.New("it is no regular file: move it away")}
	}
	return real, err
}

// openFiles reports whether dir lists the open files of a process, like /dev/fd and
// /proc/self/fd. The entries of such a directory cannot be replaced.
func openFiles(dir string) bool {
	return dir == "/dev/fd" || strings.HasPrefix(dir, "/proc/")
}

// before and after return the parts of the name of a temporary file before and after its random
// part.
func before(name string) string { return "." + name + "." }

const after = ".tmp"

// unfinished returns the paths of the temporary files in dir for the output called name.
func unfinished(dir, name string) (paths []string) {
	entries, err := os.ReadDir(filepath.Clean(dir))
	if err != nil {
		return nil // ignore the error, because creating a file there returns the same error
	}
	for _, e := range entries {
		middle, ours := strings.CutPrefix(e.Name(), before(name))
		middle, whole := strings.CutSuffix(middle, after)
		if ours && whole && len(middle) == len(rand.Text()) && e.Type().IsRegular() {
			paths = append(paths, filepath.Join(dir, e.Name()))
		}
	}
	return paths
}

// Unfinished reports whether there is a temporary file for the output at path: a process is
// writing the output, or was killed while it wrote it.
func Unfinished(path string) bool {
	real, inPlace, err := Resolve(path)
	if err != nil || inPlace {
		return false
	}
	return len(unfinished(filepath.Split(real))) > 0
}

// sweep removes the temporary files for an output that killed processes have left. A locked
// file is in use, so it stays.
func sweep(dir, name string) {
	for _, path := range unfinished(dir, name) {
		f, err := os.OpenFile(path, os.O_RDWR, 0)
		if err != nil {
			continue
		}
		if got, err := Lock(f); err == nil && got && hasName(f) {
			remove(f)
		}
		f.Close()
	}
}

// hasName reports whether the open file f still has its name, so that no other process has
// removed it.
func hasName(f *os.File) bool {
	open, err := f.Stat()
	if err != nil {
		return false
	}
	named, err := os.Lstat(f.Name())
	return err == nil && os.SameFile(open, named)
}

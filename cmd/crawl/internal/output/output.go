// Package output writes the files that a flag names. A file gets its name when it is complete.
// After a failure, an earlier file of that name is still there.
package output

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"sync/atomic"
	"syscall"

	"github.com/permesso-crawler/permesso/cmd/crawl/internal/exit"
	"github.com/permesso-crawler/permesso/cmd/crawl/internal/say"
	"github.com/permesso-crawler/permesso/internal/outfile"
	"github.com/permesso-crawler/permesso/internal/wacz"
)

// A Target is where an output goes: a file, or standard output. Only Size may be called from
// another goroutine.
type Target struct {
	w       io.Writer
	file    *outfile.File // nil for standard output
	path    string
	force   bool
	written atomic.Int64
}

// Stdout returns a target that writes to standard output.
func Stdout(w io.Writer) *Target { return &Target{w: w} }

// Create makes a file, which gets the name path when Commit is called. If force is false, Create
// refuses to replace an existing file.
func Create(path string, force bool) (*Target, error) {
	if info, err := os.Stat(path); err == nil && !force && keeps(info) {
		return nil, exit.Usagef("%s exists: give another --output, or --force to write over it", path)
	}
	f, err := outfile.Create(path)
	if err != nil {
		return nil, Error("--output", path, err)
	}
	return &Target{w: f, file: f, path: path, force: force}, nil
}

// InPlace reports whether the output goes directly to a device or a pipe, which cannot be read
// again.
func (t *Target) InPlace() bool { return t.file.InPlace() }

// Size returns how many bytes were written.
func (t *Target) Size() int64 { return t.written.Load() }

// keeps reports whether a file keeps what is written to it. Overwriting such a file loses its
// contents.
func keeps(info fs.FileInfo) bool {
	block := info.Mode()&(fs.ModeDevice|fs.ModeCharDevice) == fs.ModeDevice
	return info.Mode().IsRegular() || block
}

// Error returns the error of the command if the file path cannot be written because of err.
// flag is the flag that names the file. If err is nil, Error returns nil.
func Error(flag, path string, err error) error {
	switch {
	case errors.Is(err, syscall.EISDIR):
		return exit.Usagef("%s: %s is a directory: name a file", flag, path)
	case errors.Is(err, fs.ErrNotExist):
		missing := filepath.Dir(path)
		if at := new(fs.PathError); errors.As(err, &at) {
			missing = at.Path // in a directory that a symbolic link leads to
		}
		return exit.Usagef("%s: there is no directory %s: make it first", flag, missing)
	}
	return err
}

// Check returns the error that writing the file path will have, if that is known before
// anything is written. flag is the flag that names the file.
func Check(flag, path string) error {
	_, _, err := outfile.Resolve(path)
	return Error(flag, path, err)
}

func (t *Target) Write(b []byte) (int, error) {
	n, err := t.w.Write(b)
	t.written.Add(int64(n))
	return n, err
}

// Check reads the file that was written, and fails if it does not have n units, such as rows.
// count counts the units in a file. If count is nil, the file is a WACZ, which is verified
// instead. unit is the noun for one unit in an error.
func (t *Target) Check(n int64, unit string, count func(*os.File) (int64, error)) error {
	m, err := n, error(nil)
	if count == nil {
		err = wacz.Verify(t.file.Name())
	} else if _, err = t.file.Seek(0, io.SeekStart); err == nil {
		m, err = count(t.file.File)
	}
	if err == nil && m != n {
		err = fmt.Errorf("%s of %d can be read", say.Plural(int(m), unit), n)
	}
	if err != nil {
		return exit.With(exit.Check, fmt.Errorf("%s differs from what was written, and is removed: %w", t.path, err))
	}
	return nil
}

// Commit gives the file its name. After that, the file survives a power cut.
func (t *Target) Commit() error {
	switch {
	case t.file == nil:
		return nil
	case t.force:
		return t.file.Commit()
	}
	err := t.file.CommitNew()
	if errors.Is(err, fs.ErrExist) {
		return exit.Usagef("%s exists by now: give another --output, or --force to write over it", t.path)
	}
	return err
}

// Discard removes the file if it was not committed.
func (t *Target) Discard() {
	if t.file != nil {
		_ = t.file.Discard()
	}
}

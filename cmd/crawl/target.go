package main

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
	"github.com/permesso-crawler/permesso/cmd/crawl/internal/terminal"
	"github.com/permesso-crawler/permesso/internal/outfile"
	"github.com/permesso-crawler/permesso/internal/wacz"
	"golang.org/x/text/runes"
	"golang.org/x/text/transform"
)

// target returns the file or output that the flags name.
func (p *program) target(f *exportFlags, kind *format) (*target, error) {
	switch {
	case f.output != "-":
		t, err := createTarget(f.output, f.force)
		if err == nil && f.check && t.file.InPlace() {
			t.discard()
			return nil, exit.Usagef("--check reads the file again, and %s is not a regular file: give another --output", f.output)
		}
		return t, err
	case f.check:
		return nil, exit.Usagef("--check reads the file again, and standard output is not a file: give --output FILE")
	case kind.binary && terminal.Is(p.out):
		return nil, exit.Usagef("%s is binary and standard output is a terminal: give --output FILE, or a pipe", kind.name)
	case terminal.Is(p.out): // a title may have control sequences; a file or a pipe gets every byte
		return &target{w: transform.NewWriter(p.out, runes.Remove(runes.Predicate(say.Steers)))}, nil
	}
	return &target{w: p.out}, nil
}

// A target is where an export goes: a file, or standard output.
type target struct {
	w       io.Writer
	file    *outfile.File // nil for standard output
	path    string
	force   bool
	written atomic.Int64
}

func createTarget(path string, force bool) (*target, error) {
	if info, err := os.Stat(path); err == nil && !force && keeps(info) {
		return nil, exit.Usagef("%s exists: give another --output, or --force to write over it", path)
	}
	f, err := outfile.Create(path)
	if err != nil {
		return nil, outputError("--output", path, err)
	}
	return &target{w: f, file: f, path: path, force: force}, nil
}

// keeps reports whether a file keeps what is written to it, so that overwriting it loses
// something.
func keeps(info fs.FileInfo) bool {
	block := info.Mode()&(fs.ModeDevice|fs.ModeCharDevice) == fs.ModeDevice
	return info.Mode().IsRegular() || block
}

// outputError returns the error of an output that a flag names, or nil if err is nil.
func outputError(flag, path string, err error) error {
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

// checkOutput returns the error of an output that a flag names, as far as it is known
// before anything is written.
func checkOutput(flag, path string) error {
	_, _, err := outfile.Resolve(path)
	return outputError(flag, path, err)
}

func (t *target) Write(b []byte) (int, error) {
	n, err := t.w.Write(b)
	t.written.Add(int64(n))
	return n, err
}

// check reads what was written.
func (t *target) check(kind *format, n int64) error {
	m, err := n, error(nil)
	if kind.check == nil {
		err = wacz.Verify(t.file.Name())
	} else if _, err = t.file.Seek(0, io.SeekStart); err == nil {
		m, err = kind.check(t.file.File)
	}
	if err == nil && m != n {
		err = fmt.Errorf("%s of %d can be read", say.Plural(int(m), kind.unit), n)
	}
	if err != nil {
		return exit.With(exit.Check, fmt.Errorf("%s differs from what was written, and is removed: %w", t.path, err))
	}
	return nil
}

// commit renames the file to its name, which is durable then, also after a power cut.
func (t *target) commit() error {
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

// discard removes the file if it was not committed.
func (t *target) discard() {
	if t.file != nil {
		_ = t.file.Discard()
	}
}

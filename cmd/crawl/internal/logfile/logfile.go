// Package logfile writes log lines to a file that other programs may rotate.
package logfile

import (
	"errors"
	"io/fs"
	"os"
)

// A File is a file to which log lines are appended. If the file was moved away or removed, the
// next Write makes a new one, so the program that moves it need not signal this program. Each
// Write must be of whole lines, as slog writes them. A File is not safe for concurrent use;
// slog holds a lock.
type File struct {
	path string
	file *os.File
	is   os.FileInfo
}

// Open opens a file to append to. made is true if the file did not exist.
func Open(path string) (l *File, made bool, err error) {
	_, before := os.Lstat(path)
	l = &File{path: path}
	return l, errors.Is(before, fs.ErrNotExist), l.reopen()
}

// RemoveEmpty closes the file, and removes it if nothing was written to it.
func (l *File) RemoveEmpty() error {
	is, err := l.file.Stat()
	if err := errors.Join(err, l.file.Close()); err != nil || is.Size() > 0 {
		return err
	}
	return os.Remove(l.path)
}

// reopen opens the file that has the name now.
func (l *File) reopen() error {
	f, err := os.OpenFile(l.path, os.O_WRONLY|os.O_CREATE|os.O_APPEND, 0o644)
	if err != nil {
		return err
	}
	is, err := f.Stat()
	if err != nil {
		f.Close()
		return err
	}
	if l.file != nil {
		l.file.Close() // nothing is buffered
	}
	l.file, l.is = f, is
	return nil
}

// Write writes to the file that has the name now. If that file cannot be opened, Write writes
// to the old file.
func (l *File) Write(line []byte) (int, error) {
	if is, err := os.Stat(l.path); err != nil || !os.SameFile(is, l.is) {
		_ = l.reopen()
	}
	return l.file.Write(line)
}

package main

import (
	"errors"
	"io"
	"io/fs"
	"os"

	"github.com/permesso-crawler/permesso/cmd/crawl/internal/exit"
)

// A logFile is a file that others may rotate: if it was moved away or removed, the next
// line makes it anew. The program that moves it need not signal this one. slog writes line
// by line.
type logFile struct {
	path string
	file *os.File
	is   os.FileInfo
}

// logTo returns the writer for log lines: a file, or standard error. undo removes the file
// if it was made and is empty; it is nil if no file was made.
func (p *program) logTo(path string) (to io.Writer, undo func() error, err error) {
	if path == "" {
		return p.err, nil, nil
	}
	_, before := os.Lstat(path)
	l := &logFile{path: path}
	if err := l.open(); err != nil {
		return nil, nil, exit.Usagef("--log-file: %v", err)
	}
	if errors.Is(before, fs.ErrNotExist) {
		undo = l.remove
	}
	return l, undo, nil
}

// remove removes the file if nothing was written to it.
func (l *logFile) remove() error {
	is, err := l.file.Stat()
	if err := errors.Join(err, l.file.Close()); err != nil || is.Size() > 0 {
		return err
	}
	return os.Remove(l.path)
}

func (l *logFile) open() error {
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

// Write writes to the file that has the name now. If that cannot be opened, it writes to
// the old one.
func (l *logFile) Write(line []byte) (int, error) {
	if is, err := os.Stat(l.path); err != nil || !os.SameFile(is, l.is) {
		_ = l.open()
	}
	return l.file.Write(line)
}

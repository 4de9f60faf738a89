package storage

import (
	"fmt"
	"io"
	"os"
	"sync"
	"syscall"
)

// An output is a file that grows by whole records. What is appended is in
// memory until flush, and counts only once its length is committed.
type output struct {
	file *os.File

	mu     sync.Mutex
	buf    []byte
	length int64 // of the file and buf
}

// openOutput opens the file at path, made if need be, and cuts what was never
// committed.
func openOutput(path string, committed int64) (*output, error) {
	f, err := os.OpenFile(path, os.O_RDWR|os.O_CREATE, 0o644)
	if err != nil {
		return nil, err
	}
	info, err := f.Stat()
	if err == nil && info.Size() < committed {
		err = &DamagedError{path, fmt.Errorf("%d bytes long where %d were written", info.Size(), committed)}
	}
	if err == nil {
		err = f.Truncate(committed)
	}
	if err == nil {
		_, err = f.Seek(committed, io.SeekStart)
	}
	if err != nil {
		f.Close()
		return nil, err
	}
	return &output{file: f, length: committed}, nil
}

// append adds a record.
func (o *output) append(record []byte) {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.buf = append(o.buf, record...)
	o.length += int64(len(record))
}

// flush writes what was appended, syncs it, and says how long the file is.
func (o *output) flush() (int64, error) {
	o.mu.Lock()
	buf, length := o.buf, o.length
	o.buf = nil
	o.mu.Unlock()
	if len(buf) == 0 {
		return length, nil
	}
	if _, err := o.file.Write(buf); err != nil {
		return 0, err
	}
	return length, syscall.Fdatasync(int(o.file.Fd()))
}

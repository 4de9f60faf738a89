package series

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"time"

	"github.com/permesso-crawler/permesso/internal/outfile"
)

// LockFile is the name of a file in a series. The process that makes a snapshot holds a lock on
// it. The file stays after that, so only the lock says that the series is in use. If the
// process is killed, the system releases the lock.
const LockFile = "series.lock"

// An InUseError says that another process makes a snapshot of the series in Dir.
type InUseError struct {
	Dir   string
	PID   int       // process id; 0: not known
	Since time.Time // when the process took the lock; zero: not known
}

func (e *InUseError) Error() string {
	by := "another process"
	if e.PID != 0 {
		by = fmt.Sprintf("process %d, which runs since %s", e.PID, e.Since.Format(time.RFC3339))
	}
	return fmt.Sprintf("the series %s is in use by %s: wait until it ends", e.Dir, by)
}

// A holder is the content of a LockFile.
type holder struct {
	PID     int       `json:"pid"`
	Started time.Time `json:"started"`
}

// A lock is the LockFile of a series, on which this process holds a lock.
type lock struct {
	file    *os.File
	was     []byte // content of the file before this process has locked it
	made    bool   // the file did not exist before, so undo removes it
	madeDir bool   // the directory of the series did not exist before, so undo removes it
}

// lock locks the series for this process, until l.file is closed. It makes the directory if
// that does not exist. If another process holds the lock, it returns an *InUseError.
func (s Series) lock(now time.Time) (l *lock, err error) {
	l = &lock{}
	if _, err := os.Stat(s.Dir); errors.Is(err, fs.ErrNotExist) {
		l.madeDir = true
	}
	if err := os.MkdirAll(s.Dir, 0o755); err != nil {
		return nil, err
	}
	for path := filepath.Join(s.Dir, LockFile); ; {
		_, err := os.Stat(path)
		l.made = errors.Is(err, fs.ErrNotExist)
		if l.file, err = os.OpenFile(path, os.O_RDWR|os.O_CREATE, 0o644); err != nil {
			return nil, err
		}
		taken, err := tryLock(l.file)
		if err == nil && !taken {
			err = s.inUse(l.file)
		}
		if err != nil {
			return nil, errors.Join(err, l.file.Close())
		}
		if l.named(path) {
			break
		}
		l.file.Close() // try again, because another process has removed the file before this one took the lock (see Undo)
	}
	if l.was, err = io.ReadAll(l.file); err == nil {
		err = note(l.file, holder{os.Getpid(), now.UTC().Truncate(time.Second)})
	}
	if err != nil {
		return nil, errors.Join(err, l.file.Close())
	}
	return l, nil
}

// named reports whether path is still the name of the locked file, so that no other process has
// removed it.
func (l *lock) named(path string) bool {
	is, err := l.file.Stat()
	now, err2 := os.Stat(path)
	return err == nil && err2 == nil && os.SameFile(is, now)
}

// undo releases the series. It removes the lock file and the directory if lock has made them.
// Otherwise it restores the earlier content of the lock file.
func (l *lock) undo() (err error) {
	path := l.file.Name()
	if l.made && runtime.GOOS != "windows" { // Windows does not remove open files
		err = os.Remove(path) // remove the name while the lock is held, so that no other process can take the lock first
	} else if err = l.file.Truncate(0); err == nil {
		_, err = l.file.WriteAt(l.was, 0)
	}
	err = errors.Join(err, outfile.Release(l.file))
	if l.madeDir && err == nil {
		err = os.Remove(filepath.Dir(path))
	}
	return err
}

// Free returns an *InUseError if a process is making a snapshot. Otherwise it returns nil.
func (s Series) Free() error {
	f, err := os.OpenFile(filepath.Join(s.Dir, LockFile), os.O_RDWR, 0)
	if errors.Is(err, os.ErrNotExist) {
		return nil
	}
	if err != nil {
		return err
	}
	taken, err := tryLock(f)
	if err == nil && taken {
		return outfile.Release(f)
	}
	defer f.Close()
	if err == nil {
		err = s.inUse(f)
	}
	return err
}

// inUse returns the *InUseError for a locked file, with the process that the file names.
func (s Series) inUse(f *os.File) error {
	var by holder
	if json.NewDecoder(f).Decode(&by) != nil {
		by = holder{}
	}
	return &InUseError{s.Dir, by.PID, by.Started}
}

// note writes the holder of the lock into f.
func note(f *os.File, by holder) error {
	raw, err := json.Marshal(by)
	if err != nil {
		return err
	}
	if err := f.Truncate(0); err != nil {
		return err
	}
	_, err = f.WriteAt(append(raw, '\n'), 0)
	return err
}

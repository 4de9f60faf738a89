package series

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"time"
)

// LockFile is the name of the file in a series that who makes a snapshot holds. It stays
// when that is over: what counts is the lock of the system on it, which a kill lets go.
const LockFile = "series.lock"

// An InUseError says that another process makes a snapshot of the series in Dir.
type InUseError struct {
	Dir   string
	PID   int       // 0: not known
	Since time.Time // zero: not known
}

func (e *InUseError) Error() string {
	who := "another process"
	if e.PID != 0 {
		who = fmt.Sprintf("process %d, which runs since %s", e.PID, e.Since.Format(time.RFC3339))
	}
	return fmt.Sprintf("the series %s is in use by %s: wait until it ends", e.Dir, who)
}

// A holder is what stands in a LockFile.
type holder struct {
	PID     int       `json:"pid"`
	Started time.Time `json:"started"`
}

// lock takes the series for this process, until the file is closed. The error is an
// *InUseError where another one has it.
func (s Series) lock(now time.Time) (*os.File, error) {
	f, err := os.OpenFile(filepath.Join(s.Dir, LockFile), os.O_RDWR|os.O_CREATE, 0o644)
	if err != nil {
		return nil, err
	}
	taken, err := tryLock(f)
	if err == nil && !taken {
		err = s.inUse(f)
	}
	if err == nil {
		err = note(f, holder{os.Getpid(), now.UTC().Truncate(time.Second)})
	}
	if err != nil {
		return nil, errors.Join(err, f.Close())
	}
	return f, nil
}

// Free returns an *InUseError where somebody makes a snapshot, and nil where nobody does.
func (s Series) Free() error {
	f, err := os.OpenFile(filepath.Join(s.Dir, LockFile), os.O_RDWR, 0)
	if errors.Is(err, os.ErrNotExist) {
		return nil
	}
	if err != nil {
		return err
	}
	defer f.Close()
	taken, err := tryLock(f)
	if err == nil && !taken {
		err = s.inUse(f)
	}
	return err
}

// inUse says who holds a file that is locked, as far as it is told there.
func (s Series) inUse(f *os.File) error {
	raw, err := io.ReadAll(io.LimitReader(f, 1<<10))
	var by holder
	if err != nil || json.Unmarshal(raw, &by) != nil {
		by = holder{}
	}
	return &InUseError{s.Dir, by.PID, by.Started}
}

// note writes who holds a file.
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

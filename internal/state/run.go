package state

import (
	"encoding/json"
	"errors"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"time"

	"github.com/permesso-crawler/permesso/internal/disk"
	"github.com/permesso-crawler/permesso/internal/outfile"
)

// RunFile is the name of the file that says which process holds a crawl.
const RunFile = "run.json"

// A Run says which process holds a crawl.
type Run struct {
	PID     int       `json:"pid"`
	Started time.Time `json:"started"`
	Control string    `json:"control,omitempty"` // path of the control socket, if the socket is not in the directory of the crawl
	Full    bool      `json:"full,omitempty"`    // the process has ended because the disk was full (see DiskFull)
}

// ReadRun returns the process that holds the crawl in dir, or that held it when it was
// killed. The error is fs.ErrNotExist if no such process is recorded.
func ReadRun(dir string) (*Run, error) {
	f, err := disk.OpenRegular(filepath.Join(dir, RunFile))
	if err != nil {
		return nil, err
	}
	defer f.Close()
	raw, err := io.ReadAll(f)
	if err != nil {
		return nil, err
	}
	run := new(Run)
	if err := json.Unmarshal(raw, run); err != nil {
		return nil, &DamagedError{filepath.Join(dir, RunFile), err}
	}
	return run, nil
}

// NameControl stores the path of the control socket in the run.json of the crawl in dir. Only
// the process that holds the crawl may call it.
func NameControl(dir, path string) error {
	run, err := ReadRun(dir)
	if err != nil {
		return err
	}
	run.Control = path
	return writeRun(dir, *run, disk.Disk{})
}

// NodeFile is the name of a file in the directory of a node, of a crawl on several machines. It
// says that the directory has only outputs, and that the state is in a database. While the node
// runs, its process holds a lock on the file.
const NodeFile = "crawl.json"

// Holder returns the process that holds the crawl in dir. ok is false if no process does. run
// is nil if the process is not known.
func Holder(dir string) (run *Run, ok bool) {
	f, err := os.Open(filepath.Join(dir, File))
	if errors.Is(err, fs.ErrNotExist) {
		f, err = os.Open(filepath.Join(dir, NodeFile))
	}
	if err != nil {
		return nil, false
	}
	defer f.Close()
	if !locked(f) {
		return nil, false
	}
	run, _ = ReadRun(dir)
	return run, true
}

// NoteFull writes to run.json that this process ends because the disk is full. It writes in
// place and adds only a few bytes, for which even a full disk usually has room. If there is no
// room, the run will be reported as killed.
func NoteFull(dir string) {
	run, err := ReadRun(dir)
	if err != nil {
		return
	}
	run.Full = true
	raw, err := json.Marshal(run)
	if err != nil {
		return
	}
	f, err := os.OpenFile(filepath.Join(dir, RunFile), os.O_WRONLY, 0)
	if err != nil {
		return
	}
	defer f.Close()
	f.Write(append(raw, '\n')) // the new text is longer, so it covers the old one
}

// WriteRun writes run.json: this process holds the crawl in dir.
func WriteRun(dir string, d disk.Disk) error {
	run := Run{PID: os.Getpid(), Started: time.Now().UTC().Truncate(time.Millisecond)}
	return errors.Join(writeRun(dir, run, d), d.SyncDir(dir))
}

func writeRun(dir string, r Run, d disk.Disk) error {
	raw, err := json.Marshal(r)
	if err != nil {
		return err
	}
	path, err := outfile.ResolveRegular(filepath.Join(dir, RunFile))
	if err != nil {
		return err
	}
	f, err := os.OpenFile(path+".new", os.O_WRONLY|os.O_CREATE|os.O_TRUNC, 0o600)
	if err != nil {
		return err
	}
	_, err = f.Write(append(raw, '\n'))
	if err == nil {
		err = d.Sync(f)
	}
	if err = errors.Join(err, f.Close()); err != nil {
		return err
	}
	return os.Rename(path+".new", path)
}

// Hold prevents other processes from running the crawl in dir, until the caller closes the
// returned file. Other processes can still read the crawl. The error is an *InUseError, or an
// error of the file system.
func Hold(dir string) (*os.File, error) {
	f, err := os.Open(filepath.Join(dir, File))
	if err != nil {
		return nil, err
	}
	if locked(f) {
		f.Close()
		run, _ := ReadRun(dir)
		return nil, &InUseError{dir, run}
	}
	return f, nil
}

package store

import (
	"bufio"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"time"

	"github.com/permesso-crawler/permesso/internal/disk"
	"github.com/permesso-crawler/permesso/internal/lines"
)

// purgeFile is the name of a file that lists what a purge removes, while the purge runs. Each
// line is a JSON object: first a purgeHead, then purgePlaces and purgeRecords, last a purgeEnd.
// The file gets this name only when all of it is on disk.
const purgeFile = "purge.jsonl"

type purgeHead struct {
	Time   time.Time `json:"time"`
	Places []string  `json:"-"` // each place is a purgePlace, a line of its own, because there may be many
}

type purgePlace struct {
	Place string `json:"place"`
}

// A purgeRecord is a line about one record of the archive that is removed.
type purgeRecord struct {
	File   string `json:"file"`
	Offset int64  `json:"offset"`
	Length int64  `json:"length"`
	ID     string `json:"id"`
	Was    string `json:"was"` // the value of warc.FieldPurged
}

type purgeEnd struct {
	End   bool     `json:"end"`
	Wrong []string `json:"wrong,omitempty"` // files that did not match their marks before the purge
}

// A purgeWriter writes a purgeFile.
type purgeWriter struct {
	dir  string
	disk disk.Disk
	file *os.File
	buf  *bufio.Writer
	enc  *json.Encoder
}

func newPurgeWriter(dir string, d disk.Disk, head purgeHead) (*purgeWriter, error) {
	f, err := createNew(dir, purgeFile)
	if err != nil {
		return nil, err
	}
	w := &purgeWriter{dir: dir, disk: d, file: f, buf: bufio.NewWriter(f)}
	w.enc = json.NewEncoder(w.buf)
	err = w.enc.Encode(head)
	for _, place := range head.Places {
		err = errors.Join(err, w.enc.Encode(purgePlace{place}))
	}
	if err != nil {
		return nil, errors.Join(err, w.abandon())
	}
	return w, nil
}

// finish writes the last line and renames the file to purgeFile. After that the purge must be
// finished before the crawl can be resumed.
func (w *purgeWriter) finish(end purgeEnd) error {
	err := w.enc.Encode(end)
	if err == nil {
		err = w.buf.Flush()
	}
	if err == nil {
		err = w.disk.Sync(w.file)
	}
	if err = errors.Join(err, w.file.Close()); err != nil {
		return errors.Join(err, os.Remove(w.file.Name()))
	}
	return errors.Join(rename(w.dir, purgeFile), w.disk.SyncDir(w.dir))
}

// abandon removes the file before it is complete.
func (w *purgeWriter) abandon() error {
	return errors.Join(w.file.Close(), os.Remove(w.file.Name()))
}

// readPurge reads the purgeFile, and calls f with each record, unless f is nil. The error wraps
// fs.ErrNotExist if there is no such file. It is a *DamagedError if a line cannot be read, or
// if the last line is missing.
func readPurge(dir string, f func(*purgeRecord) error) (head purgeHead, end purgeEnd, err error) {
	path := filepath.Join(dir, purgeFile)
	file, err := disk.OpenRegular(path)
	if err != nil {
		return head, end, err
	}
	defer file.Close()
	in := lines.NewReader(file)
	for n := 1; ; n++ {
		line, err := in.Next()
		if err == io.EOF {
			break
		}
		var r struct {
			purgeRecord
			purgeEnd
			purgePlace
		}
		switch {
		case err != nil:
		case end.End:
			err = errors.New("there is a line after the end")
		case n == 1:
			err = json.Unmarshal(line, &head)
		default:
			switch err = json.Unmarshal(line, &r); {
			case err != nil:
			case r.End:
				end = r.purgeEnd
			case r.Place != "":
				head.Places = append(head.Places, r.Place)
			case f != nil:
				if err := f(&r.purgeRecord); err != nil {
					return head, end, err
				}
			}
		}
		if err != nil {
			return head, end, &DamagedError{Path: path, Err: fmt.Errorf("line %d: %w", n, err)}
		}
	}
	if !end.End {
		return head, end, &DamagedError{Path: path, Err: errors.New("its end is missing")}
	}
	return head, end, nil
}

// A PurgeError says that a purge of the crawl in Dir, which began at Time, was interrupted.
// The crawl cannot be resumed before Purge.Run has finished that purge.
type PurgeError struct {
	Dir    string
	Time   time.Time
	Places []string // the Places of the Purge
}

func (e *PurgeError) Error() string {
	return fmt.Sprintf("%s: a purge that began at %s was interrupted and must be finished first", e.Dir, e.Time.UTC().Format(time.RFC3339))
}

// UnfinishedPurge returns the interrupted purge of the crawl in dir. It returns nil if no purge
// was interrupted. It fails with a *DamagedError, or an error of the file system.
func UnfinishedPurge(dir string) (*PurgeError, error) {
	head, _, err := readPurge(dir, nil)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	return &PurgeError{dir, head.Time, head.Places}, nil
}

// notPurging returns the *PurgeError of an interrupted purge. It returns nil if no purge was
// interrupted.
func notPurging(dir string) error {
	broken, err := UnfinishedPurge(dir)
	if err == nil && broken != nil {
		err = broken
	}
	return err
}

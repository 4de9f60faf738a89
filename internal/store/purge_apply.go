package store

import (
	"bufio"
	"errors"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"time"

	"github.com/permesso-crawler/permesso/internal/digest"
	"github.com/permesso-crawler/permesso/internal/state"
	"github.com/permesso-crawler/permesso/storage/warc"
)

// A purger removes from a crawl what its purgeFile lists.
type purger struct {
	*Purge
	dir     string
	began   time.Time   // when the purge began: purgeHead.Time
	files   state.Files // the marks after the purge
	wrong   []string    // names of files that did not match their marks before the purge: purgeEnd.Wrong
	changed []string    // names of the changed WARC files, in the order of the purgeFile

	file *os.File // the last file of changed, if it is open
}

// fill replaces a record by a record that says that it was purged. For the same r it always
// writes the same bytes.
func (a *purger) fill(r *purgeRecord) error {
	if n := len(a.changed); n == 0 || a.changed[n-1] != r.File {
		if err := a.filled(); err != nil {
			return err
		}
		f, err := os.OpenFile(filepath.Join(a.dir, ArchiveDir, filepath.Base(r.File)), os.O_RDWR, 0)
		if err != nil {
			return err
		}
		a.file = f
		a.changed = append(a.changed, r.File)
	}
	filler := warc.Purged{ID: r.ID, Date: a.began, Was: r.Was}
	out := bufio.NewWriterSize(io.NewOffsetWriter(a.file, r.Offset), 64<<10)
	err := errors.Join(filler.Fill(out, r.Length), out.Flush())
	a.stepped()
	return err
}

// filled syncs and closes a.file.
func (a *purger) filled() error {
	if a.file == nil {
		return nil
	}
	err := errors.Join(a.disk.Sync(a.file), a.file.Close())
	a.file = nil
	return err
}

// outputs rewrites the files that consist of lines, and sets the new marks of all changed
// files.
func (a *purger) outputs() error {
	for _, name := range a.changed {
		if err := a.archive(name); err != nil {
			return err
		}
		a.stepped()
	}
	fits := a.files.Index.Part.Same(a.files.Growing[indexPart])
	for _, name := range purgedLines {
		if err := a.lines(name); err != nil {
			return err
		}
		a.stepped()
	}
	if fits {
		a.files.Index.Part = a.files.Growing[indexPart]
	}
	return a.disk.SyncDir(a.dir)
}

// archive sets the new mark of a WARC file.
func (a *purger) archive(name string) error {
	key := archiveKey(name)
	for _, known := range []state.Marks{a.files.Finished, a.files.Growing} {
		want, ok := known[key]
		if !ok {
			continue
		}
		f, err := os.Open(filepath.Join(a.dir, ArchiveDir, name))
		if err != nil {
			return err
		}
		is := marking{r: f, sha: digest.New()}
		_, err = io.Copy(io.Discard, &is)
		if err := errors.Join(err, f.Close()); err != nil {
			return err
		}
		known[key] = a.honest(key, want.Of(is.mark()))
	}
	return nil
}

// honest returns m, the new mark of a file. But if the file did not match its mark before the
// purge, honest returns a mark that does not match either, so that Verify still reports the
// damage.
func (a *purger) honest(name string, m state.Mark) state.Mark {
	if slices.Contains(a.wrong, name) {
		m.Sum, m.SHA256 = ^m.Sum, ""
	}
	return m
}

// lines rewrites the output with the given name without the removed lines.
func (a *purger) lines(name string) error {
	path := filepath.Join(a.dir, name)
	in, err := os.Open(path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return err
	}
	to, err := a.filter(name, in)
	if err := errors.Join(err, in.Close()); err != nil {
		return err
	}
	if err := rename(a.dir, name); err != nil {
		return err
	}
	if name == IndexFile {
		a.files.Index.Index = a.honest(name, a.files.Index.Index.Of(to))
		return nil
	}
	m, known := a.files.Growing[name]
	if !known {
		return nil
	}
	a.files.Growing[name] = a.honest(name, m.Of(to))
	return nil
}

// filter writes the new version of an output, without the removed lines, and returns the mark
// of the new version.
func (a *purger) filter(name string, in io.Reader) (is state.Mark, err error) {
	out, err := createNew(a.dir, name)
	if err != nil {
		return is, err
	}
	to := &marking{w: out, sha: digest.New()}
	filter := lineFilter{name: name, why: a.Why, unreadable: func(int64, error) {}}
	err = filter.copy(to, in)
	if err = errors.Join(err, a.disk.Sync(out), out.Close()); err != nil {
		err = errors.Join(err, os.Remove(out.Name())) // the new file may be the reason why the disk is full
	}
	return to.mark(), err
}

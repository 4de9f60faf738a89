package store

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/permesso-crawler/permesso/internal/disk"
	"github.com/permesso-crawler/permesso/internal/state"
)

// forgottenDir is the beginning of the name of a directory. The directory has the outputs of
// commits that a database has acknowledged and then lost.
const forgottenDir = "forgotten-"

// forgottenBy describes the commits that st has acknowledged and then lost. It returns nil if
// there are none.
func forgottenBy(st state.Store) *state.Forgotten {
	if f, ok := st.(state.Forgetful); ok {
		return f.Forgotten()
	}
	return nil
}

// withoutForgotten returns the marks in known that checkFiles must check. It leaves out WARC
// files that got their final names after commits that the state has lost: these files are
// longer than their marks, and putAside truncates them.
func withoutForgotten(dir string, known state.Marks, f *state.Forgotten) state.Marks {
	if f == nil {
		return known
	}
	checked := state.Marks{}
	for key, m := range known {
		if name, ok := strings.CutPrefix(key, ArchiveDir+"/"); ok {
			if info, err := os.Stat(filepath.Join(dir, ArchiveDir, name)); err == nil && info.Size() > m.Length {
				continue
			}
		}
		checked[key] = m
	}
	return checked
}

// putAside copies the outputs of lost commits (see state.Forgotten) into a new directory in
// dir. From each output it copies the part after the file's mark, which begins with a new line
// or record, into a file of the same name. It then truncates the WARC files that have their
// final names, because the next run fetches these URLs again; the callers truncate the other
// files. putAside sets f.Into to the new directory, or leaves it empty if no file is longer
// than its mark.
func putAside(dir string, known state.Marks, f *state.Forgotten, d disk.Disk) error {
	into := filepath.Join(dir, forgottenDir+time.Now().UTC().Format("20060102T150405.000000Z"))
	a := aside{into: into, disk: d}
	for _, name := range []string{PagesFile, LinksFile, indexPart} {
		if err := a.tail(filepath.Join(dir, name), name, known[name].Length, f.Acked[name].Length); err != nil {
			return err
		}
	}
	all, err := warcFiles(dir)
	if err != nil {
		return err
	}
	for _, w := range all {
		key := archiveKey(w.name)
		if _, ok := f.Finished[key]; ok {
			continue
		}
		end := f.Acked[key].Length
		if !w.grows { // a WARC file has its final name only if its contents were committed
			info, err := os.Stat(w.path)
			if err != nil {
				return err
			}
			end = info.Size()
		}
		m, ok := known[key]
		if err := a.tail(w.path, key, m.Length, end); err != nil {
			return err
		}
		switch {
		case w.grows:
		case ok && m.Length > 0:
			err = cutTail(w.path, m.Length, d)
		default:
			err = os.Remove(w.path)
		}
		if err != nil {
			return err
		}
	}
	if !a.made {
		return nil
	}
	f.Into = into
	return d.SyncDir(dir)
}

// An aside is the directory into which putAside copies parts of files.
type aside struct {
	into string
	disk disk.Disk
	made bool
}

// tail copies a part of the file at path into the file name of a. The part begins at offset
// from and ends before offset end, or at the end of the file if that is earlier. If the part is
// empty, tail does nothing.
func (a *aside) tail(path, name string, from, end int64) (err error) {
	if end <= from {
		return nil
	}
	in, err := os.Open(path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return err
	}
	defer in.Close()
	info, err := in.Stat()
	if err != nil || min(end, info.Size()) <= from {
		return err
	}
	to := filepath.Join(a.into, filepath.FromSlash(name))
	if err := os.MkdirAll(filepath.Dir(to), 0o755); err != nil {
		return err
	}
	a.made = true
	out, err := os.OpenFile(to, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o644)
	if err != nil {
		return err
	}
	if _, err = io.Copy(out, io.NewSectionReader(in, from, end-from)); err == nil {
		err = a.disk.Sync(out)
	}
	if err := errors.Join(err, out.Close()); err != nil {
		return fmt.Errorf("%s: %w", to, err)
	}
	return errors.Join(a.disk.SyncDir(filepath.Dir(to)), a.disk.SyncDir(a.into))
}

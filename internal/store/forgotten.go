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

// forgottenDir is the beginning of the name of a directory for what a state has forgotten.
const forgottenDir = "forgotten-"

// forgottenBy returns what st has acknowledged and forgotten, or nil.
func forgottenBy(st state.Store) *state.Forgotten {
	if f, ok := st.(state.Forgetful); ok {
		return f.Forgotten()
	}
	return nil
}

// withoutForgotten returns the marks in known that checkFiles checks. A WARC file that was full,
// and was given its final name after the commits that were forgotten, is longer than its mark;
// putAside truncates it.
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

// putAside copies what a state has acknowledged and forgotten into a new directory in dir, and
// removes it from the WARC files that have their final names: the URLs will be fetched again, and
// what the next run writes has the place of what was forgotten. The files that have no final name
// are truncated by the steps that follow. A file in the new directory has the part of the file
// of the same name after its mark, which begins with a new line or record. putAside sets f.Into to
// the directory, or leaves it empty if no file has more than its mark.
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
		if !w.grows { // only a file whose contents are committed gets its final name
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

// An aside is a directory into which parts of files are copied.
type aside struct {
	into string
	disk disk.Disk
	made bool
}

// tail copies the bytes of the file at path from from up to end, or up to the end of the file, into
// the file name of a. If there are none, it does nothing.
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

package store

import (
	"errors"
	"os"
	"path/filepath"
	"runtime/debug"
	"syscall"
	"testing"
	"time"

	"github.com/permesso-crawler/permesso/internal/devtest"
	"github.com/permesso-crawler/permesso/internal/disk"
	"github.com/permesso-crawler/permesso/internal/state"
)

// openFiles returns how many files this process has open.
func openFiles(t *testing.T) int {
	t.Helper()
	all, err := os.ReadDir("/proc/self/fd")
	if err != nil {
		t.Skip("no /proc to count files in: ", err)
	}
	return len(all)
}

// Each function closes the files that it opens, also if it fails.
func TestFilesAreClosed(t *testing.T) {
	defer debug.SetGCPercent(debug.SetGCPercent(-1)) // off, because the garbage collector also closes files
	broken := errors.New("no sync")
	failing := disk.Disk{Before: func(string) error { return broken }}
	whole, all := indexed(t), Options{Gather: -1, Archive: &Archive{}, Links: true}
	file := filepath.Join(t.TempDir(), "file")
	if err := os.WriteFile(file, []byte("abc"), 0o644); err != nil {
		t.Fatal(err)
	}
	damaged := crash(t, whole)
	if err := errors.Join(os.Truncate(filepath.Join(damaged, PagesFile), 10), os.Remove(filepath.Join(damaged, IndexFile))); err != nil {
		t.Fatal(err)
	}
	unended := crash(t, whole)
	raw, err := os.ReadFile(filepath.Join(unended, LinksFile))
	if err != nil {
		t.Fatal(err)
	}
	raw[len(raw)-1] = 'x'
	if err := os.WriteFile(filepath.Join(unended, LinksFile), raw, 0o644); err != nil {
		t.Fatal(err)
	}
	for name, c := range map[string]struct {
		do  func() error
		bad bool
	}{
		"a run": {func() error {
			db, err := Open(whole, all)
			if err != nil {
				return err
			}
			visitOf(t, db, 1)
			return db.Close()
		}, false},
		"a run that makes the index again": {func() error {
			if err := errors.Join(os.Remove(filepath.Join(whole, IndexFile)), os.Remove(filepath.Join(whole, indexPart))); err != nil {
				return err
			}
			db, err := Open(whole, all)
			if err != nil {
				return err
			}
			return db.Close()
		}, false},
		"a run that is refused": {func() error {
			_, err := Open(damaged, all)
			return err
		}, true},
		"a run that is refused late": {func() error {
			_, err := Open(unended, all)
			return err
		}, true},
		"a run whose disk fails": {func() error {
			dir := crash(t, whole)
			_, err := Open(dir, Options{Gather: -1, Archive: &Archive{}, disk: failing})
			return err
		}, true},
		"a check":                 {func() error { _, err := Verify(t.Context(), whole, nil); return err }, false},
		"a check of what is not":  {func() error { _, err := Verify(t.Context(), filepath.Dir(file), nil); return err }, true},
		"an index":                {func() error { _, err := MakeIndex(t.Context(), whole, nil); return err }, false},
		"an index of no crawl":    {func() error { _, err := MakeIndex(t.Context(), filepath.Dir(file), nil); return err }, true},
		"a reader":                {func() error { r, err := OpenReader(whole); return errors.Join(err, r.Close()) }, false},
		"a reader of no crawl":    {func() error { _, err := OpenReader(filepath.Dir(file)); return err }, true},
		"an output that is short": {func() error { _, err := openOutput(file, state.Mark{Length: 4}, disk.Disk{}); return err }, true},
		"a tail":                  {func() error { return cutTail(file, 3, disk.Disk{}) }, false},
		"a tail that is not safe": {func() error {
			if err := os.Truncate(file, 4); err != nil {
				return nil
			}
			return cutTail(file, 3, failing)
		}, true},
		"a line that is not whole": {func() error { return wholeLine(file, state.Mark{Length: 3}) }, true},
		"an archive that is left": {func() error {
			a, err := newArchive(filepath.Join(t.TempDir(), "c"), Archive{}, disk.Disk{}, time.Unix(0, 0))
			if err == nil {
				_, _, err = a.append([]byte("x"))
			}
			a.abandon()
			return err
		}, false},
	} {
		before := openFiles(t)
		for range 10 {
			if err := c.do(); (err != nil) != c.bad {
				t.Fatalf("%s: %v", name, err)
			}
		}
		if after := openFiles(t); after > before+5 {
			t.Errorf("%s: %d files are open, %d were before", name, after, before)
		}
	}
}

// If the disk has no room for an index, the error says so, and no part of the new index is left
// to fill the disk.
func TestAnIndexOnAFullDisk(t *testing.T) {
	full := devtest.Device(t, "full")
	whole := indexed(t)
	for _, name := range []string{indexPart, IndexFile} {
		dir := crash(t, whole)
		path := filepath.Join(dir, name+newSuffix)
		if err := errors.Join(os.Symlink(full, path), os.Remove(filepath.Join(dir, IndexFile))); err != nil {
			t.Fatal(err)
		}
		if _, err := MakeIndex(t.Context(), dir, nil); !errors.Is(err, syscall.ENOSPC) || !DiskFull(err) {
			t.Errorf("%s: %v", name, err)
		}
		if left := passing(t, dir); len(left) > 0 {
			t.Errorf("%s: left are %q", name, left)
		}
		if err := os.Symlink(full, path); err != nil {
			t.Fatal(err)
		}
		db, err := Open(dir, Options{Gather: -1})
		if err != nil {
			t.Fatal(err)
		}
		if err := db.Close(); name == IndexFile && !errors.Is(err, syscall.ENOSPC) {
			t.Errorf("%s: a run ends with %v", name, err)
		}
		os.Remove(path)
		reopened(t, dir, Options{Gather: -1})
		verified(t, dir)
	}
}

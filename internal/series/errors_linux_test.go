package series_test

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"runtime/debug"
	"syscall"
	"testing"
	"time"

	"github.com/permesso-crawler/permesso/internal/series"
)

// otherUser is the ID of a user without files.
const otherUser = 65534

// without calls f as a user that owns only the directory dir, which has the given mode. It
// skips the test unless it runs as root.
func without(t *testing.T, dir string, mode os.FileMode, f func()) {
	t.Helper()
	if os.Geteuid() != 0 {
		t.Skip("files of another user need root")
	}
	if err := errors.Join(os.Chown(dir, otherUser, otherUser), os.Chmod(dir, mode), os.Chmod(filepath.Dir(dir), 0o711)); err != nil {
		t.Fatal(err)
	}
	runtime.LockOSThread() // lock the thread, because each thread has its own user
	defer runtime.UnlockOSThread()
	syscall.RawSyscall(syscall.SYS_SETFSUID, otherUser, 0, 0)
	defer syscall.RawSyscall(syscall.SYS_SETFSUID, 0, 0, 0)
	f()
}

// If a file may not be read or removed, the methods return an error and release the series.
func TestFilesOfAnotherUser(t *testing.T) {
	job := jobOf("", "http://a.example/")
	s := series.Series{Dir: t.TempDir()}
	without(t, s.Dir, 0o300, func() {
		if _, err := s.Begin(job, series.Moment{Now: monday}); !errors.Is(err, syscall.EACCES) {
			t.Errorf("a directory that cannot be listed: %v", err)
		}
		if _, err := s.Snapshots(); !errors.Is(err, syscall.EACCES) {
			t.Errorf("its snapshots: %v", err)
		}
		if _, err := series.Open(s.Dir); !errors.Is(err, syscall.EACCES) {
			t.Errorf("it is a series: %v", err)
		}
	})
	if left, err := os.ReadDir(s.Dir); len(left) > 0 || err != nil {
		t.Errorf("%v is left, %v", left, err)
	}
	torn := filepath.Join(s.Dir, "20261122T030000Z.crawl.new")
	if err := os.MkdirAll(filepath.Join(torn, "sub"), 0o755); err != nil {
		t.Fatal(err)
	}
	without(t, s.Dir, 0o755, func() {
		if _, err := s.Begin(job, series.Moment{Now: monday}); !errors.Is(err, syscall.EACCES) {
			t.Errorf("what a kill has left cannot be removed: %v", err)
		}
	})
	if err := os.RemoveAll(torn); err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{series.LockFile, series.MissedFile} {
		if err := os.WriteFile(filepath.Join(s.Dir, name), nil, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	without(t, s.Dir, 0o755, func() {
		_, begun := s.Begin(job, series.Moment{Now: monday})
		_, _, missed := s.Missed()
		for name, err := range map[string]error{"Begin": begun, "Free": s.Free(), "Missed": missed, "NoteSince": s.NoteSince(monday)} {
			if !errors.Is(err, syscall.EACCES) {
				t.Errorf("%s: %v", name, err)
			}
		}
	})
}

// If the disk is full, each method returns an error unless its result is on disk.
func TestASeriesOnAFullDisk(t *testing.T) {
	dir := t.TempDir()
	if err := syscall.Mount("tmpfs", dir, "tmpfs", 0, "size=64k"); err != nil {
		t.Skipf("a small file system needs root: %v", err)
	}
	defer func() {
		if err := syscall.Unmount(dir, 0); err != nil {
			t.Error(err)
		}
	}()
	s := series.Series{Dir: filepath.Join(dir, "weekly")}
	if err := os.Mkdir(s.Dir, 0o755); err != nil {
		t.Fatal(err)
	}
	job := jobOf("", "http://a.example/")
	resumed, ballast := series.Series{Dir: filepath.Join(dir, "resumed")}, filepath.Join(dir, "ballast")
	end(t, begin(t, resumed, job, series.Moment{Now: monday}))
	if err := os.Truncate(filepath.Join(resumed.Dir, series.LockFile), 0); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(ballast, make([]byte, 64<<10), 0o600); !errors.Is(err, syscall.ENOSPC) {
		t.Fatal(err)
	}
	if r, err := resumed.Begin(job, series.Moment{Now: monday.Add(time.Hour)}); !errors.Is(err, syscall.ENOSPC) {
		t.Errorf("a run that is resumed: %+v, %v", r, err)
	}
	if err := errors.Join(os.RemoveAll(resumed.Dir), os.Remove(ballast)); err != nil {
		t.Fatal(err)
	}
	for pages := range 5 { // number of free pages of the disk
		if err := os.WriteFile(ballast, make([]byte, (16-pages)<<12), 0o600); err != nil {
			t.Fatal(err)
		}
		r, err := s.Begin(job, series.Moment{Now: monday})
		switch {
		case pages < 3: // too few for the lock and two files; the job file is empty
			if !errors.Is(err, syscall.ENOSPC) {
				t.Errorf("%d pages are free: %v", pages, err)
			}
		case err != nil:
			t.Errorf("%d pages are free: %v", pages, err)
		default:
			if err := r.Undo(); err != nil {
				t.Error(err)
			}
		}
		noted := s.NoteSince(monday)
		if _, since, err := s.Missed(); since.IsZero() == (noted == nil) || err != nil {
			t.Errorf("%d pages are free: %v, and it is noted since %v, %v", pages, noted, since, err)
		}
		if noted == nil != (pages > 0) {
			t.Errorf("%d pages are free: %v", pages, noted)
		}
		if err := errors.Join(os.RemoveAll(filepath.Join(s.Dir, series.MissedFile)), os.Remove(ballast)); err != nil {
			t.Fatal(err)
		}
	}
}

// If the disk cannot have enough files for a snapshot, Begin makes no snapshot.
func TestASeriesOnADiskOfFewFiles(t *testing.T) {
	made := 0
	for files := 2; files < 10; files++ { // number of files that the disk can have, including its root
		dir := t.TempDir()
		if err := syscall.Mount("tmpfs", dir, "tmpfs", 0, fmt.Sprintf("size=64k,nr_inodes=%d", files)); err != nil {
			t.Skipf("a small file system needs root: %v", err)
		}
		s := series.Series{Dir: filepath.Join(dir, "weekly")}
		r, err := s.Begin(jobOf("one", "http://a.example/"), series.Moment{Now: monday})
		if err == nil {
			made++
			if wrong := r.Check(); len(wrong) > 0 {
				t.Errorf("%d files: %v", files, wrong)
			}
			end(t, r)
		} else if all, err2 := s.Snapshots(); !errors.Is(err, syscall.ENOSPC) || len(all) > 0 || err2 != nil {
			t.Errorf("%d files: %v, and there are %v, %v", files, err, all, err2)
		}
		if err := syscall.Unmount(dir, 0); err != nil {
			t.Error(err)
		}
	}
	if made != 3 { // seven files are needed: root, series, lock, snapshot and its three files
		t.Errorf("%d snapshots were made", made)
	}
}

// Other users may read the files and directories of a series, unless the umask forbids it.
func TestModesOfASeries(t *testing.T) {
	root := t.TempDir()
	s := series.Series{Dir: filepath.Join(root, "weekly")}
	begin(t, s, jobOf("one", "http://a.example/"), series.Moment{Now: monday})
	file, dir := filepath.Join(root, "file"), filepath.Join(root, "dir")
	if err := errors.Join(s.NoteSince(monday), os.WriteFile(file, nil, 0o644), os.Mkdir(dir, 0o755)); err != nil {
		t.Fatal(err)
	}
	mode := func(path string) os.FileMode {
		info, err := os.Stat(path)
		if err != nil {
			t.Fatal(err)
		}
		return info.Mode()
	}
	seen := 0
	err := filepath.WalkDir(s.Dir, func(path string, e os.DirEntry, err error) error {
		like := file
		if e.IsDir() {
			like = dir
		}
		if seen++; mode(path) != mode(like) {
			t.Errorf("%s has the mode %v, want %v", path, mode(path), mode(like))
		}
		return err
	})
	if err != nil || seen != 7 { // the series, its lock, its list of missed runs, and a snapshot with three files
		t.Errorf("%d files, %v", seen, err)
	}
}

// openFiles returns how many files this process has open.
func openFiles(t *testing.T) int {
	t.Helper()
	all, err := os.ReadDir("/proc/self/fd")
	if err != nil {
		t.Skip("no /proc to count files in: ", err)
	}
	return len(all)
}

// All methods close their files, also if they fail.
func TestFilesOfASeriesAreClosed(t *testing.T) {
	defer debug.SetGCPercent(debug.SetGCPercent(-1)) // off, because the garbage collector also closes files
	s := series.Series{Dir: filepath.Join(t.TempDir(), "weekly")}
	job := jobOf("", "http://a.example/")
	held := series.Series{Dir: filepath.Join(t.TempDir(), "held")}
	begin(t, held, job, series.Moment{Now: monday})
	inUse := fmt.Sprint(held.Free())
	unread := series.Series{Dir: t.TempDir()}
	if err := errors.Join(os.Symlink("/proc/self/mem", filepath.Join(unread.Dir, series.LockFile)),
		os.Symlink("/proc/self/mem", filepath.Join(unread.Dir, series.MissedFile))); err != nil {
		t.Fatal(err)
	}
	revisits := revisited(t)
	for _, c := range []struct {
		name, want string
		do         func() error
	}{
		{"a run", "<nil>", func() error {
			r, err := s.Begin(job, series.Moment{Now: monday})
			return errors.Join(err, r.Close())
		}},
		{"a run that is undone", "<nil>", func() error {
			r, err := s.Begin(job, series.Moment{Now: monday, Fresh: true, Due: monday.Add(time.Hour)})
			return errors.Join(err, r.Undo())
		}},
		{"a series in use", inUse, func() error { _, err := held.Begin(job, series.Moment{Now: monday}); return err }},
		{"a lock that cannot be read", "read " + filepath.Join(unread.Dir, series.LockFile) + ": input/output error",
			func() error { _, err := unread.Begin(job, series.Moment{Now: monday}); return err }},
		{"Free", "<nil>", s.Free},
		{"Free of a series in use", inUse, held.Free},
		{"NoteMissed", "<nil>", func() error { return s.NoteMissed(series.Missed{Due: monday}) }},
		{"a list that cannot be read", "read " + filepath.Join(unread.Dir, series.MissedFile) + ": input/output error",
			func() error { return unread.NoteSince(monday) }},
		{"RefersBehind", "<nil>", func() error { _, err := revisits.RefersBehind(monday); return err }},
	} {
		before := openFiles(t)
		if err := c.do(); fmt.Sprint(err) != c.want {
			t.Errorf("%s: %v, want %s", c.name, err, c.want)
		}
		if after := openFiles(t); after != before {
			t.Errorf("%s: %d files are open, and %d before", c.name, after, before)
		}
	}
}

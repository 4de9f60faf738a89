package store

import (
	"bytes"
	"cmp"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/permesso-crawler/permesso/frontier"
	"github.com/permesso-crawler/permesso/internal/crawllog"
	"github.com/permesso-crawler/permesso/internal/devtest"
)

// readOnly calls what. Each write to f fails during the call.
func readOnly(t *testing.T, f *os.File, what func()) {
	t.Helper()
	replaced(t, int(f.Fd()), f.Name(), syscall.O_RDONLY, what)
}

// replaced calls what. During the call the descriptor fd refers to the file at path.
func replaced(t *testing.T, fd int, path string, flags int, what func()) {
	t.Helper()
	kept, err := syscall.Dup(fd)
	if err != nil {
		t.Fatal(err)
	}
	defer syscall.Close(kept)
	other, err := syscall.Open(path, flags|syscall.O_CLOEXEC, 0)
	if err != nil {
		t.Fatal(err)
	}
	if err := syscall.Dup3(other, fd, syscall.O_CLOEXEC); err != nil {
		t.Fatal(err)
	}
	syscall.Close(other)
	defer func() {
		if err := syscall.Dup3(kept, fd, syscall.O_CLOEXEC); err != nil {
			t.Error(err)
		}
	}()
	what()
}

// A record that fills the buffer is written at once. If that write fails, nothing is committed
// after it.
func TestAFailedWriteIsNeverCommitted(t *testing.T) {
	dir := t.TempDir()
	db := open(t, dir)
	put := func(size int) error {
		return db.PutPage(&PageRecord{URL: "http://a.example/", Body: make([]byte, size)})
	}
	if err := put(10); err != nil {
		t.Fatal(err)
	}
	if err := db.Submit(frontier.Completion{}); err != nil {
		t.Fatal(err)
	}
	settle(t, db, 1)
	readOnly(t, db.outputs.pages.file, func() {
		if err := put(2 * maxBuffer); err == nil {
			t.Fatal("written to a file that cannot be written to")
		}
	})
	if err := put(10); err != nil {
		t.Errorf("a record that is only in memory: %v", err)
	}
	if err := db.Close(); err == nil {
		t.Error("Close returns no error")
	}
	db = open(t, dir)
	defer db.Close()
	if n := db.state.Marks()[PagesFile].Length; n > 500 {
		t.Errorf("%d bytes are marked as written", n)
	}
	verified(t, crash(t, dir))
}

// If the log line of a page cannot be written, the page is not committed, even if the page
// itself was written.
func TestAPageWithoutItsLineIsNeverCommitted(t *testing.T) {
	dir := t.TempDir()
	db := open(t, dir)
	line := &crawllog.Line{Time: time.Unix(0, 0), Size: -1, URL: crawllog.RunURL}
	if err := db.Log().Write(line); err != nil {
		t.Fatal(err)
	}
	if err := db.Submit(frontier.Completion{}); err != nil {
		t.Fatal(err)
	}
	settle(t, db, 1)
	replaced(t, descriptor(t, filepath.Join(dir, LogFile)), filepath.Join(dir, LogFile), syscall.O_RDONLY, func() {
		if err := db.Log().Write(line); err == nil {
			t.Fatal("written to a file that cannot be written to")
		}
	})
	if err := db.PutPage(&PageRecord{URL: "http://a.example/"}); err != nil {
		t.Fatal(err)
	}
	if err := db.Submit(frontier.Completion{}); err != nil {
		t.Fatal(err)
	}
	if g := <-db.Grown(); g.Err == nil {
		t.Error("it is acknowledged")
	}
	if err := db.Close(); err == nil {
		t.Error("Close returns no error")
	}
	verified(t, dir)
	db = open(t, dir)
	defer db.Close()
	if n := db.state.Marks()[PagesFile].Length; n > 0 {
		t.Errorf("%d bytes of pages count", n)
	}
}

// descriptor returns the descriptor of this process for the file at path.
func descriptor(t *testing.T, path string) int {
	t.Helper()
	path, err := filepath.EvalSymlinks(path)
	if err != nil {
		t.Fatal(err)
	}
	all, err := os.ReadDir("/proc/self/fd")
	if err != nil {
		t.Skip("no /proc to find a descriptor in: ", err)
	}
	for _, e := range all {
		if is, err := os.Readlink("/proc/self/fd/" + e.Name()); err == nil && is == path {
			fd, err := strconv.Atoi(e.Name())
			if err != nil {
				t.Fatal(err)
			}
			return fd
		}
	}
	t.Fatalf("%s is not open", path)
	return -1
}

// A commit fails in each way that leaves open whether it is on disk. The crawl continues, and
// each operation takes effect exactly once.
func TestACommitThatFailedIsMadeOnce(t *testing.T) {
	lose := func(path string, flags int) func(*testing.T, *DB, *error) {
		return func(t *testing.T, db *DB, _ *error) {
			// Do not duplicate the descriptor to restore it later: a duplicate would keep the
			// lock.
			state := filepath.Join(db.Dir(), StateFile)
			fd := descriptor(t, state)
			other, err := syscall.Open(cmp.Or(path, state), flags|syscall.O_CLOEXEC, 0)
			if err != nil {
				t.Fatal(err)
			}
			if err := syscall.Dup3(other, fd, syscall.O_CLOEXEC); err != nil {
				t.Fatal(err)
			}
			syscall.Close(other)
		}
	}
	for name, fail := range map[string]func(*testing.T, *DB, *error){
		"nothing can be written": lose("", syscall.O_RDONLY),
		"nothing reached it": func(t *testing.T, db *DB, err *error) { // the device accepts all writes and syncs nothing
			lose(devtest.Device(t, "null"), syscall.O_RDWR)(t, db, err)
		},
		"all reached it": func(_ *testing.T, _ *DB, err *error) { *err = syscall.EIO },
	} {
		t.Run(name, func(t *testing.T) {
			dir := t.TempDir()
			var next error
			var failed atomic.Bool
			db, err := Open(dir, Options{Gather: -1, fault: func(err error) error {
				err, next = errors.Join(err, next), nil
				if err != nil {
					failed.Store(true)
				}
				return err
			}})
			if err != nil {
				t.Fatal(err)
			}
			e := entry(t, "http://a.example/1")
			submit := func(c frontier.Completion) {
				t.Helper()
				if err := db.Submit(c); err != nil {
					t.Fatal(err)
				}
				settle(t, db, 1)
			}
			submit(frontier.Completion{Links: []frontier.Entry{e}})
			var buf [2]frontier.Entry
			if n, err := db.Read(e.URL.Site(), time.Now(), buf[:]); n != 1 || err != nil {
				t.Fatal(n, err)
			}
			fail(t, db, &next)
			submit(frontier.Completion{
				Site: e.URL.Site(), Entry: buf[0], Spent: frontier.Spent{Pages: 1},
				Fate:  frontier.Fate{Code: frontier.Fetched, Status: 200},
				Links: []frontier.Entry{entry(t, "http://a.example/2"), entry(t, "http://b.example/")},
			})
			if !failed.Load() {
				t.Error("no commit has failed")
			}
			submit(frontier.Completion{Links: []frontier.Entry{e, entry(t, "http://a.example/3")}})
			copied := crash(t, dir)
			if err := db.Close(); err != nil {
				t.Fatal(err)
			}
			for _, dir := range []string{dir, copied} {
				if v := verified(t, dir); v.Entries != 4 || v.Sites != 2 {
					t.Errorf("%+v, want 4 entries of 2 sites", v)
				}
				db := open(t, dir)
				if fate, ok, err := db.Fate(e.URL); !ok || fate.Code != frontier.Fetched || err != nil {
					t.Errorf("%v, %v, %v", fate, ok, err)
				}
				if n, err := db.Read(e.URL.Site(), time.Now(), buf[:]); n != 2 || err != nil || buf[0].URL.Target() != "/2" || buf[1].URL.Target() != "/3" {
					t.Errorf("%d entries %v, %v", n, buf, err)
				}
				if err := db.Close(); err != nil {
					t.Error(err)
				}
			}
		})
	}
}

// When the disk is full, the crawl ends with an error for which DiskFull is true. When there is
// room again, the crawl can be resumed.
func TestAFullDisk(t *testing.T) {
	dir := t.TempDir()
	if err := syscall.Mount("tmpfs", dir, "tmpfs", 0, "size=3m"); err != nil {
		t.Skipf("a small file system needs root: %v", err)
	}
	defer func() {
		if err := syscall.Unmount(dir, 0); err != nil {
			t.Error(err)
		}
	}()
	for _, full := range []string{StateFile, PagesFile} {
		t.Run(full, func(t *testing.T) {
			dir := filepath.Join(dir, "crawl-"+full)
			ballast := filepath.Join(filepath.Dir(dir), "ballast")
			if err := os.WriteFile(ballast, make([]byte, 1<<20), 0o600); err != nil {
				t.Fatal(err)
			}
			defer os.RemoveAll(dir)
			db := open(t, dir)
			safe := 0
			var failed error
			for i := 0; failed == nil; i++ {
				if i == 10_000 {
					t.Fatal("3 MB are never full")
				}
				if full == PagesFile {
					if err := db.PutPage(&PageRecord{URL: fmt.Sprint(i), Body: bytes.Repeat([]byte("x"), 50_000)}); err != nil {
						failed = err
						break
					}
				}
				var links []frontier.Entry
				for k := range 20 {
					links = append(links, entry(t, fmt.Sprintf("http://h%d.example/%d/%s", i%7, k, strings.Repeat("x", i%200))))
				}
				links = append(links, entry(t, fmt.Sprintf("http://all.example/%d", i)))
				if failed = db.Submit(frontier.Completion{Links: links}); failed != nil {
					break
				}
				g := <-db.Grown()
				if failed = g.Err; failed == nil {
					safe += g.Settled
				}
				for failed == nil && safe <= i {
					g := <-db.Grown()
					failed = g.Err
					safe += g.Settled
				}
			}
			if !DiskFull(failed) {
				t.Errorf("error %v, want one of a full disk", failed)
			}
			if err := db.Submit(frontier.Completion{}); !DiskFull(err) {
				t.Errorf("Submit afterwards: %v", err)
			}
			if err := db.Close(); err == nil || !DiskFull(err) {
				t.Errorf("Close: %v", err)
			}
			if run, err := ReadRun(dir); err != nil || !run.Full || run.PID != os.Getpid() {
				t.Errorf("%s: %+v, %v", RunFile, run, err)
			}
			if err := os.Remove(ballast); err != nil {
				t.Fatal(err)
			}
			verified(t, dir)
			db = open(t, dir)
			for i := range safe {
				if _, ok, err := db.Fate(entry(t, fmt.Sprintf("http://all.example/%d", i)).URL); !ok || err != nil {
					t.Errorf("entry %d of %d is lost: %v", i, safe, err)
				}
			}
			last := entry(t, "http://all.example/last")
			if err := db.Submit(frontier.Completion{Links: []frontier.Entry{last}}); err != nil {
				t.Fatal(err)
			}
			settle(t, db, 1)
			if err := db.Close(); err != nil {
				t.Error(err)
			}
			verified(t, dir)
		})
	}
}

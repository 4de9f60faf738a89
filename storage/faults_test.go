package storage

import (
	"os"
	"syscall"
	"testing"

	"github.com/permesso-crawler/permesso/frontier"
)

// readOnly makes every write to f fail while what runs.
func readOnly(t *testing.T, f *os.File, what func()) {
	t.Helper()
	replaced(t, int(f.Fd()), f.Name(), syscall.O_RDONLY, what)
}

// replaced lets a descriptor stand for another file while what runs.
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

// What fills the buffer is written at once; a write that failed counts for ever.
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
	readOnly(t, db.pages.file, func() {
		if err := put(2 * maxBuffer); err == nil {
			t.Fatal("written to a file that cannot be written to")
		}
	})
	if err := put(10); err != nil {
		t.Errorf("what is only kept in memory: %v", err)
	}
	if err := db.Close(); err == nil {
		t.Error("Close says that all is well")
	}
	db = open(t, dir)
	defer db.Close()
	if n := db.lengths[PagesFile]; n > 500 {
		t.Errorf("%d bytes are said to be written", n)
	}
	verified(t, crash(t, dir))
}

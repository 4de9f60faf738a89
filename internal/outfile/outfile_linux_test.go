package outfile

import (
	"io/fs"
	"net"
	"os"
	"path/filepath"
	"strconv"
	"syscall"
	"testing"

	"golang.org/x/sys/unix"
)

// Devices, named pipes and entries of /dev/fd are written to, also through symbolic links, and
// are not replaced.
func TestWhatIsNoRegularFileIsWrittenTo(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		make func(path string) error
		mode fs.FileMode
	}{
		"a device": {func(path string) error { return unix.Mknod(path, unix.S_IFCHR|0o600, int(unix.Mkdev(1, 3))) }, fs.ModeDevice | fs.ModeCharDevice},
		"a pipe":   {func(path string) error { return syscall.Mkfifo(path, 0o600) }, fs.ModeNamedPipe},
	} {
		for _, link := range []bool{false, true} {
			dir := t.TempDir()
			odd, path := filepath.Join(dir, "odd"), filepath.Join(dir, "odd")
			if err := c.make(odd); err != nil {
				t.Logf("%s cannot be made here: %v", name, err)
				continue
			}
			if link {
				if path = filepath.Join(dir, "link"); os.Symlink("odd", path) != nil {
					t.Fatal("no link")
				}
			}
			if info, err := os.Lstat(odd); err != nil || info.Mode().Type() != c.mode {
				t.Logf("%s is %v here, %v", name, info.Mode(), err)
				continue
			}
			// a pipe that is opened for reading and writing does not block
			reader, err := os.OpenFile(odd, os.O_RDWR, 0)
			if err != nil {
				t.Logf("%s cannot be opened here: %v", name, err)
				continue
			}
			if err := Write(path, []byte("text")); err != nil {
				t.Errorf("%s, link %v: %v", name, link, err)
			}
			if buf := make([]byte, 4); c.mode == fs.ModeNamedPipe {
				if n, err := reader.Read(buf); string(buf[:n]) != "text" {
					t.Errorf("%s, link %v: %q, %v", name, link, buf[:n], err)
				}
			}
			reader.Close()
			if info, err := os.Lstat(odd); err != nil || info.Mode().Type() != c.mode {
				t.Errorf("%s, link %v: it is %v now, %v", name, link, info.Mode(), err)
			}
			if _, err := CreateRegular(path); err == nil {
				t.Errorf("%s, link %v: it is taken for a regular file", name, link)
			}
		}
	}
}

// /dev/stdout and similar names may be any open file of this process.
func TestOpenFilesAreWrittenTo(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "file")
	f, err := os.Create(path)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	for _, by := range []string{"/dev/fd/", "/proc/self/fd/"} {
		name := by + strconv.Itoa(int(f.Fd()))
		if _, err := os.Stat(name); err != nil {
			t.Logf("%s: %v", name, err)
			continue
		}
		if err := Write(name, []byte(by)); err != nil {
			t.Error(err)
		}
	}
	raw, err := os.ReadFile(path)
	named, err2 := os.Stat(path)
	open, err3 := f.Stat()
	if err != nil || err2 != nil || err3 != nil || !os.SameFile(named, open) || len(raw) == 0 {
		t.Errorf("%q: %v, %v, %v", raw, err, err2, err3)
	}
}

func TestASocketIsNotWrittenTo(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "s")
	l, err := net.Listen("unix", path)
	if err != nil {
		t.Skip(err)
	}
	defer l.Close()
	if err := Write(path, nil); err == nil {
		t.Error("it was")
	}
	if info, err := os.Lstat(path); err != nil || info.Mode().Type() != fs.ModeSocket {
		t.Errorf("it is %v, %v", info.Mode(), err)
	}
}

// A new child process has the files of its parent, with their locks, until it runs its program.
// A lock that was released is free nevertheless.
func TestAReleasedLockIsFree(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "lock")
	f, err := os.Create(path)
	if err != nil {
		t.Fatal(err)
	}
	if got, err := Lock(f); err != nil || !got {
		t.Fatal(got, err)
	}
	child, err := unix.Dup(int(f.Fd()))
	if err != nil {
		t.Fatal(err)
	}
	defer unix.Close(child)
	other, err := os.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	defer other.Close()
	if got, err := Lock(other); err != nil || got {
		t.Errorf("before it is released: %v, %v", got, err)
	}
	if err := Release(f); err != nil {
		t.Error(err)
	}
	if got, err := Lock(other); err != nil || !got {
		t.Errorf("after it is released: %v, %v", got, err)
	}
}

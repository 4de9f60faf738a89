package main

import (
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/permesso-crawler/permesso/cmd/crawl/internal/exit"
	"golang.org/x/sys/unix"
)

// TestFullDisksOfEveryCommand runs commands on a disk that is full, or becomes full while
// they write: $PERMESSO_DISKS times, else few times. Each reports that, and loses nothing.
// Run again with room, it finishes.
func TestFullDisksOfEveryCommand(t *testing.T) {
	times, err := strconv.Atoi(os.Getenv("PERMESSO_DISKS"))
	few := err != nil
	k := newKilling(t)
	k.must(os.MkdirAll(k.at, 0o755))
	if err := syscall.Mount("tmpfs", k.at, "tmpfs", 0, "size=64m"); err != nil {
		t.Skipf("a small file system needs root: %v", err)
	}
	defer func() { k.must(syscall.Unmount(k.at, syscall.MNT_DETACH)) }()
	full, ended := 0, map[string]int{}
	for n, c := range killedCommands {
		if few && c.name != "run, going on" && c.name != "optout purge" {
			continue
		}
		share := 2
		if !few {
			share = (times + n) / len(killedCommands)
		}
		k.undisturbed(c)
		after := k.room()
		k.start(c.start, c.week)
		writes := k.room() - after
		for i := range share {
			k.start(c.start, c.week)
			left := writes * int64(i) / int64(share) &^ 4095
			refused := k.fullDisk(c, left)
			if t.Failed() {
				t.Fatalf("%s: room for %d bytes", c.name, left)
			}
			if full++; refused {
				ended[c.name]++
			}
		}
	}
	t.Logf("%d full disks; commands that they ended: %v", full, ended)
}

// room returns how many bytes can be written into the directory of the trial.
func (k *killing) room() int64 {
	k.Helper()
	var s unix.Statfs_t
	k.must(unix.Statfs(k.at, &s))
	return int64(s.Bavail) * int64(s.Bsize)
}

// fullDisk runs a command with left bytes of room, checks what it prints and leaves, and
// runs it again with enough room. It reports whether the command ran out of room.
func (k *killing) fullDisk(c killedCommand, left int64) (refused bool) {
	k.Helper()
	filler := filepath.Join(k.at, "filler")
	f, err := os.Create(filler)
	k.must(err)
	if size := k.room() - left; size > 0 {
		k.must(unix.Fallocate(int(f.Fd()), 0, 0, size))
	}
	k.must(f.Close())
	late := time.Now().Add(1500 * time.Millisecond)
	said, code := k.again(c, func() bool { return time.Now().After(late) })
	switch {
	case code == c.code:
	case code != exit.DiskFull || !strings.Contains(said, "make room"):
		k.Errorf("exit code %d: %s", code, said)
	}
	k.readable(c)
	k.must(os.Remove(filler))
	k.finish(c, 1)
	return code == exit.DiskFull
}

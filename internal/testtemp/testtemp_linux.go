package testtemp

import (
	"errors"
	"os"
	"path/filepath"
	"time"

	"golang.org/x/sys/unix"
)

const (
	memory = "/dev/shm"
	room   = 512 << 20 // bytes: several times what all tests that run at a time write
	name   = "permesso-test-"
)

// inMemory sets $TMPDIR to a new directory in memory, which remove deletes. It leaves $TMPDIR as
// it is if there is not enough room.
func inMemory() (remove func() error, err error) {
	var s unix.Statfs_t
	if err := unix.Statfs(memory, &s); err != nil || s.Type != unix.TMPFS_MAGIC || s.Bavail*uint64(s.Bsize) < room {
		return func() error { return nil }, nil
	}
	sweep()
	dir, err := os.MkdirTemp(memory, name)
	if err != nil { // not writable for this user
		return func() error { return nil }, nil
	}
	lock, err := os.Open(dir)
	if err != nil {
		return nil, err
	}
	if err := errors.Join(unix.Flock(int(lock.Fd()), unix.LOCK_EX), os.Setenv("TMPDIR", dir)); err != nil {
		return nil, err
	}
	return func() error { return errors.Join(os.RemoveAll(dir), lock.Close()) }, nil
}

// sweep deletes the directories of tests that were killed: nobody holds their locks.
func sweep() {
	left, _ := filepath.Glob(filepath.Join(memory, name+"*"))
	for _, dir := range left {
		info, err := os.Lstat(dir)
		if err != nil || time.Since(info.ModTime()) < time.Minute { // its lock may not be taken yet
			continue
		}
		lock, err := os.Open(dir)
		if err != nil {
			continue
		}
		if unix.Flock(int(lock.Fd()), unix.LOCK_EX|unix.LOCK_NB) == nil {
			_ = os.RemoveAll(dir) // another user's
		}
		lock.Close()
	}
}

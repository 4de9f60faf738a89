package machine_test

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/permesso-crawler/permesso/internal/devtest"
	"github.com/permesso-crawler/permesso/storage/machine"
)

// Open reserves the disk space of the table. After Close, no mapping and no open file is left.
func TestATableTakesItsRoomAndGivesItBack(t *testing.T) {
	dir := t.TempDir()
	other, err := os.Create(filepath.Join(dir, "other"))
	if err != nil {
		t.Fatal(err)
	}
	defer other.Close()
	if err := syscall.Fallocate(int(other.Fd()), 0, 0, 1); err != nil {
		t.Skip("this file system gives no room in advance: ", err)
	}
	path := filepath.Join(dir, "clocks")
	held := func() (files, maps int) {
		all, err := os.ReadDir("/proc/self/fd")
		for _, e := range all {
			if is, err := os.Readlink("/proc/self/fd/" + e.Name()); err == nil && is == path {
				files++
			}
		}
		raw, err2 := os.ReadFile("/proc/self/maps")
		if err := errors.Join(err, err2); err != nil {
			t.Skip(err)
		}
		return files, strings.Count(string(raw), path+"\n")
	}
	table, err := machine.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	var info syscall.Stat_t
	if err := syscall.Stat(path, &info); err != nil || info.Blocks*512 < fileSize || info.Size != fileSize {
		t.Errorf("%d bytes long, %d on the disk, %v", info.Size, info.Blocks*512, err)
	}
	if files, maps := held(); files != 0 || maps != 1 {
		t.Errorf("%d descriptors and %d mappings of a table", files, maps)
	}
	if err := table.Close(); err != nil {
		t.Fatal(err)
	}
	if files, maps := held(); files != 0 || maps != 0 {
		t.Errorf("%d descriptors and %d mappings of a table that is closed", files, maps)
	}
}

func TestADeviceIsNoTable(t *testing.T) {
	device := devtest.Device(t, "null")
	if _, err := machine.Open(device); err == nil || !strings.Contains(err.Error(), "truncate "+device) {
		t.Errorf("a device: %v", err)
	}
}

func TestATableWithoutRoom(t *testing.T) {
	dir := t.TempDir()
	if err := syscall.Mount("tmpfs", dir, "tmpfs", 0, "size=1m"); err != nil {
		t.Skipf("a small file system needs root: %v", err)
	}
	defer func() {
		if err := syscall.Unmount(dir, 0); err != nil {
			t.Error(err)
		}
	}()
	path := filepath.Join(dir, "clocks")
	if _, err := machine.Open(path); !errors.Is(err, syscall.ENOSPC) || !strings.Contains(err.Error(), path) {
		t.Errorf("a disk that is full: %v", err)
	}
}

// If the address space has no room for the table, for example because of ulimit -v, Open returns
// an error.
func TestATableWithoutAddresses(t *testing.T) {
	path := filepath.Join(t.TempDir(), "clocks")
	raw, err := os.ReadFile("/proc/self/statm")
	if err != nil {
		t.Skip(err)
	}
	var pages uint64 // size of the address space of this process in pages
	if _, err := fmt.Sscan(string(raw), &pages); err != nil {
		t.Fatal(err)
	}
	var usual syscall.Rlimit
	if err := syscall.Getrlimit(syscall.RLIMIT_AS, &usual); err != nil {
		t.Fatal(err)
	}
	few := usual
	few.Cur = pages*uint64(os.Getpagesize()) + fileSize/2
	if err := syscall.Setrlimit(syscall.RLIMIT_AS, &few); err != nil {
		t.Skip(err)
	}
	table, err := machine.Open(path)
	if err := syscall.Setrlimit(syscall.RLIMIT_AS, &usual); err != nil {
		t.Fatal(err)
	}
	if table != nil || !errors.Is(err, syscall.ENOMEM) || !strings.Contains(err.Error(), path+" cannot be mapped") {
		t.Errorf("%v, %v", table, err)
	}
}

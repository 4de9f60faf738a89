package main

import (
	"fmt"
	"os"
	"strconv"
	"strings"
	"syscall"
	"time"

	"golang.org/x/sys/unix"
)

// deviceWrites is how many bytes the device of dir has written since the machine
// started, whoever wrote them: what the kernel says of one process counts pages
// that are larger than those that bbolt writes. Without a device of its own,
// that must do.
func deviceWrites(dir string) int64 {
	var st syscall.Stat_t
	raw, err := os.ReadFile("/proc/diskstats")
	if err == nil {
		err = syscall.Stat(dir, &st)
	}
	if err == nil {
		major, minor := fmt.Sprint(unix.Major(st.Dev)), fmt.Sprint(unix.Minor(st.Dev))
		for line := range strings.Lines(string(raw)) {
			f := strings.Fields(line)
			if len(f) > 9 && f[0] == major && f[1] == minor {
				sectors, _ := strconv.ParseInt(f[9], 10, 64)
				return sectors * 512
			}
		}
	}
	return procValue("/proc/self/io", "write_bytes:")
}

func cpuTime() time.Duration {
	var u syscall.Rusage
	if syscall.Getrusage(syscall.RUSAGE_SELF, &u) != nil {
		return 0
	}
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}

// machineTime is the CPU that all processes have taken since the machine started, and
// what its host took for others.
func machineTime() time.Duration {
	raw, err := os.ReadFile("/proc/stat")
	if err != nil {
		return 0
	}
	line, _, _ := strings.Cut(string(raw), "\n")
	f := strings.Fields(line)
	if len(f) < 9 || f[0] != "cpu" {
		return 0
	}
	const idle, waiting, last = 4, 5, 8 // what follows is a part of the first
	ticks := int64(0)
	for i := 1; i <= last; i++ {
		if n, err := strconv.ParseInt(f[i], 10, 64); err == nil && i != idle && i != waiting {
			ticks += n
		}
	}
	const perSecond = 100 // USER_HZ, on all machines that Go runs on
	return time.Duration(ticks) * time.Second / perSecond
}

// onDisk is how many bytes of the disk a file takes.
func onDisk(path string) int64 {
	var st syscall.Stat_t
	if syscall.Stat(path, &st) != nil {
		return 0
	}
	return st.Blocks * 512
}

// forget leaves nothing of a file in the page cache.
func forget(f *os.File) error {
	syscall.Sync()
	return unix.Fadvise(int(f.Fd()), 0, 0, unix.FADV_DONTNEED)
}

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

// deviceWrites returns how many bytes the device of dir has written since the machine started,
// by all processes. The kernel's count for one process would be wrong: it counts pages that are
// larger than those that bbolt writes. If dir has no device of its own, it uses that count.
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

// machineTime returns the CPU time that all processes have taken since the machine started, and
// that its host took for other machines.
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
	const idle, waiting, last = 4, 5, 8 // later fields are contained in the first
	ticks := int64(0)
	for i := 1; i <= last; i++ {
		if n, err := strconv.ParseInt(f[i], 10, 64); err == nil && i != idle && i != waiting {
			ticks += n
		}
	}
	const perSecond = 100 // USER_HZ, on all machines that Go supports
	return time.Duration(ticks) * time.Second / perSecond
}

// onDisk returns how many bytes a file takes on the disk.
func onDisk(path string) int64 {
	var st syscall.Stat_t
	if syscall.Stat(path, &st) != nil {
		return 0
	}
	return st.Blocks * 512
}

// forget removes a file from the page cache.
func forget(f *os.File) error {
	syscall.Sync()
	return unix.Fadvise(int(f.Fd()), 0, 0, unix.FADV_DONTNEED)
}

//go:build !linux

package main

import (
	"fmt"
	"os"
	"runtime"
	"time"
)

// What only Linux tells is 0 elsewhere, or an error.

func deviceWrites(string) int64 { return 0 }

func cpuTime() time.Duration { return 0 }

func machineTime() time.Duration { return 0 }

// onDisk returns the length of a file, which may have holes.
func onDisk(path string) int64 {
	info, err := os.Stat(path)
	if err != nil {
		return 0
	}
	return info.Size()
}

func forget(*os.File) error {
	return fmt.Errorf("a cold start cannot be measured on %s: the page cache cannot be emptied", runtime.GOOS)
}

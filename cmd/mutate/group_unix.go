//go:build unix

package main

import (
	"os/exec"
	"syscall"
	"time"
)

// ownGroup makes the end of the context end what cmd started, too: go test
// leaves its test binary behind otherwise.
func ownGroup(cmd *exec.Cmd) {
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	cmd.Cancel = func() error { return syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL) }
	cmd.WaitDelay = 10 * time.Second
}

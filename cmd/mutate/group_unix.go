//go:build unix

package main

import (
	"os/exec"
	"syscall"
	"time"
)

// ownGroup makes the end of the context also end the processes that cmd started. Otherwise go
// test leaves its test binary running.
func ownGroup(cmd *exec.Cmd) {
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	cmd.Cancel = func() error { return syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL) }
	cmd.WaitDelay = 10 * time.Second
}

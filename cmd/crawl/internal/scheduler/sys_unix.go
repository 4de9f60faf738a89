//go:build unix

package scheduler

import (
	"os"
	"os/exec"
	"syscall"
)

// ownGroup gives a process a group of its own, so that signals of the terminal do not reach
// it.
func ownGroup(cmd *exec.Cmd) { cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true} }

// stopProcess asks a process to end.
func stopProcess(p *os.Process) { _ = p.Signal(syscall.SIGTERM) }

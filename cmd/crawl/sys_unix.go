//go:build unix

package main

import (
	"os"
	"os/exec"
	"syscall"
)

// escapes reports whether the terminal f understands control sequences.
func escapes(*os.File) bool { return true }

// ownGroup lets a process have a group of its own: signals of the terminal pass it by.
func ownGroup(cmd *exec.Cmd) { cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true} }

// stopProcess asks a process to end.
func stopProcess(p *os.Process) { _ = p.Signal(syscall.SIGTERM) }

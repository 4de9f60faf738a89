package main

import (
	"os"
	"os/exec"
	"syscall"

	"golang.org/x/sys/windows"
)

// escapes reports whether the terminal f understands control sequences: a console
// does so only when it is told to.
func escapes(f *os.File) bool {
	var mode uint32
	console := windows.Handle(f.Fd())
	return windows.GetConsoleMode(console, &mode) == nil &&
		windows.SetConsoleMode(console, mode|windows.ENABLE_VIRTUAL_TERMINAL_PROCESSING) == nil
}

// ownGroup lets a process have a group of its own: signals of the console pass it by.
func ownGroup(cmd *exec.Cmd) {
	cmd.SysProcAttr = &syscall.SysProcAttr{CreationFlags: windows.CREATE_NEW_PROCESS_GROUP}
}

// stopProcess ends a process, which no signal reaches here: what it has acknowledged is
// safe.
func stopProcess(p *os.Process) { _ = p.Kill() }

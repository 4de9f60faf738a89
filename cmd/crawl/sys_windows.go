package main

import (
	"os"
	"os/exec"
	"syscall"

	"golang.org/x/sys/windows"
)

// escapes reports whether the terminal f understands control sequences: a console does so
// only after it is set to.
func escapes(f *os.File) bool {
	var mode uint32
	console := windows.Handle(f.Fd())
	return windows.GetConsoleMode(console, &mode) == nil &&
		windows.SetConsoleMode(console, mode|windows.ENABLE_VIRTUAL_TERMINAL_PROCESSING) == nil
}

// ownGroup gives a process a group of its own, so that signals of the console do not reach
// it.
func ownGroup(cmd *exec.Cmd) {
	cmd.SysProcAttr = &syscall.SysProcAttr{CreationFlags: windows.CREATE_NEW_PROCESS_GROUP}
}

// stopProcess kills a process, because Windows has no signal that asks it to end. What it
// has acknowledged is safe.
func stopProcess(p *os.Process) { _ = p.Kill() }

package scheduler

import (
	"os"
	"os/exec"
	"syscall"

	"golang.org/x/sys/windows"
)

// ownGroup gives a process a group of its own, so that signals of the console do not reach
// it.
func ownGroup(cmd *exec.Cmd) {
	cmd.SysProcAttr = &syscall.SysProcAttr{CreationFlags: windows.CREATE_NEW_PROCESS_GROUP}
}

// stopProcess kills a process, because Windows has no signal that asks a process to end.
// What the crawl has acknowledged is not lost.
func stopProcess(p *os.Process) { _ = p.Kill() }

package scheduler

import (
	"errors"
	"fmt"
	"os/exec"

	"github.com/permesso-crawler/permesso/cmd/crawl/internal/exit"
)

// A Process is a Child: an operating system process of this program that makes a snapshot of a
// series.
type Process struct{ cmd *exec.Cmd }

// StartProcess starts cmd in a process group of its own, so that an interrupt of the terminal
// does not reach it.
func StartProcess(cmd *exec.Cmd) (*Process, error) {
	ownGroup(cmd)
	if err := cmd.Start(); err != nil {
		return nil, fmt.Errorf("the run cannot be started: %w", err)
	}
	return &Process{cmd}, nil
}

// Wait implements Child.
func (c *Process) Wait() int {
	err := c.cmd.Wait()
	var ended *exec.ExitError
	if err != nil && !errors.As(err, &ended) {
		return exit.Fatal
	}
	return c.cmd.ProcessState.ExitCode()
}

// Stop implements Child. It is not an error if the process has already ended.
func (c *Process) Stop() { stopProcess(c.cmd.Process) }

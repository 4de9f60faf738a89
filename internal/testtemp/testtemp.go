// Package testtemp keeps the temporary files of tests in memory: most tests that write a
// crawl would otherwise spend most of their time in fsync.
package testtemp

import (
	"fmt"
	"os"
	"testing"
)

// M runs the tests of a package. Their temporary files are in memory if the system has a file
// system there with enough room, and if $TMPDIR does not name another place.
type M struct{ *testing.M }

// Run runs the tests and returns the exit code.
func (m M) Run() int {
	if os.Getenv("TMPDIR") != "" {
		return m.M.Run()
	}
	remove, err := inMemory()
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	code := m.M.Run()
	if err := remove(); err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	return code
}

// Package house has the tests of the repository as a whole: that its documents say what the
// code does, that packages and files use each other in the drawn directions only, and that what
// is exported is listed.
package house

import (
	"fmt"
	"os"
	"testing"
)

// The tests name files from the root of the repository.
func TestMain(m *testing.M) {
	if err := os.Chdir("../.."); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	os.Exit(m.Run())
}

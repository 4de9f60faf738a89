package fetch

import (
	"fmt"
	"os"
	"testing"

	"go.uber.org/goleak"
)

// clientProgram is the variable that turns the test into the program of ClientProgram: its
// value is a directory and the address of a server, separated by "|".
const clientProgram = "PERMESSO_CLIENT_PROGRAM"

// ClientProgram is set by a test of the external package. The test kills it.
var ClientProgram func(where string) error

// TestMain runs that program if the environment says so. Otherwise it fails if a test leaves a
// goroutine running.
func TestMain(m *testing.M) {
	where, ok := os.LookupEnv(clientProgram)
	if !ok {
		goleak.VerifyTestMain(m)
	}
	if err := ClientProgram(where); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(3)
	}
	fmt.Println("ended")
	os.Exit(0)
}

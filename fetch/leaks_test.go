package fetch

import (
	"fmt"
	"os"
	"testing"

	"go.uber.org/goleak"
)

// clientProgram is an environment variable. If it is set, the test binary runs ClientProgram with
// its value: a directory and the address of a server, separated by "|".
const clientProgram = "PERMESSO_CLIENT_PROGRAM"

// ClientProgram is the program that a test of the external package sets, starts and kills.
var ClientProgram func(where string) error

// TestMain runs ClientProgram if the environment variable is set. Otherwise it runs the tests, and
// fails if they leave a goroutine running.
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

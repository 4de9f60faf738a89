//go:build unix

package fetch

import (
	"context"
	"errors"
	"net"
	"os"
	"strings"
	"syscall"
	"testing"
	"testing/synctest"
)

// An exhausted Network fails as on a machine with too many open files.
type exhausted struct {
	*wire
	err syscall.Errno
}

func (e exhausted) DialContext(context.Context, string, string) (net.Conn, error) {
	return nil, &net.OpError{Op: "dial", Err: os.NewSyscallError("socket", e.err)}
}

func TestTooManyOpenFilesAreNoFaultOfTheSite(t *testing.T) {
	for err, want := range map[syscall.Errno]bool{syscall.EMFILE: true, syscall.ENFILE: true, syscall.ECONNREFUSED: false} {
		synctest.Test(t, func(t *testing.T) {
			f := newTour(t, Options{Network: exhausted{&wire{}, err}}).fetcher
			got := visitWith(t.Context(), f, "http://a.example/", func(*Result) {})
			if TooManyOpen(got) != want || want && (!errors.Is(got, err) || !strings.Contains(got.Error(), "ulimit -n")) {
				t.Errorf("%v: %v", err, got)
			}
		})
	}
}

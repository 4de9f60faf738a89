//go:build unix

package postgres

import (
	"errors"
	"flag"
	"fmt"
	"os"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/permesso-crawler/permesso/internal/pgtest"
)

// server starts the server that all tests share. Each test has its own database.
var server = sync.OnceValues(func() (*pgtest.Server, error) { return pgtest.Start("fsync=off", "max_connections=300") })

// RunTests runs the tests, and stops their server. Tests wait most of the time, so more tests run
// at the same time than there are processors.
func RunTests(m *testing.M) int {
	flag.Parse()
	if n := flag.Lookup("test.parallel"); n.Value.String() == n.DefValue {
		if err := flag.Set("test.parallel", "6"); err != nil {
			panic(err)
		}
	}
	code := m.Run()
	if s, err := server(); err == nil {
		if err := s.Close(); err != nil {
			fmt.Fprintln(os.Stderr, err)
			code = 1
		}
	}
	return code
}

var databases atomic.Int64

// NewDatabase returns the connection string of a new database.
func NewDatabase(t testing.TB) string {
	t.Helper()
	s, err := server()
	if errors.Is(err, pgtest.ErrNone) {
		t.Skip(err)
	}
	if err != nil {
		t.Fatal(err)
	}
	url, err := s.Create(fmt.Sprintf("crawl%d", databases.Add(1)))
	if err != nil {
		t.Fatal(err)
	}
	return url
}

package main

import (
	"bytes"
	"errors"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"

	"github.com/permesso-crawler/permesso/cmd/crawl/internal/exit"
	"github.com/permesso-crawler/permesso/crawler"
)

// atEnd runs a command of --on-end after a crawl that ended with err.
func atEnd(t *testing.T, command string, err error, signals ...os.Signal) string {
	t.Helper()
	if runtime.GOOS == "windows" {
		t.Skip("there the shell is another one")
	}
	c, cerr := crawler.New(crawler.Options{
		Identity: crawler.Identity{Token: "testbot", Contact: "https://example.org/testbot"}, Seeds: []string{"http://a.test/"},
	})
	if cerr != nil {
		t.Fatal(cerr)
	}
	var said bytes.Buffer
	come := make(chan os.Signal, len(signals))
	for _, s := range signals {
		come <- s
	}
	(&program{err: &said}).tellEnd(c, "a.crawl", err, command, come)
	return said.String()
}

// An interrupt ends the command if it takes too long.
func TestAnInterruptEndsTheCommandAtTheEnd(t *testing.T) {
	if said := atEnd(t, "exec sleep 1000", nil, os.Interrupt); !strings.Contains(said, "it was interrupted; the crawl is not affected") {
		t.Error(said)
	}
}

// The command also runs for a crawl that failed. After a second interrupt it does not run.
func TestTheCommandAtTheEndIsToldOfFailures(t *testing.T) {
	file := filepath.Join(t.TempDir(), "ran")
	for _, test := range []struct {
		err  error
		want string
	}{{errors.New("disk"), "1 a.crawl\n"}, {exit.With(exit.Forced, nil), ""}, {nil, "0 a.crawl\n"}} {
		if said := atEnd(t, `grep -q '"dir":"a.crawl"' && echo "$PERMESSO_EXIT $PERMESSO_DIR" >`+file, test.err); said != "" {
			t.Error(said)
		}
		got, _ := os.ReadFile(file)
		if os.Remove(file); string(got) != test.want {
			t.Errorf("after %v: %q, want %q", test.err, got, test.want)
		}
	}
}

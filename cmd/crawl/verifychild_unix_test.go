//go:build unix

package main

import (
	"bytes"
	"errors"
	"os/exec"
	"strings"
	"testing"

	"github.com/permesso-crawler/permesso/cmd/crawl/internal/exit"
	"github.com/permesso-crawler/permesso/internal/store"
)

// Only a crash of the reader means damage; another signal says nothing about the crawl.
func TestASignalIsNoDamage(t *testing.T) {
	for name, c := range map[string]struct {
		script  string
		code    int
		damaged bool
		says    string
	}{
		"an exit code":            {"echo no crawl >&2; exit 2", exit.Usage, false, ""},
		"damage that is reported": {"exit 6", exit.State, false, ""},
		"a broken pipe":           {"kill -PIPE $$", exitPipe, false, ""},
		"a kill":                  {"kill -KILL $$", exit.Fatal, false, "killed"},
		"an end":                  {"kill -TERM $$", exit.Fatal, false, "terminated"},
		"a segment fault":         {"kill -SEGV $$", exit.State, true, "state.db"},
		"a bus error":             {"kill -BUS $$", exit.State, true, "state.db"},
		"a stack trace":           {`printf 'panic: page 7\n\ngoroutine 1 [running]:\nmain.main()\n' >&2; exit 2`, exit.State, true, "state.db"},
	} {
		var said, errOut bytes.Buffer
		child := exec.Command("sh", "-c", c.script)
		child.Stderr = &said
		var ended *exec.ExitError
		if err := child.Run(); !errors.As(err, &ended) {
			t.Fatalf("%s: %v", name, err)
		}
		err := childEnded("a.crawl", ended.ProcessState, said.Bytes(), &errOut)
		var damaged *store.DamagedError
		if code := exit.Code(err); code != c.code || errors.As(err, &damaged) != c.damaged || !strings.Contains(err.Error(), c.says) {
			t.Errorf("%s: exit code %d, %v; want %d", name, code, err, c.code)
		}
	}
}

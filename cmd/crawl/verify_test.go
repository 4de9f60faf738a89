package main

import (
	"bytes"
	"errors"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/permesso-crawler/permesso/cmd/crawl/internal/exit"
	"github.com/permesso-crawler/permesso/internal/store"
)

// reader makes a script replace the process that reads a state file.
func reader(t *testing.T, script string) {
	t.Helper()
	if runtime.GOOS == "windows" {
		t.Skip("a shell script is no program there")
	}
	path := filepath.Join(t.TempDir(), "crawl")
	if err := os.WriteFile(path, []byte("#!/bin/sh\n"+script+"\n"), 0o755); err != nil {
		t.Fatal(err)
	}
	was := os.Args
	t.Cleanup(func() { os.Args = was })
	os.Args = []string{path}
}

// Damage that crashes the process that reads it is reported in one line, as damage.
func TestAReaderThatCrashesIsOneLine(t *testing.T) {
	t.Chdir(t.TempDir())
	if err := errors.Join(os.Mkdir("x.crawl", 0o755), os.WriteFile("x.crawl/state.db", nil, 0o644)); err != nil {
		t.Fatal(err)
	}
	for _, script := range []string{
		"echo 'panic: boom' >&2; echo 'goroutine 1 [running]:' >&2; exit 2", "kill -BUS $$", "kill -SEGV $$",
	} {
		reader(t, script)
		var out, said bytes.Buffer
		code := run([]string{"verify", "x.crawl"}, nil, &out, &said)
		if code != exit.State || out.Len() > 0 || strings.Count(said.String(), "\n") != 1 ||
			!strings.HasPrefix(said.String(), "crawl: x.crawl/state.db is damaged: its reader crashed on it") {
			t.Errorf("%s: exit %d, %q", script, code, said.String())
		}
	}
	reader(t, "exec sleep 600")
	err := (&program{out: &bytes.Buffer{}, err: &bytes.Buffer{}}).verifyApart("x.crawl", verifyFlags{}, time.Millisecond)
	var damaged *store.DamagedError
	if !errors.As(err, &damaged) || !strings.Contains(err.Error(), "has not come to an end after 1ms") {
		t.Errorf("%v", err)
	}
}

// The output of the process that reads is passed on with its exit code, up to a limit.
func TestWhatAReaderSaysIsHandedOn(t *testing.T) {
	t.Chdir(t.TempDir())
	if err := errors.Join(os.Mkdir("x.crawl", 0o755), os.WriteFile("x.crawl/state.db", nil, 0o644)); err != nil {
		t.Fatal(err)
	}
	for script, want := range map[string]struct {
		code      int
		out, said string
	}{
		"echo out; echo said >&2":         {exit.Done, "out\n", ""},
		"echo out; echo said >&2; exit 6": {exit.State, "out\n", "said\n"},
		"echo said >&2; exit 7":           {exit.InUse, "", "said\n"},
		`test "$*" = "verify --in-process --counted --temp t --json=true --moved=true -- x.crawl" || exit 3`: {exit.Done, "", ""},
	} {
		reader(t, script)
		args := []string{"verify", "x.crawl"}
		if strings.HasPrefix(script, "test") {
			args = []string{"verify", "--json", "--moved", "--temp", "t", "x.crawl"}
		}
		var out, said bytes.Buffer
		if code := run(args, nil, &out, &said); code != want.code || out.String() != want.out || said.String() != want.said {
			t.Errorf("%s: exit %d, %q, %q", script, code, out.String(), said.String())
		}
	}
	reader(t, "head -c 1000000 /dev/zero | tr '\\0' x >&2; exit 6")
	var out, said bytes.Buffer
	if code := run([]string{"verify", "x.crawl"}, nil, &out, &said); code != exit.State || said.Len() != 64<<10 {
		t.Errorf("exit %d, and %d bytes", code, said.Len())
	}
}

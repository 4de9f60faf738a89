package main

import (
	"bytes"
	"fmt"
	"os"
	"strings"
	"syscall"
	"testing"
)

// The exit codes are said in three places by the same words.
func TestExitCodesAreSaidInHelpAndReadme(t *testing.T) {
	readme, err := os.ReadFile("../../README.md")
	if err != nil {
		t.Fatal(err)
	}
	var help bytes.Buffer
	if code := run([]string{"--help"}, nil, &help, &help); code != exitDone {
		t.Fatalf("crawl --help exits with %d", code)
	}
	if !strings.Contains(help.String(), exitHelp) {
		t.Error("crawl --help does not list the exit codes")
	}
	for line := range strings.Lines(exitHelp) {
		if !strings.Contains(string(readme), strings.TrimSpace(line)+"\n") {
			t.Errorf("README.md does not say %q", line)
		}
	}
}

func TestEachLimitNamesItsMend(t *testing.T) {
	for _, c := range []struct {
		err    error
		crawls bool
		want   []string
	}{
		{syscall.ENOSPC, true, []string{"make room", "the same command goes on"}},
		{fmt.Errorf("state.db: %w", syscall.EFBIG), true, []string{"ulimit -f"}},
		{syscall.EMFILE, true, []string{"ulimit -n", "--concurrency"}},
		{syscall.EMFILE, false, []string{"ulimit -n", "nothing of the crawl was changed"}},
		{syscall.ENOSPC, false, []string{"make room", "nothing of the crawl was changed"}},
	} {
		got := mendLimit(c.err, c.crawls)
		for _, want := range c.want {
			if !strings.Contains(got, want) {
				t.Errorf("%v: %q, want %q in it", c.err, got, want)
			}
		}
		if !c.crawls && strings.Contains(got, "goes on") {
			t.Errorf("%v: %q, but nothing goes on", c.err, got)
		}
	}
}

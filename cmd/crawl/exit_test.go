package main

import (
	"bytes"
	"os"
	"strings"
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

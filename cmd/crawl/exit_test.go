package main

import (
	"bytes"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/permesso-crawler/permesso/cmd/crawl/internal/exit"
)

// The help and docs/reference/exit-codes.md have the exit codes in the same words.
func TestExitCodesAreSaidInHelp(t *testing.T) {
	var help bytes.Buffer
	if code := run([]string{"--help"}, nil, &help, &help); code != exit.Done {
		t.Fatalf("crawl --help exits with %d", code)
	}
	if !strings.Contains(help.String(), exit.Help()) {
		t.Error("crawl --help does not list the exit codes")
	}
}

// The page of the exit codes is made from the same table, which has each named code.
func TestExitCodesStandInTheDocuments(t *testing.T) {
	var b strings.Builder
	b.WriteString(`# Exit codes

Each command of ` + "`crawl`" + ` exits with one of these codes, if it ends by itself. The code
tells a script what to do next, so it need not parse the output.

| code | what it means | what to do then |
|---|---|---|
`)
	for _, e := range exit.Codes {
		fmt.Fprintf(&b, "| %d | %s | %s |\n", e.Code, e.Means, e.Then)
	}
	b.WriteString(`
For a timer 0, 7 and 10 are a success ([running](../guide/running.md)). Exit code 3 means
for ` + "`crawl check` and `crawl robots test`" + ` that a URL is not allowed, and for ` + "`crawl audit`" + ` that a
rule was broken. So a script can use these commands as conditions:

    crawl check job.yaml && crawl run --job job.yaml

This page is made from the table in cmd/crawl/internal/exit/codes.go.
`)
	same(t, "../../docs/reference/exit-codes.md", b.String())
	for _, code := range []int{exit.Done, exit.Fatal, exit.Usage, exit.Check, exit.Nothing, exit.DiskFull, exit.State, exit.InUse, exit.Later, exit.Forced} {
		if n := len(slices.DeleteFunc(slices.Clone(exit.Codes), func(e exit.Meaning) bool { return e.Code != code || e.Means == "" || e.Then == "" })); n != 1 {
			t.Errorf("exit code %d is %d times in the table", code, n)
		}
	}
	if !slices.IsSortedFunc(exit.Codes, func(a, b exit.Meaning) int { return a.Code - b.Code }) {
		t.Error("the exit codes are not in order")
	}
}

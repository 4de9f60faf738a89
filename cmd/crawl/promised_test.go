package main

import (
	"bytes"
	"fmt"
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/permesso-crawler/permesso/cmd/crawl/internal/exit"
	"github.com/spf13/pflag"
)

// promisedFile lists what scripts rely on: the commands and their flags, the exit codes, and the
// names in JSON, each with its type and the outputs that have it.
const promisedFile = "testdata/promised.txt"

// What a script relies on is not taken away: each line of promisedFile is still true. -rewrite
// adds lines, and removes none.
func TestWhatScriptsRelyOnStays(t *testing.T) {
	now := promised(t)
	raw, err := os.ReadFile(promisedFile)
	if err != nil && !*rewrite {
		t.Fatal(err)
	}
	listed := strings.Split(strings.TrimSuffix(string(raw), "\n"), "\n")
	if *rewrite {
		listed = slices.DeleteFunc(append(listed, now...), func(line string) bool { return line == "" })
		slices.Sort(listed)
		listed = slices.Compact(listed)
		if err := os.WriteFile(promisedFile, []byte(strings.Join(listed, "\n")+"\n"), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	for _, line := range listed {
		if !slices.Contains(now, line) {
			t.Errorf("gone: %q: scripts rely on it (docs/reference/versions.md)", line)
		}
	}
	for _, line := range now {
		if !slices.Contains(listed, line) {
			t.Errorf("new: %q: go test ./cmd/crawl -run ScriptsRelyOn -rewrite", line)
		}
	}
	if len(now) < 900 || !slices.IsSorted(listed) {
		t.Errorf("%d names; the list is sorted: %v", len(now), slices.IsSorted(listed))
	}
}

var jsonRow = regexp.MustCompile("(?m)^\\| `(\\w+)` \\| ([^|]+) \\| [^|]+ \\| ([^|]+) \\|$")

// promised returns the lines of promisedFile for this program.
func promised(t *testing.T) (all []string) {
	t.Helper()
	for _, c := range everyCommand((&program{out: &bytes.Buffer{}, err: &bytes.Buffer{}}).root()) {
		all = append(all, "command "+c.CommandPath())
		c.LocalFlags().VisitAll(func(f *pflag.Flag) {
			if f.Hidden {
				return
			}
			line := "flag " + c.CommandPath() + " --" + f.Name
			if f.NoOptDefVal == "" {
				line += " VALUE"
			}
			all = append(all, line)
			if f.Shorthand != "" {
				all = append(all, "flag "+c.CommandPath()+" -"+f.Shorthand)
			}
		})
	}
	for _, e := range exit.Codes {
		all = append(all, fmt.Sprintf("exit code %d", e.Code))
	}
	rows := jsonRow.FindAllStringSubmatch(document(t, "docs/reference/json.md"), -1)
	for _, row := range rows {
		for kind := range strings.SplitSeq(row[2], ", ") {
			all = append(all, "json "+row[1]+" is "+kind)
		}
		for where := range strings.SplitSeq(row[3], ", ") {
			all = append(all, "json "+row[1]+" in "+where)
		}
	}
	if len(rows) < 300 {
		t.Fatalf("%d names in docs/reference/json.md", len(rows))
	}
	slices.Sort(all)
	return slices.Compact(all)
}

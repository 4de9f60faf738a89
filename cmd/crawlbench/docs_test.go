package main

import (
	"errors"
	"flag"
	"os"
	"slices"
	"strings"
	"testing"
)

// Each call of this program in the documents has existing flags.
func TestTheDocumentsShowCallsThatThereAre(t *testing.T) {
	shown := 0
	for _, path := range []string{"benchmarks.md", "performance.md"} {
		raw, err := os.ReadFile("../../docs/evidence/" + path)
		if err != nil {
			t.Fatal(err)
		}
		for line := range strings.Lines(string(raw)) {
			_, call, ok := strings.Cut(line, "go run . ")
			if !ok || !strings.HasPrefix(line, "    ") {
				continue
			}
			shown++
			call, _, _ = strings.Cut(call, "   ") // the remark beside it
			args := strings.Fields(call)
			for len(args) > 0 && strings.HasPrefix(args[len(args)-1], "./") {
				args = args[:len(args)-1]
			}
			// The help is printed only if all flags before it exist.
			if err := run(t.Context(), append(args, "-h"), new(strings.Builder)); !errors.Is(err, flag.ErrHelp) {
				t.Errorf("%s: %s: %v", path, strings.TrimSpace(line), err)
			}
		}
	}
	if shown < 10 {
		t.Errorf("%d calls are shown", shown)
	}
}

// The page on benchmarks has each scenario, each column and each word of the tables, and the
// figures of the webs that it names.
func TestThePageOnBenchmarksIsComplete(t *testing.T) {
	raw, err := os.ReadFile("../../docs/evidence/benchmarks.md")
	if err != nil {
		t.Fatal(err)
	}
	page := string(raw)
	all := scenarios(1)
	rows := 0
	for line := range strings.Lines(page) {
		name, _, _ := strings.Cut(strings.TrimPrefix(line, "| "), " |")
		if slices.ContainsFunc(all, func(s scenario) bool { return s.name == name }) {
			rows++
		}
	}
	if rows != len(all) {
		t.Errorf("%d of %d scenarios have a row", rows, len(all))
	}
	for _, want := range []string{
		"\n| CPU s / 1,000 pages |", "\n| ratio |", "\n| pages/s |", "\n| cores |", "\n| memory |", "\n| disk |", "\n| connections |", "\n| goroutines |",
		"\n| keeps |", "\n| of the bound |", "\n| held by |", "\n| early |", "\n| late |", "`clocks`", "`CPU`", "`neither`", "`no difference seen`", "may send 64 requests at once",
	} {
		if !strings.Contains(page, want) {
			t.Errorf("%q is not there", want)
		}
	}
	engine := all[0].cases[0].web
	if engine.Hosts != 20 || engine.Pages != 500 || engine.Size != 20<<10 || engine.Links != 50 || engine.Latency != 0 || engine.Delay != 0 || defaultConcurrency != 64 {
		t.Errorf("the engine's web is another one: %+v", engine)
	}
	at := slices.IndexFunc(all, func(s scenario) bool { return s.name == "politeness" })
	var labels []string
	for _, bc := range all[at].cases {
		labels = append(labels, bc.label)
	}
	if !slices.Equal(labels, []string{"500 hosts, 200 ms", "10,000 hosts, 1 s"}) {
		t.Errorf("the cases of politeness are others: %q", labels)
	}
}

package main

import (
	"bytes"
	"errors"
	"os"
	"strings"
	"testing"

	"github.com/permesso-crawler/permesso/cmd/crawl/internal/exit"
)

// A full is a writer that fails after some lines.
type full struct{ lines int }

var errFull = errors.New("no room")

func (f *full) Write(p []byte) (int, error) {
	if f.lines--; f.lines < 0 {
		return 0, errFull
	}
	return len(p), nil
}

// An error of an output, such as a closed pipe or a full disk, is reported wherever it
// occurs.
func TestAnOutputThatFailsIsSaid(t *testing.T) {
	hostile(t)
	for _, args := range [][]string{
		{"version"}, {"robots", "test", "--agent", "testbot", "--file", "robots.txt", "/x", "/y"}, {"robots", "test", "--json", "--agent", "testbot", "--file", "robots.txt", "/x", "/y"},
		{"robots", "test", "--cases", "cases.jsonl"}, {"robots", "test", "--json", "--cases", "cases.jsonl"}, {"robots", "test", "--cases", "lacking.jsonl"},
		{"robots", "lint", "robots.txt"}, {"robots", "lint", "--json", "robots.txt"}, {"robots", "lint", "good.txt"}, {"index", "a.crawl"}, {"export", "a.crawl", "--format", "jsonl"},
		{"export", "a.crawl", "--format", "csv"}, {"export", "a.crawl", "--format", "cdxj"},
	} {
		if args[len(args)-1] == "good.txt" {
			if err := os.WriteFile("good.txt", []byte("User-agent: *\nDisallow: /x\n"), 0o644); err != nil {
				t.Fatal(err)
			}
		}
		said := "no end"
		for after := 0; ; after++ {
			var b bytes.Buffer
			out := &full{after}
			code := run(args, nil, out, &b)
			if out.lines >= 0 { // nothing failed
				break
			}
			if said = b.String(); code != exit.Fatal || !strings.Contains(said, "crawl: ") || !strings.Contains(said, errFull.Error()) {
				t.Errorf("crawl %q after %d lines: exit %d\n%s", args, after, code, said)
			}
		}
		if said == "no end" {
			t.Errorf("crawl %q writes nothing", args)
		}
	}
}

//go:build unix

package main

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/permesso-crawler/permesso/cmd/crawl/internal/exit"
)

// A node whose database is older than its files is refused with exit code 6, and the message names
// the command that lets it go on.
func TestANodeWithARestoredDatabase(t *testing.T) {
	t.Parallel()
	c := newCollecting(t, 2, 4)
	run := c.run("node0.crawl", "--state", c.state)
	c.crawl(exit.Done, run...)
	if err := os.Mkdir(filepath.Join(c.dir, "empty"), 0o755); err != nil {
		t.Fatal(err)
	}
	c.exec("update crawl.home set committed = committed - interval '2 hours'")
	note := filepath.Join(c.dir, "node0.crawl", "acked.json")
	raw, err := os.ReadFile(note)
	if err != nil {
		t.Fatal(err)
	}
	old := regexp.MustCompile(`"at":"[^"]*"\}`).ReplaceAll(raw, []byte(`"at":"2026-01-01T00:00:00Z"}`)) // of the first commit
	if err := os.WriteFile(note, old, 0o644); err != nil || string(old) == string(raw) {
		t.Fatal(err)
	}
	for _, tc := range []struct {
		args []string
		code int
		says string
	}{
		{run, exit.State, "the database is older than the files of node0.crawl"},
		{run, exit.State, "crawl repair --rewind node0.crawl lets the node go on"},
		{[]string{"collect", "node0.crawl", "all.crawl"}, exit.State, "crawl repair --rewind node0.crawl lets the node go on"},
		{[]string{"repair", "--rewind", "empty"}, exit.Usage, "it has no crawl.json"},
		{[]string{"repair", "--rewind", "--yes", "node0.crawl"}, exit.Usage, "--rewind takes no other flag"},
		{[]string{"repair", "--rewind", "node0.crawl"}, exit.Done, "the next crawl run goes on with the database as it is"},
		{run, exit.Done, ""},
		{[]string{"collect", "node0.crawl", "all.crawl"}, exit.Done, "1 node"},
		{[]string{"verify", "all.crawl"}, exit.Done, ""},
	} {
		if said := c.crawl(tc.code, tc.args...); !strings.Contains(said, tc.says) {
			t.Errorf("crawl %s says %q, want %q", strings.Join(tc.args, " "), said, tc.says)
		}
	}
}

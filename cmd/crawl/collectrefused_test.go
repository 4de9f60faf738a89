//go:build unix

package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/permesso-crawler/permesso/cmd/crawl/internal/exit"
	"github.com/permesso-crawler/permesso/internal/store"
)

func TestWhatCannotBeCollected(t *testing.T) {
	t.Parallel()
	c := newCollecting(t, 4, 12)
	c.kill(2, 20)
	c.exec("update crawl.node set until = clock_timestamp()")
	must := func(err error) {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
	}
	edit := func(name string, change func(raw []byte) []byte) {
		raw, err := os.ReadFile(name)
		must(err)
		must(os.WriteFile(name, change(raw), 0o644))
	}
	var node struct{ Node string }
	raw, err := os.ReadFile(filepath.Join(c.dir, "node1.crawl", "crawl.json"))
	must(errors.Join(err, json.Unmarshal(raw, &node), os.Mkdir(filepath.Join(c.dir, "empty"), 0o755)))
	nodes := []string{"node0.crawl", "node1.crawl"}
	warc := func(dir string) string {
		all, err := filepath.Glob(filepath.Join(dir, "node0.crawl", "warc", "*"))
		if err != nil || len(all) != 1 {
			t.Fatal(all, err)
		}
		return all[0]
	}
	for _, tc := range []struct {
		name   string
		change func(dir string) // of copies of the directories
		args   []string         // without collect; nil: the nodes and all.crawl
		code   int
		says   string
	}{
		{"no argument", nil, []string{}, exit.Usage, "the directories of all nodes, and a new directory"},
		{"one argument", nil, nodes[:1], exit.Usage, "the directories of all nodes, and a new directory"},
		{"no such directory", nil, []string{"node0.crawl", "none", "all.crawl"}, exit.Usage, "none"},
		{"no directory of a node", nil, []string{"node0.crawl", "../empty", "all.crawl"}, exit.Usage, "it has no crawl.json"},
		{"twice", nil, []string{"node0.crawl", "node0.crawl", "all.crawl"}, exit.Usage, "node0.crawl is named twice"},
		{"by two names", nil, []string{"node0.crawl", "./node0.crawl", "node1.crawl", "all.crawl"}, exit.Fatal, "are the same directory"},
		{"a copy", func(dir string) {
			must(os.CopyFS(filepath.Join(dir, "copy"), os.DirFS(filepath.Join(dir, "node0.crawl"))))
		},
			[]string{"node0.crawl", "copy", "node1.crawl", "all.crawl"}, exit.Fatal, "node0.crawl and copy are both of the node node0-"},
		{"a node is missing", nil, []string{"node0.crawl", "all.crawl"}, exit.Fatal, "are missing: " + node.Node},
		{"it exists", func(dir string) { must(os.Mkdir(filepath.Join(dir, "all.crawl"), 0o755)) }, nil, exit.Usage, "all.crawl exists"},
		{"no parent", nil, []string{"node0.crawl", "node1.crawl", "none/all.crawl"}, exit.Fatal, "none"},
		{"another crawl", func(dir string) {
			edit(filepath.Join(dir, "node1.crawl", "crawl.json"), func(raw []byte) []byte { return bytes.Replace(raw, []byte(node.Node), []byte("other"), 1) })
		}, nil, exit.Fatal, "node1.crawl is the directory of the node other"},
		{"another database", func(dir string) {
			edit(filepath.Join(dir, "node1.crawl", "crawl.json"), func(raw []byte) []byte { return bytes.Replace(raw, []byte(`"crawl"`), []byte(`"other"`), 1) })
		}, nil, exit.Fatal, `of the crawl in the database "other"`},
		{"a damaged note", func(dir string) {
			must(os.WriteFile(filepath.Join(dir, "node0.crawl", "crawl.json"), []byte("{"), 0o644))
		}, nil, exit.State, "crawl.json is damaged"},
		{"short pages", func(dir string) {
			edit(filepath.Join(dir, "node0.crawl", "pages.jsonl"), func([]byte) []byte { return nil })
		}, nil, exit.State, "pages.jsonl is damaged: 0 bytes long where"},
		{"no log", func(dir string) { must(os.Remove(filepath.Join(dir, "node0.crawl", "crawl.log"))) }, nil, exit.State, "crawl.log is damaged: it is missing"},
		{"no WARC file", func(dir string) { must(os.Remove(warc(dir))) }, nil, exit.State, "it is missing"},
		{"a short WARC file", func(dir string) { must(os.Truncate(warc(dir), 9)) }, nil, exit.State, "9 bytes long where"},
		{"changed pages", func(dir string) {
			edit(filepath.Join(dir, "node0.crawl", "pages.jsonl"), func(raw []byte) []byte { return bytes.Replace(raw, []byte("h0.test"), []byte("h9.test"), 1) })
		}, nil, exit.Check, "1 output of the nodes is damaged"},
		{"no index", func(dir string) { must(os.Remove(filepath.Join(dir, "node0.crawl", "index.part"))) }, nil, exit.Done, "all.crawl: 2 nodes, "},
		{"more than was committed", func(dir string) {
			for _, name := range []string{"pages.jsonl", "links.jsonl", "index.part"} {
				edit(filepath.Join(dir, "node0.crawl", name), func(raw []byte) []byte { return append(raw, "torn"...) })
			}
			edit(filepath.Join(dir, "node0.crawl", "crawl.log"), func(raw []byte) []byte { return append(raw, "torn"...) })
			edit(warc(dir), func(raw []byte) []byte { return append(raw, "torn"...) })
		}, nil, exit.Done, "all.crawl: 2 nodes, "},
		{"a password", nil, append([]string{"--state", "postgres://a:Geheim17@b/c"}, "node0.crawl", "node1.crawl", "all.crawl"), exit.Usage, "leave the password out"},
		{"no connection string", nil, []string{"--state", "host=x port=y", "node0.crawl", "node1.crawl", "all.crawl"}, exit.Usage, "--state: "},
		{"no server", nil, []string{"--state", "host=/none user=permesso dbname=crawl", "node0.crawl", "node1.crawl", "all.crawl"}, exit.Fatal, `in the database "crawl" of PostgreSQL at /none`},
		{"no crawl", nil, []string{"--state", strings.Replace(c.state, "dbname=crawl", "dbname=postgres", 1), "node0.crawl", "node1.crawl", "all.crawl"}, exit.Usage, "there is no crawl"},
	} {
		dir := filepath.Join(c.dir, strings.ReplaceAll(tc.name, " ", "-"))
		for _, node := range nodes {
			must(os.CopyFS(filepath.Join(dir, node), files{os.DirFS(filepath.Join(c.dir, node))}))
		}
		if tc.change != nil {
			tc.change(dir)
		}
		before, err := filepath.Glob(filepath.Join(dir, "*"))
		must(err)
		at := *c
		at.dir = dir
		args := tc.args
		if args == nil {
			args = append(slices.Clone(nodes), "all.crawl")
		}
		if said := at.crawl(tc.code, append([]string{"collect"}, args...)...); !strings.Contains(said, tc.says) {
			t.Errorf("%s: %q does not say %q", tc.name, said, tc.says)
		}
		switch tc.code {
		case exit.Done:
			at.crawl(0, "verify", "all.crawl")
		case exit.Check:
			at.crawl(exit.State, "verify", "all.crawl")
		default:
			after, err := filepath.Glob(filepath.Join(dir, "*"))
			must(err)
			hidden, err := filepath.Glob(filepath.Join(dir, ".all*"))
			must(err)
			if !slices.Equal(before, after) || len(hidden) > 0 {
				t.Errorf("%s leaves %v and %v, want %v", tc.name, after, hidden, before)
			}
		}
	}
}

// An interrupt removes what was made so far, and so does the next command after a kill.
func TestACollectThatIsInterrupted(t *testing.T) {
	t.Parallel()
	c := newCollecting(t, 4, 12)
	c.kill(2, 20)
	c.exec("update crawl.node set until = clock_timestamp()")
	args := []string{"collect", "node0.crawl", "node1.crawl", "all.crawl"}
	hidden := func() []string {
		all, err := filepath.Glob(filepath.Join(c.dir, ".all.crawl.*"))
		if err != nil {
			t.Fatal(err)
		}
		return all
	}
	for _, signal := range []os.Signal{syscall.SIGINT, syscall.SIGKILL} {
		conn, err := pgx.Connect(t.Context(), c.state)
		if err != nil {
			t.Fatal(err)
		}
		tx, err := conn.Begin(t.Context())
		if err == nil {
			_, err = tx.Exec(t.Context(), "lock table crawl.site in access exclusive mode")
		}
		if err != nil {
			t.Fatal(err)
		}
		cmd := c.command(args...)
		var said bytes.Buffer
		cmd.Stdout, cmd.Stderr = &said, &said
		if err := cmd.Start(); err != nil {
			t.Fatal(err)
		}
		for limit := time.Now().Add(time.Minute); ; time.Sleep(5 * time.Millisecond) {
			made, err := filepath.Glob(filepath.Join(c.dir, ".all.crawl.*", "crawl", store.StateFile))
			if err != nil || time.Now().After(limit) {
				t.Fatal("collect has not begun to read the table", err)
			}
			if len(made) > 0 {
				break
			}
		}
		if err := cmd.Process.Signal(signal); err != nil {
			t.Fatal(err)
		}
		cmd.Wait()
		if signal == syscall.SIGINT {
			if code := cmd.ProcessState.ExitCode(); code != exit.Forced || len(hidden()) > 0 {
				t.Errorf("an interrupt ends it with %d, and leaves %v: %s", code, hidden(), said.String())
			}
		} else if len(hidden()) != 1 {
			t.Errorf("a kill leaves %v", hidden())
		}
		if err := conn.Close(context.Background()); err != nil {
			t.Fatal(err)
		}
		if _, err := os.Stat(filepath.Join(c.dir, "all.crawl")); !errors.Is(err, fs.ErrNotExist) {
			t.Errorf("after %v: %v", signal, err)
		}
	}
	c.crawl(0, args...)
	c.crawl(0, "verify", "all.crawl")
	if left := hidden(); len(left) > 0 {
		t.Errorf("left: %v", left)
	}
}

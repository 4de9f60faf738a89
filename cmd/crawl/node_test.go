package main

import (
	"bytes"
	"errors"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/permesso-crawler/permesso/cmd/crawl/internal/exit"
	"github.com/permesso-crawler/permesso/cmd/crawl/internal/follow"
)

// The directory of a node has the outputs of one node. Commands that need a whole crawl say so, call
// nothing damaged, and change nothing.
func TestTheDirectoryOfANodeIsNoCrawl(t *testing.T) {
	t.Chdir(t.TempDir())
	for name, text := range map[string]string{"crawl.json": "{}", "pages.jsonl": "{}\n", "crawl.log": "x\n", "job.yaml": ""} {
		if err := os.MkdirAll("n.crawl", 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join("n.crawl", name), []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	before := contents(t, "n.crawl")
	const node = "n.crawl has the outputs of one node of a crawl, whose state is in a database: crawl collect makes one crawl of all nodes\n"
	for _, c := range []struct{ args, want string }{
		{"audit n.crawl", node},
		{"verify n.crawl", node},
		{"repair n.crawl", node},
		{"repair --dry-run n.crawl", node},
		{"provenance n.crawl", node},
		{"provenance --verify n.crawl", node},
		{"diff n.crawl n.crawl", node},
		{"optout purge --dry-run n.crawl a.test", node},
		{"robots show n.crawl a.test", node},
		{"run --dry-run --name t --contact a@example.org --dir n.crawl http://a.test/", "n.crawl is the directory of a node of a crawl on several machines: give --state, or another --dir\n"},
		{"run --name t --contact a@example.org --dir n.crawl http://a.test/", "n.crawl is the directory of a node of a crawl on several machines: give --state, or another --dir\n"},
	} {
		var out, said bytes.Buffer
		if code := run(strings.Fields(c.args), nil, &out, &said); code != exit.Usage || said.String() != "crawl: "+c.want {
			t.Errorf("crawl %s: exit %d, %q %q, want %q", c.args, code, &out, &said, c.want)
		}
	}
	if after := contents(t, "n.crawl"); !maps.Equal(after, before) {
		t.Errorf("the directory was %q and is %q", before, after)
	}
}

// crawl serve takes the directory of a node. If no process runs it, the page says what to do.
func TestServeTakesANode(t *testing.T) {
	t.Chdir(t.TempDir())
	if err := errors.Join(os.Mkdir("n.crawl", 0o755), os.WriteFile(filepath.Join("n.crawl", "crawl.json"), []byte("{}"), 0o644)); err != nil {
		t.Fatal(err)
	}
	if o, err := servedDirs([]string{"n.crawl"}); err != nil || !slices.Equal(o.Crawls, []string{"n.crawl"}) {
		t.Errorf("%+v, %v", o, err)
	}
	c := &follow.Crawl{Dir: "n.crawl"}
	for range 2 {
		if v := c.Look(t.Context()); v.Running || v.Err == nil || !strings.Contains(v.Err.Error(), "no process runs this node: crawl status says") {
			t.Errorf("%+v", v)
		}
	}
}

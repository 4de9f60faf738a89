//go:build unix

package main

import (
	"bytes"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/permesso-crawler/permesso/cmd/crawl/internal/exit"
)

// A report of nodes that is refused says why, and writes nothing.
func TestWhatIsNoReportOfNodes(t *testing.T) {
	t.Parallel()
	c := newCollecting(t, 2, 400) // the nodes have more to do than this test takes
	c.begin(2, 10)
	if r := c.report("--state", c.state, "node0.crawl", "node1.crawl"); string(r["other_lines"]) != "0" || string(r["requests"]) == "0" || bytes.Count(r["nodes"], []byte(`"running"`)) != 2 {
		c.Errorf("report, while it runs: %s", r)
	}
	const without = "crawl: the report is without the requests and pages of the nodes node1-"
	if said := c.crawl(0, "report", "node0.crawl"); !strings.Contains(said, without) || !strings.Contains(said, "node0.crawl/report.html") {
		c.Errorf("report of one node, while it runs: %s", said)
	}
	c.killAll()
	c.crawl(0, c.run("last.crawl", "--limit", "2")...)
	if err := os.Remove(filepath.Join(c.dir, "node0.crawl", "report.html")); err != nil {
		t.Fatal(err)
	}
	note := filepath.Join("node0.crawl", "crawl.json")
	for name, change := range map[string]func(raw []byte) []byte{
		"damaged":  func([]byte) []byte { return []byte("{") },
		"unknown":  func(raw []byte) []byte { return bytes.Replace(raw, []byte(`"node0-`), []byte(`"other-`), 1) },
		"database": func(raw []byte) []byte { return bytes.Replace(raw, []byte(`"crawl"`), []byte(`"other"`), 1) },
		"copy":     func(raw []byte) []byte { return raw },
	} {
		raw, err := os.ReadFile(filepath.Join(c.dir, note))
		if err == nil {
			err = os.CopyFS(filepath.Join(c.dir, name), files{os.DirFS(filepath.Join(c.dir, "node0.crawl"))})
		}
		if err == nil {
			err = os.WriteFile(filepath.Join(c.dir, name, "crawl.json"), change(raw), 0o644)
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	if err := errors.Join(os.Mkdir(filepath.Join(c.dir, "empty"), 0o755), os.Remove(filepath.Join(c.dir, "copy", "crawl.log"))); err != nil {
		t.Fatal(err)
	}
	for _, tc := range []struct {
		args string
		code int
		says string
	}{
		{"", exit.Usage, "takes the directory of a crawl, or those of the nodes"},
		{"none", exit.Usage, "there is no directory none"},
		{"node0.crawl none", exit.Usage, "there is no directory none"},
		{"empty", exit.Usage, "there is no crawl in empty"},
		{"node0.crawl empty", exit.Usage, "empty is not the directory of a node of a crawl on several machines"},
		{"empty node0.crawl", exit.Usage, "empty is not the directory of a node of a crawl on several machines"},
		{"node0.crawl node0.crawl", exit.Usage, "node0.crawl and node0.crawl are both of the node node0-"},
		{"node0.crawl copy", exit.Usage, "node0.crawl and copy are both of the node node0-"},
		{"copy node1.crawl", exit.State, "crawl.log is damaged: it is missing"},
		{"node1.crawl unknown", exit.Usage, "unknown is the directory of the node other-"},
		{"node1.crawl damaged", exit.State, "crawl.json is damaged"},
		{"--state STATE database", exit.Fatal, `of the crawl in the database "other", not in "crawl"`},
		{"--state STATE", exit.Usage, "takes the directory of a crawl, or those of the nodes"},
		{"--state postgres://a:Geheim17@b/c node0.crawl", exit.Usage, "leave the password out"},
		{"--near-duplicates node0.crawl", exit.Usage, "name the one that crawl collect makes"},
		{"--json --out x.html node0.crawl", exit.Usage, "--json prints to standard output"},
		{"--out none/x.html node0.crawl", exit.Usage, "none"},
	} {
		args := strings.Fields("report " + tc.args)
		for i := range args {
			args[i] = strings.Replace(args[i], "STATE", c.state, 1)
		}
		if said := c.crawl(tc.code, args...); !strings.Contains(said, tc.says) {
			t.Errorf("%s: %q does not say %q", tc.args, said, tc.says)
		}
	}
	found, err := filepath.Glob(filepath.Join(c.dir, "*", "report.html"))
	if err != nil || len(found) > 0 {
		t.Errorf("%q, %v", found, err)
	}

	c.exec("update crawl.node set until = clock_timestamp()")
	at := *c
	at.dir = filepath.Join(c.dir, "node0.crawl")
	if r := at.report("../node1.crawl", "."); bytes.Count(r["nodes"], []byte(`"killed"`)) != 2 || !bytes.Contains(r["name"], []byte("node0.crawl and 1 more")) {
		t.Errorf("%s: %s", r["name"], r["nodes"])
	}
	log, err := os.OpenFile(filepath.Join(c.dir, "node1.crawl", "crawl.log"), os.O_APPEND|os.O_WRONLY, 0)
	if err == nil {
		_, err = log.WriteString("no line\n")
		err = errors.Join(err, log.Close())
	}
	if err != nil {
		t.Fatal(err)
	}
	said := c.crawl(0, "report", "--since", "last.crawl", "--out", "all.html", "node0.crawl", "node1.crawl")
	page, err := os.ReadFile(filepath.Join(c.dir, "all.html"))
	if err != nil || bytes.Contains(page, []byte("These nodes are running")) || !strings.Contains(said, "changes since last.crawl are not reported") ||
		!strings.Contains(said, " of the logs of the nodes, merged by time, could not be read, and is left out: 2 fields") {
		t.Errorf("%s, %v", said, err)
	}
}

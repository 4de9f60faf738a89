package report_test

import (
	"bytes"
	"errors"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"

	"github.com/permesso-crawler/permesso/internal/crawllog"
	"github.com/permesso-crawler/permesso/internal/report"
	"github.com/permesso-crawler/permesso/internal/store"
)

// asNodes divides the outputs of a crawl between two new directories, as nodes do: what is about
// a.example, and the rest. It returns three nodes. The last one has no directory.
func asNodes(t *testing.T, dir string) []report.Node {
	t.Helper()
	nodes := []report.Node{{Name: "n1", State: "running", Dir: t.TempDir()}, {Name: "n2", State: "ended", Dir: t.TempDir()}, {Name: "n3", State: "killed"}}
	for _, name := range []string{store.LogFile, store.PagesFile, store.LinksFile} {
		text, err := os.ReadFile(filepath.Join(dir, name))
		if err != nil {
			t.Fatal(err)
		}
		var parts [2]bytes.Buffer
		for line := range bytes.Lines(text) {
			to := 1
			if bytes.Contains(line, []byte("a.example")) {
				to = 0
			}
			parts[to].Write(line)
		}
		for i := range parts {
			if err := os.WriteFile(filepath.Join(nodes[i].Dir, name), parts[i].Bytes(), 0o644); err != nil {
				t.Fatal(err)
			}
		}
	}
	return nodes
}

func nodesReport(t *testing.T, dir string, nodes []report.Node, o report.Options) (*report.Report, error) {
	t.Helper()
	state, err := store.OpenReader(dir)
	if err != nil {
		t.Fatal(err)
	}
	defer state.Close()
	o.Temp = t.TempDir()
	return report.Nodes(t.Context(), state, nodes, o)
}

// The report of several nodes has the figures of the same crawl on one machine.
func TestAReportOfNodesIsThatOfTheirCrawl(t *testing.T) {
	dir, want, _ := crawled(t)
	nodes := asNodes(t, dir)
	got, err := nodesReport(t, dir, nodes, report.Options{})
	if err != nil {
		t.Fatal(err)
	}
	if !reflect.DeepEqual(got.Nodes, nodes) || got.Name != filepath.Base(nodes[0].Dir)+" and 1 more" {
		t.Errorf("%+v of %q", got.Nodes, got.Name)
	}
	page, _ := pageOf(t, got)
	for _, warning := range []string{
		"The outputs of these nodes are missing, so that their requests and pages are in none of the figures: n3.",
		"These nodes are running, and the figures change: n1.",
	} {
		if !strings.Contains(page, warning) {
			t.Errorf("the page does not say %q", warning)
		}
	}
	got.Nodes, got.Name = nil, want.Name
	if !reflect.DeepEqual(got, want) {
		t.Errorf("%+v\nwant %+v", got, want)
	}
}

// A line that a running node has not finished yet is not missing, and not damage.
func TestALineThatIsStillWrittenIsNotInTheReportOfNodes(t *testing.T) {
	dir, want, _ := crawled(t)
	nodes := asNodes(t, dir)
	for name, text := range map[string]string{store.LogFile: "2026-05-04T1", store.PagesFile: `{"url":`, store.LinksFile: `{"from":"http`} {
		f, err := os.OpenFile(filepath.Join(nodes[0].Dir, name), os.O_APPEND|os.O_WRONLY, 0)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := f.WriteString(text); err != nil {
			t.Fatal(err)
		}
		if err := f.Close(); err != nil {
			t.Fatal(err)
		}
	}
	got, err := nodesReport(t, dir, nodes, report.Options{})
	if err != nil || got.Others != 0 || got.Requests != want.Requests || got.HasLinks != want.HasLinks {
		t.Errorf("%d lines that cannot be read, %d requests, want %d; %v", got.Others, got.Requests, want.Requests, err)
	}
}

func TestAReportOfNodesSaysWhatItCannotSay(t *testing.T) {
	dir, _, _ := crawled(t)
	nodes := asNodes(t, dir)
	got, err := nodesReport(t, dir, nodes, report.Options{Since: "last.crawl"})
	if err != nil || got.Since != nil || got.NotCompared == nil || got.NotCompared.Dir != "last.crawl" {
		t.Errorf("%+v, %v", got.NotCompared, err)
	}
	if _, err := nodesReport(t, dir, nodes, report.Options{Near: true}); err == nil {
		t.Error("near-duplicates were looked for")
	}
	if _, err := nodesReport(t, dir, nodes[2:], report.Options{}); err == nil {
		t.Error("a report was made of nothing")
	}
	if err := os.WriteFile(filepath.Join(nodes[1].Dir, store.LogFile), []byte("no line\n"+strings.Repeat("x", 9<<20)+"\n"), 0o644); err != nil {
		t.Fatal(err)
	}
	got, err = nodesReport(t, dir, nodes, report.Options{})
	if err != nil || got.Others != 2 || !strings.Contains(got.Other[1].Why, crawllog.ErrLong.Error()) {
		t.Errorf("%+v, %v", got.Other, err)
	}
	if err := os.Remove(filepath.Join(nodes[1].Dir, store.LogFile)); err != nil {
		t.Fatal(err)
	}
	var damaged *store.DamagedError
	if _, err := nodesReport(t, dir, nodes, report.Options{}); !errors.As(err, &damaged) || damaged.Path != filepath.Join(nodes[1].Dir, store.LogFile) {
		t.Errorf("without a log: %v", err)
	}
}

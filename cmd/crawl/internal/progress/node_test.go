package progress

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/permesso-crawler/permesso/cmd/crawl/internal/say"
	"github.com/permesso-crawler/permesso/crawler"
)

// The summary and the status of a node have only figures of that node.
func TestANodeSpeaksForItself(t *testing.T) {
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, "crawl.json"), []byte("{}"), 0o644); err != nil {
		t.Fatal(err)
	}
	s := crawler.Summary{End: crawler.EndPatience, Sites: 1}
	s.Pages, s.Fetched, s.Requests, s.Frontier.Spent.Pages = 22, 29, 34, 22
	status := crawler.Status{State: crawler.StateRunning, Dir: dir, Name: "testbot", Crawl: crawler.StatusCrawl{Known: 27, Done: 5, BudgetPages: 5}, Sites: crawler.StatusSites{Known: 3, Left: 3, Waiting: 3}}
	for what, write := range map[string]func(w *say.Lines){
		"the summary": func(w *say.Lines) {
			if err := Summary(w, s, dir, ""); err != nil {
				t.Error(err)
			}
		},
		"the status": func(w *say.Lines) { StatusLines(w, status) },
	} {
		var b bytes.Buffer
		write(&say.Lines{W: &b})
		for _, never := range []string{"in the crawl", "of 1 site", "\nsites        1", "\nsites        3,"} {
			if strings.Contains(b.String(), never) {
				t.Errorf("%s says %q of a node:\n%s", what, never, &b)
			}
		}
		for _, want := range map[string][]string{
			"the summary": {"22 pages by this node, no request early; nothing is left\n", "pages        22 in this run (2xx); 29 URLs answered, 34 requests, 0 of them for robots.txt\n", "crawl status "},
			"the status":  {"5 of 27 URLs known by now (18%); 5 budget pages and 0 B at the sites that this node has now\n", "sites        3 with something left: 3 waiting\n"},
		}[what] {
			if !strings.Contains(b.String(), want) {
				t.Errorf("%s does not say %q:\n%s", what, want, &b)
			}
		}
	}
}

// The summary of a node names crawl collect, and no command that would refuse its directory.
func TestTheSummaryOfANodeNamesCollect(t *testing.T) {
	dir := t.TempDir()
	for _, node := range []bool{false, true} {
		if node {
			if err := os.WriteFile(filepath.Join(dir, "crawl.json"), []byte("{}"), 0o644); err != nil {
				t.Fatal(err)
			}
		}
		var b bytes.Buffer
		if err := Summary(&say.Lines{W: &b}, crawler.Summary{End: crawler.EndDone}, dir, ""); err != nil {
			t.Fatal(err)
		}
		text := b.String()
		if strings.Contains(text, "crawl collect") != node || strings.Contains(text, "crawl report") == node || strings.Contains(text, "crawl audit") == node {
			t.Errorf("node %v:\n%s", node, text)
		}
	}
}

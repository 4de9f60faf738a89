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

package permesso

import (
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"
)

// The comparison with other tools says how long programs are that may change: lines that
// are neither blank nor comments. What else it says is measured by .ci/compare.
func TestTheComparisonCountsLines(t *testing.T) {
	raw, err := os.ReadFile("docs/evidence/comparison.md")
	if err != nil {
		t.Fatal(err)
	}
	sources := map[string][]string{
		"permesso": {"examples/*/main.go", ".ci/compare/permesso/*/main.go"},
		"colly":    {".ci/compare/colly/*/main.go"},
		"Scrapy":   {".ci/compare/scrapy/*.py"},
	}
	rows := regexp.MustCompile(`(?m)^\| (\w+) \| (permesso|colly|Scrapy) \| (\d+) \|`).FindAllStringSubmatch(string(raw), -1)
	if len(rows) < 20 {
		t.Errorf("docs/evidence/comparison.md has %d programs", len(rows))
	}
	for _, row := range rows {
		var found []string
		for _, pattern := range sources[row[2]] {
			path := strings.Replace(pattern, "*", row[1], 1)
			if _, err := os.Stat(filepath.FromSlash(path)); err == nil {
				found = append(found, path)
			}
		}
		if len(found) != 1 {
			t.Errorf("%s for %s is in %q", row[1], row[2], found)
			continue
		}
		if n := linesOfCode(t, found[0]); strconv.Itoa(n) != row[3] {
			t.Errorf("%s has %d lines, docs/evidence/comparison.md says %s", found[0], n, row[3])
		}
	}
}

func linesOfCode(t *testing.T, path string) (n int) {
	t.Helper()
	raw, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	for line := range strings.Lines(string(raw)) {
		if line = strings.TrimSpace(line); line != "" && !strings.HasPrefix(line, "//") && !strings.HasPrefix(line, "#") {
			n++
		}
	}
	return n
}

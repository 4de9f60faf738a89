package house

import (
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
)

// The comparison with other tools gives the current lengths of programs, in lines that are
// neither blank nor comments. Its other figures are measured by .ci/compare.
func TestTheComparisonCountsLines(t *testing.T) {
	t.Chdir("../..")
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
		if n := linesOfProgram(t, found[0]); strconv.Itoa(n) != row[3] {
			t.Errorf("%s has %d lines, docs/evidence/comparison.md says %s", found[0], n, row[3])
		}
	}
}

// linesOfProgram counts the lines of a file. For a program in Go it counts those of all files in
// its directory, except tests.
func linesOfProgram(t *testing.T, path string) (n int) {
	t.Helper()
	files := []string{path}
	if filepath.Ext(path) == ".go" {
		var err error
		if files, err = filepath.Glob(filepath.Join(filepath.Dir(path), "*.go")); err != nil {
			t.Fatal(err)
		}
	}
	for _, file := range files {
		if !strings.HasSuffix(file, "_test.go") {
			n += linesOfCode(t, file)
		}
	}
	return n
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

// The cells of the comparison in README.md are those of the full tables.
func TestTheReadmeComparesAsTheTablesDo(t *testing.T) {
	t.Chdir("../..")
	cells := func(line string) []string {
		list := strings.Split(strings.Trim(strings.TrimSpace(line), "|"), "|")
		for i := range list {
			list[i] = strings.TrimSpace(list[i])
		}
		return list
	}
	tables := map[string]map[string][]string{"README.md": {}, behaviour: {}, "docs/evidence/engine.md": {}}
	for path, rows := range tables {
		raw, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		for line := range strings.Lines(string(raw)) {
			if row := cells(line); strings.HasPrefix(line, "| ") && len(row) > 5 {
				rows[row[0]] = row
			}
		}
	}
	readme, engine := tables["README.md"], tables["docs/evidence/engine.md"]
	tools := tables[behaviour][""]
	for name, contestant := range map[string]string{"permesso (`crawl`, writes WARC)": "crawl", "colly": "colly", "Scrapy": "scrapy"} {
		tool, _, _ := strings.Cut(name, " ")
		column := slices.Index(tools, tool)
		if column < 0 || len(readme[name]) != 6 || len(engine[contestant]) < 7 {
			t.Fatalf("%s: column %d, rows %q and %q", name, column, readme[name], engine[contestant])
		}
		want := []string{name}
		for _, probe := range readme[""][1:4] {
			if len(tables[behaviour][probe]) <= column {
				t.Fatalf("%s has no row %q", behaviour, probe)
			}
			want = append(want, tables[behaviour][probe][column])
		}
		if want = append(want, engine[contestant][1], engine[contestant][5]); !slices.Equal(readme[name], want) {
			t.Errorf("README.md has\n\t%q, the full tables\n\t%q", readme[name], want)
		}
	}
}

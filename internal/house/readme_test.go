package house

import (
	"go/ast"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// Each promise of README.md, and of the lists of docs/guide/site-owners.md, is quoted word
// for word, after "For site owners:", in the comment of a test that fails if it is not true.
func TestPromisesToSiteOwnersAreTested(t *testing.T) {
	t.Chdir("../..")
	const owners = "docs/guide/site-owners.md"
	proofs := proofs(t)
	said := map[string]bool{}
	for _, at := range []struct {
		document, heading string
		least             int
	}{
		{"README.md", "Polite by construction", 9},
		{owners, "Who it is", 5}, {owners, "Stop it", 13}, {owners, "Slow it down", 17},
		{owners, "What it follows", 4}, {owners, "How your pages may be used", 8},
		{owners, "Have it forgotten", 2}, {owners, "Check it", 3},
	} {
		listed := 0
		for _, s := range sentences(t, at.document, at.heading) {
			if !s.listed {
				continue // an instruction, which is tested with its code
			}
			listed++
			if proofs[s.text] == "" {
				t.Errorf("%s says to site owners, and no test's comment quotes it:\n\t%s", at.document, s.text)
			}
			said[s.text] = true
		}
		if listed < at.least {
			t.Errorf("%d sentences in %s, %s: they were not found", listed, at.document, at.heading)
		}
	}
	for s, test := range proofs {
		if !said[s] {
			t.Errorf("%s quotes what is not said to site owners:\n\t%s", test, s)
		}
	}
}

// A sentence is one sentence of a section.
type sentence struct {
	text   string // without links in parentheses
	listed bool   // in an item of a list
}

var linked = regexp.MustCompile(` \(\[[^]]*\]\([^)]*\)\)`)

// sentences returns the sentences of the list items and paragraphs of a section.
func sentences(t *testing.T, path, heading string) (list []sentence) {
	for _, item := range regexp.MustCompile(`\n\n+`).Split(strings.ReplaceAll(section(t, path, heading), "\n- ", "\n\n- "), -1) {
		part := linked.ReplaceAllString(strings.Join(strings.Fields(strings.TrimPrefix(item, "- ")), " "), "")
		if strings.HasSuffix(part, ":") { // introduces a list
			continue
		}
		for len(part) > 0 {
			end := len(part)
			if at := sentenceEnd.FindStringIndex(part); at != nil {
				end = at[0] + 1
			}
			list = append(list, sentence{part[:end], strings.HasPrefix(item, "- ")})
			part = strings.TrimSpace(part[end:])
		}
	}
	return list
}

var sentenceEnd = regexp.MustCompile("[.] [A-Z0-9`*\"]")

// proofs returns the sentences that comments of tests quote, with the name of the test.
func proofs(t *testing.T) map[string]string {
	found := map[string]string{}
	err := filepath.WalkDir(".", func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() || !strings.HasSuffix(path, "_test.go") {
			return err
		}
		file, err := parse(path)
		if err != nil {
			return err
		}
		for _, decl := range file.Decls {
			f, ok := decl.(*ast.FuncDecl)
			if !ok || f.Recv != nil || !strings.HasPrefix(f.Name.Name, "Test") {
				continue
			}
			comment := strings.Join(strings.Fields(f.Doc.Text()), " ")
			for {
				_, after, ok := strings.Cut(comment, `For site owners: "`)
				if !ok {
					break
				}
				sentence, rest, _ := strings.Cut(after, `"`)
				found[linked.ReplaceAllString(sentence, "")] = path + ": " + f.Name.Name
				comment = rest
			}
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return found
}

// Each function that the plan names for a first reading exists.
func TestTheWayOfOneURLIsTrue(t *testing.T) {
	t.Chdir("../..")
	way := section(t, plan, "Reading the source")
	names := regexp.MustCompile("(?:-> |`|    )([A-Za-z]+[.][A-Za-z]+)[` \n]").FindAllStringSubmatch(way, -1)
	if len(names) < 15 {
		t.Fatalf("%d names in %s: %q", len(names), plan, names)
	}
	source := declarations(t)
	for _, n := range names {
		if source[n[1]] == nil {
			t.Errorf("%s: there is no %s", plan, n[1])
		}
	}
}

const behaviour = "docs/evidence/behaviour.md"

// Each row of the table of behaviour is a probe of crawlbench, and names an existing test.
func TestTheTableOfBehaviourIsTested(t *testing.T) {
	t.Chdir("../..")
	tests := map[string]bool{}
	eachFile(t, func(name string, f *ast.File) {
		for _, d := range f.Decls {
			if fn, ok := d.(*ast.FuncDecl); ok && strings.HasSuffix(name, "_test.go") {
				tests[fn.Name.Name] = true
			}
		}
	})
	probes, err := os.ReadFile("cmd/crawlbench/probes.go")
	if err != nil {
		t.Fatal(err)
	}
	told := regexp.MustCompile(`says: "([^"]+)"`).FindAllStringSubmatch(string(probes), -1)
	rows := map[string]string{}
	for _, row := range regexp.MustCompile("(?m)^\\| (.*?) \\| yes[^|]*\\|.*\\| `(Test\\w+)` \\|$").FindAllStringSubmatch(section(t, behaviour, "The table"), -1) {
		if rows[row[1]] = row[2]; !tests[row[2]] {
			t.Errorf("%s names %s, which is no test", behaviour, row[2])
		}
	}
	for _, p := range told {
		if rows[p[1]] == "" {
			t.Errorf("%s has no row, or no test, or no yes for the probe %q", behaviour, p[1])
		}
		delete(rows, p[1])
	}
	for row := range rows {
		t.Errorf("cmd/crawlbench/probes.go has no probe for the row %q", row)
	}
	if len(told) < 12 {
		t.Errorf("%d probes", len(told))
	}
}

// Each row of the tables of promises names the tests that fail if the promise is broken.
func TestEachPromiseOfVersionsNamesItsTests(t *testing.T) {
	t.Chdir("../..")
	const versions, machines = "docs/reference/versions.md", "docs/guide/machines.md"
	tests := map[string]bool{}
	eachFile(t, func(name string, f *ast.File) {
		for _, d := range f.Decls {
			if fn, ok := d.(*ast.FuncDecl); ok && strings.HasSuffix(name, "_test.go") {
				tests[fn.Name.Name] = true
			}
		}
	})
	for _, at := range []struct {
		document, heading string
		least             int
	}{{versions, "What stays", 8}, {versions, "Newer and older", 6}, {versions, "Change the version", 5}, {machines, "When something fails", 18}} {
		rows := regexp.MustCompile(`(?m)^\| .* \|$`).FindAllString(section(t, at.document, at.heading), -1)
		if len(rows)-1 < at.least { // without the heading of the table
			t.Errorf("%s, %s: %d promises", at.document, at.heading, len(rows)-1)
		}
		for _, row := range rows[1:] {
			cells := strings.Split(strings.Trim(row, "|"), "|")
			named := regexp.MustCompile("`([^`]+)`").FindAllStringSubmatch(cells[len(cells)-1], -1)
			if len(named) == 0 {
				t.Errorf("%s: this promise names no test:\n\t%s", at.document, row)
			}
			for _, name := range named {
				if _, err := os.Stat(name[1]); !tests[name[1]] && (err != nil || !strings.HasPrefix(name[1], ".ci/")) {
					t.Errorf("%s: %s is no test:\n\t%s", at.document, name[1], row)
				}
			}
		}
	}
}

// go install builds what the documents name, and does not refuse the module: a module with a
// replacement or an exclusion cannot be installed from another directory.
func TestGoInstallIsTrue(t *testing.T) {
	t.Chdir("../..")
	raw, err := os.ReadFile("go.mod")
	if err != nil {
		t.Fatal(err)
	}
	if found := regexp.MustCompile(`(?m)^\s*(replace|exclude)\b.*`).Find(raw); found != nil {
		t.Errorf("go.mod: %s", found)
	}
	path := regexp.MustCompile(`(?m)^module (\S+)$`).FindSubmatch(raw)
	if path == nil {
		t.Fatal("go.mod names no module")
	}
	for _, document := range []string{"README.md", "docs/guide/install.md"} {
		text, err := os.ReadFile(document)
		if err != nil {
			t.Fatal(err)
		}
		dir, ok := "", false
		if found := regexp.MustCompile(`(?m)^    go install (\S+)@latest$`).FindSubmatch(text); found != nil {
			dir, ok = strings.CutPrefix(string(found[1]), string(path[1])+"/")
		}
		if _, err := os.Stat(filepath.Join(dir, "main.go")); !ok || err != nil {
			t.Errorf("%s: go install %s: %v", document, dir, err)
		}
	}
}

// README.md can be read in a few minutes.
func TestTheReadmeIsShort(t *testing.T) {
	t.Chdir("../..")
	raw, err := os.ReadFile("README.md")
	if err != nil {
		t.Fatal(err)
	}
	if n := strings.Count(string(raw), "\n"); n > 150 {
		t.Errorf("README.md has %d lines, more than 150: docs has room", n)
	}
}

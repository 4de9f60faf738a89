package house

import (
	"go/ast"
	"os"
	"regexp"
	"strings"
	"testing"
)

// Each test that the page about usage signals names exists.
func TestThePageOfUsageSignalsNamesTests(t *testing.T) {
	t.Chdir("../..")
	namesTests(t, "docs/reference/usage-signals.md")
}

// Each test that the page about the identity of a crawler names exists, and so does each file.
func TestThePageOfIdentityNamesTests(t *testing.T) {
	t.Chdir("../..")
	for _, m := range regexp.MustCompile("`([a-z./]+/[a-z_.]+)`").FindAllStringSubmatch(namesTests(t, "docs/reference/identity.md"), -1) {
		if _, err := os.Stat(m[1]); err != nil && strings.Contains(m[1], ".") {
			t.Error(err)
		}
	}
}

// namesTests checks that the tests that a page names exist. It returns the text of the page.
func namesTests(t *testing.T, page string) string {
	t.Helper()
	raw, err := os.ReadFile(page)
	if err != nil {
		t.Fatal(err)
	}
	tests := map[string]bool{}
	eachFile(t, func(name string, f *ast.File) {
		for _, d := range f.Decls {
			if fn, ok := d.(*ast.FuncDecl); ok && strings.HasSuffix(name, "_test.go") {
				tests[fn.Name.Name] = true
			}
		}
	})
	names := regexp.MustCompile("`(Test[A-Za-z0-9]+)`").FindAllStringSubmatch(string(raw), -1)
	if len(names) < 15 {
		t.Errorf("it names %d tests", len(names))
	}
	for _, n := range names {
		if !tests[n[1]] {
			t.Errorf("there is no %s", n[1])
		}
	}
	return string(raw)
}

package permesso

import (
	"go/ast"
	"os"
	"regexp"
	"strings"
	"testing"
)

// Each test that the page about usage signals names exists.
func TestThePageOfUsageSignalsNamesTests(t *testing.T) {
	raw, err := os.ReadFile("docs/reference/usage-signals.md")
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
}

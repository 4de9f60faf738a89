package words

import (
	"go/ast"
	"go/parser"
	"go/token"
	"path/filepath"
	"strconv"
	"testing"

	"github.com/permesso-crawler/permesso/frontier"
)

// Each clock has its words.
func TestEachClockHasWords(t *testing.T) {
	file, err := parser.ParseFile(token.NewFileSet(), filepath.Join("..", "..", "..", "..", "frontier", "clock.go"), nil, 0)
	if err != nil {
		t.Fatal(err)
	}
	n := 0
	ast.Inspect(file, func(node ast.Node) bool {
		spec, ok := node.(*ast.ValueSpec)
		if !ok || len(spec.Values) != 1 {
			return true
		}
		if of, ok := spec.Type.(*ast.Ident); !ok || of.Name != "Clock" {
			return true
		}
		name, err := strconv.Unquote(spec.Values[0].(*ast.BasicLit).Value)
		if err != nil {
			t.Fatal(err)
		}
		if n++; name != "" && clockWords[frontier.Clock(name)] == "" {
			t.Errorf("the clock %s has no words", name)
		}
		return true
	})
	if n < len(clockWords) || n < 10 {
		t.Errorf("%d clocks, %d with words", n, len(clockWords))
	}
}

package house

import (
	"go/ast"
	"go/types"
	"io/fs"
	"os"
	"path/filepath"
	"reflect"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// notOutputs are files whose names in JSON are in no output: they are in records of state.db,
// in temporary files, and in what two processes send to each other about a crawl.
var notOutputs = strings.Fields(`cmd/crawl/internal/control/query.go internal/kept/sites.go crawler/statusdir.go internal/diff/facts.go
	internal/state/mark.go internal/store/purge_journal.go internal/store/repair.go`)

// jsonKinds are patterns of Go types, and what these are in JSON.
var jsonKinds = []struct{ pattern, kind string }{
	{`^(string|\[\]byte)$`, "string"}, {`^bool$`, "boolean"}, {`^(u?int|float)\d*$`, "number"},
	{`^\[`, "array"}, {`^(map\[|struct\b)`, "object"}, {`^time\.Time$`, "time"}, {`^$`, ""},
}

// docs/reference/json.md has one row for each name in JSON, with all types that it has.
func TestTheGlossaryHasEachNameInJSON(t *testing.T) {
	t.Chdir("../..")
	code := jsonCode{map[string][]string{}, map[string]string{}}
	for _, dir := range strings.Fields("cmd/crawl internal crawler storage frontier robots fetch") {
		if err := filepath.WalkDir(dir, code.read); err != nil {
			t.Fatal(err)
		}
	}
	raw, _ := os.ReadFile("docs/reference/json.md") // without it no name has a row
	last, unit := "", regexp.MustCompile(` \([^)]*\)`)
	for _, row := range regexp.MustCompile("(?m)^\\| `(\\w+)` \\| ([^|]+) \\| [^| ][^|]* \\| [^| ][^|]* \\|$").FindAllStringSubmatch(string(raw), -1) {
		name, kinds, found := row[1], strings.Split(unit.ReplaceAllString(row[2], ""), ", "), []string(nil)
		if name <= last {
			t.Errorf("%s is after %s: the rows are sorted, with one for each name", name, last)
		}
		ends := name == "seconds" || strings.HasSuffix(name, "_seconds") || name == "utc_offset" // which is in each state.db, where no name changes
		if ends != strings.Contains(row[2], "(seconds)") {
			t.Errorf("%s is %s: names of lengths of time, and no others, end on _seconds", name, row[2])
		}
		for _, of := range code.fields[name] {
			found = append(found, code.kind(of))
		}
		for _, kind := range slices.Concat(found, kinds) {
			if kind != "" && (!slices.Contains(kinds, kind) || !slices.Contains(found, kind) && !slices.Contains(found, "")) {
				t.Errorf("%s: its row has the types %q, the code %q: use another name, or say in the row what each means", name, kinds, found)
			}
		}
		last = name
		delete(code.fields, name)
	}
	for name, of := range code.fields {
		t.Errorf("docs/reference/json.md has no row for %s (%s)", name, of)
	}
}

// A jsonCode has the types in Go files, written as PACKAGE.TYPE.
type jsonCode struct {
	fields map[string][]string // types of fields, by their names in JSON
	defs   map[string]string   // definitions, by names such as frontier.Code
}

// read adds a Go file that is not a test.
func (c jsonCode) read(path string, _ fs.DirEntry, err error) error {
	if err != nil || !strings.HasSuffix(path, ".go") || strings.HasSuffix(path, "_test.go") {
		return err
	}
	file, err := parse(path)
	if err != nil {
		return err
	}
	pkg := file.Name.Name + "."
	ast.Inspect(file, func(n ast.Node) bool {
		switch n := n.(type) {
		case *ast.TypeSpec:
			if name := pkg + n.Name.Name; c.defs[name] == "" {
				c.defs[name] = pkg + types.ExprString(n.Type)
			}
		case *ast.FuncDecl:
			if as := map[string]string{"MarshalText": "string", "MarshalJSON": "any"}[n.Name.Name]; as != "" {
				c.defs[pkg+receiver(n.Recv.List[0].Type).Name] = pkg + as
			}
		case *ast.Field:
			if n.Tag != nil && !slices.Contains(notOutputs, filepath.ToSlash(path)) {
				name, _, _ := strings.Cut(reflect.StructTag(strings.Trim(n.Tag.Value, "`")).Get("json"), ",")
				c.fields[name] = append(c.fields[name], pkg+types.ExprString(n.Type))
			}
		}
		return true
	})
	delete(c.fields, "")
	delete(c.fields, "-")
	return nil
}

// kind returns what a type is in JSON, or "" if that is unknown.
func (c jsonCode) kind(of string) string {
	pkg, name, _ := strings.Cut(strings.ReplaceAll(of, "*", ""), ".")
	for _, k := range jsonKinds {
		if regexp.MustCompile(k.pattern).MatchString(name) {
			return k.kind
		}
	}
	if name, _, _ = strings.Cut(name, "["); !strings.Contains(name, ".") { // without type parameters
		name = pkg + "." + name
	}
	return c.kind(c.defs[name])
}

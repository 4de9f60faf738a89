package permesso_test

import (
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// mostExported is the number of names, with methods, that importable packages export.
// Never raise it: an exported name is a promise.
const mostExported = 957

func TestThePromiseDoesNotGrow(t *testing.T) {
	all := 0
	err := filepath.WalkDir(".", func(path string, d fs.DirEntry, err error) error {
		if err != nil || !d.IsDir() {
			return err
		}
		if _, err := os.Stat(filepath.Join(path, "go.mod")); err == nil && path != "." {
			return fs.SkipDir
		}
		switch name := d.Name(); {
		case path == ".":
			return nil
		case strings.HasPrefix(name, "."), name == "testdata", name == "internal", name == "cmd", name == "examples":
			return fs.SkipDir
		}
		files, err := filepath.Glob(filepath.Join(path, "*.go"))
		if err != nil {
			return err
		}
		n := 0
		for _, name := range files {
			if strings.HasSuffix(name, "_test.go") {
				continue
			}
			file, err := parser.ParseFile(token.NewFileSet(), name, nil, parser.SkipObjectResolution)
			if err != nil {
				return err
			}
			for _, decl := range file.Decls {
				n += exported(decl)
			}
		}
		if all += n; n > 0 {
			t.Logf("%-20s %4d", path, n)
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	if all > mostExported || all < mostExported-20 {
		t.Errorf("%d names are exported, mostExported is %d", all, mostExported)
	}
}

// exported returns the number of names that a declaration exports: functions, methods of
// exported types, types, constants and variables.
func exported(decl ast.Decl) (n int) {
	switch d := decl.(type) {
	case *ast.FuncDecl:
		if d.Name.IsExported() && (d.Recv == nil || receiver(d.Recv.List[0].Type).IsExported()) {
			n++
		}
	case *ast.GenDecl:
		for _, spec := range d.Specs {
			switch s := spec.(type) {
			case *ast.TypeSpec:
				if s.Name.IsExported() {
					n++
				}
			case *ast.ValueSpec:
				for _, name := range s.Names {
					if name.IsExported() {
						n++
					}
				}
			}
		}
	}
	return n
}

// Options that are too many to read are in groups: an embedded struct counts as one field.
func TestNoOptionsAreTooManyToRead(t *testing.T) {
	const most = 20
	for _, dir := range []string{"crawler", "fetch", "frontier", "storage", "storage/warc", "crawler/extract"} {
		files, err := filepath.Glob(filepath.Join(dir, "*.go"))
		if err != nil || len(files) == 0 {
			t.Fatal(dir, err)
		}
		for _, name := range files {
			file, err := parser.ParseFile(token.NewFileSet(), name, nil, parser.SkipObjectResolution)
			if err != nil {
				t.Fatal(err)
			}
			ast.Inspect(file, func(n ast.Node) bool {
				spec, ok := n.(*ast.TypeSpec)
				if !ok || !strings.HasSuffix(spec.Name.Name, "Options") {
					return true
				}
				fields := 0
				if of, ok := spec.Type.(*ast.StructType); ok {
					for _, f := range of.Fields.List {
						fields += max(1, len(f.Names))
					}
				}
				if fields > most {
					t.Errorf("%s: %s has %d fields, want at most %d: put them into groups", name, spec.Name.Name, fields, most)
				}
				return true
			})
		}
	}
}

// receiver returns the name of the type of a receiver.
func receiver(e ast.Expr) *ast.Ident {
	for {
		switch of := e.(type) {
		case *ast.StarExpr:
			e = of.X
		case *ast.IndexExpr:
			e = of.X
		case *ast.Ident:
			return of
		default:
			return ast.NewIdent("_")
		}
	}
}

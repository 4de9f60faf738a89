package house

import (
	"go/ast"
	"go/parser"
	"go/token"
	"go/types"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// The files of package crawler use each other in one direction: no file uses a name of a file
// that uses a name of the first, directly or through others. The reading order in its doc.go
// relies on that.
func TestTheFilesOfThePackageCrawlerFormNoCircle(t *testing.T) {
	t.Chdir("../..")
	uses := fileUses(t, "crawler")
	if len(uses) < 30 {
		t.Fatalf("only %d files were read", len(uses))
	}
	const visiting, done = 1, 2
	state := map[string]int{}
	var visit func(file string, path []string)
	visit = func(file string, path []string) {
		path = append(path, file)
		switch state[file] {
		case done:
			return
		case visiting:
			t.Errorf("a circle: %s", strings.Join(path[slices.Index(path, file):], " -> "))
			return
		}
		state[file] = visiting
		for _, to := range uses[file] {
			visit(to, path)
		}
		state[file] = done
	}
	for file := range uses {
		visit(file, nil)
	}
}

// fileUses returns for each file of the package in dir, except tests, the other files of this
// package whose functions, methods, types, constants or variables it uses.
func fileUses(t *testing.T, dir string) map[string][]string {
	t.Helper()
	fset := token.NewFileSet()
	names, err := filepath.Glob(filepath.Join(dir, "*.go"))
	if err != nil {
		t.Fatal(err)
	}
	var files []*ast.File
	for _, name := range names {
		if strings.HasSuffix(name, "_test.go") {
			continue
		}
		f, err := parser.ParseFile(fset, name, nil, parser.SkipObjectResolution)
		if err != nil {
			t.Fatal(err)
		}
		files = append(files, f)
	}
	info := &types.Info{Uses: map[*ast.Ident]types.Object{}}
	// The imports are empty packages, and the errors that follow from that are of no interest:
	// the names of this package are still known.
	conf := types.Config{Importer: noImports{}, Error: func(error) {}}
	pkg, _ := conf.Check(dir, fset, files, info)
	file := func(p token.Pos) string { return filepath.Base(fset.Position(p).Filename) }
	uses := map[string][]string{}
	for _, f := range files {
		uses[file(f.Pos())] = nil
	}
	for id, o := range info.Uses {
		if o.Pkg() != pkg {
			continue
		}
		if f, ok := o.(*types.Func); o.Parent() != pkg.Scope() && (!ok || f.Signature().Recv() == nil) {
			continue // a local name or a field
		}
		if from, to := file(id.Pos()), file(o.Pos()); from != to && !slices.Contains(uses[from], to) {
			uses[from] = append(uses[from], to)
		}
	}
	return uses
}

// noImports imports each package as an empty one.
type noImports struct{}

func (noImports) Import(path string) (*types.Package, error) {
	pkg := types.NewPackage(path, filepath.Base(path))
	pkg.MarkComplete()
	return pkg, nil
}

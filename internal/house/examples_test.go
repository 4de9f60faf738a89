package house

import (
	"encoding/json"
	"errors"
	"go/ast"
	"go/doc"
	"go/doc/comment"
	"go/importer"
	"go/parser"
	"go/token"
	"go/types"
	"io"
	"io/fs"
	"os"
	"os/exec"
	"path"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// Each exported function and method is used by an Example or by a program in examples, so that a
// reader finds a use of it that compiles. A method that implements an interface of the list
// implemented needs no use of its own.
func TestEachExportedFunctionIsUsedByAnExample(t *testing.T) {
	t.Chdir("../..")
	code := newUses(t)
	all, _ := exportedNames(t)
	for _, line := range all {
		name, ok := functionOf(line)
		if !ok {
			continue
		}
		used := code.used[name] || code.implements(t, name)
		switch excepted := slices.Contains(withoutExample, name); {
		case !used && !excepted:
			t.Errorf("no Example and no program in examples uses %s", name)
		case used && excepted:
			t.Errorf("%s is used: take it out of withoutExample", name)
		}
	}
	if n := len(withoutExample); n > mostWithoutExample {
		t.Errorf("%d names are without an example, mostWithoutExample is %d", n, mostWithoutExample)
	}
}

// mostWithoutExample is the number of names in withoutExample. Never raise it.
const mostWithoutExample = 4

// withoutExample are functions and methods that need no example.
var withoutExample = strings.Fields(`
	fetch.Client.RoundTrip fetch.Exchange.Release storage.DiskFull storage/warc.Record.Read`)

// functionOf returns the name of the function or method of a line of apiFile, such as
// crawler.Page.Title.
func functionOf(line string) (name string, ok bool) {
	pkg, rest, _ := strings.Cut(line, ": ")
	if name, ok = strings.CutPrefix(rest, "func "); ok {
		name, _, _ = strings.Cut(name, "(")
		name, _, _ = strings.Cut(name, "[")
		return pkg + "." + name, true
	}
	if rest, ok = strings.CutPrefix(rest, "method ("); !ok {
		return "", false
	}
	of, name, _ := strings.Cut(rest, ") ")
	name, _, _ = strings.Cut(name, "(")
	return pkg + "." + strings.TrimPrefix(of, "*") + "." + name, true
}

// uses has the functions and methods that examples use.
type uses struct {
	importer types.Importer
	files    *token.FileSet
	used     map[string]bool // by names such as crawler.Page.Title
}

// newUses reads the Examples of the importable packages, and the programs in examples.
func newUses(t *testing.T) *uses {
	t.Helper()
	out, err := exec.Command("go", "list", "-export", "-deps", "-json=ImportPath,Export", "./...").Output()
	if err != nil {
		t.Fatal(err)
	}
	export := map[string]string{}
	for d := json.NewDecoder(strings.NewReader(string(out))); ; {
		var p struct{ ImportPath, Export string }
		if err := d.Decode(&p); errors.Is(err, io.EOF) {
			break
		} else if err != nil {
			t.Fatal(err)
		}
		export[p.ImportPath] = p.Export
	}
	files := token.NewFileSet()
	u := &uses{files: files, used: map[string]bool{}, importer: importer.ForCompiler(files, "gc", func(path string) (io.ReadCloser, error) {
		if export[path] == "" {
			return nil, errors.New("no export data")
		}
		return os.Open(export[path])
	})}
	err = filepath.WalkDir(".", func(path string, d fs.DirEntry, err error) error {
		if err != nil || !d.IsDir() {
			return err
		}
		switch name := d.Name(); {
		case path == ".":
			return nil
		case strings.HasPrefix(name, "."), name == "testdata", name == "internal", name == "cmd":
			return fs.SkipDir
		}
		return u.read(path)
	})
	if err != nil {
		t.Fatal(err)
	}
	return u
}

// read adds the functions that the examples in a directory use.
func (u *uses) read(dir string) error {
	names, err := filepath.Glob(filepath.Join(dir, "*.go"))
	if err != nil {
		return err
	}
	program := strings.HasPrefix(filepath.ToSlash(dir), "examples/")
	var files []*ast.File
	for _, name := range names {
		if program == strings.HasSuffix(name, "_test.go") {
			continue
		}
		file, err := parser.ParseFile(u.files, name, nil, parser.SkipObjectResolution)
		if err != nil {
			return err
		}
		if program || strings.HasSuffix(file.Name.Name, "_test") {
			files = append(files, file)
		}
	}
	// A name that is missing, such as one that only tests export, makes no use.
	info := &types.Info{Uses: map[*ast.Ident]types.Object{}}
	conf := types.Config{Importer: u.importer, Error: func(error) {}}
	_, _ = conf.Check(dir, u.files, files, info)
	for _, file := range files {
		whole := program || strings.Contains(filepath.Base(u.files.Position(file.Pos()).Filename), "example")
		for _, decl := range file.Decls {
			if f, ok := decl.(*ast.FuncDecl); !whole && (!ok || !strings.HasPrefix(f.Name.Name, "Example")) {
				continue
			}
			ast.Inspect(decl, func(n ast.Node) bool {
				if id, ok := n.(*ast.Ident); ok {
					if f, ok := info.Uses[id].(*types.Func); ok {
						u.used[nameOf(f)] = true
					}
				}
				return true
			})
		}
	}
	return nil
}

// nameOf returns the name of a function, such as crawler.Page.Title.
func nameOf(f *types.Func) string {
	name := strings.NewReplacer("(", "", ")", "", "*", "").Replace(f.Origin().FullName())
	return strings.TrimPrefix(name, module)
}

// implemented are interfaces whose methods need no example of their own.
var implemented = strings.Fields(`frontier.Backlog frontier.Shared fetch.Snapshots fetch.Network
	revisit.Policy crawler.Handler crawler.Scope`)

// implements reports whether a method is one of a named interface that its type implements.
func (u *uses) implements(t *testing.T, name string) bool {
	t.Helper()
	dir, of := path.Split(name)
	parts := strings.Split(of, ".")
	if len(parts) < 3 {
		return false
	}
	if slices.Contains(strings.Fields("Error Unwrap Is String MarshalText UnmarshalText"), parts[2]) {
		return true
	}
	pkg, err := u.importer.Import(module + dir + parts[0])
	if err != nil {
		t.Fatal(err)
	}
	have := pkg.Scope().Lookup(parts[1]).Type()
	for _, want := range implemented {
		from, name, _ := strings.Cut(want, ".")
		if from == "revisit" {
			from = "crawler/revisit"
		}
		pkg, err := u.importer.Import(module + from)
		if err != nil {
			t.Fatal(err)
		}
		in := pkg.Scope().Lookup(name).Type().Underlying().(*types.Interface)
		if types.Implements(types.NewPointer(have), in) {
			for m := range in.Methods() {
				if m.Name() == parts[2] {
					return true
				}
			}
		}
	}
	return false
}

// Each importable package has a manual page: the package comment in its doc.go. The doc links of the
// comment lead to names that exist, at least one of them to a name of the package. An Example shows
// the package in use.
func TestEachPackageHasAManualPage(t *testing.T) {
	t.Chdir("../..")
	code := newUses(t)
	all, _ := exportedNames(t)
	var dirs []string
	for _, line := range all {
		dir, _, _ := strings.Cut(line, ": ")
		dirs = append(dirs, dir)
	}
	for _, dir := range slices.Compact(dirs) {
		pkg, examples := parsePackage(t, dir)
		if len(examples) == 0 {
			t.Errorf("%s has no Example in a file such as example_test.go", dir)
		}
		own := 0
		eachText(pkg.Parser().Parse(pkg.Doc).Content, func(text comment.Text) {
			switch text := text.(type) {
			case comment.Plain:
				if link := unresolved.FindString(string(text)); link != "" {
					t.Errorf("the doc link %s in %s/doc.go leads to no name", link, dir)
				}
			case *comment.DocLink:
				if text.ImportPath == "" {
					own++
				} else if !code.has(text) {
					t.Errorf("the doc link to %s in %s/doc.go leads to no name", text.DefaultURL(""), dir)
				}
			}
		})
		if own == 0 {
			t.Errorf("%s/doc.go has no doc link to a name of the package", dir)
		}
	}
}

// unresolved matches text that has the form of a doc link and that the parser did not resolve.
var unresolved = regexp.MustCompile(`\[\*?([\w/.-]+\.)?[A-Z]\w*(\.\w+)?\]`)

// parsePackage returns the documentation of the package in dir, and its examples. Only doc.go may
// have a package comment.
func parsePackage(t *testing.T, dir string) (*doc.Package, []*doc.Example) {
	t.Helper()
	names, err := filepath.Glob(filepath.Join(dir, "*.go"))
	if err != nil {
		t.Fatal(err)
	}
	set := token.NewFileSet()
	var files, tests []*ast.File
	for _, name := range names {
		f, err := parser.ParseFile(set, name, nil, parser.ParseComments)
		if err != nil {
			t.Fatal(err)
		}
		if strings.HasSuffix(name, "_test.go") {
			tests = append(tests, f)
			continue
		}
		files = append(files, f)
		if isDoc := filepath.Base(name) == "doc.go"; isDoc != (f.Doc != nil) {
			t.Errorf("%s: the package comment belongs in doc.go, and nowhere else", name)
		}
	}
	pkg, err := doc.NewFromFiles(set, files, module+dir)
	if err != nil {
		t.Fatal(err)
	}
	return pkg, doc.Examples(tests...)
}

// eachText calls f for each part of the text of some blocks.
func eachText(blocks []comment.Block, f func(comment.Text)) {
	for _, block := range blocks {
		switch block := block.(type) {
		case *comment.Paragraph:
			for _, text := range block.Text {
				f(text)
			}
		case *comment.Heading:
			for _, text := range block.Text {
				f(text)
			}
		case *comment.List:
			for _, item := range block.Items {
				eachText(item.Content, f)
			}
		}
	}
}

// has reports whether the name to which a doc link leads exists in its package.
func (u *uses) has(link *comment.DocLink) bool {
	pkg, err := u.importer.Import(link.ImportPath)
	if err != nil || link.Name == "" {
		return err == nil
	}
	if link.Recv == "" {
		return pkg.Scope().Lookup(link.Name) != nil
	}
	of := pkg.Scope().Lookup(strings.TrimPrefix(link.Recv, "*"))
	if of == nil {
		return false
	}
	name, _, _ := types.LookupFieldOrMethod(of.Type(), true, pkg, link.Name)
	return name != nil
}

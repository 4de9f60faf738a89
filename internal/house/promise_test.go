package house

import (
	"bytes"
	"flag"
	"fmt"
	"go/ast"
	"go/printer"
	"go/token"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// mostExported is the number of names, with methods, that importable packages export.
// Never raise it: an exported name is a promise.
const mostExported = 807

// apiFile lists all exported names with their types, a line each.
const apiFile = "docs/reference/api.txt"

var rewriteAPI = flag.Bool("rewrite", false, "write the exported names into "+apiFile+"; read the difference")

// A change of an exported name, or of a field, is seen in apiFile.
func TestTheExportedNamesAreThoseListed(t *testing.T) {
	t.Chdir("../..")
	all, names := exportedNames(t)
	text := []byte(strings.Join(all, "\n") + "\n")
	if *rewriteAPI {
		if err := os.WriteFile(apiFile, text, 0o644); err != nil {
			t.Fatal(err)
		}
	}
	listed, err := os.ReadFile(apiFile)
	if err != nil {
		t.Fatal(err)
	}
	if !bytes.Equal(listed, text) {
		was := strings.Split(strings.TrimSuffix(string(listed), "\n"), "\n")
		for _, line := range all {
			if !slices.Contains(was, line) {
				t.Errorf("new: %s", line)
			}
		}
		for _, line := range was {
			if !slices.Contains(all, line) {
				t.Errorf("gone: %s", line)
			}
		}
		t.Errorf("%s lists other names: if the change is meant, run go test ./internal/house -run ExportedNames -rewrite, and add it to CHANGELOG.md", apiFile)
	}
	if names > mostExported || names < mostExported-20 {
		t.Errorf("%d names are exported, mostExported is %d", names, mostExported)
	}
}

// exportedNames returns a line for each exported name and field of the importable packages, and
// the number of names without fields.
func exportedNames(t *testing.T) (all []string, names int) {
	t.Helper()
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
		var lines []string
		for _, name := range files {
			if strings.HasSuffix(name, "_test.go") {
				continue
			}
			file, err := parse(name)
			if err != nil {
				return err
			}
			for _, decl := range file.Decls {
				lines = append(lines, surface(decl)...)
				behind, err := aliased(file, decl)
				if err != nil {
					return err
				}
				lines = append(lines, behind...)
			}
		}
		slices.Sort(lines)
		for _, line := range slices.Compact(lines) {
			all = append(all, filepath.ToSlash(path)+": "+line)
			if !strings.HasPrefix(line, "field ") {
				names++
			}
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return all, names
}

// surface returns a line for each name that a declaration exports: functions, methods of exported
// types, types, constants and variables; and for each exported field or method of a type.
func surface(decl ast.Decl) (lines []string) {
	switch d := decl.(type) {
	case *ast.FuncDecl:
		switch {
		case !d.Name.IsExported():
		case d.Recv == nil:
			lines = append(lines, "func "+d.Name.Name+signature(d.Type))
		case receiver(d.Recv.List[0].Type).IsExported():
			lines = append(lines, "method ("+source(d.Recv.List[0].Type)+") "+d.Name.Name+signature(d.Type))
		}
	case *ast.GenDecl:
		var of ast.Expr // the type of the constants before, which iota continues
		for _, spec := range d.Specs {
			switch s := spec.(type) {
			case *ast.TypeSpec:
				if s.Name.IsExported() {
					lines = append(lines, typeSurface(s)...)
				}
			case *ast.ValueSpec:
				if s.Type != nil || len(s.Values) > 0 {
					of = s.Type
				}
				for i, name := range s.Names {
					if !name.IsExported() {
						continue
					}
					line := d.Tok.String() + " " + name.Name
					if of != nil {
						line += " " + source(of)
					}
					if i < len(s.Values) && d.Tok == token.CONST {
						line += " = " + source(s.Values[i])
					}
					lines = append(lines, line)
				}
			}
		}
	}
	return lines
}

// typeSurface returns the lines of an exported type.
func typeSurface(s *ast.TypeSpec) (lines []string) {
	members := func(kind string, all *ast.FieldList) {
		lines = append(lines, "type "+s.Name.Name+" "+kind)
		for _, f := range all.List {
			of := source(f.Type)
			if f.Tag != nil {
				of += " " + f.Tag.Value
			}
			if len(f.Names) == 0 {
				lines = append(lines, "field "+s.Name.Name+": embedded "+of)
			}
			for _, name := range f.Names {
				if name.IsExported() {
					if kind == "interface" {
						of = strings.TrimPrefix(of, "func")
					}
					lines = append(lines, "field "+s.Name.Name+"."+name.Name+" "+of)
				}
			}
		}
	}
	switch of := s.Type.(type) {
	case *ast.StructType:
		members("struct", of.Fields)
	case *ast.InterfaceType:
		members("interface", of.Methods)
	default:
		text := "type " + s.Name.Name
		if s.Assign.IsValid() {
			text += " ="
		}
		lines = append(lines, text+" "+source(s.Type))
	}
	return lines
}

// aliased returns the lines of the fields and methods that a declaration of file promises by aliases
// of types of internal packages: type X = state.X.
func aliased(file *ast.File, decl ast.Decl) (lines []string, err error) {
	d, ok := decl.(*ast.GenDecl)
	if !ok || d.Tok != token.TYPE {
		return nil, nil
	}
	for _, spec := range d.Specs {
		s := spec.(*ast.TypeSpec)
		of, ok := s.Type.(*ast.SelectorExpr)
		if !ok || !s.Assign.IsValid() || !s.Name.IsExported() {
			continue
		}
		dir := importedAs(file, of.X.(*ast.Ident).Name)
		if !strings.Contains(dir, "internal/") {
			continue
		}
		names, err := filepath.Glob(filepath.Join(dir, "*.go"))
		if err != nil {
			return nil, err
		}
		for _, name := range names {
			if strings.HasSuffix(name, "_test.go") {
				continue
			}
			there, err := parse(name)
			if err != nil {
				return nil, err
			}
			for _, decl := range there.Decls {
				more, err := aliased(there, decl)
				if err != nil {
					return nil, err
				}
				for _, line := range append(surface(decl), more...) {
					for _, kind := range []string{"field " + of.Sel.Name + ".", "field " + of.Sel.Name + ":", "method (" + of.Sel.Name + ")", "method (*" + of.Sel.Name + ")"} {
						if strings.HasPrefix(line, kind) {
							lines = append(lines, strings.Replace(line, of.Sel.Name, s.Name.Name, 1))
						}
					}
				}
			}
		}
	}
	return lines, nil
}

// importedAs returns the folder of the package of this module that file imports under a name, or "".
func importedAs(file *ast.File, name string) string {
	for _, spec := range file.Imports {
		path := strings.Trim(spec.Path.Value, `"`)
		if dir, ours := strings.CutPrefix(path, module); ours && strings.HasSuffix("/"+dir, "/"+name) {
			return dir
		}
	}
	return ""
}

func signature(f *ast.FuncType) string { return strings.TrimPrefix(source(f), "func") }

// source returns the source of an expression on one line.
func source(e ast.Expr) string {
	var b strings.Builder
	if err := printer.Fprint(&b, token.NewFileSet(), e); err != nil {
		return fmt.Sprint(err)
	}
	return strings.Join(strings.Fields(b.String()), " ")
}

// Options that are too many to read are in groups: an embedded struct counts as one field.
func TestNoOptionsAreTooManyToRead(t *testing.T) {
	t.Chdir("../..")
	const most = 20
	for _, dir := range []string{"crawler", "fetch", "frontier", "storage", "internal/store", "storage/warc", "crawler/extract"} {
		files, err := filepath.Glob(filepath.Join(dir, "*.go"))
		if err != nil || len(files) == 0 {
			t.Fatal(dir, err)
		}
		for _, name := range files {
			file, err := parse(name)
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

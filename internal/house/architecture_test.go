package house

import (
	"go/ast"
	"go/token"
	"io/fs"
	"maps"
	"os"
	"path"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
)

const plan = "docs/explain/architecture.md"

// section returns the text of a document under a heading, up to the next heading of level 2.
func section(t *testing.T, document, heading string) string {
	t.Helper()
	raw, err := os.ReadFile(document)
	if err != nil {
		t.Fatal(err)
	}
	_, text, ok := strings.Cut(string(raw), "\n## "+heading+"\n")
	if !ok {
		t.Fatalf("%s has no section %q", document, heading)
	}
	text, _, _ = strings.Cut(text, "\n## ")
	return text
}

// Each function, field, file and test that the plan names exists.
func TestThePlanNamesWhatIsThere(t *testing.T) {
	t.Chdir("../..")
	raw, err := os.ReadFile(plan)
	if err != nil {
		t.Fatal(err)
	}
	known, files, tests := declarations(t), map[string]bool{}, map[string]bool{}
	eachFile(t, func(name string, f *ast.File) {
		files[name], files[path.Base(name)] = true, true
		for _, d := range f.Decls {
			if fn, ok := d.(*ast.FuncDecl); ok && strings.HasSuffix(name, "_test.go") {
				tests[fn.Name.Name] = true
			}
		}
	})
	code := strings.Join(regexp.MustCompile("(?m)^    .*$|`[^`\n]+`").FindAllString(string(raw), -1), "\n")
	source := regexp.MustCompile(`[\w/.-]+[.](go|md)\b`)
	for _, name := range source.FindAllString(code, -1) {
		if _, err := os.Stat(name); err != nil && !files[name] {
			t.Errorf("%s: there is no file %s", plan, name)
		}
	}
	code = source.ReplaceAllString(code, "")
	for _, name := range regexp.MustCompile(`\bTest[A-Z]\w+`).FindAllString(code, -1) {
		if !tests[name] {
			t.Errorf("%s: there is no test %s", plan, name)
		}
	}
	crawled := regexp.MustCompile(`[.](txt|db|log|jsonl?|cdxj|part|tsv)$`) // files of a crawl
	names := regexp.MustCompile(`\b[A-Za-z]\w*[.][A-Za-z]\w*\b`).FindAllString(code, -1)
	for _, name := range names {
		if known[name] == nil && !crawled.MatchString(name) {
			t.Errorf("%s: there is no %s", plan, name)
		}
	}
	if len(names) < 200 || len(tests) < 500 {
		t.Errorf("%d names, %d tests: not much of a plan", len(names), len(tests))
	}
}

// A way is a list of lines, each with a function and its file. Lines indented below a
// function are the functions that it calls, in that order. The implementation of a method
// of an interface has the same name.
func TestTheWaysAreThoseOfTheCode(t *testing.T) {
	t.Chdir("../..")
	type step struct {
		depth  int
		name   string
		body   *ast.BlockStmt
		behind token.Pos // position of the last call that was listed
	}
	known, lines := declarations(t), 0
	for _, way := range strings.Split(section(t, plan, "Four ways"), "\n\n") {
		var above []step
		for _, line := range regexp.MustCompile(`(?m)^    ( *)([\w.]+) +([\w/]+\.go)\b.*$`).FindAllStringSubmatch(way, -1) {
			lines++
			i := slices.IndexFunc(known[line[2]], func(d declaration) bool { return d.path == line[3] })
			if i < 0 {
				t.Errorf("%s: %s is not in %s", plan, line[2], line[3])
				break
			}
			s := step{depth: len(line[1]), name: line[2], body: known[line[2]][i].body}
			for len(above) > 0 && above[len(above)-1].depth >= s.depth {
				above = above[:len(above)-1]
			}
			if len(above) > 0 && !follows(&above[len(above)-1].behind, above[len(above)-1].body, above[len(above)-1].name, s.name) {
				t.Errorf("%s: %s does not call %s after the calls listed before", plan, above[len(above)-1].name, s.name)
			}
			above = append(above, s)
		}
	}
	if lines < 60 {
		t.Errorf("%d steps in all ways", lines)
	}
}

// follows reports whether the body of a function calls another one after the position
// behind, and moves behind to that call.
func follows(behind *token.Pos, body *ast.BlockStmt, by, name string) (found bool) {
	_, name, _ = strings.Cut(name, ".")
	if body == nil { // a method of an interface
		return strings.HasSuffix(by, "."+name)
	}
	ast.Inspect(body, func(n ast.Node) bool {
		call, ok := n.(*ast.CallExpr)
		if !ok {
			return true
		}
		id, _ := call.Fun.(*ast.Ident)
		if s, ok := call.Fun.(*ast.SelectorExpr); ok {
			id = s.Sel
		}
		if id != nil && !found && id.Name == name && id.Pos() > *behind {
			found, *behind = true, id.Pos()
		}
		return true
	})
	return found
}

// The map of a large folder lists each of its files once, and no other file.
func TestTheMapsHaveEachFile(t *testing.T) {
	t.Chdir("../..")
	maps := strings.Split(section(t, plan, "Maps of the large folders"), "\n### ")[1:]
	for _, text := range maps {
		folder, text, _ := strings.Cut(text, "\n")
		var mapped, there []string
		for _, name := range regexp.MustCompile("`(\\w+\\.go)`").FindAllStringSubmatch(text, -1) {
			mapped = append(mapped, name[1])
		}
		entries, err := os.ReadDir(folder)
		if err != nil {
			t.Error(err)
		}
		for _, e := range entries {
			if strings.HasSuffix(e.Name(), ".go") && !strings.HasSuffix(e.Name(), "_test.go") {
				there = append(there, e.Name())
			}
		}
		if slices.Sort(mapped); !slices.Equal(mapped, there) {
			t.Errorf("%s, %s has\n%q, the folder has\n%q", plan, folder, mapped, there)
		}
	}
	if len(maps) < 6 {
		t.Errorf("%s has %d maps", plan, len(maps))
	}
}

// The plan has a line for each lock, and for each function that starts a goroutine.
func TestThePlanHasAllLocksAndGoroutines(t *testing.T) {
	t.Chdir("../..")
	locks, starts := map[string]bool{}, map[string]bool{}
	for name, all := range declarations(t) {
		for _, d := range all {
			if strings.HasPrefix(d.path, "cmd/") && !strings.HasPrefix(d.path, "cmd/crawl/") {
				continue
			}
			if d.lock {
				locks[name] = true
			}
			if d.body == nil {
				continue
			}
			ast.Inspect(d.body, func(n ast.Node) bool {
				switch n := n.(type) {
				case *ast.GoStmt:
					starts[name] = true
				case *ast.SelectorExpr:
					if n.Sel.Name == "Go" || n.Sel.Name == "AfterFunc" {
						starts[name] = true
					}
				}
				return true
			})
		}
	}
	for heading, want := range map[string]map[string]bool{"Locks": locks, "Goroutines": starts} {
		told := map[string]bool{}
		for _, line := range regexp.MustCompile("(?m)^- `([\\w.]+)`").FindAllStringSubmatch(section(t, plan, heading), -1) {
			told[line[1]] = true
		}
		is, should := slices.Sorted(maps.Keys(told)), slices.Sorted(maps.Keys(want))
		if !slices.Equal(is, should) {
			t.Errorf("%s, %s:\n%q, want\n%q", plan, heading, is, should)
		}
	}
}

// Each clock has a number in the state file, and is described in the documents. The
// description of crawl.log lists the clocks that delay requests.
func TestEachClockHasItsPlaces(t *testing.T) {
	t.Chdir("../..")
	queued := map[string]bool{"SiteClock": true, "RetryClock": true, "AgainClock": true} // they delay queued entries, not requests
	outputs, err := os.ReadFile("docs/reference/outputs.md")
	if err != nil {
		t.Fatal(err)
	}
	numbered, clocks, log := map[string]bool{}, map[string]string{}, ""
	eachFile(t, func(name string, f *ast.File) {
		switch name {
		case "internal/crawllog/crawllog.go":
			_, log, _ = strings.Cut(f.Doc.Text(), "clock:NAME")
			log, _, _ = strings.Cut(log, "since:TIME")
		case "internal/state/records.go", "frontier/clock.go":
			ast.Inspect(f, func(n ast.Node) bool {
				spec, ok := n.(*ast.ValueSpec)
				if !ok {
					return true
				}
				if kind, _ := spec.Type.(*ast.Ident); kind != nil && kind.Name == "Clock" {
					clocks[spec.Names[0].Name], _ = strconv.Unquote(spec.Values[0].(*ast.BasicLit).Value)
				}
				if spec.Names[0].Name == "clockCodes" {
					ast.Inspect(spec, func(n ast.Node) bool {
						if s, ok := n.(*ast.SelectorExpr); ok {
							numbered[s.Sel.Name] = true
						}
						return true
					})
				}
				return true
			})
		}
	})
	delete(clocks, "NoClock")
	if len(clocks) < 16 {
		t.Fatalf("clocks %v", clocks)
	}
	for name, word := range clocks {
		if !numbered[name] {
			t.Errorf("%s has no number: internal/state/records.go, clockCodes", name)
		}
		if !queued[name] && !strings.Contains(string(outputs), "`"+word+"`") {
			t.Errorf("docs/reference/outputs.md does not say what the clock %s is", word)
		}
		if in := regexp.MustCompile(`[ ,]` + word + `[,\n]`).MatchString(log); in == queued[name] {
			t.Errorf("the documentation of crawllog names the clock %s: %v", word, in)
		}
	}
}

// A declaration is a function, a method (also of an interface), a field, or another
// name of a package.
type declaration struct {
	path string
	body *ast.BlockStmt // nil: no body
	lock bool           // a field that is a lock
}

// declarations returns the declarations of all packages, except tests, by name:
// Type.Method, Type.field and package.Name.
func declarations(t *testing.T) map[string][]declaration {
	found := map[string][]declaration{}
	eachFile(t, func(name string, file *ast.File) {
		if strings.HasSuffix(name, "_test.go") {
			return
		}
		add := func(of, what string, body *ast.BlockStmt, lock bool) {
			found[of+"."+what] = append(found[of+"."+what], declaration{name, body, lock})
		}
		members := func(of string, list *ast.FieldList) {
			for _, m := range list.List {
				kind, _ := m.Type.(*ast.SelectorExpr)
				for _, id := range m.Names {
					add(of, id.Name, nil, kind != nil && (kind.Sel.Name == "Mutex" || kind.Sel.Name == "RWMutex"))
				}
			}
		}
		for _, decl := range file.Decls {
			switch d := decl.(type) {
			case *ast.FuncDecl:
				add(receiverName(file, d), d.Name.Name, d.Body, false)
			case *ast.GenDecl:
				for _, spec := range d.Specs {
					switch s := spec.(type) {
					case *ast.ValueSpec:
						for _, id := range s.Names {
							add(file.Name.Name, id.Name, nil, false)
						}
					case *ast.TypeSpec:
						add(file.Name.Name, s.Name.Name, nil, false)
						switch of := s.Type.(type) {
						case *ast.InterfaceType:
							members(s.Name.Name, of.Methods)
						case *ast.StructType:
							members(s.Name.Name, of.Fields)
						}
					}
				}
			}
		}
	})
	return found
}

// receiverName returns the type of a method, or the package of a function.
func receiverName(file *ast.File, f *ast.FuncDecl) string {
	if f.Recv == nil {
		return file.Name.Name
	}
	of := f.Recv.List[0].Type
	if star, ok := of.(*ast.StarExpr); ok {
		of = star.X
	}
	if generic, ok := of.(*ast.IndexExpr); ok {
		of = generic.X
	}
	return of.(*ast.Ident).Name
}

// eachFile calls do with each Go file of the repository, including nested modules.
func eachFile(t *testing.T, do func(name string, f *ast.File)) {
	t.Helper()
	err := filepath.WalkDir(".", func(name string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if d.IsDir() && name != "." && (d.Name()[0] == '.' || d.Name() == "testdata") {
			return fs.SkipDir
		}
		if d.IsDir() || !strings.HasSuffix(name, ".go") {
			return nil
		}
		file, err := parse(name)
		if err == nil {
			do(filepath.ToSlash(name), file)
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
}

package permesso

import (
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// Each sentence that the README says to site owners stands, word by word and in
// quotation marks behind "For site owners:", in the comment of a test that fails
// where it is not true.
func TestSiteOwnersAreToldWhatIsTested(t *testing.T) {
	proofs := proofs(t)
	sentences := sentences(t, "README.md", "## For site owners")
	if len(sentences) < 10 {
		t.Fatalf("%d sentences in README.md: the section was not found", len(sentences))
	}
	for _, s := range sentences {
		if proofs[s] == "" {
			t.Errorf("README.md says to site owners, and no test's comment quotes it:\n\t%s", s)
		}
		delete(proofs, s)
	}
	for s, test := range proofs {
		t.Errorf("%s quotes what README.md does not say to site owners:\n\t%s", test, s)
	}
}

// sentences are those of a section: of its list items and paragraphs.
func sentences(t *testing.T, path, heading string) (list []string) {
	raw, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	_, section, _ := strings.Cut(string(raw), "\n"+heading+"\n")
	section, _, _ = strings.Cut(section, "\n## ")
	for _, part := range regexp.MustCompile(`\n(?:- |\n+)`).Split(section, -1) {
		part = strings.Join(strings.Fields(strings.TrimPrefix(part, "- ")), " ")
		if strings.HasSuffix(part, ":") { // says what follows
			continue
		}
		for len(part) > 0 {
			end := len(part)
			if at := sentenceEnd.FindStringIndex(part); at != nil {
				end = at[0] + 1
			}
			list = append(list, part[:end])
			part = strings.TrimSpace(part[end:])
		}
	}
	return list
}

var sentenceEnd = regexp.MustCompile("[.] [A-Z0-9`*\"]")

// proofs are the sentences that comments of tests quote, and where.
func proofs(t *testing.T) map[string]string {
	found := map[string]string{}
	err := filepath.WalkDir(".", func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() || !strings.HasSuffix(path, "_test.go") {
			return err
		}
		file, err := parser.ParseFile(token.NewFileSet(), path, nil, parser.ParseComments)
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
				found[sentence] = path + ": " + f.Name.Name
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

// What the README names on the way of one URL, and behind it, is there.
func TestTheWayOfOneURLIsTrue(t *testing.T) {
	raw, err := os.ReadFile("README.md")
	if err != nil {
		t.Fatal(err)
	}
	_, way, _ := strings.Cut(string(raw), "\n## Reading the source\n")
	names := regexp.MustCompile("(?:-> |`|    )([A-Za-z]+[.][A-Za-z]+)[` \n]").FindAllStringSubmatch(way, -1)
	if len(names) < 15 {
		t.Fatalf("%d names in README.md: %q", len(names), names)
	}
	source := functions(t)
	for _, n := range names {
		if !source[n[1]] {
			t.Errorf("README.md: there is no %s", n[1])
		}
	}
}

// functions are those of the rooms: Type.Method, package.Function.
func functions(t *testing.T) map[string]bool {
	found := map[string]bool{"main.run": true}
	for _, room := range []string{"crawler", "fetch", "frontier", "robots", "storage"} {
		var files []string
		for _, floor := range []string{"", "*", "*/*"} {
			some, err := filepath.Glob(filepath.Join(room, floor, "*.go"))
			if err != nil {
				t.Fatal(err)
			}
			files = append(files, some...)
		}
		for _, path := range files {
			if strings.HasSuffix(path, "_test.go") {
				continue
			}
			file, err := parser.ParseFile(token.NewFileSet(), path, nil, 0)
			if err != nil {
				t.Fatal(err)
			}
			ast.Inspect(file, func(n ast.Node) bool {
				switch n := n.(type) {
				case *ast.TypeSpec:
					if i, ok := n.Type.(*ast.InterfaceType); ok {
						for _, m := range i.Methods.List {
							for _, name := range m.Names {
								found[n.Name.Name+"."+name.Name] = true
							}
						}
					}
				case *ast.FuncDecl:
					of := file.Name.Name
					if n.Recv != nil {
						receiver := n.Recv.List[0].Type
						if star, ok := receiver.(*ast.StarExpr); ok {
							receiver = star.X
						}
						if generic, ok := receiver.(*ast.IndexExpr); ok {
							receiver = generic.X
						}
						of = receiver.(*ast.Ident).Name
					}
					found[of+"."+n.Name.Name] = true
				}
				return true
			})
		}
	}
	return found
}

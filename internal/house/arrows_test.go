package house

import (
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
)

const module = "github.com/permesso-crawler/permesso/"

// rank orders the folders. A package may import packages of lower ranks, and of its own
// folder. Exceptions are tests that compare a folder with a whole crawl, *_whole_test.go,
// and tests that read the files of a crawl with packages of internal.
var rank = map[string]int{
	"robots": 0, "frontier": 0,
	"fetch": 1, "storage": 1,
	"crawler":  2,
	"internal": 3, // reads crawls that have ended, and says when the next one begins
	"cmd":      4, "examples": 4,
}

// inside maps packages of internal to the folder whose rank they have.
var inside = map[string]string{
	"internal/store": "storage", "internal/state": "storage", "internal/disk": "storage", "internal/collect": "storage", "internal/statetest": "storage",
}

// roomOf returns the folder whose rank a package has.
func roomOf(dir string) string {
	for pkg, room := range inside {
		if dir == pkg || strings.HasPrefix(dir, pkg+"/") {
			return room
		}
	}
	room, _, _ := strings.Cut(dir, "/")
	return room
}

// tools are the packages of internal that every folder may import.
var tools = []string{"internal/admit", "internal/same", "internal/outfile", "internal/temp", "internal/kept", "internal/lines", "internal/places", "internal/extsort", "internal/inorder", "internal/warcscan", "internal/schedule", "internal/period", "internal/devtest", "internal/gauge", "internal/crawllog", "internal/digest", "internal/setting", "internal/identity", "internal/shared", "internal/processes"}

func TestImportsFollowTheRanks(t *testing.T) {
	t.Chdir("../..")
	rooms := map[string]bool{}
	eachImport(t, func(path, target string) {
		room := roomOf(path)
		if _, known := rank[room]; !known {
			t.Errorf("%s: %s is not a folder with a rank", path, room)
			return
		}
		rooms[room] = true
		to, ours := strings.CutPrefix(target, module)
		tool := slices.Contains(tools, to)
		to = roomOf(to)
		switch {
		case !ours && room == "robots" && !strings.HasSuffix(path, "_test.go") && strings.Contains(target, "."):
			t.Errorf("%s imports %s: robots may import only the standard library", path, target)
		case tool, strings.HasSuffix(path, "_whole_test.go"), strings.HasSuffix(path, "_test.go") && to == "internal":
		case ours && room != to && rank[to] >= rank[room]:
			t.Errorf("%s imports %s: not a package of a lower rank", path, target)
		}
	})
	if len(rooms) != len(rank) {
		t.Errorf("folders with Go files: %v, want those of %v", rooms, rank)
	}
}

// The arrows in docs/explain/architecture.md are the imports of the packages, and each
// points down. The document describes the promise of each package.
func TestTheArrowsAreDrawn(t *testing.T) {
	t.Chdir("../..")
	raw, err := os.ReadFile("docs/explain/architecture.md")
	if err != nil {
		t.Fatal(err)
	}
	_, plan, _ := strings.Cut(string(raw), "\n## Arrows\n")
	plan, promises, _ := strings.Cut(plan, "\n## What each package promises\n")
	var order []string
	drawn, imported := map[string][]string{}, map[string][]string{}
	for _, line := range regexp.MustCompile("(?m)^    (.*)$").FindAllStringSubmatch(plan, -1) {
		to := strings.Fields(strings.Replace(line[1], " -> ", " ", 1))
		if line[1][0] != ' ' {
			order, to = append(order, to[0]), to[1:]
		}
		last := order[len(order)-1]
		drawn[last] = append(drawn[last], to...)
	}
	eachImport(t, func(file, target string) {
		if strings.HasSuffix(file, "_test.go") {
			return
		}
		from := path.Dir(file)
		to, ours := strings.CutPrefix(target, module)
		if imported[from] = slices.Grow(imported[from], 1); ours && !slices.Contains(imported[from], to) {
			imported[from] = append(imported[from], to)
		}
		if ours && slices.Index(order, to) < slices.Index(order, from) {
			t.Errorf("%s imports %s, which is drawn above it", from, to)
		}
	})
	for from, to := range imported {
		slices.Sort(to)
		if is, ok := drawn[from]; !ok || !slices.Equal(is, to) {
			t.Errorf("%s is drawn with the arrows %q, want %q", from, is, to)
		}
		if !strings.Contains(promises, "\n- `"+from+"`") {
			t.Errorf("nothing says what %s promises", from)
		}
	}
	if len(drawn) != len(imported) {
		t.Errorf("%d packages are drawn, there are %d", len(drawn), len(imported))
	}
}

// eachImport calls f with each import of each Go file in a folder.
func eachImport(t *testing.T, f func(file, target string)) {
	t.Helper()
	err := filepath.WalkDir(".", func(path string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if d.IsDir() && path != "." && (strings.HasPrefix(d.Name(), ".") || d.Name() == "testdata") {
			return fs.SkipDir
		}
		if path = filepath.ToSlash(path); !strings.Contains(path, "/") || !strings.HasSuffix(path, ".go") {
			return nil
		}
		file, err := parser.ParseFile(token.NewFileSet(), path, nil, parser.ImportsOnly)
		if err != nil {
			return err
		}
		for _, spec := range file.Imports {
			target, err := strconv.Unquote(spec.Path.Value)
			if err != nil {
				return err
			}
			f(path, target)
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
}

// The texts of the library do not mention flags of the command.
func TestTextsOfTheLibraryNameNoFlags(t *testing.T) {
	t.Chdir("../..")
	flag := regexp.MustCompile(`(^|[^-\w])--[a-z]`)
	for _, room := range []string{"crawler", "fetch", "frontier", "robots", "storage", "internal/store", "internal/state", "internal/collect"} {
		err := filepath.WalkDir(room, func(path string, d fs.DirEntry, err error) error {
			if err != nil || d.IsDir() || !strings.HasSuffix(path, ".go") || strings.HasSuffix(path, "_test.go") {
				return err
			}
			f, err := parse(path)
			if err != nil {
				return err
			}
			ast.Inspect(f, func(n ast.Node) bool {
				if text, ok := n.(*ast.BasicLit); ok && text.Kind == token.STRING && flag.MatchString(text.Value) {
					t.Errorf("%s: %s", positions.Position(text.Pos()), text.Value)
				}
				return true
			})
			return nil
		})
		if err != nil {
			t.Fatal(err)
		}
	}
}

package permesso_test

import (
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"
)

const module = "github.com/permesso-crawler/permesso/"

// rank is how far right a room stands. An import points left, or stays within
// its room.
var rank = map[string]int{
	"robots": 0, "frontier": 0,
	"fetch": 1, "storage": 1,
	"crawler": 2,
	"cmd":     3, "examples": 3,
}

func TestArrowsOfTheHouse(t *testing.T) {
	rooms := map[string]bool{}
	err := filepath.WalkDir(".", func(path string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if d.IsDir() && path != "." && strings.HasPrefix(d.Name(), ".") {
			return fs.SkipDir
		}
		room, _, nested := strings.Cut(filepath.ToSlash(path), "/")
		if !nested || !strings.HasSuffix(path, ".go") {
			return nil
		}
		if _, known := rank[room]; !known {
			t.Errorf("%s: %s is no room of the house", path, room)
			return nil
		}
		rooms[room] = true
		f, err := parser.ParseFile(token.NewFileSet(), path, nil, parser.ImportsOnly)
		if err != nil {
			return err
		}
		for _, spec := range f.Imports {
			target, err := strconv.Unquote(spec.Path.Value)
			if err != nil {
				return err
			}
			to, ours := strings.CutPrefix(target, module)
			to, _, _ = strings.Cut(to, "/")
			switch {
			case !ours && room == "robots" && !strings.HasSuffix(path, "_test.go") && strings.Contains(target, "."):
				t.Errorf("%s imports %s: robots stands on the standard library alone", path, target)
			case ours && room != to && rank[to] >= rank[room]:
				t.Errorf("%s imports %s: time belongs to frontier, the wire to fetch, the disk to storage, the law to robots, the story to crawler", path, target)
			}
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	if len(rooms) != len(rank) {
		t.Errorf("rooms with Go files: %v, want those of %v", rooms, rank)
	}
}

// Who uses the library knows nothing of the flags of the command.
func TestTextsOfTheLibraryNameNoFlags(t *testing.T) {
	flag := regexp.MustCompile(`(^|[^-\w])--[a-z]`)
	for _, room := range []string{"crawler", "fetch", "frontier", "robots", "storage"} {
		err := filepath.WalkDir(room, func(path string, d fs.DirEntry, err error) error {
			if err != nil || d.IsDir() || !strings.HasSuffix(path, ".go") || strings.HasSuffix(path, "_test.go") {
				return err
			}
			files := token.NewFileSet()
			f, err := parser.ParseFile(files, path, nil, parser.SkipObjectResolution)
			if err != nil {
				return err
			}
			ast.Inspect(f, func(n ast.Node) bool {
				if text, ok := n.(*ast.BasicLit); ok && text.Kind == token.STRING && flag.MatchString(text.Value) {
					t.Errorf("%s: %s", files.Position(text.Pos()), text.Value)
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

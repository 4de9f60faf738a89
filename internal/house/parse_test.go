package house

import (
	"go/ast"
	"go/parser"
	"go/token"
)

// The Go files that were parsed, by path, and their positions. The tests of this package run one
// after the other, and do not change them.
var (
	parsed    = map[string]*ast.File{}
	positions = token.NewFileSet()
)

// parse parses a Go file with its comments.
func parse(path string) (*ast.File, error) {
	if parsed[path] == nil {
		file, err := parser.ParseFile(positions, path, nil, parser.ParseComments|parser.SkipObjectResolution)
		if err != nil {
			return nil, err
		}
		parsed[path] = file
	}
	return parsed[path], nil
}

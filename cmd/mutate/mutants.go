package main

import (
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"slices"
	"strconv"
	"strings"
)

// A mutant is one small change of one source file.
type mutant struct {
	file     string // path, as given
	line     int
	function string // "Type.Method" or "function"; empty outside of functions
	text     string // the line on which it begins, without surrounding white space
	change   string // description of the change, for people and for the list of equivalents

	start, end int // source[start:end] is replaced
	by         string
}

// apply returns the source with the change.
func (m *mutant) apply(source []byte) []byte {
	return slices.Concat(source[:m.start], []byte(m.by), source[m.end:])
}

// mutants returns all mutants of a file, in the order of the source.
func mutants(file string, source []byte) ([]mutant, error) {
	fset := token.NewFileSet()
	tree, err := parser.ParseFile(fset, file, source, parser.SkipObjectResolution)
	if err != nil {
		return nil, err
	}
	f := finder{file: file, source: source, fset: fset, lines: strings.Split(string(source), "\n")}
	for _, d := range tree.Decls {
		f.function = nameOf(d)
		if fn, ok := d.(*ast.FuncDecl); ok {
			f.early(fn.Type, fn.Body)
		}
		ast.Inspect(d, f.visit)
	}
	slices.SortStableFunc(f.found, func(a, b mutant) int { return a.start - b.start })
	number(f.found)
	return f.found, nil
}

// number adds numbers to equal changes of equal lines in one function, so that an entry of the
// list names one mutant.
func number(list []mutant) {
	type key struct{ function, text, change string }
	seen := map[key]int{}
	for i := range list {
		m := &list[i]
		k := key{m.function, m.text, m.change}
		if seen[k]++; seen[k] > 1 {
			m.change += " #" + strconv.Itoa(seen[k])
		}
	}
}

func nameOf(d ast.Decl) string {
	fn, ok := d.(*ast.FuncDecl)
	if !ok {
		return ""
	}
	if fn.Recv == nil || len(fn.Recv.List) == 0 {
		return fn.Name.Name
	}
	t := fn.Recv.List[0].Type
	for {
		switch x := t.(type) {
		case *ast.StarExpr:
			t = x.X
		case *ast.IndexExpr:
			t = x.X
		case *ast.IndexListExpr:
			t = x.X
		case *ast.Ident:
			return x.Name + "." + fn.Name.Name
		default:
			return fn.Name.Name
		}
	}
}

// A finder walks over one file.
type finder struct {
	file     string
	source   []byte
	fset     *token.FileSet
	lines    []string
	function string
	found    []mutant
}

func (f *finder) offset(p token.Pos) int { return f.fset.Position(p).Offset }

func (f *finder) src(n ast.Node) string { return string(f.source[f.offset(n.Pos()):f.offset(n.End())]) }

// add adds a mutant that replaces the source from pos to end.
func (f *finder) add(pos, end token.Pos, by, change string) {
	line := f.fset.Position(pos).Line
	f.found = append(f.found, mutant{
		file: f.file, line: line, function: f.function,
		text: strings.Join(strings.Fields(f.lines[line-1]), " "), change: change,
		start: f.offset(pos), end: f.offset(end), by: by,
	})
}

var comparisons = map[token.Token]token.Token{
	token.LSS: token.LEQ, token.LEQ: token.LSS, token.GTR: token.GEQ, token.GEQ: token.GTR,
	token.EQL: token.NEQ, token.NEQ: token.EQL,
	token.LAND: token.LOR, token.LOR: token.LAND,
}

// arithmetic maps each operator to one that compiles in the same places. The exception is + of
// strings, which does not compile and is replaced in the draw.
var arithmetic = map[token.Token]token.Token{
	token.ADD: token.SUB, token.SUB: token.ADD, token.MUL: token.QUO, token.QUO: token.MUL, token.REM: token.MUL,
	token.AND: token.OR, token.OR: token.AND, token.SHL: token.SHR, token.SHR: token.SHL,
	token.ADD_ASSIGN: token.SUB_ASSIGN, token.SUB_ASSIGN: token.ADD_ASSIGN, token.MUL_ASSIGN: token.QUO_ASSIGN,
	token.QUO_ASSIGN: token.MUL_ASSIGN, token.OR_ASSIGN: token.AND_ASSIGN, token.AND_ASSIGN: token.OR_ASSIGN,
	token.INC: token.DEC, token.DEC: token.INC,
}

// operator replaces one operator, at pos, by its counterpart in a table.
func (f *finder) operator(pos token.Pos, op token.Token, table map[token.Token]token.Token) {
	if to, ok := table[op]; ok {
		f.add(pos, pos+token.Pos(len(op.String())), to.String(), op.String()+" to "+to.String())
	}
}

func (f *finder) visit(n ast.Node) bool {
	switch n := n.(type) {
	case *ast.ImportSpec:
		return false
	case *ast.FuncLit:
		f.early(n.Type, n.Body)
	case *ast.IfStmt:
		f.condition(n.Cond)
		if e, ok := n.Cond.(*ast.BinaryExpr); ok && e.Op == token.NEQ && isError(e.X) && f.src(e.Y) == "nil" {
			f.add(n.Cond.Pos(), n.Cond.End(), "false && "+f.src(n.Cond), "drop error: "+f.src(e.X))
		}
	case *ast.ForStmt:
		if n.Cond != nil {
			f.condition(n.Cond)
		}
		// A loop that counts in the other direction does not end.
		if n.Init != nil {
			ast.Inspect(n.Init, f.visit)
		}
		if n.Cond != nil {
			ast.Inspect(n.Cond, f.visit)
		}
		ast.Inspect(n.Body, f.visit)
		return false
	case *ast.CaseClause:
		for _, e := range n.List {
			switch e.(type) {
			case *ast.BinaryExpr, *ast.UnaryExpr:
				f.condition(e)
			}
		}
	case *ast.BinaryExpr:
		f.operator(n.OpPos, n.Op, comparisons)
		f.operator(n.OpPos, n.Op, arithmetic)
	case *ast.AssignStmt:
		f.operator(n.TokPos, n.Tok, arithmetic)
	case *ast.IncDecStmt:
		f.operator(n.TokPos, n.Tok, arithmetic)
	case *ast.BasicLit:
		switch n.Kind {
		case token.INT:
			f.add(n.Pos(), n.End(), "("+n.Value+" + 1)", n.Value+" + 1")
			f.add(n.Pos(), n.End(), "("+n.Value+" - 1)", n.Value+" - 1")
		case token.STRING:
			f.text(n)
		}
	case *ast.Field:
		if n.Tag != nil {
			f.tag(n.Tag)
		}
		if n.Type != nil {
			ast.Inspect(n.Type, f.visit)
		}
		return false
	case *ast.CallExpr:
		if makesError(f.src(n.Fun)) {
			for _, a := range n.Args {
				if lit, ok := a.(*ast.BasicLit); !ok || lit.Kind != token.STRING {
					ast.Inspect(a, f.visit)
				}
			}
			return false
		}
	case *ast.CompositeLit:
		f.elements(n)
	case *ast.ReturnStmt:
		k := len(n.Results)
		if k > 0 && isError(n.Results[k-1]) {
			f.add(n.Results[k-1].Pos(), n.Results[k-1].End(), "nil", "return no error")
		}
		if k > 1 && f.src(n.Results[k-1]) == "false" {
			return false // "0, false": callers ignore the number
		}
		if k > 1 && f.fails(n.Results[k-1]) {
			// "0, err": also here
			for _, r := range n.Results {
				if !isLiteral(r) {
					ast.Inspect(r, f.visit)
				}
			}
			return false
		}
	case *ast.BlockStmt:
		f.statements(n.List)
	case *ast.CommClause:
		f.statements(n.Body)
	}
	if c, ok := n.(*ast.CaseClause); ok {
		f.statements(c.Body)
	}
	return true
}

// condition negates a condition. For == and != that is the same as swapping them.
func (f *finder) condition(e ast.Expr) {
	if b, ok := e.(*ast.BinaryExpr); ok && (b.Op == token.EQL || b.Op == token.NEQ) {
		return
	}
	f.add(e.Pos(), e.End(), "!("+f.src(e)+")", "negate: "+oneLine(f.src(e)))
}

// isError guesses by the name, since mutants are made from the text alone.
func isError(e ast.Expr) bool {
	id, ok := e.(*ast.Ident)
	return ok && (id.Name == "err" || strings.HasSuffix(id.Name, "err") || strings.HasSuffix(id.Name, "Err"))
}

// fails reports whether a result is an error, as far as its text shows.
func (f *finder) fails(e ast.Expr) bool {
	switch e := e.(type) {
	case *ast.CallExpr:
		return makesError(f.src(e.Fun))
	case *ast.UnaryExpr:
		lit, ok := e.X.(*ast.CompositeLit)
		return ok && e.Op == token.AND && strings.HasSuffix(f.src(lit.Type), "Error")
	}
	return isError(e)
}

// isLiteral reports whether an expression is a number or a string.
func isLiteral(e ast.Expr) bool {
	if u, ok := e.(*ast.UnaryExpr); ok {
		e = u.X
	}
	_, ok := e.(*ast.BasicLit)
	return ok
}

// statements removes each statement that can be left out. Assigned values are still evaluated,
// so that no variable is unused.
func (f *finder) statements(list []ast.Stmt) {
	for _, s := range list {
		by := ""
		switch s := s.(type) {
		case *ast.ExprStmt, *ast.IncDecStmt, *ast.SendStmt, *ast.DeferStmt, *ast.GoStmt:
		case *ast.AssignStmt:
			if s.Tok == token.DEFINE {
				continue
			}
			blanks := make([]string, len(s.Lhs))
			values := make([]string, len(s.Rhs))
			for i := range blanks {
				blanks[i] = "_"
			}
			for i := range values {
				values[i] = f.src(s.Rhs[i])
			}
			by = strings.Join(blanks, ", ") + " = " + strings.Join(values, ", ")
		case *ast.BranchStmt:
			if s.Tok == token.FALLTHROUGH || s.Tok == token.GOTO {
				continue
			}
		default:
			continue
		}
		f.add(s.Pos(), s.End(), by, "remove: "+oneLine(f.src(s)))
	}
}

// text empties a string, or replaces an empty one.
func (f *finder) text(lit *ast.BasicLit) {
	by := `""`
	if s, err := strconv.Unquote(lit.Value); err == nil && s == "" {
		by = `"mutant"`
	}
	f.add(lit.Pos(), lit.End(), by, oneLine(lit.Value)+" to "+by)
}

// makesError reports whether a function makes an error from a text. Texts of errors are for
// people and are not mutated.
func makesError(name string) bool {
	return name == "errors.New" || name == "fmt.Errorf" || name == "panic"
}

// tag changes the first name of a struct tag, such as that of a field in JSON.
func (f *finder) tag(lit *ast.BasicLit) {
	_, after, ok := strings.Cut(lit.Value, `:"`)
	if !ok || after == "" || after[0] == '-' {
		return
	}
	at := len(lit.Value) - len(after)
	f.add(lit.Pos(), lit.End(), lit.Value[:at]+"mutant_"+after, "rename: "+oneLine(lit.Value))
}

// elements removes each field that a literal sets, and each entry of a map.
func (f *finder) elements(lit *ast.CompositeLit) {
	for i, e := range lit.Elts {
		if _, ok := e.(*ast.KeyValueExpr); !ok {
			continue
		}
		end := e.End()
		if i+1 < len(lit.Elts) {
			end = lit.Elts[i+1].Pos()
		} else if rest := f.source[f.offset(end):f.offset(lit.Rbrace)]; len(rest) > 0 && rest[0] == ',' {
			end++
		}
		f.add(e.Pos(), end, "", "remove: "+oneLine(f.src(e)))
	}
}

// early returns from a function at once, with zero values.
func (f *finder) early(t *ast.FuncType, body *ast.BlockStmt) {
	if body == nil || len(body.List) == 0 {
		return
	}
	if _, only := body.List[0].(*ast.ReturnStmt); only && len(body.List) == 1 && t.Results == nil {
		return
	}
	var values []string
	named := false
	if t.Results != nil {
		for _, field := range t.Results.List {
			named = named || len(field.Names) > 0
			for range max(1, len(field.Names)) {
				values = append(values, fmt.Sprintf("*new(%s)", f.src(field.Type)))
			}
		}
	}
	if named {
		values = nil
	}
	first := body.List[0]
	f.add(first.Pos(), first.Pos(), strings.TrimRight("if true { return "+strings.Join(values, ", "), " ")+" }\n", "return at once")
}

// oneLine makes a short line from a piece of source.
func oneLine(s string) string {
	s = strings.Join(strings.Fields(s), " ")
	if len(s) > 80 {
		s = strings.ToValidUTF8(s[:77], "") + "..."
	}
	return s
}

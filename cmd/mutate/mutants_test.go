package main

import (
	"bytes"
	"cmp"
	"fmt"
	"go/parser"
	"go/token"
	"slices"
	"strings"
	"testing"
)

// Each change, and the line that it makes.
func TestMutants(t *testing.T) {
	const source = `package p

const size = 4

func (b *box[T]) get(i int) (T, error) {
	if i < 0 && b.open {
		i++
	}
	v, err := b.find(i)
	if err != nil {
		return v, err
	}
	for i == 1 {
		continue
	}
	switch {
	case i > 2:
		b.last, b.n = v, f(i)
	default:
		defer b.close()
	}
	return v, nil
}

func empty() (int, bool) { return 0, false }

func one() { return }

var g = func() (ok bool) { ok = true; return }

type row struct {
	Name string ` + "`json:\"name\"`" + `
	skip string ` + "`json:\"-\"`" + `
}

func words(n int) row {
	n += 2 * n
	for i := 0; ; i++ {
	}
	return row{Name: "a" + f(errors.New("read")), skip: ""}
}

func fails() (int, string, error) {
	if err != nil {
		return -1, f(2), err
	}
	return 0, "", fmt.Errorf("%d", 3)
}
`
	want := `
3 : 4 + 1: const size = (4 + 1)
3 : 4 - 1: const size = (4 - 1)
6 box.get: return at once: if true { return *new(T), *new(error) }
6 box.get: negate: i < 0 && b.open: if !(i < 0 && b.open) {
6 box.get: < to <=: if i <= 0 && b.open {
6 box.get: 0 + 1: if i < (0 + 1) && b.open {
6 box.get: 0 - 1: if i < (0 - 1) && b.open {
6 box.get: && to ||: if i < 0 || b.open {
7 box.get: remove: i++: 
7 box.get: ++ to --: i--
10 box.get: drop error: err: if false && err != nil {
10 box.get: != to ==: if err == nil {
11 box.get: return no error: return v, nil
13 box.get: == to !=: for i != 1 {
13 box.get: 1 + 1: for i == (1 + 1) {
13 box.get: 1 - 1: for i == (1 - 1) {
14 box.get: remove: continue: 
17 box.get: negate: i > 2: case !(i > 2):
17 box.get: > to >=: case i >= 2:
17 box.get: 2 + 1: case i > (2 + 1):
17 box.get: 2 - 1: case i > (2 - 1):
18 box.get: remove: b.last, b.n = v, f(i): _, _ = v, f(i)
20 box.get: remove: defer b.close(): 
25 empty: return at once: func empty() (int, bool) { if true { return *new(int), *new(bool) }
29 : return at once: var g = func() (ok bool) { if true { return }
29 : remove: ok = true: var g = func() (ok bool) { _ = true; return }
32 : rename: ` + "`json:\"name\"`: Name string `json:\"mutant_name\"`" + `
37 words: return at once: if true { return *new(row) }
37 words: remove: n += 2 * n: _ = 2 * n
37 words: += to -=: n -= 2 * n
37 words: 2 + 1: n += (2 + 1) * n
37 words: 2 - 1: n += (2 - 1) * n
37 words: * to /: n += 2 / n
38 words: 0 + 1: for i := (0 + 1); ; i++ {
38 words: 0 - 1: for i := (0 - 1); ; i++ {
40 words: remove: Name: "a" + f(errors.New("read")): return row{skip: ""}
40 words: "a" to "": return row{Name: "" + f(errors.New("read")), skip: ""}
40 words: + to -: return row{Name: "a" - f(errors.New("read")), skip: ""}
40 words: remove: skip: "": return row{Name: "a" + f(errors.New("read")), }
40 words: "" to "mutant": return row{Name: "a" + f(errors.New("read")), skip: "mutant"}
44 fails: return at once: if true { return *new(int), *new(string), *new(error) }
44 fails: drop error: err: if false && err != nil {
44 fails: != to ==: if err == nil {
45 fails: 2 + 1: return -1, f((2 + 1)), err
45 fails: 2 - 1: return -1, f((2 - 1)), err
45 fails: return no error: return -1, f(2), nil
47 fails: 3 + 1: return 0, "", fmt.Errorf("%d", (3 + 1))
47 fails: 3 - 1: return 0, "", fmt.Errorf("%d", (3 - 1))
`
	list, err := mutants("p.go", []byte(source))
	if err != nil {
		t.Fatal(err)
	}
	var got strings.Builder
	for _, m := range list {
		changed := m.apply([]byte(source))
		if _, err := parser.ParseFile(token.NewFileSet(), "p.go", changed, 0); err != nil {
			t.Errorf("%s: %v", m.change, err)
		}
		fmt.Fprintf(&got, "%d %s: %s: %s\n", m.line, m.function, m.change, strings.TrimLeft(strings.Split(string(changed), "\n")[m.line-1], "\t"))
	}
	if got.String() != want[1:] {
		t.Errorf("got\n%swant%s", got.String(), want)
	}
	if _, err := mutants("p.go", []byte("package")); err == nil {
		t.Error("what does not parse has no mutants")
	}
}

// An entry names one mutant: equal changes of one line are numbered, and so are those of equal
// lines in one function.
func TestEqualChangesAreNumbered(t *testing.T) {
	const source = `package p

var a = f(1, 1) && g(1)

func (b *box) put() {
	b.n++
	if b.full {
		b.n++
	}
}

func (b *box) get() {
	b.n++
}
`
	want := `
3 : && to ||
3 : 1 + 1
3 : 1 + 1 #2
3 : 1 + 1 #3
3 : 1 - 1
3 : 1 - 1 #2
3 : 1 - 1 #3
6 box.put: ++ to --
6 box.put: remove: b.n++
6 box.put: return at once
7 box.put: negate: b.full
8 box.put: ++ to -- #2
8 box.put: remove: b.n++ #2
13 box.get: ++ to --
13 box.get: remove: b.n++
13 box.get: return at once
`
	list, err := mutants("p.go", []byte(source))
	if err != nil {
		t.Fatal(err)
	}
	slices.SortFunc(list, func(a, b mutant) int {
		return cmp.Or(a.line-b.line, strings.Compare(a.change, b.change))
	})
	var got strings.Builder
	for _, m := range list {
		fmt.Fprintf(&got, "%d %s: %s\n", m.line, m.function, m.change)
	}
	if got.String() != want[1:] {
		t.Errorf("got\n%swant%s", got.String(), want)
	}
}

func TestReadEquivalents(t *testing.T) {
	list, err := readEquivalents("x", []byte("# a remark\n\na.go\tf\tx := 1\t1 + 1\tbecause\n"))
	if err != nil || len(list) != 1 || list[0] != (equivalent{"a.go", "f", "x := 1", "1 + 1", "because"}) {
		t.Errorf("%+v, %v", list, err)
	}
	for _, bad := range []string{"a.go\tf\tx := 1\t1 + 1\n", "a.go\tf\tx := 1\t1 + 1\t\n", "\n\nnonsense"} {
		if _, err := readEquivalents("x.tsv", []byte(bad)); err == nil || !bytes.HasPrefix([]byte(err.Error()), []byte("x.tsv:")) {
			t.Errorf("%q: %v", bad, err)
		}
	}
}

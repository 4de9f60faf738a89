package report

import (
	"cmp"
	"maps"
	"slices"
)

// A top keeps the first of the rows that are added, in the order of the function order. It
// counts all rows.
type top[T any] struct {
	most  int
	order func(a, b T) int // compares two rows; never 0, because no two rows are equal
	all   int64
	rows  []T
}

func (t *top[T]) add(row T) {
	t.all++
	if len(t.rows) >= 2*t.most {
		t.cut()
	}
	t.rows = append(t.rows, row)
}

// first is like add, but faster if many rows are added: it keeps the rows sorted, so it needs
// one comparison for a row that is not among the first.
func (t *top[T]) first(row T) {
	t.all++
	if n := len(t.rows); n >= t.most && t.order(row, t.rows[n-1]) > 0 {
		return
	}
	at, _ := slices.BinarySearchFunc(t.rows, row, t.order)
	t.rows = slices.Insert(t.rows, at, row)
	t.rows = t.rows[:min(len(t.rows), t.most)]
}

func (t *top[T]) cut() {
	slices.SortFunc(t.rows, t.order)
	clear(t.rows[min(len(t.rows), t.most):])
	t.rows = t.rows[:min(len(t.rows), t.most)]
}

func (t *top[T]) table() Table[T] {
	t.cut()
	if t.rows == nil {
		t.rows = []T{}
	}
	return Table[T]{t.all, t.rows}
}

// restName is the name under which a tally counts all names after the first mostNames.
const restName = "(others)"

// A tally counts how often each name occurs. After mostNames different names, it counts all
// others as restName.
type tally map[string]int64

func (t tally) add(name string) {
	if _, known := t[name]; !known && len(t) >= mostNames {
		name = restName
	}
	t[name]++
}

// counts returns the names and their counts, the largest count first.
func (t tally) counts() []Count {
	all := []Count{}
	for _, name := range slices.Sorted(maps.Keys(t)) {
		all = append(all, Count{name, t[name]})
	}
	slices.SortStableFunc(all, func(a, b Count) int { return cmp.Compare(b.N, a.N) })
	return all
}

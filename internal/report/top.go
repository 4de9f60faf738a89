package report

import (
	"cmp"
	"maps"
	"slices"
)

// A top keeps the first of the rows that are added, by the function order, and counts all of
// them.
type top[T any] struct {
	most  int
	order func(a, b T) int // no two rows are equal
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

// first is like add, for many rows that are added in any order: it keeps the rows sorted, and
// looks at a row that is not among the first ones only once.
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

// restName means all names after the first mostNames.
const restName = "(others)"

// A tally counts how often names occur. If there are too many different names, the others are
// counted together as restName.
type tally map[string]int64

func (t tally) add(name string) {
	if _, known := t[name]; !known && len(t) >= mostNames {
		name = restName
	}
	t[name]++
}

// counts returns the names with their counts, the largest count first.
func (t tally) counts() []Count {
	all := []Count{}
	for _, name := range slices.Sorted(maps.Keys(t)) {
		all = append(all, Count{name, t[name]})
	}
	slices.SortStableFunc(all, func(a, b Count) int { return cmp.Compare(b.N, a.N) })
	return all
}

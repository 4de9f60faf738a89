package report

import (
	"cmp"
	"maps"
	"slices"
)

// A top keeps the first rows in an order, and counts all rows.
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

// restName is the name for all names beyond mostNames.
const restName = "(others)"

// A tally counts names. There may be any number of names.
type tally map[string]int64

func (t tally) add(name string) {
	if _, known := t[name]; !known && len(t) >= mostNames {
		name = restName
	}
	t[name]++
}

// counts returns the counts of the names, the largest first.
func (t tally) counts() []Count {
	all := []Count{}
	for _, name := range slices.Sorted(maps.Keys(t)) {
		all = append(all, Count{name, t[name]})
	}
	slices.SortStableFunc(all, func(a, b Count) int { return cmp.Compare(b.N, a.N) })
	return all
}

//go:build unix

package postgres

import (
	"maps"
	"testing"

	"pgregory.net/rapid"
)

// For any wishes, in any order and at any nodes, the partitions of each pair meet: their wishes
// lead to the same lowest partition. No wish that is still needed is replaced.
func TestPairsOfPartitionsMeet(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		table := map[int]int{}
		var all [][2]int
		for range rapid.IntRange(1, 10).Draw(t, "nodes") {
			pairs := map[[2]int]bool{}
			for range rapid.IntRange(1, 3).Draw(t, "pairs") {
				a, b := rapid.IntRange(0, 9).Draw(t, "a"), rapid.IntRange(0, 9).Draw(t, "b")
				if a != b {
					pairs[[2]int{min(a, b), max(a, b)}] = true
					all = append(all, [2]int{a, b})
				}
			}
			for id, wish := range together(maps.Clone(table), pairs) {
				if was, ok := table[id]; ok && was != wish || wish >= id {
					t.Fatalf("partition %d had the wish %d, and gets %d", id, was, wish)
				}
				table[id] = wish
			}
		}
		lowest := func(id int) int {
			for wish, ok := table[id]; ok; wish, ok = table[id] {
				id = wish
			}
			return id
		}
		for _, pair := range all {
			if lowest(pair[0]) != lowest(pair[1]) {
				t.Fatalf("%v do not meet: %v", pair, table)
			}
		}
	})
}

// Package guess suggests what a misspelled name was meant to be.
package guess

import (
	"cmp"
	"slices"
	"strings"
)

// Meant guesses which of the known values an invalid value, or an invalid item of a list,
// was meant to be. It returns ": did you mean ...?", or "" if no known value is like it.
func Meant(value string, known []string) string {
	for part := range strings.SplitSeq(value, ",") {
		part = strings.TrimSpace(part)
		if slices.Contains(known, part) {
			continue
		}
		if like := DidYouMean(part, known); like != "" {
			return ": " + strings.TrimSpace(like)
		}
	}
	return ""
}

// DidYouMean suggests the known name of what other programs call name, or else the known name
// that is most like it. It returns "" if no known name is like it.
func DidYouMean(name string, known []string) string {
	if len(known) == 0 {
		return ""
	}
	name = strings.ToLower(name)
	if known := fromOthers(name, known); known != "" {
		return "did you mean " + known + "? "
	}
	best := slices.MinFunc(known, func(a, b string) int {
		return cmp.Or(distance(name, a)-distance(name, b), common(name, b)-common(name, a))
	})
	if i := slices.IndexFunc(known, func(k string) bool { return strings.HasPrefix(k, name) }); i >= 0 {
		best = known[i]
	}
	if distance(name, best) > max(1, len(strings.Trim(name, "-"))/3) && !strings.HasPrefix(best, name) {
		return ""
	}
	return "did you mean " + best + "? "
}

// common returns how many letters at the beginning of two names are equal.
func common(a, b string) (n int) {
	for n < min(len(a), len(b)) && a[n] == b[n] {
		n++
	}
	return n
}

// distance returns how many letters must be added, removed, changed, or swapped with their
// neighbour to turn a into b.
func distance(a, b string) int {
	before, last := []int(nil), make([]int, len(b)+1)
	for j := range last {
		last[j] = j
	}
	for i := range len(a) {
		row := make([]int, len(b)+1)
		row[0] = i + 1
		for j := range len(b) {
			cost := 1
			if a[i] == b[j] {
				cost = 0
			}
			row[j+1] = min(last[j+1]+1, row[j]+1, last[j]+cost)
			if i > 0 && j > 0 && a[i] == b[j-1] && a[i-1] == b[j] {
				row[j+1] = min(row[j+1], before[j-1]+1)
			}
		}
		before, last = last, row
	}
	return last[len(b)]
}

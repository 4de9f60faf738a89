package say

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"
)

// InSeconds returns s seconds as text, rounded to the millisecond. If s is below one second, it
// rounds to the microsecond.
func InSeconds(s float64) string {
	d := time.Duration(s * float64(time.Second)).Round(time.Microsecond)
	if d.Abs() >= time.Second {
		d = d.Round(time.Millisecond)
	}
	return d.String()
}

// Closest says how close requests came to being early. least is the least time in seconds from the
// time at which a request was permitted to its start; if it is negative, a request was early.
func Closest(least float64) string {
	if least < 0 {
		return "the earliest by " + InSeconds(-least)
	}
	return "closest to being early: " + InSeconds(least)
}

// Stamp returns a time to the second, in UTC, as RFC 3339 writes it.
func Stamp(t time.Time) string { return t.UTC().Format(time.RFC3339) }

// Day returns the day of a time, in UTC.
func Day(t time.Time) string { return t.UTC().Format(time.DateOnly) }

// InList returns counts in words, with commas between them. The second argument is that of
// Count.Words.
func InList(counts []Count, in func(string) string) string {
	var parts []string
	for _, c := range counts {
		parts = append(parts, c.Words(in))
	}
	return strings.Join(parts, ", ")
}

// A Count is a number of things, with their name.
type Count struct {
	Of string
	N  int
}

// Words returns a count in words: the number, followed by the words that the argument, a
// function, returns for c.Of. The first of these words is a noun in the plural. If the number
// is one, Words makes the noun singular.
func (c Count) Words(in func(string) string) string {
	words := in(c.Of)
	if c.N == 1 {
		first, rest, ok := strings.Cut(words, " ")
		words = strings.TrimSuffix(first, "s")
		if ok {
			words += " " + rest
		}
	}
	return fmt.Sprintf("%d %s", c.N, words)
}

// InOrder returns the entries of m, the largest first.
func InOrder[K comparable](m map[K]int) []Count {
	var all []Count
	for k, n := range m {
		all = append(all, Count{fmt.Sprint(k), n})
	}
	slices.SortFunc(all, func(a, b Count) int { return cmp.Or(b.N-a.N, cmp.Compare(a.Of, b.Of)) })
	return all
}

// Often returns how often something happened, such as "once".
func Often[N int | int64](n N) string {
	if n == 1 {
		return "once"
	}
	return fmt.Sprintf("%d times", n)
}

// Listed returns the entries of m as "key: n", sorted by key.
func Listed[K cmp.Ordered](m map[K]int) []string {
	var parts []string
	for _, k := range slices.Sorted(maps.Keys(m)) {
		parts = append(parts, fmt.Sprintf("%v: %d", k, m[k]))
	}
	return parts
}

// Sum returns the sum of the values of m.
func Sum[K comparable](m map[K]int) int {
	n := 0
	for _, v := range m {
		n += v
	}
	return n
}

// Plural returns a number with a noun, which has an s at its end unless the number is 1.
func Plural(n int, noun string) string {
	if n == 1 {
		return "1 " + noun
	}
	return fmt.Sprintf("%d %ss", n, noun)
}

// Size returns a number of bytes in kB, MB, GB or TB. Each unit is 1000 times the unit
// before.
func Size(n int64) string {
	f := float64(n)
	for _, unit := range []string{"B", "kB", "MB", "GB"} {
		if f < 1000 {
			if unit == "B" {
				return fmt.Sprintf("%d B", n)
			}
			return fmt.Sprintf("%.1f %s", f, unit)
		}
		f /= 1000
	}
	return fmt.Sprintf("%.1f TB", f)
}

// Seconds returns s seconds as a duration.
func Seconds(s float64) time.Duration { return time.Duration(s * float64(time.Second)) }

// Short returns a duration as text, rounded to the second. A duration below ten seconds is
// rounded to a tenth of a second.
func Short(d time.Duration) string {
	if d < 10*time.Second {
		return fmt.Sprintf("%.1fs", d.Seconds())
	}
	return d.Round(time.Second).String()
}

// Copies returns a number of copies.
func Copies(n int) string {
	if n == 1 {
		return "1 copy"
	}
	return fmt.Sprintf("%d copies", n)
}

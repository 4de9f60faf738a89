package robots

import (
	"fmt"
	"strings"
	"testing"
)

// The filter of each wildcard holds the two of its octet sequences that are rarest among all
// wildcards.
func TestFilters(t *testing.T) {
	var b strings.Builder
	b.WriteString("User-agent: *\n")
	for i := range manyWilds {
		fmt.Fprintf(&b, "Disallow: /common*%c%c%c*tail%c\n", 'a'+i, 'k'+i, 'q'+i, 'a'+i)
	}
	set := &Parse([]byte(b.String()), RFC9309).Group("wrenbot").rules
	if len(set.filters) != manyWilds {
		t.Fatalf("%d filters", len(set.filters))
	}
	count := map[uint16]int{}
	set.eachGram(0, int32(len(set.segments)), func(h uint16) { count[h]++ })
	for i, f := range set.filters {
		own := map[uint16]bool{}
		set.eachGram(set.wilds[i].first, set.wilds[i].last, func(h uint16) { own[h] = true })
		if f.a == f.b || !own[f.a] || !own[f.b] || count[f.a] != 1 || count[f.b] != 1 {
			t.Errorf("%d: %v, which %d and %d rules have", i, f, count[f.a], count[f.b])
		}
	}
	var sig signature
	sig.add("/common/akq/taila")
	hits := 0
	for _, f := range set.filters {
		if sig.has(f.a) && sig.has(f.b) {
			hits++
		}
	}
	if hits != 1 {
		t.Errorf("%d wildcards are looked at", hits)
	}
	few := &Parse([]byte(strings.Join(strings.Split(b.String(), "\n")[:manyWilds], "\n")), RFC9309).Group("wrenbot").rules
	if len(few.wilds) != manyWilds-1 || few.filters != nil {
		t.Errorf("%d filters for %d wildcards", len(few.filters), len(few.wilds))
	}
}

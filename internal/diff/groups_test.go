package diff

import "testing"

// Only the rules of the last sites are kept.
func TestRulesOfFewSitesAreKept(t *testing.T) {
	var c groupCache
	var last []*siteGroups
	for range 3 * mostGroups {
		g := &siteGroups{}
		c.keep(g)
		last = append(last, g)
	}
	if len(c) != mostGroups || c[0] != last[2*mostGroups] || c[mostGroups-1] != last[3*mostGroups-1] {
		t.Errorf("%d are kept", len(c))
	}
}

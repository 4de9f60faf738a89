package diff

import (
	"testing"

	"github.com/permesso-crawler/permesso/internal/account"
)

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

// If two entries have the same URL, the one that was fetched counts, in either order. A
// line of pages.jsonl adds to what was fetched, and to nothing else.
func TestFactsAboutOneURLAreOneView(t *testing.T) {
	entry := func(s account.Standing, digest string) *fact { return &fact{URL: "u", Standing: s, Digest: digest} }
	line := &fact{Digest: "of the line", Text: "text", Location: "place"}
	for name, c := range map[string]struct {
		kinds string
		facts []*fact
		want  fact
	}{
		"none":              {"", nil, fact{}},
		"fetched first":     {"ee", []*fact{entry(account.StandsFetched, "1"), entry(account.StandsQueued, "2")}, *entry(account.StandsFetched, "1")},
		"fetched last":      {"ee", []*fact{entry(account.StandsQueued, "1"), entry(account.StandsFetched, "2")}, *entry(account.StandsFetched, "2")},
		"both fetched":      {"ee", []*fact{entry(account.StandsFetched, "1"), entry(account.StandsFetched, "2")}, *entry(account.StandsFetched, "1")},
		"neither fetched":   {"ee", []*fact{entry(account.StandsRefused, "1"), entry(account.StandsQueued, "2")}, *entry(account.StandsRefused, "1")},
		"a line alone":      {"p", []*fact{line}, fact{}},
		"a line after":      {"ep", []*fact{entry(account.StandsFetched, ""), line}, fact{URL: "u", Standing: account.StandsFetched, Digest: "of the line", Text: "text", Location: "place"}},
		"with a digest":     {"ep", []*fact{entry(account.StandsFetched, "1"), line}, fact{URL: "u", Standing: account.StandsFetched, Digest: "1", Text: "text", Location: "place"}},
		"of what is queued": {"ep", []*fact{entry(account.StandsQueued, ""), line}, *entry(account.StandsQueued, "")},
		"before an entry":   {"epe", []*fact{entry(account.StandsFetched, "1"), line, entry(account.StandsFetched, "2")}, fact{URL: "u", Standing: account.StandsFetched, Digest: "1", Text: "text", Location: "place"}},
	} {
		var v view
		for i, f := range c.facts {
			v.take(c.kinds[i], f)
		}
		if v.fact != c.want {
			t.Errorf("%s: %+v, want %+v", name, v.fact, c.want)
		}
	}
}

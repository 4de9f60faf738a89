package diff

import (
	"testing"

	"github.com/permesso-crawler/permesso/frontier"
)

// A groupCache has the rules of the last few sites only.
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

// If two entries have the same URL, the fetched one counts, in either order. A line of
// pages.jsonl adds facts only to a fetched entry.
func TestFactsAboutOneURLAreOneView(t *testing.T) {
	entry := func(s frontier.Code, digest string) *fact { return &fact{URL: "u", Fate: s, Digest: digest} }
	line := &fact{Digest: "of the line", Text: "text", Location: "place"}
	for name, c := range map[string]struct {
		kinds string
		facts []*fact
		want  fact
	}{
		"none":              {"", nil, fact{}},
		"fetched first":     {"ee", []*fact{entry(frontier.Fetched, "1"), entry(frontier.Queued, "2")}, *entry(frontier.Fetched, "1")},
		"fetched last":      {"ee", []*fact{entry(frontier.Queued, "1"), entry(frontier.Fetched, "2")}, *entry(frontier.Fetched, "2")},
		"both fetched":      {"ee", []*fact{entry(frontier.Fetched, "1"), entry(frontier.Fetched, "2")}, *entry(frontier.Fetched, "1")},
		"neither fetched":   {"ee", []*fact{entry(frontier.RobotsDisallowed, "1"), entry(frontier.Queued, "2")}, *entry(frontier.RobotsDisallowed, "1")},
		"a line alone":      {"p", []*fact{line}, fact{}},
		"a line after":      {"ep", []*fact{entry(frontier.Fetched, ""), line}, fact{URL: "u", Fate: frontier.Fetched, Digest: "of the line", Text: "text", Location: "place"}},
		"with a digest":     {"ep", []*fact{entry(frontier.Fetched, "1"), line}, fact{URL: "u", Fate: frontier.Fetched, Digest: "1", Text: "text", Location: "place"}},
		"of what is queued": {"ep", []*fact{entry(frontier.Queued, ""), line}, *entry(frontier.Queued, "")},
		"before an entry":   {"epe", []*fact{entry(frontier.Fetched, "1"), line, entry(frontier.Fetched, "2")}, fact{URL: "u", Fate: frontier.Fetched, Digest: "1", Text: "text", Location: "place"}},
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

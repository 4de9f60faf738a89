package robots

import (
	"testing"
	"testing/quick"
	"time"

	"github.com/google/go-cmp/cmp"
)

func TestHeaderDirectives(t *testing.T) {
	june := time.Date(2025, 6, 25, 15, 0, 0, 0, time.UTC)
	for _, c := range []struct {
		values []string
		want   string
	}{
		{nil, ""},
		{[]string{""}, ""},
		{[]string{"noindex"}, "noindex"},
		{[]string{" NoIndex , NOFOLLOW "}, "noindex, nofollow"},
		{[]string{"noindex", "nofollow"}, "noindex, nofollow"},
		{[]string{"none"}, "noindex, nofollow"},
		{[]string{"all"}, ""},
		{[]string{"index, follow, archive, unheard-of"}, ""},
		{[]string{"index, noindex"}, "noindex"},
		{[]string{"noarchive"}, "noarchive"},
		{[]string{"nocache"}, "noarchive"},
		{[]string{"nosnippet, noimageindex, notranslate"}, "nosnippet, noimageindex, notranslate"},
		{[]string{"noai, noimageai"}, "noai, noimageai"},
		{[]string{"noindex nofollow; noarchive"}, "noindex, nofollow, noarchive"},
		// After the name of a robot, directives are only for this robot.
		{[]string{"wrenbot: noindex"}, "noindex"},
		{[]string{"WrenBot/1.0: noindex"}, "noindex"},
		{[]string{"larkbot: noindex"}, ""},
		{[]string{"larkbot: noindex, nofollow"}, ""},
		{[]string{"noarchive, larkbot: noindex, wrenbot: nofollow, nosnippet"}, "nofollow, noarchive, nosnippet"},
		{[]string{"larkbot: noindex", "nofollow"}, "nofollow"},
		{[]string{"*: noindex"}, "noindex"},
		// A directive that takes a value is not a name.
		{[]string{"unavailable_after: 25 Jun 2025 15:00:00 GMT"}, "unavailable_after: 2025-06-25T15:00:00Z"},
		{[]string{"Unavailable_After: 25 Jun 2025 07:00:00 PST, noindex"}, "noindex, unavailable_after: 2025-06-25T15:00:00Z"},
		{[]string{"unavailable_after: Wed, 25 Jun 2025 15:00:00 GMT, noindex"}, "noindex, unavailable_after: 2025-06-25T15:00:00Z"},
		{[]string{"unavailable_after: Wednesday, 25-Jun-25 15:00:00 UTC"}, "unavailable_after: 2025-06-25T15:00:00Z"},
		{[]string{"wrenbot: unavailable_after: Wed, 25 Jun 2025 15:00:00 GMT, noindex"}, "noindex, unavailable_after: 2025-06-25T15:00:00Z"},
		{[]string{"larkbot: unavailable_after: Wed, 25 Jun 2025 15:00:00 GMT, noindex"}, ""},
		{[]string{"unavailable_after: soon, noindex"}, "noindex"},
		{[]string{"unavailable_after: 2025-06-25T17:00:00+02:00"}, "unavailable_after: 2025-06-25T15:00:00Z"},
		{[]string{"max-snippet:20, max-image-preview:Large, max-video-preview: -1"}, "max-snippet:20, max-video-preview:-1, max-image-preview:large"},
		{[]string{"max-snippet: 0"}, "nosnippet, max-snippet:0"},
		{[]string{"max-snippet: x, max-snippet: -2, max-image-preview: huge"}, ""},
		// The most restrictive directive counts.
		{[]string{"max-snippet: 50, max-snippet: -1", "max-snippet: 20"}, "max-snippet:20"},
		{[]string{"max-image-preview: large", "max-image-preview: none", "max-image-preview: standard"}, "max-image-preview:none"},
		{[]string{"unavailable_after: 2025-06-26", "unavailable_after: 2025-06-25 15:00"}, "unavailable_after: 2025-06-25T15:00:00Z"},
		{[]string{"noindex, indexifembedded"}, "noindex"},
	} {
		if got := HeaderDirectives("wrenbot", c.values); got.String() != c.want {
			t.Errorf("%q: %q, want %q", c.values, got, c.want)
		}
	}
	if d := HeaderDirectives("wrenbot", []string{"unavailable_after: 25 Jun 2025 15:00:00 GMT"}); !d.UnavailableAfter.Equal(june) {
		t.Errorf("%v", d.UnavailableAfter)
	}
	if d := HeaderDirectives("", []string{": noindex", "x: nofollow"}); !d.IsZero() {
		t.Errorf("without a token: %v", d)
	}
	d := HeaderDirectives("wrenbot", []string{"larkbot: noindex, otherbot: noarchive, FinchBot: nofollow"}, "finchbot", "larkbot")
	if d.String() != "noindex, nofollow" {
		t.Errorf("by aliases: %v", d)
	}
}

func TestMetaDirectives(t *testing.T) {
	for _, c := range []struct{ name, content, want string }{
		{"robots", "noindex,nofollow", "noindex, nofollow"},
		{" ROBOTS ", "NOINDEX", "noindex"},
		{"wrenbot", "noarchive", "noarchive"},
		{"WrenBot", "noai", "noai"},
		{"larkbot", "noindex", ""},
		{"", "noindex", ""},
		{"description", "noindex", ""},
		{"robots", "unavailable_after: 25-Jun-2025 15:00:00 EST", "unavailable_after: 2025-06-25T20:00:00Z"},
		{"robots", "larkbot: noindex, nofollow", "nofollow"}, // the content of a meta element does not name robots
	} {
		if got := MetaDirectives("wrenbot", c.name, c.content); got.String() != c.want {
			t.Errorf("%s %q: %q, want %q", c.name, c.content, got, c.want)
		}
	}
	if d := MetaDirectives("", "", "noindex"); !d.IsZero() {
		t.Errorf("no name, no token: %v", d)
	}
	if d := MetaDirectives("wrenbot", "otherbot, LarkBot", "noindex", "finchbot", "larkbot"); !d.NoIndex {
		t.Errorf("by an alias: %v", d)
	}
}

// Merging is commutative, associative and idempotent, and the zero value is neutral. So the order
// of header fields and elements does not matter.
func TestMergeDirectives(t *testing.T) {
	words := []string{"noindex", "nofollow", "noarchive", "index", "max-snippet:5", "max-snippet:-1", "max-snippet:0",
		"max-image-preview:none", "max-image-preview:large", "unavailable_after: 2025-06-25", "unavailable_after: 2024-01-01", "none", ""}
	pick := func(i uint8) Directives { return MetaDirectives("", "robots", words[int(i)%len(words)]) }
	if err := quick.Check(func(i, j, k uint8) bool {
		a, b, c := pick(i), pick(j), pick(k)
		return a.Merge(b) == b.Merge(a) && a.Merge(b).Merge(c) == a.Merge(b.Merge(c)) && a.Merge(a) == a && a.Merge(Directives{}) == a
	}, nil); err != nil {
		t.Error(err)
	}
	// Parsing the result of String gives the same directives.
	d := MetaDirectives("", "robots", "none, noai, max-snippet:3, max-image-preview:standard, unavailable_after: 2025-06-25")
	if diff := cmp.Diff(d, MetaDirectives("", "robots", d.String())); diff != "" {
		t.Error(diff)
	}
}

// pageTime accepts the zones of RFC 822. With any other word in place of the zone the text is not
// a date.
func TestZonesOfDates(t *testing.T) {
	for zone, hour := range map[string]int{"GMT": 12, "utc": 12, "UT": 12, "Z": 12, "EDT": 16, "EST": 17, "CDT": 17, "CST": 18, "MDT": 18, "mst": 19, "PDT": 19, "PST": 20, "": 12} {
		got, ok := pageTime("25 Jun 2025 12:00:00 " + zone)
		if want := time.Date(2025, 6, 25, hour, 0, 0, 0, time.UTC); !ok || !got.Equal(want) {
			t.Errorf("%q: %v, %v", zone, got, ok)
		}
	}
	for _, bad := range []string{"25 Jun 2025 12:00:00 CET", "1, 25 Jun 2025 12:00:00", "25 Jun, 2025", "EST", " EST", "", "25", "2025-06-25 25:00:00"} {
		if got, ok := pageTime(bad); ok {
			t.Errorf("%q: %v", bad, got)
		}
	}
}

func TestRelNoFollow(t *testing.T) {
	for rel, want := range map[string]bool{"nofollow": true, "noopener\tNOFOLLOW": true, "": false, "nofollows": false, "ugc sponsored": false} {
		if got := RelNoFollow(rel); got != want {
			t.Errorf("%q: %v", rel, got)
		}
	}
}

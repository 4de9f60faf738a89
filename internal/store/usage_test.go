package store

import "testing"

// ParseUsage parses the results of String and rejects other texts.
func TestUsageIsReadAsItWasWritten(t *testing.T) {
	for _, want := range []UsageRecord{{"ai-train", false, "line 5: Content-Signal: ai-train=no"}, {"search", true, "x by y"}} {
		if got, ok := ParseUsage(want.String()); got != want || !ok {
			t.Errorf("%s: %+v, %v", want, got, ok)
		}
	}
	for _, s := range []string{"", "search", "search=y", "search=y by ", "=y by x", "search=yes by x", "search by x", "by x=y"} {
		if got, ok := ParseUsage(s); ok || got != (UsageRecord{}) {
			t.Errorf("%q: %+v, %v", s, got, ok)
		}
	}
}

func FuzzUsage(f *testing.F) {
	f.Add("ai-train=n by X-Robots-Tag: noai")
	f.Add("search=y by =n by ")
	f.Fuzz(func(t *testing.T, s string) {
		if u, ok := ParseUsage(s); ok && u.String() != s {
			t.Fatalf("%q is read as %q", s, u)
		}
	})
}

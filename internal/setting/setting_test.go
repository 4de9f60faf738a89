package setting_test

import (
	"flag"
	"math"
	"testing"
	"time"

	"github.com/permesso-crawler/permesso/frontier"
	"github.com/permesso-crawler/permesso/internal/setting"
	"pgregory.net/rapid"
)

// Set reads a text, String returns the value as text, and an invalid text changes nothing.
func TestAmountsAreReadAndShown(t *testing.T) {
	var count int
	var rate float64
	var span, wait time.Duration
	var size int64
	values := map[string]flag.Value{
		"count": setting.Count(&count, 10, 0), "at least 5": setting.Count(&count, 10, 5), "no default": setting.Count(&count, 0, 0),
		"rate": setting.Fraction(&rate, 0, 0), "span": setting.Span(&span, time.Second, 0), "wait": setting.Wait(&wait, 2*time.Minute),
		"size": setting.Size(&size, 16<<20, 0),
	}
	for _, test := range []struct{ kind, text, want, wrong string }{
		{"count", "7", "7", ""}, {"count", "0", "0", ""}, {"count", "0x10", "16", ""}, {"count", "-1", "", "-1 is out of range: the least value is 0"},
		{"count", "x", "", `"x" is no whole number`}, {"count", "1.5", "", `"1.5" is no whole number`}, {"count", "99999999999999999999", "", "99999999999999999999 is out of range"},
		{"at least 5", "5", "5", ""}, {"at least 5", "4", "", "4 is out of range: the least value is 5"}, {"no default", "0", "0", ""},
		{"rate", "0.25", "0.25", ""}, {"rate", "1e10", "", "1e10 is out of range: 0 to 1e9"}, {"rate", "NaN", "", "NaN is out of range: 0 to 1e9"}, {"rate", "", "", `"" is no number`},
		{"span", "90s", "1m30s", ""}, {"span", "2h", "2h", ""}, {"span", "3m", "3m", ""}, {"span", "0", "0", ""}, {"span", "5", "", "5 has no unit: write 5s for seconds, or 5m for minutes"},
		{"span", "forever", "", `"forever" is no duration: write it as 500ms, 10s or 1h30m`}, {"wait", "forever", "forever", ""}, {"wait", "10s", "10s", ""},
		{"size", "24MiB", "24MiB", ""}, {"size", "1000", "1kB", ""}, {"size", "1024", "1KiB", ""}, {"size", "1500 kB", "1500kB", ""}, {"size", "3KB", "3kB", ""}, {"size", "7", "7B", ""},
		{"size", "-1MB", "", `"-1MB" is no size: write it as 500kB, 16MiB or 1GB`}, {"size", "9999999GiB", "", `"9999999GiB" is no size: write it as 500kB, 16MiB or 1GB`},
	} {
		v := values[test.kind]
		before := v.String()
		err := v.Set(test.text)
		switch {
		case test.wrong == "" && (err != nil || v.String() != test.want):
			t.Errorf("%s %q: %s, %v, want %s", test.kind, test.text, v, err, test.want)
		case test.wrong != "" && (err == nil || err.Error() != test.wrong || v.String() != before):
			t.Errorf("%s %q: %s, was %s: %v, want %s", test.kind, test.text, v, before, err, test.wrong)
		}
	}
	if wait != 10*time.Second || size != 7 {
		t.Errorf("%v, %d", wait, size)
	}
}

// Set accepts what String returns, and sets the same value.
func TestAShownAmountIsReadAgain(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		n := rapid.Int64Range(1, 1<<50).Draw(t, "size")
		d := time.Duration(rapid.Int64Range(1, math.MaxInt64).Draw(t, "wait"))
		var size int64
		var wait time.Duration
		for text, v := range map[string]flag.Value{
			setting.Size(&n, 0, 0).String(): setting.Size(&size, 0, 0), setting.Wait(&d, 0).String(): setting.Wait(&wait, 0),
		} {
			if err := v.Set(text); err != nil {
				t.Fatal(err)
			}
		}
		if size != n || wait != d {
			t.Errorf("%d, want %d; %v, want %v", size, n, wait, d)
		}
	})
}

// Fill replaces 0 by the default. -1 stays and means "none". Other negative values are invalid.
func TestDefaultsAreFilledIn(t *testing.T) {
	for value, want := range map[int]int{0: 10, 3: 3, -1: -1} {
		if wrong := setting.Count(&value, 10, 0).Fill(); wrong != "" || value != want {
			t.Errorf("%d, want %d: %s", value, want, wrong)
		}
	}
	for _, bad := range []int{-2, -100} {
		if setting.Count(&bad, 10, 0).Fill() == "" || setting.BelowNone(bad) == "" {
			t.Errorf("%d is accepted", bad)
		}
	}
	if bad := -1; setting.Count(&bad, 0, 0).Fill() != "is negative" {
		t.Error("-1 is accepted where 0 means that there is no bound")
	}
}

// A changed setting is tighter or wider for sites, depending on its direction. "none" is the
// largest value.
func TestAChangeIsTighterOrWider(t *testing.T) {
	delay, limit := time.Second, 10
	for _, test := range []struct {
		s             setting.Setting
		before, after string
		want          setting.Way
	}{
		{setting.Setting{Larger: setting.Tighter, Value: setting.Span(&delay, time.Second, 0)}, "1s", "2s", setting.Tighter},
		{setting.Setting{Larger: setting.Tighter, Value: setting.Span(&delay, time.Second, 0)}, "2s", "1s", setting.Wider},
		{setting.Setting{Larger: setting.Wider, Value: setting.Count(&limit, 0, 0)}, "10", "0", setting.Wider},
		{setting.Setting{Larger: setting.Wider, Value: setting.Count(&limit, 0, 0)}, "0", "10", setting.Tighter},
		{setting.Setting{Larger: setting.Wider, Value: setting.Count(&limit, 0, 0)}, "5", "5", setting.Other},
		{setting.Setting{Larger: setting.Wider, Value: setting.Count(&limit, 0, 0)}, "5", "x", setting.Other},
		{setting.Setting{Larger: setting.Other, Value: setting.Count(&limit, 0, 0)}, "5", "6", setting.Other},
		{setting.Setting{Larger: setting.Wider, Value: textValue{}}, "a", "b", setting.Other},
	} {
		if got := test.s.Compare(test.before, test.after); got != test.want {
			t.Errorf("from %s to %s: %s, want %s", test.before, test.after, got, test.want)
		}
	}
	for value, want := range map[string]string{"": "none", "0": "none", "0.0": "none", "5": "5", "0s": "0s", "x": "x"} {
		if got := setting.InWords(value); got != want {
			t.Errorf("%q: %q, want %q", value, got, want)
		}
	}
	if wait := frontier.Forever; setting.Wait(&wait, 0).String() != "forever" {
		t.Error("an endless wait has no name")
	}
}

// textValue is a flag.Value without the method Measure.
type textValue struct{}

func (textValue) String() string   { return "" }
func (textValue) Set(string) error { return nil }

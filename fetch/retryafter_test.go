package fetch

import (
	"fmt"
	"strings"
	"testing"
	"time"
)

func TestTheZonesOfRetryAfter(t *testing.T) {
	now := time.Date(2030, 1, 1, 0, 0, 0, 0, time.UTC)
	names := map[string]string{
		"GMT": "+0000", "UTC": "+0000", "UT": "+0000", "Z": "+0000", "WET": "+0000", "EST": "-0500", "EDT": "-0400", "CDT": "-0500",
		"MST": "-0700", "MDT": "-0600", "PST": "-0800", "PDT": "-0700", "CET": "+0100", "CEST": "+0200", "EET": "+0200", "EEST": "+0300",
		"WEST": "+0100", "MSK": "+0300", "JST": "+0900", "KST": "+0900", "AEST": "+1000", "AEDT": "+1100", "NZST": "+1200", "NZDT": "+1300",
		"CST": "-1200", // may mean the time of Chicago or of Shanghai
	}
	for name, offset := range names {
		named, numbered := ParseRetryAfter("Wed, 02 Jan 2030 03:04:05 "+name, now), ParseRetryAfter("Wed, 02 Jan 2030 03:04:05 "+offset, now)
		if named.IsZero() || !named.Equal(numbered) {
			t.Errorf("%s is %v, %s %v", name, named, offset, numbered)
		}
	}
	for name := range zones {
		if names[name] == "" {
			t.Errorf("%s is not looked at", name)
		}
	}
}

func TestTheUnitsAndFormsOfRetryAfter(t *testing.T) {
	now := time.Date(2030, 1, 1, 0, 0, 0, 0, time.UTC)
	forms := map[time.Duration]string{
		time.Millisecond: "ms millisecond milliseconds", time.Second: "s sec secs second seconds", time.Minute: "m min mins minute minutes",
		time.Hour: "h hr hrs hour hours", 24 * time.Hour: "d day days",
	}
	seen := 1 // the empty unit counts, which forms does not have
	for unit, all := range forms {
		for name := range strings.FieldsSeq(all) {
			seen++
			for _, value := range []string{"7" + name, "7 " + strings.ToUpper(name), "7.0 " + name} {
				if got := ParseRetryAfter(value, now).Sub(now); got != 7*unit {
					t.Errorf("%q is %v", value, got)
				}
			}
		}
	}
	if seen != len(units) {
		t.Errorf("%d units are looked at, of %d", seen, len(units))
	}
	for value, want := range map[string]time.Duration{
		"0.25": 250 * time.Millisecond, "10.75": 10750 * time.Millisecond, "19": 19 * time.Second, "9.": 9 * time.Second,
		"254039 hours": 254039 * time.Hour, "254040 hours": 29 * 8760 * time.Hour, "254041 hours": 29 * 8760 * time.Hour,
		// A weekday has three to nine letters.
		"Wednesday, 02 Jan 2030 00:00:00 GMT": 24 * time.Hour, "We, 02 Jan 2030 00:00:00 GMT": 24 * time.Hour, "Wed 02 Jan 2030 00:00:00 GMT": 24 * time.Hour,
	} {
		if got := ParseRetryAfter(value, now).Sub(now); got != want {
			t.Errorf("%q is %v, want %v", value, got, want)
		}
	}
	// Only the first bytes of a field are read.
	for blanks, want := range map[int]time.Duration{1021: 77 * time.Second, 1022: 77 * time.Second, 1023: 7 * time.Second} {
		if got := ParseRetryAfter(strings.Repeat(" ", blanks)+"77", now).Sub(now); got != want {
			t.Errorf("after %d blanks: %v, want %v", blanks, got, want)
		}
	}
	for _, date := range []string{
		"2 Jan 2030 03:04:05", "2-Jan-2030 03:04:05", "2-Jan-30 03:04:05", "2 Jan 30 03:04:05", "2 January 2030 03:04:05", "Jan  2 03:04:05 2030",
		"2030-01-02T03:04:05", "2030-01-02 03:04:05",
	} {
		for _, zone := range []string{"", "Z", " Z", "+00:00", " +00:00", "+0000", " +0000", " GMT"} {
			if got, want := ParseRetryAfter(date+zone, now), time.Date(2030, 1, 2, 3, 4, 5, 0, time.UTC); !got.Equal(want) {
				t.Errorf("%q is %v", date+zone, got)
			}
		}
	}
	long := "2 Jan 2030 03:04:05" + strings.Repeat(" ", 42) + "GMT"
	for _, more := range []int{0, 1} {
		date := strings.Replace(long, "GMT", strings.Repeat(" ", more)+"GMT", 1)
		if got := ParseRetryAfter(date, now); got.IsZero() != (more > 0) {
			t.Errorf("%d bytes are %v", len(date), got)
		}
	}
	if got := fmt.Sprint(ParseRetryAfter("1 day", now)); got != "2030-01-02 00:00:00 +0000 UTC" {
		t.Error(got)
	}
}

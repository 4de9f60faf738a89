package revisit_test

import (
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/permesso-crawler/permesso/crawler/revisit"
	"pgregory.net/rapid"
)

var read = time.Date(2026, 11, 22, 12, 0, 0, 0, time.UTC)

// ago returns the times that are the given durations before the list was read.
func ago(all ...time.Duration) (said []time.Time) {
	for _, d := range all {
		said = append(said, read.Add(-d))
	}
	return said
}

func TestWhatListsSayOfChanges(t *testing.T) {
	today, hour := time.Date(2026, 11, 22, 0, 0, 0, 0, time.UTC), time.Hour
	tomorrow := today.AddDate(0, 0, 1)
	for _, test := range []struct {
		name string
		said []time.Time
		want []time.Time // expected results; a zero time is a date that is not believed
	}{
		{"nothing", []time.Time{{}, {}}, []time.Time{{}, {}}},
		{"different times", ago(hour, 5*hour, 50*hour), ago(hour, 5*hour, 50*hour)},
		{"one that is to come", ago(-hour, 5*hour, 50*hour), []time.Time{{}, read.Add(-5 * hour), read.Add(-50 * hour)}},
		{"the time of the request for all", ago(0, 0, 0), make([]time.Time, 3)},
		{"nearly that for all", ago(time.Second, time.Minute, 20*time.Minute), make([]time.Time, 3)},
		{"one time for all", ago(20*hour, 20*hour, 20*hour), make([]time.Time, 3)},
		{"one time long ago for all", ago(2000*hour, 2000*hour, 2000*hour), make([]time.Time, 3)},
		{"one time for most", ago(20*hour, 20*hour, 5*hour), []time.Time{{}, {}, read.Add(-5 * hour)}},
		{"one time for half", ago(20*hour, 20*hour, 5*hour, 100*hour), ago(20*hour, 20*hour, 5*hour, 100*hour)},
		{"and most say nothing", append(make([]time.Time, 3), ago(20*hour, 5*hour)...), append(make([]time.Time, 3), ago(20*hour, 5*hour)...)},
		{"one page", ago(hour), make([]time.Time, 1)},
		{"two pages", ago(hour, 2*hour), ago(hour, 2*hour)},
		{"days", []time.Time{today, today.AddDate(0, 0, -1), today.AddDate(0, 0, -2), today.AddDate(0, 0, -3)}, []time.Time{{}, today, today.AddDate(0, 0, -1), today.AddDate(0, 0, -2)}},
		{"this day for all", []time.Time{today, today, today}, make([]time.Time, 3)},
		{"the day before for all", []time.Time{today.AddDate(0, 0, -1), today.AddDate(0, 0, -1)}, make([]time.Time, 2)},
		{"times whose parts are equal", []time.Time{today.AddDate(0, 0, -2).Add(5*hour + 5*time.Minute), today.AddDate(0, 0, -3).Add(5*hour + 5*time.Second), today.AddDate(0, 0, -4).Add(5*time.Minute + 5*time.Second)}, []time.Time{today.AddDate(0, 0, -2).Add(5*hour + 5*time.Minute), today.AddDate(0, 0, -3).Add(5*hour + 5*time.Second), today.AddDate(0, 0, -4).Add(5*time.Minute + 5*time.Second)}},
		{"a day of another zone", []time.Time{time.Date(2026, 11, 22, 0, 0, 0, 0, time.FixedZone("", 13*3600)), tomorrow, read.Add(-5 * hour)}, []time.Time{time.Date(2026, 11, 22, 11, 0, 0, 0, time.UTC), {}, read.Add(-5 * hour)}},
	} {
		d := revisit.ReadDates(slices.Values(test.said), read)
		for i, said := range test.said {
			at, ok := d.Changed(said)
			if want := test.want[i]; !at.Equal(want) || ok == want.IsZero() {
				t.Errorf("%s: %v is %v, %v, want %v", test.name, said, at, ok, want)
			}
		}
	}
}

// Dates in the future, and dates that are new in each answer, are never believed, whatever the
// other dates of the list are.
func TestWrongDatesOfMostPagesAreNotBelieved(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		before := time.Duration(rapid.IntRange(0, 1e6).Draw(t, "lie")) * time.Second
		others := rapid.SliceOfN(rapid.IntRange(-1e6, 1e8), 0, 50).Draw(t, "others")
		said := make([]time.Time, 0, 2*len(others)+1)
		for range len(others) + 1 {
			said = append(said, read.Add(-before))
		}
		for _, s := range others {
			said = append(said, read.Add(-time.Duration(s)*time.Second))
		}
		d := revisit.ReadDates(slices.Values(said), read)
		if h, m, s := said[0].Clock(); h+m+s > 0 {
			if at, ok := d.Changed(said[0]); ok {
				t.Fatalf("%v of %d of %d pages is believed: %v", said[0], len(others)+1, len(said), at)
			}
		}
		for _, s := range said {
			if at, ok := d.Changed(s); ok && (at.After(read) || at.Before(s)) {
				t.Fatalf("%v is %v", s, at)
			}
		}
	})
}

func ExampleReadDates() {
	asked := time.Date(2026, 11, 22, 12, 0, 0, 0, time.UTC)
	said := []time.Time{asked.Add(-time.Minute), asked.Add(-time.Minute), asked.AddDate(0, 0, -2)}
	dates := revisit.ReadDates(slices.Values(said), asked)
	for _, t := range said {
		at, ok := dates.Changed(t)
		fmt.Println(ok, at.Format(time.DateTime))
	}
	// Output:
	// false 0001-01-01 00:00:00
	// false 0001-01-01 00:00:00
	// true 2026-11-20 12:00:00
}

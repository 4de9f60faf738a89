package say

import (
	"testing"
	"time"
)

func TestSizesAndTimesAreWords(t *testing.T) {
	for n, want := range map[int64]string{
		0: "0 B", 999: "999 B", 1000: "1.0 kB", 1_500_000: "1.5 MB", 2_000_000_000: "2.0 GB", 999_900_000_000: "999.9 GB", 3_200_000_000_000: "3.2 TB", 5_000_000_000_000_000: "5000.0 TB",
	} {
		if got := Size(n); got != want {
			t.Errorf("%d: %s, want %s", n, got, want)
		}
	}
	for d, want := range map[time.Duration]string{0: "0.0s", 9940 * time.Millisecond: "9.9s", 10 * time.Second: "10s", 10499 * time.Millisecond: "10s", 61500 * time.Millisecond: "1m2s"} {
		if got := Short(d); got != want {
			t.Errorf("%d: %s, want %s", d, got, want)
		}
	}
	for n, want := range map[int]string{1: "once", 2: "2 times"} {
		if got := Often(n); got != want {
			t.Errorf("%d: %s, want %s", n, got, want)
		}
	}
}

func TestClosest(t *testing.T) {
	for margin, want := range map[float64]string{0: "closest to being early: 0s", 0.000174: "closest to being early: 174µs", 2.5: "closest to being early: 2.5s", -0.25: "the earliest by 250ms"} {
		if got := Closest(margin); got != want {
			t.Errorf("%v: %q, want %q", margin, got, want)
		}
	}
}

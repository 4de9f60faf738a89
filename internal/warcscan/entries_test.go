package warcscan

import (
	"bytes"
	"context"
	"fmt"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/permesso-crawler/permesso/storage/cdxj"
)

// Entries yields the same pairs as cdxj.Index, also for damaged files.
func TestEntriesAreThoseOfAnIndex(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		var file []byte
		for n := range rapid.IntRange(0, 30).Draw(t, "records") {
			text := strings.Replace(recordOf(n, strings.Repeat("x", 10*n)), "\r\nContent", fmt.Sprintf("\r\nWARC-Target-URI: http://a.example/%d\r\nContent", n), 1)
			if rapid.IntRange(0, 9).Draw(t, "unnamed") == 0 {
				text = recordOf(n, "a resource without a URL")
			}
			file = append(file, zipped(1, text)...)
		}
		if len(file) > 0 && rapid.Bool().Draw(t, "damaged") {
			file[rapid.IntRange(0, len(file)-1).Draw(t, "at")] ^= 0xff
		}
		stop := rapid.IntRange(1, 40).Draw(t, "stop")
		read := func(all func(func(*cdxj.Entry, error) bool)) (got []string) {
			for e, err := range all {
				if got = append(got, fmt.Sprintf("%+v %v", e, err)); len(got) == stop {
					break
				}
			}
			return got
		}
		want := read(cdxj.Index(t.Context(), bytes.NewReader(file), "f"))
		for _, workers := range []int{1, 2, 4} {
			segment := rapid.Int64Range(1, 1000).Draw(t, "segment")
			got := read(entriesOf(t.Context(), bytes.NewReader(file), int64(len(file)), "f", workers, segment))
			if !slices.Equal(got, want) {
				t.Fatalf("%d workers:\n%q, want\n%q", workers, got, want)
			}
		}
		ended, cancel := context.WithCancel(t.Context())
		cancel()
		if got := read(entriesOf(ended, bytes.NewReader(file), int64(len(file)), "f", 2, 10)); len(got) != 1 || !strings.Contains(got[0], "canceled") {
			t.Fatalf("after the context: %q", got)
		}
	})
}

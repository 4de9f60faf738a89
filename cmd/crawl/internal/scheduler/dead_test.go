package scheduler

import (
	"bytes"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/permesso-crawler/permesso/internal/series"
	"github.com/permesso-crawler/permesso/internal/store"
)

// A damaged snapshot does not stop its series. A snapshot that has not begun is continued.
func TestADeadSnapshotCountsAsOver(t *testing.T) {
	start := time.Date(2026, 11, 23, 3, 0, 0, 0, time.UTC)
	for name, c := range map[string]struct {
		state []byte
		dead  bool
	}{
		"damaged":     {bytes.Repeat([]byte("no state"), 1<<12), true},
		"never whole": {make([]byte, 100), false}, // a file whose bytes did not reach the disk
	} {
		d := &Dir{Series: series.Series{Dir: t.TempDir()}}
		snapshot := filepath.Join(d.Dir, series.SnapshotName(start))
		if err := os.Mkdir(snapshot, 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(snapshot, store.StateFile), c.state, 0o644); err != nil {
			t.Fatal(err)
		}
		ran, busy, err := d.Ran(start.Add(time.Hour), false)
		if err != nil || busy != nil || ran.Going == c.dead || (d.Dead() != nil) != c.dead || !ran.Last.Equal(start) {
			t.Errorf("%s: %+v, busy %v, dead %v, %v", name, ran, busy, d.Dead(), err)
		}
	}
}

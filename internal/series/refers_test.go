package series_test

import (
	"bytes"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"github.com/permesso-crawler/permesso/internal/series"
	"github.com/permesso-crawler/permesso/internal/store"
)

// A snapshot with unchanged pages needs the snapshot that has their bodies, even if other
// snapshots are between the two.
func TestASnapshotTellsWhetherItNeedsOlderOnes(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := series.Series{Dir: t.TempDir()}
		job := jobOf("", "http://a.example/")
		job.Options.Output = nil // nil: the outputs are the default ones
		var made []*series.Run
		for range 3 {
			r := begin(t, s, job, series.Moment{Now: time.Now()})
			next := job
			opts := *job.Options
			opts.Previous = r.Previous
			next.Options = &opts
			crawlInto(t, r, next, 0)
			end(t, r)
			made = append(made, r)
			time.Sleep(7 * 24 * time.Hour)
		}
		for i, r := range made {
			for j, before := range made {
				refers, err := r.RefersBehind(before.Start)
				if want := i > 0 && j > 0; err != nil || refers != want {
					t.Errorf("snapshot %d needs what is older than %d: %v, %v", i, j, refers, err)
				}
			}
		}
		// A line after the first mostRevisits is not read, so it may be damaged.
		indexFile := filepath.Join(made[2].Dir, store.IndexFile)
		index, err := os.ReadFile(indexFile)
		if err != nil {
			t.Fatal(err)
		}
		var revisit []byte
		for line := range bytes.Lines(index) {
			if bytes.Contains(line, []byte("warc/revisit")) {
				revisit = line
			}
		}
		unread := regexp.MustCompile(`"filename": *"[^"]*"`).ReplaceAll(revisit, []byte(`"filename": "gone.warc.gz"`))
		for n, wantErr := range map[int]bool{999: true, 1000: false} {
			if err := os.WriteFile(indexFile, slices.Concat(bytes.Repeat(revisit, n), unread), 0o644); err != nil {
				t.Fatal(err)
			}
			if refers, err := made[2].RefersBehind(made[0].Start); refers || (err != nil) != wantErr {
				t.Errorf("after %d records: %v, %v", n, refers, err)
			}
		}
		// Skip a damaged line, because crawl verify reports it.
		if err := os.WriteFile(indexFile, []byte("a line with warc/revisit\n"), 0o644); err != nil {
			t.Fatal(err)
		}
		if refers, err := made[2].RefersBehind(made[0].Start); refers || err != nil {
			t.Errorf("a damaged line: %v, %v", refers, err)
		}
		if err := os.WriteFile(indexFile, index, 0o644); err != nil {
			t.Fatal(err)
		}
		archive := filepath.Join(made[2].Dir, store.ArchiveDir)
		if err := os.Rename(archive, archive+".moved"); err != nil {
			t.Fatal(err)
		}
		if _, err := made[2].RefersBehind(made[1].Start); err == nil {
			t.Error("an archive that is not there tells what it needs")
		}
		if err := os.Remove(filepath.Join(made[2].Dir, store.IndexFile)); err != nil {
			t.Fatal(err)
		}
		if refers, err := made[2].RefersBehind(made[1].Start); refers || err != nil {
			t.Errorf("a crawl without an archive: %v, %v", refers, err)
		}
	})
}

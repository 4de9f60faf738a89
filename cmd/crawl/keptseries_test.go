package main

import (
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/permesso-crawler/permesso/cmd/crawl/internal/exit"
)

// keptSeries is the series that is kept of each layout, beside the kept crawls: its first snapshot
// is over, and its second one was killed.
const keptSeries = "weekly"

// runSeries runs the job of the kept series.
var runSeries = []string{"run", "--progress", "none", "--job", keptSeries + "/job.yaml", "--series", keptSeries}

// makeKeptSeries makes the series in the working directory.
func makeKeptSeries(t *testing.T) {
	t.Helper()
	job := "identity: {name: testbot, contact: https://example.org/testbot}\nseeds: [http://a.example/, http://b.example/]\noutput: [warc, jsonl, links]\nschedule: {every: '@weekly', zone: Europe/Rome}\n"
	if err := errors.Join(os.Mkdir(keptSeries, 0o755), os.WriteFile(keptSeries+"/job.yaml", []byte(job), 0o644)); err != nil {
		t.Fatal(err)
	}
	synctest.Test(t, func(t *testing.T) {
		w, _ := keptWeb(t)
		if code, said := runIn(t, w, runSeries...); code != exit.Done {
			t.Fatalf("exit %d: %s", code, said)
		}
		time.Sleep(7 * 24 * time.Hour)
		done := make(chan struct{})
		go func() { // it ends with the run
			defer close(done)
			if code, said := runIn(t, w, runSeries...); code != exit.Done {
				t.Errorf("exit %d: %s", code, said)
			}
		}()
		time.Sleep(17 * time.Second)
		synctest.Wait()
		if err := os.CopyFS("killed", os.DirFS(keptSeries)); err != nil {
			t.Fatal(err)
		}
		<-done
		if err := errors.Join(os.RemoveAll(keptSeries), os.Rename("killed", keptSeries)); err != nil {
			t.Fatal(err)
		}
	})
}

// snapshotsOf returns the directories of the snapshots of the kept series, and the state of the
// newest one.
func snapshotsOf(t *testing.T) (dirs []string, state string) {
	t.Helper()
	dirs, err := filepath.Glob(keptSeries + "/*.crawl")
	if err != nil {
		t.Fatal(err)
	}
	var list struct {
		Snapshots int
		Last      struct{ State string }
	}
	if err := json.Unmarshal([]byte(said(t, "schedule", "list", "--json", keptSeries)), &list); err != nil || list.Snapshots != len(dirs) {
		t.Errorf("%d snapshots are listed, want %d (%v)", list.Snapshots, len(dirs), err)
	}
	return dirs, list.Last.State
}

// A series of each layout goes on: its snapshot that is not over is continued, the next snapshot
// refers to the one before, and a snapshot that is over stays as it is.
func TestKeptSeriesGoOn(t *testing.T) {
	for _, file := range keptFiles(t, "-series.zip", makeKeptSeries) {
		t.Run(strings.TrimSuffix(filepath.Base(file), ".zip"), func(t *testing.T) {
			atHome(t)
			unpack(t, file)
			dirs, state := snapshotsOf(t)
			if len(dirs) != 2 || state != "not over" {
				t.Fatalf("snapshots %q, the newest is %s", dirs, state)
			}
			over, killed := dirs[0], dirs[1]
			fetched, first := fetchedIn(t, killed), bytesOf(t, over)
			if len(fetched) == 0 || len(fetched) == len(keptFetched) {
				t.Fatalf("the kill came when %d of %d URLs were fetched", len(fetched), len(keptFetched))
			}
			synctest.Test(t, func(t *testing.T) {
				time.Sleep(30 * 24 * time.Hour)
				w, unchanged := keptWeb(t)
				if code, said := runIn(t, w, runSeries...); code != exit.Done {
					t.Fatalf("exit %d: %s", code, said)
				}
				w.AssertNeverFetched(fetched...)
				time.Sleep(7 * 24 * time.Hour)
				*unchanged = 0
				if code, said := runIn(t, w, runSeries...); code != exit.Done {
					t.Fatalf("exit %d: %s", code, said)
				}
				if *unchanged == 0 {
					t.Error("the next snapshot asks without the validators of the one before")
				}
				w.AssertPolite()
			})
			dirs, state = snapshotsOf(t)
			if len(dirs) != 3 || state != "over" || dirs[0] != over || dirs[1] != killed {
				t.Fatalf("snapshots %q, the newest is %s", dirs, state)
			}
			for _, dir := range dirs {
				assertWhole(t, dir)
				if got := fetchedIn(t, dir); !slices.Equal(got, keptFetched) {
					t.Errorf("%s: fetched are %q, want %q", dir, got, keptFetched)
				}
			}
			for _, dir := range dirs[1:] {
				if v := stateVersion(t, dir, 0); v != currentLayout(t) {
					t.Errorf("%s has layout %d, want %d", dir, v, currentLayout(t))
				}
			}
			if !slices.Equal(bytesOf(t, over), first) {
				t.Error("the snapshot that was over has changed")
			}
			said(t, "diff", dirs[0], dirs[2])
		})
	}
}

package crawler_test

import (
	"runtime"
	"testing"
	"testing/synctest"
	"time"

	"github.com/permesso-crawler/permesso/crawler"
	"github.com/permesso-crawler/permesso/crawler/crawltest"
	"github.com/permesso-crawler/permesso/frontier"
	"github.com/permesso-crawler/permesso/internal/processes"
	"github.com/permesso-crawler/permesso/internal/store"
)

// processesOf returns the processes that a crawl has recorded, and their builds of the program.
func processesOf(t *testing.T, dir string) (all []processes.Process, builds []processes.Build) {
	t.Helper()
	r, err := store.OpenReader(dir)
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	h, err := processes.Of(r)
	if err != nil || h.Forgotten != 0 {
		t.Fatal(h.Forgotten, err)
	}
	for _, p := range h.Processes {
		builds = append(builds, h.Builds[p.Build])
	}
	return h.Processes, builds
}

// Each run records its start, its end, its clock and the build of the program. This also holds if
// the next run is on another machine.
func TestEachRunRecordsItsProcess(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := crawltest.New(t)
		w.Site("http://a.example").Page("/", "<a href=/1>1</a>").Page("/1", "x")
		dir := t.TempDir()
		first := time.Now()
		crawl(t, w, func(o *crawler.Options) { o.Dir, o.Limit = dir, 1 }, "http://a.example/")
		time.Sleep(time.Hour)
		second := time.Now()
		crawl(t, w, func(o *crawler.Options) { o.Dir = dir }, "http://a.example/")
		all, builds := processesOf(t, dir)
		if len(all) != 2 {
			t.Fatalf("%+v", all)
		}
		zone, offset := second.Zone()
		for i, want := range []struct {
			began time.Time
			end   crawler.End
		}{{first, crawler.EndLimit}, {second, crawler.EndDone}} {
			p, b := all[i], builds[i]
			if !p.Began.Equal(want.began) || p.End != string(want.end) || !p.Ended.After(p.Began) || p.Ended.After(want.began.Add(time.Hour)) {
				t.Errorf("run %d: %+v", i, p)
			}
			if p.Zone != zone || p.Offset != offset {
				t.Errorf("run %d: zone %s, %d", i, p.Zone, p.Offset)
			}
			if runtime.GOOS == "linux" && p.Synchronised == nil {
				t.Errorf("run %d: nothing is known of the clock: %+v", i, p)
			}
			if b.Program != "permesso/"+crawler.Version || b.Go != runtime.Version() || b.OS != runtime.GOOS || b.Arch != runtime.GOARCH || b.Modules == nil {
				t.Errorf("run %d: %+v", i, b)
			}
		}
	})
}

// If a run fails, only its start is recorded, and not its end.
func TestARunThatFailsHasNoEnd(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := crawltest.New(t)
		w.Site("http://a.example").Page("/", "x")
		dir := t.TempDir()
		c, err := crawler.New(crawler.Options{Identity: testIdentity, Seeds: []string{"http://a.example/"}, Wire: crawler.Wire{Network: w}, Dir: dir,
			OptOut: func(frontier.URL) string { panic("my mistake") }})
		if err != nil {
			t.Fatal(err)
		}
		if err := c.Run(t.Context(), nil); err == nil {
			t.Fatal("no error")
		}
		all, _ := processesOf(t, dir)
		if len(all) != 1 || all[0].Began.IsZero() || !all[0].Ended.IsZero() || all[0].End != "" {
			t.Errorf("%+v", all)
		}
	})
}

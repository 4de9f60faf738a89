package processes

import (
	"slices"
	"testing"
	"time"
)

// If a crawl has had more runs than are kept, the oldest are only counted.
func TestTheOldestRunsAreCounted(t *testing.T) {
	const runs = 1003
	first := time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)
	var h History
	var last End
	for i := range runs {
		began := first.Add(time.Duration(i) * time.Hour)
		next, err := h.Next(began, last)
		if err != nil {
			t.Fatal(err)
		}
		h, last = next, End{Of: began, Time: began.Add(time.Minute), Why: "done"}
	}
	all := h.Processes
	if len(all) != 1000 || h.Forgotten != 3 || !all[0].Began.Equal(first.Add(3*time.Hour)) || all[0].End != "done" {
		t.Fatalf("%d, %d before them: %+v", len(all), h.Forgotten, all[0])
	}
	if last := all[999]; last.End != "" || !last.Began.Equal(first.Add((runs-1)*time.Hour)) {
		t.Errorf("%+v", last)
	}
	if len(h.Builds) != 1 {
		t.Errorf("%d programs, of one", len(h.Builds))
	}
	digest, err := This().digest()
	if _, known := h.Builds[digest]; err != nil || !known || all[0].Build != digest {
		t.Errorf("the program is recorded as %s, not as %s: %v", all[0].Build, digest, err)
	}
}

// The nodes of a crawl know different processes, and each knows the end of its own last run.
func TestMerge(t *testing.T) {
	at := time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)
	p := func(i int, end string) Process {
		return Process{Began: at.Add(time.Duration(i)), Build: "b" + end, End: end}
	}
	got := Merge([]History{
		{Processes: []Process{p(1, ""), p(3, "")}, Builds: map[string]Build{"b": {Program: "x"}}, Forgotten: 2},
		{Processes: []Process{p(1, "limit"), p(2, "")}, Builds: map[string]Build{"blimit": {Program: "y"}}},
	}, []End{{at.Add(2), at.Add(9), "done"}, {at.Add(4), at.Add(9), "done"}, {at.Add(3), at.Add(8), "stopped"}})
	if got := Merge([]History{{Processes: []Process{p(1, ""), p(2, "")}}, {Processes: []Process{p(3, "")}, Forgotten: 2}}, nil); len(got.Processes) != 1 || got.Forgotten != 2 {
		t.Errorf("what one node has forgotten was counted again: %+v", got)
	}
	want := []Process{p(1, "limit"), p(2, "done"), p(3, "stopped")}
	want[1].Ended, want[1].Build = at.Add(9), "b"
	want[2].Ended, want[2].Build = at.Add(8), "b"
	if !slices.Equal(got.Processes, want) || got.Forgotten != 2 || len(got.Builds) != 2 {
		t.Errorf("%+v, want %+v", got, want)
	}
}

package processes

import (
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

package timetable

import (
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"testing"
	"time"

	"github.com/permesso-crawler/permesso/crawler"
	"github.com/permesso-crawler/permesso/internal/schedule"
	"github.com/permesso-crawler/permesso/internal/series"
)

// crawl schedule list prints how the last snapshot ended, and whether the next run
// continues it.
func TestAScheduleSaysHowTheLastSnapshotEnded(t *testing.T) {
	for want, last := range map[string]Last{
		"done, 2 budget pages":                                                                        {State: "over", End: string(crawler.EndDone), Pages: 2},
		"stopped, 1 budget page: the next run continues it":                                           {State: "not over", End: string(crawler.EndStopped), Pages: 1},
		"killed, 2 budget pages: the next run continues it":                                           {State: "not over", End: string(crawler.StateKilled), Pages: 2},
		"failed, 2 budget pages: the next run continues it":                                           {State: "not over", End: string(crawler.StateUnknown), Pages: 2},
		"stopped because the disk was full, 2 budget pages: make room, and the next run continues it": {State: "not over", End: string(crawler.StateNoRoom), Pages: 2},
		"its crawl has not begun: the next run continues it":                                          {State: "made"},
		"going on now": {State: "going on"},
		"unreadable":   {State: "not over", Error: "unreadable"},
	} {
		if got := last.words(); got != want {
			t.Errorf("%s\nwant %s", got, want)
		}
	}
}

// The command that starts the runs of a job can be copied, for any name of the file
// is.
func TestACheckSaysWhatStartsTheRuns(t *testing.T) {
	for _, c := range []struct{ job, dir, started, made, once string }{
		{"weekly/job.yaml", "", "weekly", "", "weekly/job.yaml --series weekly"},
		{"job.yaml", "", ".", "", "job.yaml --series ."},
		{"./weekly/job.yaml", "weekly", "weekly", "", "./weekly/job.yaml --series weekly"},
		{"library.yaml", "", "library", "library && cp library.yaml library/job.yaml", "library.yaml --series library"},
		{"library", "", "library.series", "library.series && cp library library.series/job.yaml", "library --series library.series"},
		{"daily/job.yaml", "weekly", "weekly", "weekly && cp daily/job.yaml weekly/job.yaml", "daily/job.yaml --series weekly"},
		{"my jobs/a b.yaml", "", "'my jobs/a b'", "'my jobs/a b' && cp 'my jobs/a b.yaml' 'my jobs/a b/job.yaml'", "'my jobs/a b.yaml' --series 'my jobs/a b'"},
	} {
		want := []string{"  they are started by: crawl schedule run " + c.started}
		if c.made != "" {
			want = append(want, "  which looks for the job in the directory of its snapshots: mkdir -p "+c.made)
		}
		want = append(want, "  one of them now, by hand: crawl run --job "+c.once)
		if got := StartedBy(filepath.FromSlash(c.job), filepath.FromSlash(c.dir)); runtime.GOOS != "windows" && !slices.Equal(got, want) {
			t.Errorf("%s\n got %q\nwant %q", c.job, got, want)
		}
	}
}

// The first run of a new series with a period is due at once. The times of a series that exists
// count from its last run, wherever the user names it.
func TestThePlanIsThatOfTheSeries(t *testing.T) {
	s, err := schedule.New(schedule.Spec{Every: "7d"})
	if err != nil {
		t.Fatal(err)
	}
	now := time.Date(2026, 11, 28, 21, 43, 45, 0, time.UTC)
	dir := filepath.Join(t.TempDir(), "weekly")
	job := filepath.Join(dir, series.JobFile)
	days := func(plan *Plan, err error) (days []int) {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
		for _, at := range plan.Next {
			days = append(days, int(at.Sub(now).Hours()/24))
		}
		return days
	}
	for _, c := range [][2]string{{job, ""}, {job, dir}, {dir + ".yaml", ""}} {
		if got := days(PlanOf(s, c[0], c[1], now, 3)); !slices.Equal(got, []int{0, 7, 14}) {
			t.Errorf("%q: a new series in %v days", c, got)
		}
	}
	if err := os.MkdirAll(dir, 0o777); err != nil {
		t.Fatal(err)
	}
	if err := (series.Series{Dir: dir}).NoteMissed(series.Missed{Due: now.AddDate(0, 0, -5), Why: series.WhyOff}); err != nil {
		t.Fatal(err)
	}
	for _, c := range [][2]string{{job, ""}, {job, dir}, {dir + ".yaml", ""}} {
		if got := days(PlanOf(s, c[0], c[1], now, 3)); !slices.Equal(got, []int{2, 9, 16}) {
			t.Errorf("%q: a series whose last run was five days ago, in %v days", c, got)
		}
	}
	if _, err := PlanOf(s, job, filepath.Join(dir, series.MissedFile), now, 3); err == nil {
		t.Error("a series that is a file has a plan")
	}
}

package series_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"syscall"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/permesso-crawler/permesso/crawler"
	"github.com/permesso-crawler/permesso/crawler/crawltest"
	"github.com/permesso-crawler/permesso/internal/series"
	"github.com/permesso-crawler/permesso/internal/setting"
	"github.com/permesso-crawler/permesso/internal/store"
)

var monday = time.Date(2026, 11, 23, 3, 0, 0, 0, time.UTC)

// jobOf returns a job with the given job file and seeds.
func jobOf(text string, seeds ...string) series.Job {
	return series.Job{File: []byte(text), Options: &crawler.Options{
		Identity: crawler.Identity{Token: "testbot", Contact: "https://example.org/testbot"}, Seeds: seeds, Keep: crawler.Keep{Output: []crawler.Output{}},
	}}
}

// crawlInto crawls the job into the snapshot of r, in virtual time. It stops after the duration
// most; 0: it does not stop.
func crawlInto(t *testing.T, r *series.Run, job series.Job, most time.Duration) {
	t.Helper()
	opts := *job.Options
	opts.Dir, opts.Seeds = r.Dir, r.Seeds
	w := crawltest.New(t)
	w.Site("http://a.example").Page("/", `<a href="/1">1</a>`).Page("/1", `<a href="/2">2</a>`).Page("/2", strings.Repeat("The end. ", 1000))
	opts.Network = w
	c, err := crawler.New(opts)
	if err != nil {
		t.Fatal(err)
	}
	if most > 0 {
		timer := time.AfterFunc(most, c.Stop)
		defer timer.Stop()
	}
	if err := c.Run(context.Background(), nil); err != nil {
		t.Fatal(err)
	}
}

func begin(t *testing.T, s series.Series, job series.Job, at series.Moment) *series.Run {
	t.Helper()
	r, err := s.Begin(job, at)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { r.Close() })
	return r
}

// end closes a run, so that the next one can begin.
func end(t *testing.T, r *series.Run) {
	t.Helper()
	if err := r.Close(); err != nil {
		t.Fatal(err)
	}
}

// Each week a run begins. A run continues a stopped snapshot with that snapshot's own seeds. A
// snapshot that is over does not change, and the next snapshot has it as its previous one.
func TestASeriesMakesTheNextSnapshotOrGoesOnWithTheLast(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := series.Series{Dir: filepath.Join(t.TempDir(), "weekly")}
		job := jobOf("one", "http://a.example/")
		first := begin(t, s, job, series.Moment{Now: monday.Add(400 * time.Millisecond)})
		if first.Resumed || first.Previous != "" || first.Changed != nil || first.Dir != filepath.Join(s.Dir, "20261123T030000Z.crawl") {
			t.Errorf("the first run: %+v", first)
		}
		crawlInto(t, first, job, 1500*time.Millisecond)
		end(t, first)

		other := jobOf("two", "http://b.example/", "http://c.example/")
		again := begin(t, s, other, series.Moment{Now: monday.Add(time.Hour), Due: monday.Add(7 * 24 * time.Hour)})
		want := &series.Changed{Since: "20261123T030000Z.crawl", SeedsAdded: 2, SeedsRemoved: 1, File: true}
		if !again.Resumed || again.Dir != first.Dir || again.Previous != "" || !slices.Equal(again.Seeds, job.Options.Seeds) || cmp.Diff(want, again.Changed) != "" {
			t.Errorf("one that was stopped: %+v, %+v", again, again.Changed)
		}
		crawlInto(t, again, job, 0)
		end(t, again)
		before := content(t, first.Dir)

		other.Options.Depth = 2
		next := begin(t, s, other, series.Moment{Now: monday.Add(8 * 24 * time.Hour), Due: monday.Add(7 * 24 * time.Hour)})
		want.Settings = []series.Change{{Setting: "depth", Was: "none", Is: "2", Way: setting.Tighter}}
		if next.Resumed || next.Dir != filepath.Join(s.Dir, "20261130T030000Z.crawl") || next.Previous != first.Dir || !slices.Equal(next.Seeds, other.Options.Seeds) || cmp.Diff(want, next.Changed) != "" {
			t.Errorf("the next one: %+v, %+v", next, next.Changed)
		}
		facts, err := next.ReadFacts()
		if err != nil || cmp.Diff(want, facts.Changed) != "" || facts.Previous != "20261123T030000Z.crawl" || !facts.Due.Equal(next.Start) || facts.Seeds != 2 || facts.Settings["depth"] != "2" {
			t.Errorf("it keeps %+v, %v", facts, err)
		}
		for name, want := range map[string]string{series.SeedsFile: "http://b.example/\nhttp://c.example/\n", series.JobFile: "two", series.FactsFile: goldenFacts} {
			raw, err := os.ReadFile(filepath.Join(next.Dir, name))
			if err != nil {
				t.Fatal(err)
			}
			// leave out the other settings, because each version has more of them
			text := regexp.MustCompile(`(?s)("settings": \{).*?(\n    "depth": "2",\n).*?(  \})`).ReplaceAllString(string(raw), "$1$2$3")
			if diff := cmp.Diff(want, text); diff != "" {
				t.Errorf("%s:\n%s", name, diff)
			}
		}
		if diff := cmp.Diff(before, content(t, first.Dir)); diff != "" {
			t.Errorf("a snapshot that is over was written to:\n%s", diff)
		}
	})
}

const goldenFacts = `{
  "version": 1,
  "due": "2026-11-30T03:00:00Z",
  "began": "2026-12-01T03:00:00Z",
  "previous": "20261123T030000Z.crawl",
  "seeds": 2,
  "seeds_sha256": "53f2a4a3f971f7b0c75f299d6f62e345cf35ac16b873a6a72a9b2ac65035d6ad",
  "job_sha256": "3fc4ccfe745870e2c0d99f71f30ff0656c8dedd41cc1d7d3d376b0dbe685e2f3",
  "settings": {
    "depth": "2",
  },
  "changed": {
    "since": "20261123T030000Z.crawl",
    "settings": [
      {
        "setting": "depth",
        "was": "none",
        "is": "2",
        "way": "tighter"
      }
    ],
    "seeds_added": 2,
    "seeds_removed": 1,
    "file": true
  }
}
`

// content returns the contents of the files in a directory, by name.
func content(t *testing.T, dir string) map[string]string {
	t.Helper()
	all := map[string]string{}
	entries, err := os.ReadDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range entries {
		raw, err := os.ReadFile(filepath.Join(dir, e.Name()))
		if err != nil {
			t.Fatal(err)
		}
		all[e.Name()] = string(raw)
	}
	return all
}

// The way in which its last run has ended decides whether a snapshot is over.
func TestASnapshotIsOverWhenItsRunEndedByItself(t *testing.T) {
	for name, test := range map[string]struct {
		change func(*crawler.Options)
		stop   time.Duration
		over   bool
	}{
		"nothing is left":      {func(*crawler.Options) {}, 0, true},
		"stopped":              {func(*crawler.Options) {}, 1500 * time.Millisecond, false},
		"the limit of pages":   {func(o *crawler.Options) { o.Limit = 1 }, 0, true},
		"the limit of time":    {func(o *crawler.Options) { o.MaxTime = 1500 * time.Millisecond }, 0, true},
		"the patience":         {func(o *crawler.Options) { o.Delay, o.Patience = time.Hour, time.Minute }, 0, true},
		"the budget of a site": {func(o *crawler.Options) { o.MaxHostPages = 1 }, 0, true},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				s := series.Series{Dir: t.TempDir()}
				job := jobOf("", "http://a.example/")
				test.change(job.Options)
				r := begin(t, s, job, series.Moment{Now: monday})
				if state, err := r.State(); err != nil || state.Begun || state.Over {
					t.Errorf("before its first request: %+v, %v", state, err)
				}
				crawlInto(t, r, job, test.stop)
				state, err := r.State()
				if err != nil || !state.Begun || state.Over != test.over || state.Ended().IsZero() == test.over {
					t.Errorf("%+v, %v", state, err)
				}
			})
		})
	}
}

// If a run was killed before its crawl began, the next run continues its snapshot. If it was
// killed while it made the snapshot, the next run makes it again.
func TestAKillLeavesAWholeSnapshotOrNone(t *testing.T) {
	s := series.Series{Dir: t.TempDir()}
	for _, name := range []string{"20261122T030000Z.crawl.new", "20261123T030000Z.crawl.new", "notes.new"} {
		torn := filepath.Join(s.Dir, name)
		if err := errors.Join(os.Mkdir(torn, 0o755), os.WriteFile(filepath.Join(torn, series.SeedsFile), []byte("http://to"), 0o644)); err != nil {
			t.Fatal(err)
		}
	}
	r := begin(t, s, jobOf("", "http://a.example/"), series.Moment{Now: monday})
	entries, err := os.ReadDir(s.Dir)
	if names := fmt.Sprint(entries); err != nil || names != "[d 20261123T030000Z.crawl/ d notes.new/ - series.lock]" || r.Resumed {
		t.Errorf("%+v, %v: %s", r, err, names)
	}
	end(t, r)
	r = begin(t, s, jobOf("", "http://b.example/"), series.Moment{Now: monday.Add(time.Minute)})
	if !r.Resumed || !slices.Equal(r.Seeds, []string{"http://a.example/"}) {
		t.Errorf("%+v", r)
	}
}

func TestASeriesIsInUseByOne(t *testing.T) {
	s := series.Series{Dir: t.TempDir()}
	r := begin(t, s, jobOf("", "http://a.example/"), series.Moment{Now: monday})
	var inUse *series.InUseError
	if _, err := s.Begin(jobOf("", "http://a.example/"), series.Moment{Now: monday}); !errors.As(err, &inUse) || inUse.PID != os.Getpid() {
		t.Errorf("%v", err)
	}
	if err := s.Free(); !errors.As(err, &inUse) || !inUse.Since.Equal(monday) {
		t.Errorf("%v", err)
	}
	if want := fmt.Sprintf("the series %s is in use by process %d, which runs since 2026-11-23T03:00:00Z: wait until it ends", s.Dir, os.Getpid()); inUse.Error() != want {
		t.Errorf("%v, want %s", inUse, want)
	}
	lockFile := filepath.Join(s.Dir, series.LockFile)
	if raw, err := os.ReadFile(lockFile); err != nil || string(raw) != fmt.Sprintf(`{"pid":%d,"started":"2026-11-23T03:00:00Z"}`+"\n", os.Getpid()) {
		t.Errorf("%s, %v", raw, err)
	}
	if err := os.WriteFile(lockFile, []byte(`{"pid": 7, "started": 8}`), 0o644); err != nil {
		t.Fatal(err)
	}
	if err := s.Free(); err == nil || err.Error() != "the series "+s.Dir+" is in use by another process: wait until it ends" {
		t.Errorf("one that does not say who has it: %v", err)
	}
	end(t, r)
	if err := s.Free(); err != nil {
		t.Error(err)
	}
	begin(t, s, jobOf("", "http://a.example/"), series.Moment{Now: monday})
}

// A snapshot must be later than all existing ones, so that the newest is known.
func TestNoSnapshotIsMadeTwiceOrBehindAnother(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := series.Series{Dir: t.TempDir()}
		job := jobOf("", "http://a.example/")
		r := begin(t, s, job, series.Moment{Now: monday})
		crawlInto(t, r, job, 0)
		end(t, r)
		for want, at := range map[string]series.Moment{
			"the run of 2026-11-23T03:00:00Z is over: .*/20261123T030000Z.crawl has it":                        {Now: monday.Add(time.Hour), Due: monday},
			"the run of 2026-11-23T02:00:00Z cannot be made any more: 20261123T030000Z.crawl, which came la":   {Now: monday.Add(time.Hour), Due: monday.Add(-time.Hour)},
			"20261123T030000Z.crawl was made in this very second, and is over: begin the next one a second":    {Now: monday.Add(time.Millisecond)},
			"20261123T030000Z.crawl was made at a time that has not come yet, it is 2026-11-23T02:00:00Z: set": {Now: monday.Add(-time.Hour)},
		} {
			_, err := s.Begin(job, at)
			var name *series.NameError
			if !errors.As(err, &name) || !regexp.MustCompile(want).MatchString(err.Error()) {
				t.Errorf("%v, want %s", err, want)
			}
		}
		if err := s.Free(); err != nil {
			t.Errorf("a run that did not begin holds the series: %v", err)
		}
	})
}

func TestADirectoryOfOtherThingsIsNoPlaceForASeries(t *testing.T) {
	for want, names := range map[string][]string{
		" is not a series: it has notes.txt in it, and neither snapshots": {"notes.txt"},
		" is a crawl, and no series":                                      {store.StateFile, "crawl.log"},
	} {
		s := series.Series{Dir: t.TempDir()}
		for _, name := range names {
			if err := os.WriteFile(filepath.Join(s.Dir, name), nil, 0o644); err != nil {
				t.Fatal(err)
			}
		}
		var place *series.DirError
		if _, err := s.Begin(jobOf("", "http://a.example/"), series.Moment{Now: monday}); !errors.As(err, &place) || !strings.HasPrefix(err.Error(), s.Dir+want) {
			t.Errorf("%v, want %s", err, want)
		}
	}
	file := filepath.Join(t.TempDir(), "file")
	if err := os.WriteFile(file, nil, 0o644); err != nil {
		t.Fatal(err)
	}
	if _, err := (series.Series{Dir: file}).Begin(jobOf(""), series.Moment{Now: monday}); err == nil || err.Error() != file+" is a file: a series is a directory" {
		t.Error(err)
	}
	link := filepath.Join(t.TempDir(), "link")
	if err := os.Symlink(link+".gone", link); err != nil {
		t.Fatal(err)
	}
	if r, err := (series.Series{Dir: link}).Begin(jobOf(""), series.Moment{Now: monday}); err == nil {
		t.Errorf("a link that leads nowhere is a series: %+v", r)
	}
	s := series.Series{Dir: t.TempDir()}
	for _, name := range []string{series.JobFile, "seeds.txt"} {
		if err := os.WriteFile(filepath.Join(s.Dir, name), nil, 0o644); err != nil {
			t.Fatal(err)
		}
	}
	begin(t, s, jobOf("", "http://a.example/"), series.Moment{Now: monday})
}

// With Fresh, Begin makes a new snapshot even if the last one cannot be read. So a damaged
// snapshot does not block the series.
func TestASnapshotThatIsDamagedIsLeftAsItIs(t *testing.T) {
	s := series.Series{Dir: t.TempDir()}
	job := jobOf("", "http://a.example/")
	r := begin(t, s, job, series.Moment{Now: monday})
	if err := os.WriteFile(filepath.Join(r.Dir, series.SeedsFile), []byte("http://b.example/\n"), 0o644); err != nil {
		t.Fatal(err)
	}
	end(t, r)
	var damaged *store.DamagedError
	if _, err := s.Begin(job, series.Moment{Now: monday.Add(time.Hour)}); !errors.As(err, &damaged) || filepath.Base(damaged.Path) != series.SeedsFile {
		t.Errorf("other seeds: %v", err)
	}
	if err := os.WriteFile(filepath.Join(r.Dir, store.StateFile), bytes.Repeat([]byte("no state"), 1<<12), 0o644); err != nil {
		t.Fatal(err)
	}
	if _, err := s.Begin(job, series.Moment{Now: monday.Add(time.Hour)}); !errors.As(err, &damaged) || filepath.Base(damaged.Path) != store.StateFile {
		t.Errorf("another state: %v", err)
	}
	r = begin(t, s, job, series.Moment{Now: monday.Add(time.Hour), Fresh: true})
	if r.Resumed || r.Previous != "" || r.Start != monday.Add(time.Hour) {
		t.Errorf("%+v", r)
	}
}

// Changed has each kind of difference between two jobs, and counts a repeated seed once. It is
// nil for the same job.
func TestWhatAJobAsksForOtherwiseIsTold(t *testing.T) {
	seeds := []string{"http://a.example/", "http://a.example/1"}
	for name, test := range map[string]struct {
		job  series.Job
		want *series.Changed
	}{
		"the same":       {jobOf("job", seeds...), nil},
		"the file":       {jobOf("job of Ms Rossi", seeds...), &series.Changed{File: true}},
		"a seed more":    {jobOf("job", "http://a.example/", "http://a.example/1", "http://a.example/2", "http://a.example/2"), &series.Changed{SeedsAdded: 1}},
		"a seed less":    {jobOf("job", "http://a.example/"), &series.Changed{SeedsRemoved: 1}},
		"only a setting": {jobOf("job", seeds...), &series.Changed{Settings: []series.Change{{Setting: "delay", Was: "1s", Is: "3s", Way: setting.Tighter}}}},
	} {
		s := series.Series{Dir: t.TempDir()}
		end(t, begin(t, s, jobOf("job", seeds...), series.Moment{Now: monday}))
		if name == "only a setting" {
			test.job.Options.Delay = 3 * time.Second
		}
		r := begin(t, s, test.job, series.Moment{Now: monday.Add(time.Hour), Fresh: true})
		if test.want != nil {
			test.want.Since = "20261123T030000Z.crawl"
		}
		if diff := cmp.Diff(test.want, r.Changed); diff != "" {
			t.Errorf("%s:\n%s", name, diff)
		}
	}
}

// If the seeds of a snapshot are lost, the snapshot is not continued with other seeds.
func TestSeedsThatAreGoneAreDamage(t *testing.T) {
	s := series.Series{Dir: t.TempDir()}
	r := begin(t, s, jobOf("", "http://a.example/"), series.Moment{Now: monday})
	if err := os.Remove(filepath.Join(r.Dir, series.SeedsFile)); err != nil {
		t.Fatal(err)
	}
	end(t, r)
	var damaged *store.DamagedError
	if _, err := s.Begin(jobOf("", "http://b.example/"), series.Moment{Now: monday.Add(time.Hour)}); !errors.As(err, &damaged) {
		t.Error(err)
	}
	// A crawl that was copied here under the name of a snapshot has no seeds file.
	if err := os.Remove(filepath.Join(r.Dir, series.FactsFile)); err != nil {
		t.Fatal(err)
	}
	r = begin(t, s, jobOf("", "http://b.example/"), series.Moment{Now: monday.Add(time.Hour)})
	if !r.Resumed || !slices.Equal(r.Seeds, []string{"http://b.example/"}) || r.Changed != nil {
		t.Errorf("%+v", r)
	}
}

// A missed run is recorded once, even if several processes record it, and even after a line
// that a power cut has left incomplete.
func TestMissedRunsAreKeptOnce(t *testing.T) {
	s := series.Series{Dir: t.TempDir()}
	gone := series.Series{Dir: filepath.Join(s.Dir, "gone")}
	if err := gone.NoteSince(monday); err == nil {
		t.Error("a missed run is noted in a directory that is not there")
	}
	if all, since, err := s.Missed(); len(all) > 0 || !since.IsZero() || err != nil {
		t.Errorf("%v, %v, %v", all, since, err)
	}
	missed := func(week int, why string) series.Missed {
		return series.Missed{Due: monday.AddDate(0, 0, 7*week), Why: why, Noted: monday.AddDate(0, 0, 7*week+1)}
	}
	if err := errors.Join(s.NoteSince(monday), s.NoteSince(monday.Add(time.Hour)), s.NoteMissed(missed(1, series.WhyOff), missed(2, series.WhyOff))); err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(s.Dir, series.MissedFile)
	raw, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, append(raw, raw...), 0o644); err != nil { // as if two processes had written at the same time
		t.Fatal(err)
	}
	all, _, err := s.Missed()
	if text, _ := json.Marshal(all); err != nil || string(text) != `[{"due":"2026-11-30T03:00:00Z","why":"off","noted":"2026-12-01T03:00:00Z"},{"due":"2026-12-07T03:00:00Z","why":"off","noted":"2026-12-08T03:00:00Z"}]` {
		t.Errorf("%s, %v", text, err)
	}
	if err := os.WriteFile(path, raw, 0o644); err != nil {
		t.Fatal(err)
	}
	want := `{"since":"2026-11-23T03:00:00Z"}
{"due":"2026-11-30T03:00:00Z","why":"off","noted":"2026-12-01T03:00:00Z"}
{"due":"2026-12-07T03:00:00Z","why":"off","noted":"2026-12-08T03:00:00Z"}
`
	if string(raw) != want {
		t.Errorf("%s", raw)
	}
	if err := os.Truncate(path, int64(len(raw)-1)); err != nil {
		t.Fatal(err)
	}
	if all, _, err := s.Missed(); len(all) != 1 || err != nil {
		t.Errorf("a line without its end counts: %v, %v", all, err)
	}
	if err := os.Truncate(path, int64(len(raw)-20)); err != nil {
		t.Fatal(err)
	}
	if err := s.NoteMissed(missed(1, series.WhyOverlap), missed(2, series.WhyOverlap), missed(3, series.WhyFailed), missed(3, series.WhyOff)); err != nil {
		t.Fatal(err)
	}
	var since time.Time
	all, since, err = s.Missed()
	if diff := cmp.Diff([]series.Missed{missed(1, series.WhyOff), missed(2, series.WhyOverlap), missed(3, series.WhyFailed)}, all); diff != "" || !since.Equal(monday) || err != nil {
		t.Errorf("%v, %v:\n%s", since, err, diff)
	}
	raw, err = os.ReadFile(path)
	if n := strings.Count(string(raw), `"due":"2026-12-14T03:00:00Z"`); n != 1 || err != nil {
		t.Errorf("a run that is noted twice at once has %d lines: %v\n%s", n, err, raw)
	}
}

// Check names each file of a snapshot that has changed, and what is wrong with it.
func TestWhatIsWrongWithASnapshotIsTold(t *testing.T) {
	write := func(name, text string) func(dir string) error {
		return func(dir string) error { return os.WriteFile(filepath.Join(dir, name), []byte(text), 0o644) }
	}
	remove := func(name string) func(dir string) error {
		return func(dir string) error { return os.Remove(filepath.Join(dir, name)) }
	}
	folder := func(name string) func(dir string) error {
		return func(dir string) error {
			return errors.Join(os.Remove(filepath.Join(dir, name)), os.Mkdir(filepath.Join(dir, name), 0o755))
		}
	}
	for want, change := range map[string]func(dir string) error{
		"": func(string) error { return nil }, " ": remove(series.FactsFile),
		"seeds.txt is damaged: it is not what snapshot.json says":       write(series.SeedsFile, "http://b.example/\n"),
		"job.yaml is damaged: it is not what snapshot.json says":        write(series.JobFile, "other"),
		"job.yaml is damaged: stat job.yaml: no such file or directory": remove(series.JobFile),
		"seeds.txt is damaged: it is no regular file":                   folder(series.SeedsFile),
		"snapshot.json is damaged: it is no regular file":               folder(series.FactsFile),
		"snapshot.json is damaged: unexpected end of JSON input":        write(series.FactsFile, ""),
		"snapshot.json is damaged: stat snapshot.json: too many levels of s": func(dir string) error {
			return errors.Join(remove(series.FactsFile)(dir), os.Symlink(series.FactsFile, filepath.Join(dir, series.FactsFile)))
		},
	} {
		s := series.Series{Dir: t.TempDir()}
		r := begin(t, s, jobOf("job", "http://a.example/"), series.Moment{Now: monday})
		if err := change(r.Dir); err != nil {
			t.Fatal(err)
		}
		got := ""
		for _, err := range r.Check() {
			got += strings.ReplaceAll(err.Error(), r.Dir+string(filepath.Separator), "")
		}
		if !strings.HasPrefix(got, strings.TrimSpace(want)) || got != "" && want == "" || strings.Count(got, "damaged") > 1 {
			t.Errorf("%q, want %q", got, want)
		}
		end(t, r)
	}
}

// Undo restores the series, including the content of the lock file. If there was no series, it
// removes the directory.
func TestARunThatIsUndoneLeavesNothing(t *testing.T) {
	root := t.TempDir()
	s := series.Series{Dir: filepath.Join(root, "weekly")}
	job := jobOf("", "http://a.example/")
	left := func() string {
		t.Helper()
		entries, err := os.ReadDir(s.Dir)
		if err != nil && !errors.Is(err, os.ErrNotExist) {
			t.Fatal(err)
		}
		lock, _ := os.ReadFile(filepath.Join(s.Dir, series.LockFile))
		return fmt.Sprintf("%v %s %v", entries, lock, s.Free())
	}
	undo := func(r *series.Run, want string) {
		t.Helper()
		if err := r.Undo(); err != nil {
			t.Error(err)
		}
		if got := left(); got != want {
			t.Errorf("%s is left, want %s", got, want)
		}
	}
	undo(begin(t, s, job, series.Moment{Now: monday}), "[]  <nil>")
	if _, err := os.Stat(s.Dir); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("the directory of the series stays: %v", err)
	}
	if err := os.Mkdir(s.Dir, 0o755); err != nil {
		t.Fatal(err)
	}
	undo(begin(t, s, job, series.Moment{Now: monday}), "[]  <nil>")
	const was = "what the run before has written, which is longer than what this run writes into its lock\n"
	if err := os.WriteFile(filepath.Join(s.Dir, series.LockFile), []byte(was), 0o644); err != nil {
		t.Fatal(err)
	}
	undo(begin(t, s, job, series.Moment{Now: monday}), "[- series.lock] "+was+" <nil>")
	r := begin(t, s, job, series.Moment{Now: monday})
	if err := os.WriteFile(filepath.Join(r.Dir, "mine"), nil, 0o644); err != nil {
		t.Fatal(err)
	}
	note := fmt.Sprintf(`{"pid":%d,"started":"2026-11-23T03:00:00Z"}`+"\n", os.Getpid())
	undo(r, "[d 20261123T030000Z.crawl/ - series.lock] "+note+" <nil>")
	r = begin(t, s, job, series.Moment{Now: monday.Add(time.Hour)})
	if !r.Resumed {
		t.Errorf("%+v", r)
	}
	undo(r, "[d 20261123T030000Z.crawl/ - series.lock] "+note+" <nil>")
	if err := os.WriteFile(filepath.Join(s.Dir, "20261124T030000Z.crawl"), nil, 0o644); err != nil {
		t.Fatal(err)
	}
	if err := os.Truncate(filepath.Join(s.Dir, series.LockFile), 0); err != nil {
		t.Fatal(err)
	}
	undo(begin(t, s, job, series.Moment{Now: monday.Add(time.Hour)}), "[d 20261123T030000Z.crawl/ - 20261124T030000Z.crawl - series.lock]  <nil>")
	// If a snapshot cannot be made, no file is left.
	if _, err := s.Begin(job, series.Moment{Now: monday.Add(24 * time.Hour), Fresh: true}); err == nil {
		t.Error("a snapshot has the name of a file")
	}
	if got := left(); !strings.Contains(got, "series.lock]  <nil>") {
		t.Error(got)
	}
	// Undo returns an error for each step that it cannot undo.
	for name, spoil := range map[string]func(s series.Series, r *series.Run) error{
		"file already closed": func(_ series.Series, r *series.Run) error { return r.Close() },
		"no such file":        func(s series.Series, _ *series.Run) error { return os.Remove(filepath.Join(s.Dir, series.LockFile)) },
		"directory not empty": func(s series.Series, _ *series.Run) error {
			return os.WriteFile(filepath.Join(s.Dir, "notes"), nil, 0o644)
		},
	} {
		s := series.Series{Dir: filepath.Join(root, name)}
		r := begin(t, s, job, series.Moment{Now: monday})
		if err := spoil(s, r); err != nil {
			t.Fatal(err)
		}
		if err := r.Undo(); err == nil || !strings.Contains(err.Error(), name) {
			t.Errorf("%v, want %s", err, name)
		}
	}
	r = begin(t, s, job, series.Moment{Now: monday})
	if err := errors.Join(r.Close(), r.Undo()); !errors.Is(err, os.ErrClosed) {
		t.Error(err)
	}
	odd := series.Series{Dir: t.TempDir()}
	if err := os.Mkdir(filepath.Join(odd.Dir, series.LockFile), 0o755); err != nil {
		t.Fatal(err)
	}
	if _, err := odd.Begin(job, series.Moment{Now: monday}); !errors.Is(err, syscall.EISDIR) {
		t.Error(err)
	}
	if err := odd.Free(); !errors.Is(err, syscall.EISDIR) {
		t.Error(err)
	}
}

package scheduler_test

import (
	"context"
	"errors"
	"os"
	"testing"
	"testing/synctest"
	"time"

	"github.com/permesso-crawler/permesso/cmd/crawl/internal/scheduler"
	"github.com/permesso-crawler/permesso/crawler"
	"github.com/permesso-crawler/permesso/crawler/crawltest"
	"github.com/permesso-crawler/permesso/internal/series"
)

// Ran reads from the directory of a series: its snapshots, missed runs, beginning, and
// whether a process is at work.
func TestWhatThereWasIsReadFromTheDirectory(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		monday := time.Date(2026, 11, 23, 3, 0, 0, 0, time.UTC)
		d := &scheduler.Dir{Series: series.Series{Dir: t.TempDir()}}
		if ran, busy, err := d.Ran(monday, false); err != nil || busy != nil || !ran.Since.Equal(monday) || !ran.Last.IsZero() || ran.Going {
			t.Errorf("a new series: %+v, %v, %v", ran, busy, err)
		}
		again := &scheduler.Dir{Series: d.Series}
		if ran, _, err := again.Ran(monday.Add(time.Hour), false); err != nil || !ran.Since.Equal(monday) {
			t.Errorf("after a kill: %+v, %v", ran, err)
		}

		web := crawltest.New(t)
		web.Site("http://a.example").Page("/", "end")
		opts := crawler.Options{
			Identity: crawler.Identity{Token: "testbot", Contact: "https://example.org/testbot"},
			Seeds:    []string{"http://a.example/"}, Keep: crawler.Keep{Output: []crawler.Output{}}, Wire: crawler.Wire{Network: web},
		}
		run, err := d.Begin(series.Job{Options: &opts}, series.Moment{Now: monday, Due: monday})
		if err != nil {
			t.Fatal(err)
		}
		if ran, busy, err := d.Ran(monday, false); err != nil || busy == nil || !ran.Going || !ran.Last.Equal(monday) {
			t.Errorf("a process is at work: %+v, %v, %v", ran, busy, err)
		}
		if ran, busy, err := d.Ran(monday, true); err != nil || busy != nil || !ran.Going {
			t.Errorf("a child is at work: %+v, %v, %v", ran, busy, err)
		}
		if err := run.Close(); err != nil {
			t.Fatal(err)
		}
		if ran, busy, err := d.Ran(monday, false); err != nil || busy != nil || !ran.Going {
			t.Errorf("nothing was crawled yet: %+v, %v, %v", ran, busy, err)
		}
		opts.Dir = run.Dir
		c, err := crawler.New(opts)
		if err == nil {
			err = c.Run(context.Background(), nil)
		}
		if err != nil {
			t.Fatal(err)
		}
		for range 2 { // the second time it is known
			if ran, busy, err := d.Ran(monday, false); err != nil || busy != nil || ran.Going || !ran.Last.Equal(monday) || !ran.Ended.Equal(c.Status().Time) {
				t.Errorf("it is over: %+v, %v, %v", ran, busy, err)
			}
		}
		week := monday.AddDate(0, 0, 7)
		if err := d.NoteMissed(series.Missed{Due: week, Why: series.WhyOff, Noted: week}); err != nil {
			t.Fatal(err)
		}
		if ran, _, err := d.Ran(week, false); err != nil || !ran.Last.Equal(week) || ran.Going {
			t.Errorf("one was missed: %+v, %v", ran, err)
		}
	})
}

func TestADirectoryThatIsGoneIsAnError(t *testing.T) {
	d := &scheduler.Dir{Series: series.Series{Dir: t.TempDir() + "/gone"}}
	if _, _, err := d.Ran(time.Now(), false); !errors.Is(err, os.ErrNotExist) {
		t.Error(err)
	}
}

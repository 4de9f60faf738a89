package progress

import (
	"bytes"
	"strings"
	"testing"
	"time"

	"github.com/permesso-crawler/permesso/cmd/crawl/internal/looks"
	"github.com/permesso-crawler/permesso/cmd/crawl/internal/say"
	"github.com/permesso-crawler/permesso/crawler"
	"github.com/permesso-crawler/permesso/frontier"
)

// A status begins with whether the crawl is running, and what to do if not.
func TestAStatusBeginsWithWhetherTheCrawlGoesOn(t *testing.T) {
	noon := time.Date(2026, 5, 3, 12, 0, 0, 0, time.UTC)
	for want, s := range map[string]crawler.Status{
		"a.crawl as testbot: starting for 2.0s": {State: crawler.StateStarting},
		"a.crawl as testbot: paused for 2.0s":   {State: crawler.StatePaused},
		"a.crawl as testbot: paused for 0.5s": {State: crawler.StatePaused, Orders: []crawler.Order{
			{Do: crawler.OrderPause, Time: noon.Add(-time.Hour)}, {Do: crawler.OrderResume}, {Do: crawler.OrderPause, Time: noon.Add(-500 * time.Millisecond)}, {Do: crawler.OrderSlow, Time: noon},
		}},
		"a.crawl as testbot: not running; its last run ended 2026-05-03 12:00:00 UTC after 2.0s: nothing could be fetched: host names do not resolve": {
			State: crawler.StateEnded, End: crawler.EndUnasked, Run: crawler.StatusRun{Errors: map[string]int{"dns": 4}}},
		"a.crawl as testbot: stopping (stopped) after 2.0s":                                                                                                                           {State: crawler.StateStopping, End: crawler.EndStopped},
		"a.crawl as testbot: not running; its last run ended 2026-05-03 12:00:00 UTC after 2.0s: done: nothing is left":                                                               {State: crawler.StateEnded, End: crawler.EndDone, Crawl: crawler.StatusCrawl{Done: 1}},
		"a.crawl as testbot: not running; its last run was killed, what was done by 2026-05-03 12:00:00 UTC is safe; the same command goes on":                                        {State: crawler.StateKilled},
		"a.crawl as testbot: not running; its last run failed, what was done by 2026-05-03 12:00:00 UTC is safe; the same command goes on":                                            {State: crawler.StateUnknown},
		"a.crawl as testbot: not running; its last run ended for want of room on the disk, what was done by 2026-05-03 12:00:00 UTC is safe; make room, and the same command goes on": {State: crawler.StateNoRoom},
	} {
		s.Dir, s.Name, s.Seconds, s.Time = "a.crawl", "testbot", 2, noon
		var b bytes.Buffer
		StatusLines(&say.Lines{W: &b}, s)
		first, rest, _ := strings.Cut(b.String(), "\n")
		if first != "crawl        "+want {
			t.Errorf("%s\nwant %s", first, want)
		}
		known := s.State != crawler.StateKilled && s.State != crawler.StateNoRoom && s.State != crawler.StateUnknown
		if strings.Contains(rest, "requests ") != known {
			t.Errorf("%s: of the run it says\n%s", s.State, rest)
		}
	}
}

// On a terminal no line is wider than the terminal, and none controls it.
func TestAStatusFitsTheTerminal(t *testing.T) {
	now := time.Now()
	s := crawler.Status{
		Dir: "a.crawl", Name: "testbot", State: crawler.StateRunning, Time: now, Seconds: 100, Run: crawler.StatusRun{Requests: 8, Status: map[int]int{200: 8}},
		Rate: crawler.StatusRate{Seconds: 30, Pages: 1.25, Bytes: 2500}, Crawl: crawler.StatusCrawl{Done: 1, Queued: 2, Known: 3},
		Sites: crawler.StatusSites{
			Known: 5, Left: 4, Busy: 1, Waiting: 2, Excluded: 1,
			Clocks:  map[frontier.Clock]crawler.StatusClock{frontier.RobotsClock: {Sites: 2, Queued: 9, First: now.Add(5 * time.Second), Last: now.Add(time.Minute)}},
			Longest: &crawler.StatusSite{Site: "http://a.test", Queued: 8, Seconds: 80, Pause: 10},
			Asking:  &crawler.StatusSite{Site: "http://b.test", Seconds: 3.5},
		},
		Orders: []crawler.Order{{Time: now, Do: crawler.OrderPause, Reason: "a\x1b[2Jcall" + strings.Repeat(" for a long time", 20)}},
	}
	s.Sites.GivenUpSites = []crawler.StatusSite{{Site: "http://c.test", Queued: 3, Given: frontier.SiteDead, Detail: "connect: \x1b[2Jrefused" + strings.Repeat("漢", 100)}}
	s.Sites.WaitingSites = []crawler.StatusSite{{Site: frontier.Site("http://" + strings.Repeat("w", 253)), Due: now.Add(time.Minute), By: frontier.RobotsClock}}
	for _, height := range []int{100, 24, 5} {
		for width := range 130 {
			all := StatusBlock(s, width, height, false)
			for _, line := range all {
				if looks.Width(line) > width || strings.ContainsRune(line, '\x1b') {
					t.Errorf("%d columns: %q", width, line)
				}
			}
			if height == 24 && (len(all) >= 24) {
				t.Errorf("%d columns: %d lines", width, len(all))
			}
		}
	}
	text := strings.Join(StatusBlock(s, 500, 100, false), "\n")
	for _, want := range []string{
		"pages        0 in this run (2xx), 0 B; 1.2 pages/s and 2.5 kB/s in the last 30 s", "░ 1 of 3 URLs known by now (33%); ",
		"sites        5, 4 with something left: 1 active now, 2 waiting, 1 excluded", "waits for    robots.txt: 2 sites with 9 URLs, the first for 5.0s, the last for 1m0s",
		"longest      http://a.test: at its pause 8 URLs take 1m20s, if none is forbidden", "asking       http://b.test for 3.5s", "\n             http://c.test  given up: no answer (connect: [2Jrefused漢",
		"w\n                            waits 1m0s: robots.txt, which could not be fetched and is tried again then\n", " pause: a[2Jcall for a long time",
	} {
		if !strings.Contains(text, want) {
			t.Errorf("it does not say %q:\n%s", want, text)
		}
	}
}

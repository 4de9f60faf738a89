package main

import (
	"testing"

	"github.com/permesso-crawler/permesso/crawler"
)

// Of the last snapshot of a series it is said how it ended, and whether the next run goes on
// with it.
func TestAScheduleSaysHowTheLastSnapshotEnded(t *testing.T) {
	for want, last := range map[string]listedLast{
		"done, 2 pages": {State: "over", End: string(crawler.EndDone), Pages: 2},
		"stopped, 1 page: the next run goes on with it":                                              {State: "not over", End: string(crawler.EndStopped), Pages: 1},
		"killed, 2 pages: the next run goes on with it":                                              {State: "not over", End: string(crawler.StateKilled), Pages: 2},
		"failed, 2 pages: the next run goes on with it":                                              {State: "not over", End: string(crawler.StateUnknown), Pages: 2},
		"stopped for want of room on the disk, 2 pages: make room, and the next run goes on with it": {State: "not over", End: string(crawler.StateNoRoom), Pages: 2},
		"its crawl has not begun: the next run goes on with it":                                      {State: "made"},
		"going on now": {State: "going on"},
		"unreadable":   {State: "not over", Error: "unreadable"},
	} {
		if got := last.words(); got != want {
			t.Errorf("%s\nwant %s", got, want)
		}
	}
}

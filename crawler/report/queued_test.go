package report_test

import (
	"testing"
	"time"

	"github.com/permesso-crawler/permesso/frontier"
	"github.com/permesso-crawler/permesso/storage"
)

// queued is a crawl with two URLs at a site that asks for seven seconds, and is due in
// thirty, and one at a site that was given up.
func queued(t *testing.T, now time.Time) string {
	t.Helper()
	dir := t.TempDir()
	db, err := storage.Open(dir, storage.Options{})
	if err != nil {
		t.Fatal(err)
	}
	entry := func(url string) frontier.Entry {
		u, err := frontier.ParseURL(url)
		if err != nil {
			t.Fatal(err)
		}
		return frontier.Entry{URL: u}
	}
	for _, c := range []frontier.Completion{
		{Links: []frontier.Entry{entry("http://slow.test/1"), entry("http://slow.test/2"), entry("http://dead.test/")}},
		{Site: "http://slow.test", Clocks: frontier.Clocks{Due: now.Add(30 * time.Second), By: frontier.CrawlDelayClock, Gap: 7 * time.Second, GapBy: frontier.CrawlDelayClock, Ended: now}},
		{Site: "http://dead.test", Given: frontier.Fate{Code: frontier.SiteDead, Detail: "connect", Time: now}},
	} {
		if err := db.Submit(c); err != nil {
			t.Fatal(err)
		}
	}
	if err := db.Close(); err != nil {
		t.Fatal(err)
	}
	return dir
}

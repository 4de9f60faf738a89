package report_test

import (
	"errors"
	"testing"
	"time"

	"github.com/permesso-crawler/permesso/frontier"
	"github.com/permesso-crawler/permesso/internal/crawllog"
	"github.com/permesso-crawler/permesso/internal/store"
)

// queued makes a crawl with two URLs at a site that requires pauses of 7 seconds and may be
// requested in 30 seconds, and with one URL at a site that was given up.
func queued(t *testing.T, now time.Time) string {
	t.Helper()
	dir := t.TempDir()
	db, err := store.Open(dir, store.Options{})
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

// visited makes a crawl with a page that waits to be fetched again, and with a queued page.
func visited(t *testing.T, now, next time.Time) string {
	t.Helper()
	dir := t.TempDir()
	db, err := store.Open(dir, store.Options{})
	if err != nil {
		t.Fatal(err)
	}
	submit := func(c frontier.Completion) {
		t.Helper()
		if err := db.Submit(c); err != nil {
			t.Fatal(err)
		}
		for settled := 0; settled < 1; {
			g := <-db.Grown()
			if settled += g.Settled; g.Err != nil {
				t.Fatal(g.Err)
			}
		}
	}
	const site = frontier.Site("http://a.test")
	var links []frontier.Entry
	for _, target := range []string{"/1", "/2"} {
		u, err := site.URL(target)
		if err != nil {
			t.Fatal(err)
		}
		links = append(links, frontier.Entry{URL: u})
	}
	submit(frontier.Completion{Links: links})
	var read [1]frontier.Entry
	if n, err := db.Read(site, now, read[:]); n != 1 || err != nil {
		t.Fatal(n, err)
	}
	e, fate := read[0], frontier.Fate{Code: frontier.Fetched, Status: 200, Time: now}
	e.Visits = &frontier.Visits{First: now, Last: fate}
	fate.Until = next
	submit(frontier.Completion{Site: site, Entry: e, Fate: fate})
	line := &crawllog.Line{Time: now, Start: now, Status: 200, URL: e.URL.String(), Type: "text/html",
		Annotations: []string{"start:" + now.Format("2006-01-02T15:04:05.000000Z"), "took:0.100000"}}
	if err := errors.Join(db.Log().Write(line), db.Close()); err != nil {
		t.Fatal(err)
	}
	return dir
}

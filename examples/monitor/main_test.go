package main

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/permesso-crawler/permesso/crawler"
	"github.com/permesso-crawler/permesso/crawler/crawltest"
)

const day = 24 * time.Hour

// put sets the sitemap of a site, whose pages have the given dates. A page without a date has
// no lastmod.
func put(site *crawltest.Site, dates map[string]time.Time) {
	var list strings.Builder
	for _, path := range slices.Sorted(maps.Keys(dates)) {
		at := dates[path]
		fmt.Fprintf(&list, "<url><loc>https://a.example%s</loc>", path)
		if !at.IsZero() {
			fmt.Fprintf(&list, "<lastmod>%s</lastmod>", at.Format(time.RFC3339))
		}
		list.WriteString("</url>")
	}
	site.File("/map.xml", "application/xml", `<urlset xmlns="http://www.sitemaps.org/schemas/sitemap/0.9">`+list.String()+"</urlset>")
}

// Each change that a sitemap shows is printed once, within a day, also if the program is killed
// in between. A change that the sitemap does not show is printed after a week, here a day later
// because the site was down then. An outage is no change.
func TestAWeek(t *testing.T) {
	dir := t.TempDir()
	synctest.Test(t, func(t *testing.T) {
		w := crawltest.New(t)
		began := time.Now()
		dates := map[string]time.Time{"/old": began.AddDate(-1, 0, 0), "/dated": began.AddDate(0, -2, 0), "/short": began.AddDate(0, -3, 0), "/undated": {}, "/missing": {}, "/moved": began.AddDate(0, -5, 0)}
		site := w.Site("https://a.example").Robots("User-agent: *\nCrawl-delay: 5\nSitemap: /map.xml").
			Page("/", `<title>Home</title><a href="/linked">x</a>`).Page("/old", "old").Page("/dated", "one").Page("/short", "here").Page("/undated", "one").Page("/moved", "here")
		put(site, dates)
		at := func(after time.Duration, change func()) {
			time.AfterFunc(after+12*time.Minute, func() { change(); put(site, dates) })
		}
		at(1*day, func() { site.Page("/new", "new"); dates["/new"] = time.Now() })
		at(2*day, func() { site.Page("/dated", "two"); dates["/dated"] = time.Now() })
		at(3*day, func() { site.Page("/undated", "two") })
		at(4*day, func() { dates["/old"] = time.Now() }) // the date alone
		at(5*day, func() { site.Status("/short", 410); dates["/short"] = time.Now() })
		at(5*day+6*time.Hour, func() { site.Redirect("/moved", "/old"); dates["/moved"] = time.Now() })
		at(6*day, func() { delete(dates, "/short") })
		time.AfterFunc(7*day-time.Hour, func() { site.Down(true) })
		time.AfterFunc(7*day+2*time.Hour, func() { site.Down(false) })

		var mu sync.Mutex
		printed := map[string]time.Duration{}
		run := func(life time.Duration) {
			ctx, kill := context.WithTimeout(t.Context(), life)
			defer kill()
			err := monitor(ctx, crawler.Options{
				Identity: crawler.Identity{Token: "monitorbot", Contact: "https://example.org/monitorbot"}, Dir: dir,
				Seeds: []string{"https://a.example/"}, Wire: crawler.Wire{Network: w, RootCAs: w.RootCAs()},
			}, func(line string) {
				mu.Lock()
				defer mu.Unlock()
				line = line[len("2000-01-01 00:00 "):]
				if _, twice := printed[line]; twice {
					t.Errorf("%q is printed again after %v", line, time.Since(began))
				}
				printed[line] = time.Since(began)
			})
			if !errors.Is(err, context.DeadlineExceeded) {
				t.Errorf("the error is %v", err)
			}
		}
		run(2*day + 12*time.Hour)
		run(6*day + 12*time.Hour)
		for line, want := range map[string]time.Duration{
			"new https://a.example/": 0, "new https://a.example/old": 0, "new https://a.example/dated": 0, "new https://a.example/short": 0, "new https://a.example/moved": 0, "new https://a.example/undated": 0,
			"new https://a.example/new": 1 * day, "modified https://a.example/dated": 2 * day, "gone https://a.example/short": 5 * day, "gone https://a.example/moved": 5 * day, "modified https://a.example/undated": 8 * day,
		} {
			if got, ok := printed[line]; !ok || got < want || got > want+day {
				t.Errorf("%q is printed after %v, want %v", line, got, want)
			}
			delete(printed, line)
		}
		if len(printed) > 0 {
			t.Errorf("also printed: %v", printed)
		}
		if n := w.Fetched("https://a.example/map.xml"); n < 8 || n > 8*24 {
			t.Errorf("the sitemap was requested %d times", n)
		}
		w.AssertNeverFetched("https://a.example/linked")
		w.AssertDelay("https://a.example", 5*time.Second)
		w.AssertPolite()
	})
}

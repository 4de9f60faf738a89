//go:build unix

package postgres_test

import (
	"context"
	"errors"
	"fmt"
	"sync/atomic"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
	"github.com/permesso-crawler/permesso/crawler"
	"github.com/permesso-crawler/permesso/crawler/crawltest"
	"github.com/permesso-crawler/permesso/storage/postgres"
)

// wide returns a crowd for a web of hosts. Each host has a chain of pages.
func wide(t *testing.T, hosts, pages int) *crowd {
	c := &crowd{t: t, web: crawltest.New(t), url: postgres.NewDatabase(t)}
	for h := range hosts {
		s := c.web.Site(fmt.Sprintf("http://h%d.example", h))
		s.Page("/", "<a href=/1>x</a>")
		for p := 1; p < pages; p++ {
			s.Page(fmt.Sprintf("/%d", p), fmt.Sprintf("<a href=/%d>x</a>", p+1))
		}
		c.seeds = append(c.seeds, fmt.Sprintf("http://h%d.example/", h))
	}
	return c
}

// number returns the number that a query returns, or 0 if the table is missing.
func (c *crowd) number(sql string) (n int) {
	c.t.Helper()
	conn, err := pgx.Connect(c.t.Context(), c.url)
	if err != nil {
		c.t.Fatal(err)
	}
	defer conn.Close(context.Background())
	var pg *pgconn.PgError
	if err := conn.QueryRow(c.t.Context(), sql).Scan(&n); err != nil && !(errors.As(err, &pg) && pg.Code == "42P01") { // the table does not exist yet
		c.t.Fatal(err)
	}
	return n
}

// pages returns how many pages all members have fetched.
func (c *crowd) pages() (n int) {
	for _, m := range c.members {
		n += m.Stats().Pages
	}
	return n
}

// The limit of pages is for all nodes together. Exactly so many pages are fetched, even if one
// node has many and the others few. A second run with a higher limit fetches the difference.
func TestALimitOfPagesCountsForAllNodes(t *testing.T) {
	t.Parallel()
	for _, test := range []struct{ hosts, pages, limit, more int }{{30, 10, 150, 201}, {2, 100, 40, 41}, {30, 5, 1, 3}} {
		t.Run(fmt.Sprint(test), func(t *testing.T) {
			t.Parallel()
			c := wide(t, test.hosts, test.pages)
			limit := test.limit
			c.opts = func(o *crawler.Options) { o.Limit = limit }
			for _, want := range []int{test.limit, test.more} {
				limit = want
				first := c.join(false)
				c.until("the first node has stored its options", func() bool {
					return len(first.ended) > 0 || c.number("select coalesce(max(seq), 0) from crawl.node") > 1
				})
				c.end(first, c.join(false), c.join(false))
				if got := c.pages(); got != want {
					t.Errorf("%d pages were fetched, the limit is %d", got, want)
				}
			}
			for i, m := range c.members {
				if s := m.Summary(); s.End != crawler.EndLimit {
					t.Errorf("node %d: %v", i, s)
				}
			}
		})
	}
}

// If there are fewer pages than the limit, the crawl ends when all are fetched.
func TestACrawlBelowItsLimitEndsWithoutIt(t *testing.T) {
	t.Parallel()
	c := wide(t, 10, 10)
	c.opts = func(o *crawler.Options) { o.Limit = 105 }
	c.end(c.join(false), c.join(false), c.join(false))
	if got := c.pages(); got != 100 {
		t.Errorf("%d of 100 pages were fetched", got)
	}
	for i, m := range c.members {
		if s := m.Summary(); s.End != crawler.EndDone {
			t.Errorf("node %d: %v", i, s)
		}
	}
}

// If one node changes a limit while the crawl runs, the new limit applies to all nodes.
func TestALimitIsChangedForAllNodes(t *testing.T) {
	t.Parallel()
	c := wide(t, 20, 50)
	c.opts = func(o *crawler.Options) { o.Limit = 30 }
	a, b := c.join(true), c.join(true)
	c.until("the first limit is reached", func() bool { return c.pages() >= 30 })
	c.do(b.Limit("more are needed", func(l *crawler.Limits) { l.Pages = 60 }))
	c.until("the second limit is reached", func() bool { return c.pages() >= 60 })
	for _, m := range []*member{a, b} {
		c.do(m.Allow(func(l *crawler.Limits) { l.Open = false }))
	}
	c.end(a, b)
	if got := c.pages(); got != 60 {
		t.Errorf("%d pages were fetched, the limit is 60", got)
	}
}

// After the limit of bytes is reached, no node begins a request.
func TestALimitOfBytesCountsForAllNodes(t *testing.T) {
	t.Parallel()
	c := wide(t, 20, 30)
	var bytes atomic.Int64
	c.opts = func(o *crawler.Options) { o.MaxBytes, o.Delay = 3000, 20*time.Millisecond }
	c.end(c.join(false), c.join(false), c.join(false))
	for i, m := range c.members {
		s := m.Summary()
		bytes.Add(s.Bytes)
		if s.End != crawler.EndLimit {
			t.Errorf("node %d: %v", i, s)
		}
	}
	if got := bytes.Load(); got < 3000 || got > 3600 { // more than the limit by less than one round of bodies
		t.Errorf("%d bytes were fetched, the limit is 3000", got)
	}
}

// Sites at one public address share its pause, even if several nodes have them.
func TestNodesShareTheClocksOfAddresses(t *testing.T) {
	t.Parallel()
	const gap = 200 * time.Millisecond
	c := wide(t, 8, 1)
	for h := range 8 {
		c.web.Site(fmt.Sprintf("http://h%d.example", h)).Addr("93.184.216.34")
	}
	c.opts = func(o *crawler.Options) { o.IPDelay = gap }
	c.end(c.join(false), c.join(false), c.join(false))
	all := c.web.Log()
	first, last := all[0].Start, all[0].Start
	for _, r := range all {
		if r.Start.Before(first) {
			first = r.Start
		}
		if r.Start.After(last) {
			last = r.Start
		}
	}
	// The 24 requests include those for robots.txt and for missing pages. A request may arrive
	// later than it began.
	if took, least := last.Sub(first), time.Duration(len(all)-1)*gap*9/10; len(all) != 24 || took < least {
		t.Errorf("%d requests in %v, want 24 in at least %v", len(all), took, least)
	}
}

// checkLimit fails unless the database has as many pages as the limit, and has granted no more. A
// kill may have counted a page that was not committed.
func checkLimit(t *testing.T, url string, limit, faults int) {
	t.Helper()
	conn, err := pgx.Connect(t.Context(), url)
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close(context.Background())
	var pages, granted int
	err = conn.QueryRow(t.Context(), "select (select count(*) from crawl.entry where status between 200 and 299), (select pages from crawl.crawl)").Scan(&pages, &granted)
	if err != nil || pages > limit || pages < limit-faults || granted != limit {
		t.Errorf("%d pages in the database, %d granted, the limit is %d; %v", pages, granted, limit, err)
	}
}

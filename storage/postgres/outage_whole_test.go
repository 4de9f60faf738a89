//go:build unix

package postgres_test

import (
	"sync/atomic"
	"testing"
	"time"

	"github.com/permesso-crawler/permesso/crawler"
	"github.com/permesso-crawler/permesso/crawler/crawltest"
	"github.com/permesso-crawler/permesso/storage/postgres"
)

// The figures of a node say since when its database does not answer. They are read without it.
func TestAnOutageIsInTheStatus(t *testing.T) {
	t.Parallel()
	var away atomic.Bool
	url := postgres.NewProxy(t, postgres.NewDatabase(t), func(string) postgres.Verdict {
		if away.Load() {
			return postgres.CutBefore
		}
		return postgres.Forward
	})
	c := &crowd{t: t, web: crawltest.New(t), url: url, seeds: []string{"http://a.example/"}}
	c.web.Site("http://a.example").Page("/", "")
	a := c.join(true)
	c.until("the page is fetched", func() bool { return c.web.Fetched("http://a.example/") == 1 })
	if s := a.Status(); !s.Outage.IsZero() {
		t.Errorf("the database has not answered since %v", s.Outage)
	}
	began := time.Now()
	away.Store(true)
	c.until("the outage is in the figures", func() bool { return !a.Stats().Outage.IsZero() })
	s := a.Status()
	if s.State != crawler.StateRunning || s.Outage != a.Stats().Outage || s.Outage.Before(began) || s.Time.Sub(s.Outage) < 2*time.Second {
		t.Errorf("%s at %v: the database has not answered since %v", s.State, s.Time, s.Outage)
	}
	away.Store(false)
	c.until("the outage is over", func() bool { return a.Status().Outage.IsZero() })
	c.do(a.Allow(func(l *crawler.Limits) { l.Open = false }))
	c.end(a)
}

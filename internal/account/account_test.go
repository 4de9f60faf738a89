package account

import (
	"iter"
	"testing"
	"time"

	"github.com/permesso-crawler/permesso/crawler"
	"github.com/permesso-crawler/permesso/frontier"
	"github.com/permesso-crawler/permesso/internal/kept"
	"github.com/permesso-crawler/permesso/internal/store"
)

// noValues implements store.Values for a crawl that has stored no values.
type noValues struct{}

func (noValues) Get(string, any) (bool, error)        { return false, nil }
func (noValues) Keys(string) iter.Seq2[string, error] { return func(func(string, error) bool) {} }

// The code of an entry is decided first by the entry itself, then by its site, then by the
// crawl.
func TestACodeIsWhatIsHeldAgainstTheURLItsSiteAndTheCrawl(t *testing.T) {
	now := time.Date(2026, 7, 1, 12, 0, 0, 0, time.UTC)
	later, latest := now.Add(time.Minute), now.Add(time.Hour)
	own := frontier.Clocks{Due: later, By: frontier.CrawlDelayClock}
	spent := frontier.Spent{Pages: 5, Bytes: 500, Time: 5 * time.Second}
	dead := frontier.Fate{Code: frontier.SiteDead, Detail: "connect"}
	waits := frontier.Fate{Code: frontier.Waiting, Until: latest}
	for name, c := range map[string]struct {
		fate         frontier.Fate
		site         frontier.SiteState
		opts         crawler.Options
		full         bool
		shown, paged bool
		want         Listed
	}{
		"fetched": {fate: frontier.Fate{Code: frontier.Fetched, Status: 404}, want: Listed{Code: frontier.Fetched, Reason: "status 404"}},
		"refused": {fate: frontier.Fate{Code: frontier.RobotsDisallowed, Detail: "line 2"}, want: Listed{Code: frontier.RobotsDisallowed, Reason: "line 2"}},
		"use":     {fate: frontier.Fate{Code: frontier.UseRefused, Detail: "noai"}, want: Listed{Code: frontier.UseRefused, Reason: "noai"}},
		"failed":  {fate: frontier.Fate{Code: frontier.Failed, Detail: "http 500"}, want: Listed{Code: frontier.Failed, Reason: "http 500"}},
		"scope":   {fate: frontier.Fate{Code: frontier.ScopeNarrowed, Detail: "filtered"}, want: Listed{Code: frontier.ScopeNarrowed, Reason: "filtered"}},
		"optout":  {fate: frontier.Fate{Code: frontier.OptedOut, Detail: "x:1"}, want: Listed{Code: frontier.OptedOut, Reason: "x:1"}},
		"purged": {fate: frontier.Fate{Code: frontier.OptedOut, Detail: "purged: a.example", Time: later},
			want: Listed{Code: frontier.OptedOut, Reason: "a.example", Purged: later}},
		"queued":      {want: Listed{Code: frontier.Queued}},
		"waiting":     {site: frontier.SiteState{Clocks: own}, want: Listed{Code: frontier.Waiting, Clock: frontier.CrawlDelayClock, Until: later}},
		"was waiting": {site: frontier.SiteState{Clocks: frontier.Clocks{Due: now, By: frontier.OwnClock}}, want: Listed{Code: frontier.Queued}},
		"waits by itself": {fate: waits, site: frontier.SiteState{Clocks: own},
			want: Listed{Code: frontier.Waiting, Clock: frontier.RetryClock, Until: latest}},
		"its site waits longer": {fate: frontier.Fate{Code: frontier.Waiting, Until: now.Add(time.Second)}, site: frontier.SiteState{Clocks: own},
			want: Listed{Code: frontier.Waiting, Clock: frontier.CrawlDelayClock, Until: later}},
		"has waited": {fate: frontier.Fate{Code: frontier.Waiting, Until: now}, want: Listed{Code: frontier.Queued}},
		"dead":       {fate: waits, site: frontier.SiteState{Fate: dead, Clocks: own, Spent: spent}, opts: crawler.Options{Budget: crawler.Budget{MaxHostPages: 5}}, full: true, want: Listed{Code: frontier.SiteDead, Reason: "connect"}},
		"unreachable": {site: frontier.SiteState{Fate: frontier.Fate{Code: frontier.RobotsUnreachable, Detail: "http 500"}},
			want: Listed{Code: frontier.RobotsUnreachable, Reason: "http 500"}},
		"pages": {fate: waits, site: frontier.SiteState{Spent: spent, Clocks: own}, opts: crawler.Options{Budget: crawler.Budget{MaxHostPages: 5, MaxHostBytes: 500}}, full: true,
			want: Listed{Code: frontier.BudgetSpent, Reason: "max-host-pages 5"}},
		"bytes":         {site: frontier.SiteState{Spent: spent}, opts: crawler.Options{Budget: crawler.Budget{MaxHostPages: 6, MaxHostBytes: 500}}, want: Listed{Code: frontier.BudgetSpent, Reason: "max-host-bytes 500B"}},
		"time":          {site: frontier.SiteState{Spent: spent}, opts: crawler.Options{Budget: crawler.Budget{MaxHostTime: 5 * time.Second}}, want: Listed{Code: frontier.BudgetSpent, Reason: "max-host-time 5s"}},
		"budget left":   {site: frontier.SiteState{Spent: spent}, opts: crawler.Options{Budget: crawler.Budget{MaxHostPages: 6, MaxHostBytes: 501, MaxHostTime: 6 * time.Second}}, want: Listed{Code: frontier.Queued}},
		"full":          {fate: waits, site: frontier.SiteState{Clocks: own}, full: true, want: Listed{Code: frontier.LimitReached}},
		"shown":         {site: frontier.SiteState{Spent: spent}, opts: crawler.Options{Budget: crawler.Budget{MaxHostPages: 5}}, full: true, paged: true, shown: true, want: Listed{Code: frontier.Queued}},
		"shown, bytes":  {site: frontier.SiteState{Spent: spent}, opts: crawler.Options{Budget: crawler.Budget{MaxHostPages: 5, MaxHostBytes: 500}}, shown: true, want: Listed{Code: frontier.BudgetSpent, Reason: "max-host-bytes 500B"}},
		"shown, full":   {site: frontier.SiteState{Spent: spent}, full: true, shown: true, want: Listed{Code: frontier.LimitReached}},
		"ended, though": {fate: frontier.Fate{Code: frontier.Failed}, site: frontier.SiteState{Fate: dead, Spent: spent}, full: true, want: Listed{Code: frontier.Failed}},
	} {
		a := &Account{now: now, stored: Stored{Options: c.opts}, full: c.full, paged: c.paged}
		var err error
		if a.own, err = kept.ReadSites(noValues{}, a.stored.usual()); err != nil {
			t.Fatal(err)
		}
		settings, err := a.Site(c.site.Site)
		if err != nil {
			t.Fatal(err)
		}
		h := a.heldBy(&c.site, &settings, c.shown)
		k := store.Kept{Fate: c.fate}
		c.want.Kept = k
		if got := listed(k, &h); got != c.want {
			t.Errorf("%s: %+v, want %+v", name, got, c.want)
		}
		c.want.Kept = store.Kept{}
		if got, err := a.Held(&c.site); c.fate == (frontier.Fate{}) && !c.shown && (err != nil || got != c.want) {
			t.Errorf("%s, without an entry: %+v, %v, want %+v", name, got, err, c.want)
		}
	}
}

package report

import (
	"cmp"
	"math"
	"slices"
	"time"

	"github.com/permesso-crawler/permesso/frontier"
	"github.com/permesso-crawler/permesso/storage/crawllog"
)

// tick is what rounding to microseconds may take from a pause in the log.
const tick = 3 * time.Microsecond

// A site is what is known of one while the log passes by.
type site struct {
	name                          frontier.Site
	requests, ruled, pages, bytes int64 // ruled: requests for robots.txt
	refused, use, optout          int64
	troubles                      [8]uint32 // by Classes
	ttfb                          histogram
	asked                         time.Duration
	clock                         frontier.Clock
	robots                        string

	run        int       // of the last request; 0 before the first
	began, end time.Time // of the one that ended last
}

// unasked takes in what ended without a request.
func (s *site) unasked(status int) {
	switch status {
	case crawllog.RobotsDisallowed:
		s.refused++
	case crawllog.UseRefused:
		s.use++
	case crawllog.OptedOut:
		s.optout++
	}
}

// request takes in a request.
func (s *site) request(l *crawllog.Line, q *crawllog.Request, robots, page bool) {
	s.requests++
	s.bytes += max(0, l.Size)
	if robots {
		s.ruled++
	}
	if page {
		s.pages++
	}
	if q.Refused != "" {
		s.use++
	}
	if q.TTFB > 0 {
		s.ttfb.add(q.TTFB)
	}
	if class := classOf(l.Status, q.Error); class != "" && !(robots && class == "4xx") { // no robots.txt is no trouble
		s.troubles[slices.Index(Classes(), class)]++
	}
	switch c := frontier.Clock(q.Clock); c {
	case frontier.OwnClock, frontier.CrawlDelayClock, frontier.RateClock:
		if q.Asked > s.asked {
			s.asked, s.clock = q.Asked, c
		}
	}
}

// passed notes a request for the pause behind it.
func (s *site) passed(run int, q *crawllog.Request) {
	if s.run != run || q.End.After(s.end) {
		s.run, s.began, s.end = run, q.Start, q.End
	}
}

// A delayBin is a group of requests by a clock, and by what was asked and kept: eight for
// each power of ten.
type delayBin struct {
	clock       frontier.Clock
	asked, kept int
}

const delaysPerDecade = 8

// pause judges how long a request has waited, by what its line says was asked.
func (r *reporter) pause(n int64, s *site, q *crawllog.Request) {
	if s.run == r.Runs && s.run > 0 && q.TTFB > 0 && q.Start.After(s.began) {
		every := bin(q.Start.Sub(s.began).Seconds(), 4)
		if r.rates[every] == nil {
			r.rates[every] = &histogram{}
		}
		r.rates[every].add(q.TTFB)
	}
	if q.Clock == "" {
		return
	}
	since := q.Since
	if since.IsZero() && s.run == r.Runs {
		since = s.end
	}
	if since.IsZero() {
		r.Polite.Unknown++
		return
	}
	clock, kept := frontier.Clock(q.Clock), q.Start.Sub(since)
	p := &r.Polite
	left := kept - q.Asked
	if p.Judged++; p.LeastLine == 0 || left.Seconds() < p.Least {
		p.Least, p.LeastLine, p.LeastClock = left.Seconds(), n, clock
	}
	early := left < -tick
	if early {
		p.Early++
	} else if clock == frontier.RetryAfterClock {
		p.RetryAfter++
	}
	r.dot(n, delayBin{clock, bin(q.Asked.Seconds(), delaysPerDecade), bin(kept.Seconds(), delaysPerDecade)}, q.Asked, kept, early)
}

// dot puts a request with those that are like it.
func (r *reporter) dot(n int64, b delayBin, asked, kept time.Duration, early bool) {
	if r.delays[b] == nil && len(r.delays) >= mostNames && !early {
		b = delayBin{clock: restName}
	}
	d := r.delays[b]
	if d == nil {
		d = &Delay{Clock: b.clock, Asked: math.Inf(-1)}
		r.delays[b] = d
	}
	if d.Requests++; (kept - asked).Seconds() < d.Kept-d.Asked {
		d.Asked, d.Kept, d.Line = asked.Seconds(), kept.Seconds(), n
	}
	if early {
		d.Early++
	}
}

// delayRows are the groups by clock, and by what was asked and kept.
func (r *reporter) delayRows() []Delay {
	rows := []Delay{}
	for _, d := range r.delays {
		rows = append(rows, *d)
	}
	slices.SortFunc(rows, func(a, b Delay) int {
		return cmp.Or(cmp.Compare(a.Clock, b.Clock), cmp.Compare(a.Asked, b.Asked), cmp.Compare(a.Kept, b.Kept), cmp.Compare(a.Line, b.Line))
	})
	return rows
}

func (r *reporter) rateRows() []Rate {
	rows := []Rate{}
	for every, h := range r.rates {
		rows = append(rows, Rate{rounded(math.Pow(10, float64(every+1)/4), 12), h.n, h.quantile(0.5), h.quantile(0.9)})
	}
	slices.SortFunc(rows, func(a, b Rate) int { return cmp.Compare(b.Every, a.Every) })
	return rows
}

// siteTables makes the tables that are about sites.
func (r *reporter) siteTables() {
	bySite := func(a, b frontier.Site) int { return cmp.Compare(a, b) }
	rows := top[SiteRow]{most: mostSites, order: func(a, b SiteRow) int { return cmp.Or(cmp.Compare(b.Requests, a.Requests), bySite(a.Site, b.Site)) }}
	rules := top[Rules]{most: mostBars, order: func(a, b Rules) int {
		return cmp.Or(cmp.Compare(b.Refused+b.Use+b.OptOut, a.Refused+a.Use+a.OptOut), cmp.Compare(b.Asked, a.Asked), bySite(a.Site, b.Site))
	}}
	troubles := top[Trouble]{most: mostBars, order: func(a, b Trouble) int { return cmp.Or(cmp.Compare(b.All, a.All), bySite(a.Site, b.Site)) }}
	hosts := map[string]bool{}
	for _, s := range r.sites {
		hosts[s.name.Host()] = true
		rows.add(SiteRow{s.name, s.requests, s.pages, s.bytes, s.asked.Seconds(), s.clock, s.ttfb.quantile(0.5), cmp.Or(s.robots, "not asked for")})
		rules.add(Rules{s.name, s.requests - s.ruled, s.refused, s.use, s.optout})
		t := Trouble{Site: s.name}
		for i, n := range s.troubles {
			if t.All += int64(n); n > 0 {
				t.Classes = append(t.Classes, Count{Classes()[i], int64(n)})
			}
		}
		if t.All > 0 {
			troubles.add(t)
		}
	}
	r.Sites, r.Hosts = int64(len(r.sites)), int64(len(hosts))
	r.SiteRows, r.Rules, r.Troubles = rows.table(), rules.table(), troubles.table()
}

package report

import (
	"cmp"
	"context"
	"maps"
	"slices"
	"time"

	"github.com/permesso-crawler/permesso/crawler"
	"github.com/permesso-crawler/permesso/frontier"
	"github.com/permesso-crawler/permesso/internal/crawllog"
)

// The limits of the memory of a Live.
const (
	mostLiveSites = 20_000 // number of sites with their numbers
	mostLatest    = 25     // number of latest answers, errors and refusals, each
	mostSamples   = 240
)

// A Live makes reports of a running crawl and its recent past. The caller passes it the last
// lines of crawl.log, and the status of the crawl. It needs bounded memory. It is not safe for
// concurrent use.
type Live struct {
	r       *reporter
	sites   map[frontier.Site]*liveSite
	samples []sample
	latest  latest
	errors  latest
	refused latest
}

// A liveSite is a site and its row in a table.
type liveSite struct {
	site
	row SiteRow
	new bool // the site has changed since its row was made
}

// NewLive returns a Live for the crawl with the given name.
func NewLive(name string) *Live {
	l := &Live{r: newReporter(context.Background(), []string{name}, Options{}), sites: map[frontier.Site]*liveSite{}}
	l.r.Name, l.r.Runs = name, 1
	return l
}

// Begin returns the time of the first line that was added, or the zero time if no line was.
func (l *Live) Begin() time.Time { return l.r.First }

// Line adds a line of crawl.log, without its end. Lines must come in their order. A line that
// cannot be read is counted.
func (l *Live) Line(text []byte) {
	line, err := crawllog.Parse(string(text))
	var request *crawllog.Request
	if err == nil {
		request, err = line.Request()
	}
	if err != nil {
		l.r.Others++
		return
	}
	l.r.moment(line.Time)
	if line.URL == crawllog.RunURL {
		l.r.run(line)
		return
	}
	u, err := frontier.ParseURL(line.URL)
	if err != nil {
		l.r.Others++
		return
	}
	if wholeSite(line) {
		return
	}
	s := l.site(u.Site())
	s.new = true
	n := l.r.Lines
	if request == nil {
		s.unasked(line.Status)
		if refused := refusal(line.Status); refused > 0 {
			l.r.time.at(line.Time).Refused += refused
			l.refused.add(row(line, nil))
		}
		return
	}
	l.r.count(n, line, request)
	s.request(line, request)
	l.r.pause(n, l.r.Runs, &s.site, request)
	s.passed(l.r.Runs, request)
	l.latest.add(row(line, request))
	if class := classOf(line.Status, request.Error); class != "" && !(isRobots(line) && class == "4xx") {
		l.errors.add(row(line, request))
	}
	if isRobots(line) && !request.Use {
		s.robots = robotsResult(line, request)
	}
}

// site returns the numbers of a site. If there are too many sites, it forgets one of them.
func (l *Live) site(name frontier.Site) *liveSite {
	s := l.sites[name]
	if s == nil {
		if len(l.sites) >= mostLiveSites {
			for other := range l.sites {
				delete(l.sites, other)
				break
			}
		}
		s = &liveSite{site: site{name: name}}
		l.sites[name] = s
	}
	return s
}

// A sample is the size of the frontier at one moment.
type sample struct {
	at           time.Time
	known, ended int
}

// Status adds a sample of the frontier. It should be called at regular intervals.
func (l *Live) Status(s *crawler.Status) {
	if s.Crawl.Known == 0 {
		return
	}
	if len(l.samples) >= mostSamples { // there are too many samples, so drop every second one
		for i := range mostSamples / 2 {
			l.samples[i] = l.samples[2*i]
		}
		l.samples = l.samples[:mostSamples/2]
	}
	l.samples = append(l.samples, sample{s.Time.UTC(), s.Crawl.Known, s.Crawl.Done + s.Crawl.Again})
	l.r.time.at(s.Time) // continue the series, although there may be no lines
}

// Report returns a report of all lines so far and of a status of the crawl. Later calls of
// other methods do not change the result.
func (l *Live) Report(s *crawler.Status) *Recent {
	whole := *l.r.Report
	r := &Recent{Report: &whole, samples: slices.Clone(l.samples)}
	r.latest, r.errors, r.refused = l.latest.newest(), l.errors.newest(), l.refused.newest()
	r.Token, r.RobotsRequests = s.Name, int64(s.Run.Robots)
	r.Polite = Polite{
		Judged: int64(s.Polite.Requests), Early: int64(s.Polite.Early), Least: s.Polite.LeastMargin, RetryAfter: int64(s.Polite.RetryAfter),
	}
	r.Series = l.r.time.series()
	r.Series.Points = slices.Clone(r.Series.Points)
	r.Delays, r.Rates = l.r.delayRows(), l.r.rateRows()
	for _, name := range slices.Sorted(maps.Keys(l.r.types)) {
		r.Types = append(r.Types, *l.r.types[name])
	}
	slices.SortStableFunc(r.Types, func(a, b Type) int { return cmp.Compare(b.Bytes, a.Bytes) })
	r.Slowest = Table[Request]{l.r.slowest.all, slices.Clone(l.r.slowest.table().Rows)}
	r.Outcomes, r.Left = outcomesOf(s), leftOf(s)
	l.siteTables(r)
	return r
}

// siteTables makes the tables with a row for each site.
func (l *Live) siteTables(r *Recent) {
	rows, slow := l.r.rows, top[SiteRow]{most: mostBars, order: func(a, b SiteRow) int {
		return cmp.Or(cmp.Compare(b.Median, a.Median), cmp.Compare(a.Site, b.Site))
	}}
	rules, troubles := l.r.rules, l.r.troubles
	for _, s := range l.sites {
		if s.new {
			s.new, s.row = false, s.siteRow()
		}
		rows.first(s.row)
		if s.row.Median > 0 {
			slow.first(s.row)
		}
		rules.first(s.rulesRow())
		if t := s.trouble(); t.All > 0 {
			troubles.first(t)
		}
	}
	r.SiteRows, r.Rules, r.Troubles, r.slow = rows.table(), rules.table(), troubles.table(), slow.table()
}

// outcomesOf returns why the run did not fetch URLs, with the number of URLs for each reason.
func outcomesOf(s *crawler.Status) []Outcome {
	n := map[frontier.Code]int{}
	for code, urls := range s.Run.SkippedURLs {
		n[code] += urls
	}
	for code, urls := range s.Left {
		n[code] += urls
	}
	all := []Outcome{}
	for _, code := range frontier.Fates() {
		if n[code] > 0 {
			all = append(all, Outcome{code, int64(n[code])})
		}
	}
	return all
}

// leftOf returns the sites whose queues take the most time.
func leftOf(s *crawler.Status) Table[Left] {
	left := Table[Left]{All: int64(len(s.Sites.LongestFirst))}
	for _, one := range s.Sites.LongestFirst {
		reason := ""
		if one.By != frontier.OwnClock {
			reason = string(one.By)
		}
		left.Rows = append(left.Rows, Left{Site: one.Site, Queued: int64(one.Queued), Fate: frontier.Queued, Reason: reason, Seconds: one.Seconds})
	}
	return left
}

package report

import (
	"bytes"
	"cmp"
	"encoding/binary"
	"encoding/json"
	"errors"
	"math"
	"slices"
	"time"

	"github.com/permesso-crawler/permesso/frontier"
	"github.com/permesso-crawler/permesso/internal/crawllog"
)

// tick is by how much a pause may seem shorter in the log than it was, because the log rounds
// times to microseconds.
const tick = 3 * time.Microsecond

// The kinds of records about a site, in the order in which they are sorted.
const (
	siteLine   = 'a' // a line of the log: its number, the number of its run, and its text
	siteRobots = 'b' // the result of a request for the robots.txt of the site
	siteLeft   = 'c' // the queue of the site, a waiting
)

// noteSite stores a record about a site. The records are sorted by the host of the site.
func (r *reporter) noteSite(of frontier.Site, kind byte, value []byte) error {
	key := append(append([]byte(of.Host()), 0), of...)
	return r.sites.Add(key, append([]byte{kind}, value...))
}

func (r *reporter) noteLine(of frontier.Site, n int64, text []byte) error {
	value := binary.AppendUvarint(binary.AppendUvarint(nil, uint64(n)), uint64(r.Runs))
	return r.noteSite(of, siteLine, append(value, text...))
}

// eachSite reads the stored records of all sites, one site after the other, and fills the
// tables of sites.
func (r *reporter) eachSite() error {
	var s *site
	host := ""
	err := r.sites.Each(func(key, value []byte) error {
		of, name, _ := bytes.Cut(key, []byte{0})
		if s == nil || string(s.name) != string(name) {
			r.siteEnds(s)
			s = &site{name: frontier.Site(name)}
			if r.Sites++; r.Hosts == 0 || host != string(of) {
				r.Hosts++
				host = string(of)
			}
		}
		switch text := value[1:]; value[0] {
		case siteLine:
			n, length := binary.Uvarint(text)
			text = text[length:]
			run, length := binary.Uvarint(text)
			return r.siteLine(s, int64(n), int(run), string(text[length:]))
		case siteRobots:
			s.robots = string(text)
		case siteLeft:
			var w waiting
			if err := json.Unmarshal(text, &w); err != nil {
				return err
			}
			r.left.add(w.after(s.ttfb.quantile(0.5)))
		}
		return nil
	})
	r.siteEnds(s)
	return errors.Join(err, r.sites.Close())
}

// siteLine adds line n of the log to the facts about its site. run is the number of the run
// that has written the line. The lines of a site come in the order of the log.
func (r *reporter) siteLine(s *site, n int64, run int, text string) error {
	l, err := crawllog.Parse(text)
	if err != nil {
		return err
	}
	q, err := l.Request()
	switch {
	case err != nil || wholeSite(l):
	case q == nil:
		s.unasked(l.Status)
	default:
		s.request(l, q)
		r.pause(n, run, s, q)
		s.passed(run, q)
	}
	return err
}

// siteEnds adds the rows of a site to the tables. It is called after all lines of the site. It
// does nothing if s is nil.
func (r *reporter) siteEnds(s *site) {
	if s == nil {
		return
	}
	r.rows.add(s.siteRow())
	r.rules.add(s.rulesRow())
	if t := s.trouble(); t.All > 0 {
		r.troubles.add(t)
	}
}

func (s *site) siteRow() SiteRow {
	return SiteRow{s.name, s.requests, s.pages, s.bytes, s.asked.Seconds(), s.clock, s.ttfb.quantile(0.5), cmp.Or(s.robots, "not requested")}
}

func (s *site) rulesRow() Rules {
	return Rules{s.name, s.requests - s.ruled, s.refused, s.use, s.optout}
}

func (s *site) trouble() Trouble {
	t := Trouble{Site: s.name}
	for i, n := range s.troubles {
		if t.All += int64(n); n > 0 {
			t.Classes = append(t.Classes, Count{Classes()[i], int64(n)})
		}
	}
	return t
}

// A site has the facts about one site while its records are read.
type site struct {
	name                          frontier.Site
	requests, ruled, pages, bytes int64 // counts; ruled: requests for robots.txt
	refused, use, optout          int64
	troubles                      [8]uint32 // number of requests with each kind of trouble, in the order of Classes
	ttfb                          histogram
	asked                         time.Duration
	clock                         frontier.Clock
	robots                        string

	run        int       // number of the run that made the last request; 0: there was no request
	began, end time.Time // start and end of the request that ended last
}

// unasked counts a URL that ended without a request to the site.
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

// request adds a request to the counts of the site.
func (s *site) request(l *crawllog.Line, q *crawllog.Request) {
	robots := isRobots(l)
	s.requests++
	s.bytes += max(0, l.Size)
	if robots && !q.Use {
		s.ruled++
	}
	if isPage(l, q) {
		s.pages++
	}
	if q.Refused != "" {
		s.use++
	}
	if q.TTFB > 0 {
		s.ttfb.add(q.TTFB)
	}
	if class := classOf(l.Status, q.Error); class != "" && !(robots && class == "4xx") { // a 4xx for a robots.txt is no trouble: it means that the site has no rules
		s.troubles[slices.Index(Classes(), class)]++
	}
	switch c := frontier.Clock(q.Clock); c {
	case frontier.OwnClock, frontier.CrawlDelayClock, frontier.RateClock:
		if q.Asked > s.asked {
			s.asked, s.clock = q.Asked, c
		}
	}
}

// passed stores when a request began and ended, if it is the request that ended last so far.
// The next pause of the site counts from its end.
func (s *site) passed(run int, q *crawllog.Request) {
	if s.run != run || q.End.After(s.end) {
		s.run, s.began, s.end = run, q.Start, q.End
	}
}

// A delayBin identifies a group of requests with the same clock. Their required pauses are in
// the same bin, and so are their actual pauses. There are eight bins for each power of ten.
type delayBin struct {
	clock       frontier.Clock
	asked, kept int
}

const delaysPerDecade = 8

// pause checks whether a request has waited as long as its line requires. n is the number of
// the line.
func (r *reporter) pause(n int64, run int, s *site, q *crawllog.Request) {
	if s.run == run && s.run > 0 && q.TTFB > 0 && q.Start.After(s.began) {
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
	if since.IsZero() && s.run == run {
		since = s.end
	}
	if since.IsZero() {
		r.Polite.Unknown++
		return
	}
	clock, kept := frontier.Clock(q.Clock), q.Start.Sub(since)
	p := &r.Polite
	left := kept - q.Asked
	if p.Judged++; p.LeastLine == 0 || left.Seconds() < p.Least || left.Seconds() == p.Least && n < p.LeastLine {
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

// dot adds a request to its group. If there are too many groups, it adds a request that was not
// early to one group for all others.
func (r *reporter) dot(n int64, b delayBin, asked, kept time.Duration, early bool) {
	if r.delays[b] == nil && len(r.delays) >= mostNames && !early {
		b = delayBin{clock: restName}
	}
	d := r.delays[b]
	if d == nil {
		d = &closest{Delay: Delay{Clock: b.clock}}
		r.delays[b] = d
	}
	if left := kept - asked; d.Line == 0 || left < d.left || left == d.left && n < d.Line {
		d.Asked, d.Kept, d.Line, d.left = asked.Seconds(), kept.Seconds(), n, left
	}
	d.Requests++
	if early {
		d.Early++
	}
}

// A closest is a group of requests, described by its closest request, which is the one with the
// smallest field left. Asked, Kept and Line are those of this request. If there are several
// such requests, the first in the log counts.
type closest struct {
	Delay
	left time.Duration // how long the closest request waited beyond its pause; negative: it began too early
}

// delayRows returns the groups of requests, sorted by clock, and then by required and actual
// pause.
func (r *reporter) delayRows() []Delay {
	rows := []Delay{}
	for _, d := range r.delays {
		rows = append(rows, d.Delay)
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

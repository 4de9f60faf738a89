package progress

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/permesso-crawler/permesso/cmd/crawl/internal/say"
	"github.com/permesso-crawler/permesso/cmd/crawl/internal/words"
	"github.com/permesso-crawler/permesso/crawler"
	"github.com/permesso-crawler/permesso/frontier"
)

// A View has the figures of a running crawl at one moment, to be shown.
type View struct {
	Stats crawler.Stats
	Since time.Duration // since the start of the run
	Now   time.Time
	rates []float64            // pages per second, the newest last
	slow  *frontier.SiteStatus // the site with the longest wait
	old   frontier.Site        // the site with the longest request under way; "" if none
	asked time.Duration        // for how long that request has run

	state crawler.State
	sites crawler.StatusSites // as of the time read, which is a little earlier than Now
	read  time.Time
}

// Line returns the view as a sentence, for terminals that cannot be drawn on.
func (v *View) Line(width int) string {
	text := v.head()
	if outage := v.outage(); outage != "" {
		text += "; the database " + outage
	}
	if old := v.oldest(); old != "" {
		text += "; asking " + old
	}
	if wait := v.wait(); wait != "" {
		text += "; " + wait
	}
	return say.Fit(text, width)
}

func (v *View) head() string {
	text := fmt.Sprintf("%s  %s, %d left", say.Short(v.Since), say.Plural(v.Stats.Pages, "page"), v.Stats.Frontier.Entries)
	if n := v.Stats.Frontier.Again; n > 0 {
		text += fmt.Sprintf(", %d to be fetched again", n)
	}
	return text
}

func (v *View) outage() string { return outage(v.Stats.Outage, v.Now) }

// Outage returns for how long the database of a running node has not answered, or "" if it answers.
func Outage(s crawler.Status) string {
	if Over(s) {
		return ""
	}
	return outage(s.Outage, s.Time)
}

func outage(since, now time.Time) string {
	if since.IsZero() {
		return ""
	}
	return "has not answered for " + say.Short(now.Sub(since))
}

// leastWait is the shortest wait that is shown.
const leastWait = time.Second

// wait returns which site the crawl waits for, for how long, and why. It returns "" if no site
// has to wait for at least leastWait.
func (v *View) wait() string {
	f := v.Stats.Frontier
	if wait := f.NextDue.Sub(v.Now); f.Out == 0 && !f.NextDue.IsZero() && wait >= leastWait {
		return waiting(f.NextSite, wait, f.NextBy)
	}
	if v.slow != nil && v.slow.Due.Sub(v.Now) >= leastWait {
		return waiting(v.slow.Site, v.slow.Due.Sub(v.Now), v.slow.By)
	}
	return ""
}

// longAsked is the shortest time of a request that is shown. Most answers come sooner.
const longAsked = 2 * time.Second

// oldest returns the host whose request has been under way the longest, and for how long. It
// returns "" if that is shorter than longAsked.
func (v *View) oldest() string {
	if v.old == "" || v.asked < longAsked {
		return ""
	}
	_, host, _ := strings.Cut(string(v.old), "://")
	return fmt.Sprintf("%s for %s", host, say.Short(v.asked))
}

// waiting returns which site the crawl waits for, why (the clock), and for how long.
func waiting(site frontier.Site, wait time.Duration, by frontier.Clock) string {
	_, host, _ := strings.Cut(string(site), "://")
	return fmt.Sprintf("%s: %s %s", host, words.ShortClock(by), say.Short(wait))
}

// Logfmt returns the view for programs, in logfmt.
func (v *View) Logfmt() string {
	s := v.Stats
	line := fmt.Sprintf("t=%s pages=%d rate=%.1f/s bytes=%d requests=%d queued=%d busy=%d",
		v.Since.Round(time.Second), s.Pages, v.rate(), s.Bytes, s.Requests, s.Frontier.Entries, s.Frontier.Out)
	if n := s.Frontier.Again; n > 0 {
		line += fmt.Sprintf(" again=%d", n)
	}
	if n := say.Sum(s.SkippedURLs); n > 0 {
		line += fmt.Sprintf(" skipped-urls=%d", n)
	}
	if n := say.Sum(s.SkippedLinks); n > 0 {
		line += fmt.Sprintf(" skipped-links=%d", n)
	}
	if n := say.Sum(s.Errors); n > 0 {
		line += fmt.Sprintf(" failed-requests=%d", n)
	}
	if !s.Outage.IsZero() {
		line += fmt.Sprintf(" outage=%s", v.Now.Sub(s.Outage).Round(time.Second))
	}
	if wait := s.Frontier.NextDue.Sub(v.Now); s.Frontier.Out == 0 && !s.Frontier.NextDue.IsZero() && wait > 0 {
		line += fmt.Sprintf(" waiting=%s for=%s asked-by=%s", wait.Round(100*time.Millisecond), s.Frontier.NextSite, s.Frontier.NextBy)
	} else if v.slow != nil {
		line += fmt.Sprintf(" slowest=%s asked-by=%s in=%s", v.slow.Site, v.slow.By, v.slow.Due.Sub(v.Now).Round(100*time.Millisecond))
	}
	if v.asked >= longAsked {
		line += fmt.Sprintf(" asking=%s since=%s", v.old, v.asked.Round(100*time.Millisecond))
	}
	return say.Fit(line, len(line))
}

// rate returns the pages per second so far.
func (v *View) rate() float64 { return float64(v.Stats.Pages) / max(v.Since.Seconds(), 0.001) }

// A Looker makes views of a crawl. It remembers some figures of earlier views.
type Looker struct {
	Sites bool // whether the views are shown as blocks, which list sites

	crawler *crawler.Crawler
	begin   time.Time

	sampled time.Time // when the last rate was added
	pages   int       // number of pages at the time sampled
	rates   []float64
	asked   time.Time // when slow was last updated
	slow    *frontier.SiteStatus
	next    time.Time      // when status is read again
	status  crawler.Status // empty unless Sites is true
}

// The time between two samples of the rate, the number of samples that are kept, and the time
// between two searches for the slowest site. Each search goes through all sites.
const (
	sampleEvery = time.Second
	samples     = 16
	slowEvery   = 2 * time.Second
)

// mostShare is how many times as long as reading the status took the next reading waits. So it
// takes at most a fiftieth of the time, and the list of sites is older if there are very many.
const mostShare = 50

// NewLooker returns a Looker at a crawl that began at the given time.
func NewLooker(c *crawler.Crawler, began time.Time) *Looker { return &Looker{crawler: c, begin: began} }

// At returns the view at the time now, which must not be before the time of the last call.
func (l *Looker) At(now time.Time) *View {
	s := l.crawler.Stats()
	if l.sampled.IsZero() {
		l.sampled = l.begin
	}
	if took := now.Sub(l.sampled); took >= sampleEvery {
		l.rates = append(l.rates, float64(s.Pages-l.pages)/took.Seconds())
		l.rates = l.rates[max(0, len(l.rates)-samples):]
		l.sampled, l.pages = now, s.Pages
	}
	if now.Sub(l.asked) >= slowEvery {
		l.slow, l.asked = nil, now
		if slow, ok := l.crawler.Longest(now); ok {
			l.slow = &slow
		}
	}
	if l.Sites && !now.Before(l.next) {
		began := time.Now()
		l.status = l.crawler.Status()
		l.next = now.Add(mostShare * time.Since(began))
	}
	v := &View{
		Stats: s, Since: now.Sub(l.begin), Now: now, rates: slices.Clone(l.rates), slow: l.slow,
		state: l.status.State, sites: l.status.Sites, read: l.status.Time,
	}
	if site, since, ok := l.crawler.Oldest(); ok {
		v.old, v.asked = site, now.Sub(since)
	}
	return v
}

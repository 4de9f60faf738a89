package main

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

// A view is a moment of a running crawl, to be shown.
type view struct {
	stats crawler.Stats
	since time.Duration // since the start of the run
	now   time.Time
	rates []float64            // pages per second, the newest last
	slow  *frontier.SiteStatus // the site with the longest wait
	old   frontier.Site        // the site with the longest request under way; "" if none
	asked time.Duration        // for how long that request has run
}

// block returns the lines of a view for a terminal of the given width.
func (v *view) block(width int) []string {
	f := v.stats.Frontier
	rate := fmt.Sprintf("%.1f pages/s", v.rate())
	if line := sparkline(v.rates); line != "" {
		rate += " " + line
	}
	lines := []string{
		v.head(), rate + ", " + say.Size(v.stats.Bytes), v.answers(),
	}
	if kept := v.kept(); kept != "" {
		lines = append(lines, kept)
	}
	sites := say.Plural(f.Sites, "site")
	if f.Out > 0 {
		sites += fmt.Sprintf(", %d asked just now", f.Out)
	}
	if old := v.oldest(); old != "" {
		sites += ", " + old
	}
	lines = append(lines, sites)
	if wait := v.wait(); wait != "" {
		lines = append(lines, wait)
	}
	for i := range lines {
		lines[i] = say.Fit(lines[i], width)
	}
	return lines
}

// line returns the view as a sentence, for terminals that cannot be drawn on.
func (v *view) line(width int) string {
	text := v.head()
	if old := v.oldest(); old != "" {
		text += "; asking " + old
	}
	if wait := v.wait(); wait != "" {
		text += "; " + wait
	}
	return say.Fit(text, width)
}

func (v *view) head() string {
	text := fmt.Sprintf("%s  %s, %d left", say.Short(v.since), say.Plural(v.stats.Pages, "page"), v.stats.Frontier.Entries)
	if n := v.stats.Frontier.Again; n > 0 {
		text += fmt.Sprintf(", %d to be fetched again", n)
	}
	return text
}

func (v *view) answers() string {
	parts := []string{say.Plural(v.stats.Requests, "request")}
	if codes := say.Listed(v.stats.Status); len(codes) > 0 {
		parts = append(parts, "answers "+strings.Join(codes, ", "))
	}
	if n := say.Sum(v.stats.Errors); n > 0 {
		parts = append(parts, say.Plural(n, "request")+" failed")
	}
	return strings.Join(parts, "; ")
}

// kept returns what was kept out, URLs before links, the commonest reasons first.
func (v *view) kept() string {
	var parts []string
	if urls := say.InList(say.InOrder(v.stats.SkippedURLs), words.URLs); urls != "" {
		parts = append(parts, urls)
	}
	if links := say.InList(say.InOrder(v.stats.SkippedLinks), words.Links); links != "" {
		parts = append(parts, links)
	}
	if len(parts) == 0 {
		return ""
	}
	return "kept out: " + strings.Join(parts, "; ")
}

// leastWait is the shortest wait that is shown.
const leastWait = time.Second

// wait returns the site that is waited for, for how long, and why. It returns "" while a
// request is under way and no site has to wait.
func (v *view) wait() string {
	f := v.stats.Frontier
	if wait := f.NextDue.Sub(v.now); f.Out == 0 && !f.NextDue.IsZero() && wait >= leastWait {
		return waiting(f.NextSite, wait, f.NextBy)
	}
	if v.slow != nil && v.slow.Due.Sub(v.now) >= leastWait {
		return waiting(v.slow.Site, v.slow.Due.Sub(v.now), v.slow.By)
	}
	return ""
}

// longAsked is the shortest time of a request that is shown: most answers come before.
const longAsked = 2 * time.Second

// oldest returns the site that takes long to answer, or "".
func (v *view) oldest() string {
	if v.old == "" || v.asked < longAsked {
		return ""
	}
	_, host, _ := strings.Cut(string(v.old), "://")
	return fmt.Sprintf("%s for %s", host, say.Short(v.asked))
}

func waiting(site frontier.Site, wait time.Duration, by frontier.Clock) string {
	_, host, _ := strings.Cut(string(site), "://")
	return fmt.Sprintf("%s: %s %s", host, words.ShortClock(by), say.Short(wait))
}

// sparkline draws figures as blocks; the largest is a full block.
func sparkline(figures []float64) string {
	if len(figures) == 0 {
		return ""
	}
	most := slices.Max(figures)
	var b strings.Builder
	for _, n := range figures {
		level := 0
		if most > 0 {
			level = int(n / most * 7)
		}
		b.WriteRune('▁' + rune(min(max(level, 0), 7)))
	}
	return b.String()
}

// logfmt returns the view for programs, in logfmt.
func (v *view) logfmt() string {
	s := v.stats
	line := fmt.Sprintf("t=%s pages=%d rate=%.1f/s bytes=%d requests=%d queued=%d busy=%d",
		v.since.Round(time.Second), s.Pages, v.rate(), s.Bytes, s.Requests, s.Frontier.Entries, s.Frontier.Out)
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
	if wait := s.Frontier.NextDue.Sub(v.now); s.Frontier.Out == 0 && !s.Frontier.NextDue.IsZero() && wait > 0 {
		line += fmt.Sprintf(" waiting=%s for=%s asked-by=%s", wait.Round(100*time.Millisecond), s.Frontier.NextSite, s.Frontier.NextBy)
	} else if v.slow != nil {
		line += fmt.Sprintf(" slowest=%s asked-by=%s in=%s", v.slow.Site, v.slow.By, v.slow.Due.Sub(v.now).Round(100*time.Millisecond))
	}
	if v.asked >= longAsked {
		line += fmt.Sprintf(" asking=%s since=%s", v.old, v.asked.Round(100*time.Millisecond))
	}
	return say.Fit(line, len(line))
}

// rate returns the pages per second so far.
func (v *view) rate() float64 { return float64(v.stats.Pages) / max(v.since.Seconds(), 0.001) }

// A looker makes views of a crawl, and remembers earlier ones.
type looker struct {
	crawler *crawler.Crawler
	begin   time.Time

	sampled time.Time // when the last rate was added
	pages   int       // pages at that time
	rates   []float64
	asked   time.Time // when slow was last updated
	slow    *frontier.SiteStatus
}

// The time between two samples of the rate, how many samples are kept, and the time between
// two searches for the slowest site, which go through all sites.
const (
	sampleEvery = time.Second
	samples     = 16
	slowEvery   = 2 * time.Second
)

func (l *looker) at(now time.Time) *view {
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
	v := &view{stats: s, since: now.Sub(l.begin), now: now, rates: slices.Clone(l.rates), slow: l.slow}
	if site, since, ok := l.crawler.Oldest(); ok {
		v.old, v.asked = site, now.Sub(since)
	}
	return v
}

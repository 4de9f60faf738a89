package main

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/permesso-crawler/permesso/crawler"
	"github.com/permesso-crawler/permesso/fetch"
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
		v.head(), rate + ", " + size(v.stats.Bytes), v.answers(),
	}
	if kept := v.kept(); kept != "" {
		lines = append(lines, kept)
	}
	sites := plural(f.Sites, "site")
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
		lines[i] = fit(lines[i], width)
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
	return fit(text, width)
}

func (v *view) head() string {
	text := fmt.Sprintf("%s  %s, %d left", short(v.since), plural(v.stats.Pages, "page"), v.stats.Frontier.Entries)
	if n := v.stats.Frontier.Again; n > 0 {
		text += fmt.Sprintf(", %d to be fetched again", n)
	}
	return text
}

func (v *view) answers() string {
	parts := []string{plural(v.stats.Requests, "request")}
	if codes := listed(v.stats.Status); len(codes) > 0 {
		parts = append(parts, "answers "+strings.Join(codes, ", "))
	}
	if n := sum(v.stats.Errors); n > 0 {
		parts = append(parts, plural(n, "request")+" failed")
	}
	return strings.Join(parts, "; ")
}

// kept returns what was kept out, URLs before links, the commonest reasons first.
func (v *view) kept() string {
	var parts []string
	if urls := inList(inOrder(v.stats.SkippedURLs), urlsInWords); urls != "" {
		parts = append(parts, urls)
	}
	if links := inList(inOrder(v.stats.SkippedLinks), linksInWords); links != "" {
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
	return fmt.Sprintf("%s for %s", host, short(v.asked))
}

func waiting(site frontier.Site, wait time.Duration, by frontier.Clock) string {
	_, host, _ := strings.Cut(string(site), "://")
	return fmt.Sprintf("%s: %s %s", host, clockName(by), short(wait))
}

// short returns a duration to the second, or to the tenth of a second if it is less than
// ten.
func short(d time.Duration) string {
	if d < 10*time.Second {
		return fmt.Sprintf("%.1fs", d.Seconds())
	}
	return d.Round(time.Second).String()
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

// linkWords are, for people, the reasons why a link does not bring its URL into the crawl.
var linkWords = map[crawler.Reason]string{
	crawler.SkipScope:     "links out of scope",
	crawler.SkipDepth:     "links beyond --depth",
	crawler.SkipFilter:    "links excluded by --include, --exclude or --exclude-from",
	crawler.SkipNoFollow:  "links marked nofollow",
	crawler.SkipOptOut:    "links left alone by the opt-out list",
	crawler.SkipRedirects: "redirects after too many others",
	crawler.SkipTrap:      "links into traps",
	crawler.SkipHook:      "links refused by the program",
}

// urlWords are, for people, the reasons why a URL of the crawl is not fetched.
var urlWords = map[crawler.Reason]string{
	crawler.SkipRobots:            "URLs forbidden by robots.txt",
	crawler.SkipFailed:            "URLs failed every time",
	crawler.SkipNarrowed:          "URLs put aside, as the scope is narrower now",
	crawler.SkipOptOut:            "URLs left alone by the opt-out list",
	crawler.SkipUse:               "URLs whose owner refuses the purpose of the crawl",
	crawler.SkipSiteDead:          "URLs of sites that do not answer",
	crawler.SkipRobotsUnreachable: "URLs of sites whose robots.txt cannot be had",
	crawler.SkipBudget:            "URLs of sites whose budget is spent",
	crawler.SkipExcluded:          "URLs of excluded sites",
	crawler.SkipLimit:             "URLs beyond the limit",
	crawler.SkipWaits:             "URLs waiting for a clock",
	crawler.SkipQueued:            "URLs queued",
}

func urlsInWords(reason string) string {
	return cmp.Or(urlWords[crawler.Reason(reason)], "URLs "+reason)
}

func linksInWords(reason string) string {
	return cmp.Or(linkWords[crawler.Reason(reason)], "links "+reason)
}

// stageWords describe why a request was not answered.
var stageWords = map[fetch.Stage]string{
	fetch.StageDNS:            "names without an address",
	fetch.StageDNSTimeout:     "names whose address was not found in time",
	fetch.StageAddress:        "at private addresses (--allow-private permits them)",
	fetch.StageProxy:          "no way through the proxy",
	fetch.StageConnect:        "not connected",
	fetch.StageConnectTimeout: "not connected in time",
	fetch.StageTLS:            "no agreement on TLS (certificates, versions)",
	fetch.StageTLSTimeout:     "no agreement on TLS in time",
	fetch.StageStale:          "connections that the server had closed by then (asked again, costs nothing)",
	fetch.StageCalm:           "asked for rest in the answer's place",
	fetch.StageReset:          "connections broken before the answer",
	fetch.StageAnswerTimeout:  "not answered in time",
	fetch.StageProtocol:       "answers other than HTTP",
	fetch.StageHeaderSize:     "answers with too large a header",
	fetch.StageEncoding:       "answers in an encoding that cannot be read",
	fetch.StageTruncated:      "answers cut by the server",
	fetch.StageBodyTimeout:    "answers that stopped coming",
	fetch.StageTotalTimeout:   "answers that took too long",
	fetch.StageChallenge:      "asked for a browser in the page's place",
	fetch.StageStopped:        "broken off by us",
}

func stageInWords(stage string) string {
	return cmp.Or(stageWords[fetch.Stage(stage)], stage)
}

// logfmt returns the view for programs, in logfmt.
func (v *view) logfmt() string {
	s := v.stats
	line := fmt.Sprintf("t=%s pages=%d rate=%.1f/s bytes=%d requests=%d queued=%d busy=%d",
		v.since.Round(time.Second), s.Pages, v.rate(), s.Bytes, s.Requests, s.Frontier.Entries, s.Frontier.Out)
	if n := s.Frontier.Again; n > 0 {
		line += fmt.Sprintf(" again=%d", n)
	}
	if n := sum(s.SkippedURLs); n > 0 {
		line += fmt.Sprintf(" skipped-urls=%d", n)
	}
	if n := sum(s.SkippedLinks); n > 0 {
		line += fmt.Sprintf(" skipped-links=%d", n)
	}
	if n := sum(s.Errors); n > 0 {
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
	return fit(line, len(line))
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

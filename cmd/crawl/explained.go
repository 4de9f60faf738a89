package main

import (
	"cmp"
	"fmt"
	"strings"
	"time"

	"github.com/permesso-crawler/permesso/crawler"
	"github.com/permesso-crawler/permesso/frontier"
	"github.com/permesso-crawler/permesso/internal/account"
	"github.com/permesso-crawler/permesso/robots"
)

// Bounds of what is printed for people; JSON has everything.
const (
	shownSteps = 20
	shownTries = 10
	shownLinks = 5
)

// explained prints an explanation for people, after an empty line if there was one before.
func (p *program) explained(x *account.Explanation, blank bool, now time.Time) error {
	w := &lines{w: p.out, width: p.width()}
	if blank {
		_, w.err = fmt.Fprintln(p.out)
	}
	w.one("url", "%s", x.Asked)
	if x.Known && x.URL.String() != x.Asked.String() {
		w.one("queued as", "%s", x.URL)
	}
	w.one("fate", "%s", fateOf(x, now))
	if !x.Again.IsZero() {
		w.one("again", "due to be fetched again at %s", stamp(x.Again))
	}
	if !x.Near.IsZero() {
		w.one("but", "%s has entered the crawl", x.Near)
	}
	w.found(x)
	w.links(x)
	w.rules(x.Robots)
	w.tries(x.Tries)
	if x.Known && !x.LeadsTo.IsZero() {
		w.one("leads to", "%s", x.LeadsTo)
	}
	if at := x.Fate.Answer; at.File != "" {
		w.one("archived", "warc/%s at byte %d (crawl explain --body prints it)", at.File, at.Offset)
	}
	if x.SameAs != "" {
		gone := ""
		if !x.Gone.IsZero() {
			gone = "; it is gone: that was purged on " + day(x.Gone)
		}
		w.one("", "its body is that of %s, archived at %s%s", x.SameAs, stamp(x.SameAt), gone)
	}
	if x.Fate.Digest != "" {
		w.one("digest", "%s", x.Fate.Digest)
	}
	return w.err
}

// fateOf returns a sentence that says what became of a URL.
func fateOf(x *account.Explanation, now time.Time) string {
	at := ""
	if !x.Fate.Time.IsZero() {
		at = " at " + stamp(x.Fate.Time)
	}
	switch x.Standing {
	case account.StandsFetched:
		return "fetched" + at + ": " + x.Reason
	case account.StandsRefused:
		return "refused by robots.txt" + at + ": " + x.Reason
	case account.StandsUse:
		return "its owner refuses the purpose of the crawl" + at + ": " + x.Reason
	case account.StandsFailed:
		return "failed every time, the last one" + at + ": " + x.Reason
	case account.StandsScope:
		why := linksInWords(x.Reason)
		if x.Refusal.Reason != "" {
			why = refusalInWords(x.Refusal)
		}
		return "put aside" + at + ", because the settings were narrower than before: " + why + "; it is queued again once they are wider"
	case account.StandsOptOut:
		if !x.Purged.IsZero() {
			return "opted out: " + x.Reason + "; what was captured of it was purged on " + day(x.Purged)
		}
		return "left alone" + at + ", by the opt-out list: " + x.Reason
	case account.StandsOut:
		return "not in the crawl: " + refusalInWords(x.Refusal)
	case account.StandsUnknown:
		return "not in the crawl: " + unknownInWords(x)
	}
	return queuedInWords(x, now)
}

// queuedInWords returns why a queued URL was not fetched yet.
func queuedInWords(x *account.Explanation, now time.Time) string {
	first, given := "", ""
	if !x.Site.Given.Time.IsZero() {
		given = " at " + stamp(x.Site.Given.Time)
	}
	switch {
	case x.Ahead >= account.MostAhead:
		first = fmt.Sprintf("; %d URLs of its site or more come first", x.Ahead)
	case x.Ahead > 0:
		first = fmt.Sprintf("; URLs of its site that come first: %d", x.Ahead)
	}
	switch x.Standing {
	case account.StandsWaiting:
		return fmt.Sprintf("waiting until %s, in %s, for %s%s", stamp(x.Until), short(max(x.Until.Sub(now), 0)), clockInWords(x.Clock), first)
	case account.StandsBudget:
		return fmt.Sprintf("queued, but the budget of its site is spent: --%s", x.Reason)
	case account.StandsLimit:
		return "queued, but the limit of the crawl is reached"
	case account.StandsDead:
		return "queued, but its site does not answer, and was given up" + given + ": " + x.Reason
	case account.StandsUnreachable:
		return "queued, but robots.txt of its site cannot be had, and it was given up" + given + ": " + x.Reason
	}
	return "queued, and due: the next run fetches it" + first
}

// clockWords describes the clocks that make a site wait.
var clockWords = map[frontier.Clock]string{
	frontier.OwnClock:        "the pause of the crawl (--delay)",
	frontier.CrawlDelayClock: "Crawl-delay in robots.txt",
	frontier.RateClock:       "Request-rate in robots.txt",
	frontier.VisitTimeClock:  "Visit-time in robots.txt",
	frontier.AdaptiveClock:   "the time that the site takes to answer",
	frontier.RetryAfterClock: "Retry-After in its last answer",
	frontier.BackOffClock:    "the pause after an answer that asks for rest, or no answer",
	frontier.FailuresClock:   "the pause after several failures",
	frontier.RobotsClock:     "robots.txt, which could not be fetched and is tried again then",
	frontier.IPClock:         "another site at the same address (--ip-delay)",
	frontier.HostClock:       "another service of the same host",
	frontier.DomainClock:     "another site of the same domain (--domain-delay)",
	frontier.MachineClock:    "another crawl of this machine",
	frontier.SiteClock:       "the site that its robots.txt is redirected to",
	frontier.RestartClock:    "the pause after a run that was cut short",
	frontier.RetryClock:      "the pause before another try",
	frontier.AgainClock:      "the time to be fetched again (--revisit)",
}

func clockInWords(c frontier.Clock) string { return cmp.Or(clockWords[c], "the clock "+string(c)) }

// refusalInWords returns what keeps a link out of the crawl.
func refusalInWords(r crawler.Refusal) string {
	switch r.Reason {
	case crawler.SkipScope:
		return "it is out of scope (--" + r.Detail + ")"
	case crawler.SkipDepth:
		return "it is too many links from a seed (--" + r.Detail + ")"
	case crawler.SkipFilter:
		return "it is excluded (--" + r.Detail + ")"
	case crawler.SkipNoFollow:
		return "the link is marked nofollow (" + r.Detail + ")"
	case crawler.SkipOptOut:
		return "it is on the opt-out list (" + r.Detail + ")"
	case crawler.SkipTrap:
		return "it looks like part of an endless space: " + r.Detail + " (--traps follow follows it)"
	case crawler.SkipRedirects:
		return "it was redirected too often"
	case crawler.SkipUse:
		return "nothing of the page with the link was kept: its owner refuses the purpose of the crawl (" + r.Detail + ")"
	case account.SkipShown:
		return "it is no link to a page but a part of one, such as an image (--requisites page fetches those)"
	case account.SkipSitemaps:
		return "it is a sitemap, and these are not read (--sitemaps none)"
	case account.SkipLinks:
		return "only what sitemaps name is fetched (--sitemaps only)"
	}
	return r.String()
}

// unknownInWords returns why nothing is known of a URL, and how to find out.
func unknownInWords(x *account.Explanation) string {
	switch {
	case len(x.Untold) > 0:
		return fmt.Sprintf("whether %s keeps it out is not known from the directory: a program made that setting (%s)", x.Untold[0].Setting, x.Untold[0].Was)
	case len(x.Links) > 0:
		return "the pages below link to it, and no setting keeps it out: their meta elements or header fields may say nofollow, or a program refused it"
	case x.HasLinks:
		return "no page that was fetched links to it"
	}
	return "no setting of the last run keeps its address out: either no page links to it, or its links are too deep, nofollow, or a trap; with crawl run --output links all links are kept, and explain names them"
}

// hopWords describes how a URL was found on the next.
var hopWords = map[frontier.Hop]string{
	frontier.HopLink:         "a link on",
	frontier.HopEmbed:        "what is shown with",
	frontier.HopRedirect:     "a redirect of",
	frontier.HopManifest:     "a sitemap that is named by",
	frontier.HopPrerequisite: "robots.txt of",
}

// found prints the chain of pages back to a seed.
func (l *lines) found(x *account.Explanation) {
	label := "found"
	for i, s := range x.Found {
		switch {
		case s.Hop == 0 && i == 0:
			l.one(label, "it is a seed%s", tagged(s.Tag))
		case s.Hop == 0:
			l.one("", "which is a seed%s", tagged(s.Tag))
		case i+1 < len(x.Found) && i < shownSteps:
			l.one(label, "by %s %s (%s)", hopOf(x.Found, i), x.Found[i+1].URL, string(rune(s.Hop)))
		case i == shownSteps:
			l.one("", "and so on, by %d more", len(x.Found)-i-1)
		}
		label = ""
	}
	if x.Lost != "" {
		l.one(label, "%s", x.Lost)
	}
}

// hopOf returns how a step was found. A link of a sitemap is what the sitemap names.
func hopOf(steps []account.Step, i int) string {
	s, on := steps[i], steps[i+1]
	if s.Hop == frontier.HopManifest && on.Hop != frontier.HopManifest && on.Hop != frontier.HopPrerequisite {
		return "the name of a sitemap on"
	}
	return cmp.Or(hopWords[s.Hop], "a hop from")
}

func tagged(tag string) string {
	if tag == "" {
		return ""
	}
	return " with the tag " + tag
}

// links prints the pages that link to a URL that has not entered the crawl.
func (l *lines) links(x *account.Explanation) {
	for i, link := range x.Links {
		if i == shownLinks {
			l.one("", "and more")
			return
		}
		label, why := "", ""
		if i == 0 {
			label = "linked on"
		}
		if link.Reason != "" {
			why = ": " + refusalInWords(link.Refusal)
		}
		l.one(label, "%s (%s)%s", link.From, link.Where, why)
	}
}

// rules prints what robots.txt says about a URL.
func (l *lines) rules(r *account.Rules) {
	if r == nil {
		l.one("robots.txt", "was never requested")
		return
	}
	l.one("robots.txt", "%s", verdictInWords(r))
	if r.Against.Line > 0 {
		l.one("", "against line %d: %s, which lost", r.Against.Line, r.Against)
	}
	if r.Nearest.Line > 0 {
		l.one("", "line %d: %s is near, and does not match", r.Nearest.Line, r.Nearest)
	}
	copied := fmt.Sprintf("copy of %s, status %d", stamp(r.Fetched), r.Status)
	if r.Status == 0 {
		copied = fmt.Sprintf("no answer at %s (%s)", stamp(r.Fetched), r.Failure)
	}
	if !r.Copy.IsZero() {
		copied += ", in its place the copy of " + stamp(r.Copy)
	}
	if r.Digest != "" {
		copied += ", " + r.Digest
	}
	l.one("", "%s; asked again after %s", copied, stamp(r.Expires))
}

func verdictInWords(r *account.Rules) string {
	v := r.Verdict
	text := map[robots.Access]string{robots.Allow: "allows it", robots.Disallow: "forbids it", robots.Defer: "cannot be fetched, so nothing of the site is fetched"}[v.Access]
	switch {
	case v.Rule.Line > 0:
		text += fmt.Sprintf(" by line %d: %s", v.Rule.Line, v.Rule)
	case v.Access != robots.Defer:
		text += ": " + v.Reason.String()
	}
	if len(r.Agent) > 0 {
		text += fmt.Sprintf(" (group %s, line %d)", strings.Join(r.Agent, ", "), r.GroupLine)
	}
	return text
}

// tries prints the last lines of the log about a URL.
func (l *lines) tries(all []account.Try) {
	label := "tries"
	if more := len(all) - shownTries; more > 0 {
		l.one(label, "%d earlier ones", more)
		label, all = "", all[more:]
	}
	for i := range all {
		l.one(label, "%s", tryInWords(&all[i]))
		label = ""
	}
}

func tryInWords(t *account.Try) string {
	if !t.Request() {
		return fmt.Sprintf("%s ended without a request (%d)", stamp(t.Time), t.Status)
	}
	text := fmt.Sprintf("%s status %d", stamp(t.Start), t.Status)
	if t.Status <= 0 {
		text = fmt.Sprintf("%s failed", stamp(t.Start))
	}
	if stage, ok := t.Annotation("error"); ok {
		text += " (" + stage + ")"
	}
	if t.Size >= 0 {
		text += ", " + size(t.Size)
	}
	if took, ok := t.Annotation("took"); ok {
		text += fmt.Sprintf(" in %ss", bare(took))
	}
	if asked, ok := t.Annotation("asked"); ok {
		clock, _ := t.Annotation("clock")
		text += fmt.Sprintf("; after a pause of at least %ss (%s)", bare(asked), clock)
	}
	return text
}

// bare returns a number without trailing zeros.
func bare(seconds string) string {
	if strings.Contains(seconds, ".") {
		seconds = strings.TrimRight(strings.TrimRight(seconds, "0"), ".")
	}
	return seconds
}

func stamp(t time.Time) string { return t.UTC().Format(time.RFC3339) }

// one prints a line, and replaces line ends in what a site has said.
func (l *lines) one(label, format string, args ...any) {
	l.line(label, "%s", oneLine(fmt.Sprintf(format, args...)))
}

package show

import (
	"cmp"
	"fmt"
	"strings"
	"time"

	"github.com/permesso-crawler/permesso/cmd/crawl/internal/say"
	"github.com/permesso-crawler/permesso/cmd/crawl/internal/words"
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

// Explanation prints an explanation for people.
func Explanation(w *say.Lines, x *account.Explanation, now time.Time) error {
	w.Told("url", "%s", x.Asked)
	if x.Known && x.URL.String() != x.Asked.String() {
		w.Told("queued as", "%s", x.URL)
	}
	w.Told("fate", "%s", fateOf(x, now))
	if !x.Again.IsZero() {
		but := ""
		if stopped := stoppedInWords(x, x.Held); stopped != "" {
			but = ", but " + stopped
		}
		w.Told("again", "due to be fetched again at %s%s", say.Stamp(x.Again), but)
	}
	if !x.Near.IsZero() {
		w.Told("but", "%s has entered the crawl", x.Near)
	}
	foundLines(w, x)
	linkedLines(w, x)
	ruleLines(w, x.Robots)
	tryLines(w, x.Tries)
	switch {
	case !x.Known:
	case x.Astray != "":
		w.Told("leads to", "nothing: %s", x.Astray)
	case !x.LeadsTo.IsZero():
		w.Told("leads to", "%s", x.LeadsTo)
		w.Told("", "%s", targetInWords(x, now))
	}
	if at := x.Fate.Answer; at.File != "" {
		w.Told("archived", "warc/%s at byte %d (crawl explain --body prints it)", at.File, at.Offset)
	}
	if x.SameAs != "" {
		gone := ""
		if !x.Gone.IsZero() {
			gone = "; it is gone: that was purged on " + say.Day(x.Gone)
		}
		w.Told("", "its body is that of %s, archived at %s%s", x.SameAs, say.Stamp(x.SameAt), gone)
	}
	if x.Fate.Digest != "" {
		w.Told("digest", "%s", x.Fate.Digest)
	}
	return w.Err
}

// fateOf returns a sentence that says what became of a URL.
func fateOf(x *account.Explanation, now time.Time) string {
	at := ""
	if !x.Fate.Time.IsZero() {
		at = " at " + say.Stamp(x.Fate.Time)
	}
	if !x.Known && x.Robots != nil && x.Asked.Target() == "/robots.txt" {
		return "not in the crawl: it is the robots.txt of its site, which is fetched for its rules, and not as a page"
	}
	if !x.Known && x.Code != frontier.Unknown {
		return "not in the crawl: " + refusalInWords(x.Refusal)
	}
	switch x.Code {
	case frontier.Fetched:
		return "fetched" + at + ": " + x.Reason
	case frontier.RobotsDisallowed:
		return "refused by robots.txt" + at + ": " + x.Reason
	case frontier.UseRefused:
		return "its owner refuses the purpose of the crawl" + at + ": " + x.Reason
	case frontier.Failed:
		return "failed every time, the last one" + at + ": " + x.Reason
	case frontier.ScopeNarrowed:
		why := words.Links(x.Reason)
		if x.Refusal.Code != frontier.Undecided {
			why = refusalInWords(x.Refusal)
		}
		return "put aside" + at + ", because the settings were narrower than before: " + why + "; it is queued again once they are wider"
	case frontier.OptedOut:
		if !x.Purged.IsZero() {
			return "opted out: " + x.Reason + "; what was captured of it was purged on " + say.Day(x.Purged)
		}
		return "left alone" + at + ", by the opt-out list: " + x.Reason
	case frontier.Unknown:
		return "not in the crawl: " + unknownInWords(x)
	}
	if x.Over {
		return "not fetched before the snapshot ended, and no run continues that: " + leftInWords(x)
	}
	return queuedInWords(x, now)
}

// targetInWords returns what became of the target of a redirect.
func targetInWords(x *account.Explanation, now time.Time) string {
	switch {
	case x.LeadsTo == x.URL:
		return "which is the URL itself: it is not requested again"
	case x.Target.Code == frontier.Unknown:
		return "not in the crawl"
	}
	return fateOf(x.Target, now)
}

// leftInWords returns why a URL was left when its snapshot ended.
func leftInWords(x *account.Explanation) string {
	switch x.Code {
	case frontier.Waiting:
		return fmt.Sprintf("it had to wait until %s for %s", say.Stamp(x.Until), words.Clock(x.Clock))
	case frontier.BudgetSpent:
		return "the budget of its site is spent: --" + x.Reason
	case frontier.LimitReached:
		return "the limit of the crawl is reached"
	case frontier.Excluded:
		return "its site was excluded (" + x.Reason + ")"
	}
	return cmp.Or(stoppedInWords(x, x.Listed), "it was queued")
}

// queuedInWords returns why a queued URL was not fetched yet.
func queuedInWords(x *account.Explanation, now time.Time) string {
	first := ""
	switch {
	case x.Ahead >= account.MostAhead:
		first = fmt.Sprintf("; %d URLs of its site or more come first", x.Ahead)
	case x.Ahead > 0:
		first = fmt.Sprintf("; URLs of its site that come first: %d", x.Ahead)
	}
	switch x.Code {
	case frontier.Waiting:
		if x.OptOut != "" {
			first = ", but " + optOutInWords(x)
		}
		return fmt.Sprintf("waiting until %s, in %s, for %s%s", say.Stamp(x.Until), say.Short(max(x.Until.Sub(now), 0)), words.Clock(x.Clock), first)
	case frontier.BudgetSpent:
		return fmt.Sprintf("queued, but the budget of its site is spent: --%s", x.Reason)
	case frontier.LimitReached:
		return "queued, but the limit of the crawl is reached"
	}
	if stopped := stoppedInWords(x, x.Listed); stopped != "" {
		return "queued, but " + stopped
	}
	return "queued, and due: it is requested in turn" + first
}

// optOutInWords says that the opt-out list forbids a URL that waits to be fetched.
func optOutInWords(x *account.Explanation) string {
	return "it is on the opt-out list (" + x.OptOut + "): no run that begins from now on requests it"
}

// stoppedInWords returns why no run requests the URL any more: it is on the opt-out list, or
// nothing of its site is requested, for the reason by. If there is no such reason, it returns "".
func stoppedInWords(x *account.Explanation, by account.Listed) string {
	if x.OptOut != "" {
		return optOutInWords(x)
	}
	given := ""
	if !x.Site.Given.Time.IsZero() {
		given = " at " + say.Stamp(x.Site.Given.Time)
	}
	switch by.Code {
	case frontier.Excluded:
		return fmt.Sprintf("its site was excluded (%s): crawl run --lift %s requests it again", by.Reason, by.Order)
	case frontier.SiteDead:
		return "its site does not answer, and was given up" + given + ": " + by.Reason
	case frontier.RobotsUnreachable:
		return "robots.txt of its site cannot be had, and it was given up" + given + ": " + by.Reason
	}
	return ""
}

// refusalInWords returns why a link did not enter the crawl.
func refusalInWords(r account.Refusal) string {
	switch r.Code {
	case frontier.OutOfScope:
		return "it is out of scope (--" + r.Detail + ")"
	case frontier.TooDeep:
		return "it is too many links from a seed (--" + r.Detail + ")"
	case frontier.Filtered:
		return "it is excluded (--" + r.Detail + ")"
	case frontier.NoFollow:
		return "the link is marked nofollow (" + r.Detail + ")"
	case frontier.OptedOut:
		return "it is on the opt-out list (" + r.Detail + ")"
	case frontier.Trap:
		return "it looks like part of an endless space: " + r.Detail + " (--traps follow follows it)"
	case frontier.TooManyRedirects:
		return "it was redirected too often"
	case frontier.UseRefused:
		return "nothing of the page with the link was kept: its owner refuses the purpose of the crawl (" + r.Detail + ")"
	case frontier.RequisitesOff:
		return "it is no link to a page but a part of one, such as an image (--requisites page fetches those)"
	case frontier.SitemapsOff:
		return "it is a sitemap, and these are not read (--sitemaps none)"
	case frontier.LinksOff:
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
	return "no setting of the last run keeps its address out: either no page that was fetched links to it, or the links are too deep, nofollow, or a trap, or it is only a part of pages, such as an image (--requisites page fetches those); with crawl run --output links all links are kept, and explain names them"
}

// hopWords describes how a URL was found. After these words comes the URL of the next step back
// to the seed, such as the page with the link.
var hopWords = map[frontier.Hop]string{
	frontier.HopLink:         "a link on",
	frontier.HopEmbed:        "what is shown with",
	frontier.HopRedirect:     "a redirect of",
	frontier.HopManifest:     "a sitemap that is named by",
	frontier.HopPrerequisite: "robots.txt of",
}

// foundLines prints how the URL was found: the page or sitemap that names it, what names that
// page, and so on back to a seed.
func foundLines(l *say.Lines, x *account.Explanation) {
	label := "found"
	for i, s := range x.Found {
		switch {
		case s.Hop == 0 && i == 0:
			l.Told(label, "it is a seed%s", tagged(s.Tag))
		case s.Hop == 0:
			l.Told("", "which is a seed%s", tagged(s.Tag))
		case i+1 < len(x.Found) && i < shownSteps:
			l.Told(label, "by %s %s (%s)", hopOf(x.Found, i), x.Found[i+1].URL, string(rune(s.Hop)))
		case i == shownSteps:
			l.Told("", "and so on, by %d more", len(x.Found)-i-1)
		}
		label = ""
	}
	if x.Lost != "" {
		l.Told(label, "%s", x.Lost)
	}
}

// hopOf returns how the URL of steps[i] was found, in words after which the URL of the next
// step is printed. If a sitemap names the URL, the next step is that sitemap or the page that
// names the sitemap.
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

// linkedLines prints the pages that link to a URL that has not entered the crawl.
func linkedLines(l *say.Lines, x *account.Explanation) {
	for i, link := range x.Links {
		if i == shownLinks {
			l.Told("", "and more")
			return
		}
		label, why := "", ""
		if i == 0 {
			label = "linked on"
		}
		if link.Code != frontier.Undecided {
			why = ": " + refusalInWords(link.Refusal)
		}
		l.Told(label, "%s (%s)%s", link.From, link.Where, why)
	}
}

// ruleLines prints what robots.txt says about a URL.
func ruleLines(l *say.Lines, r *account.Rules) {
	if r == nil {
		l.Told("robots.txt", "was never requested")
		return
	}
	l.Told("robots.txt", "%s", verdictInWords(r))
	if r.Against.Line > 0 {
		l.Told("", "against line %d: %s, which lost", r.Against.Line, r.Against)
	}
	if r.Nearest.Line > 0 {
		l.Told("", "line %d: %s is near, and does not match", r.Nearest.Line, r.Nearest)
	}
	copied := fmt.Sprintf("copy of %s, status %d", say.Stamp(r.Fetched), r.Status)
	if r.Status == 0 {
		copied = fmt.Sprintf("no answer at %s (%s)", say.Stamp(r.Fetched), r.Failure)
	}
	if !r.Copy.IsZero() {
		copied += ", in its place the copy of " + say.Stamp(r.Copy)
	}
	if r.Digest != "" {
		copied += ", " + r.Digest
	}
	l.Told("", "%s; fetched again after %s", copied, say.Stamp(r.Expires))
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

// tryLines prints the last requests for a URL, from crawl.log.
func tryLines(l *say.Lines, all []account.Try) {
	label := "tries"
	if more := len(all) - shownTries; more > 0 {
		l.Told(label, "%d earlier ones", more)
		label, all = "", all[more:]
	}
	for i := range all {
		l.Told(label, "%s", tryInWords(&all[i]))
		label = ""
	}
}

func tryInWords(t *account.Try) string {
	if !t.Request() {
		return fmt.Sprintf("%s ended without a request (%d)", say.Stamp(t.Time), t.Status)
	}
	text := fmt.Sprintf("%s status %d", say.Stamp(t.Start), t.Status)
	if t.Status <= 0 {
		text = fmt.Sprintf("%s failed", say.Stamp(t.Start))
	}
	if stage, ok := t.Annotation("error"); ok {
		text += " (" + stage + ")"
	}
	if t.Size >= 0 {
		text += ", " + say.Size(t.Size)
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

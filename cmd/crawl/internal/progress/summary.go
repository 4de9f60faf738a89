package progress

import (
	"cmp"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/permesso-crawler/permesso/cmd/crawl/internal/crawldir"
	"github.com/permesso-crawler/permesso/cmd/crawl/internal/exit"
	"github.com/permesso-crawler/permesso/cmd/crawl/internal/looks"
	"github.com/permesso-crawler/permesso/cmd/crawl/internal/nodes"
	"github.com/permesso-crawler/permesso/cmd/crawl/internal/say"
	"github.com/permesso-crawler/permesso/cmd/crawl/internal/words"
	"github.com/permesso-crawler/permesso/crawler"
	"github.com/permesso-crawler/permesso/crawler/extract"
	"github.com/permesso-crawler/permesso/fetch"
	"github.com/permesso-crawler/permesso/frontier"
	"github.com/permesso-crawler/permesso/internal/store"
)

// Summary prints the summary of a run of the crawl in dir: what came of it in one sentence, the
// figures, and what to do next. again says how to continue the crawl. If it is empty, the same
// command continues it.
func Summary(w *say.Lines, s crawler.Summary, dir, again string) error {
	node := nodes.Is(dir) // a node knows the sites that it has now, and not the figures of the whole crawl
	over := again == SnapshotOver
	w.Verdict(verdict(s, node, over)...)
	w.Line("ended", "%s", ending(s, cmp.Or(again, SameCommand)))
	budget := say.Plural(s.Frontier.Spent.Pages, "budget page") + " in the crawl; "
	if node {
		budget = ""
	}
	w.Line("pages", "%d in this run (2xx); %s%s answered, %s, %d of them for robots.txt",
		s.Pages, budget, say.Plural(s.Fetched, "URL"), say.Plural(s.Requests, "request"), s.Robots)
	if s.Rescanned > 0 {
		w.Line("rescanned", "links of %s in the archive", say.Plural(s.Rescanned, "page"))
	}
	changeLines(w, s.Changes, s.Unread)
	if !node {
		w.Line("sites", "%d", s.Sites)
	}
	w.Line("bytes", "%s", say.Size(s.Bytes))
	answerLines(w, s.Status, s.Errors)
	skipLines(w, s.SkippedURLs, s.SkippedLinks)
	sitemapLines(w, s.Sitemaps)
	if s.Retries > 0 {
		w.Line("tried again", "%s, after an answer or a failure that may pass", say.Often(s.Retries))
	}
	if s.Cut > 0 {
		w.Line("links", "of %s the first %d were taken", say.Plural(s.Cut, "page"), extract.MaxLinks)
	}
	for _, r := range s.Repeats[:min(len(s.Repeats), 5)] {
		w.Line("one body", "%d pages under %s: a space without an end?", r.Pages, r.Under)
	}
	for _, t := range s.Traps[:min(len(s.Traps), 5)] {
		w.Line("trap", "%s of %s: %s", say.Plural(t.URLs, "link"), t.Site, t.Pattern)
	}
	polite := s.Frontier.Polite
	politeLine(w, polite.Requests, polite.Early, polite.LeastMargin.Seconds(), polite.RetryAfter)
	waitingLines(w, s, over, time.Now())
	w.Print(nil, 0)
	nextLines(w, s, dir)
	return w.Err
}

// verdict returns what came of a run, in one sentence.
func verdict(s crawler.Summary, node, over bool) looks.Text {
	if exit.NothingFetched(s) && (s.End == crawler.EndDone || s.End == crawler.EndUnasked) {
		return looks.Text{{Style: looks.Bad, Text: nothingInWords(s)}}
	}
	text := looks.Whole(say.Plural(s.Pages, "page"))
	if node {
		text += " by this node"
	} else {
		text += " of " + looks.Whole(say.Plural(s.Sites, "site"))
	}
	if s.Frontier.Spent.Pages > s.Pages {
		text += " in this run"
	}
	all := looks.Text{{Style: looks.Strong, Text: text}}
	switch early := s.Frontier.Polite.Early; {
	case early > 0:
		all = append(all, looks.Span{Style: looks.Strong, Text: ", "}, looks.Span{Style: looks.Bad, Text: say.Plural(early, "request") + " early"})
	case s.Requests > 0:
		all = append(all, looks.Span{Style: looks.Strong, Text: ", "}, looks.Span{Style: looks.Good, Text: "no request early"})
	}
	return append(all, looks.Span{Style: looks.Strong, Text: "; " + leftInWords(s, over)})
}

// leftInWords returns what is left of a crawl. URLs wait if the same command fetches them. If the
// crawl is a snapshot that is over, no command does.
func leftInWords(s crawler.Summary, over bool) string {
	n, again := s.Frontier.Entries, s.Frontier.Again
	wait := s.Left[frontier.Queued] + s.Left[frontier.Waiting] + s.Left[frontier.LimitReached]
	if over {
		wait = 0
	}
	var text string
	switch {
	case n == 0 && again == 0:
		return "nothing is left"
	case n == 0:
		return againInWords(again, time.Time{}, time.Time{})
	case n == 1 && wait == 1:
		text = "1 URL waits"
	case wait == n:
		text = looks.Whole(fmt.Sprintf("%d URLs wait", n))
	case wait > 0:
		text = looks.Whole(say.Plural(n, "URL")) + fmt.Sprintf(" left, %d of them waiting", wait)
	default:
		text = looks.Whole(say.Plural(n, "URL")) + " left"
	}
	if again > 0 {
		text += fmt.Sprintf(", %d to be fetched again", again)
	}
	return text
}

// nextLines prints what the user may do next, and the files of the crawl.
func nextLines(w *say.Lines, s crawler.Summary, dir string) {
	dir = shortPath(dir)
	arg := say.ShellQuoted(dir)
	t := looks.Table{Indent: w.Indent()}
	add := func(label, what, words string) {
		t.Labels = append(t.Labels, label)
		t.Rows = append(t.Rows, []looks.Text{{{Style: looks.Strong, Text: say.OneLine(what)}}, looks.Line(words)})
	}
	if nodes.Is(dir) {
		add("next", "crawl status "+arg, "shows how far the crawl of all nodes is")
		add("", "crawl collect "+arg+" ... INTO.crawl", "makes one crawl of all nodes, once they have ended")
	} else {
		nextReads(add, s, arg)
	}
	label := "files"
	for _, file := range [][2]string{{store.ArchiveDir, "what the servers sent"}, {store.PagesFile, "a JSON object per page"}, {store.LinksFile, "a JSON object per link"}, {store.LogFile, "a line per request"}} {
		if path := filepath.Join(dir, file[0]); crawldir.Exists(path) {
			add(label, path, file[1])
			label = ""
		}
	}
	w.Table(t)
}

// nextReads adds the commands that read a crawl whose directory is arg.
func nextReads(add func(label, what, words string), s crawler.Summary, arg string) {
	add("next", "crawl report "+arg, "makes one page with pictures")
	if len(s.SkippedURLs)+len(s.SkippedLinks) > 0 || s.Frontier.Entries > 0 {
		add("", "crawl list --count "+arg, "counts URLs by fate")
		add("", "crawl explain --dir "+arg+" URL", "says why a URL was not fetched")
	}
	add("", "crawl audit "+arg, "checks each pause and each rule")
}

// shortPath returns the path of a directory, relative to the current directory if that is
// shorter. A path that begins with a hyphen gets "./" before it, so that it is not read as a
// flag.
func shortPath(dir string) string {
	short := filepath.Clean(dir)
	if here, err := os.Getwd(); err == nil && filepath.IsAbs(short) {
		if rel, err := filepath.Rel(here, short); err == nil && len(rel) < len(short) {
			short = rel
		}
	}
	if strings.HasPrefix(short, "-") {
		short = "." + string(filepath.Separator) + short
	}
	return short
}

// answerLines prints the results of requests.
func answerLines(w *say.Lines, status map[int]int, errors map[string]int) {
	if len(status) > 0 {
		w.Line("answers", "%d (%s)", say.Sum(status), statusCounts(status))
	}
	if len(errors) > 0 {
		w.Row(looks.Span{Style: looks.Bad, Text: "failed"}, looks.Line(fmt.Sprintf("%s: %s", say.Plural(say.Sum(errors), "request"), say.InList(say.InOrder(errors), words.Stage))))
	}
}

// statusCounts returns the number of answers with each status.
func statusCounts(status map[int]int) string {
	all := say.Listed(status)
	for i := range all {
		all[i] = looks.Whole(all[i])
	}
	return strings.Join(all, ", ")
}

// skipLines prints which URLs were not fetched, and which links did not bring their URL
// into the crawl.
func skipLines(w *say.Lines, urls, links map[frontier.Code]int) {
	w.Words("not fetched", say.InOrder(urls), words.URLs)
	w.Words("not followed", say.InOrder(links), words.Links)
}

// sitemapLines prints the results of sitemaps, if any were named or read.
func sitemapLines(w *say.Lines, n crawler.SitemapCounts) {
	if n.Named == 0 && n.Read == 0 {
		return
	}
	w.Line("sitemaps", "%d named, %d read, %d failed; %s listed", n.Named, n.Read, n.Failed, say.Plural(n.URLs, "URL"))
	for _, one := range n.FirstEmpty {
		w.Line("sitemap", "%s %s", one.URL, one.Reason)
	}
	if more := n.Empty - len(n.FirstEmpty); more > 0 {
		w.Line("sitemap", "answers that list nothing: %d more", more)
	}
}

// sitemapsJSON returns the figures of sitemaps for programs, or nil if none were named or
// read.
func sitemapsJSON(n crawler.SitemapCounts) any {
	if n.Named == 0 && n.Read == 0 {
		return nil
	}
	type empty struct {
		URL    string `json:"url"`
		Reason string `json:"reason"`
	}
	var first []empty
	for _, one := range n.FirstEmpty {
		first = append(first, empty(one))
	}
	return struct {
		Named      int     `json:"named"`
		Read       int     `json:"read"`
		Failed     int     `json:"failed"`
		URLs       int     `json:"urls"`
		Empty      int     `json:"empty"`
		FirstEmpty []empty `json:"first_empty,omitempty"`
	}{n.Named, n.Read, n.Failed, n.URLs, n.Empty, first}
}

// SameCommand is the sentence that says how to continue a run that was not finished.
const SameCommand = "the same command goes on"

// ending returns why a run has ended, in words. again says how to continue the crawl.
func ending(s crawler.Summary, again string) string {
	if exit.NothingFetched(s) && (s.End == crawler.EndDone || s.End == crawler.EndUnasked) {
		return nothingInWords(s)
	}
	switch s.End {
	case crawler.EndDone:
		return "done: nothing is left"
	case crawler.EndUnasked:
		return "done; all URLs that are left are of sites that were given up, were excluded, or have spent their budget"
	case crawler.EndPatience:
		if s.Frontier.Entries == 0 && s.Frontier.Again > 0 {
			return "nothing is due to be fetched again within the patience; " + again
		}
		return "no URL that is left is due within the patience; " + again
	case crawler.EndLimit:
		if again != SnapshotOver {
			again = "a larger one continues the crawl"
		}
		return "done: --limit or --max-bytes is reached; " + again
	case crawler.EndTime:
		return "stopped: the time is up; " + again
	}
	return string(s.End) + "; " + again
}

// nothingInWords returns a sentence that says that nothing could be fetched, and what failed.
func nothingInWords(s crawler.Summary) string {
	text := "nothing could be fetched"
	var parts []string
	for _, c := range say.InOrder(s.Errors) {
		words := c.Words(words.Stage)
		if c.Of == string(fetch.StageDNS) {
			words = unresolved(s)
		}
		parts = append(parts, words)
	}
	if len(parts) > 0 {
		text += ": " + strings.Join(parts, ", ")
	}
	return text
}

// unresolved returns how many host names do not resolve. It counts names, not failed requests.
// If the summary does not have the sites of the crawl, the number of names is not known.
func unresolved(s crawler.Summary) string {
	names := map[string]bool{}
	for _, st := range s.Waiting {
		if what, _, _ := strings.Cut(st.Given.Detail, ":"); what == string(fetch.StageDNS) {
			names[hostName(st.Site)] = true
		}
	}
	switch len(names) {
	case 0:
		return "host names do not resolve"
	case 1:
		return "1 host name does not resolve"
	}
	return say.Plural(len(names), "host name") + " do not resolve"
}

// hostName returns the host of a site, without its port.
func hostName(site frontier.Site) string {
	if name, _, err := net.SplitHostPort(site.Host()); err == nil {
		return name
	}
	return site.Host()
}

// waitingLines prints how many URLs are left, and which sites they belong to.
func waitingLines(w *say.Lines, s crawler.Summary, over bool, now time.Time) {
	const most = 10
	w.Words("left", say.InOrder(s.Left), words.URLs)
	if again := againInWords(s.Frontier.Again, s.NextAgain, now); again != "" {
		w.Line("again", "%s", again)
	}
	left := slices.DeleteFunc(slices.Clone(s.Waiting), func(st frontier.SiteStatus) bool {
		return st.Queued == 0 && st.Given.Code == frontier.Undecided && st.Excluded == "" && !st.Over // nothing is left at this site except URLs that are fetched again when they are due
	})
	var private, others []frontier.SiteStatus
	for _, st := range left {
		if words.Permits(st.Given.Detail) != "" {
			private = append(private, st)
		} else {
			others = append(others, st)
		}
	}
	if len(private) == 1 {
		private, others = nil, left
	} else if len(private) > 1 { // the reason is printed once, with what to do about it
		urls := 0
		for _, st := range private {
			urls += st.Left()
		}
		w.Line("", "%s and %s without a public address: %s, given up in this run%s",
			private[0].Site, say.Plural(len(private)-1, "more site"), say.Plural(urls, "URL"), words.Permits(private[0].Given.Detail))
	}
	t := looks.Table{Indent: w.Indent(), Right: []int{1}}
	for i, st := range others {
		if i == most {
			t.Rows = append(t.Rows, []looks.Text{looks.Line("and " + say.Plural(len(others)-most, "more site"))})
			break
		}
		t.Rows = append(t.Rows, []looks.Text{looks.Line(string(st.Site)), looks.Line(urlsOf(st.Queued, st.Again)), why(st, over || s.End == crawler.EndLimit, now)})
	}
	w.Table(t)
	if slices.ContainsFunc(others[:min(len(others), most)], func(st frontier.SiteStatus) bool { return st.Over }) {
		w.Line("", "budgets: --max-host-pages, --max-host-bytes, --max-host-time")
	}
}

// againInWords returns how many URLs wait to be fetched again and, if it is known, until when.
// If there are no such URLs, it returns "".
func againInWords(n int, next, now time.Time) string {
	if n == 0 {
		return ""
	}
	text := say.Plural(n, "URL") + " to be fetched again"
	switch {
	case next.IsZero():
		return text
	case next.After(now):
		return text + ", the next at " + say.Stamp(next)
	}
	return text + ", the next is due"
}

// urlsOf returns, in words, how many URLs of a site are queued, and how many will be fetched
// again.
func urlsOf(queued, again int) string {
	switch {
	case again == 0:
		return say.Plural(queued, "URL")
	case queued == 0:
		return say.Plural(again, "URL") + " to be fetched again"
	}
	return fmt.Sprintf("%s and %d to be fetched again", say.Plural(queued, "URL"), again)
}

// givenUp returns why a site was given up.
func givenUp(c frontier.Code) string {
	if c == frontier.RobotsUnreachable {
		return "robots.txt cannot be fetched"
	}
	return "no answer"
}

// why returns what a site waits for. If ended is true, no site waits for a time: the run has ended at
// a limit of the whole crawl, or its snapshot is over.
func why(st frontier.SiteStatus, ended bool, now time.Time) looks.Text {
	switch wait := st.Due.Sub(now); {
	case st.Given.Code != frontier.Undecided:
		detail := ""
		if st.Given.Detail != "" {
			detail = " (" + say.OneLine(st.Given.Detail) + ")"
		}
		return looks.Text{{Text: givenUp(st.Given.Code) + detail + ": "}, {Style: looks.Bad, Text: "given up in this run"}, {Text: words.Permits(detail)}}
	case st.Excluded != "":
		return looks.Text{{Style: looks.Wait, Text: "excluded"}, {Text: fmt.Sprintf(" (%s), until crawl run --lift %s", say.OneLine(st.Excluded), say.OneLine(st.ExcludedAs))}}
	case st.Over:
		return looks.Text{{Style: looks.Wait, Text: "its budget is spent"}}
	case ended:
		return nil
	case wait > 0:
		return looks.Text{{Style: looks.Wait, Text: "due"}, {Text: fmt.Sprintf(" in %s (%s)", wait.Round(time.Second), st.By)}}
	}
	return looks.Line("due")
}

// changeLines prints how pages have changed since the crawl before.
func changeLines(w *say.Lines, changes map[crawler.ChangeClass]int, unread int) {
	var parts []string
	for _, class := range crawler.ChangeClasses() {
		if n := changes[class]; n > 0 {
			parts = append(parts, fmt.Sprintf("%d %s", n, words.Changes[class]))
		}
	}
	if len(parts) > 0 {
		w.Line("page changes", "%s", strings.Join(parts, ", "))
	}
	if unread > 0 {
		w.Line("unread", "%s whose capture in the crawl before cannot be read: crawl verify names what is damaged", say.Plural(unread, "page"))
	}
}

// SummaryJSON returns the summary for programs. Its fields are never renamed.
func SummaryJSON(s crawler.Summary, dir string) any {
	type waiting struct {
		Site   string     `json:"site"`
		Queued int        `json:"queued"`
		Again  int        `json:"again,omitempty"`
		Due    *time.Time `json:"due,omitempty"`
		By     string     `json:"clock,omitempty"`
		Given  string     `json:"given_up,omitempty"`
		Spent  bool       `json:"budget_spent,omitempty"`
		Aside  string     `json:"excluded,omitempty"`
	}
	var sites []waiting
	for _, st := range s.Waiting {
		w := waiting{Site: string(st.Site), Queued: st.Queued, Again: st.Again, By: string(st.By), Spent: st.Over, Aside: st.Excluded}
		if st.Given.Code != frontier.Undecided {
			w.Given = st.Given.Code.String()
		}
		if !st.Due.IsZero() {
			due := st.Due.UTC()
			w.Due = &due
		}
		sites = append(sites, w)
	}
	type repeat struct {
		Under string `json:"under"`
		Pages int    `json:"pages"`
	}
	var repeats []repeat
	for _, r := range s.Repeats {
		repeats = append(repeats, repeat(r))
	}
	type trap struct {
		Site    frontier.Site `json:"site"`
		Pattern string        `json:"pattern"`
		URLs    int           `json:"links"`
	}
	var traps []trap
	for _, t := range s.Traps {
		traps = append(traps, trap(t))
	}
	return struct {
		End         string                      `json:"end"`
		Dir         string                      `json:"dir"`
		Pages       int                         `json:"pages"`
		BudgetPages int                         `json:"budget_pages"`
		Fetched     int                         `json:"fetched"`
		Requests    int                         `json:"requests"`
		Robots      int                         `json:"robots_requests"`
		Sites       int                         `json:"sites"`
		Bytes       int64                       `json:"bytes"`
		Queued      int                         `json:"queued"`
		Again       int                         `json:"again,omitempty"`
		NextAgain   time.Time                   `json:"next_again,omitzero"`
		Status      map[int]int                 `json:"status,omitempty"`
		Errors      map[string]int              `json:"errors,omitempty"`
		SkipLinks   map[frontier.Code]int       `json:"skipped_links,omitempty"`
		SkipURLs    map[frontier.Code]int       `json:"skipped_urls,omitempty"`
		Early       int                         `json:"early_requests"`
		LeastMargin float64                     `json:"least_margin_seconds"`
		RetryAfter  int                         `json:"retry_after_obeyed"`
		Left        map[frontier.Code]int       `json:"left,omitempty"`
		Waiting     []waiting                   `json:"waiting,omitempty"`
		Changes     map[crawler.ChangeClass]int `json:"page_changes,omitempty"`
		Unread      int                         `json:"unread,omitempty"`
		Cut         int                         `json:"pages_with_links_cut,omitempty"`
		Repeats     []repeat                    `json:"one_body,omitempty"`
		Traps       []trap                      `json:"traps,omitempty"`
		Sitemaps    any                         `json:"sitemaps,omitempty"`
	}{
		string(s.End), dir, s.Pages, s.Frontier.Spent.Pages, s.Fetched, s.Requests, s.Robots, s.Sites, s.Bytes, s.Frontier.Entries, s.Frontier.Again, s.NextAgain.UTC(),
		s.Status, s.Errors, s.SkippedLinks, s.SkippedURLs, s.Frontier.Polite.Early, s.Frontier.Polite.LeastMargin.Seconds(), s.Frontier.Polite.RetryAfter, s.Left, sites, s.Changes, s.Unread, s.Cut, repeats, traps, sitemapsJSON(s.Sitemaps),
	}
}

// SnapshotOver replaces SameCommand for a snapshot of a series that no run continues.
const SnapshotOver = "the snapshot is over: the same command makes the next one"

package main

import (
	"cmp"
	"fmt"
	"io"
	"maps"
	"net"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/permesso-crawler/permesso/crawler"
	"github.com/permesso-crawler/permesso/crawler/extract"
	"github.com/permesso-crawler/permesso/fetch"
	"github.com/permesso-crawler/permesso/frontier"
	"github.com/permesso-crawler/permesso/storage"
)

// paint shows a view: as an event, on a board, as a line for people, or as a line in
// logfmt.
func (p *program) paint(v *view, to screen) {
	switch {
	case p.events != nil:
		p.events.progress(v)
	case to.board != nil:
		to.board.draw(v.block(to.board.width()))
	case to.width != nil:
		fmt.Fprintln(p.err, v.line(to.width()))
	default:
		fmt.Fprintln(p.err, v.logfmt())
	}
}

// summary prints the summary of a run. again says how to continue the crawl; if it is
// empty, the same command does.
func (p *program) summary(s crawler.Summary, dir, again string, asJSON bool) error {
	if asJSON {
		return p.object(summaryJSON(s, dir))
	}
	w := &lines{w: p.out, width: terminalWidth(p.out)}
	w.line("ended", "%s", strings.Replace(ending(s), sameCommand, cmp.Or(again, sameCommand), 1))
	w.line("pages", "%d in this run (2xx); %s in the crawl; %s answered, %s, %d of them for robots.txt",
		s.Pages, plural(s.Frontier.Spent.Pages, "budget page"), plural(s.Fetched, "URL"), plural(s.Requests, "request"), s.Robots)
	if s.Rescanned > 0 {
		w.line("rescanned", "links of %s in the archive", plural(s.Rescanned, "page"))
	}
	changeLines(w, s.Changes, s.Unread)
	w.line("sites", "%d", s.Sites)
	w.line("bytes", "%s", size(s.Bytes))
	answerLines(w, s.Status, s.Errors)
	skipLines(w, s.SkippedURLs, s.SkippedLinks)
	sitemapLines(w, s.Sitemaps)
	if s.Retries > 0 {
		w.line("tried again", "%s, after an answer or a failure that may pass", times(s.Retries))
	}
	if s.Cut > 0 {
		w.line("links", "of %s the first %d were taken", plural(s.Cut, "page"), extract.MaxLinks)
	}
	for _, r := range s.Repeats[:min(len(s.Repeats), 5)] {
		w.line("one body", "%d pages under %s: a space without an end?", r.Pages, r.Under)
	}
	for _, t := range s.Traps[:min(len(s.Traps), 5)] {
		w.line("trap", "%s of %s: %s", plural(t.URLs, "link"), t.Site, t.Pattern)
	}
	polite := s.Frontier.Polite
	w.line("politeness", "early requests: %d; least margin: %s; Retry-After obeyed: %d",
		polite.Early, polite.LeastMargin.Round(time.Microsecond), polite.RetryAfter)
	p.waiting(w, s, time.Now())
	look := dir + "/crawl.log (a line per request)"
	if pages := filepath.Join(dir, storage.PagesFile); exists(pages) {
		look = pages + " (a JSON object per page), " + look
	}
	if archive := filepath.Join(dir, storage.ArchiveDir); exists(archive) {
		look = archive + " (what the servers sent), " + look
	}
	w.line("look at", "%s", look)
	w.line("report", "crawl report %s makes one page with pictures of it", dir)
	if len(s.SkippedURLs)+len(s.SkippedLinks) > 0 || s.Frontier.Entries > 0 {
		w.line("why", "crawl explain --dir %s URL says why it was not fetched; crawl list --count %s, how many were not", dir, dir)
	}
	return w.err
}

// answerLines prints the results of requests.
func answerLines(w *lines, status map[int]int, errors map[string]int) {
	if len(status) > 0 {
		w.line("answers", "%d (%s)", sum(status), strings.Join(listed(status), ", "))
	}
	if len(errors) > 0 {
		w.line("failed", "%s: %s", plural(sum(errors), "request"), inList(inOrder(errors), stageInWords))
	}
}

// skipLines prints which URLs were not fetched, and which links did not bring their URL
// into the crawl.
func skipLines(w *lines, urls, links map[crawler.Reason]int) {
	w.words("not fetched", inOrder(urls), urlsInWords)
	w.words("not followed", inOrder(links), linksInWords)
}

// sitemapLines prints the results of sitemaps, if any were named or read.
func sitemapLines(w *lines, n crawler.SitemapCounts) {
	if n.Named == 0 && n.Read == 0 {
		return
	}
	w.line("sitemaps", "%d named, %d read, %d failed; %s listed", n.Named, n.Read, n.Failed, plural(n.URLs, "URL"))
	for _, one := range n.FirstEmpty {
		w.line("sitemap", "%s %s", one.URL, one.Reason)
	}
	if more := n.Empty - len(n.FirstEmpty); more > 0 {
		w.line("sitemap", "answers that list nothing: %d more", more)
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

func exists(path string) bool {
	_, err := os.Stat(path)
	return err == nil
}

// sameCommand is how a run that was not finished can be continued.
const sameCommand = "the same command goes on"

func ending(s crawler.Summary) string {
	if nothingFetched(s) && (s.End == crawler.EndDone || s.End == crawler.EndUnasked) {
		return nothingInWords(s)
	}
	switch s.End {
	case crawler.EndDone:
		return "done: nothing is left"
	case crawler.EndUnasked:
		return "done; what is left belongs to sites that were given up, were excluded, or have spent their budget"
	case crawler.EndPatience:
		if s.Frontier.Entries == 0 && s.Frontier.Again > 0 {
			return "nothing is due to be fetched again within the patience; the same command goes on"
		}
		return "what is left is not due within the patience; the same command goes on"
	case crawler.EndLimit:
		return "done: the limit is reached"
	case crawler.EndTime:
		return "stopped: the time is up; the same command goes on"
	}
	return string(s.End) + "; the same command goes on"
}

// nothingFetched reports whether a crawl has no answer of any site.
func nothingFetched(s crawler.Summary) bool { return s.Fetched == 0 && s.Frontier.Spent.Pages == 0 }

// nothingInWords returns that nothing could be fetched, and what failed.
func nothingInWords(s crawler.Summary) string {
	text := "nothing could be fetched"
	var parts []string
	for _, c := range inOrder(s.Errors) {
		words := c.words(stageInWords)
		if c.of == string(fetch.StageDNS) {
			words = unresolved(s)
		}
		parts = append(parts, words)
	}
	if len(parts) > 0 {
		text += ": " + strings.Join(parts, ", ")
	}
	return text
}

// unresolved returns how many host names do not resolve: names, not failed requests.
// Without the sites of the crawl their number is not known.
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
	return plural(len(names), "host name") + " do not resolve"
}

// hostName returns the host of a site, without its port.
func hostName(site frontier.Site) string {
	if name, _, err := net.SplitHostPort(site.Host()); err == nil {
		return name
	}
	return site.Host()
}

// waiting prints how much is left, and the sites that it belongs to.
func (p *program) waiting(w *lines, s crawler.Summary, now time.Time) {
	const most = 10
	w.words("left", inOrder(s.Left), urlsInWords)
	if again := againInWords(s.Frontier.Again, s.NextAgain, now); again != "" {
		w.line("again", "%s", again)
	}
	left := slices.DeleteFunc(slices.Clone(s.Waiting), func(st frontier.SiteStatus) bool {
		return st.Queued == 0 && st.Given.Code == frontier.Undecided && st.Excluded == "" && !st.Over // it is fetched again when it is due
	})
	var private, others []frontier.SiteStatus
	for _, st := range left {
		if permits(st.Given.Detail) != "" {
			private = append(private, st)
		} else {
			others = append(others, st)
		}
	}
	if len(private) == 1 {
		private, others = nil, left
	} else if len(private) > 1 { // said once, with the mend
		urls := 0
		for _, st := range private {
			urls += st.Left()
		}
		w.line("", "%s and %s without a public address: %s, given up in this run%s",
			private[0].Site, plural(len(private)-1, "more site"), plural(urls, "URL"), permits(private[0].Given.Detail))
	}
	for i, st := range others {
		if i == most {
			w.line("", "and %s", plural(len(others)-most, "more site"))
			return
		}
		w.line("", "%s: %s, %s", st.Site, urlsOf(st.Queued, st.Again), why(st, now))
	}
}

// againInWords returns how much is to be fetched again, and from when on if that is known.
// It returns "" if nothing is.
func againInWords(n int, next, now time.Time) string {
	text := plural(n, "URL") + " are to be fetched again"
	switch {
	case n == 0:
		return ""
	case n == 1:
		text = "1 URL is to be fetched again"
	}
	switch {
	case next.IsZero():
		return text
	case next.After(now):
		return text + ", the next at " + stamp(next)
	}
	return text + ", the next is due"
}

// urlsOf returns the number of queued URLs of a site, and of those to be fetched again.
func urlsOf(queued, again int) string {
	switch {
	case again == 0:
		return plural(queued, "URL")
	case queued == 0:
		return plural(again, "URL") + " to be fetched again"
	}
	return fmt.Sprintf("%s and %d to be fetched again", plural(queued, "URL"), again)
}

// why returns what a site waits for.
func why(st frontier.SiteStatus, now time.Time) string {
	switch wait := st.Due.Sub(now); {
	case st.Given.Code != frontier.Undecided:
		detail := ""
		if st.Given.Detail != "" {
			detail = " (" + st.Given.Detail + ")"
		}
		return st.Given.Code.String() + detail + ": given up in this run" + permits(detail)
	case st.Excluded != "":
		return fmt.Sprintf("excluded (%s); --lift %s asks again", st.Excluded, st.Site.Host())
	case st.Over:
		return "its budget is spent (--max-host-pages, --max-host-bytes, --max-host-time)"
	case wait > 0:
		return fmt.Sprintf("due in %s (%s)", wait.Round(time.Second), st.By)
	}
	return "due"
}

// lines prints labelled lines and keeps the first error.
type lines struct {
	w     io.Writer
	width int // of the terminal that w is; 0 if it is not a terminal
	err   error
}

func (l *lines) line(label, format string, args ...any) {
	if l.err == nil {
		text := printable(fmt.Sprintf("%-12s %s", label, fmt.Sprintf(format, args...)))
		_, l.err = fmt.Fprintln(l.w, wrap(text, 13, l.width))
	}
}

// changeLines prints how pages have changed since the crawl before.
func changeLines(w *lines, changes map[crawler.ChangeClass]int, unread int) {
	var parts []string
	for _, class := range crawler.ChangeClasses() {
		if n := changes[class]; n > 0 {
			parts = append(parts, fmt.Sprintf("%d %s", n, changeWords[class]))
		}
	}
	if len(parts) > 0 {
		w.line("page changes", "%s", strings.Join(parts, ", "))
	}
	if unread > 0 {
		w.line("unread", "%s whose capture in the crawl before cannot be read: crawl verify names what is damaged", plural(unread, "page"))
	}
}

var changeWords = map[crawler.ChangeClass]string{
	crawler.ChangeNew: "new", crawler.ChangeModified: "modified", crawler.ChangeSameText: "with the same text", crawler.ChangeNotModified: "not modified",
}

// words prints counts in words, the largest first.
func (l *lines) words(label string, counts []count, in func(string) string) {
	if len(counts) > 0 {
		l.line(label, "%s", inList(counts, in))
	}
}

// inList returns counts in words, with commas between them.
func inList(counts []count, in func(string) string) string {
	var parts []string
	for _, c := range counts {
		parts = append(parts, c.words(in))
	}
	return strings.Join(parts, ", ")
}

// A count is how many there are of something.
type count struct {
	of string
	n  int
}

// words returns a count in words, in the singular for one link.
func (c count) words(in func(string) string) string {
	words := in(c.of)
	if c.n == 1 {
		first, rest, ok := strings.Cut(words, " ")
		words = strings.TrimSuffix(first, "s")
		if ok {
			words += " " + rest
		}
	}
	return fmt.Sprintf("%d %s", c.n, words)
}

// inOrder returns the entries of m, the largest first.
func inOrder[K ~string](m map[K]int) []count {
	var all []count
	for k, n := range m {
		all = append(all, count{string(k), n})
	}
	slices.SortFunc(all, func(a, b count) int { return cmp.Or(b.n-a.n, cmp.Compare(a.of, b.of)) })
	return all
}

func times(n int) string {
	if n == 1 {
		return "once"
	}
	return fmt.Sprintf("%d times", n)
}

// listed returns the entries of m as "key: n", by key.
func listed[K cmp.Ordered](m map[K]int) []string {
	var parts []string
	for _, k := range slices.Sorted(maps.Keys(m)) {
		parts = append(parts, fmt.Sprintf("%v: %d", k, m[k]))
	}
	return parts
}

func sum[K comparable](m map[K]int) int {
	n := 0
	for _, v := range m {
		n += v
	}
	return n
}

func plural(n int, noun string) string {
	if n == 1 {
		return "1 " + noun
	}
	return fmt.Sprintf("%d %ss", n, noun)
}

func size(n int64) string {
	f := float64(n)
	for _, unit := range []string{"B", "kB", "MB", "GB"} {
		if f < 1000 {
			if unit == "B" {
				return fmt.Sprintf("%d B", n)
			}
			return fmt.Sprintf("%.1f %s", f, unit)
		}
		f /= 1000
	}
	return fmt.Sprintf("%.1f TB", f)
}

// summaryJSON returns the summary for programs. Its fields are never renamed.
func summaryJSON(s crawler.Summary, dir string) any {
	type waiting struct {
		Site   string     `json:"site"`
		Queued int        `json:"queued"`
		Again  int        `json:"again,omitempty"`
		Due    *time.Time `json:"due,omitempty"`
		By     string     `json:"by,omitempty"`
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
		SkipLinks   map[crawler.Reason]int      `json:"skipped_links,omitempty"`
		SkipURLs    map[crawler.Reason]int      `json:"skipped_urls,omitempty"`
		Early       int                         `json:"early_requests"`
		LeastMargin float64                     `json:"least_margin_seconds"`
		RetryAfter  int                         `json:"retry_after_obeyed"`
		Left        map[crawler.Reason]int      `json:"left,omitempty"`
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

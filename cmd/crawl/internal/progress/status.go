package progress

import (
	"bytes"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/permesso-crawler/permesso/cmd/crawl/internal/crawldir"
	"github.com/permesso-crawler/permesso/cmd/crawl/internal/looks"
	"github.com/permesso-crawler/permesso/cmd/crawl/internal/nodes"
	"github.com/permesso-crawler/permesso/cmd/crawl/internal/say"
	"github.com/permesso-crawler/permesso/cmd/crawl/internal/words"
	"github.com/permesso-crawler/permesso/crawler"
	"github.com/permesso-crawler/permesso/frontier"
	"github.com/permesso-crawler/permesso/internal/setting"
)

// Over reports whether s is the status of a crawl that has ended.
func Over(s crawler.Status) bool {
	return s.State == crawler.StateEnded || s.State == crawler.StateNotBegun || brokenOff(s)
}

// brokenOff reports whether the last run ended without writing its final status.
func brokenOff(s crawler.Status) bool {
	return s.State == crawler.StateKilled || s.State == crawler.StateNoRoom || s.State == crawler.StateUnknown
}

// StatusBlock returns what StatusLines prints on a terminal of this size. If there is no room for
// all lines, each is cut to the width of the terminal, so that as many facts as possible are
// seen.
func StatusBlock(s crawler.Status, width, height int, colours bool) []string {
	var all []string
	for _, cut := range []bool{false, true} {
		var b bytes.Buffer
		StatusLines(&say.Lines{W: &b, Width: width, Colours: colours, Cut: cut}, s)
		all = strings.Split(strings.TrimSuffix(b.String(), "\n"), "\n")
		if len(all) < height && !slices.ContainsFunc(all, func(line string) bool { return looks.Width(line) > width }) {
			break
		}
	}
	return all
}

// StatusLines prints a status for people.
func StatusLines(w *say.Lines, s crawler.Status) {
	if s.State == crawler.StateNotBegun {
		w.Line("crawl", "%s has not begun: its run ended before the first request, and nothing is lost; the same command begins it", s.Dir)
		return
	}
	state, rest, _ := strings.Cut(statusHead(s), ";")
	if rest != "" {
		rest = ";" + rest
	}
	w.Row(looks.Span{Text: "crawl"}, looks.Text{{Text: s.Dir + " as " + s.Name + ": "}, {Style: stateStyle(s), Text: state}, {Text: rest}})
	if outage := Outage(s); outage != "" {
		w.Row(looks.Span{Text: "database"}, looks.Text{{Style: looks.Bad, Text: outage}, {Text: "; this node tries again"}})
	}
	of, node := "in the crawl", nodes.Is(s.Dir)
	if node {
		of = "at the sites that this node has now"
	}
	farLine(w, s.Crawl, of)
	if !brokenOff(s) {
		runLines(w, s)
	}
	leftLines(w, s, node)
	if p := s.Polite; p.Requests > 0 {
		politeLine(w, p.Requests, p.Early, p.LeastMargin, p.RetryAfter)
	}
	if s.Memory.Total > 0 {
		w.Line("memory", "%s, of them %s in use", say.Size(int64(s.Memory.Total)), say.Size(int64(s.Memory.Heap)))
	}
	if limits := limitWords(s.Limits); limits != "" {
		w.Line("limits", "%s", limits)
	}
	orderLines(w, s.Orders)
}

// WholeLines prints the status of a crawl on several machines for people. s has the figures of the
// whole crawl, and nothing of a run.
func WholeLines(w *say.Lines, s crawler.Status, all []nodes.Node) {
	state := string(s.State)
	if s.State == crawler.StateEnded {
		state += ": " + string(s.End)
	}
	w.Row(looks.Span{Text: "crawl"}, looks.Text{{Text: "of " + s.Name + " on " + say.Plural(len(all), "machine") + ": "}, {Style: stateStyle(s), Text: state}})
	farLine(w, s.Crawl, "in the crawl")
	leftLines(w, s, false)
	for _, n := range all {
		text := n.State
		switch {
		case n.State == nodes.Running:
			text = fmt.Sprintf("running since %s, with %s of sites", n.Began.Format("2006-01-02 15:04:05 UTC"), say.Plural(n.Partitions, "partition"))
		case !n.Committed.IsZero():
			text += ", last commit " + n.Committed.Format("2006-01-02 15:04:05 UTC")
		}
		w.Line("node", "%s: %s", n.Name, text)
	}
	orderLines(w, s.Orders)
}

// farLine prints the figures c. of says whether they are those of the crawl or of a node.
func farLine(w *say.Lines, c crawler.StatusCrawl, of string) {
	been := c.Done + c.Again
	far := looks.Line(fmt.Sprintf("%d of %s known by now (%s); %s and %s %s", been, say.Plural(c.Known, "URL"), percent(been, c.Known), say.Plural(c.BudgetPages, "budget page"), say.Size(c.Bytes), of))
	if w.Width >= narrow {
		far = append(append(looks.Bar(been, c.Known, min(w.Width/5, mostBar/2)), looks.Span{Text: " "}), far...)
	}
	w.Row(looks.Span{Text: "how far"}, far)
}

func leftLines(w *say.Lines, s crawler.Status, node bool) {
	siteLines(w, s, node)
	w.Words("left", say.InOrder(s.Left), words.URLs)
	if again := againInWords(s.Crawl.Again, s.Crawl.NextAgain, s.Time); again != "" {
		w.Line("again", "%s", again)
	}
}

// orderLines prints the last orders.
func orderLines(w *say.Lines, orders []crawler.Order) {
	for _, o := range orders[max(0, len(orders)-mostOrders):] {
		w.Line("ordered", "%s %s", o.Time.UTC().Format("2006-01-02 15:04:05"), o)
	}
}

// stateStyle returns the style of the words for the state of a crawl.
func stateStyle(s crawler.Status) looks.Style {
	switch {
	case brokenOff(s):
		return looks.Bad
	case s.State == crawler.StatePaused, s.State == crawler.StateStopping:
		return looks.Wait
	}
	return looks.Strong
}

// politeLine prints how well the pauses between requests were kept. paced is the number of
// requests that had to keep a pause, and margin is for say.Closest.
func politeLine(w *say.Lines, paced, early int, margin float64, retryAfter int) {
	style := looks.Good
	if early > 0 {
		style = looks.Bad
	}
	closest := ""
	if paced > 0 {
		closest = "; " + say.Closest(margin)
	}
	w.Row(looks.Span{Text: "politeness"}, looks.Text{{Style: style, Text: fmt.Sprintf("early requests: %d", early)},
		{Text: fmt.Sprintf("%s; Retry-After obeyed: %d", closest, retryAfter)}})
}

// mostListed is the most sites of each kind that a status lists.
const mostListed = 5

// mostOrders is how many orders are shown. An order is a command, such as pause, that was sent
// to the crawl while it ran. The output with --json has more of them, and crawl.log has all.
const mostOrders = 10

func statusHead(s crawler.Status) string {
	at := s.Time.UTC().Format("2006-01-02 15:04:05 UTC")
	switch s.State {
	case crawler.StateEnded:
		ended := crawler.Summary{End: s.End}
		ended.Frontier.Entries, ended.Frontier.Again = s.Crawl.Queued, s.Crawl.Again
		ended.Frontier.Spent.Pages, ended.Fetched, ended.Errors = s.Crawl.BudgetPages, s.Crawl.Done, s.Run.Errors
		again := SameCommand
		if crawldir.Over(s.Dir) {
			again = SnapshotOver
		}
		return fmt.Sprintf("not running; its last run ended %s after %s: %s", at, say.Short(say.Seconds(s.Seconds)), ending(ended, again))
	case crawler.StateKilled:
		return fmt.Sprintf("not running; its last run was killed, what was done by %s is safe; the same command goes on", at)
	case crawler.StateNoRoom:
		return fmt.Sprintf("not running; its last run ended for want of room on the disk, what was done by %s is safe; make room, and the same command goes on", at)
	case crawler.StateUnknown:
		return fmt.Sprintf("not running; its last run failed, what was done by %s is safe; the same command goes on", at)
	case crawler.StateStopping:
		return fmt.Sprintf("stopping (%s) after %s", s.End, say.Short(say.Seconds(s.Seconds)))
	}
	took := say.Seconds(s.Seconds)
	for _, o := range slices.Backward(s.Orders) {
		if s.State == crawler.StatePaused && o.Do == crawler.OrderPause {
			took = max(0, s.Time.Sub(o.Time))
			break
		}
	}
	return fmt.Sprintf("%s for %s", s.State, say.Short(took))
}

func runLines(w *say.Lines, s crawler.Status) {
	r := s.Run
	rate := ""
	if !Over(s) && s.Rate.Seconds > 0 {
		rate = fmt.Sprintf("; %.1f pages/s and %s/s in the last %.0f s", s.Rate.Pages, say.Size(int64(s.Rate.Bytes)), s.Rate.Seconds)
	}
	w.Line("pages", "%d in this run (2xx), %s%s", r.Pages, say.Size(r.Bytes), rate)
	w.Line("requests", "%d, %d of them for robots.txt", r.Requests, r.Robots)
	changeLines(w, r.Changes, r.Unread)
	answerLines(w, r.Status, r.Errors)
	skipLines(w, r.SkippedURLs, r.SkippedLinks)
}

// siteLines prints from which sites pages are fetched, and which sites the crawl waits
// for. A node does not know how many sites it has had.
func siteLines(w *say.Lines, s crawler.Status, node bool) {
	n := s.Sites
	var parts []string
	for _, part := range []struct {
		n    int
		what string
	}{
		{n.Busy, "active now"}, {n.Due, "due"}, {n.Waiting, "waiting"}, {n.Parked, "waiting for another one"},
		{n.GivenUp, "given up"}, {n.Spent, "with a spent budget"}, {n.Excluded, "excluded"},
	} {
		if part.n > 0 {
			parts = append(parts, fmt.Sprintf("%d %s", part.n, part.what))
		}
	}
	text := fmt.Sprintf("%d with something left", n.Left)
	if !node {
		text = fmt.Sprintf("%d, %s", n.Known, text)
	}
	if s.Crawl.Again > 0 {
		text += " or to be fetched again"
	}
	if len(parts) > 0 {
		text += ": " + strings.Join(parts, ", ")
	}
	w.Line("sites", "%s", text)
	for _, by := range clocksOf(n.Clocks) {
		c := n.Clocks[by]
		w.Line("waits for", "%s: %s with %s, the first %s, the last %s", words.ShortClock(by), say.Plural(c.Sites, "site"), urlsOf(c.Queued, c.Again),
			waitsUntil(s, c.First), waitsUntil(s, c.Last))
	}
	if one := n.Slowest; one != nil && one.Pause > 0 {
		left := " left"
		if one.Again > 0 {
			left = ""
		}
		w.Line("slowest", "%s: %s between two requests, %s%s", one.Site, say.Short(say.Seconds(one.Pause)), urlsOf(one.Queued, one.Again), left)
	}
	if one := n.Longest; one != nil && one.Queued > 1 {
		w.Line("longest", "%s: at its pause %s take %s, if none is forbidden", one.Site, say.Plural(one.Queued, "URL"), say.Short(say.Seconds(one.Seconds)))
	}
	if one := n.Asking; one != nil {
		w.Line("asking", "%s for %s", one.Site, say.Short(say.Seconds(one.Seconds)))
	}
	if Over(s) {
		n.AskingSites, n.WaitingSites = nil, nil
	}
	t := siteTable(n, s.Time, mostListed, w.Width)
	t.Indent = w.Indent()
	w.Table(t)
}

// waitsUntil says how long a site waits, until t. The status of a run that is over may be read much
// later, so it has the time t itself.
func waitsUntil(s crawler.Status, t time.Time) string {
	if Over(s) {
		return "until " + say.Stamp(t)
	}
	return "for " + say.Short(max(0, t.Sub(s.Time)))
}

// clocksOf returns the clocks, which are the reasons why sites have to wait. The clock that
// most sites wait for comes first.
func clocksOf(of map[frontier.Clock]crawler.StatusClock) []frontier.Clock {
	n := map[frontier.Clock]int{}
	for by, c := range of {
		n[by] = c.Sites
	}
	var all []frontier.Clock
	for _, c := range say.InOrder(n) {
		all = append(all, frontier.Clock(c.Of))
	}
	return all
}

// limitWords returns the limits of the crawl that are set, in words.
func limitWords(limits map[string]string) string {
	var all []string
	for name, text := range limits {
		if in := setting.InWords(text); in != "none" {
			all = append(all, name+" "+in)
		}
	}
	slices.Sort(all)
	return strings.Join(all, ", ")
}

func percent(n, of int) string {
	if of == 0 {
		return "0%"
	}
	return fmt.Sprintf("%d%%", int(float64(n)/float64(of)*100))
}

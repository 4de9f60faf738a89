package progress

import (
	"cmp"
	"fmt"
	"strings"
	"time"

	"github.com/permesso-crawler/permesso/cmd/crawl/internal/looks"
	"github.com/permesso-crawler/permesso/cmd/crawl/internal/say"
	"github.com/permesso-crawler/permesso/cmd/crawl/internal/words"
	"github.com/permesso-crawler/permesso/crawler"
	"github.com/permesso-crawler/permesso/frontier"
)

// narrow is the width of a terminal below which the labels of a block take fewer columns, and
// tiny the width below which nothing is aligned.
const (
	narrow = 60
	tiny   = 30
)

// Block returns the lines of a view for a terminal of the given width. The first lines matter
// most: if the terminal has less room, the last ones can be left out.
func (v *View) Block(width int) []looks.Text {
	b := block{width: width, margin: say.Margin}
	switch {
	case width < tiny:
		b.margin = 0
	case width < narrow:
		b.margin = 10
	}
	f := v.Stats.Frontier
	known, been := f.Done+f.Entries+f.Again, f.Done+f.Again
	b.bar(string(cmp.Or(v.state, crawler.StateRunning)), v.Since, been, known)
	if outage := v.outage(); outage != "" {
		b.row("database", looks.Text{{Style: looks.Bad, Text: outage}})
	}
	pages := fmt.Sprintf("%d, %.1f/s", v.Stats.Pages, v.rate())
	if line := looks.Sparkline(v.rates); line != "" {
		pages += " " + line
	}
	b.row("pages", looks.Line(pages+", "+say.Size(v.Stats.Bytes)))
	urls := fmt.Sprintf("%d of %d known, %d left", been, known, f.Entries)
	if f.Again > 0 {
		urls += fmt.Sprintf(", %d to be fetched again", f.Again)
	}
	b.row("URLs", looks.Line(urls))
	b.row("requests", v.requests())
	if kept := v.kept(); kept != "" {
		b.row("kept out", looks.Line(kept))
	}
	b.row("sites", v.siteCounts())
	indent := b.margin
	if width < narrow {
		indent = min(2, b.margin)
	}
	return append(b.lines, v.siteLines(indent, width)...)
}

// A block collects lines with labels, each cut to a width.
type block struct {
	lines         []looks.Text
	width, margin int
}

func (b *block) row(label string, text looks.Text) {
	line := looks.Line(label).Padded(b.margin-1, false)
	line = append(line, looks.Span{Text: " "})
	b.lines = append(b.lines, append(line, text...).Fit(b.width))
}

// leastBar is the least width of a bar that is shown.
const leastBar = 8

// bar adds the row with the state of a crawl and, in the room that is left, a bar of what is done
// of what is known.
func (b *block) bar(state string, since time.Duration, done, known int) {
	label, took, share := max(b.margin, len(state)+1), fmt.Sprintf("%-6s", say.Short(since))+" ", fmt.Sprintf(" %4s", percent(done, known))
	width := min(b.width-label-len(took)-len(share), mostBar)
	text := looks.Text{{Text: took}}
	if width >= leastBar {
		text = append(text, looks.Bar(done, known, width)...)
	} else {
		share = strings.TrimSpace(share)
	}
	b.row(state, append(text, looks.Span{Style: looks.Strong, Text: share}))
}

// mostBar is the greatest width of a bar.
const mostBar = 60

// requests returns how many requests were sent, with the answers.
func (v *View) requests() looks.Text {
	text := fmt.Sprint(v.Stats.Requests)
	if codes := say.Listed(v.Stats.Status); len(codes) > 0 {
		text += " (" + strings.Join(codes, ", ") + ")"
	}
	if n := say.Sum(v.Stats.Errors); n > 0 {
		return looks.Text{{Text: text + ", "}, {Style: looks.Bad, Text: say.Plural(n, "request") + " failed"}}
	}
	return looks.Line(text)
}

// kept returns how many URLs were not fetched, and how many links did not bring their URL into
// the crawl, for each reason. The URLs come first, and the most frequent reasons come first.
func (v *View) kept() string {
	var parts []string
	if urls := say.InList(say.InOrder(v.Stats.SkippedURLs), words.URLs); urls != "" {
		parts = append(parts, urls)
	}
	if links := say.InList(say.InOrder(v.Stats.SkippedLinks), words.Links); links != "" {
		parts = append(parts, links)
	}
	return strings.Join(parts, "; ")
}

// siteCounts returns how many sites there are, and what becomes of them.
func (v *View) siteCounts() looks.Text {
	text := looks.Line(fmt.Sprint(v.Stats.Frontier.Sites))
	add := func(style looks.Style, n int, what string) {
		if n > 0 {
			text = append(text, looks.Span{Text: ", "}, looks.Span{Style: style, Text: fmt.Sprintf("%d %s", n, what)})
		}
	}
	add(looks.Plain, v.Stats.Frontier.Out, "active now")
	add(looks.Wait, v.sites.Waiting, "waiting")
	add(looks.Plain, v.sites.Spent, "with a spent budget")
	add(looks.Bad, v.sites.GivenUp, "given up")
	return text
}

// mostOfAKind is the most sites of each kind that a block lists.
const mostOfAKind = 3

// siteLines returns a line for each of the few sites that matter now: those whose requests take
// long, those that the crawl waits for, and those that were given up.
func (v *View) siteLines(indent, width int) []looks.Text {
	sites := v.sites
	sites.AskingSites = nil
	for _, one := range v.sites.AskingSites {
		since := v.read.Add(-say.Seconds(one.Seconds))
		if v.old == "" || since.Before(v.Now.Add(-v.asked)) {
			continue // it has answered since the list was read
		}
		one.Seconds = v.Now.Sub(since).Seconds()
		sites.AskingSites = append(sites.AskingSites, one)
	}
	if len(sites.AskingSites) == 0 && v.old != "" {
		sites.AskingSites = []crawler.StatusSite{{Site: v.old, Seconds: v.asked.Seconds()}}
	}
	if f := v.Stats.Frontier; len(sites.WaitingSites) == 0 && f.Out == 0 && !f.NextDue.IsZero() {
		sites.WaitingSites = []crawler.StatusSite{{Site: f.NextSite, Due: f.NextDue, By: f.NextBy}}
	} else if len(sites.WaitingSites) == 0 && v.slow != nil {
		sites.WaitingSites = []crawler.StatusSite{{Site: v.slow.Site, Due: v.slow.Due, By: v.slow.By}}
	}
	t := siteTable(sites, v.Now, mostOfAKind, width)
	for _, row := range t.Rows {
		_, host, _ := strings.Cut(row[0].String(), "://")
		row[0] = looks.Line(host)
	}
	t.Indent, t.OneRow = indent, true
	return t.Lines(width)
}

// longPause is the least pause between two requests, in seconds, with which a site is listed until
// the very end of its pause, so that the list does not lose it for a moment.
const longPause = 2

// siteTable returns a table of the sites of a status that matter at the time now, at most so
// many of a kind, for a terminal of the given width.
func siteTable(s crawler.StatusSites, now time.Time, most, width int) (table looks.Table) {
	add := func(site frontier.Site, text ...looks.Span) {
		table.Rows = append(table.Rows, []looks.Text{looks.Line(string(site)), text})
	}
	n := 0
	for _, one := range s.AskingSites {
		if took := say.Seconds(one.Seconds); took >= longAsked && n < most {
			n++
			add(one.Site, looks.Span{Style: looks.Strong, Text: "asking"}, looks.Span{Text: " since " + say.Short(took)})
		}
	}
	n = 0
	for _, one := range s.WaitingSites {
		if wait := max(0, one.Due.Sub(now)); (wait >= leastWait || one.Pause >= longPause) && n < most {
			n++
			why := words.Clock(one.By)
			if width > 0 && width < wide {
				why = words.ShortClock(one.By)
			}
			add(one.Site, looks.Span{Style: looks.Wait, Text: "waits"}, looks.Span{Text: " " + waitTime(wait, one.Due) + ": " + why})
		}
	}
	for _, one := range s.GivenUpSites[:min(len(s.GivenUpSites), most)] {
		why := givenUp(one.Given)
		if one.Detail != "" {
			why += " (" + say.OneLine(one.Detail) + ")"
		}
		add(one.Site, looks.Span{Style: looks.Bad, Text: "given up"}, looks.Span{Text: ": " + why})
	}
	return table
}

// wide is the width of a terminal from which on a line has room for the long words for a clock.
const wide = 120

// waitTime returns how long a site waits or, if that is long, until when.
func waitTime(wait time.Duration, due time.Time) string {
	if wait < time.Hour {
		return say.Short(wait)
	}
	return "until " + say.Stamp(due)
}

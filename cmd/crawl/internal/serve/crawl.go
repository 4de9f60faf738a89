package serve

import (
	"bytes"
	"context"
	"fmt"
	"net/http"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"github.com/permesso-crawler/permesso/cmd/crawl/internal/feed"
	"github.com/permesso-crawler/permesso/cmd/crawl/internal/follow"
	"github.com/permesso-crawler/permesso/cmd/crawl/internal/progress"
	"github.com/permesso-crawler/permesso/cmd/crawl/internal/say"
	"github.com/permesso-crawler/permesso/crawler"
	"github.com/permesso-crawler/permesso/frontier"
	"github.com/permesso-crawler/permesso/internal/report"
)

// Pauses between two looks at a crawl. A crawl spends at most a hundredth of its time on answers
// to this server.
const (
	leastPause = 2 * time.Second
	mostPause  = time.Minute
	share      = 100
)

// pauseAfter returns the pause after looks that took the crawls so long in all.
func pauseAfter(took time.Duration) time.Duration {
	return min(max(leastPause, share*took), mostPause)
}

// rest waits for a pause, or until ctx ends.
func rest(ctx context.Context, pause time.Duration) {
	wait := time.NewTimer(pause)
	defer wait.Stop()
	select {
	case <-wait.C:
	case <-ctx.Done():
	}
}

// crawlFeed returns the feed of the parts of the page about a crawl.
func (s *Server) crawlFeed(p *place) *feed.Feed {
	return s.feedOf(p.dir, func(ctx context.Context, publish func(string, []feed.Part)) {
		c := follow.Crawl{Dir: p.dir, Reports: s.reports}
		for ctx.Err() == nil {
			v := c.Look(ctx)
			if ctx.Err() == nil {
				publish(crawlParts(v, c.Pending(v)))
			}
			if !c.Pending(v) {
				rest(ctx, pauseAfter(v.Took))
			}
		}
	})
}

func (s *Server) crawlPage(w http.ResponseWriter, r *http.Request, p *place) {
	s.show(w, r, "crawl", frame{Title: filepath.Base(p.dir), Above: above(p), Steers: s.options.Token != ""}, s.crawlFeed(p))
}

func (s *Server) crawlLive(w http.ResponseWriter, r *http.Request, p *place) {
	s.stream(w, r, s.crawlFeed(p))
}

// above returns links to the pages above that of a crawl.
func above(p *place) []link {
	all := []link{{"/", "All crawls"}}
	if in, _, ok := strings.Cut(p.name, "/"); ok && p.series {
		all = append(all, link{"../", in})
	}
	return all
}

// report answers with the report of a crawl as one page, as crawl report writes it.
func (s *Server) report(w http.ResponseWriter, r *http.Request, p *place) {
	made, err := s.reports.Of(r.Context(), p.dir)
	var text bytes.Buffer
	if err == nil {
		err = made.WriteHTML(&text)
	}
	if err != nil {
		refuse(w, r, http.StatusConflict, "There is no report: "+say.WithoutPackages(err.Error()))
		return
	}
	// Making it may have taken longer than an answer may take.
	_ = http.NewResponseController(w).SetWriteDeadline(time.Now().Add(time.Minute))
	w.Header().Set("Content-Security-Policy", "default-src 'none'; style-src 'unsafe-inline'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'")
	w.Header().Set("Content-Type", "text/html; charset=utf-8")
	_, _ = w.Write(text.Bytes()) // fails only if the client has left
}

// A stateView is the state of a crawl in words.
type stateView struct {
	State, Class, Text string
	Warnings           []string
}

// crawlParts returns the parts of the page about a crawl, and their layout. pending is true if
// its report is being made.
func crawlParts(v *follow.View, pending bool) (layout string, parts []feed.Part) {
	state := stateOf(v, pending)
	layout = "ended"
	switch {
	case v.Running:
		layout = "running"
	case v.Report == nil:
		layout = "bare"
	}
	if v.Status.State == "" {
		parts = append(parts, feed.Part{ID: "figures"})
	} else {
		parts = append(parts, part("figures", "figures", figuresOf(v)))
	}
	var more report.Parts
	var err error
	switch {
	case v.Running && v.Recent != nil:
		more, err = looks.Recent(v.Recent)
	case v.Report != nil:
		more, err = looks.Parts(v.Report)
	}
	if err != nil {
		state.Warnings = append(state.Warnings, err.Error())
	}
	state.Warnings = append(state.Warnings, more.Warnings...)
	parts = append(parts, part("state", "state", state))
	add := func(p report.Part) {
		if p.ID != "" {
			parts = append(parts, feed.Part{ID: p.ID, HTML: string(p.HTML)})
		}
	}
	add(more.Polite)
	if more.Changes != nil {
		add(*more.Changes)
	}
	for _, p := range more.Plots {
		add(p)
	}
	for _, p := range more.Tables {
		add(p)
	}
	if v.Err == nil || v.Status.Name != "" {
		parts = append(parts, part("words", "words", statusLines(v.Status)))
	}
	return layout, parts
}

// stateOf returns the state of a crawl in words.
func stateOf(v *follow.View, pending bool) stateView {
	st := &v.Status
	s := stateView{State: string(st.State), Class: "still"}
	switch {
	case v.Err != nil && st.State == "":
		s.State, s.Class = "unknown", "bad"
	case v.Running && st.State == crawler.StatePaused:
		s.Class = "paused"
	case v.Running:
		s.Class = "running"
	}
	if v.Err != nil {
		s.Warnings = append(s.Warnings, say.WithoutPackages(v.Err.Error()))
	}
	if outage := progress.Outage(*st); outage != "" {
		s.Warnings = append(s.Warnings, "The database "+outage+". The node tries again.")
	}
	switch {
	case v.Running:
		s.Text = fmt.Sprintf("as %s, for %s", st.Name, say.Short(say.Seconds(st.Seconds)))
	case st.State == crawler.StateNotBegun:
		s.Text = "its run ended before the first request; the same command begins it"
	case st.State != "":
		s.Text = fmt.Sprintf("as %s, at %s", st.Name, say.Stamp(st.Time))
		if st.End != "" {
			s.Text += ": " + string(st.End)
		}
	}
	if pending {
		s.Warnings = append(s.Warnings, "Its report is being made from crawl.log.")
	}
	return s
}

// A figure is one of the figures at the top of a page, with the page that lists what it counts.
type figure struct{ Name, Value, Class, Href string }

// figuresOf returns the figures of a crawl.
func figuresOf(v *follow.View) []figure {
	s := &v.Status
	kept := s.Run.SkippedURLs[frontier.RobotsDisallowed] + s.Run.SkippedURLs[frontier.UseRefused] + s.Run.SkippedURLs[frontier.OptedOut]
	early := figure{"early requests", grouped(s.Polite.Early), "good", "#delays-head"}
	if s.Polite.Early > 0 {
		early.Class = "bad"
	}
	if s.Polite.Requests == 0 {
		early.Class = ""
	}
	all := []figure{
		{"pages in this run", grouped(s.Run.Pages), "", listLink("", frontier.Fetched)},
		{"requests", grouped(s.Run.Requests), "", "#table-latest"},
		{"URLs in the queue", grouped(s.Crawl.Queued), "", listLink("", frontier.Queued, frontier.Waiting)},
		{"URLs known", grouped(s.Crawl.Known), "", "list"},
		{"sites", grouped(s.Sites.Known), "", "#sites"},
		{"received", say.Size(s.Run.Bytes), "", "#plot-bytes"},
		{"requests that failed", grouped(say.Sum(s.Run.Errors)), "", listLink("", frontier.Failed)},
		{"left alone as owners wish", grouped(kept), "", listLink("", frontier.RobotsDisallowed, frontier.UseRefused, frontier.OptedOut)},
		early,
	}
	if v.Running {
		return append([]figure{{"pages a second", strconv.FormatFloat(s.Rate.Pages, 'f', 1, 64), "", "#plot-pages"}}, all...)
	}
	all[1].Href, all[0].Name = "report", "pages in the last run"
	return all
}

// grouped returns a number with a space between thousands.
func grouped(n int) string {
	s := strconv.Itoa(n)
	for i := len(s) - 3; i > 0 && s[i-1] != '-'; i -= 3 {
		s = s[:i] + "\u202f" + s[i:]
	}
	return s
}

// A line is a text with its label.
type line struct {
	Label string
	Words []link // pieces of the text, with links or without
}

// statusLines returns what crawl status prints.
func statusLines(s crawler.Status) []line {
	var b strings.Builder
	progress.StatusLines(&say.Lines{W: &b}, s)
	return labelled(b.String(), false)
}

// labelled returns lines that a command has printed, each with a label in its first columns. If
// links is true, URLs in the texts become links to their explanations.
func labelled(text string, links bool) (all []line) {
	for row := range strings.Lines(text) {
		row = strings.TrimRight(row, "\n")
		l, at := line{}, min(len(row), 13)
		l.Label = strings.TrimSpace(row[:at])
		if !links {
			l.Words = []link{{"", row[at:]}}
		} else {
			l.Words = linked(row[at:])
		}
		all = append(all, l)
	}
	return all
}

// linked splits a text at its URLs.
func linked(text string) (all []link) {
	for i, word := range strings.Split(text, " ") {
		if i > 0 {
			all = append(all, link{"", " "})
		}
		address := strings.TrimRight(word, ",;:)")
		if href := explainLink(address); href != "" {
			all = append(all, link{href, address})
			word = word[len(address):]
		}
		if word != "" {
			all = append(all, link{"", word})
		}
	}
	return all
}

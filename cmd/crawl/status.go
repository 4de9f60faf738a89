package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"
	"time"

	"github.com/permesso-crawler/permesso/cmd/crawl/internal/crawldir"
	"github.com/permesso-crawler/permesso/cmd/crawl/internal/door"
	"github.com/permesso-crawler/permesso/cmd/crawl/internal/exit"
	"github.com/permesso-crawler/permesso/cmd/crawl/internal/say"
	"github.com/permesso-crawler/permesso/cmd/crawl/internal/terminal"
	"github.com/permesso-crawler/permesso/cmd/crawl/internal/words"
	"github.com/permesso-crawler/permesso/crawler"
	"github.com/permesso-crawler/permesso/frontier"
	"github.com/permesso-crawler/permesso/storage"
	"github.com/spf13/cobra"
)

func (p *program) statusCommand() *cobra.Command {
	var asJSON, watch bool
	cmd := &cobra.Command{
		Use:   "status [flags] DIR",
		Short: "show how far a crawl is, whether it runs or not",
		Example: `How far is it, and which sites does it wait for?
  crawl status seeds.crawl

The same every two seconds, until it ends:
  crawl status --watch seeds.crawl`,
		Long: `status shows what a running crawl does: how fast it is, which sites it fetches from,
which it waits for and why, what was kept out. If it has ended it shows how, and what is
left. It changes nothing, and no figure is an estimate.

--json prints it as one object; its fields are never renamed. --watch goes on until the
crawl has ended. Docs: docs/guide/steering.md.`,
		RunE: func(cmd *cobra.Command, args []string) error {
			dir, rest, err := oneDirectory("status", args)
			if err != nil {
				return err
			}
			if err := tooMany("status", rest); err != nil {
				return err
			}
			if watch {
				return p.watchStatus(cmd.Context(), dir, asJSON)
			}
			s, err := status(cmd.Context(), dir)
			if err != nil {
				return err
			}
			return p.showStatus(s, asJSON)
		},
	}
	cmd.Flags().BoolVar(&asJSON, "json", false, "print it as JSON")
	cmd.Flags().BoolVar(&watch, "watch", false, "show it every two seconds, until the crawl has ended")
	return cmd
}

// status returns the status of the crawl in dir, from the process that runs it, or else
// from the files in dir.
func status(ctx context.Context, dir string) (crawler.Status, error) {
	s, err := door.Status(ctx, dir)
	if err == nil {
		s.Dir = dir
		return s, nil
	}
	if !errors.Is(err, door.ErrNobody) {
		return s, shut(err)
	}
	s, err = crawler.ReadStatus(dir)
	if errors.Is(err, os.ErrNotExist) {
		if crawldir.Newest(dir) != "" {
			return s, crawldir.NoCrawl(dir)
		}
		return s, exit.Usagef("%s is not the directory of a crawl: there is no %s in it", dir, storage.StateFile)
	}
	return s, err
}

// over reports whether the crawl has ended.
func over(s crawler.Status) bool {
	return s.State == crawler.StateEnded || s.State == crawler.StateNotBegun || brokenOff(s)
}

// brokenOff reports whether the last run ended without writing its final status.
func brokenOff(s crawler.Status) bool {
	return s.State == crawler.StateKilled || s.State == crawler.StateNoRoom || s.State == crawler.StateUnknown
}

// watchStatus shows a status every two seconds: on a terminal in its place.
func (p *program) watchStatus(ctx context.Context, dir string, asJSON bool) error {
	b := terminal.BoardFor(p.out)
	if asJSON {
		b = nil
	}
	tick := time.NewTicker(2 * time.Second)
	defer tick.Stop()
	for {
		s, err := status(ctx, dir)
		if err != nil {
			return err
		}
		switch {
		case b != nil && !over(s):
			b.Draw(statusBlock(s, b.Width()))
		default:
			if b != nil {
				b.Draw(nil)
			}
			if err := p.showStatus(s, asJSON); err != nil {
				return err
			}
		}
		if over(s) {
			return nil
		}
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-tick.C:
		}
	}
}

// statusBlock returns a status as lines of a board.
func statusBlock(s crawler.Status, width int) []string {
	var b bytes.Buffer
	statusLines(&say.Lines{W: &b}, s)
	all := strings.Split(strings.TrimSuffix(b.String(), "\n"), "\n")
	for i := range all {
		all[i] = say.Fit(all[i], width)
	}
	return all
}

func (p *program) showStatus(s crawler.Status, asJSON bool) error {
	if asJSON {
		return p.object(s)
	}
	w := p.lines()
	statusLines(w, s)
	return w.Err
}

func statusLines(w *say.Lines, s crawler.Status) {
	if s.State == crawler.StateNotBegun {
		w.Line("crawl", "%s has not begun: its run ended before the first request, and nothing is lost; the same command begins it", s.Dir)
		return
	}
	w.Line("crawl", "%s as %s: %s", s.Dir, s.Name, statusHead(s))
	if !brokenOff(s) {
		runLines(w, s)
	}
	c := s.Crawl
	been := c.Done + c.Again
	w.Line("how far", "%d of %s known by now (%s); %s and %s in the crawl", been, say.Plural(c.Known, "URL"), percent(been, c.Known), say.Plural(c.BudgetPages, "budget page"), say.Size(c.Bytes))
	siteLines(w, s)
	w.Words("left", say.InOrder(s.Left), words.URLs)
	if again := againInWords(c.Again, c.NextAgain, s.Time); again != "" {
		w.Line("again", "%s", again)
	}
	if p := s.Polite; p.Requests > 0 {
		w.Line("politeness", "early requests: %d; least margin: %s; Retry-After obeyed: %d", p.Early, say.Seconds(p.LeastMargin).Round(time.Microsecond), p.RetryAfter)
	}
	if s.Memory.Total > 0 {
		w.Line("memory", "%s, of them %s in use", say.Size(int64(s.Memory.Total)), say.Size(int64(s.Memory.Heap)))
	}
	if limits := limitWords(s.Limits); limits != "" {
		w.Line("limits", "%s", limits)
	}
	for _, o := range s.Orders[max(0, len(s.Orders)-mostOrders):] {
		w.Line("was told", "%s %s", o.Time.UTC().Format("2006-01-02 15:04:05"), o)
	}
}

// mostOrders is how many orders are shown; --json has more, and crawl.log all.
const mostOrders = 10

func statusHead(s crawler.Status) string {
	at := s.Time.UTC().Format("2006-01-02 15:04:05 UTC")
	switch s.State {
	case crawler.StateEnded:
		ended := crawler.Summary{End: s.End}
		ended.Frontier.Entries, ended.Frontier.Again = s.Crawl.Queued, s.Crawl.Again
		ended.Frontier.Spent.Pages, ended.Fetched, ended.Errors = s.Crawl.BudgetPages, s.Crawl.Done, s.Run.Errors
		end := ending(ended)
		if crawldir.Over(s.Dir) {
			end = strings.Replace(end, sameCommand, snapshotOver, 1)
		}
		return fmt.Sprintf("not running; its last run ended %s after %s: %s", at, say.Short(say.Seconds(s.Seconds)), end)
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
	if !over(s) && s.Rate.Seconds > 0 {
		rate = fmt.Sprintf("; %.1f pages/s and %s/s in the last %.0f s", s.Rate.Pages, say.Size(int64(s.Rate.Bytes)), s.Rate.Seconds)
	}
	w.Line("pages", "%d in this run (2xx), %s%s", r.Pages, say.Size(r.Bytes), rate)
	w.Line("requests", "%d, %d of them for robots.txt", r.Requests, r.Robots)
	changeLines(w, r.Changes, r.Unread)
	answerLines(w, r.Status, r.Errors)
	skipLines(w, r.SkippedURLs, r.SkippedLinks)
}

// siteLines prints which sites are fetched from, and which are waited for.
func siteLines(w *say.Lines, s crawler.Status) {
	n := s.Sites
	var parts []string
	for _, part := range []struct {
		n    int
		what string
	}{
		{n.Busy, "asked just now"}, {n.Due, "due"}, {n.Waiting, "waiting"}, {n.Parked, "waiting for another one"},
		{n.GivenUp, "given up"}, {n.Spent, "with a spent budget"}, {n.Excluded, "excluded"},
	} {
		if part.n > 0 {
			parts = append(parts, fmt.Sprintf("%d %s", part.n, part.what))
		}
	}
	text := fmt.Sprintf("%d, %d with something left", n.Known, n.Left)
	if s.Crawl.Again > 0 {
		text += " or to be fetched again"
	}
	if len(parts) > 0 {
		text += ": " + strings.Join(parts, ", ")
	}
	w.Line("sites", "%s", text)
	for _, by := range clocksOf(n.Clocks) {
		c := n.Clocks[by]
		w.Line("waits for", "%s: %s with %s, the first for %s, the last for %s", words.ShortClock(by), say.Plural(c.Sites, "site"), urlsOf(c.Queued, c.Again),
			say.Short(max(0, c.First.Sub(s.Time))), say.Short(max(0, c.Last.Sub(s.Time))))
	}
	if one := n.Slowest; one != nil && one.Pause > 0 {
		left := " left"
		if one.Again > 0 {
			left = ""
		}
		w.Line("slowest", "%s: %s between two requests, %s%s", one.Site, say.Short(say.Seconds(one.Pause)), urlsOf(one.Queued, one.Again), left)
	}
	if one := n.Longest; one != nil && one.Queued > 1 {
		w.Line("longest", "%s: at its pause %s take %s, if all may be asked", one.Site, say.Plural(one.Queued, "URL"), say.Short(say.Seconds(one.Seconds)))
	}
	if one := n.Asking; one != nil {
		w.Line("asking", "%s for %s", one.Site, say.Short(say.Seconds(one.Seconds)))
	}
}

// clocksOf returns the clocks, those that most sites wait for first.
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

// limitWords returns the limits that are set.
func limitWords(limits map[string]string) string {
	var all []string
	for name, text := range limits {
		if in := crawler.InWords(text); in != "none" {
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

package main

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"os/exec"
	"os/signal"
	"runtime"
	"strconv"
	"syscall"
	"time"

	"github.com/permesso-crawler/permesso/cmd/crawl/internal/exit"
	"github.com/permesso-crawler/permesso/cmd/crawl/internal/looks"
	"github.com/permesso-crawler/permesso/cmd/crawl/internal/nodes"
	"github.com/permesso-crawler/permesso/cmd/crawl/internal/progress"
	"github.com/permesso-crawler/permesso/cmd/crawl/internal/say"
	"github.com/permesso-crawler/permesso/cmd/crawl/internal/terminal"
	"github.com/permesso-crawler/permesso/crawler"
	"github.com/permesso-crawler/permesso/internal/provenance"
	"github.com/permesso-crawler/permesso/internal/setting"
)

var errForced = errors.New("stopped at once")

// A screen says what to show of a crawl, and how.
type screen struct {
	every time.Duration   // time between two lines of progress; 0: no progress, and no first line
	json  bool            // the summary is JSON
	board *terminal.Board // nil if progress is shown in lines
	width func() int      // width of lines for people; nil if lines are for programs
	most  time.Duration   // limit of the run's time; 0: no limit

	control  bool         // the crawl has a control socket
	figures  net.Listener // for metrics; nil if the user has named no address
	again    string       // says how to continue the crawl; if empty, the summary says "the same command goes on"
	over     bool         // the crawl belongs to a series: if it ends by --patience or --max-time, no run continues it
	onEnd    string       // the command of --on-end
	contents []string     // what is exported at the end, see settings.ContentNames
	undo     undos        // functions to call if the crawl is refused
	record   recorder
}

// screen returns the screen for the values of --progress and --json. On a terminal, the screen
// shows something at least every two seconds. After the call, messages are printed above the
// block of lines that shows the progress, if there is such a block.
func (p *program) screen(how string, asJSON bool) screen {
	file, ok := p.err.(*os.File)
	switch {
	case how == "json":
		p.beginEvents()
		return screen{every: p.events.Every, json: asJSON}
	case how == "none":
		return screen{json: asJSON}
	case !ok || !terminal.Is(file):
		return screen{every: 30 * time.Second, json: asJSON}
	case how == "auto":
		if b := terminal.BoardFor(p.err); b != nil {
			p.err = b
			return screen{every: 250 * time.Millisecond, json: asJSON, board: b}
		}
	}
	return screen{every: 2 * time.Second, json: asJSON, width: func() int { return terminal.WidthOf(file) }}
}

// columns returns the width of the terminal, or 0 if none exists.
func (s screen) columns() int {
	switch {
	case s.board != nil:
		return s.board.Width()
	case s.width != nil:
		return s.width()
	}
	return 0
}

// crawl runs a crawl, from the first line that it prints to its summary.
func (p *program) crawl(ctx context.Context, opts crawler.Options, show screen) (err error) {
	var c *crawler.Crawler
	began := false
	defer func() {
		if err != nil && !began {
			err = errors.Join(err, show.undo.all())
		}
	}()
	open := &servers{p: p, control: show.control, figures: show.figures}
	opts.OnStart = func(s crawler.Start) {
		began = true
		p.start(s, opts, show)
		open.socket(c, opts.Dir)
	}
	if c, err = crawler.New(opts); err != nil {
		return err
	}
	if c.Idle() {
		began = true
		return p.idle(ctx, c, opts, show)
	}
	open.metrics(c)
	defer open.close()
	if opts.Delay < 200*time.Millisecond && opts.Delay != 0 && !opts.AllowPrivate && len(opts.ConnectTo) == 0 {
		p.note("crawl: --delay is under 200ms: sites at public addresses get 200ms all the same")
	}
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	// From here on an interrupt stops the crawl; earlier, it would have ended the process.
	signals := make(chan os.Signal, 2)
	signal.Notify(signals, stopSignals()...)
	defer signal.Stop(signals)
	ended := make(chan struct{})
	done := make(chan struct{})
	show.most = opts.MaxTime
	// This goroutine handles signals and prints progress. It ends when the crawl has ended.
	go func() {
		defer close(done)
		p.watch(c, cancel, signals, ended, show)
	}()
	err = c.Run(ctx, nil)
	close(ended)
	<-done
	open.close()
	err = p.ended(c, opts, err, show)
	signal.Stop(signals) // while the provenance is written, a second interrupt ends the process
	if began {
		err = p.record(context.WithoutCancel(ctx), c, opts, err, show.record)
		err = p.exportContents(context.WithoutCancel(ctx), opts.Dir, err, show.contents)
	}
	signal.Notify(signals, stopSignals()...)
	p.tellEnd(c, opts.Dir, err, show.onEnd, signals)
	return err
}

// idle ends a run that has nothing to do. It leaves the files of the crawl as they are, and
// writes its provenance only if none exists.
func (p *program) idle(ctx context.Context, c *crawler.Crawler, opts crawler.Options, show screen) error {
	p.start(crawler.Start{Resumed: true}, opts, show)
	err := p.ended(c, opts, nil, show)
	if r := show.record; r.wanted && !provenance.Current(opts.Dir, r.key != nil) {
		err = p.record(context.WithoutCancel(ctx), c, opts, err, r)
	}
	err = p.exportContents(context.WithoutCancel(ctx), opts.Dir, err, contentsMissing(opts.Dir, show.contents))
	signals := make(chan os.Signal, 2)
	signal.Notify(signals, stopSignals()...)
	defer signal.Stop(signals)
	p.tellEnd(c, opts.Dir, err, show.onEnd, signals)
	return err
}

// ended prints the summary of a run that has ended with err, and returns the error of the
// command.
func (p *program) ended(c *crawler.Crawler, opts crawler.Options, err error, show screen) error {
	if err != nil && !errors.Is(err, errForced) {
		return err
	}
	s, dir := c.Summary(), opts.Dir
	if p.events != nil {
		p.events.Ended(s)
	}
	again, is := show.again, exit.OfRun(s)
	if errors.Is(is, exit.ErrNothing) && nodes.Is(dir) {
		is = nil // the other nodes of the crawl may have had all sites
	}
	if show.over {
		switch again = ""; s.End {
		case crawler.EndLimit:
			again = progress.SnapshotOver
		case crawler.EndPatience, crawler.EndTime:
			again, is = progress.SnapshotOver, nil
			if exit.NothingFetched(s) {
				is = exit.ErrNothing
			}
		}
	}
	seedsOnly := fmt.Sprint(opts.Scope) == fmt.Sprint(crawler.SeedsOnly()) // then no sitemap is read
	if opts.Sitemaps == crawler.SitemapsOnly && !seedsOnly && noSitemap(s) && !nodes.Is(dir) {
		p.note("crawl: no robots.txt names a sitemap, and with --sitemaps only the links of pages are not followed: a seed may be a sitemap, or leave the flag out")
	}
	var perr error
	if show.json {
		perr = p.object(progress.SummaryJSON(s, dir))
	} else {
		perr = progress.Summary(p.lines(), s, dir, again)
	}
	if perr != nil {
		return perr
	}
	return is
}

// noSitemap reports whether a crawl has ended in its first run, and no sitemap was known.
func noSitemap(s crawler.Summary) bool {
	first := s.Pages > 0 && s.Pages >= s.Frontier.Spent.Pages // a later run counts only the sitemaps that it reads itself
	return first && s.End == crawler.EndDone && s.Sitemaps.Named == 0 && s.Sitemaps.Read == 0
}

// stopSignals returns the signals that end a crawl gracefully. SIGHUP is left out if it is
// ignored, as under nohup.
func stopSignals() []os.Signal {
	all := []os.Signal{os.Interrupt, syscall.SIGTERM}
	if !signal.Ignored(syscall.SIGHUP) {
		all = append(all, syscall.SIGHUP)
	}
	return all
}

// start prints what begins and, if the crawl continues, what differs from its last run.
func (p *program) start(s crawler.Start, opts crawler.Options, show screen) {
	switch {
	case p.events != nil:
		p.events.Start(opts)
	case show.every > 0:
		again := progress.SameCommand
		if !show.over { // a crawl of a series that was stopped is continued, too
			again = cmp.Or(show.again, progress.SameCommand)
		}
		line := fmt.Sprintf("crawl: %s as %s into %s; Ctrl-C stops, %s",
			say.Plural(len(opts.Seeds), "seed"), opts.Identity.Token, opts.Dir, again)
		fmt.Fprintln(p.err, looks.Wrap(say.OneLine(line), len("crawl: "), show.columns()))
	}
	refused := false
	for _, c := range s.Changes {
		p.note("crawl: not as in the last run: %s", change(c))
		refused = refused || c.Way != setting.Tighter && (c.Effect == setting.SortsURLs || c.Effect == setting.SortsLink)
	}
	if refused && !opts.Rescan {
		p.note("crawl: links that were refused before come back with --rescan only")
	}
	for _, o := range s.Orders {
		p.note("crawl: as ordered on %s: %s (--lift revokes it)", o.Time.UTC().Format(time.DateOnly), o)
	}
	if s.Rescan {
		p.note("crawl: an earlier run with --rescan did not end reading the archive again: this one does")
	}
	if s.Requeued > 0 {
		p.note("crawl: %s put aside (a narrower scope, a repair), and queued again", were(s.Requeued, "URL"))
	}
}

// change describes a setting whose value is not that of the last run. It also says whether the
// new value spares the sites more (tighter) or less (wider).
func change(c crawler.Change) string {
	text := c.String()
	for _, s := range new(crawler.Options).Settings() {
		if s.Name == c.Setting && !s.CodeOnly {
			text = "--" + text
		}
	}
	if c.Way != setting.Other {
		text += " (" + string(c.Way) + ")"
	}
	return text
}

func were(n int, noun string) string {
	if n == 1 {
		return "1 " + noun + " was"
	}
	return say.Plural(n, noun) + " were"
}

// forcedAfter is how long closing the files may take if the crawl is stopped at once. This
// limit is needed because closing never ends if a disk hangs.
const forcedAfter = 1500 * time.Millisecond

// watch stops the crawl at a signal, and prints progress. It returns when the channel ended is
// closed.
func (p *program) watch(c *crawler.Crawler, cancel context.CancelCauseFunc, signals <-chan os.Signal, ended <-chan struct{}, show screen) {
	var ticks <-chan time.Time
	if show.every > 0 {
		ticker := time.NewTicker(show.every)
		defer ticker.Stop()
		ticks = ticker.C
	}
	look := progress.NewLooker(c, time.Now())
	look.Sites = show.board != nil
	if show.board != nil {
		defer show.board.Draw(nil)
	}
	stopping := false
	var forced, up <-chan time.Time
	if show.every > 0 && show.most > 0 {
		up = time.After(show.most)
	}
	for {
		select {
		case <-ended:
			return
		case now := <-ticks:
			p.paint(look.At(now), show)
		case <-up:
			p.note("crawl: the time is up: requests in progress have 10s more")
		case <-forced:
			p.note("crawl: the files of the crawl cannot be closed in time; what was acknowledged is safe, the same command goes on")
			p.exit(exit.Forced)
		case <-signals:
			if stopping {
				cancel(errForced)
				if forced == nil {
					forced = time.After(forcedAfter)
				}
				continue
			}
			stopping = true
			c.Stop()
			p.note("crawl: stopping after the requests under way; once more stops at once")
		}
	}
}

// beginEvents turns all further output on standard error into events: JSON objects, one on each
// line.
func (p *program) beginEvents() {
	if p.events != nil {
		return
	}
	p.events = &progress.Events{W: p.err, Every: 30 * time.Second}
	if file, ok := p.err.(*os.File); ok && terminal.Is(file) {
		p.events.Every = 2 * time.Second
	}
	p.err = p.events
}

// mostEnd is the longest time that the command of --on-end may take.
const mostEnd = 5 * time.Minute

// tellEnd runs the command of --on-end. The command reads the summary from its standard
// input, and its output goes to standard error. If the command fails, tellEnd prints the
// failure, but the crawl and its exit code do not change. An interrupt ends the command.
// After a second interrupt of the crawl the command is not run, because the user wants
// everything to end.
func (p *program) tellEnd(c *crawler.Crawler, dir string, crawled error, command string, signals <-chan os.Signal) {
	if code := exit.Code(crawled); command != "" && code != exit.Forced {
		if err := p.runEnd(c, dir, code, command, signals); err != nil {
			p.note("crawl: --on-end %q: %v; the crawl is not affected", command, err)
		}
	}
}

func (p *program) runEnd(c *crawler.Crawler, dir string, code int, command string, signals <-chan os.Signal) error {
	var summary bytes.Buffer
	if err := say.Object(&summary, progress.SummaryJSON(c.Summary(), dir)); err != nil {
		return err
	}
	late, cancelLate := context.WithTimeoutCause(context.Background(), mostEnd, fmt.Errorf("it took longer than %v, and was ended", mostEnd))
	defer cancelLate()
	ctx, cancel := context.WithCancelCause(late)
	defer cancel(nil)
	shell := []string{"/bin/sh", "-c"}
	if runtime.GOOS == "windows" {
		shell = []string{"cmd", "/c"}
	}
	cmd := exec.CommandContext(ctx, shell[0], shell[1], command)
	cmd.Env = append(os.Environ(), "PERMESSO_DIR="+dir, "PERMESSO_EXIT="+strconv.Itoa(code))
	cmd.Stdin, cmd.Stdout, cmd.Stderr = &summary, p.err, p.err
	cmd.WaitDelay = time.Second
	done := make(chan error, 1)
	// This goroutine ends with the command.
	go func() { done <- cmd.Run() }()
	for {
		select {
		case err := <-done:
			if ctx.Err() != nil {
				err = context.Cause(ctx)
			}
			return err
		case <-signals:
			cancel(errors.New("it was interrupted"))
		}
	}
}

// paint shows how far the crawl is, in one of four forms: as an event in JSON, as a block of
// lines on a terminal, as a line for people, or as a line in logfmt.
func (p *program) paint(v *progress.View, to screen) {
	switch {
	case p.events != nil:
		p.events.Progress(v)
	case to.board != nil:
		to.board.Draw(looks.Painted(v.Block(to.board.Width()), to.board.Colours))
	case to.width != nil:
		fmt.Fprintln(p.err, v.Line(to.width()))
	default:
		fmt.Fprintln(p.err, v.Logfmt())
	}
}

package frontier

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"net/netip"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"golang.org/x/time/rate"
)

var rewrite = flag.Bool("rewrite", false, "write what the traces came to into testdata/traces; read the difference")

// A trace is a crawl, line by line: a command, and indented below it the answers of
// the frontier. Times count from its beginning.
//
//	open delay=1s restarted=-1m ...          over the same backlog, as a restart would
//	open anew ...                            over an empty one
//	open requisites ...                      with Options.Requisites
//	open site=SITE,delay=10s,pages=N ...     SITE has limits of its own; site=SITE,fails: Options.Site returns an error
//	add URL ... [depth=N] [hops=LER] [head]
//	next [10s]                               the next turn, waiting for so long; 100h by default
//	bind [SITE] ADDRESS [private]            a turn that is out; of the last one by default
//	hop [SITE] SITE                          by the right of a turn
//	finish [SITE] [took=1s] [status=200] [hold] [link=URL] [shows=URL] ... see outcome
//	done URL [link=URL]                      end a held entry
//	idle                                     whether only held entries are left
//	crawl                                    next and finish with a page, to the end
//	allow [pages=3] [bytes=N] [rate=N] [turns=N] [patience=1m|forever] [open|closed] [paused|resumed]
//	rest                                     whether anything is under way
//	slow SITE|HOST|all 10s
//	exclude SITE|HOST why
//	stop
//	sleep 1s
//	taken KEY 10s [lease]                    another process has KEY, "_" for a blank, for so long
//	shared                                   the clocks of the machine; only after open shared
//	kept                                     the state of the backlog
//	stats
func TestTraces(t *testing.T) {
	files, err := filepath.Glob("testdata/traces/*.txt")
	if err != nil || len(files) == 0 {
		t.Fatalf("%d traces, %v", len(files), err)
	}
	for _, file := range files {
		t.Run(strings.TrimSuffix(filepath.Base(file), ".txt"), func(t *testing.T) {
			text, err := os.ReadFile(file)
			if err != nil {
				t.Fatal(err)
			}
			var got strings.Builder
			defer func() {
				if t.Failed() {
					t.Logf("what happened:\n%s", got.String())
				}
			}()
			synctest.Test(t, func(t *testing.T) {
				r := &tracer{t: t, begin: time.Now()}
				for line := range strings.Lines(string(text)) {
					if strings.HasPrefix(line, "    ") {
						continue
					}
					got.WriteString(line)
					if words := strings.Fields(line); len(words) > 0 && words[0] != "#" {
						for said := range strings.Lines(r.do(words[0], words[1:])) {
							got.WriteString("    " + strings.TrimRight(said, "\n") + "\n")
						}
					}
				}
			})
			if *rewrite {
				if err := os.WriteFile(file, []byte(got.String()), 0o644); err != nil {
					t.Fatal(err)
				}
			}
			want := strings.Split(string(text), "\n")
			for i, line := range strings.Split(got.String(), "\n") {
				if i >= len(want) || line != want[i] {
					t.Fatalf("%s:%d:\n%s\nwant\n%s", file, i+1, line, strings.Join(want[min(i, len(want)):min(i+1, len(want))], ""))
				}
			}
			if got.String() != string(text) {
				t.Fatalf("%s has lines after the end of the trace", file)
			}
		})
	}
}

// tracer runs the commands of a trace against one backlog.
type tracer struct {
	t       *testing.T
	backlog *memory
	f       *Frontier
	begin   time.Time
	shared  machine        // reservations of other processes; nil: there is no other process
	turns   map[Site]*Turn // the turns that are out
	held    map[string]*Turn
	last    Site
}

func (r *tracer) do(command string, args []string) string {
	switch command {
	case "open":
		return r.open(args)
	case "add":
		return r.add(args)
	case "next":
		return r.next(args)
	case "bind":
		turn, args := r.turn(args, len(args) > 0)
		if err := turn.Bind(netip.MustParseAddr(args[0]), len(args) == 1); err != nil {
			return r.refused(err)
		}
		return "bound, " + r.asked(turn)
	case "hop":
		turn, args := r.turn(args, len(args) == 2)
		to, err := turn.Hop(Site(args[0]))
		if err != nil {
			return r.refused(err)
		}
		return r.took(to)
	case "forgo":
		turn, _ := r.turn(args, len(args) > 0)
		turn.Forgo()
		return ""
	case "finish":
		return r.finish(args)
	case "done":
		return r.done(args)
	case "idle":
		select {
		case <-r.f.Idle():
			return "idle\n"
		default:
			return "not idle\n"
		}
	case "crawl":
		return r.crawl()
	case "allow":
		return r.allow(args)
	case "rest":
		return r.rest()
	case "slow":
		return r.told(r.f.Slow(strings.TrimPrefix(args[0], "all"), r.duration(args[1])))
	case "exclude":
		return r.told(r.f.Exclude(args[0], strings.Join(args[1:], " ")))
	case "stop":
		r.f.Stop()
		return ""
	case "sleep":
		time.Sleep(r.duration(args[0]))
		return ""
	case "taken":
		r.shared[strings.ReplaceAll(args[0], "_", " ")] = Taken{Until: r.in(args[1]), Lease: len(args) > 2}
		return ""
	case "shared":
		return r.machine()
	case "kept":
		return r.kept()
	case "stats":
		return r.stats()
	}
	r.t.Fatalf("%q is no command", command)
	return ""
}

// next runs the command next, which waits for a turn.
func (r *tracer) next(args []string) string {
	atMost := 100 * time.Hour
	if len(args) > 0 {
		atMost = r.duration(args[0])
	}
	ctx, cancel := context.WithTimeout(r.t.Context(), atMost)
	defer cancel()
	begin := time.Now()
	turn, err := r.f.Next(ctx)
	switch {
	case ctx.Err() != nil:
		return fmt.Sprintf("nothing within %v hours of %s\n", atMost.Hours(), r.at(begin))
	case err != nil:
		return r.at(time.Now()) + " " + err.Error() + "\n"
	}
	return r.took(turn)
}

// option returns the value of NAME=VALUE, or "".
func option(args []string, name string) string {
	for _, arg := range args {
		if value, ok := strings.CutPrefix(arg, name+"="); ok {
			return value
		}
	}
	return ""
}

func (r *tracer) duration(s string) time.Duration {
	switch s {
	case "":
		return 0
	case "forever":
		return Forever
	}
	d, err := time.ParseDuration(s)
	if err != nil {
		r.t.Fatal(err)
	}
	return d
}

func (r *tracer) number(s string) int {
	if s == "" {
		return 0
	}
	n, err := strconv.Atoi(s)
	if err != nil {
		r.t.Fatal(err)
	}
	return n
}

// in returns the time that is the duration s from now. For "" it returns the zero time.
func (r *tracer) in(s string) time.Time {
	if s == "" {
		return time.Time{}
	}
	return time.Now().Add(r.duration(s))
}

func (r *tracer) at(t time.Time) string {
	if t.IsZero() {
		return "never"
	}
	if d := t.Sub(r.begin); d < 0 {
		return d.String()
	}
	return "+" + t.Sub(r.begin).String()
}

func (r *tracer) open(args []string) string {
	o := Options{
		Delay: r.duration(option(args, "delay")), IPDelay: r.duration(option(args, "ipdelay")), PerIP: r.number(option(args, "perip")),
		DomainDelay: r.duration(option(args, "domaindelay")), Patience: r.duration(option(args, "patience")),
		Rate: rate.Limit(r.number(option(args, "rate"))), Limit: r.number(option(args, "limit")), MaxBytes: int64(r.number(option(args, "maxbytes"))),
		MaxSite: Spent{
			Pages: r.number(option(args, "sitepages")), Bytes: int64(r.number(option(args, "sitebytes"))), Time: r.duration(option(args, "sitetime")),
		},
		ReadAhead: r.number(option(args, "readahead")), Restarted: r.in(option(args, "restarted")), Site: r.sites(args),
		Requisites: slices.Contains(args, "requisites"),
	}
	if r.f != nil {
		r.f.Settle(r.t.Context())
		r.backlog.Forget()
	}
	if r.backlog == nil || slices.Contains(args, "anew") {
		r.backlog = new(memory)
	}
	r.turns, r.held = map[Site]*Turn{}, map[string]*Turn{}
	if slices.Contains(args, "shared") {
		r.shared = machine{}
		o.Shared = r.shared
	}
	var err error
	if r.f, err = New(r.backlog, o); err != nil {
		return err.Error() + "\n"
	}
	return ""
}

// sites returns an Options.Site for the arguments site=... of a trace. For a site with "fails" it
// returns an error.
func (r *tracer) sites(args []string) func(Site) (SiteLimits, error) {
	all := map[Site]SiteLimits{}
	for _, arg := range args {
		words := strings.Split(arg, ",")
		name, named := strings.CutPrefix(words[0], "site=")
		if !named {
			continue
		}
		all[Site(name)] = SiteLimits{Delay: r.duration(option(words, "delay")), Max: Spent{
			Pages: r.number(option(words, "pages")), Bytes: int64(r.number(option(words, "bytes"))), Time: r.duration(option(words, "time")),
		}}
	}
	if !slices.ContainsFunc(args, func(arg string) bool { return strings.HasPrefix(arg, "site=") }) {
		return nil
	}
	return func(s Site) (SiteLimits, error) {
		if slices.Contains(args, "site="+string(s)+",fails") {
			return SiteLimits{}, errors.New("a bug")
		}
		return all[s], nil
	}
}

func (r *tracer) add(args []string) string {
	for _, arg := range args {
		if !strings.Contains(arg, "://") {
			continue
		}
		// Add the entries one by one, so that their sites are in this order.
		e := Entry{URL: mustParse(r.t, arg), Hops: option(args, "hops"), Depth: r.number(option(args, "depth")), Head: slices.Contains(args, "head")}
		e.Rank = RankOf(e.Depth)
		if err := r.f.Add(e); err != nil {
			return err.Error() + "\n"
		}
	}
	return ""
}

func (r *tracer) allow(args []string) string {
	err := r.f.Allow(func(l *Limits) {
		for _, arg := range args {
			switch name, value, _ := strings.Cut(arg, "="); name {
			case "pages":
				l.Pages = r.number(value)
			case "bytes":
				l.Bytes = int64(r.number(value))
			case "rate":
				l.Rate = rate.Limit(r.number(value))
			case "turns":
				l.Turns = r.number(value)
			case "patience":
				l.Patience = r.duration(value)
			case "open", "closed":
				l.Open = name == "open"
			case "paused", "resumed":
				l.Paused = name == "paused"
			default:
				r.t.Fatalf("%q is no limit", name)
			}
		}
	})
	if err != nil {
		return err.Error() + "\n"
	}
	return ""
}

// turn returns the turn of the site that args begins with, or else the last turn. It also returns
// the remaining arguments.
func (r *tracer) turn(args []string, named bool) (*Turn, []string) {
	if named && r.turns[Site(args[0])] != nil {
		r.last, args = Site(args[0]), args[1:]
	}
	if r.turns[r.last] == nil {
		r.t.Fatalf("no turn of %q is out", r.last)
	}
	return r.turns[r.last], args
}

// outcome returns the outcome for the options of the command finish. With took there is a request
// that takes so long; ttfb is its time to first byte.
func (r *tracer) outcome(turn *Turn, args []string) Outcome {
	o := Outcome{
		Hold: slices.Contains(args, "hold"), Again: slices.Contains(args, "again"), Gone: slices.Contains(args, "gone"), ByGet: slices.Contains(args, "by-get"),
		Trouble: map[string]Trouble{
			"": NoTrouble, "page": PageTrouble, "site": SiteTrouble, "connect": ConnectTrouble, "silence": SilenceTrouble,
		}[option(args, "trouble")],
		RobotsFailures: r.number(option(args, "robotsfailures")), DeferBy: Clock(option(args, "by")),
	}
	if took := option(args, "took"); took != "" {
		start := time.Now()
		o.Request = &Request{Started: start, Bytes: int64(r.number(option(args, "bytes")))}
		if ttfb := option(args, "ttfb"); ttfb != "" {
			o.Request.FirstByte = start.Add(r.duration(ttfb))
		}
		time.Sleep(r.duration(took))
		o.Request.Ended = time.Now()
	}
	o.RetryAfter, o.Defer = r.in(option(args, "retryafter")), r.in(option(args, "defer"))
	if gap := option(args, "gap"); gap != "" {
		o.Gap = &Gap{For: r.duration(gap), By: Clock(option(args, "gapby"))}
	}
	if status := option(args, "status"); status != "" {
		o.Fate = Fate{Code: Fetched, Status: r.number(status)}
	}
	o.Fate.Detail = option(args, "detail")
	if slices.Contains(args, "disallowed") {
		o.Fate.Code = RobotsDisallowed
	}
	if link := option(args, "link"); link != "" {
		o.Links = []Entry{turn.Entry().Found(mustParse(r.t, link), HopLink)}
	}
	for _, arg := range args {
		if shown, ok := strings.CutPrefix(arg, "shows="); ok {
			o.Links = append(o.Links, turn.Entry().Found(mustParse(r.t, shown), HopEmbed))
		}
	}
	return o
}

func (r *tracer) finish(args []string) string {
	turn, args := r.turn(args, len(args) > 0)
	fate, err := turn.Finish(r.outcome(turn, args))
	if err != nil {
		return err.Error() + "\n"
	}
	delete(r.turns, turn.Site())
	said := r.fate(fate)
	if turn.Held() {
		r.held[turn.Entry().URL.String()] = turn
		said += ", held"
	}
	return said + "\n" + r.site(turn.Site())
}

func (r *tracer) done(args []string) string {
	turn := r.held[args[0]]
	if turn == nil {
		r.t.Fatalf("%s is not held", args[0])
	}
	var links []Entry
	if link := option(args, "link"); link != "" {
		links = []Entry{turn.Entry().Found(mustParse(r.t, link), HopLink)}
	}
	if err := turn.Done(links...); err != nil {
		return err.Error() + "\n"
	}
	return r.site(turn.Site())
}

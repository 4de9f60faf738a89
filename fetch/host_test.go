package fetch

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/netip"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/permesso-crawler/permesso/frontier"
	"github.com/permesso-crawler/permesso/robots"
)

// Each outcome has the pause that robots.txt sets.
func TestTheOutcomeHasTheGap(t *testing.T) {
	for rules, want := range map[string]frontier.Gap{
		"":                                        {},
		"Crawl-delay: 7":                          {For: 7 * time.Second, By: frontier.CrawlDelayClock},
		"Request-rate: 1/9":                       {For: 9 * time.Second, By: frontier.RateClock},
		"Crawl-delay: 7\nRequest-rate: 1/9":       {For: 9 * time.Second, By: frontier.RateClock},
		"Crawl-delay: 9\nRequest-rate: 1/9":       {For: 9 * time.Second, By: frontier.CrawlDelayClock},
		"Crawl-delay: 9\nRequest-rate: 1/7":       {For: 9 * time.Second, By: frontier.CrawlDelayClock},
		"Request-rate: 0/9\nDisallow: /elsewhere": {},
	} {
		synctest.Test(t, func(t *testing.T) {
			w := &wire{serve: answers(func(r *request, n int) string { return page("User-agent: *\n" + rules + "\nDisallow: /no\n") })}
			v := newTour(t, Options{Network: w})
			for _, target := range []string{"/", "/", "/no"} {
				res, _ := v.visit("http://a.example" + target)
				if got := res.Outcome.Gap; got == nil || *got != want {
					t.Errorf("%q, %s: %+v, want %+v", rules, target, got, want)
				}
			}
		})
	}
}

func TestNobodyVisitsOutsideOfTheVisitTime(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		begin := time.Now() // virtual time begins at midnight
		asked := map[string]time.Duration{}
		w := &wire{serve: answers(func(r *request, n int) string {
			asked[r.target] = time.Since(begin)
			return page("User-agent: *\nVisit-time: 0200-0300\n")
		})}
		v := newTour(t, Options{Network: w})
		front := frontOf(t, frontier.Options{Patience: 24 * time.Hour}, "http://a.example/")
		for turns := 1; ; turns++ {
			turn, err := front.Next(t.Context())
			if errors.Is(err, frontier.ErrEnd) {
				break
			}
			if err != nil {
				t.Fatal(err)
			}
			res, err := v.fetcher.Get(t.Context(), turn)
			if err != nil {
				t.Fatal(err)
			}
			if o := res.Outcome; turns == 2 && (o.DeferBy != frontier.VisitTimeClock || !o.Again || o.Defer.Sub(begin) != 2*time.Hour || len(res.Exchanges) > 0) {
				t.Errorf("outcome %+v", o)
			}
			if _, err := turn.Finish(res.Outcome); err != nil {
				t.Fatal(err)
			}
		}
		if asked["/"] != 2*time.Hour || asked[rulesTarget] != 0 {
			t.Errorf("requests at %v", asked)
		}
	})
}

// If robots.txt is unreachable, no request is made before its next attempt is due.
func TestASiteWithoutItsRulesIsLeftAlone(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := &wire{serve: answers(func(*request, int) string { return status(500, "") })}
		v := newTour(t, Options{Network: w})
		v.once = true
		first, _ := v.visit("http://a.example/")
		if o := first.Outcome; o.Fate.Detail != "http 500" || o.RobotsFailures != 1 || !o.Again || o.Gone || !o.Defer.Equal(first.Verdict.Until) || !o.Defer.After(time.Now()) {
			t.Errorf("outcome %+v, verdict %+v", o, first.Verdict)
		}
		second, all := v.visit("http://a.example/")
		if o := second.Outcome; len(all) > 0 || !o.Again || !o.Defer.Equal(first.Outcome.Defer) || second.Verdict.Access != robots.Defer {
			t.Errorf("%d requests, outcome %+v", len(all), o)
		}
	})
}

// The copy of robots.txt that was fetched for an entry is used for this entry, even if its turn
// comes late.
func TestRulesThatWereFetchedForAnEntryCountForIt(t *testing.T) {
	for late, want := range map[time.Duration]int{0: 1, 49 * time.Hour: 1} {
		synctest.Test(t, func(t *testing.T) {
			asked := 0
			w := &wire{serve: answers(func(r *request, n int) string {
				if r.target == rulesTarget {
					asked++
				}
				return page("")
			})}
			v := newTour(t, Options{Network: w})
			front := frontOf(t, frontier.Options{Patience: 100 * time.Hour}, "http://a.example/")
			for i := range 2 {
				turn, err := front.Next(t.Context())
				if err != nil {
					t.Fatal(err)
				}
				res, err := v.fetcher.Get(t.Context(), turn)
				if err != nil || (res.Page != nil) != (i == 1) {
					t.Errorf("%v late: turn %d: page %v, error %v", late, i, res.Page, err)
				}
				if _, err := turn.Finish(res.Outcome); err != nil {
					t.Fatal(err)
				}
				time.Sleep(late)
			}
			if asked != want {
				t.Errorf("%v late: robots.txt was requested %d times, want %d", late, asked, want)
			}
		})
	}
}

func TestWhichRuleForbids(t *testing.T) {
	for answer, want := range map[string]string{
		page("User-agent: *\nDisallow: /page"): "line 2: Disallow: /page",
		page("User-agent: *\n\nDisallow: /"):   "line 3: Disallow: /",
		status(403, ""):                        robots.Verdict{}.Reason.String(),
	} {
		synctest.Test(t, func(t *testing.T) {
			w := &wire{serve: answers(func(*request, int) string { return answer })}
			res, _ := newTour(t, Options{Network: w}).visit("http://a.example/page")
			if want == (robots.Verdict{}).Reason.String() {
				want = res.Verdict.Reason.String()
			}
			if f := res.Outcome.Fate; f.Detail != want || want == "" || f.Code != frontier.RobotsDisallowed || !f.Rules.Equal(res.Snapshot.Fetched) {
				t.Errorf("%+v, want %q", f, want)
			}
		})
	}
}

func TestARightThatCannotBeHad(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		now, broken := time.Now(), errors.New("broken")
		for _, tc := range []struct {
			err     error
			until   time.Duration // robots.txt is fetched for another site
			by      frontier.Clock
			isError bool
		}{
			{&frontier.NotYet{By: frontier.RetryAfterClock, Until: now.Add(10 * time.Second)}, 10 * time.Second, frontier.RetryAfterClock, false},
			{fmt.Errorf("wrapped: %w", &frontier.NotYet{By: frontier.RetryAfterClock, Until: now.Add(time.Minute)}), time.Minute, frontier.RetryAfterClock, false},
			{&frontier.NotYet{By: frontier.RetryAfterClock, Until: now.Add(time.Second / 2)}, time.Second, frontier.OwnClock, false},
			{&frontier.NotYet{By: frontier.RetryAfterClock}, time.Second, frontier.OwnClock, false},
			{broken, time.Second, frontier.OwnClock, true},
		} {
			o := frontier.Outcome{}
			if err := notYet(tc.err, &o); o.Again == tc.isError || (err != nil) != tc.isError || !o.Defer.IsZero() {
				t.Errorf("%v: %v, %+v", tc.err, err, o)
			}
			res := Result{Outcome: frontier.Outcome{DeferBy: frontier.OwnClock}}
			err := later(tc.err, &res)
			if o = res.Outcome; o.Again == tc.isError || (err != nil) != tc.isError || o.Defer.Sub(now) != tc.until || o.DeferBy != tc.by {
				t.Errorf("%v: %v, %+v", tc.err, err, o)
			}
		}
	})
}

// The size of rules is the size of the file, of an older copy in use, and of tdmrep.json.
func TestTheSizeOfRules(t *testing.T) {
	body := make([]byte, 5)
	for want, s := range map[int]*robots.Snapshot{0: nil, 5: {Body: body}, 8: {Body: body, Copy: &robots.Snapshot{Body: body[:3]}}, 3: {Copy: &robots.Snapshot{Body: body[:3]}}, 7: {Body: body, Mining: &robots.Snapshot{Body: body[:1], Copy: &robots.Snapshot{Body: body[:1]}}}} {
		h := &host{snapshot: s, loaded: true, group: &robots.Group{}, mining: &robots.TDMRep{}}
		if got := h.rulesSize(); got != want {
			t.Errorf("%d bytes, want %d", got, want)
		}
		if h.unload(); h.snapshot != nil || h.loaded || h.group != nil || h.mining != nil {
			t.Errorf("something is left: %+v", h)
		}
	}
}

// An old copy that replaces an unreachable robots.txt becomes too old while the host is kept.
func TestAnOldCopyDoesNotStayInForce(t *testing.T) {
	f := newTour(t, Options{}).fetcher
	at, now := "http://a.example/robots.txt", time.Date(2030, 1, 1, 0, 0, 0, 0, time.UTC)
	good := &robots.Snapshot{URL: at, Status: 200, Fetched: now, Body: []byte("User-agent: *\nAllow: /")}
	h := &host{fetcher: f, settings: f.usual, snapshot: good}
	if h.groupAt(now) != h.groupAt(now.Add(time.Hour)) {
		t.Error("rules are read each time")
	}
	h = &host{fetcher: f, settings: f.usual, snapshot: (&robots.Snapshot{URL: at, Status: 500, Fetched: now.Add(25 * time.Hour)}).After(good)}
	for days, want := range map[time.Duration]robots.Access{2: robots.Allow, 29: robots.Allow, 31: robots.Defer} {
		if got := h.groupAt(now.Add(days * 24 * time.Hour)).Match("/").Access; got != want {
			t.Errorf("after %d days: %v, want %v", days, got, want)
		}
	}
}

// An exchange starts after its name was resolved. Its pause is counted from the request before it.
func TestWhatAnExchangeTells(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		begin := time.Now()
		w := &wire{serve: answers(noRobots(func(r *request, n int) string { return page("hello") }))}
		_, all := newTour(t, Options{Network: sluggish{w, 3 * time.Second}}).visit("http://a.example/")
		if x := all[0]; x.Started.Sub(begin) != 3*time.Second || x.Addr != netip.MustParseAddrPort("16.0.0.1:80") || x.Proxy != "" || !x.Ended.Equal(x.Started) {
			t.Errorf("started after %v at %v", x.Started.Sub(begin), x.Addr)
		}
		if x := all[1]; x.Asked.For != time.Second || x.Asked.By != frontier.OwnClock {
			t.Errorf("pause %+v", x.Asked)
		}
	})
	// The pauses that sites at one address share are also kept.
	synctest.Test(t, func(t *testing.T) {
		w := &wire{serve: answers(noRobots(func(r *request, n int) string { return page("hello") }))}
		v := newTour(t, Options{Network: w})
		front := frontOf(t, frontier.Options{IPDelay: 7 * time.Second, Patience: time.Hour}, "http://a.example/", "http://b.example/")
		var asked []frontier.Pause
		for {
			turn, err := front.Next(t.Context())
			if errors.Is(err, frontier.ErrEnd) {
				break
			}
			if err != nil {
				t.Fatal(err)
			}
			res, err := v.fetcher.Get(t.Context(), turn)
			if err != nil {
				t.Fatal(err)
			}
			for _, x := range res.Exchanges {
				asked = append(asked, x.Asked)
			}
			if _, err := turn.Finish(res.Outcome); err != nil {
				t.Fatal(err)
			}
		}
		for i, p := range asked {
			if i > 0 && (p.For != 7*time.Second || p.By != frontier.IPClock) {
				t.Errorf("request %d had the pause %+v", i, p)
			}
		}
		if len(asked) != 4 {
			t.Errorf("%d requests", len(asked))
		}
	})
	// The clocks are also right if the name has no address.
	synctest.Test(t, func(t *testing.T) {
		begin := time.Now()
		r := &resolver{answer: func(context.Context, string) ([]netip.Addr, error) {
			time.Sleep(time.Second)
			return nil, &net.DNSError{Err: "server misbehaving", IsTemporary: true}
		}}
		v := newTour(t, Options{Network: r})
		front := frontOf(t, frontier.Options{Patience: time.Hour}, "http://a.example/")
		for i, want := range []time.Duration{0, time.Second} {
			turn, err := front.Next(t.Context())
			if err != nil {
				t.Fatal(err)
			}
			started := time.Since(begin)
			res, err := v.fetcher.Get(t.Context(), turn)
			if err != nil {
				t.Fatal(err)
			}
			if x := res.Exchanges[0]; x.Started.Sub(begin) != started || x.Asked != turn.Asked() || i > 0 && x.Asked.For < want || stage(x) != StageDNS {
				t.Errorf("started after %v, pause %+v, stage %q", x.Started.Sub(begin), x.Asked, stage(x))
			}
			if res.Outcome.Gone {
				t.Error("a resolver that fails does not say that there is no such name")
			}
			if _, err := turn.Finish(res.Outcome); err != nil {
				t.Fatal(err)
			}
		}
	})
}

// A sluggish network resolves names slowly.
type sluggish struct {
	*wire
	takes time.Duration
}

func (s sluggish) LookupNetIP(ctx context.Context, network, host string) ([]netip.Addr, error) {
	time.Sleep(s.takes)
	return s.wire.LookupNetIP(ctx, network, host)
}

func TestASiteWithoutANameIsGone(t *testing.T) {
	for err, want := range map[error]bool{
		&net.DNSError{Err: "no such host", IsNotFound: true}: true,
		&net.DNSError{Err: "server misbehaving"}:             false,
		errors.New("broken"):                                 false,
	} {
		synctest.Test(t, func(t *testing.T) {
			v := newTour(t, Options{Network: &resolver{answer: func(context.Context, string) ([]netip.Addr, error) { return nil, err }}})
			v.once = true
			res, all := v.visit("http://a.example/")
			if res.Outcome.Gone != want || stage(all[0]) != StageDNS || res.Outcome.Fate.Detail != "dns" {
				t.Errorf("%v: %+v", err, res.Outcome)
			}
		})
	}
	// If the target of a robots.txt redirect has no address, this does not concern the first site.
	synctest.Test(t, func(t *testing.T) {
		w := &wire{serve: answers(func(*request, int) string { return redirectTo("http://b.example/robots.txt") })}
		v := newTour(t, Options{Network: onlyA{w}})
		v.once = true
		if res, all := v.visit("http://a.example/"); res.Outcome.Gone || stage(last(all)) != StageDNS {
			t.Errorf("%+v, stage %q", res.Outcome, stage(last(all)))
		}
	})
}

// onlyA resolves only a.example.
type onlyA struct{ *wire }

func (o onlyA) LookupNetIP(ctx context.Context, network, host string) ([]netip.Addr, error) {
	if host != "a.example" {
		return nil, &net.DNSError{Err: "no such host", Name: host, IsNotFound: true}
	}
	return o.wire.LookupNetIP(ctx, network, host)
}

// If addresses fail, the next ones are tried. The list of failed addresses is bounded.
func TestAddressesThatFail(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		a, b := netip.MustParseAddr("16.0.0.1"), netip.MustParseAddr("16.0.0.2")
		w := &wire{addrs: map[string][][]netip.Addr{"a.example": {{a, b}}}, refuse: map[string]bool{"16.0.0.1:80": true, "16.0.0.2:80": true}}
		v := newTour(t, Options{Network: w})
		v.once = true
		for range 5 {
			v.visit("http://a.example/")
			time.Sleep(time.Hour)
		}
		if got := fmt.Sprint(w.dialed); got != "[16.0.0.1:80 16.0.0.2:80 16.0.0.1:80 16.0.0.2:80 16.0.0.1:80]" {
			t.Errorf("dialled %s", got)
		}
		// After the first address has answered again, it is used first.
		w.serve = answers(noRobots(func(*request, int) string { return page("") }))
		delete(w.refuse, "16.0.0.1:80")
		for range 3 {
			v.visit("http://a.example/")
			time.Sleep(time.Hour)
		}
		if got := fmt.Sprint(w.dialed[5:]); got != "[16.0.0.2:80 16.0.0.1:80 16.0.0.1:80]" {
			t.Errorf("dialled %s", got)
		}
		h := &host{fetcher: v.fetcher}
		for i := range 20 {
			h.avoid(endpoint{addr: netip.AddrPortFrom(netip.AddrFrom4([4]byte{16, 0, 0, byte(i)}), 80)})
			if want := i%16 + 1; len(h.failed) != want || h.failed[want-1].As4()[3] != byte(i) {
				t.Errorf("after %d: %v", i+1, h.failed)
			}
		}
	})
}

// Only lent memory is reused. The memory of a robots.txt is never reused.
func TestWhatIsLentIsTakenBack(t *testing.T) {
	for _, lend := range []bool{false, true} {
		synctest.Test(t, func(t *testing.T) {
			rules := "User-agent: *\nAllow: /"
			w := &wire{serve: answers(func(r *request, n int) string {
				if r.target == rulesTarget {
					return page(rules)
				}
				return page("hello")
			})}
			res, all := newTour(t, Options{Network: w, Bodies: Bodies{Lend: lend}}).visit("http://a.example/")
			for _, x := range all {
				x.Release()
			}
			if (res.Page.Body == nil) != lend || string(all[0].Body) != rules || string(res.Snapshot.Body) != rules {
				t.Errorf("lent %t: page %q, rules %q", lend, res.Page.Body, all[0].Body)
			}
		})
	}
}

// A body that cannot be read back from its file is an error.
func TestABodyThatCannotBeReadBackIsAnError(t *testing.T) {
	f := newTour(t, Options{Bodies: Bodies{BodyBudget: 10, TempDir: t.TempDir()}}).fetcher
	u, err := frontier.ParseURL("http://a.example/")
	if err != nil {
		t.Fatal(err)
	}
	b := &body{share: share{budget: f.bodies, full: true}}
	b.plain.share, b.kept.share = &b.share, &b.share
	if err := b.plain.append([]byte("x")); err != nil {
		t.Fatal(err)
	}
	b.plain.file.Close()
	w := newWatch(t.Context(), f.opts.Timeout)
	defer w.stop()
	x := &Exchange{URL: u}
	if err := f.host(u.Site()).take(t.Context(), w, x, b, nil); !isSpool(err) || stage(x) != StageStopped || !isSpool(x.Err) {
		t.Errorf("%v, stage %q", err, stage(x))
	}
}

// Bytes after the end of a coding do not keep a connection in use.
func TestTheRestOfABodyIsNotWaitedFor(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ended := false
		w := &wire{serve: func(c net.Conn, n int) {
			readOnce(c)
			wire := gzipped([]byte("User-agent: *"))
			fmt.Fprintf(c, "HTTP/1.1 200 OK\r\nContent-Encoding: gzip\r\nContent-Length: %d\r\n\r\n%s", len(wire)+5, wire)
			io.Copy(io.Discard, c)
			ended = true
		}}
		v := newTour(t, Options{Network: w})
		v.once = true
		_, all := v.visit("http://a.example/")
		if synctest.Wait(); !ended || string(all[0].Body) != "User-agent: *" {
			t.Errorf("the connection ended: %t; body %q: %v", ended, all[0].Body, all[0].Err)
		}
	})
}

func TestWatches(t *testing.T) {
	const timeout = 30 * time.Second
	for name, tc := range map[string]struct {
		do    func(w *watch)
		after time.Duration
		cause error
	}{
		"nothing":    {func(w *watch) {}, 30 * time.Second, errPhase},
		"a phase":    {func(w *watch) { time.Sleep(20 * time.Second); w.enter(phaseBody) }, 50 * time.Second, errPhase},
		"two pauses": {func(w *watch) { pauses(w); pauses(w) }, 2*110*time.Second + 30*time.Second, errPhase},
		"phases up to the end of the whole": {func(w *watch) {
			for _, d := range []time.Duration{25, 25, 25, 15} {
				time.Sleep(d * time.Second)
				w.enter(phaseBody)
			}
		}, 120 * time.Second, errTotal},
		"phases up to shortly before": {func(w *watch) {
			for _, d := range []time.Duration{25, 25, 25, 14} {
				time.Sleep(d * time.Second)
				w.enter(phaseBody)
			}
		}, 119 * time.Second, errPhase},
		"pauses do not count": {func(w *watch) {
			for range 11 {
				pauses(w)
			}
		}, 11*100*time.Second + 120*time.Second, errTotal},
		"stopped": {func(w *watch) { w.stop() }, 0, context.Canceled},
	} {
		synctest.Test(t, func(t *testing.T) {
			begin := time.Now()
			w := newWatch(t.Context(), timeout)
			ctx := w.context()
			tc.do(w)
			<-ctx.Done()
			if took := time.Since(begin); took != tc.after || w.why() != tc.cause {
				t.Errorf("%s: ended after %v: %v, want %v: %v", name, took, w.why(), tc.after, tc.cause)
			}
			w.stop()
		})
	}
}

// pauses lets the exchange wait ten seconds for the site and a hundred for the crawler.
func pauses(w *watch) {
	time.Sleep(10 * time.Second)
	w.pause()
	time.Sleep(100 * time.Second)
	w.resume()
}

// Some answers end the redirects of a robots.txt, and some continue them.
func TestWhichAnswersContinueAChain(t *testing.T) {
	u, err := frontier.ParseURL("http://a.example/robots.txt")
	if err != nil {
		t.Fatal(err)
	}
	for status := 200; status < 600; status++ {
		for _, to := range []string{"", "/rules"} {
			var want string
			switch status {
			case 301, 302, 303, 307, 308:
				if want = "redirect"; to != "" {
					want = "again"
				}
			case 300:
				if to != "" {
					want = "again"
				}
			case 400, 405, 406, 415:
				want = "plainly"
			}
			c := &chain{at: u, seen: map[string]bool{u.Key(): true}}
			x := &Exchange{Status: status, Header: http.Header{"Location": {to}}}
			got, again := c.follow(x)
			if again {
				if got = "again"; c.plain {
					got = "plainly"
				}
				if moved := c.at.Target() == "/rules" && c.status == status; moved == c.plain {
					t.Errorf("%d to %q leads to %v", status, to, c.at)
				}
			}
			if got != want {
				t.Errorf("%d to %q: %q, want %q", status, to, got, want)
			}
			if _, again := c.follow(x); again {
				t.Errorf("%d to %q: again and again", status, to)
			}
		}
	}
}

func TestASnapshotIsWhatWasHad(t *testing.T) {
	for name, tc := range map[string]struct {
		header string
		size   int
		cut    bool
		store  string
	}{
		"short": {"", 100, false, ""}, "long": {"", robots.MaxBytes, false, ""}, "too long": {"", robots.MaxBytes + 1, true, ""},
		"S3": {"x-amz-request-id: 1\r\n", 1, false, "1"}, "GCS": {"x-guploader-uploadid: 2\r\n", 1, false, "2"}, "both": {"X-Amz-Request-Id: 1\r\nX-Guploader-Uploadid: 2\r\n", 1, false, "1"},
	} {
		synctest.Test(t, func(t *testing.T) {
			w := &wire{serve: answers(func(*request, int) string {
				return fmt.Sprintf("HTTP/1.1 200 OK\r\n%sContent-Length: %d\r\n\r\n%s", tc.header, tc.size, strings.Repeat("#", tc.size))
			})}
			v := newTour(t, Options{Network: w})
			v.once = true
			res, _ := v.visit("http://a.example/")
			if s := res.Snapshot; s.Cut != tc.cut || len(s.Body) != min(tc.size, robots.MaxBytes) || s.Header.ObjectStore != tc.store || s.URL != "http://a.example/robots.txt" || s.Final != "" {
				t.Errorf("%s: cut %t, %d bytes, store %q", name, s.Cut, len(s.Body), s.Header.ObjectStore)
			}
		})
	}
}

// If the visit for a robots.txt was stopped, the robots.txt is requested again.
func TestAStoppedRobotsTxtIsRequestedAgain(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := &wire{serve: func(c net.Conn, n int) { io.Copy(io.Discard, c) }}
		v := newTour(t, Options{Network: w})
		ctx, cancel := context.WithCancel(t.Context())
		time.AfterFunc(time.Second, cancel)
		visitWith(ctx, v.fetcher, "http://a.example/", func(r *Result) {
			if r.Snapshot != nil || !r.Outcome.Again || stage(last(r.Exchanges)) != StageStopped {
				t.Errorf("%+v, stage %q", r, stage(last(r.Exchanges)))
			}
		})
		if s, err := v.fetcher.opts.Snapshots.Snapshot("http://a.example"); s != nil || err != nil {
			t.Errorf("kept %+v, %v", s, err)
		}
	})
}

package audit_test

import (
	"bytes"
	"encoding/json"
	"flag"
	"fmt"
	"hash/crc32"
	"iter"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/permesso-crawler/permesso/crawler"
	"github.com/permesso-crawler/permesso/frontier"
	"github.com/permesso-crawler/permesso/internal/audit"
	"github.com/permesso-crawler/permesso/internal/store"
	"github.com/permesso-crawler/permesso/robots"
)

var rewrite = flag.Bool("rewrite", false, "write the golden files again")

// golden compares values, as JSON, with the golden file of this name.
func golden(t *testing.T, name string, values ...any) {
	t.Helper()
	var is strings.Builder
	for _, v := range values {
		text, err := json.MarshalIndent(v, "", " ")
		if err != nil {
			t.Fatal(err)
		}
		fmt.Fprintf(&is, "%s\n", text)
	}
	goldenText(t, name, is.String())
}

func goldenText(t *testing.T, name, text string) {
	t.Helper()
	text = strings.ReplaceAll(text, crawler.Version, "V")
	path := filepath.Join("testdata", "golden", name)
	if *rewrite {
		if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if d := cmp.Diff(string(want), text); d != "" {
		t.Errorf("%s: %s", path, d)
	}
}

// The audit of a crawl that breaks most rules, together with the log of a server, equals the
// golden file.
func TestGoldenAudit(t *testing.T) {
	w := &written{evidence: evidence{
		copies: map[frontier.Site][]*robots.Snapshot{}, agents: []string{testIdentity.UserAgent(), "otherbot"},
		settings: map[string]string{"delay": "3s", "domain-delay": "5s"},
	}}
	w.run(0, "begin:clean")
	old := w.copy(36000, 200, "User-agent: otherbot\nCrawl-delay: 9\nRequest-rate: 1/4\nRequest-rate: 1/90\n\n# ours\nUser-agent: *\nDisallow: /no*$\nAllow: /no/yes\nCrawl-delay: 4 # please\nRequest-rate: 1/9\nVisit-time: 0405-1030\n")
	old.Header.RetryAfter = day.Add(36012 * time.Second)
	w.ask(36010, "/", 200, "asked:9", "clock:request-rate")
	w.ask(36020, "/not", 429, "asked:9", "clock:request-rate")
	w.ask(36024, "/no/yes", 200)
	w.set(w.ask(36024.05, "/b", 404), "robots", "")
	w.hop(36040, "http://www.a.example/robots.txt", "10.0.0.1")
	w.set(w.ask(36050, "/terms", 200), "robots", "")
	w.lines[len(w.lines)-1].Hops, w.lines[len(w.lines)-1].Via = "P", "http://a.example/"
	w.set(len(w.lines)-1, "for", "use")
	w.run(36060, "begin:unclean", "lost:12")
	w.run(36060, "begin:clean", "changed:delay:3s->1s")
	w.ask(36061, "/c", 200, "asked:30.5", "clock:retry-after", "since:2026-05-04T10:00:02.000000Z")
	w.set(w.ask(36080, "/d", -2), "ttfb", "")
	w.lines[len(w.lines)-1].Size = -1
	w.set(w.ask(36100, "/e", 503), "error", "challenge")
	failed := w.copy(37000, 500, "<html>out of order, Crawl-delay: 9</html>")
	*failed = *failed.After(old)
	w.ask(37001, "/f", 200)
	w.ask(37030, "/g", 200)
	w.run(40000, "begin:clean")
	w.ask(40001, "/late", 200)
	var log []byte
	for i := range w.lines {
		log = w.lines[i].Append(log)
	}
	var access strings.Builder
	for i, at := range []int{36000, 36010, 36020, 36024, 36024, 36050, 36061, 36777, 37001, 37030, 40001} {
		fmt.Fprintf(&access, "a.example 192.0.2.1 - - [%s] \"GET %s HTTP/1.1\" 200 1 \"-\" \"%s\"\n", day.Add(time.Duration(at)*time.Second).Format("02/Jan/2006:15:04:05 -0700"),
			[]string{"/robots.txt", "/", "/not", "/no/yes", "/b", "/terms", "/c", "/unknown", "/f", "/g", "/late"}[i], testIdentity.UserAgent())
	}
	access.WriteString("odd\n" + strings.Replace(access.String()[:strings.Index(access.String(), "\n")+1], "a.example ", "", 1))
	var reported []any
	r, err := w.crawl(log).Audit(audit.Options{
		Temp: t.TempDir(), Site: "a.example", Server: &audit.ServerLog{Name: "access.log", Log: strings.NewReader(access.String())},
		Violation: func(v *audit.Violation) error { reported = append(reported, v.String()); return nil },
		Request:   func(r audit.Request) error { reported = append(reported, r); return nil },
		Copy:      func(c audit.Copy) error { reported = append(reported, c); return nil },
	})
	if err != nil {
		t.Fatal(err)
	}
	w.agents = w.agents[:1]
	nothing, err := w.crawl(nil).Audit(audit.Options{})
	if err != nil {
		t.Fatal(err)
	}
	golden(t, "audit.txt", append(reported, r, nothing)...)
}

// The audit of a visitor in the log of a server equals the golden file.
func TestGoldenVisitor(t *testing.T) {
	var log strings.Builder
	line := func(host string, at int, addr, target string, status int, agent string) {
		fmt.Fprintf(&log, "%s %s - - [%s] \"GET %s HTTP/1.1\" %d 1 \"-\" \"%s\"\n", host, addr, day.Add(time.Duration(at)*time.Second).Format("02/Jan/2006:15:04:05 -0700"), target, status, agent)
	}
	line("a.example", 0, "192.0.2.1", "/early", 200, "bot/1")
	line("a.example", 10, "192.0.2.1", "/robots.txt", 200, "bot/1")
	line("a.example", 11, "192.0.2.1", "/1", 200, "bot/1")
	line("a.example", 11, "192.0.2.2", "/2", 200, "bot/2")
	line("a.example", 11, "192.0.2.3", "/no", 429, "bot/1")
	line("a.example", 15, "192.0.2.1", "/3", 503, "bot/1")
	line("a.example", 16, "192.0.2.1", "/4", 404, "bot/1")
	line("a.example", 100, "192.0.2.9", "/4", 200, "another")
	line("b.example", 130, "192.0.2.1", "/", 200, "bot/1")
	line("a.example", 90_000, "192.0.2.1", "/5", 200, "bot/1")
	log.WriteString("odd\n")
	rules := robots.Parse([]byte("User-agent: *\nDisallow: /no\nCrawl-delay: 3\nVisit-time: 0000-0100\n"), robots.RFC9309)
	var all []any
	for _, v := range []audit.Visitor{{Agent: "bot"}, {Agent: "bot", Host: "a.example", Robots: rules}, {Agent: "absent", Host: "a.example"}} {
		r, err := v.Access("access.log", strings.NewReader(log.String()))
		if err != nil {
			t.Fatal(err)
		}
		all = append(all, r)
	}
	golden(t, "visitor.txt", all...)
}

// brief returns a report as text, without the parts that are the same in all reports.
func brief(r *audit.Report) string {
	var b strings.Builder
	fmt.Fprintf(&b, "\t%d lines, %d bytes, %d runs, %d killed, %s - %s\n", r.LogLines, r.LogBytes, r.Runs, r.Killed, r.First.Format(time.RFC3339Nano), r.Last.Format(time.RFC3339Nano))
	fmt.Fprintf(&b, "\t%d requests, %d robots, %d use, %d refused, %d bytes, %d sites, %d redirects, %d copies\n\tchecked", r.Requests, r.RobotsRequests, r.UseRequests, r.Refused, r.Bytes, r.Sites, r.Redirected, r.Copies)
	for _, c := range r.Checks {
		if c.Checked+c.Violations > 0 {
			fmt.Fprintf(&b, " %s %d/%d", c.Code, c.Violations, c.Checked)
		}
	}
	b.WriteString("\n")
	for _, m := range r.Margins {
		fmt.Fprintf(&b, "\tmargin %s %d %.6f %d\n", m.Clock, m.Requests, m.Least, m.Line)
	}
	for i := range r.Violations {
		v := &r.Violations[i]
		fmt.Fprintf(&b, "\t%v %v %v\n", v, v.Lines, v.Time.Format(time.RFC3339Nano))
		if v.Pause != nil {
			fmt.Fprintf(&b, "\t\t%+v\n", *v.Pause)
		}
	}
	for _, u := range r.Unproven {
		fmt.Fprintf(&b, "\tunproven %d: %s\n", u.Line, u.Why)
	}
	for _, remark := range r.Remarks {
		fmt.Fprintf(&b, "\t%s\n", remark)
	}
	return b.String()
}

// The audit of crawls that run on one machine and do not share their clocks equals the golden
// file.
func TestGoldenTogether(t *testing.T) {
	crawls := make([]*written, 3)
	dirs := make([]string, len(crawls))
	for i := range crawls {
		w := &written{evidence: evidence{copies: map[frontier.Site][]*robots.Snapshot{}, settings: map[string]string{"ip-delay": "500ms"}}}
		w.run(0, "begin:clean")
		crawls[i], dirs[i] = w, fmt.Sprint("crawl", i)
	}
	crawls[2].settings = map[string]string{"ip-delay": "0", "delay": "2s"}
	for _, l := range []struct {
		crawl    int
		at, took float64
		url      string // the URL of a robots.txt that is requested
		addr     string
		notes    string
	}{
		// Two crawls take turns at one host.
		{0, 10, 0.1, "http://a.example", "16.0.0.1", ""},
		{1, 10.6, 0.1, "http://a.example", "16.0.0.2", ""}, // 0.5 s after the last request of the other crawl
		{2, 11.69, 0.1, "https://a.example", "16.0.0.3", ""},
		{0, 13.73, 0.1, "http://a.example:81", "16.0.0.4", ""}, // 2 s less 60 ms after the last request
		{1, 15.78, 0.1, "http://a.example", "16.0.0.5", ""},
		{0, 15.7, 0.2, "http://a.example", "16.0.0.6", ""}, // at the same time as a request of the other crawl
		{2, 17.9, 0.1, "http://a.example", "16.0.0.7", ""},
		{1, 17.999997, 0.1, "http://a.example", "16.0.0.8", ""}, // overlaps by 3 us, which is rounding
		{1, 19.5, 0.1, "http://a.example", "16.0.0.9", ""},
		{2, 21.599996, 0.1, "http://a.example", "16.0.0.10", ""},
		{0, 21.699992, 0.1, "http://a.example", "16.0.0.11", ""}, // overlaps by 4 us, which is more than rounding
		// If one crawl has several requests, the pause counts from the one that ended last.
		{0, 30, 5, "http://b.example", "16.1.0.1", ""},
		{0, 31, 1, "http://b.example", "16.1.0.2", ""},
		{1, 34, 0.1, "http://b.example", "16.1.0.3", ""},
		{0, 40, 0.1, "http://b.example", "16.1.0.4", ""},
		{0, 40.05, 0.05, "http://b.example", "16.1.0.5", ""},
		{2, 40.5, 0.1, "http://b.example", "16.1.0.6", ""},
		// The answer requires a pause, and a new run begins after the answer.
		{0, 50, 0.1, "http://c.example", "16.2.0.1", "retry-after:2026-05-04T00:01:00.000000Z"},
		{1, 58, 0.1, "http://c.example", "16.2.0.2", ""},
		{1, 66, 0.1, "http://c.example", "16.2.0.3", "error:reset"},
		{2, 70, 0.1, "http://c.example", "16.2.0.4", ""},
		// The pause of an address counts from the start of a request.
		{0, 80, 0.1, "http://d.example", "16.3.0.1", ""},
		{1, 80.4, 0.1, "http://e.example", "16.3.0.1", ""},
		{2, 80.5, 0.1, "http://f.example", "16.3.0.1", ""}, // no pause is set for this address
		{1, 81.4, 5, "http://g.example", "16.3.0.1", ""},
		{1, 82, 0.1, "http://h.example", "16.3.0.1", ""},
		{0, 82.46, 0.1, "http://i.example", "16.3.0.1", ""},
		{1, 82.7, 0.1, "http://j.example", "16.3.0.1", ""},
		// A host at a private address has a clock for each site. A host at a loopback address
		// has no clock.
		{0, 90, 0.1, "http://p.example", "10.0.0.1", ""},
		{1, 90.1, 0.1, "http://p.example:81", "10.0.0.1", ""},
		{2, 90.2, 0.1, "http://p.example", "10.0.0.1", ""},
		{0, 91, 0.1, "http://l.example", "127.0.0.1", ""},
		{1, 91, 0.1, "http://l.example", "127.0.0.1", ""},
		// The address is not known, because a proxy is used.
		{0, 95, 0.1, "http://q.example", "", "proxy:http://127.0.0.1:3128"},
		{1, 95.5, 0.1, "http://q.example", "", "proxy:http://127.0.0.1:3128"},
		// First a pause that is as short as the operating system may make it, and then a
		// shorter one.
		{0, 96, 0.1, "http://s.example", "16.4.0.1", ""},
		{1, 97.0500005, 0.1, "http://s.example", "16.4.0.2", ""},
		{0, 98.1000000, 0.1, "http://t.example", "16.4.0.3", ""},
		{1, 99.1499995, 0.1, "http://t.example", "16.4.0.4", ""},
		{0, 97, 0.1, "http://r.example", "", "error:dns"},
		{1, 97, 0.1, "http://r.example", "", "error:dns"},
	} {
		w := crawls[l.crawl]
		i := len(w.lines)
		w.hop(l.at, l.url+"/robots.txt", l.addr)
		w.lines[i].Via = l.url + "/"
		w.last(i, w.start(i).Add(time.Duration(l.took*float64(time.Second))))
		if l.addr == "" {
			w.set(i, "ip", "")
		}
		if l.notes != "" {
			w.lines[i].Annotations = append(w.lines[i].Annotations, l.notes)
		}
	}
	all, joint, err := audit.AuditTogether(dirs, audit.Options{Temp: t.TempDir()}, func(dir string, o audit.Options) (*audit.Report, error) {
		w := crawls[slices.Index(dirs, dir)]
		return w.crawl(w.log()).Audit(o)
	})
	if err != nil {
		t.Fatal(err)
	}
	failEach(t, func(f *failing) error {
		_, _, err := audit.AuditTogether(dirs, f.options(audit.Options{Temp: t.TempDir()}), func(dir string, o audit.Options) (*audit.Report, error) {
			w := crawls[slices.Index(dirs, dir)]
			return f.crawl(w.crawl(w.log())).Audit(o)
		})
		return err
	})
	text := ""
	for i, r := range all {
		text += dirs[i] + "\n" + brief(r)
	}
	reported, err := json.MarshalIndent(joint, "", " ")
	if err != nil {
		t.Fatal(err)
	}
	goldenText(t, "together.txt", text+string(reported)+"\n")
}

// The audit of a log, with what the state knows and with the log of a server, equals the golden
// file.
func TestGoldenEvidence(t *testing.T) {
	table := crc32.MakeTable(crc32.Castagnoli)
	whole := func(log []byte) (int64, uint32) { return int64(len(log)), crc32.Checksum(log, table) }
	part := func(log []byte) (int64, uint32) { return 500, crc32.Checksum(log[:500], table) }
	const removed, killed = "lost:12", "begin:unclean"
	var is strings.Builder
	for _, c := range []struct {
		name   string
		notes  string // annotations of a run at the end
		cut    int    // number of lines that are missing at the beginning
		killed bool
		mark   func(log []byte) (int64, uint32)
		state  map[string]frontier.Fate
		server []any // seconds and targets in turn; a target that begins with ! was requested by another crawler
	}{
		{"as it was written", "", 0, false, whole, nil, nil},
		{"more than was written", "", 0, false, part, nil, nil},
		{"more than was committed before a kill", "", 0, true, part, nil, nil},
		{"less than was written", "", 0, false, func(log []byte) (int64, uint32) { n, sum := whole(log); return n + 7, sum }, nil, nil},
		{"another log", "", 0, false, func(log []byte) (int64, uint32) { n, sum := part(log); return n, sum + 1 }, nil, nil},
		{"what the state knows", "", 0, false, nil, map[string]frontier.Fate{
			"/1": {Code: frontier.Fetched, Status: 200}, "/unlogged": {Code: frontier.Fetched, Status: 404}, "/reserved": {Code: frontier.UseRefused, Status: 200},
			"/unasked": {Code: frontier.UseRefused}, "/forbidden": {Code: frontier.RobotsDisallowed},
		}, nil},
		{"what the state knows, of a log without a part", removed, 0, false, nil, map[string]frontier.Fate{"/unlogged": {Code: frontier.Fetched, Status: 200}}, nil},
		{"what the state knows, of a log without its beginning", "", 1, false, nil, map[string]frontier.Fate{"/unlogged": {Code: frontier.Fetched, Status: 200}}, nil},
		{"the log of a server", "", 0, false, nil, nil, []any{1, "/robots.txt", 300, "/1", 600, "/2", 600, "!/3", 900, "/unknown", 900, "!/unknown", 1200, "/4", 1260, "/5", 1561, "/6", 1739, "/7", 3000, "/8", 3800, "/slow", 4000, "/failed", 7000, "/9"}},
		{"the log of a server that is 61 s ahead", "", 0, false, nil, nil, []any{62, "/robots.txt", 361, "/1", 661, "/2", 962, "/3", 7061, "/9"}},
		{"the log of a server that is 61 s behind", "", 0, false, nil, nil, []any{-60, "/robots.txt", 239, "/1", 538, "/2", 6939, "/9"}},
		{"the log of a server that asks again and again", "", 0, false, nil, nil, []any{300, "/1", 301, "/1", 302, "/1", 1000, "/1", 7000, "/1"}},
		{"the log of a server, of a log without a part", removed, 0, false, nil, nil, []any{0, "/first", 900, "/unknown", 7000, "/last"}},
		{"the log of a server, and a kill", killed, 0, false, nil, nil, []any{0, "/first", 6929, "/before", 6931, "/taken", 7069, "/soon", 7071, "/later", 8000, "/last"}},
		{"the log of a server, and a kill at the end", "", 0, true, nil, nil, []any{6929, "/before", 6931, "/taken", 9000, "/last"}},
	} {
		w := &written{evidence: evidence{copies: map[frontier.Site][]*robots.Snapshot{}, agents: []string{testIdentity.UserAgent()}, killed: c.killed}}
		w.run(0, "begin:clean")
		w.copy(1, 200, "")
		for i, at := range []float64{300, 600, 900, 1200, 1200.5, 1500, 1800, 3000, 3001} {
			w.ask(at, []string{"/1", "/2", "/3", "/4", "/5", "/6", "/7", "/8", "/reserved"}[i], 200)
		}
		slow := w.ask(3200, "/slow", 200)
		w.last(slow, w.start(slow).Add(10*time.Minute))
		w.set(w.ask(4000, "/failed", -2), "error", "connect")
		w.ask(7000, "/9", 200)
		if c.notes != "" {
			w.run(7010, c.notes)
		}
		var log []byte
		for i := range w.lines[c.cut:] {
			log = w.lines[c.cut+i].Append(log)
		}
		crawl := w.crawl(log)
		if c.mark != nil {
			crawl.Written, crawl.Sum = c.mark(log)
		}
		if c.state != nil {
			crawl.Sites = func(yield func(frontier.Site, error) bool) { yield("http://a.example", nil) }
			crawl.Entries = func(site frontier.Site) iter.Seq2[store.Kept, error] {
				return func(yield func(store.Kept, error) bool) {
					for _, target := range slices.Sorted(maps.Keys(c.state)) {
						u, err := site.URL(target)
						fate := c.state[target]
						fate.Time = day.Add(time.Hour)
						if !yield(store.Kept{Entry: frontier.Entry{URL: u}, Fate: fate}, err) {
							return
						}
					}
				}
			}
		}
		o := audit.Options{Temp: t.TempDir()}
		var access []byte
		if c.server != nil {
			for i := 0; i < len(c.server); i += 2 {
				target, agent := c.server[i+1].(string), testIdentity.UserAgent()
				if rest, other := strings.CutPrefix(target, "!"); other {
					target, agent = rest, "otherbot/1"
				}
				access = fmt.Appendf(access, "a.example 192.0.2.1 - - [%s] \"GET %s HTTP/1.1\" 200 1 \"-\" \"%s\"\n", day.Add(time.Duration(c.server[i].(int))*time.Second).Format("02/Jan/2006:15:04:05 -0700"), target, agent)
			}
			o.Server = &audit.ServerLog{Name: "access.log", Log: bytes.NewReader(access)}
		}
		failAudit(t, crawl, access)
		r, err := crawl.Audit(o)
		if err != nil {
			t.Fatal(err)
		}
		fmt.Fprintf(&is, "%s\n%s", c.name, brief(r))
		if r.Server != nil {
			fmt.Fprintf(&is, "\t%+v\n", *r.Server)
		}
	}
	goldenText(t, "evidence.txt", is.String())
}

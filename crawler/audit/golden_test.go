package audit_test

import (
	"encoding/json"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/permesso-crawler/permesso/crawler"
	"github.com/permesso-crawler/permesso/crawler/audit"
	"github.com/permesso-crawler/permesso/frontier"
	"github.com/permesso-crawler/permesso/robots"
)

var rewrite = flag.Bool("rewrite", false, "write the golden files again")

// golden compares values, as JSON, with what they were when they were last read.
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
	text := strings.ReplaceAll(is.String(), crawler.Version, "V")
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

// All that is said of a crawl that breaks most rules, beside the log of a server.
func TestGoldenAudit(t *testing.T) {
	w := &written{evidence: evidence{
		copies: map[frontier.Site][]*robots.Snapshot{}, agents: []string{testIdentity.UserAgent(), "otherbot"},
		settings: map[string]string{"delay": "3s", "domain-delay": "5s"},
	}}
	w.run(0, "begin:clean")
	old := w.copy(36000, 200, "# ours\nUser-agent: *\nDisallow: /no*$\nAllow: /no/yes\nCrawl-delay: 4 # please\nRequest-rate: 1/9\nVisit-time: 0405-1030\n")
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
	var told []any
	r, err := w.crawl(log).Audit(audit.Options{
		Temp: t.TempDir(), Site: "a.example", Server: &audit.ServerLog{Name: "access.log", Log: strings.NewReader(access.String())},
		Violation: func(v *audit.Violation) error { told = append(told, v.String()); return nil },
		Request:   func(r audit.Request) error { told = append(told, r); return nil },
		Copy:      func(c audit.Copy) error { told = append(told, c); return nil },
	})
	if err != nil {
		t.Fatal(err)
	}
	golden(t, "audit.txt", append(told, r)...)
}

// All that is said of a visitor, by the log of a server.
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
	for _, v := range []audit.Visitor{{Agent: "bot"}, {Agent: "bot", Host: "a.example", Robots: rules}, {Agent: "nobody", Host: "a.example"}} {
		r, err := v.Access("access.log", strings.NewReader(log.String()))
		if err != nil {
			t.Fatal(err)
		}
		all = append(all, r)
	}
	golden(t, "visitor.txt", all...)
}

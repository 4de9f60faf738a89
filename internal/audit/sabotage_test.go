package audit_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/permesso-crawler/permesso/crawler"
	"github.com/permesso-crawler/permesso/crawler/crawltest"
	"github.com/permesso-crawler/permesso/internal/audit"
)

// A sabotage is a fault that a test builds into the crawler. The fault is active if the
// environment variable PERMESSO_SABOTAGE has its name.
type sabotage struct {
	name, does string
	named      []audit.Code // codes that an audit of the directory must report, perhaps with others; nil: the directory does not show the fault
	server     bool         // the log of the server shows the fault; checked only if the directory does not show it
}

var sabotages = []sabotage{
	{"none", "is the crawler as it is", nil, false},

	{"half", "waits half of each pause", []audit.Code{audit.TooEarly}, true},
	{"millisecond", "comes a millisecond early", []audit.Code{audit.TooEarly}, true},
	{"microseconds", "comes 100 µs early", []audit.Code{audit.TooEarly}, true},
	{"slow", "does not wait longer for a slow site", []audit.Code{audit.TooEarly}, true},
	{"crawl-delay", "ignores Crawl-delay and Request-rate", []audit.Code{audit.TooEarly}, true},
	{"from-start", "counts pauses from the start of the request before", []audit.Code{audit.TooEarly}, true},
	{"retry-after", "ignores Retry-After", []audit.Code{audit.RetryAfter}, true},
	{"no-rest", "does not rest after 429, 503 and lost connections", []audit.Code{audit.BackOff}, true},
	{"visit-time", "ignores Visit-time", []audit.Code{audit.VisitTime}, true},

	{"redirects", "follows redirects to what robots.txt forbids", []audit.Code{audit.Disallowed}, true},
	{"images", "asks for images that robots.txt forbids", []audit.Code{audit.Disallowed}, true},
	{"sitemaps", "asks for sitemaps that robots.txt forbids", []audit.Code{audit.Disallowed}, true},
	{"open-5xx", "takes an unreachable robots.txt for none", []audit.Code{audit.NoRobots}, true},
	{"stale", "never asks for robots.txt again", []audit.Code{audit.StaleRobots}, true},
	{"no-request", "stores a 404 for each robots.txt that it never asked for", []audit.Code{audit.NoRobots, audit.Evidence}, true},
	{"other-body", "stores another robots.txt than the one that came", []audit.Code{audit.Evidence}, true},
	{"other-time", "stores a robots.txt as if it had come later", []audit.Code{audit.NoRobots, audit.Evidence}, true},
	{"many-redirects", "follows a robots.txt over 14 redirects", []audit.Code{audit.Redirects}, true},

	{"unlogged", "writes no line for images", []audit.Code{audit.Evidence}, true},
	{"unlogged-rules", "writes no line for robots.txt", []audit.Code{audit.NoRobots, audit.Evidence}, true},
	{"retry-after-unsaid", "ignores Retry-After, and does not write it down", nil, false},
	{"unlogged-redirects", "writes no line for redirects of a robots.txt", nil, true},
	{"other-agent", "sends another User-Agent than it writes down", nil, true},
	{"shorter", "waits half of each pause, and writes that answers ended when they began", []audit.Code{audit.Evidence}, true},
}

// An edit replaces a text that occurs once in a source file. The new text reads the variable
// Sabotage of package frontier, which has the name of the active fault.
type edit struct{ file, old, new string }

func edits() []edit {
	const clock, host, rules, log = "frontier/clock.go", "fetch/host.go", "fetch/rules.go", "crawler/log.go"
	after := func(file, old, more string) edit { return edit{file, old, old + more} }
	return []edit{
		{clock, "func (c *Clocks) steady(own time.Duration) (time.Duration, Clock) {\n", `func (c *Clocks) steady(own time.Duration) (time.Duration, Clock) {
	gap, by := c.unspoiled(own)
	switch Sabotage {
	case "half", "shorter":
		gap /= 2
	case "millisecond":
		gap -= time.Millisecond
	case "microseconds":
		gap -= 100 * time.Microsecond
	}
	return gap, by
}

func (c *Clocks) unspoiled(own time.Duration) (time.Duration, Clock) {
`},
		{clock, "	if own > 0 {\n		if a := min(", "	if own > 0 && Sabotage != \"slow\" {\n		if a := min("},
		{clock, "	if c.Gap > gap {\n", "	if c.Gap > gap && Sabotage != \"crawl-delay\" {\n"},
		after(clock, "	c.Ended = r.Ended\n", `	switch Sabotage {
	case "from-start":
		c.Ended = r.Started
	case "retry-after", "retry-after-unsaid":
		retryAfter = time.Time{}
	case "no-rest":
		trouble = NoTrouble
	}
`),
		{host, "	res.Outcome.Gap = h.gap(now)\n	switch res.Verdict.Access {\n", `	last := ""
	if n := len(entry.Hops); n > 0 {
		last = entry.Hops[n-1:]
	}
	for name, hop := range map[string]string{"redirects": "R", "images": "E", "sitemaps": "M"} {
		if frontier.Sabotage == name && last == hop {
			res.Verdict = robots.Verdict{Access: robots.Allow}
		}
	}
	if frontier.Sabotage == "open-5xx" && res.Verdict.Access == robots.Defer {
		res.Verdict = robots.Verdict{Access: robots.Allow}
	}
	res.Outcome.Gap = h.gap(now)
	switch res.Verdict.Access {
`},
		{host, "opens := h.group.NextVisit(now); opens.After(now) {", "opens := h.group.NextVisit(now); opens.After(now) && frontier.Sabotage != \"visit-time\" {"},
		after(host, "	if s == nil || s.Fetched.After(now) {\n		return false\n	}\n", `	if frontier.Sabotage == "open-5xx" || s.Reachable() && (frontier.Sabotage == "stale" || frontier.Sabotage == "other-time") {
		return true
	}
`),
		after("fetch/fetcher.go", "	opts.maxRules = positive(opts.maxRules, maxRules)\n", `	if frontier.Sabotage == "other-agent" {
		opts.UserAgent = "Mozilla/5.0 (X11; Linux x86_64)"
	}
`),
		{rules, "		x, failure, err := h.askRules(ctx, turn, &res)\n", `		if frontier.Sabotage == "no-request" {
			h.chain = nil
			return res, h.conclude(&Exchange{URL: c.at, Status: 404, Ended: time.Now(), Header: http.Header{}}, "", to.url, &res)
		}
		x, failure, err := h.askRules(ctx, turn, &res)
`},
		{rules, "	return c.move(x, frontier.MaxRedirects)\n", `	if frontier.Sabotage == "many-redirects" {
		return c.move(x, 30)
	}
	return c.move(x, frontier.MaxRedirects)
`},
		after(rules, "	s.Header.RetryAfter = x.RetryAfter()\n", `	switch frontier.Sabotage {
	case "other-body":
		s.Body = []byte("User-agent: *\nAllow: /\n")
	case "other-time":
		s.Fetched = s.Fetched.Add(time.Second)
	}
`),
		{log, "			l.of(slot.number, e, x, res, p)\n", `			if frontier.Sabotage == "unlogged" && !x.Robots && strings.HasSuffix(e.Hops, "E") || frontier.Sabotage == "unlogged-rules" && x.Robots || frontier.Sabotage == "unlogged-redirects" && x.Robots && x.Status == 302 {
				continue
			}
			if frontier.Sabotage == "shorter" {
				x.Ended = x.Started
			}
			l.of(slot.number, e, x, res, p)
`},
		{log, "	if until := x.RetryAfter(); !until.IsZero() {\n", "	if until := x.RetryAfter(); !until.IsZero() && frontier.Sabotage != \"retry-after-unsaid\" {\n"},
		{log, "	\"strconv\"\n", "	\"strconv\"\n	\"strings\"\n"},
	}
}

// spoiled writes the edited sources to dir, for go build -overlay, and returns the name of the
// overlay file.
func spoiled(t *testing.T, dir string) string {
	root, err := filepath.Abs("../..")
	if err != nil {
		t.Fatal(err)
	}
	texts := map[string]string{"frontier/sabotage.go": "package frontier\n\nimport \"os\"\n\nvar Sabotage = os.Getenv(\"PERMESSO_SABOTAGE\")\n"}
	for _, e := range edits() {
		text, ok := texts[e.file]
		if !ok {
			raw, err := os.ReadFile(filepath.Join(root, e.file))
			if err != nil {
				t.Fatal(err)
			}
			text = string(raw)
		}
		if n := strings.Count(text, e.old); n != 1 {
			t.Errorf("%s has %d times what a sabotage is put in the place of; edits in sabotage_test.go has to name what does the same now:\n%s", e.file, n, e.old)
		}
		texts[e.file] = strings.Replace(text, e.old, e.new, 1)
	}
	overlay := map[string]map[string]string{"Replace": {}}
	for file, text := range texts {
		as := filepath.Join(dir, strings.ReplaceAll(file, "/", "-"))
		if err := os.WriteFile(as, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
		overlay["Replace"][filepath.Join(root, file)] = as
	}
	raw, err := json.Marshal(overlay)
	if err != nil {
		t.Fatal(err)
	}
	list := filepath.Join(dir, "overlay.json")
	if err := os.WriteFile(list, raw, 0o644); err != nil {
		t.Fatal(err)
	}
	return list
}

// The crawler is built with faults. An audit reports each fault, except the faults that no log
// can show. The table in docs/reference/audit.md lists them.
func TestEachSabotageIsNamed(t *testing.T) {
	dir := t.TempDir()
	list := spoiled(t, dir)
	if os.Getenv("PERMESSO_SABOTAGES") == "" {
		t.Skip("PERMESSO_SABOTAGES=1 builds a crawler with each of them, and audits its crawl")
	}
	program := filepath.Join(dir, "sabotaged")
	if out, err := exec.Command("go", "test", "-overlay", list, "-c", "-o", program, ".").CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	for _, s := range sabotages {
		t.Run(s.name, func(t *testing.T) {
			cmd := exec.CommandContext(t.Context(), program, "-test.run", "^TestASabotagedCrawl$", "-test.v", "-test.timeout", "1m")
			cmd.Env = append(os.Environ(), "PERMESSO_SABOTAGE="+s.name)
			out, err := cmd.Output()
			if err != nil {
				t.Fatalf("%v: %s", err, out)
			}
			var is sabotaged
			for line := range bytes.Lines(out) {
				if raw, ok := bytes.CutPrefix(bytes.TrimSpace(line), []byte(found)); ok {
					err = json.Unmarshal(raw, &is)
				}
			}
			if err != nil || is.Requests == 0 {
				t.Fatalf("%v: %s", err, out)
			}
			for _, c := range s.named {
				if is.Broken[c] == 0 {
					t.Errorf("%s is not found: %v", c, is.Broken)
				}
			}
			if s.named == nil && len(is.Broken) > 0 {
				t.Errorf("%v, for a crawler that %s", is.Broken, s.does)
			}
			if got := is.Beside > 0; s.named == nil && got != s.server {
				t.Errorf("%d differences from the log of the server", is.Beside)
			}
			t.Logf("a crawler that %s: %d requests; %v; %d differences from the log of the server\n%s", s.does, is.Requests, is.Broken, is.Beside, is.First)
		})
	}
}

// found is the beginning of the line in which the test process prints its result.
const found = "sabotaged: "

// A sabotaged is the result of auditing a crawl with a fault.
type sabotaged struct {
	Requests int64
	Broken   map[audit.Code]int64
	First    string // text of the first violation
	Beside   int64  // number of requests that only one of the two logs has
}

// TestASabotagedCrawl runs in the process that TestEachSabotageIsNamed starts. It crawls a web
// in which each fault has an effect.
func TestASabotagedCrawl(t *testing.T) {
	if os.Getenv("PERMESSO_SABOTAGE") == "" {
		t.Skip("TestEachSabotageIsNamed runs it")
	}
	dir := filepath.Join(t.TempDir(), "crawl")
	var log string
	synctest.Test(t, func(t *testing.T) { log = crawlTheBait(t, dir) })
	r, err := audit.Dir(dir, audit.Options{})
	if err != nil {
		t.Fatal(err)
	}
	is := sabotaged{Requests: r.Requests, Broken: map[audit.Code]int64{}}
	for _, c := range r.Checks {
		if c.Violations > 0 {
			is.Broken[c.Code] = c.Violations
		}
	}
	if len(r.Violations) > 0 {
		is.First = r.Violations[0].String()
	}
	if r, err = audit.Dir(dir, audit.Options{Server: &audit.ServerLog{Name: "access.log", Log: strings.NewReader(log)}}); err != nil {
		t.Fatal(err)
	}
	is.Beside = r.Server.OnlyCrawl + r.Server.OnlyServer
	raw, err := json.Marshal(is)
	if err != nil {
		t.Fatal(err)
	}
	fmt.Println(found + string(raw))
}

// crawlTheBait crawls a web in which each rule can be broken. It returns the log of its
// servers.
func crawlTheBait(t *testing.T, dir string) string {
	w := crawltest.New(t)
	const no = "User-agent: *\nDisallow: /no\n"
	links := ""
	for i := range 8 {
		links += fmt.Sprintf("<a href=/a%d>a</a>", i)
	}
	var seeds []string
	site := func(name, rules string) *crawltest.Site {
		s := w.Site("http://"+name+".example").Page("/", links)
		if rules != "" {
			s.Robots(rules)
		}
		for i := range 8 {
			s.Page(fmt.Sprintf("/a%d", i), "")
		}
		seeds = append(seeds, "http://"+name+".example/")
		return s
	}
	site("delay", no+"Crawl-delay: 3\n")
	site("rate", no+"Request-rate: 1/7\n")
	site("hours", no+"Visit-time: 0300-0500\n")
	site("redirect", no).Redirect("/a1", "/no/x")
	site("image", no).Page("/a1", "<img src=/no/x.png><img src=/yes.png>").File("/yes.png", "image/png", "x")
	site("sitemap", no+"Sitemap: http://sitemap.example/no/s.xml\n").File("/no/s.xml", "application/xml", `<urlset xmlns="http://www.sitemaps.org/schemas/sitemap/0.9"></urlset>`)
	site("retry", no).Func("/a1", func(rw http.ResponseWriter, _ *http.Request) {
		rw.Header().Set("Retry-After", "30")
		rw.Header().Set("Content-Type", "text/html")
		io.WriteString(rw, "x")
	})
	site("slow", no).Latency(2 * time.Second)
	site("rest", no).Flaky("/a1", "x", "", 503)
	site("broken", "").Status("/robots.txt", 500)
	site("old", "").Func("/robots.txt", func(rw http.ResponseWriter, _ *http.Request) {
		rw.Header().Set("Cache-Control", "max-age=1")
		io.WriteString(rw, no+"Crawl-delay: 200\n")
	})
	chain := site("chain", "").Redirect("/robots.txt", "/r0")
	for i := range 13 {
		chain.Redirect(fmt.Sprintf("/r%d", i), fmt.Sprintf("/r%d", i+1))
	}
	chain.File("/r13", "text/plain", no)
	o := crawler.Options{
		Dir: dir, Identity: testIdentity, Wire: crawler.Wire{Network: w, RootCAs: w.RootCAs(), AllowPrivate: true}, Seeds: seeds, Follow: crawler.Follow{Requisites: true},
		Keep: crawler.Keep{Output: []crawler.Output{crawler.OutputWARC}}, Budget: crawler.Budget{Patience: 24 * time.Hour}, Hooks: crawler.Hooks{Logger: quiet},
	}
	c, err := crawler.New(o)
	if err != nil {
		t.Fatal(err)
	}
	if err := c.Run(t.Context(), nil); err != nil {
		t.Fatal(err)
	}
	return accessLogOf(w)
}

// accessLogOf returns the requests to a web as an access log of nginx, with the host first.
func accessLogOf(w *crawltest.Web) string {
	var b strings.Builder
	for _, r := range w.Log() {
		fmt.Fprintf(&b, "%s 192.0.2.1 - - [%s] %q %d 1 \"-\" %q\n", r.Site.Host(), r.End.UTC().Format("02/Jan/2006:15:04:05 -0700"), r.Method+" "+r.Target+" HTTP/1.1", r.Status, r.UserAgent)
	}
	return b.String()
}

package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/permesso-crawler/permesso/cmd/crawl/internal/exit"
	"github.com/permesso-crawler/permesso/cmd/crawl/internal/say"
	"github.com/permesso-crawler/permesso/internal/audit"
	"github.com/permesso-crawler/permesso/internal/outfile"
)

// The audit of the logs that .ci/audit/record.sh has recorded of real crawlers, at a site
// with a Crawl-delay. go test ./cmd/crawl -run Recorded -rewrite records it again.
//
// For site owners: "`crawl audit --access-log FILE --agent NAME --host HOST --robots
// FILE` reports of any crawler, from the log of your own server, what it was not
// allowed to request, and how much too fast it was."
func TestWhatIsSaidOfRecordedCrawlers(t *testing.T) {
	t.Chdir("testdata/audit")
	for _, tc := range []struct {
		log, agent string
		broken     []audit.Code
	}{
		{"colly", "colly", []audit.Code{audit.NoRobots, audit.Disallowed, audit.TooEarly}},
		{"wget2", "wget", []audit.Code{audit.TooEarly}},
		{"scrapy", "scrapy", []audit.Code{audit.NoRobots, audit.Disallowed, audit.TooEarly}},
		{"permesso", "testbot", nil},
	} {
		args := []string{"audit", "--access-log", tc.log + ".log", "--agent", tc.agent, "--host", "127.0.0.1", "--robots", "robots.txt"}
		var out, said bytes.Buffer
		code := run(args, nil, &out, &said)
		want := exit.Check
		if tc.broken == nil {
			want = exit.Done
		}
		if code != want || said.Len() > 0 {
			t.Errorf("%s: exit %d, %s", tc.log, code, said.String())
		}
		golden := tc.log + ".txt"
		if *rewrite {
			if err := os.WriteFile(golden, out.Bytes(), 0o644); err != nil {
				t.Fatal(err)
			}
		}
		if known, err := os.ReadFile(golden); err != nil || string(known) != out.String() {
			t.Errorf("%s (%v), got\n%s", golden, err, out.String())
		}
		out.Reset()
		run(append(args, "--json"), nil, &out, &said)
		var r audit.Visited
		if err := json.Unmarshal(out.Bytes(), &r); err != nil {
			t.Fatal(err)
		}
		var broken []audit.Code
		for _, c := range r.Checks {
			if c.Violations > 0 {
				broken = append(broken, c.Code)
			}
		}
		if fmt.Sprint(broken) != fmt.Sprint(tc.broken) {
			t.Errorf("%s: %v, want %v", tc.log, broken, tc.broken)
		}
	}
}

// Any name in a log can be audited, whether it is a product token or not. For a name that
// is not in the log, the names that are in it are listed.
func TestAnyNameInALogCanBeAudited(t *testing.T) {
	t.Chdir(t.TempDir())
	line := func(at int, target, agent string) string {
		return fmt.Sprintf("192.0.2.1 - - [04/May/2026:00:00:%02d +0000] \"GET %s HTTP/1.1\" 200 1 \"-\" \"%s\"\n", at, target, agent)
	}
	const mj, spider = "Mozilla/5.0 (compatible; MJ12bot/v1.4.8; http://mj12bot.com/)", "360Spider"
	log := line(0, "/robots.txt", mj) + line(5, "/private", mj) + line(6, "/robots.txt", spider) + line(9, "/open", spider)
	rules := "User-agent: MJ12bot\nDisallow: /private\n\nUser-agent: *\nDisallow: /open\n"
	for name, text := range map[string]string{"log": log, "robots.txt": rules} {
		if err := os.WriteFile(name, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	for _, tc := range []struct {
		agent, dialect, said, want string
		code                       int
	}{
		{"MJ12bot", "rfc9309", `counts the group for "MJ"`, "log:2: disallowed: a.example/private", exit.Check},
		{"MJ12bot", "koster1996", "", "log:2: disallowed: a.example/private", exit.Check},
		{"360Spider", "rfc9309", `counts the group for ""`, "log:4: disallowed: a.example/open", exit.Check},
		{"somebot", "rfc9309", "", `none of 4 lines is of somebot`, exit.Done},
		{"somebot", "rfc9309", "", `"` + mj + `" (2)`, exit.Done},
		{" ", "rfc9309", "--agent: the name is empty", "", exit.Usage},
	} {
		var out, said bytes.Buffer
		code := run([]string{"audit", "--access-log", "log", "--host", "https://A.example/", "--robots", "robots.txt", "--agent", tc.agent, "--dialect", tc.dialect}, nil, &out, &said)
		if code != tc.code || !strings.Contains(said.String(), tc.said) || tc.said == "" && said.Len() > 0 || !strings.Contains(strings.Join(strings.Fields(out.String()), " "), tc.want) {
			t.Errorf("%+v: exit %d, %s\n%s", tc, code, &said, &out)
		}
	}
}

// Text that others have written into a log never reaches a terminal unescaped, and never
// looks like a line of the command.
func TestHostileBytesOfLogsDoNotReachATerminal(t *testing.T) {
	dir := t.TempDir()
	log := filepath.Join(dir, "access.log")
	line := func(host, target, agent string) string {
		return fmt.Sprintf("%s 192.0.2.1 - - [04/May/2026:00:00:00 +0000] \"GET %s HTTP/1.1\" 200 1 \"-\" \"%s\"\n", host, target, agent)
	}
	text := line("a\x1b[2J", `/\x1b[31m\x0aresult\x20\x20no\x20rule`, `bot \x1b]0;x\x07\x0d`) + line("b\u202e", "/\u009b", `bot \xc2\x9b`)
	if err := os.WriteFile(log, []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
	for _, extra := range []string{"--json=false", "--json"} {
		var out, said bytes.Buffer
		code := run([]string{"audit", "--access-log", log, "--agent", "bot", extra}, nil, &out, &said)
		if code != exit.Check {
			t.Fatalf("exit %d, %s", code, said.String())
		}
		for _, r := range out.String() {
			if say.Steers(r) {
				t.Errorf("%s: %q reaches the terminal", extra, r)
			}
		}
		if strings.Contains(out.String(), "\nresult  no") {
			t.Errorf("a line is forged:\n%s", out.String())
		}
	}
	if err := os.WriteFile(log, []byte("\x1b[2J\x07\n"), 0o644); err != nil {
		t.Fatal(err)
	}
	for flag, code := range map[string]int{"--access-log": exit.Usage, "--heritrix-log": exit.Usage} {
		var out, said bytes.Buffer
		if got := run([]string{"audit", flag, log, "--agent", "bot"}, nil, &out, &said); got != code || strings.ContainsAny(said.String(), "\x1b\x07") || !strings.Contains(said.String(), log+":1: ") {
			t.Errorf("%s: exit %d, %q", flag, got, said.String())
		}
	}
}

// A certificate replaces an older one, but no directory. If it cannot be written, the command says
// so, and leaves no file.
func TestACertificateIsWhole(t *testing.T) {
	dir := t.TempDir()
	path := filepath.Join(dir, certificateFile)
	for _, text := range []string{"one", "two"} {
		if err := outfile.Write(path, []byte(text)); err != nil {
			t.Fatal(err)
		}
		if got, err := os.ReadFile(path); err != nil || string(got) != text {
			t.Errorf("%q, %v", got, err)
		}
	}
	taken := filepath.Join(dir, "taken")
	if err := os.MkdirAll(filepath.Join(taken, "full"), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := outfile.Write(taken, nil); err == nil {
		t.Error("a directory was replaced")
	}
	if all, err := os.ReadDir(dir); err != nil || len(all) != 2 {
		t.Errorf("%v, %v: something is left", all, err)
	}
	p := &program{out: &bytes.Buffer{}, err: &bytes.Buffer{}}
	if out, err := p.certify(&auditFlags{}, filepath.Join(dir, "none"), &audit.Report{}); out != "" || err != nil || !strings.Contains(p.err.(*bytes.Buffer).String(), "no certificate was written") {
		t.Errorf("%q, %v, %v", out, err, p.err)
	}
	if _, err := p.certify(&auditFlags{out: filepath.Join(dir, "none", "x")}, dir, &audit.Report{}); exit.Code(err) != exit.Usage || !strings.Contains(err.Error(), "there is no directory "+filepath.Join(dir, "none")) {
		t.Errorf("%v", err)
	}
}

// The document describes each field of a certificate, and each code.
func TestTheDocumentOfAuditsHasEachField(t *testing.T) {
	raw, err := os.ReadFile("../../docs/reference/audit.md")
	if err != nil {
		t.Fatal(err)
	}
	doc := string(raw)
	full := audit.Report{Violations: []audit.Violation{{Lines: []int64{1}, URL: "x", Pause: &audit.Pause{}}}, Margins: []audit.Margin{{}}, UserAgents: []string{"x"}, First: time.Unix(1, 0), Last: time.Unix(1, 0)}
	text, err := json.Marshal(certificateOf(&full))
	if err != nil {
		t.Fatal(err)
	}
	names := regexp.MustCompile(`"([a-z_0-9]+)":`).FindAllStringSubmatch(string(text), -1)
	if len(names) < 25 {
		t.Fatalf("%d fields", len(names))
	}
	for _, name := range names {
		if !strings.Contains(doc, "`"+name[1]+"`") {
			t.Errorf("docs/reference/audit.md does not name the field %s", name[1])
		}
	}
	for _, c := range audit.Codes() {
		if !strings.Contains(doc, "\n| `"+string(c.Code)+"` |") {
			t.Errorf("docs/reference/audit.md does not say what %s is", c.Code)
		}
	}
}

// Which flags are allowed with one directory, with several, and with none.
func TestWhatIsAuditedIsToldApart(t *testing.T) {
	t.Chdir(t.TempDir())
	for _, dir := range []string{"a.crawl", "b.crawl"} {
		if err := os.Mkdir(dir, 0o755); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.Symlink("a.crawl", "again.crawl"); err != nil {
		t.Fatal(err)
	}
	for args, want := range map[string]string{
		"":                                             "takes the directories of crawls",
		"none.crawl":                                   "none.crawl",
		"a.crawl none.crawl":                           "none.crawl",
		"a.crawl a.crawl":                              "a.crawl is given twice",
		"a.crawl again.crawl":                          "again.crawl is given twice",
		"a.crawl b.crawl --out x":                      "--out names one file, and there is a certificate for each of 2 directories",
		"a.crawl b.crawl --site x":                     "--site is for the audit of one directory",
		"a.crawl b.crawl --access-log x":               "--access-log is for the audit of one directory",
		"a.crawl --access-log x":                       "x: no such file",
		"a.crawl --access-log x --site y":              "either --site or --access-log",
		"a.crawl --host y":                             "--host is for --access-log",
		"a.crawl --heritrix-log x":                     "--heritrix-log is audited without a directory",
		"a.crawl --access-log x --agent y":             "--agent is for the audit of a log without a directory",
		"a.crawl --delay 2s":                           "--delay is for the audit of a log without a directory",
		"--access-log x":                               "--agent: which crawler?",
		"--access-log x --agent y --site z":            "--site is for the audit of a directory",
		"--heritrix-log x --robots y":                  "--agent: whose group",
		"--access-log x --agent y --robots z":          "--host is missing: give the host of z, as --host www.example.com",
		"--access-log x --agent y --heritrix-log z":    "either --access-log or --heritrix-log",
		"--access-log x --agent y --host http://[::1/": "--host: ",
	} {
		var out, said bytes.Buffer
		if code := run(append([]string{"audit"}, strings.Fields(args)...), nil, &out, &said); code != exit.Usage || !strings.Contains(said.String(), want) {
			t.Errorf("%s: exit %d, %s, want %s", args, code, &said, want)
		}
	}
}

// The audit of several crawls, and of one with the log of its server, prints what was
// compared, and ends with the exit code for all of it.
func TestAuditOfSeveralAndBesideALog(t *testing.T) {
	log := newAccessLog(t)
	t.Chdir(t.TempDir())
	ownHome(t)
	for _, dir := range []string{"a.crawl", "b.crawl"} {
		var said bytes.Buffer
		if code := run([]string{"run", "--name", "mybot", "--contact", "me@example.org", "--delay", "1ms", "--patience", "1s", "--dir", dir,
			"--connect-to", "::" + log.address, "http://a.test/"}, nil, &said, &said); code != exit.Done {
			t.Fatalf("exit %d: %s", code, &said)
		}
	}
	var out, said bytes.Buffer
	if code := run([]string{"audit", "a.crawl", "b.crawl"}, nil, &out, &said); code != exit.Done || !strings.Contains(out.String(), "together     a.crawl, b.crawl\n") || strings.Count(out.String(), "no rule was broken") != 5 {
		t.Errorf("exit %d, %s\n%s", code, &said, &out)
	}
	out.Reset()
	if code := run([]string{"audit", "--json", "--out", "none", "a.crawl", "b.crawl"}, nil, &out, &said); code != exit.Done || strings.Count(out.String(), "\n") != 3 || !strings.Contains(out.String(), `{"together":{"crawls":["a.crawl","b.crawl"],"checks":[`) {
		t.Errorf("exit %d, %s\n%s", code, &said, &out)
	}
	now := time.Now().UTC().Format("02/Jan/2006:15:04:05 -0700")
	line := func(target string) string {
		return fmt.Sprintf("192.0.2.1 - - [%s] \"GET %s HTTP/1.1\" 200 1 \"-\" \"mybot (+x)\"\n", now, target)
	}
	for text, want := range map[string]struct {
		code int
		said string
	}{
		line("/robots.txt") + line("/"):             {exit.Done, "access.log: 2 of 2 lines are of the crawl, 2 of them with a line of crawl.log"},
		line("/robots.txt") + line("/") + line("/"): {exit.Check, "line 3 of access.log, and crawl.log has no line of it"},
		"odd\n": {exit.Usage, ""},
	} {
		if err := os.WriteFile("access.log", []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
		out.Reset()
		code := run([]string{"audit", "--access-log", "access.log", "--host", "a.test", "a.crawl"}, nil, &out, &said)
		if code != want.code || !strings.Contains(strings.Join(strings.Fields(out.String()), " "), want.said) {
			t.Errorf("%q: exit %d, %s\n%s", text, code, &said, &out)
		}
	}
}

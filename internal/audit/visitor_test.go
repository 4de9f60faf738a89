package audit

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/permesso-crawler/permesso/robots"
)

func TestLinesOfAccessLogs(t *testing.T) {
	at := time.Date(2026, 5, 4, 3, 2, 1, 0, time.UTC)
	for text, want := range map[string]visit{
		`192.0.2.1 - - [04/May/2026:03:02:01 +0000] "GET /to?u=http://b.example/x HTTP/1.1" 302 0 "-" "bot"`:              {addr: "192.0.2.1", target: "/to?u=http://b.example/x", status: 302, agent: "bot"},
		`192.0.2.1 - - [04/May/2026:03:02:01 +0000] "GET /a?b HTTP/1.1" 200 12 "-" "bot/1"`:                               {addr: "192.0.2.1", target: "/a?b", status: 200, agent: "bot/1"},
		`192.0.2.1 - J Doe [04/May/2026:05:02:01 +0200] "GET / HTTP/2.0" 200 - "http://x/\"" "a \"b\" \x41\\" "more" 0.1`: {addr: "192.0.2.1", target: "/", status: 200, agent: `a "b" A\`},
		`A.example:80 2001:db8::1 - - [04/May/2026:03:02:01 +0000] "GET / HTTP/1.1" 404 0 "-" "-"`:                        {host: "a.example", addr: "2001:db8::1", target: "/", status: 404, agent: "-"},
		`a.example 192.0.2.1 - - [04/May/2026:03:02:01 +0000] "GET http://B.example:81/x HTTP/1.1" 301 0 "-" ""`:          {host: "b.example", addr: "192.0.2.1", target: "/x", status: 301},
		`crawl-1.example.net 192.0.2.7 - [04/May/2026:03:02:01 +0000] "GET / HTTP/1.1" 200 0 "-" "-"`:                     {addr: "crawl-1.example.net", target: "/", status: 200, agent: "-"},
		`crawl-1.example.net - - [04/May/2026:03:02:01 +0000] "\x16\x03\x01" 400 0 "-" "-"`:                               {addr: "crawl-1.example.net", status: 400, agent: "-"},
		`203.0.113.9, 10.0.0.1 127.0.0.1 - - [04/May/2026:03:02:01 +0000] "GET / HTTP/1.1" 200 0 "-" "bot"`:               {addr: "203.0.113.9", target: "/", status: 200, agent: "bot"},
		`203.0.113.9 127.0.0.1 - - [04/May/2026:03:02:01 +0000] "GET / HTTP/1.1" 200 0 "-" "bot"`:                         {addr: "203.0.113.9", target: "/", status: 200, agent: "bot"},
		`- 127.0.0.1 - - [04/May/2026:03:02:01 +0000] "GET / HTTP/1.1" 200 0 "-" "bot"`:                                   {addr: "127.0.0.1", target: "/", status: 200, agent: "bot"},
		`a.example - 192.0.2.1 - - [04/May/2026:03:02:01 +0000] "GET / HTTP/1.1" 200 0 "-" "bot"`:                         {host: "a.example", addr: "192.0.2.1", target: "/", status: 200, agent: "bot"},
		`a.example unknown, 10.0.0.2 192.0.2.1 - - [04/May/2026:03:02:01 +0000] "GET / HTTP/1.1" 200 0 "-" "bot"`:         {host: "a.example", addr: "unknown", target: "/", status: 200, agent: "bot"},
		`2001:db8::3 a.example 192.0.2.1 - - [04/May/2026:03:02:01 +0000] "GET / HTTP/1.1" 200 0 "-" "bot"`:               {host: "", addr: "2001:db8::3", target: "/", status: 200, agent: "bot"},
		`192.0.2.1 - J [at home] Doe [04/May/2026:03:02:01 +0000] "GET / HTTP/1.1" 200 0 "-" "bot"`:                       {addr: "192.0.2.1", target: "/", status: 200, agent: "bot"},
		`192.0.2.1 - - [04/May/2026:03:02:01 +0000] "GET / HTTP/1.1" 200 0 "-" "a\xzzb\x4"`:                               {addr: "192.0.2.1", target: "/", status: 200, agent: `a\xzzb\x4`},
		`[2001:db8::2]:443 192.0.2.1 - - [04/May/2026:03:02:01 +0000] "HEAD / HTTP/1.1" 200 0 "-" "\xff\n"`:               {host: "[2001:db8::2]", addr: "192.0.2.1", target: "/", status: 200, agent: "\xffn"},
	} {
		want.at = at
		got, err := parseAccess(text)
		if err != nil || !got.at.Equal(at) {
			t.Errorf("%s: %+v, %v", text, got, err)
			continue
		}
		if got.at = at; *got != want {
			t.Errorf("%s:\ngot  %+v\nwant %+v", text, *got, want)
		}
	}
	for text, want := range map[string]string{
		"":        "combined format",
		"foreign": "combined format",
		`192.0.2.1 - - [yesterday] "GET / HTTP/1.1" 200 12 "-" "bot"`:                         "its time",
		`x [04/May/2026:03:02:01 +0000] "GET / HTTP/1.1" 200 12 "-" "bot"`:                    "no address",
		`x - [04/May/2026:03:02:01 +0000] "GET / HTTP/1.1" 200 12 "-" "bot"`:                  "no address",
		`192.0.2.1 - - [04/May/2026:03:02:01 +0000] "GET / HTTP/1.1`:                          "no status",
		`192.0.2.1 - - [04/May/2026:03:02:01 +0000] "GET / HTTP/1.1" 200`:                     "no status",
		`192.0.2.1 - - [04/May/2026:03:02:01 +0000] "GET / HTTP/1.1" ok 12 "-" "bot"`:         "is no status",
		`192.0.2.1 - - [04/May/2026:03:02:01 +0000] "GET / HTTP/1.1" 200 12`:                  "without a User-Agent",
		`192.0.2.1 - - [04/May/2026:03:02:01 +0000] "GET / HTTP/1.1" 200 12 "-" "half a name`: "without a User-Agent",
		`192.0.2.1 - - [04/May/2026:03:02:01 +0000] "GET / HTTP/1.1" 200 12 "-" "half a\`:     "without a User-Agent",
		`192.0.2.1 - - [04/May/2026:03:02:01 +0000] "GET / HTTP/1.1" 200 12 "-" "half a\"`:    "without a User-Agent",
	} {
		if v, err := parseAccess(text); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %+v, %v, want %s", text, v, err, want)
		}
	}
}

func FuzzAccessLog(f *testing.F) {
	f.Add(`a.example:80 192.0.2.1 - - [04/May/2026:03:02:01 +0000] "GET /\x41 HTTP/1.1" 200 12 "-" "bot\"s"`)
	f.Add(`1.1.1.1 - - [04/May/2026:03:02:01 +0000] "GET http:// HTTP/1.1" 200 12 "" "\x`)
	f.Fuzz(func(t *testing.T, text string) {
		v, err := parseAccess(text)
		if (v == nil) != (err != nil) || v != nil && (v.addr == "" || v.at.IsZero()) {
			t.Errorf("%+v, %v", v, err)
		}
		if _, err := (Visitor{Agent: "bot", Host: "a.example", Robots: robots.Parse([]byte("User-agent: *\nCrawl-delay: 1\nDisallow: /a"), robots.RFC9309)}).Access("log", strings.NewReader(text)); err != nil {
			var line *LineError
			if !errors.As(err, &line) || line.Line < 1 {
				t.Errorf("%v", err)
			}
		}
	})
}

func TestAProductTokenIsAWordOfAUserAgent(t *testing.T) {
	for agent, want := range map[string]bool{
		"somebot": true, "SomeBot/2.1 (+x)": true, "Mozilla/5.0 (compatible; somebot/1)": true, "somebot2": true,
		"": false, "awesomebot/1": false, "somebot-images/1": false, "some bot": false, "somebots somebot": true,
	} {
		if got := named(agent, "somebot"); got != want {
			t.Errorf("%q: %v", agent, got)
		}
	}
}

// asked returns an access log. The arguments are times in seconds and targets, in turn.
func asked(at ...any) string {
	var b strings.Builder
	begin := time.Date(2026, 5, 4, 0, 0, 0, 0, time.UTC)
	for i := 0; i < len(at); i += 2 {
		fmt.Fprintf(&b, "192.0.2.1 - - [%s] \"GET %s HTTP/1.1\" 200 1 \"-\" \"bot\"\n", begin.Add(time.Duration(at[i].(int))*time.Second).Format(accessTime), at[i+1])
	}
	return b.String()
}

// Times in an access log have only seconds. A pause is reported as too short only if it was too
// short for every possible fraction of the seconds.
func TestPausesToTheSecond(t *testing.T) {
	const r = "/robots.txt"
	for _, tc := range []struct {
		log   string
		delay time.Duration
		want  []int64 // lines that must be reported as too early
	}{
		{asked(0, r, 0, "/"), time.Second, []int64{2}},
		{asked(0, r, 1, "/"), time.Second, nil},
		{asked(0, r, 1, "/"), 2 * time.Second, []int64{2}},
		{asked(0, r, 1, "/", 2, "/"), 1900 * time.Millisecond, []int64{3}},
		{asked(0, r, 2, "/", 4, "/", 6, "/"), 2 * time.Second, nil},
		{asked(0, r, 9, "/"), 10 * time.Second, []int64{2}},
		{asked(0, r, 10, "/"), 10 * time.Second, nil},
		{asked(0, r, 0, "/"), 500 * time.Millisecond, nil},
		{asked(0, r, 0, "/", 0, "/"), 500 * time.Millisecond, []int64{3}},
		{asked(0, r, 0, "/", 1, "/", 1, "/"), 500 * time.Millisecond, nil},
		{asked(0, r, 0, "/", 0, "/", 0, "/", 0, "/"), 500 * time.Millisecond, []int64{3, 5}},
		// Half a second less than required adds up over several pauses.
		{asked(0, r, 1, "/", 3, "/", 4, "/", 6, "/", 7, "/"), 2 * time.Second, []int64{2, 4, 6}},
		// Apache logs the time at which a request began, but writes the line when it ends.
		{asked(0, r, 20, "/slow", 10, "/quick", 30, "/"), 10 * time.Second, nil},
	} {
		v, err := Visitor{Agent: "bot", Host: "a.example", Delay: tc.delay}.Access("log", strings.NewReader(tc.log))
		if err != nil {
			t.Fatal(err)
		}
		var early []int64
		for _, x := range v.Violations {
			if x.Code == TooEarly {
				early = append(early, x.Lines[0])
			}
		}
		if !slices.Equal(early, tc.want) {
			t.Errorf("%v: lines %v, want %v of\n%s", tc.delay, early, tc.want, tc.log)
		}
	}
}

// Pauses that were kept exactly are counted together with the next ones. A violation names the
// line from which the pauses are counted, and their number.
func TestPausesAreCountedFromTheFirst(t *testing.T) {
	t.Parallel()
	v, err := Visitor{Agent: "bot", Host: "a.example", Delay: 2 * time.Second}.Access("log", strings.NewReader(asked(0, "/robots.txt", 2, "/", 4, "/", 4, "/", 9, "/", 9, "/")))
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for i := range v.Violations {
		got = append(got, fmt.Sprint(v.Violations[i].String(), v.Violations[i].Lines, *v.Violations[i].Pause))
	}
	want := []string{
		"4: gap: a.example/ is the last of 3 requests after line 1 in less than 5s; required are 2s for each (a pause of 2s, as given)[4 1] {own 2 1.6666666666666667}",
		"6: gap: a.example/ came less than 1s after line 5; required are 2s (a pause of 2s, as given)[6 5] {own 2 1}",
	}
	if !slices.Equal(got, want) {
		t.Errorf("%s\nwant %s", strings.Join(got, "\n"), strings.Join(want, "\n"))
	}
}

func TestARobotsFileOfTheDayBefore(t *testing.T) {
	const day = 24 * 60 * 60
	for _, tc := range []struct {
		log          string
		never, stale int64
	}{
		{asked(0, "/", 1, "/"), 2, 0},
		{asked(0, "/", 1, "/robots.txt", 2, "/"), 1, 0},
		{asked(0, "/robots.txt?x", day, "/", day+1, "/", day+2, "/"), 0, 1},
		{asked(0, "/robots.txt", day+2, "/robots.txt", day+3, "/"), 0, 0},
	} {
		v, err := Visitor{Agent: "bot"}.Access("log", strings.NewReader(tc.log))
		if err != nil {
			t.Fatal(err)
		}
		got := map[Code]int64{}
		for _, c := range v.Checks {
			got[c.Code] = c.Violations
		}
		if got[NoRobots] != tc.never || got[StaleRobots] != tc.stale || v.Violated != tc.never+tc.stale {
			t.Errorf("%v of\n%s", got, tc.log)
		}
	}
}

func TestWhatALogSaysOfRatesAndRests(t *testing.T) {
	line := func(host, addr string, at, status int, agent string) string {
		return fmt.Sprintf("%s %s - - [04/May/2026:00:%02d:%02d +0000] \"GET /x HTTP/1.1\" %d 1 \"-\" %q\n", host, addr, at/60, at%60, status, agent)
	}
	log := line("a", "192.0.2.1", 0, 200, "bot/1") + line("a", "192.0.2.2", 0, 429, "bot/2") + line("a", "192.0.2.9", 1, 200, "else") +
		line("a", "192.0.2.1", 3, 200, "bot/1") + line("a", "192.0.2.1", 64, 503, "bot/1") + line("b", "192.0.2.1", 64, 200, "bot/1")
	v, err := Visitor{Agent: "bot"}.Access("log", strings.NewReader(log))
	if err != nil {
		t.Fatal(err)
	}
	a := v.Hosts[0]
	if len(v.Hosts) != 2 || a.Name != "a" || a.Requests != 4 || a.Second != 2 || a.Minute != 3 || a.AtOnce != 2 || a.Rests != 2 || a.Soonest == nil || *a.Soonest != 3 {
		t.Errorf("%+v", v.Hosts)
	}
	if v.Lines != 6 || v.Requests != 5 || !slices.Equal(v.Names, []Count{{"bot/1", 4}, {"bot/2", 1}}) || !slices.Equal(v.Addresses, []Count{{"192.0.2.1", 4}, {"192.0.2.2", 1}}) {
		t.Errorf("%+v", v)
	}
}

// A log with very many hosts and names needs bounded memory. Requests to hosts beyond the limit
// are counted, but not judged together.
func TestManyHostsAreOneFromSomeNumberOn(t *testing.T) {
	var log strings.Builder
	for i := range 3000 {
		fmt.Fprintf(&log, "h%d 192.0.%d.%d - - [04/May/2026:00:00:00 +0000] \"GET /robots.txt HTTP/1.1\" 200 1 \"-\" \"bot %d\"\n", i, i/250, i%250, i)
	}
	v, err := Visitor{Agent: "bot", Delay: time.Minute}.Access("log", strings.NewReader(log.String()))
	if err != nil || v.Violated != 0 || v.Hosts[0].Name != others || v.Hosts[0].Requests != 2000 || v.Hosts[0].AtOnce != 1000 || len(v.Hosts) != 20 {
		t.Errorf("%+v, %v", v, err)
	}
	if rest := (Count{others, 2000}); v.Names[0] != rest || len(v.Names) != 20 || v.Addresses[0] != rest {
		t.Errorf("%+v, %+v", v.Names, v.Addresses)
	}
	if !strings.Contains(strings.Join(v.Remarks, "\n"), "more than 1000 hosts") {
		t.Error(v.Remarks)
	}
}

// Access fails if no line has a known form. If some lines have, the others are counted and
// ignored.
func TestUnreadableLinesAreLeftOut(t *testing.T) {
	for text, line := range map[string]int64{
		"foreign\n": 1, "\nforeign\n": 1, strings.Repeat("x", 9<<20): 1,
	} {
		_, err := Visitor{Agent: "bot"}.Access("log", strings.NewReader(text))
		var bad *LineError
		if !errors.As(err, &bad) || bad.Line != line || bad.File != "log" {
			t.Errorf("%.100q: %v", text, err)
		}
	}
	for text, want := range map[string]string{
		asked(0, "/robots.txt", 5, "/") + "192.0.2.1 - - [04/Ma":                                                           "the last line has no end: it is left out",
		asked(0, "/robots.txt") + "x\n" + asked(5, "/"):                                                                    "1 of 3 lines are in another form and left out, the first of them line 2: it is not in the combined format",
		asked(0, "/robots.txt") + "\n" + asked(5, "/") + "\x00\n":                                                          "2 of 4 lines are in another form and left out, the first of them line 2: it is not",
		strings.Repeat("x", 9<<20) + "\n" + asked(0, "/robots.txt", 5, "/"):                                                "1 of 3 lines are in another form and left out, the first of them line 1: the line is longer",
		asked(0, "/robots.txt") + `192.0.2.1 - - [32/May/2026:00:00:00 +0000] "GET / HTTP/1.1" 1 1` + "\n" + asked(9, "/"): "the first of them line 2: its time is not written as",
	} {
		v, err := Visitor{Agent: "bot", Host: "a.example", Delay: 5 * time.Second}.Access("log", strings.NewReader(text))
		if err != nil || v.Requests != 2 || v.Violated != 0 || !strings.Contains(v.Remarks[0], want) {
			t.Errorf("%.100q: %+v, %v", text, v, err)
		}
	}
}

// The robots.txt of one host is not applied to other hosts, and not to a log without host
// names.
func TestARobotsFileIsThatOfOneHost(t *testing.T) {
	// log returns the log of a polite crawler that visits three hosts, with a pause of 3 s at
	// each.
	log := func(named bool) string {
		var b strings.Builder
		for i := range 60 {
			target := "/x"
			if i < 3 {
				target = "/robots.txt"
			} else if i%3 == 1 {
				target = "/private/x" // forbidden only on the host a
			}
			if named {
				fmt.Fprintf(&b, "%c.example:443 ", 'a'+i%3)
			}
			fmt.Fprintf(&b, "192.0.2.1 - - [04/May/2026:00:00:%02d +0000] \"GET %s HTTP/1.1\" 200 1 \"-\" \"bot\"\n", i, target)
		}
		return b.String()
	}
	rules := robots.Parse([]byte("User-agent: *\nDisallow: /private/\nCrawl-delay: 3\n"), robots.RFC9309)
	const unnamed, whose = "60 requests name no host", "no robots.txt of a host was given"
	for _, tc := range []struct {
		named            bool
		host             string
		delay            time.Duration
		requests, broken int64
		remark           string
	}{
		{true, "a.example", 0, 20, 0, ""},
		{true, "b.example", 0, 20, 19, ""}, // the audit must not apply this robots.txt to b
		{true, "", 0, 60, 0, whose},
		{true, "", 3 * time.Second, 60, 0, whose},
		{true, "", 4 * time.Second, 60, 57, whose},
		{true, "d.example", 0, 0, 0, "those that it names most often: \"a.example\" (20)"},
		{false, "", 0, 60, 0, whose},
		{false, "", 3 * time.Second, 60, 0, unnamed},
		{false, "a.example", 0, 60, 78, ""}, // the audit must not treat all lines as one host
	} {
		v, err := Visitor{Agent: "bot", Host: tc.host, Robots: rules, Delay: tc.delay}.Access("log", strings.NewReader(log(tc.named)))
		if err != nil {
			t.Fatal(err)
		}
		if v.Requests != tc.requests || v.Violated != tc.broken || !strings.Contains(strings.Join(v.Remarks, "\n"), tc.remark) {
			t.Errorf("%+v: %d requests, %d violations, %q", tc, v.Requests, v.Violated, v.Remarks)
		}
	}
}

func TestLogsOfHeritrixAreJudgedToTheMillisecond(t *testing.T) {
	const log = `2026-05-04T00:00:00.120Z     1         60 dns:a.example P http://a.example/ text/dns #001 20260504000000100+20 - - -
2026-05-04T00:00:00.300Z   200         30 http://a.example/robots.txt P http://a.example/ text/plain #001 20260504000000200+100 sha1:X - -
2026-05-04T00:00:03.400Z   200       3000 http://a.example/ - - text/html #001 20260504000003300+100 sha1:X - - {"contentSize":3100}
2026-05-04T00:00:06.400Z   200       3000 http://a.example/1 L http://a.example/ text/html #002 20260504000006300+100 sha1:X - -
2026-05-04T00:00:06.600Z   200       3000 http://a.example/2 L http://a.example/ text/html #003 20260504000006398+202 sha1:X - -
2026-05-04T00:00:06.650Z     0          - http://a.example/zero L http://a.example/ unknown #003 20260504000006640+10 - - -
2026-05-04T00:00:06.660Z   -10          - http://a.example/ten L http://a.example/ unknown #003 20260504000006650+10 - - -
2026-05-04T00:00:06.670Z   -11          - http://a.example/eleven L http://a.example/ unknown #003 20260504000006660+10 - - -
2026-05-04T00:00:06.680Z    -1          - http://a.example/one L http://a.example/ unknown #003 20260504000006670+10 - - -
2026-05-04T00:00:06.700Z -9998          - http://a.example/no L http://a.example/ unknown #003 - - - -
2026-05-04T00:00:09.400Z   200       3000 http://a.example/no/2 L http://a.example/ text/html #002 20260504000009300+100 sha1:X - -
`
	v, err := Visitor{Agent: "heritrix", Host: "a.example", Robots: robots.Parse([]byte("User-agent: *\nDisallow: /no\nCrawl-delay: 3"), robots.RFC9309)}.Heritrix("crawl.log", strings.NewReader(log+"odd\n"))
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for i := range v.Violations {
		got = append(got, v.Violations[i].String())
	}
	want := []string{
		"4: gap: http://a.example/1 began 2.9s after the end of line 3; required are 3s (crawl-delay of robots.txt: 3s)",
		"5: concurrent: http://a.example/2 began 2ms before the end of line 4 (one request at a time)",
		"7: gap: http://a.example/ten began 50ms after the end of line 5; required are 3s (crawl-delay of robots.txt: 3s)",
		"9: gap: http://a.example/one began 10ms after the end of line 7; required are 3s (crawl-delay of robots.txt: 3s)",
		"11: disallowed: http://a.example/no/2 is forbidden by robots.txt (line 2: Disallow: /no)",
		"11: gap: http://a.example/no/2 began 2.62s after the end of line 9; required are 3s (crawl-delay of robots.txt: 3s)",
	}
	if !slices.Equal(got, want) || v.Requests != 7 || v.Unread != 1 {
		t.Errorf("%d requests\n%s", v.Requests, strings.Join(got, "\n"))
	}
	v, err = Visitor{}.Heritrix("crawl.log", strings.NewReader(log))
	if err != nil || checked(v, TooEarly) != 0 || checked(v, Concurrent) != 6 {
		t.Errorf("without a pause: %+v, %v", v, err)
	}
}

// All violations are counted, but only the first 1000 are listed.
func TestTheFirstViolationsAreListed(t *testing.T) {
	rules := robots.Parse([]byte("User-agent: *\nDisallow: /no\n"), robots.RFC9309)
	const line = "192.0.2.1 - - [04/May/2026:00:00:00 +0000] \"GET %s HTTP/1.1\" 200 1 \"-\" \"bot\"\n"
	for _, n := range []int{999, 1000, 1001} {
		log := fmt.Sprintf(line, "/robots.txt") + strings.Repeat(fmt.Sprintf(line, "/no"), n)
		v, err := Visitor{Agent: "bot", Host: "a.example", Robots: rules}.Access("log", strings.NewReader(log))
		if err != nil || v.Violated != int64(n) || len(v.Violations) != min(n, 1000) {
			t.Errorf("%d of %d: %v", len(v.Violations), v.Violated, err)
		}
	}
}

func TestTheMostFrequentAreNamed(t *testing.T) {
	c := counts{"a": 1, "b": 3, "c": 2, "d": 1}
	if got, want := c.most(3), `"b" (3), "c" (2), "a" (1)`; got != want {
		t.Errorf("%s, want %s", got, want)
	}
}

// checked returns how often a rule was checked.
func checked(v *Visited, code Code) int64 {
	return v.Checks[slices.IndexFunc(v.Checks, func(c Check) bool { return c.Code == code })].Checked
}

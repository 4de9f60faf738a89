package robots

import (
	"math"
	"testing"
	"testing/quick"
	"time"
)

// Crawl-delay is a number of seconds. Other values are ignored. A delay is never negative.
func TestParseDelay(t *testing.T) {
	const none = -1
	for value, want := range map[string]time.Duration{
		"0": 0, "5": 5 * time.Second, "0.5": 500 * time.Millisecond, ".5": 500 * time.Millisecond, "5.": 5 * time.Second,
		"10s": 10 * time.Second, "10 s": 10 * time.Second, "10 sec": 10 * time.Second, "10 Seconds": 10 * time.Second,
		"2m": 2 * time.Minute, "2 min": 2 * time.Minute, "1h": time.Hour, "500ms": 500 * time.Millisecond,
		"1,5": 1500 * time.Millisecond, "1,000": 1000 * time.Second, "1,00": time.Second, "1,0000": time.Second, "12,345": 12345 * time.Second, "1e2": 100 * time.Second, "1e": time.Second, "1e-9": 1,
		"10; why": 10 * time.Second, "10 20": 10 * time.Second, "0x10": 0, "1.2.3": 1200 * time.Millisecond,
		"1e308": maxDelay, "1e999": maxDelay, "9999999999": maxDelay, "1e308h": maxDelay,
		"": none, "soon": none, "-3": none, "-0": none, "+5": none, "NaN": none, "Inf": none, "٣": none, ".": none, ",": none, "s": none, ",5": 500 * time.Millisecond,
	} {
		got, ok := parseDelay(value)
		if !ok {
			got = none
		}
		if got != want {
			t.Errorf("%q: %v, want %v", value, got, want)
		}
	}
	for _, name := range []string{"m", "min", "MINS", "minute", "minutes"} {
		if d, ok := parseDelay("2 " + name); !ok || d != 2*time.Minute {
			t.Errorf("%s: %v", name, d)
		}
	}
	for _, name := range []string{"h", "hr", "Hour", "hours"} {
		if d, ok := parseDelay("2" + name); !ok || d != 2*time.Hour {
			t.Errorf("%s: %v", name, d)
		}
	}
	if maxDelay != 876000*time.Hour {
		t.Errorf("a hundred years are %v", maxDelay)
	}
	digits := make([]byte, 400)
	for i := range digits {
		digits[i] = '9'
	}
	if d, ok := parseDelay(string(digits)); !ok || d != maxDelay {
		t.Errorf("400 digits: %v, %v", d, ok)
	}
}

func TestDelaysAreNeverNegative(t *testing.T) {
	if err := quick.Check(func(n, u float64) bool {
		d := seconds(math.Abs(n), math.Abs(u))
		return 0 <= d && d <= maxDelay
	}, nil); err != nil {
		t.Error(err)
	}
}

// If the groups that apply have several delays, the largest counts.
func TestCrawlDelay(t *testing.T) {
	const file = `Crawl-delay: 99
User-agent: *
Crawl-delay: 7
Disallow: /x
User-agent: wrenbot
Crawl-delay: 2
Crawl-delay: soon
Disallow: /a
Crawl-delay: 3.5
User-agent: larkbot
Disallow: /
`
	for agent, want := range map[string]time.Duration{"wrenbot": 3500 * time.Millisecond, "finchbot": 7 * time.Second, "larkbot": -1} {
		d, ok := Parse([]byte(file), RFC9309).Group(agent).CrawlDelay()
		if !ok {
			d = -1
		}
		if d != want {
			t.Errorf("%s: %v, want %v", agent, d, want)
		}
	}
}

// A delay between User-agent lines applies to the names before it. The rules after the delay apply
// to all names of the group.
func TestCrawlDelayInsideAgentList(t *testing.T) {
	f := Parse([]byte("User-agent: wrenbot\nCrawl-delay: 5\nUser-agent: larkbot\nDisallow: /a\n"), RFC9309)
	if d, ok := f.Group("wrenbot").CrawlDelay(); !ok || d != 5*time.Second {
		t.Errorf("wrenbot: %v, %v", d, ok)
	}
	if d, ok := f.Group("larkbot").CrawlDelay(); ok {
		t.Errorf("larkbot: %v", d)
	}
	for _, agent := range []string{"wrenbot", "larkbot"} {
		if v := f.Group(agent).Match("/a"); v.Access != Disallow {
			t.Errorf("%s: %v", agent, v.Access)
		}
	}
}

func TestParseRate(t *testing.T) {
	const none = -1
	for value, want := range map[string]time.Duration{
		"1/5": 5 * time.Second, "1/5s": 5 * time.Second, "12/1m": 5 * time.Second, "30/m": 2 * time.Second, "1/1h": time.Hour,
		"1 / 10": 10 * time.Second, "1/10s 0600-0845": 10 * time.Second, "2/1": 500 * time.Millisecond, "1/1e308": maxDelay, "1e-300/9": maxDelay,
		"0/0": none, "1/0": none, "0/5": none, "1": none, "/5": none, "1/": none, "-1/5": none, "1/-5": none, "a/b": none, "": none,
	} {
		got, ok := parseRate(value)
		if !ok {
			got = none
		}
		if got != want {
			t.Errorf("%q: %v, want %v", value, got, want)
		}
	}
	g := Parse([]byte("User-agent: *\nRequest-rate: 1/5\nRequest-rate: 1/20 0000-0600\nRequest-rate: x\nDisallow:\n"), RFC9309).Group("wrenbot")
	if gap, ok := g.RequestRate(); !ok || gap != 20*time.Second {
		t.Errorf("%v, %v", gap, ok)
	}
}

func TestVisitTime(t *testing.T) {
	for value, want := range map[string]Window{
		"0600-0845": {360, 525}, "06:00 - 8:45": {360, 525}, "2300-0100": {1380, 60}, "0000-2400": {0, 1440},
	} {
		if got, ok := parseWindow(value); !ok || got != want {
			t.Errorf("%q: %v, %v", value, got, ok)
		}
	}
	for _, value := range []string{"", "9999-0000", "0600", "0600-", "-0600", "600-845", "0660-0700", "2401-0000", "a-b"} {
		if got, ok := parseWindow(value); ok {
			t.Errorf("%q: %v", value, got)
		}
	}

	clock := func(day, hour, minute int) time.Time {
		return time.Date(2026, 3, day, hour, minute, 0, 0, time.UTC)
	}
	g := Parse([]byte("User-agent: *\nVisit-time: 0600-0845\nVisit-time: 2300-0100\nDisallow:\n"), RFC9309).Group("wrenbot")
	if w, ok := g.VisitTime(); !ok || len(w) != 2 {
		t.Errorf("%v, %v", w, ok)
	}
	for _, c := range []struct{ now, want time.Time }{
		{clock(1, 6, 0), clock(1, 6, 0)},
		{clock(1, 8, 45), clock(1, 8, 45)},
		{clock(1, 8, 46), clock(1, 23, 0)},
		{clock(1, 23, 30), clock(1, 23, 30)},
		{clock(2, 0, 59), clock(2, 0, 59)},
		{clock(2, 1, 1), clock(2, 6, 0)},
		{clock(31, 9, 0), clock(31, 23, 0)},
	} {
		if got := g.NextVisit(c.now); !got.Equal(c.want) {
			t.Errorf("%v: %v, want %v", c.now, got, c.want)
		}
		// The time zone of now does not change the result.
		if got := g.NextVisit(c.now.In(time.FixedZone("", 9*3600))); !got.Equal(c.want) {
			t.Errorf("%v in another zone: %v, want %v", c.now, got, c.want)
		}
	}
	if now := clock(1, 9, 0); !Parse(nil, RFC9309).Group("wrenbot").NextVisit(now).Equal(now) {
		t.Error("without a window every time is good")
	}
}

// A file without Crawl-delay, Request-rate and Visit-time sets no delay, rate or visit time.
func TestFilesWithoutDelays(t *testing.T) {
	g := Parse([]byte("User-agent: *\nDisallow: /x\nVisit-time: never\nCrawl-delay: soon\nRequest-rate: often\n"), RFC9309).Group("wrenbot")
	if w, ok := g.VisitTime(); ok || len(w) != 0 {
		t.Errorf("%v", w)
	}
	if d, ok := g.CrawlDelay(); ok || d != 0 {
		t.Errorf("%v", d)
	}
	if d, ok := g.RequestRate(); ok || d != 0 {
		t.Errorf("%v", d)
	}
}

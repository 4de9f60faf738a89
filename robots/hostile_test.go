package robots

import (
	"fmt"
	"runtime"
	"strings"
	"testing"
)

// Hostile files are inputs on which other parsers need seconds or gigabytes, recurse without end,
// or panic. The tests bound the numbers of compiled rules and of allocations, not the time.

// fill repeats s until the text has the size of the largest file that is read.
func fill(s string) string { return strings.Repeat(s, MaxBytes/len(s)) }

func hostileFiles() map[string]string {
	groups, rules := strings.Builder{}, strings.Builder{}
	for i := 0; groups.Len() < MaxBytes; i++ {
		fmt.Fprintf(&groups, "User-agent: b%d\nDisallow: /\n", i)
	}
	for i := 0; rules.Len() < MaxBytes; i++ {
		fmt.Fprintf(&rules, "Disallow: /*a*%d*b$\n", i)
	}
	nested := strings.Builder{}
	for i := 1; nested.Len() < MaxBytes; i++ {
		nested.WriteString("Disallow: /" + strings.Repeat("a", i) + "\n")
	}
	return map[string]string{
		"one literal line":          "User-agent: *\nDisallow: /" + fill("x"),
		"one line of *a":            "User-agent: *\nDisallow: /" + fill("*a"),
		"one line of *":             "User-agent: *\nDisallow: /" + fill("*"),
		"many rules":                "User-agent: *\n" + fill("Disallow: /a\n"),
		"many shortest rules":       "User-agent: *\n" + fill("allow:/\n"),
		"allow and disallow twins":  "User-agent: *\n" + fill("Allow: /a\nDisallow: /a\n"),
		"many groups":               groups.String(),
		"many agents of one group":  fill("User-agent: wren\n") + "Disallow: /",
		"many wildcard rules":       "User-agent: *\n" + rules.String(),
		"one wildcard rule, often":  fill("User-agent: *\nDisallow: /*a*a*b$\n"),
		"rules that begin another":  "User-agent: *\n" + nested.String(),
		"newlines":                  fill("\n"),
		"carriage returns":          fill("\r"),
		"mixed line ends":           fill("\n\r"),
		"one comment":               fill("#"),
		"comments only":             fill("#\n"),
		"NUL":                       fill("\x00"),
		"NUL lines":                 "User-agent: *\n" + fill("\x00\n"),
		"0xFF":                      "User-agent: *\nDisallow: /" + fill("\xFF"),
		"colons":                    fill(":\n"),
		"one line of colons":        fill(":"),
		"HTML":                      fill("<p>a: b</p>\n"),
		"percent signs":             "User-agent: *\n" + fill("Disallow: /"+strings.Repeat("%", 1000)+"\n"),
		"Latin-1 rules":             "User-agent: *\n" + fill("Disallow: /\xE9\xE8\n"),
		"queries to unescape":       "User-agent: *\n" + fill("Disallow: /?%3A%3A\n"),
		"dot segments":              "User-agent: *\n" + fill("Disallow: /a/../b\n"),
		"delays":                    "User-agent: *\n" + fill("Crawl-delay: 1e308\n"),
		"windows":                   "User-agent: *\n" + fill("Visit-time: 0600-0700\n"),
		"sitemaps":                  fill("Sitemap: https://robots.test/s\n"),
		"one sitemap":               "Sitemap: https://" + fill("s"),
		"usage":                     "User-agent: *\n" + fill("Content-Usage: train-ai=n\n"),
		"a name of a megabyte":      "User-agent: " + fill("w") + "\nDisallow: /",
		"blanks":                    fill(" "),
		"blank lines and rules":     fill("User-agent: *\nDisallow: /\n \n"),
		"UTF-16":                    "\xFF\xFE" + fill("a\x00\n\x00"),
		"UTF-16 surrogates":         "\xFE\xFF" + fill("\xD8\x00"),
		"byte order marks":          fill("\xEF\xBB\xBF"),
		"stars after the file's $":  "User-agent: *\n" + fill("Disallow: $*$*$\n"),
		"misspelt keys":             fill("Disalowed-and-on: /a\n"),
		"two words without a colon": fill("Disallow /a\n"),
	}
}

// Parse, Group, Match and Problems never panic. They need at most a small multiple of the size of
// the file as memory.
func TestHostileFiles(t *testing.T) {
	targets := []string{
		"/", "/a", "/?" + strings.Repeat("%3A", 1000), "/" + strings.Repeat("a", 8000) + "b", strings.Repeat("/..", 3000), strings.Repeat("/%2e%2E", 1000),
		strings.Repeat("%", 5000), "/\x00", "//host/path", "/a\\b", "?", "", "*", "/" + strings.Repeat("*", 5000), "/\xFF\xFE", "/%00%0A",
	}
	for name, body := range hostileFiles() {
		for _, d := range []Dialect{RFC9309, Google, Koster1996} {
			b := []byte(body)
			var before, after runtime.MemStats
			runtime.ReadMemStats(&before)
			f := Parse(b, d)
			g := f.Group("wren", "lark")
			runtime.ReadMemStats(&after)
			// The eight octets of "allow:/\n" need about 200 octets of tables.
			if spent := after.TotalAlloc - before.TotalAlloc; spent > 50*MaxBytes {
				t.Errorf("%s, %v: %d bytes allocated for %d", name, d, spent, len(body))
			}
			if n := after.Mallocs - before.Mallocs; n > 200 {
				t.Errorf("%s, %v: %d allocations", name, d, n)
			}
			if len(f.entries) > len(body)/6+1 {
				t.Errorf("%s, %v: %d entries", name, d, len(f.entries))
			}
			if n := len(g.rules.segments); n > len(body) {
				t.Errorf("%s, %v: %d segments", name, d, n)
			}
			for _, target := range targets {
				if v := g.Match(target); v.Access == Defer {
					t.Errorf("%s, %v, %.20q: deferred", name, d, target)
				}
			}
			if d == RFC9309 {
				if p := f.Problems(); len(p) > maxProblems {
					t.Errorf("%s: %d problems", name, len(p))
				}
				f.Sitemaps()
				g.Names()
				g.statements("/a")
				g.NextVisit(noon)
			}
		}
	}
}

// A rule that a file repeats a hundred thousand times is compiled once.
func TestHostileDuplicates(t *testing.T) {
	g := Parse([]byte("User-agent: *\n"+fill("Allow: /a\nDisallow: /a\n")), RFC9309).Group("wren")
	if n := len(g.rules.literals); n != 2 {
		t.Errorf("%d literals", n)
	}
	if v := g.Match("/a"); v.Access != Allow || v.Rule.Line != 2 {
		t.Errorf("%+v", v)
	}
}

// Several stars in a row are one star. So the number of segments between stars bounds the work of
// a match: each segment is searched for once, from the end of the previous segment.
func TestHostileStars(t *testing.T) {
	for _, c := range []struct {
		pattern  string
		segments int
		target   string
		access   Access
	}{
		{"/" + strings.Repeat("*", 8000) + "x$", 2, "/" + strings.Repeat("a", 8000) + "x", Disallow},
		{"/" + strings.Repeat("*", 8000) + "x$", 2, "/" + strings.Repeat("x", 8000) + "a", Allow},
		{"/" + strings.Repeat("*a", 25) + "$", 26, "/" + strings.Repeat("a", 2000) + "b", Allow},
		{"/" + strings.Repeat("*a", 2000) + "$", 2001, "/" + strings.Repeat("a", 8000) + "b", Allow},
		{"/" + strings.Repeat("*a", 2000) + "$", 2001, "/" + strings.Repeat("a", 8000), Disallow},
		{"/" + strings.Repeat("*a", 2000), 2001, "/" + strings.Repeat("a", 1999), Allow},
		{"*", 2, "/", Disallow},
		{"**$", 2, "/a", Disallow},
		{"$*", 2, "/", Allow},
		{"/$$", 1, "/$", Disallow},
		{"/*$*$", 3, "/a$b", Disallow},
	} {
		g := Parse([]byte("User-agent: *\nDisallow: "+c.pattern+"\n"), RFC9309).Group("wren")
		if n := len(g.rules.segments); n != c.segments {
			t.Errorf("%.20q: %d segments, want %d", c.pattern, n, c.segments)
		}
		if v := g.Match(c.target); v.Access != c.access {
			t.Errorf("%.20q on %.20q: %v", c.pattern, c.target, v.Access)
		}
	}
}

// A match does not allocate, for any rules, and for targets in normal form or not.
func TestMatchDoesNotAllocate(t *testing.T) {
	bodies := map[string]string{}
	for _, c := range benchCases(t) {
		bodies[c.name] = c.body
	}
	for _, name := range []string{"many wildcard rules", "rules that begin another", "one line of *a"} {
		bodies[name] = hostileFiles()[name]
	}
	for name, body := range bodies {
		g := Parse([]byte(body), RFC9309).Group("wrenbot")
		for _, target := range []string{"/", "/a/b?c=d", "/caf%C3%A9/%7Ea?u=http%3A%2F%2Fx&y=*", "/a/../b/%2e%2e/c?%zz", "/" + strings.Repeat("é", 200), "/" + strings.Repeat("a", 5000)} {
			if n := testing.AllocsPerRun(10, func() { g.Match(target) }); n != 0 {
				t.Errorf("%s: %.30q: %v allocations", name, target, n)
			}
		}
	}
	// A normal form that does not fit on the stack needs one allocation. The second form of a
	// query needs another one.
	long := "/" + strings.Repeat("%41", 5000) + "?" + strings.Repeat("%3A", 100)
	g := Parse([]byte(closedA), RFC9309).Group("wrenbot")
	if n := testing.AllocsPerRun(10, func() { g.Match(long) }); n > 2 {
		t.Errorf("%v allocations for a target of %d bytes", n, len(long))
	}
}

// The rules of other crawlers increase neither the number of allocations nor the size of a group.
func TestOtherCrawlersCostNothing(t *testing.T) {
	file := func(others int) []byte {
		var b strings.Builder
		b.WriteString("User-agent: wrenbot\nDisallow: /a\nDisallow: /b*c\n")
		for i := range others {
			fmt.Fprintf(&b, "User-agent: other%c\nDisallow: /x%d\nAllow: /*y%d$\nCrawl-delay: 1\n", 'a'+i%26, i, i)
		}
		return []byte(b.String())
	}
	few, many := file(1), file(3000)
	count := func(body []byte) float64 {
		return testing.AllocsPerRun(10, func() { Parse(body, RFC9309).Group("wrenbot") })
	}
	if f, m := count(few), count(many); m > f {
		t.Errorf("%v allocations with few others, %v with many", f, m)
	}
	g := Parse(many, RFC9309).Group("wrenbot")
	if n := len(g.rules.literals) + len(g.rules.wilds); n != 2 {
		t.Errorf("%d rules", n)
	}
}

package robots

import (
	"bytes"
	"errors"
	"slices"
	"strings"
	"testing"
	"unicode/utf8"
)

// addSeeds calls add with the vectors and the smaller hostile files.
func addSeeds(f *testing.F, add func(body []byte, target string, d Dialect)) {
	seen := map[string]bool{}
	for _, v := range readVectors(f) {
		d, _ := ParseDialect(v.Dialect)
		target, _ := Target(v.URL)
		if body := v.body(f); len(body) < 1000 && !seen[string(body)] {
			seen[string(body)] = true
			add(body, target, d)
		}
	}
	for _, body := range hostileFiles() {
		add([]byte(body[:min(len(body), 300)]), "/a", RFC9309)
	}
}

// No input causes a panic, and the results for a file are consistent.
func FuzzParse(f *testing.F) {
	addSeeds(f, func(body []byte, target string, d Dialect) { f.Add(body, uint8(d)) })
	f.Fuzz(func(t *testing.T, body []byte, dialect uint8) {
		d := Dialect(dialect % 3)
		file := ParseFor("https://robots.test/robots.txt", body, d)
		last := int32(0)
		for i := range file.entries {
			e := &file.entries[i]
			if e.line < last || e.start > e.end || int(e.end) > len(file.text) || strings.ContainsAny(file.value(e), "\r\n\x00#") {
				t.Fatalf("entry %+v", *e)
			}
			last = e.line
		}
		for _, p := range file.Problems() {
			checkProblem(t, p)
		}
		file.Sitemaps()
		file.cleanParams()
		for _, token := range []string{"wren", "lark", ""} {
			g := file.Group(token, "finch")
			if delay, ok := g.CrawlDelay(); delay < 0 || delay > maxDelay || !ok && delay != 0 {
				t.Fatalf("delay %v", delay)
			}
			if gap, _ := g.RequestRate(); gap < 0 || gap > maxDelay {
				t.Fatalf("gap %v", gap)
			}
			if next := g.NextVisit(noon); next.Before(noon) || next.After(noon.AddDate(0, 0, 1)) {
				t.Fatalf("next visit %v", next)
			}
			if (g.Line() == 0) != (len(g.Names()) == 0) {
				t.Fatalf("line %d, names %q", g.Line(), g.Names())
			}
			g.statements("/a")
			g.noindex()
			for i := range g.rules.literals {
				l := &g.rules.literals[i]
				if l.up >= int32(i) || l.best < l.rank || i > 0 && g.rules.literals[i-1].text > l.text {
					t.Fatalf("literal %d: %+v", i, *l)
				}
			}
		}
	})
}

// The package gives the same verdicts, with the same line numbers, as the model.
func FuzzMatch(f *testing.F) {
	addSeeds(f, func(body []byte, target string, d Dialect) { f.Add(body, target, uint8(d)) })
	f.Fuzz(func(t *testing.T, body []byte, target string, dialect uint8) {
		d := Dialect(dialect % 3)
		// The model has no limits, byte order marks or absolute URLs, so such inputs are skipped.
		if len(body) > maxLine || len(body)*len(target) > 100000 || len(body) > 0 && bytes.IndexByte([]byte("\xEF\xFE\xFF"), body[0]) >= 0 || bytes.Contains(body, []byte("://")) {
			return
		}
		file := Parse(body, d)
		for _, token := range []string{"wren", "lark"} {
			g := file.Group(token)
			if !strings.HasPrefix(target, "/") {
				if v := g.Match(target); v.Access != Disallow || v.Reason != NoTarget {
					t.Fatalf("%v, target %q: %v, %v", d, target, v.Access, v.Reason)
				}
				target = "/" + target
			}
			access, line := modelMatch(d, string(body), token, target)
			v := g.Match(target)
			if slices.ContainsFunc(file.entries, func(e entry) bool { return e.flags&joinedLine != 0 }) && v.Access == Disallow {
				continue // the model ignores joined records, which can only disallow
			}
			if v.Access != access || v.Rule.Line != line {
				t.Fatalf("%v, %s, target %q: %v of line %d, the model says %v of line %d, in\n%q", d, token, target, v.Access, v.Rule.Line, access, line, body)
			}
		}
	})
}

// Locate returns an error, or the URL of a /robots.txt at the top of a site. For this URL it
// returns the same URL.
func FuzzLocate(f *testing.F) {
	for _, s := range []string{"https://example.com/a?b#c", "HTTP://user@EX.com:080/", "ftp://[::1]:21/x", "//x", "https://exämple.com.", "https://a%20b/", "https://a:b:c/", ""} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, rawURL string) {
		got, err := Locate(rawURL)
		if err != nil {
			var e *URLError
			if !errors.As(err, &e) || got != "" || e.Want == "" {
				t.Fatalf("%q: %q, %v", rawURL, got, err)
			}
			return
		}
		if !strings.HasSuffix(got, "/robots.txt") || strings.ContainsAny(got, " ?#@\\\r\n\t") || strings.Count(got, "/") != 3 {
			t.Fatalf("%q: %q", rawURL, got)
		}
		if again, err := Locate(got); err != nil || again != got {
			t.Fatalf("%q: %q, then %q, %v", rawURL, got, again, err)
		}
		if target, err := Target(got); err != nil || target != "/robots.txt" {
			t.Fatalf("%q: %q has target %q, %v", rawURL, got, target, err)
		}
	})
}

// Target returns an error, or a path and query that is a part of the URL.
func FuzzTarget(f *testing.F) {
	for _, s := range []string{"https://example.com/a?b#c", "https://example.com?q", "//x/y", "/a", "x", "https://h;p", "/100%zz", ""} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, rawURL string) {
		got, err := Target(rawURL)
		if err != nil {
			var e *URLError
			if !errors.As(err, &e) || got != "" {
				t.Fatalf("%q: %q, %v", rawURL, got, err)
			}
			return
		}
		if !strings.HasPrefix(got, "/") || strings.Contains(got, "#") || got != "/" && !strings.Contains(rawURL, got[1:]) {
			t.Fatalf("%q: %q", rawURL, got)
		}
	})
}

// Parsing the result of String gives the same directives, and Merge is idempotent.
func FuzzDirectives(f *testing.F) {
	for _, s := range []string{"noindex, nofollow", "wren: noindex, lark: none", "unavailable_after: Wed, 25 Jun 2025 15:00:00 GMT, noai", "max-snippet:-1", ": , :", "2006-01-02"} {
		f.Add(s, "wren")
	}
	f.Fuzz(func(t *testing.T, value, token string) {
		for _, d := range []Directives{HeaderDirectives(token, []string{value}), MetaDirectives(token, "robots", value)} {
			if d.Merge(d) != d || d.Merge(Directives{}) != d || (Directives{}).Merge(d) != d {
				t.Fatalf("%q: %v", value, d)
			}
			if d.UnavailableAfter.Year() > 9999 || d.UnavailableAfter.Year() < 0 {
				continue // this directive has no text form
			}
			if again := MetaDirectives("", "robots", d.String()); again.String() != d.String() {
				t.Fatalf("%q: %q is read as %q", value, d, again)
			}
		}
	})
}

// Parsing preferences never panics. Parsing the text of preferences gives the same preferences.
func FuzzPreferences(f *testing.F) {
	for _, s := range []string{"train-ai=n, search=y", "a=(1 2);x", `a="\"", b=:YQ==:`, "/p search=yes", "a=?0", `a=%"%c3"`} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, value string) {
		p := headerPreferences([]string{value})
		if again := headerPreferences([]string{p.String()}); again.String() != p.String() {
			t.Fatalf("%q: %q is read as %q", value, p, again)
		}
		for _, s := range parseSignal(value, 1) {
			if s.Use == "" || !utf8.ValidString(value) && s.Line != 1 {
				t.Fatalf("%q: %+v", value, s)
			}
		}
		ParseFor("https://robots.test/", []byte("User-agent: *\nContent-Usage: "+value+"\nContent-Signal: "+value), RFC9309).Group("wren").statements("/p")
	})
}

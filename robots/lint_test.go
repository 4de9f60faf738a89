package robots

import (
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// Each file of testdata/lint contains a robots.txt, a line with "--", and the expected problems.
// Each problem is one line: line:column code.
func TestProblems(t *testing.T) {
	names, err := filepath.Glob("testdata/lint/*.txt")
	if err != nil || len(names) == 0 {
		t.Fatal(err, names)
	}
	found := map[string]bool{}
	for _, name := range names {
		b, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		file, want, _ := strings.Cut(string(b), "\n--\n")
		var got strings.Builder
		for _, p := range Parse([]byte(file+"\n"), RFC9309).Problems() {
			fmt.Fprintf(&got, "%d:%d %s\n", p.Line, p.Column, p.Code)
			found[p.Code] = true
			checkProblem(t, p)
		}
		if got.String() != want {
			t.Errorf("%s:\n%swant\n%s", name, got.String(), want)
		}
	}
	for _, c := range []struct{ code, file string }{
		{"file-too-long", strings.Repeat("#\n", MaxBytes)},
		{"line-too-long", "User-agent: *\nDisallow: /" + strings.Repeat("x", maxLine)},
		{"nul-byte", "User-agent: *\nDisallow: /\x00"},
		{"stray-mark", "User-agent: *\n\xEF\xBB\xBFDisallow: /"},
		{"utf16", "\xFF\xFEU\x00"},
		{"not-utf8", "User-agent: *\nDisallow: /caf\xE9"},
		{"html", "<!DOCTYPE html>\n<title>404</title>"},
	} {
		has := false
		for _, p := range Parse([]byte(c.file), RFC9309).Problems() {
			has = has || p.Code == c.code
			found[p.Code] = true
			checkProblem(t, p)
		}
		if !has {
			t.Errorf("%s is not reported", c.code)
		}
	}
	// The files together have every code of the documentation, and no other code.
	src, err := os.ReadFile("lint.go")
	if err != nil {
		t.Fatal(err)
	}
	documented := map[string]bool{}
	for _, m := range regexp.MustCompile(`(?m)^//\t([a-z0-9-]+) +[^ ]`).FindAllStringSubmatch(string(src), -1) {
		documented[m[1]] = true
		if !found[m[1]] {
			t.Errorf("code %s is documented and never found", m[1])
		}
	}
	for code := range found {
		if !documented[code] {
			t.Errorf("code %s is not documented", code)
		}
	}
}

// Groups with the same name are combined. A hint about one group must be right for all of them.
func TestLintLooksAtMergedGroups(t *testing.T) {
	const file = "User-agent: a\nDisallow: /x\nDisallow: /x/y/z\nUser-agent: a\nAllow: /x/y\n"
	for _, p := range Parse([]byte(file), RFC9309).Problems() {
		if p.Code == "redundant" {
			t.Errorf("%v", p)
		}
	}
}

// The problems do not depend on the dialect.
func TestLintIsAboutTheRFC(t *testing.T) {
	for _, file := range []string{
		"User-agent: *\nDisallow: x\n", strings.Repeat("#\n", MaxBytes), "\xFF\xFEU\x00",
	} {
		want := fmt.Sprint(Parse([]byte(file), RFC9309).Problems())
		for _, d := range []Dialect{Google, Koster1996} {
			if got := fmt.Sprint(Parse([]byte(file), d).Problems()); got != want {
				t.Errorf("%.20q in dialect %v: %s, want %s", file, d, got, want)
			}
		}
	}
}

func checkProblem(t *testing.T, p Problem) {
	t.Helper()
	if p.Line < 1 || p.Column < 1 || p.Code == "" || p.Message == "" || len(p.Message) > 300 || strings.ContainsAny(p.Message+p.Hint, "\n\x00") {
		t.Errorf("%+v", p)
	}
}

// A good file has no problems.
func TestNoProblems(t *testing.T) {
	const file = `# a good file
User-agent: *
Disallow: /private/
Allow: /private/open/
Disallow: /*?sort=
Disallow: /*.pdf$
Disallow: /caf%C3%A9
Crawl-delay: 2

User-agent: wrenbot
User-agent: lark-bot
Disallow:
Content-Usage: /art/ train-ai=n

Sitemap: https://robots.test/sitemap.xml
`
	if p := Parse([]byte(file), RFC9309).Problems(); len(p) != 0 {
		t.Errorf("%v", p)
	}
}

// A rule is not redundant if a third rule can decide between it and the shorter rule.
func TestRedundantIsCautious(t *testing.T) {
	for _, file := range []string{
		"User-agent: *\nDisallow: /a\nAllow: /a/b\nDisallow: /a/b/c\n",
		"User-agent: *\nDisallow: /a\nAllow: /*.html\nDisallow: /a/b/c/d/e\n",
		"User-agent: *\nDisallow: /a$\nDisallow: /a\nDisallow: /a/*/b\n",
	} {
		for _, p := range Parse([]byte(file), RFC9309).Problems() {
			t.Errorf("%v in\n%s", p, file)
		}
	}
}

// The number of problems is bounded for any file.
func TestProblemsAreBounded(t *testing.T) {
	for _, line := range []string{"rubbish\n", "x: y\n", "Disallow: /a**b$c\n", "User-agent: a/1\nDisallow: a b\n", "Crawl-delay: x\n"} {
		if n := len(Parse([]byte("User-agent: *\n"+strings.Repeat(line, 3000)), RFC9309).Problems()); n > maxProblems {
			t.Errorf("%q: %d problems", line, n)
		}
	}
}

// The hint for a bad name depends on the character after the token.
func TestHintsOfNames(t *testing.T) {
	for value, want := range map[string]string{
		"MJ12bot":      "look up the product token in the crawler's documentation",
		"wrenbot.news": "look up the product token in the crawler's documentation",
		"wrenbot/1.0":  "write wrenbot alone",
		"wrenbot news": "write wrenbot alone",
	} {
		p := Parse([]byte("User-agent: "+value+"\nDisallow: /\n"), RFC9309).Problems()
		if len(p) != 1 || p[0].Code != "bad-agent" || p[0].Hint != want {
			t.Errorf("%s: %v, want %q", value, p, want)
		}
	}
}

// distance counts octets that were inserted, deleted, replaced or swapped.
func TestDistance(t *testing.T) {
	for _, c := range []struct {
		a, b string
		want int
	}{
		{"", "", 0}, {"abc", "abc", 0}, {"", "abc", 3}, {"abc", "", 3}, {"abc", "ac", 1}, {"ac", "abc", 1}, {"abc", "axc", 1},
		{"ab", "ba", 1}, {"abcd", "acbd", 1}, {"ab", "ca", 2}, {"ab", "bc", 2}, {"abcd", "badc", 2}, {"ca", "abc", 3},
		{"kitten", "sitting", 3}, {"dialsow", "disallow", 2}, {"aaab", "baaa", 2},
	} {
		if got := distance(c.a, c.b); got != c.want {
			t.Errorf("%q, %q: %d, want %d", c.a, c.b, got, c.want)
		}
	}
}

package robots

import (
	"fmt"
	"strings"
	"testing"
)

// Differences returns the rules that another dialect reads differently, here as dialect and
// line:column.
func TestDifferences(t *testing.T) {
	for _, c := range []struct{ file, want string }{
		{"User-agent: *\nDisallow: /\nAllow: /public/\n", "koster1996 3:8"},
		{"User-agent: *\nAllow: /public/\nDisallow: /\n", ""},
		{"User-agent: *\nAllow: /\nDisallow: /a\n", "koster1996 3:11"},
		{"User-agent: *\nDisallow: /*.pdf$\nDisallow: /a\n", "koster1996 2:11"},
		{"User-agent: *\nDisallow: /a\n\nDisallow: /b\n", "koster1996 4:11"},
		{"User-agent: *\nDisallow: /a\n\nUser-agent: *\n Disallow:  /b\n", "koster1996 5:13"},
		{"User-agent: *\nDissallow: /a\ndsallow: /b\n", "google 3:10, koster1996 2:12, koster1996 3:10"},
		{"User-agent: *\nDisallow: /a?b\n", "koster1996 2:11"},
		{"User-agent: *\nDisallow: /%7Ejoe\n", "google 2:11"},
		{"User-agent: *\nDisallow: /\nAllow: /a/index.html\n", "google 3:8, koster1996 3:8"},
		{"User-agent: *\nDisallow: /a b\n", "google 2:11"},
		{"User-agent: *\nDisallow: /\n\nUser-agent: wren\nDisallow: /w\nUser-agent: wren\nDisallow: /x\n", "koster1996 7:11"},
		{"User-agent: * Disallow: /", "google 1:25, koster1996 1:25"},
		{"User-agent: *\nDisallow: x\nAllow:\n", "google 2:11, koster1996 2:11"},
		{"\xFF\xFEU\x00", ""},
		{"", ""},
	} {
		var got []string
		for _, d := range []Dialect{RFC9309, Google, Koster1996} {
			for _, p := range Parse([]byte(c.file), Koster1996).Differences(d) {
				got = append(got, fmt.Sprintf("%v %d:%d", d, p.Line, p.Column))
				checkProblem(t, p)
				if p.Code != "read-otherwise" || p.Hint == "" {
					t.Errorf("%+v", p)
				}
			}
		}
		if strings.Join(got, ", ") != c.want {
			t.Errorf("%q: %s, want %s", c.file, strings.Join(got, ", "), c.want)
		}
	}
	p := Parse([]byte("User-agent: *\nDisallow: /\nAllow: /public/\n"), RFC9309).Differences(Koster1996)[0]
	if want := "koster1996: /public/ is disallowed (line 2), by RFC 9309 it is allowed (line 3)"; p.Message != want {
		t.Errorf("%q, want %q", p.Message, want)
	}
}

// Differences parses the file in both dialects with the site of the file.
func TestDifferencesKnowTheSite(t *testing.T) {
	const file = "User-agent: *\nDisallow: https://robots.test/\n"
	if list := ParseFor("https://robots.test/robots.txt", []byte(file), RFC9309).Differences(Google); len(list) != 1 {
		t.Errorf("its own URL: %v", list)
	}
	if list := ParseFor("https://other.test/robots.txt", []byte(file), RFC9309).Differences(Google); len(list) != 0 {
		t.Errorf("another site's URL: %v", list)
	}
}

// The work of Differences is bounded for any file.
func TestDifferencesAreBounded(t *testing.T) {
	var b strings.Builder
	for i := range 5000 {
		fmt.Fprintf(&b, "User-agent: %s\nAllow: /\nDisallow: /%d\n", strings.Repeat("a", i%500+1), i)
	}
	if n := len(Parse([]byte(b.String()), RFC9309).Differences(Koster1996)); n == 0 || n > maxProblems {
		t.Errorf("%d differences", n)
	}
}

// tokens returns each name of the file once, and one name that the file does not have.
func TestReadersOfDifferences(t *testing.T) {
	f := Parse([]byte("User-agent: Wren/1\nUser-agent: *\nUser-agent: lark\nAllow: finch\nUser-agent: wren\nSitemap: heron\nUser-agent: 7\n"), RFC9309)
	if got := strings.Join(f.tokens(), " "); got != unnamedToken+" wren lark" {
		t.Errorf("%q", got)
	}
	var b strings.Builder
	for i := range 2 * maxReaders {
		fmt.Fprintf(&b, "User-agent: %s\n", strings.Repeat("a", i+1))
	}
	if n := len(Parse([]byte(b.String()), RFC9309).tokens()); n != maxReaders {
		t.Errorf("%d readers", n)
	}
}

package robots

import (
	"strings"
	"testing"
)

// House: a Disallow in the value of another record counts. Such a line has lost line ends, and an
// unclear line blocks more.
func TestHouseLinesJoined(t *testing.T) {
	asks(t, RFC9309, "User-agent: * Disallow: /", "wrenbot", "/ disallow 1 \n /a disallow 1 \n /robots.txt allow")
	for _, file := range []string{
		"User-agent: * Disallow: /a Disallow: /b Allow: /a/c Crawl-delay: 2",
		"User-agent: *Disallow: /aDisallow: /bAllow: /a/c",
		"user-agent:*\tDISALLOW :/a disallow:/b sitemap: https://robots.test/s.xml",
		"Sitemap: https://robots.test/s.xml User-agent: * Disallow: /a Disallow: /b",
		"User-agent: larkbot Disallow: / User-agent: * Disallow: /a Disallow: /b User-agent: finchbot Disallow: /",
		"User-agent: wrenbot Disallow: /a Disallow: /b User-agent: * Disallow: /",
		"User-agent: larkbot User-agent: wrenbot Disallow: /a Disallow: /b",
		"User-agent: larkbot\nUser-agent: wrenbot Disallow: /a\nDisallow: /b",
		"User-agent: wrenbot\nUser-agent: larkbot Disallow: /a\nDisallow: /b",
	} {
		asks(t, RFC9309, file, "wrenbot", "/a disallow \n /b disallow \n /a/c disallow \n /c allow \n / allow")
	}
	g := Parse([]byte("User-agent: * Crawl-delay: 7 Disallow: /a"), RFC9309).Group("wrenbot")
	if d, ok := g.CrawlDelay(); !ok || d.Seconds() != 7 {
		t.Errorf("delay %v, %v", d, ok)
	}
	if g.Line() != 1 || strings.Join(g.Names(), "|") != "*" {
		t.Errorf("line %d, names %q", g.Line(), g.Names())
	}
}

// House: a joined record only adds rules. It does not remove a crawler from the "*" groups,
// does not end a list of User-agent lines, and allows nothing.
func TestHouseLinesJoinedOnlyAdd(t *testing.T) {
	// A crawler that is named only in a joined record has no group of its own.
	asks(t, RFC9309, "User-agent: larkbot Disallow: /x User-agent: wrenbot Disallow: /y\nUser-agent: *\nDisallow: /z\n", "wrenbot",
		"/x allow \n /y disallow \n /z disallow")
	asks(t, RFC9309, "User-agent: wrenbotDisallow: /y\nUser-agent: *\nDisallow: /z\n", "wrenbot", "/y disallow \n /z disallow")
	// A crawler with its own group does not get the rules of the "*" group.
	asks(t, RFC9309, "User-agent: wrenbot\nDisallow: /x\nUser-agent: * Disallow: /z\n", "wrenbot", "/x disallow \n /z allow")
	// The list of User-agent lines continues.
	asks(t, RFC9309, "User-agent: wrenbot Disallow: /x\nUser-agent: larkbot\nDisallow: /y\n", "wrenbot", "/x disallow \n /y disallow")
	// After the line, a Disallow applies to the names in the line, too. An Allow does not.
	asks(t, RFC9309, "User-agent: larkbot Disallow: /x User-agent: wrenbot\nDisallow: /y\nAllow: /y/z\nUser-agent: finchbot\nDisallow: /f\n", "wrenbot",
		"/x allow \n /y/z disallow \n /f allow")
	// When a new group begins, a Disallow no longer applies to the names in the line.
	asks(t, RFC9309, "User-agent: wrenbot\nDisallow: /x\nUser-agent: larkbot Disallow: /y\n", "wrenbot", "/x disallow \n /y allow")
	asks(t, RFC9309, "User-agent: wrenbot\nDisallow: /x\nSitemap: https://robots.test/ User-agent: a User-agent: larkbot Disallow: /y\nDisallow: /z", "wrenbot",
		"/x disallow \n /y allow \n /z disallow")
}

// House: paths and comments are not searched for records. The other dialects search no values.
func TestHouseNotJoined(t *testing.T) {
	asks(t, RFC9309, "User-agent: *\nDisallow: /a Disallow: /b\n# Disallow: /c\nAllow: /d Disallow: /e\n", "wrenbot",
		"/a allow \n /a%20Disallow:%20/b disallow \n /b allow \n /c allow \n /e allow")
	asks(t, RFC9309, "User-agent: *\nSitemap: https://robots.test/disallow/:x # Disallow: /\n", "wrenbot", "/ allow")
	for _, d := range []Dialect{Google, Koster1996} {
		asks(t, d, "User-agent: * Disallow: /", "wrenbot", "/a allow")
	}
}

// In a line that is cut at a limit, the joined names begin no group, and a cut name does not
// count. The part of a Disallow before the cut counts.
func TestHouseLinesJoinedAndCut(t *testing.T) {
	long := strings.Repeat(" Disallow: /x", maxLine/13+1)
	asks(t, RFC9309, "User-agent: * Disallow: /a"+long, "wrenbot", "/a disallow 1 \n /b allow")
	asks(t, RFC9309, "User-agent: wrenbot Disallow: /a"+long+"\nUser-agent: *\nDisallow: /b", "wrenbot", "/a disallow 1 \n /b disallow 3")
	asks(t, RFC9309, "User-agent: * Disallow: /a\x00b", "wrenbot", "/ab disallow")
	asks(t, RFC9309, "User-agent: larkbot User-agent: wrenbot\x00s Disallow: /", "wrenbot", "/ allow")
}

// The position of lines-joined is that of the first joined key.
func TestLintLinesJoined(t *testing.T) {
	for file, want := range map[string]string{
		"User-agent: * Disallow: /": "1:15 lines-joined",
		"User-agent: *Disallow: /":  "1:13 bad-agent 1:14 lines-joined",
		"User-agent: *\nDisallow: /a\nSitemap: https://robots.test/s.xml\tUser-agent: a Disallow: /": "3:36 lines-joined",
	} {
		var got []string
		for _, p := range Parse([]byte(file), RFC9309).Problems() {
			s := p.String()
			got = append(got, s[:strings.Index(s, ": ")]+" "+p.Code)
			checkProblem(t, p)
		}
		if strings.Join(got, " ") != want {
			t.Errorf("%q: %q, want %s", file, got, want)
		}
	}
}

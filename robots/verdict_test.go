package robots

import (
	"strings"
	"testing"
)

// Each Access and Reason has a text of its own, without a number.
func TestWords(t *testing.T) {
	seen := map[string]bool{}
	words := []string{}
	for a := Defer; a <= Disallow; a++ {
		words = append(words, a.String())
	}
	for r := NoReason; r <= OtherSite; r++ {
		words = append(words, r.String())
	}
	for _, w := range words {
		if seen[w] || w == "" || strings.Contains(w, "(") {
			t.Errorf("%q", w)
		}
		seen[w] = true
	}
	if s := Access(9).String() + Reason(99).String() + Dialect(9).String(); s != "Access(9)Reason(99)Dialect(9)" {
		t.Error(s)
	}
	if s := (Rule{true, "/a", 1}).String() + (Rule{false, "/b", 2}).String() + (Rule{}).String(); s != "Allow: /aDisallow: /b" {
		t.Error(s)
	}
}

// All usual spellings of keys such as Crawl-delay are accepted.
func TestOtherKeys(t *testing.T) {
	for key, want := range map[string]kind{
		"Crawl-delay": delayLine, "crawldelay": delayLine, "Crawl delay": delayLine, "crawl_delay": delayLine,
		"Request-rate": rateLine, "requestrate": rateLine, "request rate": rateLine,
		"Visit-time": visitLine, "visittime": visitLine, "Visit time": visitLine,
		"Sitemap": sitemapLine, "Sitemaps": sitemapLine, "site-map": sitemapLine,
		"HOST": hostLine, "Clean-param": cleanParamLine, "Noindex": noindexLine, "License": licenseLine,
		"Content-Usage": usageLine, "Content-Signal": signalLine, "Content-Signals": signalLine,
		"Crawl": unknownLine, "Request": unknownLine, "Visit": unknownLine, "Hosts": unknownLine, "Licence": unknownLine, "Mood": unknownLine,
	} {
		for _, d := range []Dialect{RFC9309, Google, Koster1996} {
			if got, _ := keyKind(key, d); got != want {
				t.Errorf("%v: %q is of kind %d, want %d", d, key, got, want)
			}
		}
	}
}

// A string that is not a target is never allowed, for any rules.
func TestNoTargetNeverAllows(t *testing.T) {
	groups := map[string]*Group{
		"missing": attempt(404, "").Group(policy, noon),
		"open":    attempt(200, "User-agent: *\nAllow: /\n").Group(policy, noon),
		"empty":   Parse(nil, RFC9309).Group("wrenbot"),
		"google":  Parse(nil, Google).Group("wrenbot"),
		"koster":  Parse(nil, Koster1996).Group("wrenbot"),
		"closed":  attempt(401, "").Group(policy, noon),
	}
	for name, g := range groups {
		for _, target := range []string{"", "a", "?x", "https://robots.test/a", "http:/a", "*", " /a", "robots.txt"} {
			if v := g.Match(target); v.Access != Disallow || v.Reason != NoTarget || v.Rule.Line != 0 {
				t.Errorf("%s, %q: %+v", name, target, v)
			}
		}
		for _, raw := range []string{"", "a", "?x", "mailto:a@robots.test", "http:/a", "gopher://robots.test/", "://robots.test/", "https://[bad/a", "https:///a", "//"} {
			if v := g.MatchURL(raw); v.Access != Disallow || v.Reason != NoTarget {
				t.Errorf("%s, URL %q: %+v", name, raw, v)
			}
		}
	}
}

// MatchURL applies the rules only to URLs of the site of the file.
func TestMatchURL(t *testing.T) {
	const file = "User-agent: *\nDisallow: /private/\nDisallow: /*?x\n"
	unknown := Parse([]byte(file), RFC9309).Group("wrenbot")
	known := ParseFor("https://robots.test/robots.txt", []byte(file), RFC9309).Group("wrenbot")
	asked := attempt(200, file).Group(policy, noon)
	for _, c := range []struct {
		raw           string
		unknown, here Reason
	}{
		{"https://robots.test/private/#top", RuleMatched, RuleMatched},
		{"HTTPS://me@ROBOTS.test.:443/private/", RuleMatched, RuleMatched},
		{"https://robots.test?x", RuleMatched, RuleMatched},
		{"https://robots.test", NoRule, NoRule},
		{"https://robots.test/robots.txt", RobotsFile, RobotsFile},
		{"//robots.test/private/", RuleMatched, RuleMatched},
		{"/private/", RuleMatched, RuleMatched},
		{"/a", NoRule, NoRule},
		{"http://robots.test/a", NoRule, OtherSite},
		{"https://robots.test:8443/a", NoRule, OtherSite},
		{"https://www.robots.test/a", NoRule, OtherSite},
		{"https://www.robots.test/robots.txt", RobotsFile, OtherSite},
		{"//other.test/a", NoRule, OtherSite},
	} {
		if v := unknown.MatchURL(c.raw); v.Reason != c.unknown || v.Allowed() == (c.unknown == RuleMatched) {
			t.Errorf("%s: %+v", c.raw, v)
		}
		for _, g := range []*Group{known, asked} {
			closed := c.here == RuleMatched || c.here == OtherSite
			if v := g.MatchURL(c.raw); v.Reason != c.here || v.Allowed() == closed {
				t.Errorf("%s, site known: %+v", c.raw, v)
			}
		}
	}
	missing := attempt(404, "").Group(policy, noon)
	if v := missing.MatchURL("https://robots.test/a"); !v.Allowed() {
		t.Errorf("no robots.txt: %+v", v)
	}
	if v := missing.MatchURL("https://other.test/a"); v.Access != Disallow || v.Reason != OtherSite {
		t.Errorf("no robots.txt, another site: %+v", v)
	}
}

// The zero Group, the zero File and the zero Snapshot permit nothing.
func TestZeroValuesDefer(t *testing.T) {
	groups := []*Group{new(Group), new(File).Group("wrenbot"), new(Snapshot).Group(policy, noon), (*Snapshot)(nil).Group(policy, noon)}
	for i, g := range groups {
		if v := g.Match("/a"); v.Access != Defer {
			t.Errorf("%d: %+v", i, v)
		}
		if v := g.MatchURL("https://robots.test/a"); v.Access != Defer {
			t.Errorf("%d: %+v", i, v)
		}
		if _, ok := g.CrawlDelay(); ok || g.Line() != 0 || g.Names() != nil {
			t.Errorf("%d: %d, %q", i, g.Line(), g.Names())
		}
		g.statements("/a")
		g.noindex()
	}
	// For an answer without a robots.txt the File defers, unless the site has no robots.txt.
	for status, access := range map[int]Access{200: Allow, 404: Allow, 403: Defer, 408: Defer, 503: Defer} {
		s := attempt(status, "")
		if v := s.File(RFC9309).Group("wrenbot").Match("/a"); v.Access != access {
			t.Errorf("file of %d: %+v", status, v)
		}
		if v := s.File(Google).Group("wrenbot").Match("/a"); v.Allowed() != (status != 503) {
			t.Errorf("google, file of %d: %+v", status, v)
		}
	}
	if s := (*Snapshot)(nil).File(RFC9309); len(s.Problems()) != 0 || s.Group("wrenbot").Match("/a").Access != Defer {
		t.Error("the file of no snapshot")
	}
	new(File).Problems()
	new(File).Sitemaps()
}

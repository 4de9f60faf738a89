package robots

import "testing"

// These tests quote the draft of November 1996, "A Method for Robots Exclusion". "HTTP: The
// Definitive Guide" calls it v1.0. Dialect Koster1996 implements the draft.

// "To evaluate if a URL is allowed, a robot must attempt to match the paths in Allow and Disallow
// lines against the URL, in the order they occur in the record. The first match found is used."
// (draft of 1996, 3.2.2)
func TestKosterFirstMatch(t *testing.T) {
	asks(t, Koster1996, "User-agent: *\nDisallow: /tmp\nAllow: /tmp/ok.html\n", "wrenbot", "/tmp/ok.html disallow 2 \n /a allow")
	asks(t, Koster1996, "User-agent: *\nAllow: /tmp/ok.html\nDisallow: /tmp\n", "wrenbot", "/tmp/ok.html allow 2 \n /tmp/no.html disallow 3")
	asks(t, Koster1996, "User-agent: *\nAllow: /\nDisallow: /a\nDisallow: /a\n", "wrenbot", "/a allow 2")
	asks(t, Koster1996, "User-agent: *\nDisallow: /ab\nDisallow: /a\nDisallow: /abc\n", "wrenbot", "/abc disallow 2 \n /ac disallow 3")
}

// "If a %xx encoded octet is encountered it is unencoded prior to comparison, unless it is the "/"
// character." (draft of 1996, 3.2.2, with its table)
func TestKosterTable(t *testing.T) {
	for _, row := range []struct {
		rule, path string
		matches    bool
	}{
		{"/tmp", "/tmp", true}, {"/tmp", "/tmp.html", true}, {"/tmp", "/tmp/a.html", true},
		{"/tmp/", "/tmp", false}, {"/tmp/", "/tmp/", true}, {"/tmp/", "/tmp/a.html", true},
		{"/a%3cd.html", "/a%3cd.html", true}, {"/a%3Cd.html", "/a%3cd.html", true},
		{"/a%3cd.html", "/a%3Cd.html", true}, {"/a%3cd.html", "/a<d.html", true},
		{"/a%2fb.html", "/a%2fb.html", true}, {"/a%2fb.html", "/a%2Fb.html", true}, {"/a%2fb.html", "/a/b.html", false},
		{"/%7ejoe/index.html", "/~joe/index.html", true}, {"/~joe/index.html", "/%7Ejoe/index.html", true},
		{"/a%252fb", "/a%2fb", false}, {"/a%25", "/a%", true}, {"/a%zz", "/a%25zz", true},
	} {
		want := "allow"
		if row.matches {
			want = "disallow"
		}
		asks(t, Koster1996, "User-agent: *\nDisallow: "+row.rule+"\n", "wrenbot", row.path+" "+want)
	}
}

// There are no wildcards: "*" and "$" are characters of a path (draft of 1996, 3.3).
func TestKosterNoWildcards(t *testing.T) {
	asks(t, Koster1996, "User-agent: *\nDisallow: /a*b\nDisallow: /c$\n", "wrenbot",
		"/axb allow \n /a*b disallow \n /c allow \n /c$d disallow")
}

// "The matching process compares every octet in the path portion of the URL" (draft of 1996,
// 3.2.2): the query does not belong to it.
func TestKosterPathOnly(t *testing.T) {
	asks(t, Koster1996, "User-agent: *\nDisallow: /a?b\nDisallow: /c\n", "wrenbot", "/a?b allow \n /c?d disallow")
}

// "The format logically consists of a non-empty set of records, separated by blank lines." (draft
// of 1996, 3.2) A comment line separates nothing. Lines after a blank line that have no User-agent
// line belong to no record.
func TestKosterRecords(t *testing.T) {
	asks(t, Koster1996, "User-agent: *\n# no blank\nDisallow: /a\n \t\nDisallow: /b\n", "wrenbot", "/a disallow \n /b allow")
	asks(t, Koster1996, "User-agent: larkbot\nDisallow: /a\n\nUser-agent: wrenbot\nDisallow: /b\n", "wrenbot", "/a allow \n /b disallow")
	// A User-agent line after rules begins a record, with or without a blank line.
	asks(t, Koster1996, "User-agent: larkbot\nDisallow: /a\nUser-agent: wrenbot\nDisallow: /b\n", "wrenbot", "/a allow \n /b disallow")
}

// "* [...] is the default record for robots for which no explicit User-agent line can be found in
// any of the records." (draft of 1996, 3.2.1)
func TestKosterDefaultRecord(t *testing.T) {
	const file = "User-agent: *\nDisallow: /b\n\nUser-agent: wrenbot\nDisallow: /a\n"
	asks(t, Koster1996, file, "wrenbot", "/a disallow \n /b allow")
	asks(t, Koster1996, file, "larkbot", "/a allow \n /b disallow")
	asks(t, Koster1996, "User-agent: larkbot\nDisallow: /\n", "wrenbot", "/ allow")
}

// Only the first record that names the crawler applies. A record may begin with several User-agent
// lines (draft of 1996, 3.2.1).
func TestKosterFirstRecord(t *testing.T) {
	const file = "User-agent: heron\nUser-agent: wrenbot\nDisallow: /a\n\nUser-agent: wrenbot\nDisallow: /b\n"
	asks(t, Koster1996, file, "wrenbot", "/a disallow \n /b allow")
	asks(t, Koster1996, file, "heron", "/a disallow \n /b allow")
}

// Names are compared as substrings, without regard to case. In the draft the value contains the
// name of the robot. In the Guide it is the other way round.
func TestKosterNamesAreSubstrings(t *testing.T) {
	for _, value := range []string{"WrenBot", "wrenbot/2.0", "the wrenbot robot", "wren"} {
		asks(t, Koster1996, "User-agent: "+value+"\nDisallow: /a\n\nUser-agent: *\nDisallow: /b\n", "wrenbot", "/a disallow \n /b allow")
	}
	asks(t, Koster1996, "User-agent:\nDisallow: /a\n\nUser-agent: *\nDisallow: /b\n", "wrenbot", "/a allow \n /b disallow")
}

// An alias also counts as a name of the robot in this dialect.
func TestKosterAliases(t *testing.T) {
	g := Parse([]byte("User-agent: *\nDisallow: /\n\nUser-agent: oldbot\nDisallow: /a\n"), Koster1996).Group("wrenbot", "", "oldbot")
	for target, want := range map[string]Access{"/a": Disallow, "/b": Allow} {
		if v := g.Match(target); v.Access != want {
			t.Errorf("%s: %v", target, v)
		}
	}
}

// An empty Disallow allows everything (the standard of 1994).
func TestKosterEmptyDisallow(t *testing.T) {
	asks(t, Koster1996, "User-agent: *\nDisallow:\n", "wrenbot", "/ allow \n /a allow")
}

// "robots should be liberal in accepting files with different end-of-line conventions,
// specifically CR and LF in addition to CRLF." (draft of 1996, 4.2)
func TestKosterLineEnds(t *testing.T) {
	for _, nl := range []string{"\n", "\r", "\r\n"} {
		asks(t, Koster1996, "User-agent: *"+nl+"Disallow: /a"+nl+nl+"Disallow: /b"+nl, "wrenbot", "/a disallow \n /b allow")
	}
}

// Misspelt keys do not count: the draft does not mention them.
func TestKosterExactKeys(t *testing.T) {
	asks(t, Koster1996, "User-agent: *\nDissallow: /a\nDisallow /b\nDISALLOW: /c\n", "wrenbot", "/a allow \n /b allow \n /c disallow")
}

package robots

import (
	"strconv"
	"strings"
	"testing"
)

// asks checks verdicts. Each line of want is a target, then "allow" or "disallow", and
// optionally the number of the line that decides.
func asks(t *testing.T, d Dialect, file, agent, want string) {
	t.Helper()
	g := Parse([]byte(file), d).Group(agent)
	for line := range strings.Lines(want) {
		f := strings.Fields(line)
		if len(f) == 0 {
			continue
		}
		v := g.Match(f[0])
		if v.Access.String() != f[1] {
			t.Errorf("%s, agent %q, target %q: %v (%v, %v of line %d), want %s, in\n%s", d, agent, f[0], v.Access, v.Reason, v.Rule, v.Rule.Line, f[1], file)
		} else if len(f) == 3 && f[2] != strconv.Itoa(v.Rule.Line) {
			t.Errorf("%s, agent %q, target %q: decided by line %d, want %s, in\n%s", d, agent, f[0], v.Rule.Line, f[2], file)
		}
	}
}

// "Group: One or more user-agent lines that are followed by one or more
// rules. The group is terminated by a user-agent line or end of file."
// (RFC 9309, 2.1)
func TestGroupsEndAtAgentLineAfterRules(t *testing.T) {
	const file = `
User-agent: wrenbot
User-agent: larkbot
Disallow: /a

User-agent: finchbot
Disallow: /b
`
	asks(t, RFC9309, file, "wrenbot", "/a disallow 4 \n /b allow")
	asks(t, RFC9309, file, "larkbot", "/a disallow 4 \n /b allow")
	asks(t, RFC9309, file, "finchbot", "/a allow \n /b disallow 7")
}

// "The last group may have no rules, which means it implicitly allows everything." (RFC 9309, 2.1)
func TestLastGroupWithoutRulesAllows(t *testing.T) {
	const file = "User-agent: *\nDisallow: /\n\nUser-agent: wrenbot\n"
	asks(t, RFC9309, file, "wrenbot", "/ allow \n /a allow")
}

// Blank lines have no meaning: "emptyline" may be between any two lines of a group. (RFC 9309,
// 2.2)
func TestBlankLinesDoNotEndGroups(t *testing.T) {
	const file = "User-agent: wrenbot\n\n\nUser-agent: larkbot\n\n\nDisallow: /a\n\nDisallow: /b\n"
	asks(t, RFC9309, file, "wrenbot", "/a disallow \n /b disallow")
	asks(t, RFC9309, file, "larkbot", "/a disallow \n /b disallow")
}

// "NL = %x0D / %x0A / %x0D.0A" (RFC 9309, 2.2). Nothing else ends a line.
func TestLineEnds(t *testing.T) {
	for _, nl := range []string{"\n", "\r", "\r\n"} {
		file := strings.ReplaceAll("User-agent: *\nDisallow: /a\n\nDisallow: /b", "\n", nl)
		asks(t, RFC9309, file, "wrenbot", "/a disallow 2 \n /b disallow 4 \n /c allow")
	}
	asks(t, RFC9309, "User-agent: *\rDisallow: /a\r\nDisallow: /b\n\rDisallow: /c", "wrenbot",
		"/a disallow 2 \n /b disallow 3 \n /c disallow 5")
	for _, no := range []string{"\v", "\f", "\u0085", "\u2028"} {
		asks(t, RFC9309, "User-agent: *\nDisallow: /a"+no+"Disallow: /b\n", "wrenbot", "/b allow")
	}
}

// "WS = %x20 / %x09", around keys and values (RFC 9309, 2.2). Other ASCII white space at the ends
// of a value is removed, too, as in google/robotstxt.
func TestWhiteSpaceAroundKeysAndValues(t *testing.T) {
	asks(t, RFC9309, " User-agent\t:  *  \n\tDisallow :\t/a\t\nDisallow: \v/b\f\n", "wrenbot",
		"/a disallow \n /ab disallow \n /b disallow \n /c allow")
}

// Keys are case-insensitive (RFC 9309, 2.2: ABNF strings are).
func TestKeysIgnoreCase(t *testing.T) {
	asks(t, RFC9309, "uSER-aGENT: *\ndISALLOW: /a\naLLOW: /a/b\n", "wrenbot", "/a disallow \n /a/b allow")
}

// A byte order mark before the first line is skipped. (This is on Google's page; the RFC does
// not mention it.) Elsewhere a byte order mark makes its line unreadable.
func TestByteOrderMark(t *testing.T) {
	asks(t, RFC9309, "\xEF\xBB\xBFUser-agent: *\nDisallow: /a\n", "wrenbot", "/a disallow")
	asks(t, RFC9309, "\xEF\xBBUser-agent: *\nDisallow: /a\n", "wrenbot", "/a disallow")
	asks(t, RFC9309, "\xEFUser-agent: *\nDisallow: /a\n", "wrenbot", "/a disallow")
	asks(t, Google, "\xEFUser-agent: *\nDisallow: /a\n", "wrenbot", "/a disallow")
	asks(t, RFC9309, "\xEF", "wrenbot", "/a allow")
	asks(t, RFC9309, "User-agent: *\n\xEF\xBB\xBFDisallow: /a\nDisallow: /b\n", "wrenbot", "/a allow \n /b disallow")
}

// "Crawlers MUST use case-insensitive matching to find the group that matches the product token"
// (RFC 9309, 2.2.1). Only ASCII letters fold: the Kelvin sign is not a k.
func TestTokenIgnoresASCIICaseOnly(t *testing.T) {
	const file = "User-agent: KIWIbot\nDisallow: /\n"
	asks(t, RFC9309, file, "kiwiBOT", "/ disallow")
	asks(t, RFC9309, strings.Replace(file, "K", "\u212A", 1), "kiwibot", "/ allow")
}

// The token must match "exactly" (draft-koster-rep-00, 2.2.1). A prefix of the crawler's name, or
// a longer name, does not match.
func TestTokenMatchesWhole(t *testing.T) {
	const file = "User-agent: wren\nDisallow: /a\nUser-agent: wrenbot-news\nDisallow: /b\nUser-agent: *\nDisallow: /c\n"
	asks(t, RFC9309, file, "wrenbot", "/a allow \n /b allow \n /c disallow")
}

// A value is cut at the first octet that no token has, so "wrenbot/1.2" names
// wrenbot (Google's page: text after the token is ignored).
func TestAgentValueIsCut(t *testing.T) {
	for _, value := range []string{"wrenbot/1.2", "wrenbot*", "wrenbot 1.2", "wrenbot;x", "wrenbot2"} {
		asks(t, RFC9309, "User-agent: "+value+"\nDisallow: /a\nUser-agent: *\nDisallow: /b\n", "wrenbot", "/a disallow \n /b allow")
	}
	asks(t, RFC9309, "User-agent: Mozilla/5.0 (compatible; wrenbot/1.0)\nDisallow: /a\n", "wrenbot", "/a allow")
}

// "If there is more than one group matching the user-agent, the matching groups' rules MUST be
// combined into one group" (RFC 9309, 2.2.1).
func TestOwnGroupsCombine(t *testing.T) {
	const file = "User-agent: wrenbot\nDisallow: /a\nUser-agent: *\nDisallow: /b\nUser-agent: wrenbot\nDisallow: /c\n"
	asks(t, RFC9309, file, "wrenbot", "/a disallow \n /b allow \n /c disallow")
}

// "If no matching group exists, crawlers MUST obey the group with a user-agent line with the "*"
// value, if present" (RFC 9309, 2.2.1). All "*" groups are obeyed.
func TestStarGroupsCombine(t *testing.T) {
	const file = "User-agent: *\nDisallow: /a\nUser-agent: larkbot\nDisallow: /b\nUser-agent: *\nDisallow: /c\n"
	asks(t, RFC9309, file, "wrenbot", "/a disallow \n /b allow \n /c disallow")
}

// "*" with text after a blank is still "*". "*" directly before text names no crawler
// (google/robotstxt).
func TestStarVariants(t *testing.T) {
	asks(t, RFC9309, "User-agent: * all robots\nDisallow: /a\n", "wrenbot", "/a disallow")
	for _, token := range []string{"*bot", "**", "", "?"} {
		asks(t, RFC9309, "User-agent: "+token+"\nDisallow: /a\n", "wrenbot", "/a allow")
	}
}

// A group that names the crawler replaces the "*" group, even if none of its rules matches (RFC
// 9309, 2.2.1).
func TestNoFallBackToStar(t *testing.T) {
	asks(t, RFC9309, "User-agent: wrenbot\nDisallow: /a\nUser-agent: *\nDisallow: /\n", "wrenbot", "/a disallow \n /b allow")
	asks(t, RFC9309, "User-agent: wrenbot\nDisallow:\nUser-agent: *\nDisallow: /\n", "wrenbot", "/a allow")
}

// "If no group satisfies either condition, or no groups are present at all, no rules apply." (RFC
// 9309, 2.2.1)
func TestNoGroupNoRules(t *testing.T) {
	asks(t, RFC9309, "", "wrenbot", "/ allow \n /a allow")
	asks(t, RFC9309, "User-agent: larkbot\nDisallow: /\n", "wrenbot", "/ allow")
	if v := Parse(nil, RFC9309).Group("wrenbot").Match("/"); v.Reason != NoGroup || v.Rule.Line != 0 {
		t.Errorf("empty file: %+v", v)
	}
}

// "The most specific match found MUST be used. The most specific match is the match that has the
// most octets." (RFC 9309, 2.2.2)
func TestLongestMatchDecides(t *testing.T) {
	const file = "User-agent: *\nDisallow: /p\nAllow: /p/q\nDisallow: /p/q/r\nDisallow: /*.html\n"
	asks(t, RFC9309, file, "wrenbot", "/p disallow 2 \n /p/q allow 3 \n /p/q/r disallow 4 \n /p/q/x.html disallow 5 \n /x allow")
}

// The length of a rule is the number of octets of its normal form (RFC 9309, 2.2.2).
func TestLengthIsThatOfTheNormalForm(t *testing.T) {
	asks(t, RFC9309, "User-agent: *\nAllow: /%61b\nDisallow: /a*b\n", "wrenbot", "/ab disallow 3")
	asks(t, RFC9309, "User-agent: *\nDisallow: /%61b\nAllow: /a*b\n", "wrenbot", "/ab allow 3")
	asks(t, RFC9309, "User-agent: *\nDisallow: /é\nAllow: /%C3***\n", "wrenbot", "/%C3%A9 allow 3")
	asks(t, RFC9309, "User-agent: *\nDisallow: /é\nAllow: /%C3**\n", "wrenbot", "/%C3%A9 disallow 2")
	asks(t, RFC9309, "User-agent: *\nDisallow: /%61$\nAllow: /*$\n", "wrenbot", "/a allow 3")
}

// "If an allow rule and a disallow rule are equivalent, then the allow rule SHOULD be used." (RFC
// 9309, 2.2.2) The same holds for equal length.
func TestAllowWinsTies(t *testing.T) {
	asks(t, RFC9309, "User-agent: *\nDisallow: /p\nAllow: /p\n", "wrenbot", "/p allow 3")
	asks(t, RFC9309, "User-agent: *\nAllow: /p\nDisallow: /p\n", "wrenbot", "/p allow 2")
	asks(t, RFC9309, "User-agent: *\nDisallow: /a*\nAllow: /ab\n", "wrenbot", "/ab allow 3 \n /ac disallow 2")
}

// If a file has the same rule twice, the verdict names the first line.
func TestFirstOfEqualRulesIsNamed(t *testing.T) {
	asks(t, RFC9309, "User-agent: *\nDisallow: /a\nDisallow: /a\nDisallow: /b*c\nDisallow: /b*c\n", "wrenbot", "/a disallow 2 \n /bc disallow 4")
}

// "If no match is found amongst the rules in a group for a matching user-agent or there are no
// rules in the group, the URI is allowed." (RFC 9309, 2.2.2)
func TestNoMatchAllows(t *testing.T) {
	asks(t, RFC9309, "User-agent: *\nDisallow: /a\n", "wrenbot", "/ allow \n /b allow")
	if v := Parse([]byte("User-agent: *\nDisallow: /a\n"), RFC9309).Group("wrenbot").Match("/b"); v.Reason != NoRule {
		t.Errorf("%+v", v)
	}
}

// "The /robots.txt URI is implicitly allowed." (RFC 9309, 2.2.2) This is only that path, without a
// query.
func TestRobotsFileIsAllowed(t *testing.T) {
	asks(t, RFC9309, "User-agent: *\nDisallow: /\n", "wrenbot", `
/robots.txt       allow 0
/robots%2Etxt     allow 0
/robots.txt?      disallow
/robots.txt.bak   disallow
/Robots.txt       disallow
/d/robots.txt     disallow`)
}

// "empty-pattern": a rule without a path matches nothing (RFC 9309, 2.2).
func TestEmptyPattern(t *testing.T) {
	asks(t, RFC9309, "User-agent: *\nDisallow:\n", "wrenbot", "/ allow \n /a allow")
	asks(t, RFC9309, "User-agent: *\nAllow:\nDisallow: /a\n", "wrenbot", "/a disallow \n /b allow")
}

// "The matching SHOULD be case sensitive." (RFC 9309, 2.2.2)
func TestPathsAreCaseSensitive(t *testing.T) {
	asks(t, RFC9309, "User-agent: *\nDisallow: /Fish\n", "wrenbot", "/Fish disallow \n /fish allow")
}

// The query is matched, too (RFC 9309, 2.2.2, table: /foo/bar?baz=quz).
func TestQueryIsMatched(t *testing.T) {
	asks(t, RFC9309, "User-agent: *\nDisallow: /s?q=\nDisallow: /*?x\nDisallow: /a;sid=\n", "wrenbot", `
/s?q=1     disallow
/s         allow
/t?x=1     disallow
/t?y=1     allow
/a;sid=2   disallow
/a         allow`)
}

// "Octets in the URI and robots.txt paths outside the range of the ASCII coded character set [...]
// MUST be percent-encoded" (RFC 9309, 2.2.2, table: /foo/bar/ツ).
func TestNonASCIIIsEscaped(t *testing.T) {
	asks(t, RFC9309, "User-agent: *\nDisallow: /café/ツ\n", "wrenbot", `
/caf%C3%A9/%E3%83%84   disallow
/caf%c3%a9/%e3%83%84   disallow
/café/ツ               disallow
/cafe/                 allow`)
	asks(t, RFC9309, "User-agent: *\nDisallow: /caf%C3%A9\n", "wrenbot", "/café disallow")
}

// "If a percent-encoded ASCII octet is encountered in the URI, it MUST be unencoded prior to
// comparison, unless it is a reserved character [...] or the character is outside the unreserved
// character range." (RFC 9309, 2.2.2, table: /foo/bar/%62%61%7A)
func TestUnreservedIsDecoded(t *testing.T) {
	asks(t, RFC9309, "User-agent: *\nDisallow: /%6A%61%79\nDisallow: /a-b_c.d~e\n", "wrenbot", `
/jay                  disallow
/j%61y                disallow
/%6aay                disallow
/a%2Db%5fc%2ed%7Ee    disallow`)
}

// An escaped reserved octet differs from the plain one (RFC 9309, 2.2.2): %2F is not a slash.
func TestReservedStaysEscaped(t *testing.T) {
	asks(t, RFC9309, "User-agent: *\nDisallow: /a%2fb\nDisallow: /c/d\n", "wrenbot",
		"/a%2Fb disallow \n /a/b allow \n /c%2Fd allow \n /c/d disallow")
}

// Escapes are decoded once.
func TestDecodedOnce(t *testing.T) {
	asks(t, RFC9309, "User-agent: *\nDisallow: /a%2541\n", "wrenbot", "/a%2541 disallow \n /a%41 allow \n /aA allow")
}

// "%" without two hexadecimal digits is an ordinary octet (RFC 9309, 2.3.1.5: crawlers must try to
// parse each line).
func TestBadEscapesAreLiteral(t *testing.T) {
	asks(t, RFC9309, "User-agent: *\nDisallow: /a%\nDisallow: /b%zz\nDisallow: /c%2\n", "wrenbot",
		"/a% disallow \n /a%20 disallow \n /a allow \n /b%zz disallow \n /b%ZZ allow \n /c%2 disallow \n /c%2x disallow")
}

// "#" begins a comment at any position (RFC 9309, 2.2.3).
func TestComments(t *testing.T) {
	asks(t, RFC9309, "User-agent: * # all\n#Disallow: /\nDisallow: /a#b\nDisallow: /c%23d # why\n", "wrenbot",
		"/ allow \n /a disallow \n /ab disallow \n /c allow \n /c%23d disallow")
	asks(t, RFC9309, "User-agent: wrenbot\n# both\nUser-agent: larkbot\nDisallow: /a\n", "wrenbot", "/a disallow")
}

// "$" designates the end of the match pattern (RFC 9309, 2.2.3), as the last character.
func TestDollar(t *testing.T) {
	asks(t, RFC9309, "User-agent: *\nDisallow: /a$\nDisallow: /*.pdf$\nDisallow: /b$c\nDisallow: /d$$\n", "wrenbot", `
/a          disallow
/a/         allow
/a?         allow
/x.pdf      disallow
/x.pdf.pdf  disallow
/x.pdf?y    allow
/x.pdfs     allow
/b$c        disallow
/b%24cd     disallow
/b          allow
/d$         disallow
/d          allow
/d$e        allow`)
}

// "*" designates 0 or more instances of any character (RFC 9309, 2.2.3).
func TestStar(t *testing.T) {
	asks(t, RFC9309, "User-agent: *\nDisallow: /a*z\nDisallow: /*b*bc\nDisallow: *.php\nDisallow: /q**r$\n", "wrenbot", `
/az         disallow
/a/b/z?     disallow
/a          allow
/zab        allow
/bbc        disallow
/bc         allow
/xbybc      disallow
/bcbc       disallow
/d/i.php?x  disallow
/qr         disallow
/q1r        disallow
/q1r1       allow`)
	asks(t, RFC9309, "User-agent: *\nDisallow: *\n", "wrenbot", "/ disallow \n /a disallow")
}

// "If crawlers match special characters verbatim in the URI, crawlers SHOULD use "%" encoding"
// (RFC 9309, 2.2.3, table: /path/file-with-a-%2A.html).
func TestEscapedSpecialCharacters(t *testing.T) {
	asks(t, RFC9309, "User-agent: *\nDisallow: /file-%2A.html\nDisallow: /foo-%24\n", "wrenbot", `
/file-*.html     disallow
/file-%2a.html   disallow
/file-x.html     allow
/foo-$           disallow
/foo-%24x        disallow
/foo-            allow`)
}

// Characters that are special in a regular expression and not in 2.2.3 are ordinary
// octets.
func TestOtherCharactersAreLiteral(t *testing.T) {
	asks(t, RFC9309, "User-agent: *\nDisallow: /a.b+c[d](e)|f^g\\h{2}?i\n", "wrenbot",
		"/a.b+c[d](e)|f^g\\h{2}?i disallow \n /aXb+c[d](e)|f^g\\h{2}?i allow \n /a.b+c%5Bd](e)%7Cf%5Eg%5Ch%7B2%7D?i allow \n /a.b+c[d](e)%7Cf%5Eg%5Ch%7B2%7D?i disallow")
}

// "Crawlers MAY interpret other records [...] Parsing of other records MUST NOT interfere with the
// parsing of explicitly defined records" (RFC 9309, 2.2.4).
func TestOtherRecordsDoNotInterfere(t *testing.T) {
	for _, other := range []string{"Sitemap: https://robots.test/s.xml", "Crawl-delay: 5", "Mood: sunny", "Noindex: /n",
		"Host: robots.test", "Clean-param: ref", "Request-rate: 1/5", "Visit-time: 0600-0845", "Content-Signal: search=yes",
		"Content-Usage: train-ai=n", "License: https://robots.test/l.xml", "rubbish", ":", "<html>"} {
		asks(t, RFC9309, "User-agent: wrenbot\n"+other+"\nUser-agent: larkbot\n"+other+"\nDisallow: /x\n"+other+"\nDisallow: /y\n", "wrenbot",
			"/x disallow \n /y disallow \n /n allow")
	}
}

// Rules before the first group are ignored, and do not join the first group (RFC 9309, 2.2.2: "any
// rule that precedes the first user-agent line").
func TestRulesBeforeGroupsAreIgnored(t *testing.T) {
	asks(t, RFC9309, "Disallow: /\nAllow: /c/d\nUser-agent: *\nDisallow: /c\n", "wrenbot", "/a allow \n /c/d disallow")
}

// "Crawlers MUST try to parse each line of the robots.txt file. Crawlers MUST use the parseable
// rules." (RFC 9309, 2.3.1.5)
func TestBadLinesAreSkipped(t *testing.T) {
	asks(t, RFC9309, "<html><body>\nUser-agent: *\nCrawl-delay: soon\nDisallow: /a\nCrawl-delay: -3\n%$&\n</body>\nDisallow: /b", "wrenbot",
		"/a disallow \n /b disallow \n /c allow")
}

// "Crawlers MAY impose a parsing limit that MUST be at least 500 kibibytes" (RFC 9309, 2.5). The
// rest of the file is ignored. The part before the limit still counts.
func TestFileLimit(t *testing.T) {
	head := "User-agent: *\nDisallow: /a\n"
	pad := strings.Repeat("#", MaxBytes-len(head)-1) + "\n"
	asks(t, RFC9309, head+pad+"Disallow: /b\n", "wrenbot", "/a disallow \n /b allow")
	pad = pad[len("Disallow: /b\n"):]
	asks(t, RFC9309, head+pad+"Disallow: /b\n", "wrenbot", "/a disallow \n /b disallow")
}

// The limits have the documented values: 500 KiB of a file (RFC 9309, 2.5), and the line length of
// google/robotstxt.
func TestLimits(t *testing.T) {
	if MaxBytes != 512000 || maxLine != 16663 {
		t.Errorf("%d bytes, %d of a line", MaxBytes, maxLine)
	}
	const head, tail = "User-agent: *\n", "\nDisallow: /a\n"
	file := func(n int) string { return head + "#" + strings.Repeat("x", n-len(head)-1-len(tail)) + tail }
	asks(t, RFC9309, file(512000), "wrenbot", "/a disallow")
	asks(t, RFC9309, file(512000+len(tail)), "wrenbot", "/a allow")
}

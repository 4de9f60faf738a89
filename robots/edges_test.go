package robots

import (
	"fmt"
	"strings"
	"testing"
	"time"
)

// nearestKey finds a key if less than half of its octets are wrong, and at most two.
func TestNearestKey(t *testing.T) {
	for key, want := range map[string]string{
		"": "", "al": "", "all": "Allow", "axl": "", "allo": "Allow", "alow": "Allow", "lalow": "Allow", "allowed": "Allow", "hst": "Host", "host": "Host", "hosts": "Host", "hoxx": "",
		"USERAGNT": "User-agent", "content-signla": "Content-Signal", "xcontent-signalxx": "", "crawl-delayed-pages-1": "", "sitemaps": "Sitemap", "stemapp": "Sitemap", "xstemapp": "",
		"disallow-everything-x": "", "noindexed": "Noindex", "licence": "License",
	} {
		if got := nearestKey(key); got != want {
			t.Errorf("%q: %q, want %q", key, got, want)
		}
	}
}

// quote shortens a part of a file to 60 octets.
func TestWhatIsLongIsClipped(t *testing.T) {
	for _, n := range []int{0, 57, 59, 60, 61, 100} {
		s := strings.Repeat("x", n)
		want := s
		if n > 60 {
			want = s[:57] + "..."
		}
		if got := clip(s); got != want {
			t.Errorf("%d octets: %q", n, got)
		}
	}
	if got, want := clip(strings.Repeat("é", 40)), strings.Repeat("é", 28)+"..."; got != want {
		t.Errorf("%q, want %q", got, want)
	}
}

// classesOf returns the right class for each octet.
func TestClassesOfOctets(t *testing.T) {
	for c := range 256 {
		b := byte(c)
		for name, f := range map[string]struct {
			is  func(byte) bool
			set string
		}{
			"space": {isSpace, " \t\n\v\f\r"},
			"digit": {isDigit, "0123456789"},
			"hex":   {isHex, "0123456789abcdefABCDEF"},
			"alpha": {isAlpha, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ"},
			"lower": {isLower, "abcdefghijklmnopqrstuvwxyz"},
		} {
			if want := strings.IndexByte(f.set, b) >= 0; f.is(b) != want {
				t.Errorf("%q is %s: %v", b, name, !want)
			}
		}
		low, up := b, b
		if strings.IndexByte("ABCDEFGHIJKLMNOPQRSTUVWXYZ", b) >= 0 {
			low = b | 0x20
		}
		if strings.IndexByte("abcdefghijklmnopqrstuvwxyz", b) >= 0 {
			up = b &^ 0x20
		}
		if lower(b) != low || upper(b) != up {
			t.Errorf("%q: %q and %q", b, lower(b), upper(b))
		}
	}
	for in, want := range map[string]string{"": "", " ": "", "\r\n\t\v\fa b\f\v\t\n\r": "a b", "\xa0a": "\xa0a"} {
		if got := trim(in); got != want {
			t.Errorf("%q: %q", in, got)
		}
	}
}

// A URL may end with a dot segment, or be one.
func TestHouseDotsAlone(t *testing.T) {
	const file = "User-agent: *\nDisallow: /$\nDisallow: /a/$\n"
	asks(t, RFC9309, file, "wrenbot", "/ disallow 2 \n /. disallow 2 \n /.. disallow 2 \n /%2e disallow 2 \n /a/. disallow 3 \n /a/b/.. disallow 3 \n /a/.. disallow 2 \n /a allow \n /.a allow \n /a/.b allow")
}

// The first octet of a byte order mark without the others is not a mark.
func TestHalfAMark(t *testing.T) {
	for _, junk := range []string{"\xFE#", "\xFF#", "#\xFE", "#\xFF", "\xFF\xFF", "\xFE\xFE"} {
		f := Parse([]byte(junk+"\nUser-agent: *\nDisallow: /\n"), RFC9309)
		if f.utf16 || f.Group("wrenbot").Match("/").Access != Disallow {
			t.Errorf("%q hides the rules", junk)
		}
	}
	for _, short := range []string{"", "\xFE", "\xFF", "\xEF", "\xEF\xBB", "\xEF\xBB\xBF", "\xFE\xFF", "\xFF\xFE", "\xFF\xFEU"} {
		if v := Parse([]byte(short), RFC9309).Group("wrenbot").Match("/"); v.Access != Allow || v.Reason != NoGroup {
			t.Errorf("%q: %v", short, v)
		}
	}
}

// A name that is cut at a limit names no crawler, even inside the value of another record.
func TestHouseAJoinedNameThatIsCut(t *testing.T) {
	for cut, want := range map[string]string{"": "disallow", "s": "allow"} {
		const head, tail = "User-agent: larkbot", " User-agent: wrenbot"
		line := head + strings.Repeat(" ", maxLine-len(head)-len(tail)) + tail + cut
		asks(t, RFC9309, line+"\nDisallow: /\n", "wrenbot", "/a "+want)
	}
}

// The statements of lines with equally long paths are combined.
func TestPreferencesOfOnePath(t *testing.T) {
	for file, want := range map[string]string{
		"Content-Usage: /a train-ai=n\nContent-Usage: /a search=y\n":                           "train-ai=n, search=y",
		"Content-Usage: /a train-ai=n\nContent-Usage: /b search=y\n":                           "train-ai=n",
		"Content-Usage: /a train-ai=n\nContent-Usage: / search=y\n":                            "train-ai=n",
		"Content-Usage: / search=y\nContent-Usage: /a train-ai=n\n":                            "train-ai=n",
		"Content-Usage: /a\ttrain-ai=n\nContent-Signal: search=yes,=no, x\n":                   "train-ai=n, search=y",
		"Content-Usage: /a\nContent-Signal: /a/b search=yes\nContent-Signal: /a ai-train=no\n": "ai-train=n",
		"Content-Usage: /a; train-ai=n\n":                                                      "",
	} {
		if got := Parse([]byte("User-agent: *\n"+file), RFC9309).Group("wrenbot").statements("/a"); got.String() != want {
			t.Errorf("%q: %q, want %q", file, got, want)
		}
	}
}

// If several previews are set, the smallest counts, in any order.
func TestPreviewsMerge(t *testing.T) {
	sizes := []string{"none", "standard", "large", ""}
	for i, a := range sizes {
		for j, b := range sizes {
			if got := (Directives{MaxImagePreview: a}).Merge(Directives{MaxImagePreview: b}).MaxImagePreview; got != sizes[min(i, j)] {
				t.Errorf("%q and %q: %q", a, b, got)
			}
		}
	}
}

// Clean-param lines without a parameter are ignored.
func TestCleanParamsWithoutAny(t *testing.T) {
	f := Parse([]byte("Clean-param: & /a\nClean-param: &&\nClean-param: a&&b  /x \nClean-param: c\n"), RFC9309)
	if got := fmt.Sprint(f.cleanParams()); got != "[{[a b] /x} {[c] /}]" {
		t.Error(got)
	}
}

// A 304 sets Retry-After again, or removes it.
func TestA304RenewsRetryAfter(t *testing.T) {
	now := time.Unix(1e9, 0)
	held := &Snapshot{URL: "https://robots.test/robots.txt", Status: 200, Fetched: now, Header: Header{ETag: "a", RetryAfter: now.Add(time.Hour)}}
	for _, at := range []time.Time{{}, now.Add(time.Minute)} {
		n := (&Snapshot{Status: 304, Fetched: now, Header: Header{RetryAfter: at}}).After(held)
		if !n.Header.RetryAfter.Equal(at) || n.Header.ETag != "a" {
			t.Errorf("%v: %+v", at, n.Header)
		}
	}
}

// For an unknown name ParseDialect returns the zero dialect, RFC9309, and an error.
func TestAnUnknownDialectIsTheZeroOne(t *testing.T) {
	for _, name := range []string{"", "rfc", "Dialect(3)"} {
		if d, err := ParseDialect(name); d != RFC9309 || err == nil {
			t.Errorf("%q: %v, %v", name, d, err)
		}
	}
}

// Visit-time accepts the usual spellings of a window, and no other number of parts.
func TestWindowsAtTheEdges(t *testing.T) {
	for value, want := range map[string]Window{
		"0000-0000": {0, 0}, "0000-2400": {0, 1440}, "2359-0001": {1439, 1}, "0:00-24:00": {0, 1440}, "6:05-7:59x": {365, 479}, "0600 - 0845 UTC": {360, 525},
		"06:00-0845": {360, 525},
	} {
		if got, ok := parseWindow(value); !ok || got != want {
			t.Errorf("%q: %v, %v, want %v", value, got, ok, want)
		}
	}
	for _, bad := range []string{"", "5", "12", "1:", "12:", "12:0", "12:000-1300", "123-1300", "12345-1300", "2401-0000", "0060-0100", "2500-2600", "0600", "0600-", "0600+0700", "0600-7", "0600-24:01", "-0600", "123:00-1300"} {
		if w, ok := parseWindow(bad); ok {
			t.Errorf("%q: %v", bad, w)
		}
	}
	for n := range 3 {
		g := Parse([]byte("User-agent: *\n"+strings.Repeat("Visit-time: 0600-0845\n", n)), RFC9309).Group("wrenbot")
		if list, ok := g.VisitTime(); len(list) != n || ok != (n > 0) {
			t.Errorf("%d windows: %v, %v", n, list, ok)
		}
	}
}

// Each HTTP status has the outcome of RFC 9309, 2.3.1.
func TestEachStatus(t *testing.T) {
	now := time.Unix(1e9, 0)
	for status := range 1000 {
		want := Verdict{Access: Defer, Reason: Unreachable, Until: now.Add(time.Minute)}
		switch {
		case status == 401 || status == 402 || status == 403 || status == 451:
			want = Verdict{Access: Disallow, Reason: Forbidden}
		case status == 408 || status == 421 || status == 425 || status == 429:
		case status/100 == 4:
			want = Verdict{Access: Allow, Reason: Missing}
		case status/100 == 2:
			want = Verdict{Access: Allow, Reason: NoGroup}
		}
		s := &Snapshot{URL: "https://robots.test/robots.txt", Status: status, Fetched: now}
		if got := s.Group(Policy{Token: "wrenbot"}, now).Match("/"); got != want {
			t.Errorf("%d: %+v, want %+v", status, got, want)
		}
	}
}

// Only an answer with a 2xx status is used as a copy.
func TestOnlyGoodAnswersAreCopies(t *testing.T) {
	now := time.Unix(1e9, 0)
	for _, d := range []Dialect{RFC9309, Google} {
		for _, status := range []int{404, 403, 500} {
			s := &Snapshot{URL: "https://robots.test/robots.txt", Failure: "dns", Fetched: now, Copy: &Snapshot{Status: status, Fetched: now}}
			if v := s.Group(Policy{Dialect: d, Token: "wrenbot"}, now).Match("/"); v.Access != Defer {
				t.Errorf("%v, a copy of %d: %+v", d, status, v)
			}
		}
	}
}

// One wildcard that is longer than the literal decides, even among many shorter wildcards.
func TestTheOnlyLongerWildcard(t *testing.T) {
	var b strings.Builder
	b.WriteString("User-agent: *\nAllow: /some/path\nDisallow: /*a-wildcard-that-is-longer\n")
	for i := range manyWilds {
		fmt.Fprintf(&b, "Disallow: /*%d\n", i)
	}
	asks(t, RFC9309, b.String(), "wrenbot", "/some/path/a-wildcard-that-is-longer disallow 3 \n /some/path/1 allow 2 \n /1 disallow 5 \n /x allow")
}

// Preferences are found for a target in any spelling with the same normal form.
func TestPreferencesOfOtherSpellings(t *testing.T) {
	g := Parse([]byte("User-agent: *\nContent-Usage: /a/b train-ai=n\n"), RFC9309).Group("wrenbot")
	for target, want := range map[string]string{
		"/a/b": "train-ai=n", "a/b": "train-ai=n", "/a/./b": "train-ai=n", "/x/../a/b": "train-ai=n", "/%61/%2e/b": "train-ai=n", "/a": "", "": "", "/x/a/b": "",
	} {
		if got := g.statements(target).String(); got != want {
			t.Errorf("%q: %q, want %q", target, got, want)
		}
	}
}

// A record of dialect Koster1996 begins with its first User-agent line.
func TestKosterRecordsBeginWithTheirFirstName(t *testing.T) {
	for _, before := range []string{"", "User-agent: finchbot\nDisallow: /x\n\n"} {
		f := Parse([]byte(before+"User-agent: wrenbot\nUser-agent: larkbot\nDisallow: /\n"), Koster1996)
		for _, token := range []string{"wrenbot", "larkbot"} {
			g := f.Group(token)
			if g.Line() != 1+strings.Count(before, "\n") || strings.Join(g.Names(), " ") != "wrenbot larkbot" {
				t.Errorf("%s: line %d, %q", token, g.Line(), g.Names())
			}
		}
	}
}

// Both ends of a window belong to it, even if the window spans midnight.
func TestTheEndsOfAWindow(t *testing.T) {
	at := func(h, m, s, n int) time.Time { return time.Date(2026, 3, 4, h, m, s, n, time.UTC) }
	for _, c := range []struct {
		w    Window
		t    time.Time
		want bool
	}{
		{Window{60, 120}, at(0, 59, 59, 999999999), false}, {Window{60, 120}, at(1, 0, 0, 0), true},
		{Window{60, 120}, at(2, 0, 0, 0), true}, {Window{60, 120}, at(2, 0, 0, 1), false},
		{Window{1380, 60}, at(22, 59, 59, 0), false}, {Window{1380, 60}, at(23, 0, 0, 0), true},
		{Window{1380, 60}, at(1, 0, 0, 0), true}, {Window{1380, 60}, at(1, 0, 0, 1), false},
		{Window{60, 60}, at(1, 0, 0, 0), true}, {Window{60, 60}, at(1, 0, 0, 1), false}, {Window{60, 60}, at(0, 59, 0, 0), false},
	} {
		if got := c.w.contains(c.t); got != c.want {
			t.Errorf("%v contains %v: %v", c.w, c.t, got)
		}
	}
}

// A limit of -1 means that there is no bound. A smaller value is ignored.
func TestLimitsOfDirectives(t *testing.T) {
	for arg, want := range map[string]Limit{"-2": {}, "-1": {true, -1}, "0": {true, 0}, "1": {true, 1}, "x": {}, "": {}, "1x": {}} {
		d := MetaDirectives("wrenbot", "robots", "max-snippet:"+arg+", max-video-preview: "+arg)
		if d.MaxSnippet != want || d.MaxVideoPreview != want || d.NoSnippet != (arg == "0") {
			t.Errorf("%q: %+v", arg, d)
		}
	}
}

// Dates in a header are accepted with white space around them.
func TestDatesAreTrimmed(t *testing.T) {
	now := time.Unix(1e9, 0).UTC()
	for _, form := range []string{"Mon, 02 Jan 2006 15:04:05 GMT", time.RFC850, time.ANSIC} {
		s := &Snapshot{Status: 200, Fetched: now, Header: Header{Expires: " \t" + now.Add(2*time.Hour).Format(form) + " "}}
		if got := s.Expires(Policy{}).Sub(now); got != 2*time.Hour {
			t.Errorf("%s: %v", form, got)
		}
	}
}

// A file that contains only a UTF-16 byte order mark counts as UTF-16.
func TestAMarkAlone(t *testing.T) {
	for body, want := range map[string]bool{"\xFF\xFE": true, "\xFE\xFF": true, "\xFF": false, "": false} {
		if f := Parse([]byte(body), RFC9309); f.utf16 != want || f.text != "" && want {
			t.Errorf("%q: UTF-16 %v, text %q", body, f.utf16, f.text)
		}
	}
}

// After today's window the next visit is tomorrow, also at the end of a month.
func TestTheNextVisitIsTomorrow(t *testing.T) {
	g := Parse([]byte("User-agent: *\nVisit-time: 0600-0845\n"), RFC9309).Group("wrenbot")
	for now, want := range map[time.Time]time.Time{
		time.Date(2026, 3, 4, 9, 0, 0, 0, time.UTC):   time.Date(2026, 3, 5, 6, 0, 0, 0, time.UTC),
		time.Date(2026, 12, 31, 9, 0, 0, 0, time.UTC): time.Date(2027, 1, 1, 6, 0, 0, 0, time.UTC),
		time.Date(2026, 3, 4, 5, 0, 0, 0, time.UTC):   time.Date(2026, 3, 4, 6, 0, 0, 0, time.UTC),
		time.Date(2026, 3, 4, 7, 0, 0, 0, time.UTC):   time.Date(2026, 3, 4, 7, 0, 0, 0, time.UTC),
	} {
		if got := g.NextVisit(now); !got.Equal(want) {
			t.Errorf("at %v: %v, want %v", now, got, want)
		}
	}
}

// An error contains at most 200 octets of the URL.
func TestErrorsNameTheURLInShort(t *testing.T) {
	for _, n := range []int{1, 200, 201, 1000} {
		want := fmt.Sprintf("robots: URL %q: w", strings.Repeat("x", min(n, 200))+strings.Repeat("...", min(n/201, 1)))
		if got := (&URLError{URL: strings.Repeat("x", n), Want: "w"}).Error(); got != want {
			t.Errorf("%d octets: %s", n, got)
		}
	}
}

// A repeated key of a dictionary moves to the end.
func TestALaterKeyReplacesAnEarlier(t *testing.T) {
	for value, want := range map[string]string{
		"search=n, bots=y, search=y": "bots=y, search=y", "search=n, search=y": "search=y", "search=n, search=1": "", "search=y, bots=n, search": "bots=n",
	} {
		if got := headerPreferences([]string{value}).String(); got != want {
			t.Errorf("%q: %q, want %q", value, got, want)
		}
	}
}

// A User-agent value that begins with a key is the name of a crawler.
func TestHouseANameThatIsAKey(t *testing.T) {
	asks(t, RFC9309, "User-agent: Disallow: /x\nDisallow: /y\n", "disallow", "/y disallow 2")
}

// Dot segments after a wildcard, which no URL has, are kept. The rule matches no other URL.
func TestHouseDotsAfterAWildcard(t *testing.T) {
	asks(t, RFC9309, "User-agent: *\nDisallow: */a/../b\nDisallow: /x?/a/../b\n", "wrenbot", "/x/b allow \n /b allow \n /x?/b allow \n /x?/a/../b disallow 3")
}

// The linter compares the rules as written. It ignores their other readings.
func TestLintHasOneReading(t *testing.T) {
	for _, p := range Parse([]byte("User-agent: *\nDisallow: /a?x=%26b\nDisallow: /a?x=&b\nDisallow: /c\n"), RFC9309).Problems() {
		t.Errorf("%+v", p)
	}
}

// If a literal and a wildcard match, the longer one decides, for any number of wildcards.
func TestManyWildcardsBesideALiteral(t *testing.T) {
	var b strings.Builder
	b.WriteString("User-agent: *\nAllow: /aaaa/bb\n")
	for i := range manyWilds - 1 {
		fmt.Fprintf(&b, "Disallow: /%c*\n", 'a'+i)
	}
	b.WriteString("Disallow: /aaaa*cccc\n")
	asks(t, RFC9309, b.String(), "wrenbot", "/aaaa/bb allow 2 \n /aaaa/b disallow 3 \n /aaaa/bbcccc disallow 10 \n /b disallow 4 \n /h allow")
	asks(t, RFC9309, b.String()+"Allow: /aaaa/bbcccc\n", "wrenbot", "/aaaa/bbcccc allow 11 \n /aaaa/bcccc disallow 10")
}

// Dialect Google escapes each octet that is not ASCII, including 0x80.
func TestGoogleEscapesWhatIsNotASCII(t *testing.T) {
	asks(t, Google, "User-agent: *\nDisallow: /À\nDisallow: /\x7f\n", "wrenbot", "/%C3%80 disallow 2 \n /\x7f disallow 3 \n /%7F allow")
}

// If the site of the file is unknown, a Disallow with the URL of a whole site is ignored, also
// with a final "*" or "$".
func TestHouseAWholeSite(t *testing.T) {
	asks(t, RFC9309, "User-agent: *\nDisallow: https://other.test/*\nDisallow: https://other.test/$\nDisallow: https://other.test\nDisallow: https://other.test/a*b\n", "wrenbot",
		"/ allow \n /a allow \n /ab disallow 5")
}

// In dialect Koster1996 the first group with one of the names, or with a part of one, applies.
func TestKosterAliasesInOrder(t *testing.T) {
	const file = "User-agent: larkbot\nDisallow: /l\n\nUser-agent: wren\nDisallow: /w\n\nUser-agent: *\nDisallow: /s\n"
	for names, want := range map[string]string{"finchbot": "/s", "finchbot larkbot": "/l", "finchbot oldwren": "/w", "finchbot robin": "/s", "finchbot robin larkbot": "/l"} {
		list := strings.Fields(names)
		g := Parse([]byte(file), Koster1996).Group(list[0], list[1:]...)
		for _, path := range []string{"/l", "/w", "/s"} {
			if got := g.Match(path).Access == Disallow; got != (path == want) {
				t.Errorf("%s, %s: %v", names, path, got)
			}
		}
	}
}

// Sitemaps, hosts and the other lists of values have a largest length.
func TestRecordsAreBounded(t *testing.T) {
	var b strings.Builder
	for i := range 10001 {
		fmt.Fprintf(&b, "Sitemap: https://robots.test/%d.xml\nClean-param: p%d\n", i, i)
	}
	f := Parse([]byte(b.String()), Google)
	if s, p := f.Sitemaps(), f.cleanParams(); len(s) != 10000 || len(p) != 10000 || s[9999] != "https://robots.test/9999.xml" {
		t.Errorf("%d sitemaps, %d parameters", len(s), len(p))
	}
}

// The Copy of a snapshot has no Failures.
func TestACopyHasNotFailed(t *testing.T) {
	now := time.Unix(1e9, 0)
	at := func(status int) *Snapshot {
		return &Snapshot{URL: "https://robots.test/robots.txt", Status: status, Fetched: now, Failures: 7, Since: now}
	}
	good := at(200).After(nil)
	failed := at(503).After(good)
	for _, s := range []*Snapshot{good, failed.Copy, at(503).After(at(200)).Copy, at(503).After(failed).Copy, at(304).After(failed), at(404).After(failed)} {
		if s.Failures != 0 || !s.Since.IsZero() || s.Copy != nil {
			t.Errorf("%+v", s)
		}
	}
	if again := at(503).After(failed); failed.Failures != 1 || again.Failures != 2 {
		t.Errorf("%d and %d failures", failed.Failures, again.Failures)
	}
}

// U+FFFD is an ordinary character, even next to bytes that cannot be decoded.
func TestHouseLatin1BesideAReplacement(t *testing.T) {
	asks(t, RFC9309, "User-agent: *\nDisallow: /\uFFFD\xE9\n", "wrenbot", "/%EF%BF%BD%C3%A9 disallow \n /%EF%BF%BD%E9 disallow \n /%C3%AF%C3%A9 allow")
}

// The "/x/" rule that dialect Google adds for /x/index.html has the length of "/x/$".
func TestGoogleIndexHasALength(t *testing.T) {
	asks(t, Google, "User-agent: *\nAllow: /a/index.html\nDisallow: /a/*\n", "wrenbot", "/a/ allow 2 \n /a/b disallow 3")
	asks(t, Google, "User-agent: *\nAllow: /a/index.html\nDisallow: /a/*$\n", "wrenbot", "/a/ disallow 3")
}

// A repeated "*" group is reported as "*". A Noindex line without a value is left out.
func TestLintNamesAStar(t *testing.T) {
	f := Parse([]byte("User-agent: *\nNoindex:\nNoindex: /a\nDisallow: /a\n\nUser-agent: *\nDisallow: /b\n"), RFC9309)
	said := ""
	for _, p := range f.Problems() {
		if p.Code == "agent-repeated" {
			said += p.Message
		}
	}
	if said != `"*" has a group from line 1 already; the rules of both are combined` {
		t.Error(said)
	}
	if n := f.Group("wrenbot").noindex(); len(n) != 1 || n[0] != "/a" {
		t.Errorf("%q", n)
	}
}

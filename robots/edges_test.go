package robots

import (
	"fmt"
	"strings"
	"testing"
	"time"
)

// Which key a slip is of: less than half of its octets may be wrong, two at most.
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

// What is shown of a piece of a file has 60 octets at most.
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

// The classes of all octets.
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

// Dot segments at the very end of a URL, or all of it.
func TestHouseDotsAlone(t *testing.T) {
	const file = "User-agent: *\nDisallow: /$\nDisallow: /a/$\n"
	asks(t, RFC9309, file, "wrenbot", "/ disallow 2 \n /. disallow 2 \n /.. disallow 2 \n /%2e disallow 2 \n /a/. disallow 3 \n /a/b/.. disallow 3 \n /a/.. disallow 2 \n /a allow \n /.a allow \n /a/.b allow")
}

// One octet of a mark is none.
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

// A name that a limit cuts names nobody, also within the value of another record.
func TestHouseAJoinedNameThatIsCut(t *testing.T) {
	for cut, want := range map[string]string{"": "disallow", "s": "allow"} {
		const head, tail = "User-agent: larkbot", " User-agent: wrenbot"
		line := head + strings.Repeat(" ", MaxLine-len(head)-len(tail)) + tail + cut
		asks(t, RFC9309, line+"\nDisallow: /\n", "wrenbot", "/a "+want)
	}
}

// Equally long paths state together what each of them states.
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
		if got := Parse([]byte("User-agent: *\n"+file), RFC9309).Group("wrenbot").Preferences("/a"); got.String() != want {
			t.Errorf("%q: %q, want %q", file, got, want)
		}
	}
}

// Of previews the smallest counts, in whatever order they are named.
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

// Lists of parameters that have none say nothing.
func TestCleanParamsWithoutAny(t *testing.T) {
	f := Parse([]byte("Clean-param: & /a\nClean-param: &&\nClean-param: a&&b  /x \nClean-param: c\n"), RFC9309)
	if got := fmt.Sprint(f.CleanParams()); got != "[{[a b] /x} {[c] /}]" {
		t.Error(got)
	}
}

// A 304 says anew when to ask again, or that nothing is to be waited for.
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

// Of what is no dialect the plain one is returned.
func TestAnUnknownDialectIsTheZeroOne(t *testing.T) {
	for _, name := range []string{"", "rfc", "Dialect(3)"} {
		if d, err := ParseDialect(name); d != RFC9309 || err == nil {
			t.Errorf("%q: %v, %v", name, d, err)
		}
	}
}

// Windows: how they are written, and how many make one.
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

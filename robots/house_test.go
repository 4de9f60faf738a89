package robots

import (
	"bytes"
	"encoding/binary"
	"strings"
	"testing"
	"unicode/utf16"
)

// The tests in this file are about rules that go beyond RFC 9309, or that decide cases in which it
// leaves a choice. They are marked with the word House. The principle is that an unclear line
// blocks more, never less.

// House: a misspelt key counts for User-agent and Disallow, never for Allow.
func TestHouseMisspeltKeys(t *testing.T) {
	for _, key := range []string{"Dissallow", "dissalow", "disalow", "diasllow", "disallaw", "desallow", "dsallow", "diallow",
		"dssalow", "dis-allow", "disallowed", "Disallow-all"} {
		asks(t, RFC9309, "User-agent: *\n"+key+": /a\n", "wrenbot", "/a disallow")
	}
	for _, key := range []string{"Useragent", "User agent", "User-agents", "user-agnet", "useg-agent", "users-agent", "ser-agent"} {
		asks(t, RFC9309, key+": wrenbot\nDisallow: /a\n", "wrenbot", "/a disallow")
	}
	for _, key := range []string{"Alow", "Allowed", "allow-all", "Allows", "Al low"} {
		asks(t, RFC9309, "User-agent: *\nDisallow: /a\n"+key+": /a/b\n", "wrenbot", "/a/b disallow")
	}
}

// House: a line of exactly two words counts without its colon, except an Allow.
func TestHouseMissingColon(t *testing.T) {
	asks(t, RFC9309, "User-agent wrenbot\nDisallow\t/a\nAllow /a/b\nDisallow /c /d\nDisallow\n", "wrenbot",
		"/a disallow \n /a/b disallow \n /c allow \n /d allow \n /e allow")
}

// House: a missing leading slash is added for Disallow. An Allow without a leading slash is
// ignored.
func TestHouseMissingSlash(t *testing.T) {
	asks(t, RFC9309, "User-agent: *\nDisallow: a\nDisallow: /b\nAllow: b/c\nAllow: /b/d\n", "wrenbot",
		"/a disallow \n /b/c disallow \n /b/d allow \n /x/a allow")
}

// House: an absolute URL in place of a path counts for Disallow if it belongs to
// the site of the file.
func TestHouseAbsoluteURL(t *testing.T) {
	const file = "User-agent: *\nDisallow: https://robots.test/a\nDisallow: http://other.test/\nAllow: https://robots.test/a/b\n"
	g := ParseFor("https://robots.test/robots.txt", []byte(file), RFC9309).Group("wrenbot")
	for target, want := range map[string]Access{"/a": Disallow, "/a/b": Disallow, "/": Allow, "/c": Allow} {
		if v := g.Match(target); v.Access != want {
			t.Errorf("%s: %v", target, v)
		}
	}
	// The name of a site is its ASCII form. A name in Unicode is a different name.
	for host, want := range map[string]Access{"xn--exmple-cua.test": Disallow, "ex\u00e4mple.test": Allow} {
		g := ParseFor("https://xn--exmple-cua.test/robots.txt", []byte("User-agent: *\nDisallow: https://"+host+"/a\n"), RFC9309).Group("wrenbot")
		if v := g.Match("/a"); v.Access != want {
			t.Errorf("%s: %v", host, v)
		}
	}
	// A value that only looks like a URL is a path without its slash.
	asks(t, RFC9309, "User-agent: *\nDisallow: ://x\nDisallow: a/b://y\nDisallow: c?://z\n", "wrenbot",
		"/://x disallow \n /a/b://y disallow \n /c?://z disallow \n /x allow \n /y allow \n /z allow")
	// If the site is unknown, the URL of a whole site is ignored.
	asks(t, RFC9309, file, "wrenbot", "/a disallow \n / allow \n /c allow")
}

// House: bytes that are not UTF-8 are escaped as they are. For Disallow they are also read as
// ISO 8859-1 (RFC 9309, 2.2.2: "Implementors MAY bridge encoding mismatches"). An Allow that is
// not UTF-8 is ignored.
func TestHouseLatin1(t *testing.T) {
	asks(t, RFC9309, "User-agent: *\nDisallow: /caf\xE9\n", "wrenbot",
		"/caf%E9 disallow \n /caf%C3%A9 disallow \n /café disallow \n /cafe allow")
	asks(t, RFC9309, "User-agent: *\nDisallow: /\nAllow: /caf\xE9\n", "wrenbot", "/caf%E9 disallow \n /caf%C3%A9 disallow")
}

// House: a file with a UTF-16 byte order mark is read as UTF-16.
func TestHouseUTF16(t *testing.T) {
	for _, order := range []binary.AppendByteOrder{binary.LittleEndian, binary.BigEndian} {
		var b []byte
		for _, u := range utf16.Encode([]rune("\uFEFFUser-agent: *\r\nDisallow: /caf\u00E9/\U0001F426\r\n")) {
			b = order.AppendUint16(b, u)
		}
		asks(t, RFC9309, string(b), "wrenbot", "/caf%C3%A9/%F0%9F%90%A6 disallow \n /a allow")
		asks(t, RFC9309, string(b[:len(b)-1]), "wrenbot", "/caf%C3%A9/%F0%9F%90%A6 disallow")
	}
}

// House: a NUL ends its line, as in google/robotstxt. An Allow that a NUL cuts is ignored. A
// User-agent line names the text before the NUL.
func TestHouseNUL(t *testing.T) {
	asks(t, RFC9309, "User-agent: *\nDisallow: /a\x00b\nAllow: /a/c\x00d\nDis\x00allow: /e\nDisallow: /f\n", "wrenbot",
		"/a disallow \n /a/c disallow \n /e allow \n /f disallow")
	asks(t, RFC9309, "User-agent: *\nDisallow: /\nAllow: /a # \x00\n", "wrenbot", "/a allow")
	asks(t, RFC9309, "User-agent: *\x00\nDisallow: /a\n", "wrenbot", "/a disallow")
	asks(t, RFC9309, "User-agent: wrenbot\x00\x00\nDisallow: /a\n", "wrenbot", "/a disallow")
}

// House: if a line is longer than maxLine, its beginning counts only if it is a Disallow: it then
// blocks more than the owner wrote. Any other line is ignored.
func TestHouseLineLimit(t *testing.T) {
	line := func(key, path string, n int) string {
		return key + path + strings.Repeat("x", n-len(key)-len(path))
	}
	long := "/a" + strings.Repeat("x", maxLine)
	asks(t, RFC9309, "User-agent: *\n"+line("Disallow: ", "/a", maxLine+1)+"\nDisallow: /b\n", "wrenbot",
		long+" disallow \n /b disallow \n /a allow")
	asks(t, RFC9309, "User-agent: *\nDisallow: /\n"+line("Allow: ", "/a", maxLine)+"\n", "wrenbot", long+" allow")
	asks(t, RFC9309, "User-agent: *\nDisallow: /\n"+line("Allow: ", "/a", maxLine+1)+"\n", "wrenbot", long+" disallow")
	// A User-agent line with a cut name names no crawler, but begins a group.
	name := strings.Repeat("x", maxLine)
	asks(t, RFC9309, "User-agent: wrenbot\nDisallow: /a\nUser-agent: "+name+"\nAllow: /a/b\n", "wrenbot", "/a/b disallow")
	// A cut in a comment does not matter.
	asks(t, RFC9309, "User-agent: *\nDisallow: /\nAllow: /a # "+name+"\n", "wrenbot", "/a allow")
}

// House: a line that is cut because the file is too long is treated like a line that is too long,
// at any position of the cut.
func TestHouseFileLimitInALine(t *testing.T) {
	for _, c := range []struct{ line, want string }{
		{"Disallow: /private/x", "/p disallow"},
		{"Allow: /private/x", "/private/x disallow"},
		{"User-agent: larkbot", "/private/x disallow"},
	} {
		head := "User-agent: *\nDisallow: /priv\n"
		for keep := 1; keep <= len(c.line); keep++ {
			pad := strings.Repeat("#", MaxBytes-len(head)-1-keep) + "\n"
			body := head + pad + c.line
			g := Parse([]byte(body+"\nDisallow: /\n"), RFC9309).Group("wrenbot")
			if v := g.Match("/private/x"); keep < len(c.line) && v.Access != Disallow {
				t.Errorf("%q cut to %q: %v", c.line, c.line[:keep], v)
			}
			if v := g.Match("/zzz"); v.Access != Allow && c.line[:keep] != "Disallow: /" {
				t.Errorf("%q cut to %q: %v", c.line, c.line[:keep], v)
			}
		}
	}
	// A line that ends exactly at the limit is not cut.
	head := "User-agent: *\nDisallow: /a\n"
	last := "Allow: /a/b"
	body := head + strings.Repeat("#", MaxBytes-len(head)-1-len(last)) + "\n" + last
	for _, next := range []string{"", "\nDisallow: /", "\r\nDisallow: /"} {
		asks(t, RFC9309, body+next, "wrenbot", "/a/b allow \n /a disallow")
	}
	asks(t, RFC9309, body+"c", "wrenbot", "/a/b disallow")
}

// House: blanks inside a path are escaped, so that they match the URL as it is
// requested.
func TestHouseBlanksInPaths(t *testing.T) {
	asks(t, RFC9309, "User-agent: *\nDisallow: /a b\tc\n", "wrenbot", "/a%20b%09c disallow \n /a allow")
}

// House: an octet that a URL can contain only escaped matches its escape (RFC
// 3986, 2).
func TestHouseImpossibleOctets(t *testing.T) {
	asks(t, RFC9309, "User-agent: *\nDisallow: /a|b{c}\"\nDisallow: /d%3Ce%3E\n", "wrenbot",
		"/a%7Cb%7Bc%7D%22 disallow \n /a|b{c}\" disallow \n /d<e> disallow")
}

// House: for a Disallow rule the escaped and the plain form of a reserved octet in a query are
// equal, as in the table of RFC 9309, 2.2.2 (/foo/bar?baz=http%3A%2F%2Ffoo.bar), although the text
// of the RFC distinguishes them. For an Allow rule, and in a path, the two forms are different.
func TestHousePoliteUnion(t *testing.T) {
	asks(t, RFC9309, "User-agent: *\nDisallow: /a?u=http://b\nDisallow: /c?u=http%3A%2F%2Fd\nDisallow: /*&sort=\n", "wrenbot", `
/a?u=http://b            disallow 2
/a?u=http%3A%2F%2Fb      disallow 2
/a?u=http%3a//b          disallow 2
/c?u=http://d            disallow 3
/c?u=http%3A%2F%2Fd      disallow 3
/e?x=1%26sort=2          disallow 4
/e%26sort=2              allow`)
	asks(t, RFC9309, "User-agent: *\nDisallow: /\nAllow: /a?u=http://b\n", "wrenbot", "/a?u=http://b allow \n /a?u=http%3A%2F%2Fb disallow")
	asks(t, RFC9309, "User-agent: *\nDisallow: /a?u=:\nAllow: /a?u=%3A\n", "wrenbot", "/a?u=%3A allow \n /a?u=: disallow")
}

// House: dot segments are removed from URLs after decoding, as they are when a
// URL is requested (RFC 3986, 6.2.2.3), so that a URL cannot evade a rule.
func TestHouseDotSegments(t *testing.T) {
	asks(t, RFC9309, "User-agent: *\nDisallow: /secret\nDisallow: /.git\n", "wrenbot", `
/a/../secret         disallow
/a/%2e%2E/secret     disallow
/./secret            disallow
/../secret           disallow
/secret/../b         allow
/a/..%2Fsecret       allow
/a?/../secret        allow
/.git/config         disallow
/a/.                 allow`)
	// Dot segments are also removed from a Disallow, but not from an Allow. An Allow with dot
	// segments matches no URL.
	asks(t, RFC9309, "User-agent: *\nDisallow: /a/../b\nDisallow: /../\nDisallow: /.\n", "wrenbot",
		"/b disallow \n /a allow \n / allow \n /.x disallow")
	asks(t, RFC9309, "User-agent: *\nDisallow: /b\nAllow: /a/../b/c\n", "wrenbot", "/b/c disallow")
}

// House: dot segments after a wildcard or in a query are kept, because the segment before them
// is unknown.
func TestHouseDotSegmentsAfterAWildcard(t *testing.T) {
	asks(t, RFC9309, "User-agent: *\nDisallow: /a/../c*/../d\nDisallow: /e?/../f\nDisallow: /g*/./h\n", "wrenbot", `
/c?/../d     disallow
/c/x/../d    allow
/d           allow
/c           allow
/a/x         allow
/e?/../f     disallow
/f           allow
/g?/./h      disallow
/g/h         allow`)
}

// House: the last code unit of a UTF-16 file counts. It may be a character, the second half of a
// surrogate pair, or the first half of an incomplete pair.
func TestHouseUTF16LastUnit(t *testing.T) {
	for _, order := range []binary.AppendByteOrder{binary.LittleEndian, binary.BigEndian} {
		encode := func(s string, more ...uint16) string {
			var b []byte
			for _, u := range append(utf16.Encode([]rune("\uFEFFUser-agent: *\nDisallow: /a"+s)), more...) {
				b = order.AppendUint16(b, u)
			}
			return string(b)
		}
		asks(t, RFC9309, encode("b"), "wrenbot", "/ab disallow \n /ac allow")
		asks(t, RFC9309, encode("\U0001F426"), "wrenbot", "/a%F0%9F%90%A6 disallow \n /ab allow")
		asks(t, RFC9309, encode("", 0xD83D), "wrenbot", "/a%EF%BF%BD disallow \n /ab allow")
		asks(t, RFC9309, encode("", 0xDC26), "wrenbot", "/a%EF%BF%BD disallow \n /ab allow")
		asks(t, RFC9309, encode("", 0xD83D, 'b'), "wrenbot", "/a%EF%BF%BDb disallow \n /ab allow")
	}
	for _, order := range []binary.AppendByteOrder{binary.LittleEndian, binary.BigEndian} { // without a byte order mark
		file := string(utf16Body("# Zo\u00eb\nUser-agent: *\nDisallow: /a", order)[2:])
		asks(t, RFC9309, file, "wrenbot", "/a disallow \n /b allow")
		asks(t, Google, file, "wrenbot", "/a allow")
	}
	for _, mark := range []string{"\xFF\xFE", "\xFE\xFF", "\xFF\xFEU"} {
		asks(t, RFC9309, mark, "wrenbot", "/a allow")
	}
}

// House: a Disallow that is not UTF-8 counts in all its readings, including those of its query.
func TestHouseLatin1Query(t *testing.T) {
	asks(t, RFC9309, "User-agent: *\nDisallow: /caf\xE9?u=%2Fb\n", "wrenbot", `
/caf%E9?u=%2Fb     disallow
/caf%E9?u=/b       disallow
/caf%C3%A9?u=%2Fb  disallow
/caf%C3%A9?u=/b    disallow
/caf%C3%A9?u=b     allow
/caf?u=/b          allow`)
}

// House: aliases are further names of the same crawler. The groups of all names are combined,
// and together they replace the "*" groups.
func TestHouseAliases(t *testing.T) {
	f := Parse([]byte("User-agent: oldbot\nDisallow: /a\nUser-agent: *\nDisallow: /\nUser-agent: wrenbot\nDisallow: /b\n"), RFC9309)
	g := f.Group("wrenbot", "oldbot")
	for target, want := range map[string]Access{"/a": Disallow, "/b": Disallow, "/c": Allow} {
		if v := g.Match(target); v.Access != want {
			t.Errorf("%s: %v", target, v)
		}
	}
	if v := f.Group("newbot", "oldbot").Match("/c"); v.Access != Allow {
		t.Errorf("alias alone: %v", v)
	}
}

// House: an Allow that is ignored still ends a list of User-agent lines, and so does an empty
// rule.
func TestHouseAnyRuleEndsAgentList(t *testing.T) {
	asks(t, RFC9309, "User-agent: wrenbot\nAllow: x\nUser-agent: larkbot\nDisallow: /\n", "wrenbot", "/a allow")
	asks(t, RFC9309, "User-agent: wrenbot\nDisallow:\nUser-agent: larkbot\nDisallow: /\n", "wrenbot", "/a allow")
}

// The caller may change the body after Parse has returned.
func TestBodyIsCopied(t *testing.T) {
	body := []byte("User-agent: *\nDisallow: /a\n")
	f := Parse(body, RFC9309)
	copy(body, bytes.Repeat([]byte("x"), len(body)))
	if v := f.Group("wrenbot").Match("/a"); v.Access != Disallow || v.Rule.Pattern != "/a" {
		t.Errorf("%+v", v)
	}
}

// Group.Names and Group.Line return the lines of the file that select the group.
func TestGroupNamesAndLine(t *testing.T) {
	f := Parse([]byte("User-agent: larkbot\nUser-agent: WrenBot/1.0\nDisallow: /a\n\nUser-agent: wrenbot\nDisallow: /b\nUser-agent: *\nDisallow:\n"), RFC9309)
	for _, c := range []struct {
		token string
		line  int
		names string
	}{
		{"wrenbot", 2, "WrenBot/1.0 wrenbot"},
		{"larkbot", 1, "larkbot"},
		{"finchbot", 7, "*"},
	} {
		g := f.Group(c.token)
		if got := strings.Join(g.Names(), " "); g.Line() != c.line || got != c.names {
			t.Errorf("%s: line %d, names %q, want %d, %q", c.token, g.Line(), got, c.line, c.names)
		}
	}
	if g := Parse(nil, RFC9309).Group("wrenbot"); g.Line() != 0 || g.Names() != nil {
		t.Errorf("no group: %d, %q", g.Line(), g.Names())
	}
}

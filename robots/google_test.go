package robots

import (
	"strings"
	"testing"
)

// Dialect Google gives the verdicts of google/robotstxt, byte for byte. These tests cover the
// differences from RFC9309. The vectors cover the rest.

// Keys are compared by their beginning. Five misspellings of disallow and two of user-agent are
// accepted.
func TestGoogleKeys(t *testing.T) {
	for _, key := range []string{"disallow", "disallow-foo", "Dissallow", "dissalow", "DISALOW", "diasllow", "disallaw", "disallowed"} {
		asks(t, Google, "User-agent: *\n"+key+": /a\n", "wrenbot", "/a disallow")
	}
	for _, key := range []string{"desallow", "dsallow", "diallow", "dis-allow", "xdisallow"} {
		asks(t, Google, "User-agent: *\n"+key+": /a\n", "wrenbot", "/a allow")
	}
	for _, key := range []string{"user-agent", "user-agent-x", "User-Agents", "useragent", "user agent"} {
		asks(t, Google, key+": wrenbot\nDisallow: /a\n", "wrenbot", "/a disallow")
	}
	for _, key := range []string{"agent", "ser-agent", "user_agent"} {
		asks(t, Google, key+": wrenbot\nDisallow: /a\n", "wrenbot", "/a allow")
	}
	asks(t, Google, "User-agent: *\nDisallow: /a\nallowed: /a/b\nalow: /a/c\n", "wrenbot", "/a/b allow \n /a/c disallow")
}

// Escapes are not decoded. Only the rule is changed: its hexadecimal digits become upper case, and
// its non-ASCII octets are escaped.
func TestGoogleDoesNotDecode(t *testing.T) {
	asks(t, Google, "User-agent: *\nDisallow: /%6a\nDisallow: /caf\xC3\xA9\nDisallow: /x%2A\nDisallow: /b c\nDisallow: /%aa\nDisallow: /caf\xE9\n", "wrenbot", `
/j          allow
/%6A        disallow
/%6a        allow
/caf%C3%A9  disallow
/caf%c3%a9  allow
/café       allow
/x*         allow
/x%2A       disallow
/b%20c      allow
/%AA        disallow
/caf%E9     disallow
/./caf%C3%A9 allow`)
}

// "*" and "$" in a URL are not escaped before the comparison.
func TestGoogleSpecialCharactersInURL(t *testing.T) {
	asks(t, Google, "User-agent: *\nDisallow: /a$$\nDisallow: /b$*\nDisallow: /c*$\n", "wrenbot",
		"/a$ disallow \n /a allow \n /b$x disallow \n /b allow \n /cc disallow")
	asks(t, Google, "User-agent: *\nDisallow: $\nDisallow: a\nDisallow: https://robots.test/b\n", "wrenbot", "/ allow \n /a allow \n /b allow")
}

// The length of a pattern is the length of its escaped text, including "*" and "$".
func TestGooglePriority(t *testing.T) {
	asks(t, Google, "User-agent: *\nAllow: /a****\nDisallow: /abc\nDisallow: /ツ\nAllow: /%E3*abc\n", "wrenbot", "/abc allow \n /%E3%83%84abc disallow")
}

// An Allow of /x/index.htm, with any text after it, also allows /x/.
func TestGoogleIndexHTML(t *testing.T) {
	for _, name := range []string{"index.htm", "index.html", "index.html5"} {
		asks(t, Google, "User-agent: *\nDisallow: /\nAllow: /open/"+name+"\n", "wrenbot", "/open/ allow 3 \n /open/x disallow \n /open disallow")
	}
	asks(t, Google, "User-agent: *\nDisallow: /open/index.html\n", "wrenbot", "/open/ allow")
	asks(t, Google, "User-agent: *\nAllow: /*/index.html\nDisallow: /a\n", "wrenbot", "/a/ allow \n /a/b disallow \n /a/b/ allow")
	asks(t, RFC9309, "User-agent: *\nDisallow: /\nAllow: /open/index.html\n", "wrenbot", "/open/ disallow")
}

// The library disallows /robots.txt like any other path. Its callers make the exception.
func TestGoogleRobotsFile(t *testing.T) {
	asks(t, Google, "User-agent: *\nDisallow: /\n", "wrenbot", "/robots.txt disallow 2")
}

// The first 16,663 bytes of any line are used.
func TestGoogleLineLimit(t *testing.T) {
	pad := strings.Repeat("x", maxLine)
	asks(t, Google, "User-agent: *\nDisallow: /\nAllow: /a"+pad+"\n", "wrenbot", "/a"+pad+" allow \n /ax disallow")
	kept := pad[:maxLine-len("Allow: /a")]
	asks(t, Google, "User-agent: *\nDisallow: /\nAllow: /a"+pad+"\n", "wrenbot", "/a"+kept+" allow \n /a"+kept[1:]+" disallow")
}

// A NUL ends a line, and also the path of a URL.
func TestGoogleNUL(t *testing.T) {
	asks(t, Google, "User-agent: *\nDisallow: /a\x00b\nDis\x00allow: /c\n", "wrenbot", "/ab disallow \n /c allow")
	asks(t, Google, "User-agent: *\nDisallow: /a$\n", "wrenbot", "/a\x00b disallow")
}

// A group that names the crawler replaces the "*" groups, even if it also has other names.
func TestGoogleGroups(t *testing.T) {
	const file = `allow: /pre/

user-agent: Wren
disallow: /
allow: /x/
user-agent: Finch
disallow: /
allow: /y/


allow: /w/
user-agent: Lark

user-agent: Wren
allow: /z/
disallow: /
`
	asks(t, Google, file, "Wren", "/x/b allow \n /z/d allow \n /y/c disallow")
	asks(t, Google, file, "Finch", "/y/c allow \n /w/a allow \n /z/d disallow \n /pre/ disallow")
	asks(t, Google, file, "Lark", "/z/d allow \n /x/b disallow")
	asks(t, Google, file, "Dove", "/ allow")
}

// The library cannot read a file in UTF-16.
func TestGoogleUTF16(t *testing.T) {
	asks(t, Google, "\xFF\xFEU\x00s\x00e\x00r\x00-\x00a\x00g\x00e\x00n\x00t\x00:\x00*\x00\n\x00D\x00i\x00s\x00a\x00l\x00l\x00o\x00w\x00:\x00/\x00", "wrenbot", "/a allow")
}

// The library does not limit the length of a file.
func TestGoogleNoFileLimit(t *testing.T) {
	asks(t, Google, "User-agent: *\n"+strings.Repeat("#\n", MaxBytes/2)+"Disallow: /a\n", "wrenbot", "/a disallow")
}

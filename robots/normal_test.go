package robots

import (
	"strings"
	"testing"
)

// Examples of the normal form of RFC 9309, for a target and for a pattern.
func TestNormalForm(t *testing.T) {
	for _, c := range []struct{ in, target, pattern string }{
		{"/a-b_c.d~e", "/a-b_c.d~e", "/a-b_c.d~e"},
		{"/%61%7e%2d", "/a~-", "/a~-"},
		{"/%2f%3A%c3%a9", "/%2F%3A%C3%A9", "/%2F%3A%C3%A9"},
		{"/:@!&'()+,;=[]?/?", "/:@!&'()+,;=[]?/?", "/:@!&'()+,;=[]?/?"},
		{"/é\xE9 \t\x00\x7F", "/%C3%A9%E9%20%09%00%7F", "/%C3%A9%E9%20%09%00%7F"},
		{"/\"<>\\^`{|}", "/%22%3C%3E%5C%5E%60%7B%7C%7D", "/%22%3C%3E%5C%5E%60%7B%7C%7D"},
		{"/*$a", "/%2A%24a", "/*%24a"},
		{"/%2a%24", "/%2A%24", "/%2A%24"},
		{"/%zz%2%", "/%zz%2%", "/%zz%2%"},
		// A decoded octet never becomes part of an escape.
		{"/%2561", "/%2561", "/%2561"},
		{"/%%36%31", "/%%361", "/%%361"},
		{"/%%32%46", "/%%32F", "/%%32F"},
		{"/%a%31", "/%a%31", "/%a%31"},
		{"/%%2%30", "/%%2%30", "/%%2%30"},
		{"/%g%61%61", "/%gaa", "/%gaa"},
		{"/%%7E%61", "/%~a", "/%~a"},
		{"/%%20%61", "/%%20a", "/%%20a"},
	} {
		if got := string(appendNormal(nil, c.in, false)); got != c.target {
			t.Errorf("target %q: %q, want %q", c.in, got, c.target)
		}
		if got := string(appendNormal(nil, c.in, true)); got != c.pattern {
			t.Errorf("pattern %q: %q, want %q", c.in, got, c.pattern)
		}
	}
}

// The examples of RFC 3986, 5.2.4.
func TestRemoveDots(t *testing.T) {
	for _, c := range []struct{ in, whole, open string }{
		{"/a/b/c/./../../g", "/a/g", "/a/g"},
		{"/mid/content=5/../6", "/mid/6", "/mid/6"},
		{"/", "/", "/"},
		{"/.", "/", "/."},
		{"/..", "/", "/.."},
		{"/../..", "/", "/.."},
		{"/a/.", "/a/", "/a/."},
		{"/a/..", "/", "/a/.."},
		{"/a/../", "/", "/"},
		{"/.a/..b/.../c", "/.a/..b/.../c", "/.a/..b/.../c"},
		{"//a//../b", "//a/b", "//a/b"},
		{"/a/../b?/../c", "/b?/../c", "/b?/../c"},
		{"/a?", "/a?", "/a?"},
	} {
		if got := string(removeDots([]byte(c.in), true)); got != c.whole {
			t.Errorf("%q: %q, want %q", c.in, got, c.whole)
		}
		if got := string(removeDots([]byte(c.in), false)); got != c.open {
			t.Errorf("%q, open: %q, want %q", c.in, got, c.open)
		}
	}
}

// The search for octets that must be changed reads eight octets at a time. It must find such an
// octet at any position in them.
func TestEachOffsetOfTheScan(t *testing.T) {
	for length := range 33 {
		for at := range length {
			for _, c := range []byte{'%', '*', '$', ' ', '"', 0x7F, 0x80, 0xFF} {
				s := []byte(strings.Repeat("a", length))
				s[at] = c
				if want := classes[c]; classesOf(string(s))&want != want || isNormal(string(s)) {
					t.Errorf("%q at %d of %d is not seen", c, at, length)
				}
			}
			// Test the same with a verdict: %62 is an escaped "b".
			path := "/" + strings.Repeat("a", at)
			asks(t, RFC9309, "User-agent: *\nDisallow: "+path+"b"+strings.Repeat("a", length-at)+"\n", "wrenbot",
				path+"%62"+strings.Repeat("a", length-at)+" disallow \n "+path+"%63"+strings.Repeat("a", length-at)+" allow")
			asks(t, RFC9309, "User-agent: *\nDisallow: "+path+"%62"+strings.Repeat("a", length-at)+"\n", "wrenbot",
				path+"b"+strings.Repeat("a", length-at)+" disallow \n "+path+"c allow")
		}
		if s := strings.Repeat("a", length); classesOf(s)&^unreserved != 0 || !isNormal(s) {
			t.Errorf("%q is normal", s)
		}
	}
}

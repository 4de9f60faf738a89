package robots

import (
	"strings"
	"testing"
)

// stated returns whether a use is granted, and whether any statement is about the use. If there
// are several statements, the most restrictive counts. The labels "ai-train" (Content-Signal) and
// "train-ai" (Content-Usage) stand for the same use.
func (p preferenceList) stated(use string) (granted, stated bool) {
	granted = true
	for _, s := range p {
		if sameUse(s.Use, use) {
			stated = true
			granted = granted && s.Granted
		}
	}
	return granted && stated, stated
}

// String returns the statements in the form of a Content-Usage field, for
// example "train-ai=n, search=y", or "" if there are none.
func (p preferenceList) String() string {
	var b strings.Builder
	for i, s := range p {
		if i > 0 {
			b.WriteString(", ")
		}
		b.WriteString(s.Use)
		if s.Granted {
			b.WriteString("=y")
		} else {
			b.WriteString("=n")
		}
	}
	return b.String()
}

func sameUse(a, b string) bool {
	canonical := func(use string) string {
		if equalFold(use, "train-ai") {
			return "ai-train"
		}
		return use
	}
	return equalFold(canonical(a), canonical(b))
}

// statements returns the statements of all lines of the group about the use of target.
func (g *Group) statements(target string) preferenceList {
	return append(g.preferences(usageLine, target), g.preferences(signalLine, target)...)
}

// The example of draft-ietf-aipref-attach: the longest matching path decides, and
// each crawler has its own group.
func TestContentUsage(t *testing.T) {
	f := Parse([]byte(`User-Agent: *
Allow: /
Disallow: /never/
Content-Usage: / train-ai=n
Content-Usage: /ai-ok/ train-ai=y

User-Agent: wrenbot
Allow: /
Content-Usage: train-ai=y
`), RFC9309)
	for _, c := range []struct{ agent, target, want string }{
		{"larkbot", "/test", "train-ai=n"},
		{"larkbot", "/ai-ok/test", "train-ai=y"},
		{"larkbot", "/%61i-ok/test", "train-ai=y"},
		{"wrenbot", "/test", "train-ai=y"},
	} {
		if got := f.Group(c.agent).statements(c.target).String(); got != c.want {
			t.Errorf("%s %s: %q, want %q", c.agent, c.target, got, c.want)
		}
	}
	if v := f.Group("larkbot").Match("/never/x"); v.Access != Disallow {
		t.Errorf("%v", v)
	}
}

// Statements for equal paths are combined, and the most restrictive counts. A dictionary that
// cannot be parsed states nothing.
func TestPreferencesCombine(t *testing.T) {
	g := Parse([]byte(`User-agent: *
Content-Usage: / train-ai=y, search=y
Content-Usage: / train-ai=n
Content-Usage: / train-ai=n search=n
Content-Usage: /p* bots=y;x=1, other="n", search=n, search=y
Content-Signal: search=yes, ai-input=no, AI-Train = NO, x=maybe
Content-Signal: /q search=no
`), RFC9309).Group("wrenbot")
	for _, c := range []struct {
		target, use     string
		granted, stated bool
	}{
		{"/", "train-ai", false, true},
		{"/", "ai-train", false, true},
		{"/", "search", true, true},
		{"/", "ai-input", false, true},
		{"/", "x", false, false},
		{"/", "other", false, false},
		{"/p", "bots", true, true},
		{"/p", "search", true, true}, // the later of two equal keys of a dictionary counts
		{"/p", "other", false, false},
		{"/q", "search", false, true},
	} {
		granted, stated := g.statements(c.target).stated(c.use)
		if granted != c.granted || stated != c.stated {
			t.Errorf("%s %s: %v, %v, want %v, %v (%v)", c.target, c.use, granted, stated, c.granted, c.stated, g.statements(c.target))
		}
	}
}

// Preferences never change the access, and never end a list of User-agent lines.
func TestPreferencesAreNoRules(t *testing.T) {
	asks(t, RFC9309, "User-agent: wrenbot\nContent-Usage: train-ai=n\nContent-Signal: search=no\nUser-agent: larkbot\nDisallow: /a\n", "wrenbot", "/a disallow \n /b allow")
}

func TestHeaderPreferences(t *testing.T) {
	for _, c := range []struct {
		values []string
		want   string
	}{
		{nil, ""},
		{[]string{"train-ai=n"}, "train-ai=n"},
		{[]string{"train-ai=n, search=y"}, "train-ai=n, search=y"},
		{[]string{"train-ai=n", "search=y"}, "train-ai=n, search=y"},
		{[]string{"train-ai=n", "search="}, ""},
		{[]string{"train-ai=n,"}, ""},
		{[]string{"Train-AI=n"}, ""},
		{[]string{"train-ai=yes, search"}, ""},
	} {
		if got := headerPreferences(c.values).String(); got != c.want {
			t.Errorf("%q: %q, want %q", c.values, got, c.want)
		}
	}
	if p := headerPreferences([]string{"train-ai=n"}); len(p) != 1 || p[0].Line != 0 {
		t.Errorf("a header has no lines: %+v", p)
	}
}

// parseDictionary accepts the dictionaries of RFC 9651, 3.2 and 4.2.2.
func TestDictionary(t *testing.T) {
	for _, ok := range []string{"", " ", "a", "a=1", "a=-1.5", "a=b", "a=*b/c:d", `a="x\"\\y"`, "a=:YWJj:", "a=?1", "a=@1659578233", `a=%"f%c3%bc"`,
		`a="~ !"`, `a=%"~ !"`, `a=%"%41"`, "a=123456789012345", "a=123456789012.1", "a=1.123", "a=0.0", "a=-0", "a=?0", "a=:+/=09azAZ:", "a=::", `a=""`, `a=%""`,
		"a=(1 b \"c\")", "a=()", "a=( 1 );x;y=2", "a;b=c", "a; b=c;  d", "a=b!", "a=b/:~|`_^.-+*'&%$#!", "a=A", "a=Zz", "*a_-.*=1", "a=1 ,\tb=2", "a=(a;x b)"} {
		if !parseDictionary(ok, func(string, string) {}) {
			t.Errorf("%q is refused", ok)
		}
	}
	for _, bad := range []string{",", "a,", "a,,b", "A", "a=", "a = b", "a=1.", "a=1.2345", "a=-", "a=1234567890123456", "a=1234567890123.1", `a="x`, `a="\x"`,
		"a=\"\x7f\"", "a=\"\x1f\"", "a=%\"\x7f\"", "a=%\"\x1f\"", `a=%"%4"`, `a=%"`, `a="`, `a="\`, "a=?", "a=&", "a=/b", "a=1234567890123.12", "a=1.1.1", "a=:YW", "a=:Y-:", "a=?2", "a=@1.5", "a=@", `a=%"%zz"`, `a=%"x`, `a=%x`, "a=:x", "a=(1", "a=(1,2)", "a=(1\"x\")", "a;", "a;B", "a;b=", "a b", "a=b c", "é", "a=("} {
		if parseDictionary(bad, func(string, string) {}) {
			t.Errorf("%q is accepted", bad)
		}
	}
}

func TestOtherRecords(t *testing.T) {
	f := ParseFor("https://robots.test/robots.txt", []byte(`Sitemap: https://robots.test/a.xml
User-agent: *
Disallow: /x
Noindex: /n
Sitemap: /b.xml
site-map: c.xml
Sitemap: //cdn.test/d.xml
Sitemap:
Sitemap: https://robots.test/a.xml
Host: www.robots.test
Clean-param: ref&sid /forum/
Clean-param: utm
Clean-param:
License: https://robots.test/license.xml
`), RFC9309)
	same := func(what string, got []string, want ...string) {
		t.Helper()
		if len(got) != len(want) {
			t.Errorf("%s: %q, want %q", what, got, want)
			return
		}
		for i := range got {
			if got[i] != want[i] {
				t.Errorf("%s: %q, want %q", what, got, want)
			}
		}
	}
	same("sitemaps", f.Sitemaps(), "https://robots.test/a.xml", "https://robots.test/b.xml", "https://robots.test/c.xml", "https://cdn.test/d.xml")
	same("hosts", f.hosts(), "www.robots.test")
	same("licenses", f.licenses(), "https://robots.test/license.xml")
	same("noindex", f.Group("wrenbot").noindex(), "/n")
	params := f.cleanParams()
	if len(params) != 2 || params[0].Path != "/forum/" || len(params[0].Params) != 2 || params[1].Path != "/" || params[1].Params[0] != "utm" {
		t.Errorf("clean params %+v", params)
	}
	same("raw sitemaps", Parse([]byte("Sitemap: b.xml"), RFC9309).Sitemaps(), "b.xml")
}

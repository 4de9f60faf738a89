package robots

import (
	"errors"
	"fmt"
	"strings"
	"testing"
)

// Locate returns /robots.txt with the same scheme, host and effective port (RFC 9309, 2.3; the
// table on Google's page).
func TestLocate(t *testing.T) {
	for rawURL, want := range map[string]string{
		"https://example.com/folder/file":           "https://example.com/robots.txt",
		"https://example.com":                       "https://example.com/robots.txt",
		"https://example.com?q":                     "https://example.com/robots.txt",
		"https://example.com#f":                     "https://example.com/robots.txt",
		"https://example.com;p":                     "https://example.com/robots.txt",
		"http://example.com/":                       "http://example.com/robots.txt",
		"https://www.example.com/":                  "https://www.example.com/robots.txt",
		"https://example.com/robots.txt":            "https://example.com/robots.txt",
		"https://example.com/a/robots.txt":          "https://example.com/robots.txt",
		"ftp://example.com/pub":                     "ftp://example.com/robots.txt",
		"https://example.com:443/":                  "https://example.com/robots.txt",
		"http://example.com:80/":                    "http://example.com/robots.txt",
		"ftp://example.com:21/":                     "ftp://example.com/robots.txt",
		"https://example.com:0443/":                 "https://example.com/robots.txt",
		"https://example.com:/":                     "https://example.com/robots.txt",
		"https://example.com:80/":                   "https://example.com:80/robots.txt",
		"http://example.com:443/":                   "http://example.com:443/robots.txt",
		"https://example.com:8181/":                 "https://example.com:8181/robots.txt",
		"HTTPS://Example.COM/A":                     "https://example.com/robots.txt",
		"https://ex%61mple.com/":                    "https://example.com/robots.txt",
		"https://example.com./":                     "https://example.com/robots.txt",
		"https://user:pa@ss@example.com/":           "https://example.com/robots.txt",
		"https://@example.com/":                     "https://example.com/robots.txt",
		"https://xn--exmple-cua.com/":               "https://xn--exmple-cua.com/robots.txt",
		"https://www.exämple.com/":                  "https://www.exämple.com/robots.txt",
		"https://a_b.example.com/":                  "https://a_b.example.com/robots.txt",
		"https://212.96.82.21/":                     "https://212.96.82.21/robots.txt",
		"https://[2001:DB8:0:0::1]/":                "https://[2001:db8::1]/robots.txt",
		"https://[2001:db8::1]:8443/":               "https://[2001:db8::1]:8443/robots.txt",
		"https://[2001:db8::1]:443":                 "https://[2001:db8::1]/robots.txt",
		"https://example.com/100%zz?%":              "https://example.com/robots.txt",
		"https://example.com\\@other.test/":         "https://example.com/robots.txt",
		"http://example.com/redirect?u=http://x:y/": "http://example.com/robots.txt",
	} {
		if got, err := Locate(rawURL); err != nil || got != want {
			t.Errorf("%q: %q, %v, want %q", rawURL, got, err, want)
		}
	}
}

// For a URL to which no robots.txt applies, Locate returns a *URLError with the expected form.
func TestLocateErrors(t *testing.T) {
	for rawURL, want := range map[string]string{
		"":                                 "absolute",
		"/a/b":                             "absolute",
		"a/b":                              "absolute",
		"//example.com/":                   "absolute",
		"?q=http://example.com/":           "absolute",
		"example.com":                      "absolute",
		"example.com:80/":                  "scheme",
		"mailto:a@example.com":             "scheme",
		"javascript:alert(1)":              "scheme",
		"file:///etc/passwd":               "scheme",
		"ws://example.com/":                "scheme",
		"https:example.com":                "//",
		"https:/example.com":               "//",
		"https:///a":                       "host",
		"https://":                         "host",
		"https://:80/":                     "host",
		"https://user@/":                   "host",
		"https://exa mple.com/":            "host",
		"https://exa%20mple.com/":          "host",
		"https://exa%00mple.com/":          "host",
		"https://exa%2Fmple.com/":          "host",
		"https://example..com/":            "host",
		"https://example.com../":           "host",
		"https://.example.com/":            "host",
		"https://example.com:x/":           "port",
		"https://example.com:-1/":          "port",
		"https://example.com:65536/":       "port",
		"https://example.com:80:80/":       "port",
		"https://[2001:db8::1/":            "IPv6",
		"https://[example]/":               "IPv6",
		"https://[1.2.3.4]/":               "IPv6",
		"https://[2001:db8::1]x/":          "IPv6",
		strings.Repeat("x", 10000) + "://": "scheme",
	} {
		got, err := Locate(rawURL)
		var e *URLError
		if !errors.As(err, &e) || got != "" || e.URL != rawURL {
			t.Errorf("%q: %q, %v, want a *URLError", rawURL, got, err)
		} else if !strings.Contains(err.Error(), want) || len(err.Error()) > 400 {
			t.Errorf("%q: %v, want a word about %q", rawURL, err, want)
		}
	}
}

// Locate refuses characters that a host name cannot contain, escaped or not.
func TestLocateRefusesCharactersOfNames(t *testing.T) {
	for c := range 256 {
		bad := c <= ' ' || c == 0x7F || strings.IndexByte("\"#%/:<>?@[\\]^`{|}", byte(c)) >= 0
		raw := fmt.Sprintf("http://a%%%02xb.test/", c)
		if got, err := Locate(raw); (err != nil) != bad {
			t.Errorf("%s: %q, %v", raw, got, err)
		}
	}
}

func TestLocateIsStable(t *testing.T) {
	for _, rawURL := range []string{"https://example.com:0443/", "https://[::FFFF:1.2.3.4]/", "http://EX.test:080", "https://exämple.com./"} {
		once, err := Locate(rawURL)
		if err != nil {
			t.Fatal(err)
		}
		if twice, err := Locate(once); err != nil || twice != once {
			t.Errorf("%q: %q, then %q, %v", rawURL, once, twice, err)
		}
	}
}

// Target returns the path and query of the raw string in the form that a request has.
func TestTarget(t *testing.T) {
	for rawURL, want := range map[string]string{
		"https://example.com":                "/",
		"https://example.com/":               "/",
		"https://example.com/a/b?c=d&e#f":    "/a/b?c=d&e",
		"https://example.com?q":              "/?q",
		"https://example.com;p":              "/;p",
		"https://example.com#/a":             "/",
		"https://example.com/#a":             "/",
		"https://example.com/a;b=1?c":        "/a;b=1?c",
		"https://example.com/100%zz?%":       "/100%zz?%",
		"https://example.com/%C3%A9/é b":     "/%C3%A9/é b",
		"https://example.com/a/../b/./c":     "/a/../b/./c",
		"https://example.com//a":             "//a",
		"https://example.com/http://x/y":     "/http://x/y",
		"https://example.com/a?u=http://x#y": "/a?u=http://x",
		"mailto://x/y":                       "/y",
		"https:///a":                         "/a",
		"https://?q":                         "/?q",
		"//example.com/a":                    "/a",
		"//example.com":                      "/",
		"/a?b#c":                             "/a?b",
		"/":                                  "/",
		"/http://x":                          "/http://x",
	} {
		if got, err := Target(rawURL); err != nil || got != want {
			t.Errorf("%q: %q, %v, want %q", rawURL, got, err, want)
		}
	}
	for _, rawURL := range []string{"", "a", "a/b", "?q", "#f", "example.com/a", "a?u=http://x/", "mailto:a@b", "://x/y"} {
		got, err := Target(rawURL)
		var e *URLError
		if !errors.As(err, &e) || got != "" {
			t.Errorf("%q: %q, %v, want a *URLError", rawURL, got, err)
		}
	}
}

func TestCheckToken(t *testing.T) {
	for _, token := range []string{"wrenbot", "Wren-Bot", "wren_bot", "a", "-", "_"} {
		if err := CheckToken(token); err != nil {
			t.Errorf("%q: %v", token, err)
		}
	}
	for token, want := range map[string]string{
		"": "empty", "wren2": `'2'`, "wren bot": `' '`, "wrenbot/1.0": `'/'`, "*": `'*'`, "wrenböt": `'ö'`, "Kiwi\u212A": "'\u212A'", "a\xFF": "'\uFFFD'",
	} {
		err := CheckToken(token)
		var e *tokenError
		if !errors.As(err, &e) || e.Token != token || !strings.Contains(err.Error(), want) || !strings.Contains(err.Error(), "letters a-z A-Z") {
			t.Errorf("%q: %v, want a *tokenError with %q", token, err, want)
		}
	}
}

// Dialect Koster1996 accepts the tokens of HTTP/1.0: visible ASCII without its special
// characters.
func TestCheckTokenOf1996(t *testing.T) {
	for c := range 256 {
		token := "a" + string([]byte{byte(c)}) + "b"
		want := c > ' ' && c < 0x7F && !strings.ContainsRune(`()<>@,;:\"/[]?={}`, rune(c))
		err := Koster1996.CheckToken(token)
		if (err == nil) != want {
			t.Errorf("%q: %v", token, err)
		}
		var e *tokenError
		if !want && (!errors.As(err, &e) || e.Dialect != Koster1996 || !strings.Contains(err.Error(), "visible ASCII") || !strings.Contains(err.Error(), fmt.Sprintf("%q", []rune(token)[1]))) {
			t.Errorf("%q: %v", token, err)
		}
	}
	for _, d := range []Dialect{RFC9309, Google} {
		if d.CheckToken("bot2") == nil || d.CheckToken("wren-bot_") != nil {
			t.Errorf("%v", d)
		}
	}
	if err := Koster1996.CheckToken(""); err == nil || !strings.Contains(err.Error(), "empty") {
		t.Error(err)
	}
	asks(t, Koster1996, "User-agent: bot2\nDisallow: /a\n\nUser-agent: *\nDisallow: /b\n", "bot2", "/a disallow \n /b allow")
	if s := (&tokenError{Token: "fine"}).Error(); s != `robots: bad product token "fine"` {
		t.Error(s)
	}
}

// The "*" groups apply to a token that no group can name.
func TestInvalidTokenGetsStar(t *testing.T) {
	const file = "User-agent: wren\nDisallow: /a\nUser-agent:\nDisallow: /c\nUser-agent: *\nDisallow: /b\n"
	for _, token := range []string{"", "wren2", "*", "wren/1.0", "\x00"} {
		asks(t, RFC9309, file, token, "/a allow \n /b disallow \n /c allow")
		asks(t, Google, file, token, "/a allow \n /b disallow \n /c allow")
	}
}

func TestDialectNames(t *testing.T) {
	for _, d := range []Dialect{RFC9309, Google, Koster1996} {
		if got, err := ParseDialect(strings.ToUpper(d.String())); err != nil || got != d {
			t.Errorf("%v: %v, %v", d, got, err)
		}
	}
	if _, err := ParseDialect("bing"); err == nil || !strings.Contains(err.Error(), "koster1996") {
		t.Errorf("%v", err)
	}
	var zero Verdict
	if zero.Allowed() || zero.Access.String() != "defer" || zero.Reason.String() != "unknown" {
		t.Errorf("the zero verdict is %+v", zero)
	}
}

package frontier

import (
	"errors"
	"fmt"
	"strings"
	"testing"
)

func TestParseURL(t *testing.T) {
	for _, tc := range []struct{ raw, want string }{
		{"http://Example.ORG", "http://example.org/"},
		{"  https://example.org:443/a\t\n", "https://example.org/a"},
		{"http://example.org:80", "http://example.org/"},
		{"http://example.org:8080/x", "http://example.org:8080/x"},
		{"http://example.org:08080/x", "http://example.org:8080/x"},
		{"http://user:secret@example.org/", "http://example.org/"},
		{"http://example.org./", "http://example.org/"},
		{"http://example.org/a/./b/../c", "http://example.org/a/c"},
		{"http://example.org/a/%2e%2E/c", "http://example.org/c"},
		{"http://example.org/..", "http://example.org/"},
		{"http://example.org/a/..", "http://example.org/"},
		{"http://example.org/a/.", "http://example.org/a/"},
		{"http://example.org//a//", "http://example.org//a//"},
		{`http:\\example.org\a`, "http://example.org/a"},
		{"http://example.org/a b?c d", "http://example.org/a%20b?c%20d"},
		{"http://example.org/café?q=ü", "http://example.org/caf%C3%A9?q=%C3%BC"},
		{"http://example.org/%zz", "http://example.org/%zz"},
		{"http://example.org?q", "http://example.org/?q"},
		{"http://example.org/?", "http://example.org/?"},
		{"http://example.org/#top", "http://example.org/"},
		{"http://example.org/?b=2&a=1", "http://example.org/?b=2&a=1"},
		{"http://bücher.example/", "http://xn--bcher-kva.example/"},
		{"http://a_b.example/", "http://a_b.example/"},
		{"http://[::1]:8080/", "http://[::1]:8080/"},
		{"http://[2001:DB8:0::1]/", "http://[2001:db8::1]/"},
		{"http://127.0.0.1/", "http://127.0.0.1/"},
		{"ftp://example.org:21/a;type=i", "ftp://example.org/a;type=i"},
		{"http://ex%61mple.org/", "http://example.org/"},
		{"http://%65xample.org/", "http://example.org/"},
		{"http://example.or%67/", "http://example.org/"},
		{"http://ab" + strings.Repeat("\u00ad", 511) + "/", "http://ab/"},
		{"HTTP://example.org/A", "http://example.org/A"},
		{"http://example.org/\x7f~?\x7f~", "http://example.org/%7F~?%7F~"},
		{"https:example.org", "https://example.org/"},
		{`https:\example.org/a`, "https://example.org/a"},
		{"http:example.org:8080?q", "http://example.org:8080/?q"},
		{"http://xn--a.example/", "http://xn--a.example/"},
		{"http://XN--ABC-.xn--/", "http://xn--abc-.xn--/"},
		{"http://xn--ls8h.example/", "http://xn--ls8h.example/"},
		{"http://xn--BCHER-kva.example/", "http://xn--bcher-kva.example/"},
		{"http://ab--c.-d.e-.example/", "http://ab--c.-d.e-.example/"},
		{"http://example.org:65535/", "http://example.org:65535/"},
		{"http://example.org:1/", "http://example.org:1/"},
		{"http://a.exa\tmple/x", "http://a.example/x"},
		{"http://a.exa\rmple/x", "http://a.example/x"},
		{"http://a.exa\nmple/x", "http://a.example/x"},
		{"http://%30%61%4A.example/", "http://0aj.example/"},
		{"http://@example.org/", "http://example.org/"},
		{"http://example.org/a/%2d/%2D%2d/%2f", "http://example.org/a/%2d/%2D%2d/%2f"},
		{"http://example.org/a/%3e/%2", "http://example.org/a/%3e/%2"},
		{"http://az09-_.Az09-_/", "http://az09-_.az09-_/"},
		{"http://0xg/", "http://0xg/"},
		{"http://1.x0/", "http://1.x0/"},
		{"http://" + strings.Repeat("a", 63) + ".example/", "http://" + strings.Repeat("a", 63) + ".example/"},
		{"http://" + strings.Repeat("a.", 125) + "abc/", "http://" + strings.Repeat("a.", 125) + "abc/"}, // a host of 253 bytes
	} {
		u, err := ParseURL(tc.raw)
		if err != nil {
			t.Errorf("%q: %v", tc.raw, err)
		} else if u.String() != tc.want {
			t.Errorf("%q = %q, want %q", tc.raw, u, tc.want)
		}
	}
}

func TestParseURLErrors(t *testing.T) {
	for _, tc := range []struct {
		raw  string
		want error
	}{
		{"", errRelative},
		{"example.org", errRelative},
		{"/path", errRelative},
		{"http:", errHost},
		{"https:/", errHost},
		{"1http://example.org/", errRelative},
		{"-http://example.org/", errRelative},
		{"gopher://example.org/", errScheme},
		{"a0189+-.://example.org/", errScheme},
		{"javascript:alert(1)", errScheme},
		{"mailto:a@example.org", errScheme},
		{"http://", errHost},
		{"http:///a", nil}, // browsers take the next segment as the host
		{"http://a..b/", errHost},
		{"http://exa mple.org/", errHost},
		{"http://abc" + strings.Repeat("\u00ad", 511) + "/", errHost}, // a host of 1025 bytes
		{"http://%6/", errHost},
		{"http://1.2.3/", errHost},
		{"http://0x7f.1/", errHost},
		{"http://1.0x0/", errHost},
		{"http://[1.2.3.4]/", errHost},
		{"http://[a.example]/", errHost},
		{"http://::1]/", errHost},
		{"http://[::1]x/", errHost},
		{"az://a.example/", errScheme},
		{"@a://a.example/", errRelative},
		{"[a://a.example/", errRelative},
		{"a@://a.example/", errRelative},
		{"a/://a.example/", errRelative},
		{"http://1.0xaF9/", errHost},
		{"http://0x/", errHost},
		{"http://a.0/", errHost},
		{"http://a.9/", errHost},
		{"http://a`b/", errHost},
		{"http://a{b/", errHost},
		{"http://a/b:c@d..e/", nil},
		{"http://a%2fb/", errHost},
		{"http://a%3ab/", errHost},
		{"http://" + strings.Repeat("a", 64) + ".example/", errHost},
		{"http://" + strings.Repeat("a.", 125) + "abcd/", errHost},
		{"http://2130706433/", errHost},
		{"http://[::1/", errHost},
		{"http://[fe80::1%25eth0]/", errHost},
		{"http://xn--" + strings.Repeat("a", 60) + ".example/", errHost},
		{"http://xn--b\u00fccher.example/", errHost},
		{"http://xn--a%00/", errHost},
		{"http://example.org:0/", errPort},
		{"http://example.org:65536/", errPort},
		{"http://example.org:x/", errPort},
		{"http://example.org/" + strings.Repeat("a", maxURL), errTooLong},
	} {
		_, err := ParseURL(tc.raw)
		if !errors.Is(err, tc.want) {
			t.Errorf("%.60q: %v, want %v", tc.raw, err, tc.want)
		}
		var typed *URLError
		if err != nil && !errors.As(err, &typed) {
			t.Errorf("%.60q: %T is no *URLError", tc.raw, err)
		}
	}
}

func TestResolve(t *testing.T) {
	base := mustParse(t, "http://a.example/b/c/d;p?q")
	// The examples of RFC 3986, section 5.4, that are http URLs.
	for ref, want := range map[string]string{
		"g": "/b/c/g", "./g": "/b/c/g", "g/": "/b/c/g/", "/g": "/g", "?y": "/b/c/d;p?y", "g?y": "/b/c/g?y",
		"#s": "/b/c/d;p?q", "g#s": "/b/c/g", ";x": "/b/c/;x", "": "/b/c/d;p?q", ".": "/b/c/", "./": "/b/c/",
		"..": "/b/", "../": "/b/", "../g": "/b/g", "../..": "/", "../../../g": "/g", "/./g": "/g", "/../g": "/g",
		"g.": "/b/c/g.", "..g": "/b/c/..g", "./../g": "/b/g", "g;x=1/../y": "/b/c/y", "g?y/./x": "/b/c/g?y/./x",
		"http:g": "/b/c/g", "http:/g": "/g", `..\g`: "/b/g", "a:b/c": "",
	} {
		u, err := base.Resolve(ref)
		if want == "" {
			if err == nil {
				t.Errorf("%q = %q, want an error", ref, u)
			}
			continue
		}
		if err != nil || u.String() != "http://a.example"+want {
			t.Errorf("%q = %q, %v; want %q", ref, u, err, want)
		}
	}
	if u, err := base.Resolve("//b.example/x"); err != nil || u.String() != "http://b.example/x" {
		t.Errorf("network path: %q, %v", u, err)
	}
	for _, ref := range []string{"https:/x", "https:x", "https:///x", `https:\\x`, "https:x#y"} {
		if u, err := base.Resolve(ref); err != nil || u.String() != "https://x/" {
			t.Errorf("other scheme: %q is %q, %v", ref, u, err)
		}
	}
}

func TestTheLongestURL(t *testing.T) {
	for _, head := range []string{"http://a.example/", "http://a.example/?", "http://a.example/\u00e9"} {
		for _, more := range []int{0, 1} {
			path := strings.Repeat("a", maxURL-len(strings.ReplaceAll(head, "\u00e9", "%C3%A9"))+more)
			u, err := ParseURL(head + path)
			again, err2 := mustParse(t, "http://a.example/dir/").Resolve(strings.TrimPrefix(head, "http://a.example") + path)
			if more == 0 && (err != nil || err2 != nil || len(u.String()) != maxURL || again != u) {
				t.Errorf("%s: %d bytes, %v, %v", head, len(u.String()), err, err2)
			}
			if more == 1 && (!errors.Is(err, errTooLong) || !errors.Is(err2, errTooLong)) {
				t.Errorf("%s: one more: %v, %v", head, err, err2)
			}
		}
	}
}

func TestURLsAsText(t *testing.T) {
	u := mustParse(t, "http://a.example/x")
	text, err := u.MarshalText()
	var again URL
	if err != nil || again.UnmarshalText(text) != nil || again != u {
		t.Errorf("%s is %q, %v", text, again, err)
	}
	if err := again.UnmarshalText([]byte("x")); !errors.Is(err, errRelative) || again != u {
		t.Errorf("no URL: %q, %v", again, err)
	}
	if err := again.UnmarshalText(nil); err != nil || !again.IsZero() {
		t.Errorf("nothing: %q, %v", again, err)
	}
}

func TestErrorsNameTheURLInShort(t *testing.T) {
	for _, n := range []int{200, 201, 9000} {
		_, err := ParseURL(strings.Repeat("x", n))
		want := `URL "` + strings.Repeat("x", 200)
		if n > 200 {
			want += "..."
		}
		if want += `": ` + errRelative.Error(); err == nil || err.Error() != want {
			t.Errorf("%d bytes: %v", n, err)
		}
	}
}

func TestQueriesAreEncoded(t *testing.T) {
	u := mustParse(t, "http://a.example/dir/page?x")
	encode := func(query string) string { return "<" + query + "#>" }
	for ref, want := range map[string]string{
		"?é":                       "http://a.example/dir/page?%3C%C3%A9%23%3E",
		"é?é#é":                    "http://a.example/dir/%C3%A9?%3C%C3%A9%23%3E",
		"//b.example?é":            "http://b.example/?%3C%C3%A9%23%3E",
		"https://b.example/é?\x80": "https://b.example/%C3%A9?%3C%80%23%3E",
		"é?e":                      "http://a.example/dir/%C3%A9?e",
		"?<":                       "http://a.example/dir/page?%3C",
	} {
		if v, err := u.ResolveQuery(ref, encode); err != nil || v.String() != want {
			t.Errorf("%q is %q, %v; want %q", ref, v, err, want)
		}
	}
}

func TestNothingIsRelativeToTheZeroURL(t *testing.T) {
	for _, ref := range []string{"", "x", "/x", "?x", "#x", "//a.example/", ":", "\xff", "é?é"} {
		if u, err := (URL{}).Resolve(ref); !errors.Is(err, errRelative) {
			t.Errorf("%q is %q, %v", ref, u, err)
		}
	}
	if u, err := (URL{}).Resolve("http://a.example/x"); err != nil || u.String() != "http://a.example/x" {
		t.Errorf("absolute: %q, %v", u, err)
	}
	var zero URL
	if zero.Key() != "" || zero.Site() != "" || zero.Target() != "" || zero.Scheme() != "" || zero.Host() != "" || !zero.IsZero() {
		t.Error("the zero URL is something")
	}
}

func TestKeyHoldsEqualWhatServersHoldEqual(t *testing.T) {
	for _, pair := range [][2]string{
		{"http://a.example/%7Euser", "http://a.example/~user"},
		{"http://a.example/%c3%a9", "http://a.example/é"},
		{"http://a.example/a%2eb", "http://a.example/a.b"},
		{"http://a.example/?%61=%2f", "http://a.example/?a=%2F"},
		{"http://a.example/?a[]=1", "http://a.example/?a%5b%5D=1"},
		{"http://a.example/?a|b{c}^d`\\", "http://a.example/?a%7Cb%7bc%7D%5ed%60%5C"},
		{"http://a.example/a|b[c]{d}^e`", "http://a.example/a%7cb%5Bc%5D%7Bd%7D%5Ee%60"},
		{"http://a.example/[", "http://a.example/%5B"},
		{"http://a.example/%0a%a0", "http://a.example/%0A%A0"},
		{"http://a.example/%4g", "http://a.example/%254g"},
		{"http://a.example/%g4", "http://a.example/%25g4"},
		{"http://a.example/%4@", "http://a.example/%254@"},
		{"http://a.example/%@4", "http://a.example/%25@4"},
		{"http://a.example/%4:", "http://a.example/%254:"},
		{"http://a.example/%4/", "http://a.example/%254/"},
		{"http://a.example/%4G", "http://a.example/%254G"},
		{"http://a.example/%4", "http://a.example/%254"},
		{"http://a.example/%", "http://a.example/%25"},
		{"http://a.example/%41", "http://a.example/A"},
		{"http://a.example/%30%39%41%5a%61%7A%2d%2E%5f%7e", "http://a.example/09AZaz-._~"},
	} {
		if a, b := mustParse(t, pair[0]).Key(), mustParse(t, pair[1]).Key(); a != b {
			t.Errorf("keys of %s and %s differ: %s, %s", pair[0], pair[1], a, b)
		}
	}
	for _, pair := range [][2]string{
		{"http://a.example/a%2Fb", "http://a.example/a/b"},
		{"http://a.example/?a=1&b=2", "http://a.example/?b=2&a=1"},
		{"http://a.example/", "https://a.example/"},
		{"http://a.example/a", "http://a.example/a/"},
		{"http://a.example/?", "http://a.example/"},
		{"http://a.example/a(b", "http://a.example/a%28b"},
		{"http://a.example/?a=b&c", "http://a.example/?a=b%26c"},
		{"http://a.example/?a;b", "http://a.example/?a%3Bb"},
		{"http://a.example/%5b", "http://a.example/%255b"},
		{"http://a.example/?%41", "http://a.example/?%42"},
		{"http://a.example/%41", "http://a.example/%42"},
	} {
		if a, b := mustParse(t, pair[0]).Key(), mustParse(t, pair[1]).Key(); a == b {
			t.Errorf("%s and %s have the same key", pair[0], pair[1])
		}
	}
}

// Key decodes only escapes of unreserved octets, and writes all others in one form.
func TestTheKeyOfEveryOctet(t *testing.T) {
	const unreserved = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-._~"
	for c := range 256 {
		want := fmt.Sprintf("http://a.example/x%%%02X", c)
		if strings.IndexByte(unreserved, byte(c)) >= 0 {
			want = "http://a.example/x" + string(rune(c))
		}
		for _, form := range []string{"%02x", "%02X"} {
			raw := "http://a.example/x%" + fmt.Sprintf(form, c)
			if got := mustParse(t, raw).Key(); got != want {
				t.Errorf("the key of %s is %s, want %s", raw, got, want)
			}
		}
	}
}

func TestSite(t *testing.T) {
	for raw, want := range map[string]struct {
		host, authority, domain string
		port                    uint16
	}{
		"https://www.example.co.uk/": {"www.example.co.uk", "www.example.co.uk", "example.co.uk", 443},
		"http://a.github.io:81/":     {"a.github.io", "a.github.io:81", "a.github.io", 81},
		"http://[::1]:8080/":         {"::1", "[::1]:8080", "::1", 8080},
		"http://localhost/":          {"localhost", "localhost", "localhost", 80},
		"http://192.0.2.1/":          {"192.0.2.1", "192.0.2.1", "192.0.2.1", 80},
	} {
		u := mustParse(t, raw)
		s := u.Site()
		if u.Host() != want.host || !strings.HasPrefix(raw, u.Scheme()+"://") || u.Scheme() != s.Scheme() {
			t.Errorf("%s: host %q, scheme %q", raw, u.Host(), u.Scheme())
		}
		if s.Host() != want.host || s.Authority() != want.authority || s.Domain() != want.domain || s.Port() != want.port {
			t.Errorf("%s: %q %q %q %d, want %v", raw, s.Host(), s.Authority(), s.Domain(), s.Port(), want)
		}
	}
}

func mustParse(t testing.TB, raw string) URL {
	t.Helper()
	u, err := ParseURL(raw)
	if err != nil {
		t.Fatal(err)
	}
	return u
}

func FuzzParseURL(f *testing.F) {
	for _, s := range []string{"http://a.example/b?c#d", "//x", "https://[::1]:1/%zz/../%2e", `http:\\a\..\b`, "http://ü.example/ü?ü", "?q", "../x"} {
		f.Add(s)
	}
	base, err := ParseURL("https://base.example/dir/page?query")
	if err != nil {
		f.Fatal(err)
	}
	f.Fuzz(func(t *testing.T, raw string) {
		for _, parse := range []func(string) (URL, error){ParseURL, base.Resolve} {
			u, err := parse(raw)
			if err != nil {
				continue
			}
			again, err := ParseURL(u.String())
			if err != nil || again != u {
				t.Fatalf("%.200q gives %.200q, which gives %.200q, %v", raw, u, again, err)
			}
			for i := range len(u.String()) {
				if c := u.String()[i]; c <= ' ' || c >= 0x7f {
					t.Fatalf("%q gives %q, which cannot be sent", raw, u)
				}
			}
			if !strings.HasPrefix(u.Target(), "/") || u.Site() == "" || len(u.String()) > maxURL {
				t.Fatalf("%q gives %q", raw, u)
			}
			if len(u.Key()) > maxURL {
				continue // the key may be longer than its URL, because it escapes more
			}
			key, err := ParseURL(u.Key())
			if err != nil || key.Key() != u.Key() {
				t.Fatalf("%q: key %q has key %q, %v", raw, u.Key(), key.Key(), err)
			}
			if strings.Contains(u.Key()+"/", "/../") && !strings.Contains(u.Key(), "?") {
				t.Fatalf("%q: key %q has dot segments", raw, u.Key())
			}
		}
	})
}

// Site.URL gives the same URL as ParseURL for site and target.
func TestSiteURLIsParseURLOfBoth(t *testing.T) {
	sites := []Site{"http://a.example", "https://a.example:8080", "http://[::1]", "http://127.0.0.1:81", "ftp://a.example",
		"http://A.example", "HTTP://a.example", "http://a.example:80", "http://u@a.example", "gopher://a.example", "http://", "a.example", "", "http://a.example/x", "http://0x7f.1", "http://a.example."}
	targets := []string{"/", "/x?y=z", "//x", "/../x", "/a/%2e%2e/b", "/%41", "/x y", "/x#f", "", "x", "?x", "/é", "/" + strings.Repeat("x", maxURL-len("http://a.example/")), "/" + strings.Repeat("x", maxURL)}
	for _, s := range sites {
		for _, target := range targets {
			got, err := s.URL(target)
			want, wantErr := ParseURL(string(s) + target)
			if got != want || fmt.Sprint(err) != fmt.Sprint(wantErr) {
				t.Errorf("%q, %.50q: %q, %v; want %q, %v", s, target, got, err, want, wantErr)
			}
		}
	}
	if n := testing.AllocsPerRun(100, func() { sites[0].URL("/section/1/page-2.html") }); n > 1 {
		t.Errorf("%v pieces of memory", n)
	}
}

package fetch

import (
	"math/rand/v2"
	"mime"
	"strings"
	"testing"
	"unicode"
)

func TestParseMediaType(t *testing.T) {
	for _, tc := range []struct {
		fields []string
		want   MediaType
	}{
		{nil, MediaType{}},
		{[]string{"text/html; charset=utf-8"}, MediaType{"text/html", "utf-8"}},
		{[]string{"TEXT/Html;Charset=UTF-8"}, MediaType{"text/html", "UTF-8"}},
		{[]string{`text/html; charset="utf-8"`}, MediaType{"text/html", "utf-8"}},
		{[]string{`text/html; charset="shift_\jis`}, MediaType{"text/html", "shift_jis"}},
		// Repeated parameters, empty ones, and malformed ones.
		{[]string{"text/html; charset=utf-8; charset=latin1"}, MediaType{"text/html", "utf-8"}},
		{[]string{"text/html;; charset=utf-8"}, MediaType{"text/html", "utf-8"}},
		{[]string{"text/html; charset=; charset=utf-8"}, MediaType{"text/html", "utf-8"}},
		{[]string{"text/html; x; charset=utf-8;"}, MediaType{"text/html", "utf-8"}},
		{[]string{`text/html; a="b;charset=x"; charset=utf-8`}, MediaType{"text/html", "utf-8"}},
		{[]string{"text/html ; charset=utf-8 "}, MediaType{"text/html", "utf-8"}},
		{[]string{"text/html;charset=ü"}, MediaType{"text/html", ""}},
		// Lists and several fields, as in the Fetch standard.
		{[]string{"text/html, text/plain"}, MediaType{"text/plain", ""}},
		{[]string{"text/html;charset=gbk, text/html"}, MediaType{"text/html", "gbk"}},
		{[]string{"text/html;charset=gbk", "text/html"}, MediaType{"text/html", "gbk"}},
		{[]string{"text/html;charset=gbk, text/plain, text/html"}, MediaType{"text/html", ""}},
		{[]string{"text/plain;charset=gbk", "text/html;charset=utf-8"}, MediaType{"text/html", "utf-8"}},
		{[]string{"text/html, */*"}, MediaType{"text/html", ""}},
		{[]string{"text/html, cannot-parse"}, MediaType{"text/html", ""}},
		{[]string{`text/html;a=",", text/plain`}, MediaType{"text/plain", ""}},
		{[]string{"text/plain", "text/html"}, MediaType{"text/html", ""}},
		{[]string{",text/html"}, MediaType{"text/html", ""}}, {[]string{`",",text/html`}, MediaType{"text/html", ""}}, {[]string{"*/*"}, MediaType{}},
		// Values: their characters and their quotes.
		{[]string{`text/html;charset="a b"`}, MediaType{"text/html", "a b"}},
		{[]string{"text/html;charset=\"a\tb\""}, MediaType{"text/html", "a\tb"}},
		{[]string{"text/html;charset=a\x1f"}, MediaType{"text/html", ""}},
		{[]string{"text/html;charset=a~"}, MediaType{"text/html", "a~"}},
		{[]string{"text/html;charset=a\x7f"}, MediaType{"text/html", ""}},
		{[]string{`text/html;a="\";charset=x";charset=utf-8`}, MediaType{"text/html", "utf-8"}},
		{[]string{`text/html;charset="x\y`}, MediaType{"text/html", "xy"}},
		{[]string{`text/html;charset="utf-8\`}, MediaType{"text/html", `utf-8\`}},
		{[]string{"text"}, MediaType{}}, {[]string{"text/"}, MediaType{}}, {[]string{"te xt/html"}, MediaType{}}, {[]string{""}, MediaType{}},
	} {
		if got := ParseMediaType(tc.fields); got != tc.want {
			t.Errorf("%q = %q, want %q", tc.fields, got, tc.want)
		}
	}
}

func TestTokens(t *testing.T) {
	const others = "!#$%&'*+-.^_`|~" // characters of a token (RFC 9110, section 5.6.2)
	for c := range 256 {
		want := c < 0x80 && (unicode.IsLetter(rune(c)) || unicode.IsDigit(rune(c)) || strings.ContainsRune(others, rune(c)))
		if s := string([]byte{byte(c)}); isToken(s) != want || isToken("a"+s) != want || isToken(s+"a") != want {
			t.Errorf("%q: %t, want %t", s, isToken(s), want)
		}
	}
	if isToken("") {
		t.Error("an empty string is a token")
	}
}

func TestMediaTypesAreWritten(t *testing.T) {
	for want, m := range map[string]MediaType{
		"": {}, "text/html": {Type: "text/html"}, "text/html; charset=utf-8": {"text/html", "utf-8"}, `text/html; charset="a b"`: {"text/html", "a b"},
	} {
		if m.String() != want {
			t.Errorf("%q, want %q", m, want)
		}
	}
}

// plainMediaType returns the same as the parser, and the same as the standard library if the
// library accepts the value.
func TestMediaTypesAsTheLibraryReadsThem(t *testing.T) {
	parts := []string{"text/html", "TEXT/html", "application/xhtml+xml", "text", "/", ";", "; charset=", "utf-8", "UTF-8", `"utf-8"`, " ", "=", "a", "é", "; q=1", "; charset=x"}
	random := rand.New(rand.NewPCG(1, 1))
	for range 20_000 {
		field := ""
		for range random.IntN(5) {
			field += parts[random.IntN(len(parts))]
		}
		got := ParseMediaType([]string{field})
		if m, plain := plainMediaType(field); plain {
			if parsed, ok := parseOne(field); !ok || m != parsed {
				t.Fatalf("%q is %q, parsed %q", field, m, parsed)
			}
		}
		if want, params, err := mime.ParseMediaType(field); err == nil && len(want) > 4 && (got.Type != want || got.Charset != params["charset"]) && isType(want) {
			t.Fatalf("%q is %q, want %q, %q", field, got, want, params)
		}
	}
}

func isType(s string) bool {
	_, ok := parseOne(s)
	return ok
}

func FuzzParseMediaType(f *testing.F) {
	for _, s := range []string{"text/html; charset=utf-8", `a/b;charset="x\"y`, "a/b, c/d;;", `";,`} {
		f.Add(s, "text/html")
	}
	f.Fuzz(func(t *testing.T, a, b string) {
		m := ParseMediaType([]string{a, b})
		if again := ParseMediaType([]string{m.String()}); m.Type != "" && again != m {
			t.Errorf("%q, %q = %q, which reads as %q", a, b, m, again)
		}
	})
}

func BenchmarkParseMediaType(b *testing.B) {
	fields := []string{"text/html; charset=utf-8"}
	for b.Loop() {
		if ParseMediaType(fields).Type != "text/html" {
			b.Fatal()
		}
	}
}

package places

import (
	"strings"
	"testing"

	"github.com/permesso-crawler/permesso/frontier"
)

func list(t *testing.T, text string) *List {
	t.Helper()
	l, err := Read(strings.NewReader(text), "list")
	if err != nil {
		t.Fatal(err)
	}
	return l
}

// A host includes all hosts below it and all ports. A URL includes all URLs that begin with it,
// in any escaped form.
func TestWhatAListMeans(t *testing.T) {
	l := list(t, "\ufeff# asked by mail\nExample.org\n\n  https://b.example/~joe/ # his pages\nhttp://c.example\nbücher.example\n[2001:DB8::1]\n192.0.2.7\n.dots.example.\nhttps://d.example/a#b\n")
	if l.Len() != 8 || list(t, "").Len() != 0 {
		t.Errorf("%d places", l.Len())
	}
	for raw, want := range map[string]string{
		"http://example.org/": "list:2: example.org", "https://www.EXAMPLE.org:8443/x": "list:2: example.org", "ftp://a.b.example.org/": "list:2: example.org", "http://example.org./": "list:2: example.org",
		"http://notexample.org/": "", "http://org/": "", "http://example.org.evil.test/": "",
		"https://b.example/~joe/": "list:4: https://b.example/~joe/", "https://b.example/%7Ejoe/x?y": "list:4: https://b.example/~joe/", "https://b.example:443/~joe/": "list:4: https://b.example/~joe/",
		"https://b.example/~joe": "", "http://b.example/~joe/": "", "https://b.example/robots.txt": "",
		"http://c.example/": "list:5: http://c.example", "http://c.example/x": "list:5: http://c.example", "https://c.example/": "",
		"http://xn--bcher-kva.example/": "list:6: xn--bcher-kva.example", "http://[2001:db8::1]:81/": "list:7: 2001:db8::1", "http://192.0.2.7/": "list:8: 192.0.2.7", "http://192.0.2.70/": "",
		"http://www.dots.example/": "list:9: dots.example", "https://d.example/ab": "list:10: https://d.example/a#b",
	} {
		u, err := frontier.ParseURL(raw)
		if err != nil {
			t.Fatal(err)
		}
		if got := l.Why(u); got != want {
			t.Errorf("%s: %q, want %q", raw, got, want)
		}
		if got := new(List).Why(u); got != "" {
			t.Errorf("%s: %q by no list", raw, got)
		}
	}
	if got := l.Why(frontier.URL{}); got != "" {
		t.Error(got)
	}
}

// If a line is invalid, Read returns an error with its number, and no list.
func TestAnInvalidListIsRefused(t *testing.T) {
	for line, want := range map[string]string{
		"a.example:80": "neither a host", "*.example.org": "neither a host", "a.example/x": "neither a host", "a b": "more than one place", "https://": "", "gopher://a.example/": "",
		"https://a.example/ b": "more than one place", "me@a.example": "neither a host", "a..example": "neither a host", "?": "neither a host", "[::1": "neither a host", ".": "neither a host", "%zz": "neither a host",
	} {
		l, err := Read(strings.NewReader("fine.example\n"+line+"\n# comment\n"+line), "list")
		if l != nil || err == nil || !strings.HasPrefix(err.Error(), "list:2: ") || !strings.Contains(err.Error(), want) || !strings.Contains(err.Error(), "\nlist:4: ") {
			t.Errorf("%q: %v, %v", line, l, err)
		}
	}
	if _, err := Read(strings.NewReader("a.example\n"+strings.Repeat("x", 70_000)), "list"); err == nil || !strings.HasPrefix(err.Error(), "list:2: ") {
		t.Error(err)
	}
}

// For any text, all places of the list are excluded, or the error has the numbers of the
// invalid lines.
func FuzzList(f *testing.F) {
	for _, s := range []string{"example.org\nhttps://a.example/x # y", "[::1]", "a..b", "http://%zz", "\ufeff#", "bücher.example", "1.2.3.4", "0x7f.1"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, text string) {
		l, err := Read(strings.NewReader(text), "list")
		if err != nil {
			if !strings.HasPrefix(err.Error(), "list:") || l != nil {
				t.Fatalf("%q: %v", text, err)
			}
			return
		}
		for line := range strings.Lines(text) {
			u, err := frontier.ParseURL(strings.TrimSpace(line))
			if err == nil && strings.Contains(line, "://") && !strings.ContainsAny(line, "# \t\ufeff") && l.Why(u) == "" {
				t.Fatalf("%q does not leave out %s", text, u)
			}
		}
	})
}

package http1

import (
	"net/http"
	"strings"
	"testing"
)

func TestARequestIsWrittenAsItIsGiven(t *testing.T) {
	header := http.Header{
		"User-Agent": {"bot (+https://example.org/bot)"}, "Accept": {"text/html", "*/*;q=0.1"}, "Zero": {}, "From": {"a@example.org"}, "Host": {"evil.example"},
		"Accept-Language": {"de,\ten"}, "X-Empty": {""},
	}
	b, err := AppendRequest([]byte("before "), "GET", "/%zz?q=%|{}", "a.example:81", header)
	const want = "before GET /%zz?q=%|{} HTTP/1.1\r\nHost: a.example:81\r\nUser-Agent: bot (+https://example.org/bot)\r\n" +
		"Accept: text/html\r\nAccept: */*;q=0.1\r\nAccept-Language: de,\ten\r\nFrom: a@example.org\r\nX-Empty: \r\n\r\n"
	if string(b) != want || err != nil {
		t.Errorf("%q, want %q: %v", b, want, err)
	}
	many := http.Header{}
	for _, c := range "qwertzuiopasdfghjklyxcvbnm" {
		many.Set(string(c), "x")
	}
	if b, err = AppendRequest(nil, "GET", "/", "a", many); err != nil || !strings.Contains(string(b), "\r\nA: x\r\nB: x\r\nC: x\r\n") {
		t.Errorf("%q: %v", b, err)
	}
}

func TestWhatWouldNotBeOneRequestIsRefused(t *testing.T) {
	for name, tc := range map[string]struct {
		method, target, host string
		header               http.Header
		want                 string
	}{
		"a method":      {"GET /", "/", "a", nil, `the method "GET /"`},
		"no method":     {"", "/", "a", nil, "the method"},
		"a target":      {"GET", "/ HTTP/1.1", "a", nil, "the target"},
		"a line end":    {"GET", "/\nX: y", "a", nil, "the target"},
		"no target":     {"GET", "", "a", nil, "the target"},
		"a host":        {"GET", "/", "a\r\nX: y", nil, "the host"},
		"no host":       {"GET", "/", "", nil, "the host"},
		"a name":        {"GET", "/", "a", http.Header{"X Y": {"a"}}, `the field name "X Y"`},
		"a value":       {"GET", "/", "a", http.Header{"X": {"a", "b\nY: c"}}, "the field X has a control character"},
		"a user agent":  {"GET", "/", "a", http.Header{"User-Agent": {"a\rb"}}, "the field User-Agent has a control character"},
		"a delete":      {"GET", "/\x7f", "a", nil, "the target"},
		"a name of two": {"GET", "/", "a", http.Header{"X": {"a"}, "Y:": {"b"}}, `the field name "Y:"`},
	} {
		if b, err := AppendRequest(nil, tc.method, tc.target, tc.host, tc.header); err == nil || !strings.Contains(err.Error(), tc.want) {
			t.Errorf("%s: %q, error %v, want %s", name, b, err, tc.want)
		}
	}
}

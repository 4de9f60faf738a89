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

func TestKindsOfBytes(t *testing.T) {
	const letters = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz"
	for i := range 256 {
		b := byte(i)
		if want := strings.IndexByte(letters, b) >= 0; isLetter(b) != want {
			t.Errorf("%q is a letter: %v", b, !want)
		}
		if want := strings.IndexByte("0123456789", b) >= 0; isDigit(b) != want {
			t.Errorf("%q is a digit: %v", b, !want)
		}
		if want := b == 127 || b < 32 && b != '\t'; isControl(b) != want {
			t.Errorf("%q is a control character: %v", b, !want)
		}
		if want := b > 32 && b != 127; visible(string(b)) != want && b < 128 {
			t.Errorf("%q is visible: %v", b, !want)
		}
	}
}

func TestValuesAreCleaned(t *testing.T) {
	for value, want := range map[string]string{
		"": "", " \t\r\n": "", " a b\t": "a b", "\x01a": "a", "a\x7fb": "a b", "a\x01": "a", "a\tb": "a\tb", "a\r\n b": "a b", "a \n \t b\n c": "a b c", "a\rb": "a b", "\x01\x02": "",
	} {
		if got := clean(value); got != want {
			t.Errorf("%q: %q, want %q", value, got, want)
		}
	}
}

func TestLengths(t *testing.T) {
	for values, want := range map[string]int64{ // the length; -1: none, -2: an error
		"": -1, "5": 5, " 5 ": 5, "5|5": 5, "5, 5": 5, "0|5": -2, "0|0": 0, "5|6": -2, "x": -1, "x|x": -2, "5,": -2, "-1": -1, "+5": -1, "9|": -2, "9": 9, "10": 10, "a": -1, "9|9": 9, "10|10": 10, "a|a": -2,
	} {
		var all []string
		if values != "" {
			all = strings.Split(values, "|")
		}
		n, err := parseLength(all)
		if err != nil {
			n = -2
		}
		if n != want {
			t.Errorf("%q: %d, %v", all, n, err)
		}
	}
}

func TestNumbers(t *testing.T) {
	for _, tc := range []struct {
		text string
		base int64
		want int64 // the length; -1: none
	}{
		{"", 10, -1}, {"0", 10, 0}, {"9", 10, 9}, {"a", 10, -1}, {"+1", 10, -1}, {"10", 10, 10}, {"0012", 10, 12},
		{"9223372036854775807", 10, 1<<63 - 1}, {"9223372036854775808", 10, -1}, {"92233720368547758070", 10, -1},
		{"a", 16, 10}, {"F", 16, 15}, {"f", 16, 15}, {"g", 16, -1}, {"`", 16, -1}, {"@", 16, -1}, {"1a", 16, 26},
		{"7fffffffffffffff", 16, 1<<63 - 1}, {"8000000000000000", 16, -1},
	} {
		if n, ok := parseInt(tc.text, tc.base); ok != (tc.want >= 0) || ok && n != tc.want {
			t.Errorf("%q to the base %d: %d, %v", tc.text, tc.base, n, ok)
		}
	}
	for _, tc := range []struct {
		line                 string
		major, minor, status int // all 0 if the line is no status line
	}{
		{"HTTP/1 200", 1, 0, 200}, {"http/1.1 100", 1, 1, 100}, {"HTTP/1.1 099", 0, 0, 0}, {"HTTP/1.0  999 ", 1, 0, 999}, {"HTTP/1.1 20", 0, 0, 0},
		{"HTTP/0.9 200", 0, 9, 200}, {"HTTP/2.0 200", 1, 1, 200}, {"HTTP/1.9 200", 1, 9, 200}, {"HTTP/1.1 200Z", 1, 1, 200}, {"HTTP/1.1 200\tx", 1, 1, 200},
		{"HTTP/1.1 2000", 0, 0, 0}, {"HTTP/1.1200 OK", 0, 0, 0}, {"HTTP/11 200", 0, 0, 0}, {"HTTP/1. 200", 0, 0, 0}, {"HTTP/1.1 2x0", 0, 0, 0}, {"HTTP/x.1 200", 0, 0, 0},
		{"HTTP 1.1 200", 0, 0, 0}, {"HTTP/1 20", 0, 0, 0}, {"", 0, 0, 0},
	} {
		major, minor, status, ok := parseStatus([]byte(tc.line))
		if ok != (tc.status > 0) || ok && (major != tc.major || minor != tc.minor || status != tc.status) {
			t.Errorf("%q: %d.%d %d, %v", tc.line, major, minor, status, ok)
		}
	}
}

package http1

import (
	"bytes"
	"maps"
	"net/http"
	"slices"
	"strings"
	"testing"

	"golang.org/x/net/http/httpguts"
)

// Any bytes, in any portions, are either one answer or none.
func FuzzExchange(f *testing.F) {
	for i, a := range oddities {
		if len(a.answer) < 10_000 {
			f.Add(a.answer, i%9, a.head())
		}
	}
	f.Fuzz(func(t *testing.T, answer string, portion int, head bool) {
		whole := exchange(says(answer, 0), head)
		parts := exchange(says(answer, max(1, portion)), head)
		if !whole.again {
			parts.again = false // bytes after the answer may not have arrived yet
		}
		if whole.err != nil && strings.HasPrefix(whole.head, parts.head) {
			parts.head = whole.head
		}
		if whole.String() != parts.String() || whole.head != parts.head {
			t.Errorf("%q at once\n%v\nin portions of %d\n%v", answer, whole, portion, parts)
		}
		if whole.err != nil {
			return
		}
		if whole.status < 100 || whole.status > 999 || len(whole.body) > len(answer) || !strings.Contains(answer, whole.head) {
			t.Errorf("%q is %v", answer, whole)
		}
		if head && whole.body != "" {
			t.Errorf("%q has a body", answer)
		}
		for name, values := range whole.header {
			if !httpguts.ValidHeaderFieldName(name) || len(values) == 0 || slices.ContainsFunc(values, func(v string) bool { return !httpguts.ValidHeaderFieldValue(v) }) {
				t.Errorf("%q has the field %q: %q", answer, name, values)
			}
		}
	})
}

// If net/http accepts a head, this package reads it with the same result.
func FuzzHead(f *testing.F) {
	for _, a := range oddities {
		if head, _, _ := strings.Cut(a.answer, "\r\n\r\n"); len(head) < 10_000 {
			f.Add(head)
		}
	}
	f.Fuzz(func(t *testing.T, head string) {
		answer := head + "\r\n\r\n"
		ours, theirs := exchange(says(answer, 0), true), byNetHTTP(answer, true)
		if theirs.err != nil || theirs.status < 100 || theirs.status == http.StatusSwitchingProtocols {
			return
		}
		if ours.err != nil {
			if strings.ContainsAny(head, "\x00") || strings.Count(answer, "HTTP/") > maxInterim || hiddenLine(head) {
				return
			}
			t.Fatalf("%q is not an answer; net/http reads %v: %v", answer, theirs, ours.err)
		}
		for _, name := range []string{"Connection", "Trailer", "Transfer-Encoding", "Content-Length"} {
			delete(ours.header, name) // net/http keeps some of these fields elsewhere
			delete(theirs.header, name)
		}
		for _, h := range []http.Header{ours.header, theirs.header} {
			for name, values := range h {
				if strings.HasSuffix(name, " ") {
					return // net/http also reads bytes after the head
				}
				if !httpguts.ValidHeaderFieldName(name) {
					delete(h, name)
				}
				for i, v := range values {
					values[i] = strings.Join(strings.Fields(v), " ") // net/http joins folded lines in another way
				}
			}
		}
		if ours.status != theirs.status || !maps.EqualFunc(ours.header, theirs.header, slices.Equal) {
			t.Errorf("%q is\n%v\nto net/http\n%v", answer, ours, theirs)
		}
	})
}

// hiddenLine reports whether a line that determines the end of a body has control
// characters.
func hiddenLine(head string) bool {
	_, _, err := parseFields([]byte(head + "\r\n\r\n"))
	return err != nil && strings.Contains(err.Error(), "control character")
}

// If net/http accepts chunks, this package reads them with the same result.
func FuzzChunks(f *testing.F) {
	for _, a := range oddities {
		if body, ok := strings.CutPrefix(a.answer, chunks("")); ok && len(body) < 10_000 {
			f.Add(body, 3)
		}
	}
	f.Fuzz(func(t *testing.T, body string, portion int) {
		answer := chunks(body)
		ours, theirs := exchange(says(answer, max(1, portion)), false), byNetHTTP(answer, false)
		if theirs.bodyErr == nil && (ours.bodyErr != nil || ours.body != theirs.body) {
			t.Errorf("%q is\n%v\nto net/http\n%v", body, ours, theirs)
		}
		if !strings.HasPrefix(ours.body, theirs.body) && !strings.HasPrefix(theirs.body, ours.body) {
			t.Errorf("%q is\n%v\nto net/http\n%v", body, ours, theirs)
		}
	})
}

// The end of a head does not depend on the portions in which it arrives.
func FuzzHeadEnd(f *testing.F) {
	for _, s := range []string{
		"HTTP/1.1 200 OK\r\nA: b\r\n\r\nbody", "HTTP/1.1 200 OK\nA: b\n\nbody", "HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 200 OK\r\n\r\nx",
		"\n\n", "HTTP/1.1 101 Switching\r\n\r\n", "x", "\r\n\r", "HTTP/1.1 103\n\r\nHTTP/1.1 2",
	} {
		f.Add(s, 1)
		f.Add(s, 3)
	}
	f.Fuzz(func(t *testing.T, s string, size int) {
		want := HeadEnd([]byte(s), 0)
		for at, from := 0, 0; at < len(s); from = max(0, at-2) {
			at = min(len(s), at+max(1, size%50))
			if got := HeadEnd([]byte(s[:at]), from); got >= 0 && got != want {
				t.Errorf("%q ends at %d, want %d", s, got, want)
			} else if got >= 0 {
				return
			}
		}
		if want >= 0 {
			t.Errorf("%q has no end in portions of %d", s, size)
		}
	})
}

// For any arguments, AppendRequest appends exactly one request, or fails.
func FuzzAppendRequest(f *testing.F) {
	f.Add("GET", "/", "a.example", "Accept", "text/html")
	f.Add("HEAD", "http://a.example//x", "[::1]:80", "A", "b\r\nC: d")
	f.Add("G T", "/ HTTP/1.1\r\nX: y", "a b", "A:", "\x00")
	f.Fuzz(func(t *testing.T, method, target, host, name, value string) {
		b, err := AppendRequest(nil, method, target, host, http.Header{name: {value}, "User-Agent": {"bot"}})
		if err != nil {
			return
		}
		if want := method + " " + target + " HTTP/1.1\r\nHost: " + host + "\r\n"; !bytes.HasPrefix(b, []byte(want)) {
			t.Errorf("%q does not begin with %q", b, want)
		}
		if end := HeadEnd(b, 0); end != len(b) || bytes.Count(b, []byte("\n")) > 5 || bytes.Count(b, []byte("\r")) != bytes.Count(b, []byte("\r\n")) {
			t.Errorf("%q is more than one request", b)
		}
	})
}

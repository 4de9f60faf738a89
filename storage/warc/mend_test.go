package warc

import (
	"bufio"
	"bytes"
	"io"
	"net/http"
	"strings"
	"testing"
)

// Heads that the crawler accepts can be read from the archive, even if net/http refuses them.
func TestOddHeadsAreRead(t *testing.T) {
	const ok = "HTTP/1.1 200 OK\r\n"
	for name, tc := range map[string]struct {
		head     string
		bodiless bool
		want     string // expected status line, fields and body; empty if the head is refused
	}{
		"small letters":           {"http/1.1 200 ok\r\nX: a\r\n\r\n", false, "200 ok|X: a|body"},
		"a tab after the status":  {"HTTP/1.1 200\tOK\r\n\r\n", false, "200 OK|body"},
		"a reason with controls":  {"HTTP/1.1 200 O\x01K\r\n: \r\n\r\n", false, "200 O K|body"},
		"no reason":               {"HTTP/1.1 200\r\n: x\r\n\r\n", false, "200 |body"},
		"a line without a name":   {ok + ": x\r\nX: a\r\n\r\n", false, "200 OK|X: a|body"},
		"an invalid name":         {ok + "<x>: y\r\nX: a\r\n z\r\n\r\n", false, "200 OK|X: a z|body"},
		"control characters":      {ok + "X: a\x01b\rc\x7f\r\n\r\n", false, "200 OK|X: a b c|body"},
		"a zero byte":             {ok + "X: a\x00b\r\n\r\n", false, "200 OK|X: a b|body"},
		"one length twice":        {ok + "Content-Length: 4, 4\r\n\r\n", false, "200 OK|Content-Length: 4|body"},
		"two lengths":             {ok + "Content-Length: 3, 4\r\n\r\n", false, "200 OK|body"},
		"an invalid length":       {ok + "Content-Length: -4\r\n\r\n", false, "200 OK|body"},
		"identity":                {ok + "Transfer-Encoding: identity\r\nContent-Length: 4\r\n\r\n", false, "200 OK|Content-Length: 4|body"},
		"HEAD with two lengths":   {ok + "Content-Length: 3\r\nContent-Length: 4\r\n\r\n", true, "200 OK|"},
		"HEAD with a coding":      {ok + "Transfer-Encoding: x\r\n\r\n", true, "200 OK|"},
		"304 with two lengths":    {"HTTP/1.1 304 No\r\nContent-Length: 3\r\nContent-Length: 4\r\n\r\n", false, "304 No|"},
		"204 with a coding":       {"HTTP/1.1 204 No\r\nTransfer-Encoding: x\r\n\r\n", false, "204 No|"},
		"a line without a colon":  {ok + "hello\r\nX: a\r\n\r\n", false, "200 OK|X: a|body"},
		"no blank, no minor":      {"HTTP/2 200OK\r\nX: a\r\n\r\n", false, "200 OK|X: a|body"},
		"a blank after the first": {ok + " X: a\r\nX: b\r\n\r\n", false, "200 OK X: a|X: b|body"},
		"another protocol":        {"ICY 200 OK\r\n\r\n", false, ""},
	} {
		x := page("")
		x.Metadata, x.Request, x.Head = nil, nil, tc.bodiless
		x.Response = &HTTP{Head: []byte(tc.head), Coding: AsSent}
		if !tc.bodiless {
			x.Response.Body = []byte("body")
		}
		file, _ := mustExchange(t, encoder(t, Options{}), nil, x)
		for rec := range records(t, file) {
			resp, err := rec.Response()
			if err != nil {
				if tc.want != "" {
					t.Errorf("%s: %v", name, err)
				}
				continue
			}
			got := resp.Status
			for _, field := range []string{"X", "Content-Length", "Transfer-Encoding"} {
				if v := resp.Header[field]; len(v) > 0 {
					got += "|" + field + ": " + strings.Join(v, "; ")
				}
			}
			body, err := io.ReadAll(resp.Body)
			if got += "|" + string(body); got != tc.want || err != nil {
				t.Errorf("%s: %q, want %q: %v", name, got, tc.want, err)
			}
		}
	}
}

// If readers would not find the status in a status line, the line is corrected, and the original
// is kept. All other lines are unchanged.
func TestStatusLinesAreWrittenForReaders(t *testing.T) {
	for line, want := range map[string]string{
		"HTTP/1.1 200 OK": "", "HTTP/1.0 404": "", "HTTP/1.1 200 ": "", "HTTP/1.1 302 \xe9t\xe9": "", "ICY 200 OK": "", "HTTP/1.1 20x OK": "", "HTTP/1.1 2000 OK": "",
		"HTTP/1.1 200OK": "HTTP/1.1 200 OK", "HTTP/1.1  200 OK": "HTTP/1.1 200 OK", "HTTP/1.1 200\tOK": "HTTP/1.1 200 OK", "http/1.1 200 ok": "HTTP/1.1 200 ok",
		"HTTP/2 200 OK": "HTTP/1.0 200 OK", "HTTP/2.0 200 OK": "HTTP/1.1 200 OK", "HTTP/0.9 200": "HTTP/1.0 200 ", "HTTP/1.1 200\t\x01": "HTTP/1.1 200 ",
	} {
		for _, end := range []string{"\r\n", "\n"} {
			head := []byte(line + end + "X: a" + end + end)
			got, err := (&HTTP{Head: head, Coding: Unchunked}).appendHead([]byte("before "))
			kept := string(head)
			if want != "" {
				kept = want + "\r\nX-Archive-Orig-Status-Line: " + strings.TrimRight(strings.ReplaceAll(line, "\x01", " "), " \t") + "\r\n" + kept[len(line)+len(end):]
			}
			if string(got) != "before "+kept || err != nil {
				t.Errorf("%q: %q, want %q: %v", head, got, kept, err)
			}
		}
	}
}

// If net/http accepts a head, the head has the same meaning after mended.
func FuzzMended(f *testing.F) {
	f.Add([]byte("HTTP/1.1 200 OK\r\nX: a\r\n b\r\nContent-Length: 4\r\n\r\n"), false)
	f.Add([]byte("HTTP/1.1 204 No\nTransfer-Encoding: chunked\n\n"), true)
	f.Fuzz(func(t *testing.T, head []byte, bodiless bool) {
		req := &http.Request{}
		if bodiless {
			req.Method = http.MethodHead
		}
		read := func(head []byte) (*http.Response, error) {
			return http.ReadResponse(bufio.NewReader(bytes.NewReader(head)), req)
		}
		if headEnd(head) != len(head) {
			return
		}
		want, err := read(head)
		if err != nil {
			return
		}
		once := mended(head, bodiless)
		got, err := read(once)
		if err != nil || got.StatusCode != want.StatusCode || headEnd(once) != len(once) {
			t.Fatalf("%q becomes %q: %v", head, once, err)
		}
		if got.Header.Get("Location") != want.Header.Get("Location") || !bodiless && got.ContentLength != want.ContentLength && want.StatusCode != 204 && want.StatusCode != 304 {
			t.Errorf("%q becomes %q", head, once)
		}
	})
}

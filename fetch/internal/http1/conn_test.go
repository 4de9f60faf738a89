package http1

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"maps"
	"net/http"
	"runtime"
	"slices"
	"strings"
	"testing"
	"testing/iotest"
)

// said is a connection on which the server sends given bytes in portions, and closes.
type said struct {
	io.Reader
	asked bytes.Buffer
}

func (s *said) Write(p []byte) (int, error) { return s.asked.Write(p) }

func says(answer string, portion int) *said {
	var r io.Reader = strings.NewReader(answer)
	if portion > 0 {
		r = &portions{r, portion}
	}
	return &said{Reader: r}
}

type portions struct {
	io.Reader
	size int
}

func (p *portions) Read(b []byte) (int, error) { return p.Reader.Read(b[:min(len(b), p.size)]) }

// outcome is the result of an exchange.
type outcome struct {
	err, bodyErr error
	major, minor int
	status       int
	header       http.Header
	length       int64
	head, body   string
	again        bool
}

func exchange(on io.ReadWriter, bodiless bool) (o outcome) {
	return exchangeOn(New(on), bodiless)
}

func exchangeOn(c *Conn, bodiless bool) (o outcome) {
	if o.err = c.Send([]byte("GET / HTTP/1.1\r\nHost: a\r\n\r\n")); o.err != nil {
		return o
	}
	var resp *Response
	resp, o.err = c.Receive(bodiless)
	o.head = string(c.Head())
	if o.err == nil {
		o.major, o.minor, o.status, o.header, o.length = resp.Major, resp.Minor, resp.Status, resp.Header, resp.Length
		var body []byte
		body, o.bodyErr = io.ReadAll(resp.Body)
		o.body = string(body)
	}
	o.again = c.End()
	return o
}

func (o outcome) String() string {
	fields := ""
	for _, name := range slices.Sorted(maps.Keys(o.header)) {
		fields += fmt.Sprintf(" %s=%q", name, o.header[name])
	}
	return fmt.Sprintf("HTTP/%d.%d %d%.300s, length %d, body %.100q, again %t, errors %v, %v", o.major, o.minor, o.status, fields, o.length, o.body, o.again, o.err, o.bodyErr)
}

// what returns the end of an exchange as one word.
func (o outcome) what() string {
	err := o.err
	if err == nil {
		err = o.bodyErr
	}
	switch {
	case err == nil:
		return "whole"
	case errors.Is(err, ErrHeadSize):
		return "size"
	case errors.Is(err, ErrProtocol):
		if text := err.Error(); strings.Contains(text, "%!") || strings.HasSuffix(text, ": ") {
			return "protocol, without a reason: " + text
		}
		return "protocol"
	case errors.Is(err, io.ErrUnexpectedEOF):
		return "cut"
	}
	return err.Error()
}

const ok = "HTTP/1.1 200 OK\r\n"

func TestAnswersAreReadWhateverPortionsTheyComeIn(t *testing.T) {
	for _, a := range oddities {
		whole := exchange(says(a.answer, 0), a.head())
		for _, size := range []int{1, 2, 3, 7, 100, 4096, bufferSize, bufferSize + 1} {
			if len(a.answer) > 100_000 && size < 100 {
				continue
			}
			got := exchange(says(a.answer, size), a.head())
			// Bytes after an answer are noticed only if they have already arrived.
			if !whole.again {
				got.again = whole.again
			}
			if whole.err != nil && strings.HasPrefix(whole.head, got.head) {
				got.head = whole.head
			}
			if got.String() != whole.String() || got.head != whole.head {
				t.Errorf("%s: in portions of %d bytes it is\n%v\nat once\n%v", a.name, size, got, whole)
			}
		}
		if !strings.Contains(a.answer, whole.head) || whole.err == nil && HeadEnd([]byte(whole.head), 0) != len(whole.head) {
			t.Errorf("%s: the head %.300q is no head of it", a.name, whole.head)
		}
	}
}

// After each of these answers the connection is used again. The next answer begins where the last
// one ended.
func TestOneAnswerAfterTheOther(t *testing.T) {
	all := ""
	kept := []string{
		ok + "Content-Length: 5\r\n\r\nhello", ok + "Content-Length: 0\r\n\r\n", "HTTP/1.1 204 No\r\nContent-Length: 7\r\n\r\n",
		ok + "Transfer-Encoding: chunked\r\n\r\n5\r\nhello\r\n0\r\n\r\n", "HTTP/1.1 103 Hints\r\n\r\nHTTP/1.1 304\r\n\r\n",
		"HTTP/1.0 200 OK\r\nConnection: Keep-Alive\r\nContent-Length: 2\r\n\r\nok", ok + "Transfer-Encoding: chunked\r\n\r\n3\r\nbig\r\n0\r\nX: y\r\n\r\n",
		ok + "X: " + strings.Repeat("x", 3*bufferSize) + "\r\nContent-Length: 1\r\n\r\nx",
	}
	in, out := io.Pipe()
	go func() { // this goroutine ends with the last answer
		for _, a := range kept {
			io.WriteString(out, a)
			all += a
		}
		out.Close()
	}()
	s := &said{Reader: in}
	c := New(s)
	for i, a := range kept {
		if o := exchangeOn(c, false); o.what() != "whole" || !o.again || !strings.Contains(a, o.head) {
			t.Errorf("answer %d: %v", i, o)
		}
	}
	if n := strings.Count(s.asked.String(), "GET /"); n != len(kept) {
		t.Errorf("%d requests", n)
	}
	if o := exchangeOn(c, false); o.what() != "cut" || o.head != "" {
		t.Errorf("after the end: %v", o)
	}
}

func TestConnectionsThatAreNotUsedAgain(t *testing.T) {
	for name, answer := range map[string]string{
		"HTTP/1.0":                 "HTTP/1.0 200 OK\r\nContent-Length: 2\r\n\r\nok",
		"close":                    ok + "Connection: close\r\nContent-Length: 2\r\n\r\nok",
		"close among others":       ok + "Connection: keep-alive, CLOSE\r\nContent-Length: 2\r\n\r\nok",
		"close in a second line":   ok + "Connection: x\r\nConnection: close\r\nContent-Length: 2\r\n\r\nok",
		"no length":                ok + "\r\nok",
		"something after":          ok + "Content-Length: 2\r\n\r\nokHTTP",
		"something after no body":  "HTTP/1.1 304 No\r\n\r\nx",
		"a length and chunks":      ok + "Content-Length: 2\r\nTransfer-Encoding: chunked\r\n\r\n2\r\nok\r\n0\r\n\r\n",
		"chunked twice":            ok + "Transfer-Encoding: chunked, chunked\r\n\r\n2\r\nok\r\n0\r\n\r\n",
		"chunks of HTTP/1.0":       "HTTP/1.0 200 OK\r\nConnection: keep-alive\r\nTransfer-Encoding: chunked\r\nContent-Length: 2\r\n\r\nok",
		"an odd trailer":           ok + "Transfer-Encoding: chunked\r\n\r\n2\r\nok\r\n0\r\nhello\r\n\r\n",
		"no end of the trailer":    ok + "Transfer-Encoding: chunked\r\n\r\n2\r\nok\r\n0\r\n",
		"a trailer without a name": ok + "Transfer-Encoding: chunked\r\n\r\n2\r\nok\r\n0\r\n: x\r\n\r\n",
		"another protocol":         "HTTP/1.1 101 Switching\r\nContent-Length: 0\r\n\r\n",
	} {
		if o := exchange(says(answer, 0), false); o.what() != "whole" || o.again {
			t.Errorf("%s: %v", name, o)
		}
	}
	// A connection cannot be used again if a body was not read to its end.
	c := New(says(ok+"Content-Length: 50000\r\n\r\n"+strings.Repeat("x", 50_000), 0))
	c.Send([]byte("x"))
	resp, err := c.Receive(false)
	if err != nil {
		t.Fatal(err)
	}
	body := resp.Body
	io.ReadFull(body, make([]byte, 10))
	if body.Close(); c.End() {
		t.Error("used again within a body")
	}
	if n, err := body.Read(make([]byte, 10)); n != 0 || err != io.EOF || c.resp.Header != nil {
		t.Errorf("after the end of an exchange: %d, %v, %v", n, err, c.resp.Header)
	}
}

func TestBoundsOfAnAnswer(t *testing.T) {
	fill := func(n int, s string) string { return strings.Repeat(s, n/len(s)) }
	line := func(n int) string { return ok + "A: " + strings.Repeat("x", n-len(ok+"A: \r\n\r\n")) + "\r\n\r\n" }
	// The line of a chunk may be 18 bytes long, even for a chunk of one byte.
	excess := func(n int) (s string) {
		for ; n > 0; n -= 4000 {
			s += "1;" + strings.Repeat("x", min(n, 4000)+16) + "\r\nx\r\n"
		}
		return s
	}
	early := "HTTP/1.1 103 Early\r\n\r\n"
	chunks := ok + "Transfer-Encoding: chunked\r\n\r\n"
	for _, tc := range []struct{ name, answer, want string }{
		{"a head", line((256 << 10)), "whole"},
		{"a head of a byte more", line((256 << 10) + 1), "size"},
		{"a head without end", ok + fill((256<<10)+10, "A: b\r\n"), "size"},
		{"a head that ends with the connection where it may not go on", ok + "A: " + strings.Repeat("x", 256<<10-len(ok+"A: \n")) + "\n", "cut"},
		{"a byte behind a chunk, with line ends of LF", chunks + "2\nokx\n0\n\n", "protocol"},
		{"a status line without end", "HTTP/1.1 200 " + fill((256<<10)+10, "x"), "size"},
		{"interim answers", fill(64*len(early), early) + ok + "\r\n", "whole"},
		{"one more of them", fill((64+1)*len(early), early) + ok + "\r\n", "size"},
		{"long ones", fill(5*((256<<10)-200)/4, "HTTP/1.1 103 Early\r\nA: "+strings.Repeat("x", 30_000)+"\r\n\r\n") + ok + "\r\n", "size"},
		{"an extension", chunks + "2;" + strings.Repeat("x", (4<<10)-4) + "\r\nok\r\n0\r\n\r\n", "whole"},
		{"an extension of a byte more", chunks + "2;" + strings.Repeat("x", (4<<10)-3) + "\r\nok\r\n0\r\n\r\n", "protocol"},
		{"small chunks", chunks + fill(2_000_000, "1\r\nx\r\n") + "0\r\n\r\n", "whole"},
		{"small chunks with extensions", chunks + fill(2_000_000, "1;xxxxxxxxxxxxxxxxxxxxxxxxxxx\r\nx\r\n") + "0\r\n\r\n", "protocol"},
		{"as much beside the content as may be", chunks + excess(16<<10) + "0\r\n\r\n", "whole"},
		{"a byte more", chunks + excess(16<<10+1) + "0\r\n\r\n", "protocol"},
		{"as much after a small chunk", chunks + "1\r\nx\r\n" + excess(16<<10) + "0\r\n\r\n", "whole"},
		{"a byte more after a small chunk", chunks + "1\r\nx\r\n" + excess(16<<10+1) + "0\r\n\r\n", "protocol"},
		{"a trailer", chunks + "0\r\n" + fill(16<<10-4, "X: y\r\n") + "\r\n", "whole"}, // each line has 6 bytes
		{"a trailer with line ends of LF", chunks + "0\r\n" + fill(16<<10-4, "X: y\n") + "\r\n", "whole"},
		{"a longer trailer", chunks + "0\r\n" + fill(16<<10, "X: y\r\n") + "X\r\n\r\n", "protocol"},
		{"a trailer as long as may be", chunks + "0\r\n" + fill(16<<10-10, "X: y\r\n") + "XX: yy\r\n\r\n", "whole"},
		{"a trailer of a byte more", chunks + "0\r\n" + fill(16<<10-10, "X: y\r\n") + "XX: yyy\r\n\r\n", "protocol"},
		{"a trailer as long as may be, with line ends of LF", chunks + "0\r\n" + fill(16<<10-9, "X: y\n") + "XYZ: y\n\r\n", "whole"},
		{"a trailer of a byte more, with line ends of LF", chunks + "0\r\n" + fill(16<<10-9, "X: y\n") + "XYZ: yy\n\r\n", "protocol"},
		{"four empty lines before", "\n\r\n\n" + ok + "Content-Length: 0\r\n\r\n", "whole"},
		{"a trailer of one line", chunks + "0\r\n" + fill(16<<10+100, "x"), "protocol"},
	} {
		if o := exchange(says(tc.answer, 0), false); o.what() != tc.want {
			t.Errorf("%s is %s, want %s: %v", tc.name, o.what(), tc.want, o)
		}
	}
	early64 := fill((64+1)*len(early), early)
	if o := exchange(says(early64, 0), false); o.head != "" {
		t.Errorf("the head is that of an interim answer: %q", o.head)
	}
	reads := silence(0)
	if o := exchange(&said{Reader: &reads}, false); !errors.Is(o.err, io.ErrNoProgress) || reads != 100 {
		t.Errorf("%d reads without a byte: %v", reads, o)
	}
}

// silence is a reader that never returns bytes. It counts the reads.
type silence int

func (s *silence) Read([]byte) (int, error) {
	*s++
	return 0, nil
}

// hidden reports a control character in a value, except in the white space of a fold.
func TestWhatIsHiddenInAValue(t *testing.T) {
	for value, want := range map[string]bool{
		"": false, "5": false, "5\t6": false, "5\n 6": false, "5\r\n 6": false, "5\r": true, "5\r6": true, "5\x00": true, "\x7f5": true, "\x00\n": true, "5\n\r": true, "\r\r\n": true,
	} {
		if hidden(value) != want {
			t.Errorf("%q: %v", value, !want)
		}
	}
}

// The time to read an answer is proportional to its length, for any portions. Otherwise a server
// could waste the time of the crawler.
func TestTheWorkIsThatOfTheBytes(t *testing.T) {
	for name, answer := range map[string]string{
		"folds":        ok + "A: b" + strings.Repeat("\r\n ", MaxHead/3-20) + "\r\n\r\n",
		"fields":       ok + strings.Repeat("A:\n", MaxHead/3-20) + "\n",
		"small chunks": ok + "Transfer-Encoding: chunked\r\n\r\n" + strings.Repeat("1\r\nx\r\n", 1<<20) + "0\r\n\r\n",
	} {
		if o := exchange(says(answer, 0), false); o.err != nil || o.bodyErr != nil && o.length >= 0 {
			t.Errorf("%s: %v", name, o.what())
		}
	}
}

func TestErrorsOfTheConnection(t *testing.T) {
	broken := errors.New("broken")
	for _, answer := range []string{"", "HTTP/1.1", ok, ok + "Content-Length: 5\r\n\r\nhe", ok + "\r\nhe", ok + "Transfer-Encoding: chunked\r\n\r\n5\r\nhe", ok + "Transfer-Encoding: chunked\r\n\r\n0\r\n"} {
		on := &said{Reader: io.MultiReader(strings.NewReader(answer), iotest.ErrReader(broken))}
		if o := exchange(on, false); !errors.Is(o.err, broken) && !errors.Is(o.bodyErr, broken) || o.again {
			t.Errorf("%q: %v", answer, o)
		}
		// If an error comes together with the last bytes, these bytes are still used.
		for _, portion := range []int{0, 1} {
			on = &said{Reader: iotest.DataErrReader(says(answer, portion))}
			if got, want := exchange(on, false), exchange(says(answer, 0), false); got.String() != want.String() {
				t.Errorf("%q: %v, want %v", answer, got, want)
			}
		}
	}
	c := New(struct {
		io.Reader
		io.Writer
	}{strings.NewReader(ok + "Content-Length: 0\r\n\r\n"), deafWriter{broken}})
	if err := c.Send([]byte("x")); err != broken {
		t.Errorf("sent: %v", err)
	}
	if resp, err := c.Receive(false); err != nil || resp.Status != 200 {
		t.Errorf("an answer before the whole request is not read: %v", err)
	}
}

type deafWriter struct{ err error }

func (d deafWriter) Write([]byte) (int, error) { return 0, d.err }

// Bytes that an earlier exchange has left in a buffer are not read as an answer.
func TestABufferThatWasUsedHasNoAnswer(t *testing.T) {
	t.Parallel()
	for _, left := range []string{"\n", "\r\n\r\n ", line("HTTP/1.1 200 OK")} {
		c := New(says("", 0))
		c.Send([]byte("x"))
		copy(*c.buf, left)
		if resp, err := c.Receive(false); resp != nil || !errors.Is(err, io.ErrUnexpectedEOF) || len(c.Head()) > 0 {
			t.Errorf("%q is left: %+v, %v", left, resp, err)
		}
		c.End()
	}
}

// After its end, a body returns the same error for each further read.
func TestTheEndOfABodyStays(t *testing.T) {
	for answer, want := range map[string]error{
		ok + "Content-Length: 2\r\n\r\nok": io.EOF, ok + "Content-Length: 3\r\n\r\nok": io.ErrUnexpectedEOF, ok + "\r\nok": io.EOF,
		ok + "Transfer-Encoding: chunked\r\n\r\n2\r\nok\r\n0\r\n\r\n": io.EOF, ok + "Transfer-Encoding: chunked\r\n\r\n2\r\nokzz": ErrProtocol,
		ok + "Transfer-Encoding: chunked\r\n\r\nzz\r\n5\r\nhello\r\n0\r\n\r\n": ErrProtocol,
	} {
		c := New(says(answer, 0))
		c.Send([]byte("x"))
		resp, err := c.Receive(false)
		if err != nil {
			t.Fatal(err)
		}
		io.ReadAll(resp.Body)
		for range 2 {
			if n, err := resp.Body.Read(make([]byte, 9)); n != 0 || !errors.Is(err, want) {
				t.Errorf("%q: %d, %v", answer, n, err)
			}
			if n, err := resp.Body.Read(nil); n != 0 || err != nil {
				t.Errorf("%q: no room: %d, %v", answer, n, err)
			}
		}
		c.End()
	}
}

// Reads that are larger than the buffer do not use it, but return the same bytes and the same end.
func TestLargeReadsOfABody(t *testing.T) {
	long := strings.Repeat("0123456789", 10*bufferSize/10)
	for _, c := range []struct {
		head string
		want error
	}{{"\r\n", io.EOF}, {fmt.Sprintf("Content-Length: %d\r\n\r\n", len(long)), io.EOF}, {fmt.Sprintf("Content-Length: %d\r\n\r\n", len(long)+1), io.ErrUnexpectedEOF}} {
		for _, dataErr := range []bool{false, true} { // dataErr: the end comes together with the last bytes
			var on io.Reader = strings.NewReader(ok + c.head + long)
			if dataErr {
				on = iotest.DataErrReader(on)
			}
			conn := New(&said{Reader: on})
			conn.Send([]byte("x"))
			resp, err := conn.Receive(false)
			if err != nil {
				t.Fatal(err)
			}
			var body strings.Builder
			p := make([]byte, 3*bufferSize)
			for err = nil; err == nil && body.Len() <= len(long); {
				var n int
				n, err = resp.Body.Read(p)
				body.Write(p[:n])
				if n == 0 && err == nil {
					t.Fatalf("%q: a read returns nothing", c.head)
				}
			}
			if body.String() != long || err != c.want {
				t.Errorf("%q: %d bytes, %v", c.head, body.Len(), err)
			}
		}
	}
}

// Content that has arrived is returned without waiting for more.
func TestABodyIsReadAsItComes(t *testing.T) {
	for _, came := range []string{"Content-Length: 9\r\n\r\nhello", "\r\nhello", "Transfer-Encoding: chunked\r\n\r\n9\r\nhello", "Transfer-Encoding: chunked\r\n\r\n5\r\nhello", "Transfer-Encoding: chunked\r\n\r\n5\r\nhello\r\n", "Transfer-Encoding: chunked\r\n\r\n2\r\nhe\r\n3\r\nllo\r\n5"} {
		more := errors.New("more is wanted")
		c := New(&said{Reader: io.MultiReader(strings.NewReader(ok+came), iotest.ErrReader(more))})
		c.Send([]byte("x"))
		resp, err := c.Receive(false)
		if err != nil {
			t.Fatal(err)
		}
		p := make([]byte, 100)
		if n, err := resp.Body.Read(p); string(p[:n]) != "hello" || err != nil {
			t.Errorf("%q: %q, %v", came, p[:n], err)
		}
		if n, err := resp.Body.Read(p); n != 0 || err != more {
			t.Errorf("%q: then %d, %v", came, n, err)
		}
		c.End()
	}
}

// A line without a status does not begin an answer, even if it is empty. The client does not wait
// for more.
func TestTooManyEmptyLinesAreNoAnswer(t *testing.T) {
	more := errors.New("more is wanted")
	if o := exchange(&said{Reader: io.MultiReader(strings.NewReader("\n\n\n\n\n"), iotest.ErrReader(more))}, false); o.what() != "protocol" {
		t.Errorf("%v", o)
	}
}

// If an error comes together with content, Read returns both.
func TestAChunkWithoutASizeEndsTheReadBeforeIt(t *testing.T) {
	c := New(says(ok+"Transfer-Encoding: chunked\r\n\r\n5\r\nhello\r\n\n", 0))
	c.Send([]byte("x"))
	resp, err := c.Receive(false)
	if err != nil {
		t.Fatal(err)
	}
	p := make([]byte, 100)
	if n, err := resp.Body.Read(p); string(p[:n]) != "hello" || !errors.Is(err, ErrProtocol) {
		t.Errorf("%q, %v", p[:n], err)
	}
	c.End()
}

// An answer that is not HTTP may still have a head. The head ends at its empty line.
func TestTheHeadOfAnInvalidAnswerEndsBeforeItsBody(t *testing.T) {
	if o := exchange(says("HTTP/x 429 X\r\nA: b\r\n\r\nC: d\r\n", 0), false); o.err == nil || o.head != "HTTP/x 429 X\r\nA: b\r\n\r\n" {
		t.Errorf("%q: %v", o.head, o)
	}
}

// A field that the caller keeps does not keep the whole head in memory.
func TestAFieldDoesNotHoldOnToALongHead(t *testing.T) {
	long := ok + "Etag: \"1\"\r\nX: " + strings.Repeat("x", 200_000) + "\r\nContent-Length: 0\r\n\r\n"
	var kept []string
	heap := func() uint64 {
		var m runtime.MemStats
		runtime.GC()
		runtime.ReadMemStats(&m)
		return m.HeapAlloc
	}
	before := heap()
	for range 100 {
		o := exchange(says(long, 0), false)
		kept = append(kept, o.header.Get("Etag"))
	}
	if grown := int64(heap()) - int64(before); grown > 10<<20 || kept[99] != `"1"` {
		t.Errorf("%d fields hold %d bytes", len(kept), grown)
	}
	c := New(says(long+long, 0))
	exchangeOn(c, false)
	if c.begin(); len(*c.buf) > maxPooled {
		t.Errorf("a buffer of %d bytes is kept", len(*c.buf))
	}
	c.End()
}

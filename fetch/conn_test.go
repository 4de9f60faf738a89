package fetch

import (
	"bufio"
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"runtime"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/permesso-crawler/permesso/frontier"
)

// loopback is a Network of one server on this machine.
type loopback struct {
	wire
	net.Listener
}

func newLoopback(t *testing.T, serve func(c net.Conn, n int)) *loopback {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { l.Close() })
	go func() { // this goroutine ends when l is closed
		for n := 1; ; n++ {
			c, err := l.Accept()
			if err != nil {
				return
			}
			go func() { // this goroutine ends with the connection
				defer c.Close()
				serve(c, n)
			}()
		}
	}()
	return &loopback{Listener: l}
}

func (l *loopback) DialContext(ctx context.Context, network, _ string) (net.Conn, error) {
	return new(net.Dialer).DialContext(ctx, network, l.Addr().String())
}

// Bytes that a server sends between two answers belong to neither answer. They are noticed before
// the next request is sent. So the next request is sent on a new connection, and does not count as
// a try.
func TestBytesBetweenTwoRequestsAreNoAnswer(t *testing.T) {
	const evil = "HTTP/1.1 200 OK\r\nContent-Length: 4\r\n\r\nevil"
	for name, end := range map[string]func(c net.Conn){
		"an answer": func(c net.Conn) { io.WriteString(c, evil) }, "a byte": func(c net.Conn) { io.WriteString(c, "\n") }, "the end": func(c net.Conn) { c.Close() },
	} {
		l := newLoopback(t, func(c net.Conn, n int) {
			in := bufio.NewReader(c)
			for {
				r, err := readRequest(in)
				if err != nil {
					return
				}
				if io.WriteString(c, page(r.target)); r.target == "/1" {
					end(c)
				}
			}
		})
		v := newTour(t, Options{Network: l, AllowPrivate: true})
		v.delay = -1
		res, _ := v.visit("http://a.example/1")
		h := v.fetcher.host(res.Page.URL.Site())
		for h.kept() != nil { // over a real socket the bytes arrive later
			runtime.Gosched()
		}
		v.fetcher.giveBack(h)
		res, all := v.visit("http://a.example/2")
		if res.Page == nil || string(res.Page.Body) != "/2" || len(all) != 1 || all[0].Reused {
			t.Errorf("%s: %d exchanges: %+v", name, len(all), last(all))
		}
		v.fetcher.Close()
	}
}

// Over a pipe, such bytes are noticed because the request cannot be sent. The server has then not
// processed the request.
func TestAServerThatSpeaksFirstOnAKeptConnection(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := &wire{serve: func(c net.Conn, n int) {
			in := bufio.NewReader(c)
			for {
				r, err := readRequest(in)
				if err != nil {
					return
				}
				io.WriteString(c, page(r.target))
				if r.target == "/1" {
					io.WriteString(c, page("evil"))
				}
			}
		}}
		v := newTour(t, Options{Network: w, Bodies: Bodies{KeepWire: true}})
		v.visit("http://a.example/1")
		res, all := v.visit("http://a.example/2")
		if stage(all[0]) != StageStale || len(all[0].ResponseHead) > 0 || all[0].Ended.Sub(all[0].Started) != 15*time.Second {
			t.Errorf("%q: %+v, %v", all[0].ResponseHead, all[0], all[0].Err)
		}
		if res.Page == nil || string(res.Page.Body) != "/2" || len(w.dialed) != 2 {
			t.Errorf("%d connections, %+v", len(w.dialed), last(all))
		}
	})
}

// A context that ends after its exchange does not affect the next exchange.
func TestAContextThatEndsAfterItsVisitHasNoEffect(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := &wire{serve: answers(noRobots(func(r *request, n int) string { return page(r.target) }))}
		v := newTour(t, Options{Network: w})
		for i := range 3 {
			ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
			visitWith(ctx, v.fetcher, fmt.Sprintf("http://a.example/%d", i), func(r *Result) {
				if x := last(r.Exchanges); x.Err != nil {
					t.Error(x.Err)
				}
			})
			cancel()
			synctest.Wait()
			time.Sleep(20 * time.Second)
		}
		if len(w.dialed) != 1 {
			t.Errorf("%d connections", len(w.dialed))
		}
	})
}

// If a context ends while the last byte is read, the connection is not kept.
func TestAContextThatEndsWithItsAnswer(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithCancel(t.Context())
		w := &wire{serve: answers(noRobots(func(r *request, n int) string {
			cancel()
			return page(r.target)
		}))}
		v := newTour(t, Options{Network: w})
		visitWith(ctx, v.fetcher, "http://a.example/1", func(*Result) {})
		res, all := v.visit("http://a.example/2")
		if res.Page == nil || string(res.Page.Body) != "/2" || len(all) != 1 {
			t.Errorf("%+v, %v", all, last(all).Err)
		}
	})
}

// When an exchange is ended, its reads and writes end, and the next exchange is not affected.
func TestAnExchangeEndsWithItsContext(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		client, server := net.Pipe()
		defer server.Close()
		over := newTimed(client)
		defer over.Close()
		ctx, cancel := context.WithCancelCause(t.Context())
		w := newWatch(ctx, time.Minute)
		w.context()
		over.begin(w)
		if w.timer != nil {
			t.Error("a timer runs beside the deadlines")
		}
		stopped := errors.New("stopped")
		cancel(stopped)
		if n, err := over.Write([]byte("x")); n != 0 || err != stopped {
			t.Errorf("write: %d, %v", n, err)
		}
		if n, err := over.Read(make([]byte, 1)); n != 0 || err != stopped {
			t.Errorf("read: %d, %v", n, err)
		}
		if synctest.Wait(); over.end() {
			t.Error("there may be another exchange, though the deadline is that of this one")
		}
		w.stop()
	})
}

// If an answer comes although the request could not be sent, the answer is used, and the
// connection is closed.
func TestAnAnswerBeforeTheRequestIsTheLast(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := &wire{serve: func(c net.Conn, n int) {
			io.WriteString(c, page("User-agent: *\nAllow: /"))
			io.Copy(io.Discard, c)
		}}
		v := newTour(t, Options{Network: w})
		v.once = true
		if _, all := v.visit("http://a.example/"); all[0].Err != nil || all[0].Status != 200 || v.fetcher.open.Len() != 0 {
			t.Errorf("%d connections are kept: %+v", v.fetcher.open.Len(), all[0])
		}
	})
}

// An answering connection writes during each read, as TLS does when keys change.
type answering struct{ net.Conn }

func (a answering) Read(p []byte) (int, error) {
	if _, err := io.WriteString(a.Conn, "keys"); err != nil {
		return 0, err
	}
	return a.Conn.Read(p)
}

// While a body is read, TLS may write, although the time-out of sending the request has passed.
func TestTLSMayAnswerWhileABodyIsRead(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		client, server := net.Pipe()
		go func() { // this goroutine ends with the connection
			defer server.Close()
			buf := make([]byte, 9)
			server.Read(buf)
			server.Read(buf)
			io.WriteString(server, "body")
		}()
		over := newTimed(answering{client})
		defer over.Close()
		w := newWatch(t.Context(), time.Minute)
		defer w.stop()
		over.begin(w)
		if _, err := io.WriteString(over, "request"); err != nil {
			t.Fatal(err)
		}
		time.Sleep(40 * time.Second)
		w.enter(phaseBody)
		if n, err := over.Read(make([]byte, 9)); n != 4 || err != nil {
			t.Errorf("%d bytes, %v", n, err)
		}
		over.end()
	})
}

// Many servers end a connection without the close message of TLS. A body without a declared end is
// then complete. Browsers also do this, although RFC 9112, section 9.8, calls it incomplete. A
// body with a declared end is incomplete.
func TestAnEndWithoutTheCloseMessageOfTLS(t *testing.T) {
	config, pool := certified(t)
	const ok = "HTTP/1.1 200 OK\r\nContent-Type: text/html\r\n"
	for _, tc := range []struct {
		answer    string
		told      bool
		stage     Stage
		truncated string
	}{
		{ok + "\r\nhello", true, "", ""},
		{ok + "\r\nhello", false, "", ""},
		{ok + "Content-Length: 5\r\n\r\nhello", false, "", ""},
		{ok + "Content-Length: 6\r\n\r\nhello", true, StageTruncated, "disconnect"},
		{ok + "Content-Length: 6\r\n\r\nhello", false, StageTruncated, "disconnect"},
		{ok + "Transfer-Encoding: chunked\r\n\r\n5\r\nhello\r\n", true, StageTruncated, "disconnect"},
		{ok + "Transfer-Encoding: chunked\r\n\r\n5\r\nhello\r\n0\r\n", true, "", ""},
		{ok + "Transfer-Encoding: chunked\r\n\r\n5\r\nhello\r\n0\r\n", false, "", ""},
	} {
		synctest.Test(t, func(t *testing.T) {
			w := &wire{serve: func(raw net.Conn, n int) {
				c := tls.Server(raw, config)
				answers(noRobots(func(r *request, n int) string {
					io.WriteString(c, tc.answer)
					if tc.told {
						c.Close()
					}
					return ""
				}))(c, n)
			}}
			v := newTour(t, Options{Network: w, RootCAs: pool})
			_, all := v.visit("https://example.com/")
			if x := all[1]; stage(x) != tc.stage || x.Truncated != tc.truncated || string(x.Body) != "hello" {
				t.Errorf("%q, with a close message %t: %q, %q: %v", tc.answer, tc.told, x.Body, x.Truncated, x.Err)
			}
		})
	}
}

// Between two exchanges, a connection keeps no data of the last answer.
func TestAKeptConnectionIsSmall(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := &wire{serve: answers(noRobots(func(r *request, n int) string { return page("hello") }))}
		v := newTour(t, Options{Network: w})
		res, _ := v.visit("http://a.example/" + strings.Repeat("x", maxRequest))
		c := v.fetcher.host(res.Page.URL.Site()).conn
		if c == nil || cap(c.request) > maxRequest || c.response.Header != nil || c.onTLS != nil || c.over.watch != nil {
			t.Errorf("%+v", c)
		}
	})
}

// A kept connection takes memory, but no goroutine.
func TestAConnectionHasNoGoroutine(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := &wire{serve: answers(noRobots(func(r *request, n int) string { return page("") }))}
		v := newTour(t, Options{Network: w})
		goroutines := func() int { // only goroutines of this bubble, because those of other tests may be ending
			synctest.Wait()
			stacks := make([]byte, 1<<20)
			return strings.Count(string(stacks[:runtime.Stack(stacks, true)]), ", synctest bubble ")
		}
		before := goroutines()
		v.visit("http://a.example/")
		if n := goroutines() - before; before == 0 || n != 1 || v.fetcher.open.Len() != 1 {
			t.Errorf("%d goroutines beside the server's, %d connections are kept", n-1, v.fetcher.open.Len())
		}
	})
}

// Pages that curl and browsers can read can be read here, too.
func TestOddAnswersThatArePages(t *testing.T) {
	const ok = "HTTP/1.1 200 OK\r\n"
	for name, answer := range map[string]string{
		"a line without a name":         ok + ": x\r\nContent-Length: 5\r\n\r\nhello",
		"an invalid name":               ok + "<meta>: x\r\nContent-Length: 5\r\n\r\nhello",
		"control characters":            ok + "X: a\x01b\r\nContent-Length: 5\r\n\r\nhello",
		"small letters":                 "http/1.1 200 ok\r\nContent-Length: 5\r\n\r\nhello",
		"HTTP/2.0":                      "HTTP/2.0 200 OK\r\nContent-Length: 5\r\n\r\nhello",
		"one length twice":              ok + "Content-Length: 5, 5\r\n\r\nhello",
		"identity":                      ok + "Transfer-Encoding: identity\r\nContent-Length: 5\r\n\r\nhello",
		"an invalid trailer":            ok + "Transfer-Encoding: chunked\r\n\r\n5\r\nhello\r\n0\r\nx\r\n\r\n",
		"chunks with LF alone":          ok + "Transfer-Encoding: chunked\r\n\r\n5\nhello\n0\n\n",
		"a line end before the answer":  "\r\n" + ok + "Content-Length: 5\r\n\r\nhello",
		"a blank before a colon":        ok + "Content-Length : 5\r\n\r\nhello",
		"a length that does not count":  ok + "Content-Length: 3\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nhello\r\n0\r\n\r\n",
		"an early hint that is no head": "HTTP/1.1 103 Hints\r\nx\r\n\r\n" + ok + "Content-Length: 5\r\n\r\nhello",
	} {
		synctest.Test(t, func(t *testing.T) {
			w := &wire{serve: answers(noRobots(func(*request, int) string { return answer }))}
			res, all := newTour(t, Options{Network: w, Bodies: Bodies{KeepWire: true}}).visit("http://a.example/")
			x := last(all)
			if res.Page != x || string(x.Body) != "hello" || x.Proto != "http/1.1" || !strings.HasSuffix(string(x.ResponseHead), "\n\r\n") {
				t.Errorf("%s: %q over %s, head %q: %v", name, x.Body, x.Proto, x.ResponseHead, x.Err)
			}
			for field, values := range x.Header {
				if strings.ContainsAny(strings.Join(values, ""), "\x01\r\n") {
					t.Errorf("%s: %s: %q", name, field, values)
				}
			}
		})
	}
}

// An invalid request is not sent.
func TestAnInvalidRequestIsNotSent(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		asked := 0
		w := &wire{serve: func(c net.Conn, n int) {
			if _, err := c.Read(make([]byte, 1)); err == nil {
				asked++
			}
		}}
		v := newTour(t, Options{Network: w})
		front := frontOf(t, frontier.Options{}, "http://a.example/")
		turn, err := front.Next(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		h := v.fetcher.host(turn.Site())
		x, err := h.exchange(t.Context(), turn, requestSpec{url: turn.Entry().URL, limit: 1000, header: http.Header{"X": {"a\nb"}}})
		v.fetcher.giveBack(h)
		if err != nil || stage(x) != StageProtocol || v.fetcher.open.Len() > 0 {
			t.Errorf("%v, %v", err, x.Err)
		}
		if synctest.Wait(); asked != 0 {
			t.Error("it was sent")
		}
	})
}

package fetch

import (
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/permesso-crawler/permesso/fetch/internal/http1"
	"github.com/permesso-crawler/permesso/frontier"
)

func TestWhoseFaultAnAnswerIs(t *testing.T) {
	for status := 100; status < 700; status++ {
		want := frontier.NoTrouble
		switch {
		case status == 429 || status == 503:
			want = frontier.SiteTrouble
		case status == 408 || status == 421 || status == 425 || status >= 500 && status <= 599:
			want = frontier.PageTrouble
		}
		if got := (&Exchange{Status: status}).Trouble(); got != want {
			t.Errorf("%d: %v, want %v", status, got, want)
		}
		failed := &Exchange{Status: status, Err: &Error{Stage: StageReset}}
		if want != frontier.SiteTrouble {
			want = frontier.ConnectTrouble
		}
		if got := failed.Trouble(); got != want {
			t.Errorf("%d, and broken: %v, want %v", status, got, want)
		}
	}
}

// A parsed answer counts. A broken head counts only if there is no parsed answer.
func TestWhatAnAnswerSaid(t *testing.T) {
	broken := []byte("HTTP/1.1 503 No\r\nRetry-After: 7\r\nRetry-After: 9\r\nRetry-After: 8\r\nX")
	now := time.Now()
	for _, tc := range []struct {
		x      Exchange
		status int
		rest   time.Duration
	}{
		{Exchange{}, 0, 0},
		{Exchange{broken: broken}, 503, 9 * time.Second},
		{Exchange{Status: 200, broken: broken}, 200, 0},
		{Exchange{Status: 200, Header: http.Header{"Retry-After": {"5"}}, broken: broken}, 200, 5 * time.Second},
		{Exchange{Status: 1, Header: http.Header{"Retry-After": {"soon", "5", "2"}}, broken: broken}, 1, 5 * time.Second},
	} {
		tc.x.Ended = now
		status, _ := tc.x.answer()
		rest := tc.x.RetryAfter()
		if status != tc.status || rest.IsZero() != (tc.rest == 0) || !rest.IsZero() && rest.Sub(now) != tc.rest {
			t.Errorf("%+v: %d, rest until %v", tc.x, status, rest)
		}
	}
}

func TestWhatAHeadThatBrokeOffSays(t *testing.T) {
	for head, want := range map[string]string{
		"HTTP/1.1 429 Busy\r\nA: 1\r\nb:2 \r\nC: 3":  "429 map[A:[1] B:[2]]",
		"HTTP/1.1 429\nA: 1\nA: 2\n":                 "429 map[A:[1 2]]",
		"HTTP/1.1  429 Busy\r\nno field\r\nA: 1\r\n": "429 map[A:[1]]",
		"HTTP/1.1 429 Busy: yes\r\nA: 1\r\n":         "429 map[A:[1]]",
		"HTTP/1.1 4290 Busy\r\n":                     "429 map[]",
		"HTTP/1.1 429":                               "429 map[]",
		"HTTP/1.1 100\r\n":                           "100 map[]",
		"HTTP/1.1 99\r\nA: 1\r\n":                    "0 map[]",
		"HTTP/1.1 099\r\n":                           "0 map[]",
		"HTTP/1.1 4x9\r\nA: 1\r\n":                   "0 map[]",
		"HTTP/1.1 42":                                "0 map[]",
		"HTTP/1.1":                                   "0 map[]",
		"ICY 429 Busy\r\nA: 1\r\n":                   "0 map[]",
		"":                                           "0 map[]",
	} {
		status, header := readHead([]byte(head))
		if got := fmt.Sprint(status, " ", map[string][]string(header)); got != want {
			t.Errorf("%q: %s, want %s", head, got, want)
		}
		if status == 0 && head != "" && header != nil {
			t.Errorf("%q: a header without an answer", head)
		}
	}
}

func TestProtocols(t *testing.T) {
	for version, want := range map[[2]int]string{{2, 0}: "h2", {1, 1}: "http/1.1", {1, 2}: "http/1.1", {1, 0}: "http/1.0", {0, 9}: "http/1.0"} {
		if got := protocol(&http.Response{ProtoMajor: version[0], ProtoMinor: version[1]}); got != want {
			t.Errorf("%v: %s", version, got)
		}
	}
}

// Lost connections are counted only until the server answers.
func TestLostConnectionsAreForgiven(t *testing.T) {
	stale := func(reused bool) *Exchange { return &Exchange{Reused: reused, Err: &Error{Stage: StageStale}} }
	fresh, kept := &Exchange{}, &Exchange{Reused: true}
	h := &host{}
	for range maxLost - 1 {
		h.lost(stale(true))
	}
	if !h.answered(fresh) {
		t.Error("not kept, though few were lost")
	}
	if h.lost(stale(true)); h.answered(fresh) {
		t.Error("kept, though many were lost in a row")
	}
	h.answered(kept)
	for range maxLost - 1 {
		h.lost(stale(true))
	}
	if !h.answered(fresh) {
		t.Error("an answer on a kept connection does not reset the count")
	}
	if h.lost(stale(true)); h.answered(fresh) {
		t.Error("an answer on a kept connection forgives too much")
	}
	h = &host{}
	for round := range 3 {
		for i := range maxRefused + 1 {
			x := stale(false)
			if h.lost(x); (stage(x) == StageReset) != (i == maxRefused) {
				t.Errorf("round %d: request %d is %s", round, i, stage(x))
			}
		}
		h.answered(fresh)
	}
	if h.lost(&Exchange{Err: &Error{Stage: StageProtocol}}); h.refused+h.lostKept > 0 {
		t.Error("a processed request counts as lost")
	}
}

// A connection is kept for thirty seconds after the last answer.
func TestHowLongAConnectionIsKept(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := &wire{serve: func(c net.Conn, n int) {
			answers(noRobots(func(*request, int) string { return page("hello") }))(slow{c}, n)
		}}
		v := newTour(t, Options{Network: w})
		v.delay = -1
		for i, tc := range []struct {
			pause time.Duration
			want  int
		}{{0, 1}, {25 * time.Second, 1}, {30 * time.Second, 1}, {30*time.Second + 1, 2}, {30 * time.Second, 2}} {
			time.Sleep(tc.pause)
			if v.visit("http://a.example/"); len(w.dialed) != tc.want {
				t.Errorf("visit %d: %d connections, want %d", i, len(w.dialed), tc.want)
			}
		}
	})
}

// A connection that the server has closed meanwhile is not used again.
func TestAConnectionThatWasClosedIsNotUsed(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := &wire{serve: func(c net.Conn, n int) {
			answers(noRobots(func(*request, int) string { return page("hello") }))(dropping{c}, n)
		}}
		v := newTour(t, Options{Network: w})
		v.delay = -1
		for i := range 3 {
			_, all := v.visit("http://a.example/")
			if x := last(all); x.Err != nil || x.Reused != (i == 0) || len(all) > 1 && i > 0 || len(w.dialed) != i+1 {
				t.Errorf("visit %d: %d connections, kept one %t: %v", i, len(w.dialed), x.Reused, x.Err)
			}
			time.Sleep(10 * time.Second)
		}
	})
}

// dropping is a connection that is closed one second after a page.
type dropping struct{ net.Conn }

func (d dropping) Write(b []byte) (int, error) {
	n, err := d.Conn.Write(b)
	if strings.Contains(string(b), "hello") {
		time.AfterFunc(time.Second, func() { d.Conn.Close() })
	}
	return n, err
}

// slow is a connection that writes the last byte ten seconds late.
type slow struct{ net.Conn }

func (s slow) Write(b []byte) (int, error) {
	if _, err := s.Conn.Write(b[:len(b)-1]); err != nil {
		return 0, err
	}
	time.Sleep(10 * time.Second)
	_, err := s.Conn.Write(b[len(b)-1:])
	return len(b), err
}

// If an exchange is incomplete, or the server closes the connection, no connection is kept.
func TestConnectionsThatAreNotKept(t *testing.T) {
	for name, tc := range map[string]struct {
		answer string
		open   int
	}{
		"whole":                       {page("hello"), 1},
		"HTTP/1.0":                    {"HTTP/1.0 200 OK\r\nContent-Length: 5\r\n\r\nhello", 0},
		"HTTP/1.0 that is kept":       {"HTTP/1.0 200 OK\r\nConnection: keep-alive\r\nContent-Length: 5\r\n\r\nhello", 1},
		"two lengths, one is ignored": {"HTTP/1.1 200 OK\r\nContent-Length: 5\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nhello\r\n0\r\n\r\n", 0},
		"a byte after it":             {page("hello") + "x", 0},
		"to be closed":                {"HTTP/1.1 200 OK\r\nConnection: close\r\nContent-Length: 5\r\n\r\nhello", 0},
		"too long":                    {page(strings.Repeat("x", 1001)), 0},
		"a bad chunk":                 {"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\nzz\r\n", 0},
		"bad coding":                  {"HTTP/1.1 200 OK\r\nContent-Encoding: deflate\r\nContent-Length: 1\r\n\r\nx", 0},
		"a line that is no field":     {"HTTP/1.1 200 OK\r\nhello\r\nContent-Length: 0\r\n\r\n", 0},
		"a length that is no number":  {"HTTP/1.1 200 OK\r\nContent-Length: 5x\r\n\r\nhello", 0},
		"fields":                      {"HTTP/1.1 200 OK\r\n" + strings.Repeat("X-A: b\r\n", 9999) + "Content-Length: 0\r\n\r\n", 1},
		"no HTTP":                     {"hello\r\n\r\n", 0},
	} {
		synctest.Test(t, func(t *testing.T) {
			w := &wire{serve: answers(func(*request, int) string { return tc.answer })}
			v := newTour(t, Options{Network: w, Bodies: Bodies{MaxSize: 1000}})
			front := frontOf(t, frontier.Options{}, "http://a.example/")
			turn, err := front.Next(t.Context())
			if err != nil {
				t.Fatal(err)
			}
			// Request the page with this turn, without its robots.txt.
			h := v.fetcher.host(turn.Site())
			x, err := h.exchange(t.Context(), turn, requestSpec{url: turn.Entry().URL, limit: 1000, header: http.Header{}})
			v.fetcher.giveBack(h)
			if open := v.fetcher.open.Len(); open != tc.open || err != nil {
				t.Errorf("%s: %d connections are open, want %d: %v, %v", name, open, tc.open, err, x.Err)
			}
			if strings.Contains(name, "HTTP/1.0") && x.Proto != "http/1.0" {
				t.Errorf("protocol %s", x.Proto)
			}
			synctest.Wait()
		})
	}
}

// Each failure has its own stage.
func TestAFailureHasItsCause(t *testing.T) {
	config, pool := certified(t)
	config.NextProtos = []string{"http/1.1"}
	silent := func(c net.Conn, n int) { io.Copy(io.Discard, c) }
	for _, tc := range []struct {
		name, url string
		w         *wire
		opts      Options
		want      Stage
		is        func(error) bool
	}{
		{"refused", "http://a.example/", &wire{refuse: map[string]bool{"16.0.0.1:80": true}}, Options{}, StageConnect, isRefused},
		{"refused by HTTPS", "https://a.example/", &wire{refuse: map[string]bool{"16.0.0.1:443": true}}, Options{}, StageConnect, isRefused},
		{"another name", "https://other.example/", &wire{serve: func(c net.Conn, n int) { site(c, config, new([]*request)) }}, Options{RootCAs: pool}, StageTLS, isTLS},
		{"silence", "http://a.example/", &wire{serve: silent}, Options{}, StageAnswerTimeout, func(err error) bool { return errors.Is(err, errPhase) }},
		{"closed at once", "http://a.example/", &wire{serve: func(c net.Conn, n int) { readOnce(c) }}, Options{}, StageReset, isBroken},
		{"nothing after the header", "http://a.example/", &wire{serve: func(c net.Conn, n int) {
			readOnce(c)
			time.Sleep(20 * time.Second)
			io.WriteString(c, "HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\n")
			silent(c, n)
		}}, Options{}, StageBodyTimeout, func(err error) bool { return errors.Is(err, errPhase) }},
		{"byte after byte", "http://a.example/", &wire{serve: func(c net.Conn, n int) {
			readOnce(c)
			io.WriteString(c, "HTTP/1.1 200 OK\r\nContent-Length: 500\r\n\r\n")
			for err := error(nil); err == nil; _, err = io.WriteString(c, "x") {
				time.Sleep(20 * time.Second)
			}
		}}, Options{Bandwidth: 1 << 20}, StageTotalTimeout, func(err error) bool { return errors.Is(err, errTotal) }},
	} {
		t.Run(tc.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				tc.opts.Network = tc.w
				v := newTour(t, tc.opts)
				v.once = true
				_, all := v.visit(tc.url)
				if x := all[0]; stage(x) == StageBodyTimeout && x.Ended.Sub(x.Started) != 50*time.Second {
					t.Errorf("ended after %v", x.Ended.Sub(x.Started))
				}
				if x := all[0]; stage(x) != tc.want || !tc.is(x.Err.Err) {
					t.Errorf("stage %q, want %q: %v", stage(x), tc.want, x.Err)
				}
			})
		})
	}
}

func isRefused(err error) bool {
	var op *net.OpError
	return errors.As(err, &op) && op.Op == "dial"
}

func readOnce(c net.Conn) { c.Read(make([]byte, 4096)) }

func TestStagesOfFailures(t *testing.T) {
	at := map[phase]Stage{
		phaseResolve: StageDNSTimeout, phaseConnect: StageConnectTimeout, phaseTLS: StageTLSTimeout,
		phaseAnswer: StageAnswerTimeout, phaseBody: StageBodyTimeout,
	}
	for p, want := range at {
		if got := stageOf(nil, p, false, fmt.Errorf("a time-out of the system: %w", os.ErrDeadlineExceeded)); got != want {
			t.Errorf("a time-out is %s, want %s", got, want)
		}
	}
	for _, tc := range []struct {
		err  error
		want Stage // stage of a failure before the answer
	}{
		{io.EOF, StageReset}, {io.ErrUnexpectedEOF, StageReset}, {io.ErrClosedPipe, StageReset}, {net.ErrClosed, StageReset},
		{&net.OpError{Op: "read", Err: errors.New("x")}, StageReset},
		{errors.New("malformed"), StageProtocol}, {http1.ErrProtocol, StageProtocol}, {http1.ErrHeadSize, StageHeaderSize},
		{errors.New("http2: response header list larger than advertised limit"), StageHeaderSize},
		{streamError{Code: codeRefusedStream}, StageStale}, {streamError{Code: codeEnhanceYourCalm}, StageCalm}, {streamError{Code: 2}, StageProtocol},
		{errors.New("GOAWAY ... ErrCode:ENHANCE_YOUR_CALM, debug"), StageCalm},
		{errors.New("server sent GOAWAY; LastStreamID=1, ErrCode=ENHANCE_YOUR_CALM, debug=x"), StageCalm},
		{errors.New("http2: Transport received Server's graceful shutdown GOAWAY"), StageStale},
		{errors.New("http2: Transport received GOAWAY from server ErrCode:NO_ERROR"), StageStale},
		{errReply, StageProtocol}, {&decodeError{io.EOF}, StageEncoding},
	} {
		if got := stageOf(nil, phaseAnswer, false, fmt.Errorf("wrapped: %w", tc.err)); got != tc.want {
			t.Errorf("%v is %s, want %s", tc.err, got, tc.want)
		}
		kept := tc.want
		if kept == StageReset {
			kept = StageStale
		}
		if got := stageOf(nil, phaseAnswer, true, tc.err); got != kept {
			t.Errorf("%v on a kept connection is %s, want %s", tc.err, got, kept)
		}
	}
}

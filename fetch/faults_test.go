package fetch

import (
	"bufio"
	"bytes"
	"crypto/tls"
	"fmt"
	"io"
	"net"
	"net/netip"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/permesso-crawler/permesso/frontier"
	"golang.org/x/net/http2"
	"golang.org/x/net/http2/hpack"
)

// script answers robots.txt. Then it writes pieces until the client closes the connection, but at
// most 4 MiB.
func script(pieces ...string) func(net.Conn, int) {
	return func(c net.Conn, n int) {
		in := bufio.NewReader(c)
		for {
			r, err := readRequest(in)
			if err != nil {
				return
			}
			if r.target != "/robots.txt" {
				break
			}
			if _, err := io.WriteString(c, "HTTP/1.1 404 Not Found\r\nContent-Length: 0\r\n\r\n"); err != nil {
				return
			}
		}
		for _, p := range pieces {
			if _, err := io.WriteString(c, p); err != nil {
				return
			}
		}
	}
}

// endless returns the piece first and then the piece again many times.
func endless(first, again string) []string {
	pieces := []string{first}
	for size := 0; size < 4<<20; size += 32 << 10 {
		pieces = append(pieces, strings.Repeat(again, 32<<10/len(again)))
	}
	return pieces
}

func TestFaultsOfAServer(t *testing.T) {
	const ok = "HTTP/1.1 200 OK\r\nContent-Type: text/html\r\n"
	for _, tc := range []struct {
		name      string
		serve     func(net.Conn, int)
		want      Stage
		truncated string
	}{
		{"closes without an answer", script(), StageStale, ""},
		{"closes within the status line", script("HTTP/1.1 20"), StageProtocol, ""},
		{"closes within the header", script("HTTP/1.1 200 OK\r\nContent-"), StageProtocol, ""},
		{"content too short", script(ok + "Content-Length: 10\r\n\r\nhalf"), StageTruncated, "disconnect"},
		{"content too long", script(ok + "Content-Length: 4\r\n\r\nwhole and more"), "", ""},
		{"no length", script(ok + "\r\nup to the end"), "", ""},
		{"two lengths", script(ok + "Content-Length: 4\r\nContent-Length: 5\r\n\r\nwhole"), StageProtocol, ""},
		{"length that is no number", script(ok + "Content-Length: 4x\r\n\r\nwhole"), "", ""},
		{"length beyond counting", script(ok + "Content-Length: 99999999999999999999\r\n\r\nwhole"), "", ""},
		{"chunk without a size", script(ok + "Transfer-Encoding: chunked\r\n\r\nzz\r\nhalf\r\n"), StageTruncated, "disconnect"},
		{"chunk of negative size", script(ok + "Transfer-Encoding: chunked\r\n\r\n-4\r\nhalf\r\n"), StageTruncated, "disconnect"},
		{"chunk beyond counting", script(ok + "Transfer-Encoding: chunked\r\n\r\nffffffffffffffffff\r\nhalf\r\n"), StageTruncated, "disconnect"},
		{"chunk that ends elsewhere", script(ok + "Transfer-Encoding: chunked\r\n\r\n2\r\nhalf\r\n0\r\n\r\n"), StageTruncated, "disconnect"},
		{"chunk extensions without end", script(endless(ok+"Transfer-Encoding: chunked\r\n\r\n2;", "x")...), StageTruncated, "disconnect"},
		{"chunks of one byte without end", script(endless(ok+"Transfer-Encoding: chunked\r\n\r\n", "1;"+strings.Repeat("x", 90)+"\r\ny\r\n")...), StageTruncated, "disconnect"},
		{"trailers without end", script(endless(ok+"Transfer-Encoding: chunked\r\n\r\n2\r\nok\r\n0\r\n", "X-A: b\r\n")...), StageTruncated, "disconnect"},
		{"unknown transfer coding", script(ok + "Transfer-Encoding: gzip\r\n\r\nx"), StageProtocol, ""},
		{"body without end", script(endless(ok+"\r\n", "x")...), "", "length"},
		{"fields without end", script(endless(ok, "X-A: b\r\n")...), StageHeaderSize, ""},
		{"field without end", script(endless(ok+"X-A: ", "x")...), StageHeaderSize, ""},
		{"status line without end", script(endless("HTTP/1.1 200 ", "x")...), StageHeaderSize, ""},
		{"many fields", script(ok + strings.Repeat("X-A: b\r\n", 10_000) + "Content-Length: 0\r\n\r\n"), "", ""},
		{"interim answers without end", script(endless("", "HTTP/1.1 103 Early Hints\r\nLink: </a.css>\r\n\r\n")...), StageHeaderSize, ""},
		{"no header", script("hello"), StageProtocol, ""},
		{"HTTP/0.9", script("<html>hello</html>\n"), StageProtocol, ""},
		{"zeros", script(endless("", "\x00")...), StageHeaderSize, ""},
		{"another protocol", script("ICY 200 OK\r\n\r\n"), StageProtocol, ""},
		{"an invalid version", script("HTTP/x 200 OK\r\n\r\n"), StageProtocol, ""},
		{"an invalid status", script("HTTP/1.1 20x OK\r\n\r\n"), StageProtocol, ""},
		{"a field without a colon", script(ok + "hello\r\n\r\n"), "", ""},
		{"a field with a zero byte", script(ok + "X-A: \x00\r\nContent-Length: 0\r\n\r\n"), StageProtocol, ""},
		{"lines that end in LF", script("HTTP/1.1 200 OK\nContent-Length: 5\n\nhello"), "", ""},
		{"a switch of protocols", script("HTTP/1.1 101 Switching Protocols\r\nUpgrade: h2c\r\nConnection: upgrade\r\n\r\nx"), "", ""},
	} {
		t.Run(tc.name, func(t *testing.T) {
			for _, keep := range []bool{false, true} {
				synctest.Test(t, func(t *testing.T) {
					w := &wire{serve: tc.serve}
					_, all := newTour(t, Options{Network: w, Bodies: Bodies{MaxSize: 100_000, KeepWire: keep}}).visit("http://a.example/")
					x := all[1]
					if stage(x) != tc.want || x.Truncated != tc.truncated {
						t.Errorf("stage %q, truncated %q; want %q, %q: %v", stage(x), x.Truncated, tc.want, tc.truncated, x.Err)
					}
					if n := len(x.ResponseHead); n > maxHeaderBytes+64<<10 || keep && len(x.RequestHead) == 0 {
						t.Errorf("heads of %d and %d bytes", len(x.RequestHead), n)
					}
					if took := x.Ended.Sub(x.Started); took > totalTimeouts*30*time.Second {
						t.Errorf("took %v", took)
					}
				})
			}
		})
	}
}

func TestAnAnswerBeforeTheRequestHarmsNobody(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := &wire{serve: func(c net.Conn, n int) {
			io.WriteString(c, page("User-agent: *\nAllow: /"))
			io.Copy(io.Discard, c)
		}}
		v := newTour(t, Options{Network: w})
		v.once = true
		_, all := v.visit("http://a.example/")
		// The scheduler decides whether the client had sent its request before.
		if x := all[0]; !slices.Contains([]Stage{"", StageReset, StageProtocol}, stage(x)) || !x.Robots {
			t.Errorf("stage %q: %v", stage(x), x.Err)
		}
	})
}

func TestARedirectIsAnAnswerAndLeadsNowhere(t *testing.T) {
	for _, to := range []string{
		"http://127.0.0.1/", "http://169.254.169.254/latest/meta-data/", "http://[::1]/", "file:///etc/passwd", "gopher://a.example/",
		"http://rebound.example/", "/", "//", "http://a.example/" + strings.Repeat("x", 100_000), "",
	} {
		synctest.Test(t, func(t *testing.T) {
			w := &wire{serve: answers(noRobots(func(r *request, n int) string {
				return "HTTP/1.1 302 Found\r\nContent-Length: 0\r\nLocation: " + to + "\r\n\r\n"
			}))}
			res, all := newTour(t, Options{Network: w}).visit("http://a.example/")
			if res.Page == nil || res.Page.Status != 302 || len(all) != 2 {
				t.Errorf("%.40q: %d exchanges, outcome %+v", to, len(all), res.Outcome)
			}
			if fmt.Sprint(w.dialed) != "[16.0.0.1:80]" {
				t.Errorf("%.40q: dialled %v", to, w.dialed)
			}
		})
	}
}

func TestANameThatMovesToAPrivateAddressIsNotFollowed(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := &wire{addrs: map[string][][]netip.Addr{"a.example": {{netip.MustParseAddr("16.0.0.9")}, {netip.MustParseAddr("169.254.169.254")}}}}
		w.serve = answers(noRobots(func(r *request, n int) string { return page("") }))
		v := newTour(t, Options{Network: w})
		v.visit("http://a.example/")
		time.Sleep(keepName + idleTime) // by then the resolver's answer and the connection have expired
		res, all := v.visit("http://a.example/")
		if fmt.Sprint(w.dialed) != "[16.0.0.9:80]" || len(all) != 0 || !res.Outcome.Gone {
			t.Errorf("dialled %v, %d exchanges, outcome %+v", w.dialed, len(all), res.Outcome)
		}
	})
}

func TestASiteThatSpeaksNoTLS(t *testing.T) {
	for _, says := range []string{"HTTP/1.1 400 Bad Request\r\n\r\n", "\x16\x03\x01\xff\xff", "", "\x15\x03\x01\x00\x02\x02\x28"} {
		synctest.Test(t, func(t *testing.T) {
			w := &wire{serve: func(c net.Conn, n int) {
				c.Read(make([]byte, 4096))
				io.WriteString(c, says)
			}}
			v := newTour(t, Options{Network: w})
			v.once = true
			res, all := v.visit("https://a.example/")
			if stage(all[0]) != StageTLS || res.Outcome.Trouble != frontier.ConnectTrouble {
				t.Errorf("%q: stage %q, trouble %v", says, stage(all[0]), res.Outcome.Trouble)
			}
		})
	}
}

// h2 serves one HTTP/2 connection. It answers robots.txt; f answers all other requests.
func h2(config *tls.Config, f func(fr *http2.Framer, stream uint32)) func(net.Conn, int) {
	config = config.Clone()
	config.NextProtos = []string{"h2"}
	return func(raw net.Conn, n int) {
		serveH2(tls.Server(raw, config), f)
	}
}

// serveH2 is like h2, for an existing connection.
func serveH2(c net.Conn, f func(fr *http2.Framer, stream uint32)) {
	if _, err := io.ReadFull(c, make([]byte, len(http2.ClientPreface))); err != nil {
		return
	}
	fr := http2.NewFramer(c, c)
	asked := make(chan h2Request, 16)
	// This goroutine reads, because two ends of a pipe that both write would wait for ever. It
	// ends with the connection.
	go func() {
		defer close(asked)
		readRequests(fr, asked)
	}()
	fr.WriteSettings()
	for r := range asked {
		if r.path != "/robots.txt" {
			f(fr, r.stream)
			continue
		}
		fr.WriteHeaders(http2.HeadersFrameParam{StreamID: r.stream, BlockFragment: block(":status", "404"), EndHeaders: true, EndStream: true})
	}
}

type h2Request struct {
	path   string
	stream uint32
}

func readRequests(fr *http2.Framer, asked chan<- h2Request) {
	path := ""
	fields := hpack.NewDecoder(4096, func(f hpack.HeaderField) {
		if f.Name == ":path" {
			path = f.Value
		}
	})
	for {
		frame, err := fr.ReadFrame()
		if err != nil {
			return
		}
		if h, ok := frame.(*http2.HeadersFrame); ok {
			fields.Write(h.HeaderBlockFragment())
			asked <- h2Request{path, h.StreamID}
		}
	}
}

// block returns a header block of names and values.
func block(fields ...string) []byte {
	var b bytes.Buffer
	e := hpack.NewEncoder(&b)
	for i := 0; i < len(fields); i += 2 {
		e.WriteField(hpack.HeaderField{Name: fields[i], Value: fields[i+1]})
	}
	return b.Bytes()
}

// For site owners: "ENHANCE_YOUR_CALM in HTTP/2 counts as a 429."
func TestFaultsOfAnHTTP2Server(t *testing.T) {
	config, pool := certified(t)
	head := func(fr *http2.Framer, stream uint32, end bool, fields ...string) {
		fr.WriteHeaders(http2.HeadersFrameParam{StreamID: stream, BlockFragment: block(fields...), EndHeaders: true, EndStream: end})
	}
	for _, tc := range []struct {
		name      string
		serve     func(fr *http2.Framer, stream uint32)
		want      []Stage
		truncated string
	}{
		{"goes away", func(fr *http2.Framer, s uint32) { fr.WriteGoAway(0, http2.ErrCodeEnhanceYourCalm, []byte("too fast")) }, []Stage{StageStale, StageCalm}, ""},
		{"is done with the stream, and goes away", func(fr *http2.Framer, s uint32) {
			fr.WriteGoAway(s, http2.ErrCodeEnhanceYourCalm, nil)
			fr.WriteRSTStream(s, http2.ErrCodeEnhanceYourCalm)
		}, []Stage{StageCalm}, ""},
		{"wants calm", func(fr *http2.Framer, s uint32) { fr.WriteRSTStream(s, http2.ErrCodeEnhanceYourCalm) }, []Stage{StageCalm}, ""},
		{"wants calm within the body", func(fr *http2.Framer, s uint32) {
			head(fr, s, false, ":status", "200")
			fr.WriteData(s, false, []byte("half"))
			fr.WriteRSTStream(s, http2.ErrCodeEnhanceYourCalm)
		}, []Stage{StageCalm}, "unspecified"},
		{"refuses the stream", func(fr *http2.Framer, s uint32) { fr.WriteRSTStream(s, http2.ErrCodeRefusedStream) }, []Stage{StageStale}, ""},
		{"resets the stream", func(fr *http2.Framer, s uint32) { fr.WriteRSTStream(s, http2.ErrCodeInternal) }, []Stage{StageProtocol}, ""},
		{"resets within the body", func(fr *http2.Framer, s uint32) {
			head(fr, s, false, ":status", "200")
			fr.WriteData(s, false, []byte("half"))
			fr.WriteRSTStream(s, http2.ErrCodeInternal)
		}, []Stage{StageTruncated}, "disconnect"},
		{"body shorter than its length", func(fr *http2.Framer, s uint32) {
			head(fr, s, false, ":status", "200", "content-length", "10")
			fr.WriteData(s, true, []byte("half"))
		}, []Stage{StageTruncated}, "disconnect"},
		{"no status", func(fr *http2.Framer, s uint32) { head(fr, s, true, "x-a", "b") }, []Stage{StageProtocol}, ""},
		{"floods settings", func(fr *http2.Framer, s uint32) {
			for range 20_000 {
				if fr.WriteSettings(http2.Setting{ID: http2.SettingInitialWindowSize, Val: 65535}) != nil {
					return
				}
			}
		}, []Stage{StageAnswerTimeout}, ""},
		{"floods pings", func(fr *http2.Framer, s uint32) {
			for range 20_000 {
				if fr.WritePing(false, [8]byte{}) != nil {
					return
				}
			}
		}, []Stage{StageAnswerTimeout}, ""},
		{"floods continuations", func(fr *http2.Framer, s uint32) {
			fr.WriteHeaders(http2.HeadersFrameParam{StreamID: s, BlockFragment: block(":status", "200")})
			piece := block("x-a", strings.Repeat("b", 8000))
			for range 1000 {
				if fr.WriteContinuation(s, false, piece) != nil {
					return
				}
			}
		}, []Stage{StageProtocol, StageHeaderSize}, ""},
		{"a header that unpacks beyond the limit", func(fr *http2.Framer, s uint32) {
			fields := []string{":status", "200"}
			for range 100 {
				fields = append(fields, "x-a", strings.Repeat("b", 3000))
			}
			head(fr, s, true, fields...)
		}, []Stage{StageHeaderSize}, ""},
		{"stops within the body", func(fr *http2.Framer, s uint32) {
			head(fr, s, false, ":status", "200")
			fr.WriteData(s, false, []byte("half"))
		}, []Stage{StageBodyTimeout}, "time"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				w := &wire{serve: h2(config, tc.serve)}
				res, all := newTour(t, Options{Network: w, RootCAs: pool}).visit("https://example.com/")
				x := all[1]
				if got := x.Trouble(); stage(x) == StageCalm && got != frontier.SiteTrouble || stage(x) == StageStale && got != frontier.NoTrouble {
					t.Errorf("trouble %v", got)
				}
				// If a body breaks off at the last try, the received part is used as the page.
				if taken := tc.truncated != "" && stage(x) != StageCalm; res.Page != nil && stage(x) != "" && !taken || taken && (res.Page == nil || res.Page.Truncated != tc.truncated) {
					t.Errorf("page %+v", res.Page)
				}
				if !slices.Contains(tc.want, stage(x)) || x.Truncated != tc.truncated {
					t.Errorf("stage %q, truncated %q; want %v, %q: %v", stage(x), x.Truncated, tc.want, tc.truncated, x.Err)
				}
				if took := x.Ended.Sub(x.Started); took > totalTimeouts*30*time.Second {
					t.Errorf("took %v", took)
				}
			})
		})
	}
}

// If a server wants HTTP/1.1 (RFC 9113, section 7), all later requests use it. The refused request
// does not count as a try. The server may send the refusal within a body, or with the end of the
// connection.
func TestAServerThatWantsHTTP11IsAskedSo(t *testing.T) {
	config, pool := certified(t)
	for name, refuse := range map[string]func(fr *http2.Framer, s uint32){
		"stream":     func(fr *http2.Framer, s uint32) { fr.WriteRSTStream(s, http2.ErrCodeHTTP11Required) },
		"connection": func(fr *http2.Framer, s uint32) { fr.WriteGoAway(0, http2.ErrCodeHTTP11Required, nil) },
		"body": func(fr *http2.Framer, s uint32) {
			fr.WriteHeaders(http2.HeadersFrameParam{StreamID: s, BlockFragment: block(":status", "200"), EndHeaders: true})
			fr.WriteData(s, false, []byte("half"))
			fr.WriteRSTStream(s, http2.ErrCodeHTTP11Required)
		},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				both := config.Clone()
				both.NextProtos = []string{"h2", "http/1.1"}
				w := &wire{serve: func(raw net.Conn, n int) {
					offered := make(chan bool, 1) // receives whether the client offers HTTP/2
					look := both.Clone()
					look.GetConfigForClient = func(hello *tls.ClientHelloInfo) (*tls.Config, error) {
						offered <- slices.Contains(hello.SupportedProtos, "h2")
						return nil, nil
					}
					c := tls.Server(raw, look)
					if c.Handshake() != nil {
						return
					}
					if <-offered {
						serveH2(c, refuse)
						return
					}
					answers(noRobots(func(*request, int) string { return page("hello") }))(c, n)
				}}
				res, all := newTour(t, Options{Network: w, RootCAs: pool}).visit("https://example.com/")
				var protos []string
				for _, x := range all[1:] {
					protos = append(protos, x.Proto)
				}
				if res.Page == nil || string(res.Page.Body) != "hello" || res.Page.Proto != "http/1.1" || len(all) > 4 {
					t.Errorf("%d requests, by %q: %+v", len(all), protos, res.Outcome)
				}
				if free := stage(all[1]) == StageStale; free != (name != "body") {
					t.Errorf("the request that was refused is one of stage %q: %v", stage(all[1]), all[1].Err)
				}
			})
		})
	}
}

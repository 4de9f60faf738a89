package fetch

import (
	"bufio"
	"bytes"
	"crypto/x509"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"testing/synctest"
)

func TestHeadsAreKeptAsTheyWereOnTheWire(t *testing.T) {
	head := "HTTP/1.1 200 Fine\r\nx-lower: 1\r\nX-Twice: b\r\nContent-Length: 5\r\nX-Twice:   a \r\n\r\n"
	for name, before := range map[string]string{
		"plain":     "",
		"early":     "HTTP/1.1 103 Early Hints\r\nLink: </a.css>\r\n\r\n",
		"two early": "HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 103 Early Hints\r\nLink: </a.css>\r\n\r\n",
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				w := &wire{serve: answers(noRobots(func(r *request, n int) string { return before + head + "hello" }))}
				v := newTour(t, Options{Network: w, Bodies: Bodies{KeepWire: true}})
				for range 2 {
					_, all := v.visit("http://a.example/%zz?q")
					x := last(all)
					if string(x.ResponseHead) != head || string(x.Wire) != "hello" {
						t.Errorf("response %q, body %q", x.ResponseHead, x.Wire)
					}
					if got := string(x.RequestHead); !strings.HasPrefix(got, "GET /%zz?q HTTP/1.1\r\nHost: a.example\r\nUser-Agent: testbot") || !strings.HasSuffix(got, "\r\n\r\n") {
						t.Errorf("request %q", got)
					}
					if robots := all[0]; robots.Robots && !strings.HasPrefix(string(robots.RequestHead), "GET /robots.txt HTTP/1.1\r\n") {
						t.Errorf("request for robots.txt %q", robots.RequestHead)
					}
				}
			})
		})
	}
}

// The head of an answer does not affect the head of the next one, for reads of any size.
func TestHeadsThatComeInPortions(t *testing.T) {
	heads := []string{
		"HTTP/1.1 200 OK\r\nX-Long: " + strings.Repeat("x", 300) + "\r\nContent-Length: 5\r\n\r\n",
		"HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\n",
	}
	synctest.Test(t, func(t *testing.T) {
		w := &wire{serve: func(c net.Conn, _ int) {
			in := bufio.NewReader(c)
			for n := 0; ; n++ {
				r, err := readRequest(in)
				if err != nil {
					return
				}
				answer := heads[n%2] + "hello"
				if r.target == "/robots.txt" {
					answer = heads[0] + "hello"
				}
				for size := n%3 + 1; answer != ""; answer = answer[min(size, len(answer)):] {
					if n == 1 || n == 3 { // send the whole answer in one write
						size = len(answer)
					}
					io.WriteString(c, answer[:min(size, len(answer))])
				}
			}
		}}
		v := newTour(t, Options{Network: w, Bodies: Bodies{KeepWire: true}})
		var all []*Exchange
		for range 4 {
			_, more := v.visit("http://a.example/")
			all = append(all, more...)
		}
		for n, x := range all {
			if got := string(x.ResponseHead); got != heads[n%2] {
				t.Errorf("answer %d: head %q", n, got)
			}
		}
		if len(all) != 5 || len(w.dialed) != 1 {
			t.Errorf("%d answers on %d connections", len(all), len(w.dialed))
		}
	})
}

func TestWhatCameOfABrokenHeadIsKept(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := &wire{serve: answers(noRobots(func(r *request, n int) string { return "no HTTP at all\r\n\r\n" }))}
		_, all := newTour(t, Options{Network: w, Bodies: Bodies{KeepWire: true}}).visit("http://a.example/")
		if x := all[1]; !strings.HasPrefix(string(x.ResponseHead), "no HTTP") || len(x.RequestHead) == 0 || stage(x) != StageProtocol {
			t.Errorf("request %q, response %q, stage %q", x.RequestHead, x.ResponseHead, stage(x))
		}
	})
}

func TestHeadsOfHTTP2AreWrittenInTheFormOfHTTP1(t *testing.T) {
	for _, protocol := range []string{"h2", "http/1.1"} {
		server := httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			if r.URL.Path == "/robots.txt" {
				http.NotFound(w, r)
				return
			}
			w.Header().Set("Date", "Sat, 01 Jan 2000 00:00:00 GMT")
			w.Header().Set("Content-Type", "text/plain")
			w.Header().Set("Content-Encoding", "gzip")
			w.Write(gzipped([]byte("hello")))
		}))
		server.EnableHTTP2 = protocol == "h2"
		server.StartTLS()
		pool := x509.NewCertPool()
		pool.AddCert(server.Certificate())
		_, port, _ := strings.Cut(strings.TrimPrefix(server.URL, "https://"), ":")
		v := newTour(t, Options{RootCAs: pool, Bodies: Bodies{KeepWire: true}, ConnectTo: []ConnectTo{{ToHost: "127.0.0.1", ToPort: port}}})
		v.delay = -1
		res, all := v.visit("https://example.com/a?b")
		x := last(all)
		if res.Page == nil {
			t.Fatalf("%v", x.Err)
		}
		length := len(gzipped([]byte("hello")))
		for _, want := range []string{"\r\nContent-Encoding: gzip\r\n", fmt.Sprintf("\r\nContent-Length: %d\r\n", length), "\r\nContent-Type: text/plain\r\n"} {
			if !bytes.Contains(x.ResponseHead, []byte(want)) {
				t.Errorf("%s: %q is not in the head %q", protocol, want, x.ResponseHead)
			}
		}
		if !bytes.HasPrefix(x.ResponseHead, []byte("HTTP/1.1 200 OK\r\n")) || !bytes.HasSuffix(x.ResponseHead, []byte("\r\n\r\n")) {
			t.Errorf("%s: response %q", protocol, x.ResponseHead)
		}
		if got := string(x.RequestHead); !strings.HasPrefix(got, "GET /a?b HTTP/1.1\r\nHost: example.com\r\n") || !strings.Contains(got, "\r\nUser-Agent: testbot") {
			t.Errorf("%s: request %q", protocol, got)
		}
		if x.Proto != protocol || x.TLSVersion != "TLS 1.3" || !strings.HasPrefix(x.TLSCipher, "TLS_") || string(x.Body) != "hello" || len(x.Wire) != length {
			t.Errorf("%s: protocol %q, %q, %q, body %q of %d", protocol, x.Proto, x.TLSVersion, x.TLSCipher, x.Body, len(x.Wire))
		}
		server.Close()
	}
}

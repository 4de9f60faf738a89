package fetch

import (
	"fmt"
	"net"
	"net/http"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/permesso-crawler/permesso/frontier"
	"golang.org/x/net/http2"
)

// An answer to HEAD has no body, although its header describes the body of a GET (RFC 9110,
// section 9.3.2). The crawler does not wait for a body.
func TestAnAnswerToHEADHasNoBodyForAnyHeader(t *testing.T) {
	for name, fields := range map[string]string{
		"a length": "Content-Length: 1000000000\r\n", "no length": "", "chunks": "Transfer-Encoding: chunked\r\n", "a length of zero": "Content-Length: 0\r\n",
		"a coding": "Content-Encoding: gzip\r\nContent-Length: 31\r\n", "an unknown coding": "Content-Encoding: zz\r\nTransfer-Encoding: chunked\r\n",
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				var asked []string
				w := &wire{serve: answers(noRobots(func(r *request, n int) string {
					asked = append(asked, r.method+" "+r.target)
					return "HTTP/1.1 200 OK\r\nContent-Type: text/html\r\n" + fields + "\r\n"
				}))}
				v := newTour(t, Options{Network: w, Bodies: Bodies{KeepWire: true, BodyBudget: 1}})
				v.head = true
				began := time.Now()
				for i := range 2 {
					res, all := v.visit(fmt.Sprintf("http://a.example/%d", i))
					x := last(all)
					if res.Page != x || !x.Head || x.Err != nil || x.Status != 200 || x.Truncated != "" || x.WireBytes != 0 || len(x.Body) != 0 || len(x.Wire) != 0 {
						t.Errorf("%+v", x)
					}
					if !strings.HasPrefix(string(x.RequestHead), "HEAD /") || string(x.ResponseHead) != "HTTP/1.1 200 OK\r\nContent-Type: text/html\r\n"+fields+"\r\n" {
						t.Errorf("request\n%s\nanswer\n%s", x.RequestHead, x.ResponseHead)
					}
					if res.Outcome.Fate.Code != frontier.Fetched || res.Outcome.Request.Bytes != 0 {
						t.Errorf("outcome %+v", res.Outcome)
					}
					res.Release()
				}
				if all := []string{"HEAD /0", "HEAD /1"}; !slices.Equal(asked, all) || len(w.dialed) != 1 {
					t.Errorf("requests %q over %v, want %q over one connection", asked, w.dialed, all)
				}
				if took := time.Since(began); took > 10*time.Second {
					t.Errorf("it took %v", took)
				}
			})
		})
	}
}

// If a server sends a body after the header, it is never read as the answer to another request.
func TestABodyAfterAnAnswerToHEADIsIgnored(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := &wire{serve: answers(noRobots(func(r *request, n int) string {
			if r.method == "HEAD" {
				return page("HTTP/1.1 200 OK\r\nContent-Length: 4\r\n\r\nevil")
			}
			return page("good")
		}))}
		v := newTour(t, Options{Network: w})
		v.head = true
		if res, all := v.visit("http://a.example/1"); res.Page == nil || len(res.Page.Body) != 0 {
			t.Fatalf("%+v", last(all))
		}
		v.head = false
		res, all := v.visit("http://a.example/2")
		if res.Page == nil || string(res.Page.Body) != "good" {
			t.Errorf("%+v", last(all))
		}
	})
}

// If a server refuses the method HEAD, the page is requested with GET in another turn. The GET
// has its own pause. The HEAD does not count as a try.
func TestWhereHEADIsRefusedTheSiteIsAskedWithGET(t *testing.T) {
	for _, status := range []int{405, 501} {
		for _, busy := range []int{0, 1} {
			synctest.Test(t, func(t *testing.T) {
				var asked []string
				left := busy
				w := &wire{serve: answers(noRobots(func(r *request, n int) string {
					asked = append(asked, r.method)
					if r.method == "HEAD" {
						return fmt.Sprintf("HTTP/1.1 %d No\r\nAllow: GET\r\nContent-Length: 5\r\n\r\n", status)
					}
					if left--; left >= 0 { // the first GET fails and is repeated
						return "HTTP/1.1 500 No\r\nContent-Length: 0\r\n\r\n"
					}
					return page("whole")
				}))}
				v := newTour(t, Options{Network: w})
				v.head = true
				res, all := v.visit("http://a.example/")
				want := append([]string{"HEAD"}, slices.Repeat([]string{"GET"}, 1+busy)...)
				if !slices.Equal(asked, want) || res.Page == nil || string(res.Page.Body) != "whole" || res.Page.Head {
					t.Fatalf("%d: requested with %q, want %q: %+v", status, asked, want, last(all))
				}
				refused, got := all[1], all[2]
				if refused.Status != status || !refused.Head || refused.Err != nil || got.Started.Sub(refused.Ended) < time.Second || got.Asked.By != frontier.OwnClock || got.Asked.For > 2*time.Second {
					t.Errorf("%d: GET after %v, with the pause %+v", status, got.Started.Sub(refused.Ended), got.Asked)
				}
			})
		}
	}
}

// A status that demands a pause has the same effect for HEAD. Any other status counts as the
// status of the page.
func TestOtherAnswersToHEADAreThoseOfThePage(t *testing.T) {
	for status, want := range map[int]frontier.Code{404: frontier.Fetched, 403: frontier.Fetched, 301: frontier.Fetched, 500: frontier.Failed, 502: frontier.Failed} {
		synctest.Test(t, func(t *testing.T) {
			asked := 0
			w := &wire{serve: answers(noRobots(func(r *request, n int) string {
				if asked++; r.method != "HEAD" {
					t.Errorf("%d: requested with %s", status, r.method)
				}
				return fmt.Sprintf("HTTP/1.1 %d %s\r\nContent-Length: 9\r\n\r\n", status, http.StatusText(status))
			}))}
			v := newTour(t, Options{Network: w})
			v.head = true
			res, all := v.visit("http://a.example/")
			if tries := map[bool]int{true: 1, false: frontier.MaxTries}[want == frontier.Fetched]; res.Outcome.Fate.Code != want || asked != tries {
				t.Errorf("%d: requested %d times, want %d: %+v", status, asked, tries, last(all))
			}
		})
	}
}

// FTP has no HEAD, so the file is retrieved, and Exchange.Head is false.
func TestOverFTPTheFileIsRetrieved(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := &ftpServer{files: map[string]string{"/x": "hello"}, data: make(chan net.Conn)}
		w := &wire{serve: s.serve}
		s.wire = w
		v := newTour(t, Options{Network: w})
		v.head = true
		if res, all := v.visit("ftp://a.example/x"); res.Page == nil || string(res.Page.Body) != "hello" || res.Page.Head {
			t.Errorf("%+v", last(all))
		}
		w.wait.Wait()
	})
}

// Over HTTP/2, frames of data after the header are an error of their stream only.
func TestHEADOverHTTP2(t *testing.T) {
	config, pool := certified(t)
	for name, more := range map[string]string{"as it should be": "", "with a body": strings.Repeat("x", 1000)} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				w := &wire{serve: h2(config, func(fr *http2.Framer, stream uint32) {
					fr.WriteHeaders(http2.HeadersFrameParam{StreamID: stream, BlockFragment: block(":status", "200", "content-length", "1000", "content-encoding", "gzip"), EndHeaders: true, EndStream: more == ""})
					if more != "" {
						fr.WriteData(stream, true, []byte(more))
					}
				})}
				v := newTour(t, Options{Network: w, RootCAs: pool, Bodies: Bodies{KeepWire: true}})
				v.head = true
				for i := range 2 {
					res, all := v.visit(fmt.Sprintf("https://example.com/%d", i))
					if x := last(all); res.Page != x || x.Proto != "h2" || x.Truncated != "" || len(x.Body) != 0 || !strings.HasPrefix(string(x.RequestHead), "HEAD /") {
						t.Errorf("%d: %+v, %v", i, x, x.Err)
					}
				}
				v.fetcher.Close()
			})
		})
	}
}

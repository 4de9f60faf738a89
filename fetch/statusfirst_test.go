package fetch

import (
	"fmt"
	"io"
	"net"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/permesso-crawler/permesso/frontier"
	"github.com/permesso-crawler/permesso/robots"
	"golang.org/x/net/http2"
)

// brokenBodies are answers with a broken body, without their status lines. If open is true, the
// connection stays open after the answer.
var brokenBodies = []struct {
	name, rest string
	open       bool
	truncated  string
}{
	{"short", "Content-Length: 100\r\n\r\nhalf", false, "disconnect"},
	{"chunks without end", "Transfer-Encoding: chunked\r\n\r\n4\r\nhalf\r\n", false, "disconnect"},
	{"an invalid size", "Transfer-Encoding: chunked\r\n\r\n4\r\nhalf\r\nzz\r\n", false, "disconnect"},
	{"no gzip", "Content-Encoding: gzip\r\nContent-Length: 20\r\n\r\nthis is no gzip file", false, "unspecified"},
	{"gzip that is cut", "Content-Encoding: gzip\r\nContent-Length: 12\r\n\r\n\x1f\x8b\x08\x00\x00\x00\x00\x00\x00\x00xx", false, "disconnect"},
	{"a coding that is not known", "Content-Encoding: compress\r\nContent-Length: 4\r\n\r\ntext", false, "unspecified"},
	{"no end", "\r\nhalf", true, "time"},
	{"chunks that stop", "Transfer-Encoding: chunked\r\n\r\n4\r\nhalf\r\n", true, "time"},
}

// answersOnce answers target with a status and a broken body, and everything else with 404.
func answersOnce(target, head, rest string, open bool) func(net.Conn, int) {
	return func(c net.Conn, n int) {
		answers(func(r *request, n int) string {
			if r.target != target {
				return "HTTP/1.1 404 Not Found\r\nContent-Length: 0\r\n\r\n"
			}
			io.WriteString(c, head+rest)
			if open {
				io.Copy(io.Discard, c)
			}
			return ""
		})(c, n)
	}
}

// The meaning of a redirect or an error does not depend on its body (RFC 9110, section 15).
func TestTheStatusOfAPageCountsBeforeItsBody(t *testing.T) {
	for _, status := range []int{300, 301, 302, 303, 307, 308, 400, 401, 403, 404, 410, 451} {
		for _, b := range brokenBodies {
			t.Run(fmt.Sprint(status, " ", b.name), func(t *testing.T) {
				synctest.Test(t, func(t *testing.T) {
					head, most := fmt.Sprintf("HTTP/1.1 %d X\r\n", status), time.Duration(0)
					if b.open {
						most = 30 * time.Second
					}
					if status/100 == 3 {
						head, most = head+"Location: /there\r\n", min(most, needlessWait)
					}
					w := &wire{serve: answersOnce("/", head, b.rest, b.open)}
					res, all := newTour(t, Options{Network: w}).visit("http://a.example/")
					x := last(all)
					if len(all) != 2 || res.Page != x || x.Err != nil || x.Status != status || x.Truncated != b.truncated || res.Outcome.Trouble != frontier.NoTrouble {
						t.Errorf("%d requests, page %+v, outcome %+v", len(all), res.Page, res.Outcome)
					}
					if took := x.Ended.Sub(x.Started); took != most {
						t.Errorf("took %v, want %v", took, most)
					}
				})
			})
		}
	}
}

// With a status 3xx or 4xx, robots.txt means the same without its body (RFC 9309, sections 2.3.1.2
// and 2.3.1.3). After a 5xx, or a 200 with a broken body, no page of the site is requested.
func TestTheStatusOfRobotsTxtCountsBeforeItsBody(t *testing.T) {
	for status, want := range map[int]robots.Access{200: robots.Defer, 302: robots.Allow, 404: robots.Allow, 410: robots.Allow, 403: robots.Disallow, 500: robots.Defer, 503: robots.Defer} {
		for _, b := range brokenBodies {
			t.Run(fmt.Sprint(status, " ", b.name), func(t *testing.T) {
				synctest.Test(t, func(t *testing.T) {
					head := fmt.Sprintf("HTTP/1.1 %d X\r\n", status)
					if status == 302 {
						head += "Location: /there.txt\r\n"
					}
					w := &wire{serve: answersOnce("/robots.txt", head, b.rest, b.open)}
					v := newTour(t, Options{Network: w})
					v.once = true
					res, all := v.visit("http://a.example/")
					if status != 200 && (all[0].Err != nil || all[0].Truncated != b.truncated) || all[0].Status != status {
						t.Errorf("status %d, truncated %q: %v", all[0].Status, all[0].Truncated, all[0].Err)
					}
					if took := all[0].Ended.Sub(all[0].Started); b.open && status != 200 && took != needlessWait {
						t.Errorf("took %v", took)
					}
					v.once = false
					if res, all = v.visit("http://a.example/"); res.Verdict.Access != want || (want == robots.Allow) != (res.Page != nil) {
						t.Errorf("verdict %v, want %v, after %d requests", res.Verdict, want, len(all))
					}
				})
			})
		}
	}
}

// A page that breaks off is requested three times. If the last try received a part, this part is
// the page.
func TestTheLastTryOfAPageIsTakenAsFarAsItCame(t *testing.T) {
	for _, b := range brokenBodies {
		synctest.Test(t, func(t *testing.T) {
			w := &wire{serve: answersOnce("/", "HTTP/1.1 200 OK\r\n", b.rest, b.open)}
			res, all := newTour(t, Options{Network: w}).visit("http://a.example/")
			some := strings.Contains(b.rest, "half")
			if len(all) != 1+frontier.MaxTries || (res.Page != nil) != some || all[1].Err == nil || all[2].Err == nil {
				t.Fatalf("%s: %d requests, page %+v", b.name, len(all), res.Page)
			}
			x := last(all)
			if some && (x != res.Page || x.Err != nil || x.Truncated != b.truncated || string(x.Body) != "half" || res.Outcome.Fate.Code != frontier.Fetched) {
				t.Errorf("%s: body %q, truncated %q, outcome %+v: %v", b.name, x.Body, x.Truncated, res.Outcome, x.Err)
			}
			if res.Outcome.Trouble != frontier.PageTrouble {
				t.Errorf("%s: the site does not rest: %v", b.name, res.Outcome.Trouble)
			}
		})
	}
}

// A body that is not needed is limited in time and bytes. If a 3xx answer has no target, its body
// is read like that of a page.
func TestHowMuchIsReadOfABodyThatIsNotNeeded(t *testing.T) {
	for _, tc := range []struct {
		target, head string
		wait         time.Duration
	}{
		{"/", "HTTP/1.1 300 X\r\n", 30 * time.Second}, {"/", "HTTP/1.1 300 X\r\nLocation: /there\r\n", needlessWait}, {"/", "HTTP/1.1 404 X\r\nLocation: /there\r\n", 30 * time.Second},
		{"/robots.txt", "HTTP/1.1 300 X\r\n", needlessWait}, {"/robots.txt", "HTTP/1.1 200 X\r\n", 30 * time.Second}, {"/robots.txt", "HTTP/1.1 503 X\r\n", needlessWait},
	} {
		synctest.Test(t, func(t *testing.T) {
			w := &wire{serve: answersOnce(tc.target, tc.head, "\r\nhalf", true)}
			v := newTour(t, Options{Network: w})
			v.once = tc.target != "/"
			_, all := v.visit("http://a.example/")
			if v.once {
				all = append(all[:1:1], all...)
			}
			if took := all[1].Ended.Sub(all[1].Started); took != tc.wait {
				t.Errorf("%s, %q: took %v, want %v", tc.target, tc.head, took, tc.wait)
			}
		})
	}
	for status, want := range map[int]int{302: maxRedirectBody, 404: 100_000} {
		synctest.Test(t, func(t *testing.T) {
			rest := "Location: /there\r\nContent-Length: 100000\r\n\r\n" + strings.Repeat("x", 100_000)
			w := &wire{serve: answersOnce("/robots.txt", fmt.Sprintf("HTTP/1.1 %d X\r\n", status), rest, false)}
			v := newTour(t, Options{Network: w})
			v.once = true
			if _, all := v.visit("http://a.example/"); len(all[0].Body) != want {
				t.Errorf("%d: %d bytes were read, want %d", status, len(all[0].Body), want)
			}
		})
	}
}

// A page that broke off may be as short as a challenge page. Only its header can identify it as a
// challenge.
func TestAPageThatBreaksOffIsAChallengeByItsHeaderAlone(t *testing.T) {
	const rest = "Content-Type: text/html\r\nContent-Length: 5000\r\n\r\nIncapsula incident ID"
	for field, want := range map[string]Stage{"": StageTruncated, "Cf-Mitigated: challenge\r\n": StageChallenge} {
		synctest.Test(t, func(t *testing.T) {
			w := &wire{serve: answersOnce("/", "HTTP/1.1 200 OK\r\n"+field, rest, false)}
			if _, all := newTour(t, Options{Network: w}).visit("http://a.example/"); stage(all[1]) != want {
				t.Errorf("%q: %v, want %s", field, all[1].Err, want)
			}
		})
	}
}

// Over HTTP/2, too, the status of an answer counts before its body.
func TestTheStatusOfAnHTTP2AnswerCountsBeforeItsBody(t *testing.T) {
	config, pool := certified(t)
	for _, status := range []string{"302", "404", "410"} {
		for name, breaks := range map[string]func(fr *http2.Framer, s uint32){
			"short": func(fr *http2.Framer, s uint32) { fr.WriteData(s, true, []byte("half")) },
			"reset": func(fr *http2.Framer, s uint32) {
				fr.WriteData(s, false, []byte("half"))
				fr.WriteRSTStream(s, http2.ErrCodeInternal)
			},
			"stops":    func(fr *http2.Framer, s uint32) { fr.WriteData(s, false, []byte("half")) },
			"no gzip":  func(fr *http2.Framer, s uint32) { fr.WriteData(s, true, []byte("this is no gzip file")) },
			"HTTP/1.1": func(fr *http2.Framer, s uint32) { fr.WriteRSTStream(s, http2.ErrCodeHTTP11Required) },
		} {
			t.Run(status+" "+name, func(t *testing.T) {
				synctest.Test(t, func(t *testing.T) {
					w := &wire{serve: h2(config, func(fr *http2.Framer, s uint32) {
						fields := []string{":status", status, "location", "/there", "content-length", "20"}
						if name == "no gzip" {
							fields = append(fields, "content-encoding", "gzip")
						}
						if status != "302" {
							fields = slices.Delete(fields, 2, 4)
						}
						fr.WriteHeaders(http2.HeadersFrameParam{StreamID: s, BlockFragment: block(fields...), EndHeaders: true})
						breaks(fr, s)
					})}
					res, all := newTour(t, Options{Network: w, RootCAs: pool}).visit("https://example.com/")
					x := last(all)
					if len(all) != 2 || res.Page != x || x.Err != nil || x.Truncated == "" || fmt.Sprint(x.Status) != status {
						t.Errorf("%d requests, page %+v: %v", len(all), res.Page, x.Err)
					}
					if took := x.Ended.Sub(x.Started); name == "stops" && status == "302" && took != needlessWait {
						t.Errorf("took %v", took)
					}
				})
			})
		}
	}
}

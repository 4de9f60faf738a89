package fetch

import (
	"bufio"
	"fmt"
	"io"
	"net"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/permesso-crawler/permesso/frontier"
	"golang.org/x/net/http2"
)

func TestWhatAnAnswerAsksForCountsBeforeWhatBreaksBehindIt(t *testing.T) {
	for _, tc := range []struct {
		name, rest string
		want       Stage
	}{
		{"a short body", "Content-Length: 10\r\n\r\nhalf", ""},
		{"a bad chunk", "Transfer-Encoding: chunked\r\n\r\nzz\r\n", ""},
		{"a coding that it is not", "Content-Encoding: gzip\r\nContent-Length: 20\r\n\r\nthis is no gzip file", ""},
		{"a coding that was not asked for", "Content-Encoding: compress\r\nContent-Length: 4\r\n\r\ntext", ""},
		{"a line that is no field", "no field\r\nContent-Length: 4\r\n\r\ntext", ""},
		{"an invalid length", "Content-Length: 4x\r\n\r\ntext", ""},
		{"two lengths", "Content-Length: 4\r\nContent-Length: 5\r\n\r\ntext", StageProtocol},
		{"a zero byte", "X: \x00\r\nContent-Length: 4\r\n\r\ntext", StageProtocol},
		{"fields without end", strings.Repeat("X-A: "+strings.Repeat("a", 1000)+"\r\n", 300) + "\r\n", StageHeaderSize},
		{"no end of the header", "", StageReset},
		{"a body that stops", "Content-Length: 10\r\n\r\nhalf", ""},
	} {
		for _, target := range []string{"/robots.txt", "/"} {
			t.Run(tc.name+" "+target, func(t *testing.T) {
				for _, keep := range []bool{false, true} {
					synctest.Test(t, func(t *testing.T) {
						status := 429
						if keep {
							status = 503
						}
						w := &wire{serve: func(c net.Conn, n int) {
							in := bufio.NewReader(c)
							r, err := readRequest(in)
							for ; err == nil && r.target != target; r, err = readRequest(in) {
								io.WriteString(c, "HTTP/1.1 404 Not Found\r\nContent-Length: 0\r\n\r\n")
							}
							fmt.Fprintf(c, "HTTP/1.1 %d Busy\r\nretry-after: 77\r\n%s", status, tc.rest)
							if tc.name == "a body that stops" {
								io.Copy(io.Discard, c)
							}
						}}
						_, all := newTour(t, Options{Network: w, Bodies: Bodies{KeepWire: keep}}).visit("http://a.example/")
						for len(all) > 2 && all[0].URL.Target() != target {
							all = all[1:]
						}
						x, next := all[0], all[1]
						if stage(x) != tc.want {
							t.Errorf("stage %q, want %q: %v", stage(x), tc.want, x.Err)
						}
						if x.Trouble() != frontier.SiteTrouble || x.RetryAfter().Sub(x.Ended) != 77*time.Second {
							t.Errorf("trouble %v, Retry-After %v after the end", x.Trouble(), x.RetryAfter().Sub(x.Ended))
						}
						if gap := next.Started.Sub(x.Ended); gap < 77*time.Second {
							t.Errorf("requested again after %v, by %s", gap, next.Asked.By)
						}
					})
				}
			})
		}
	}
}

// A request that the server did not process does not count as a try. On new connections it is not
// repeated without limit.
func TestAServerThatRefusesEachStream(t *testing.T) {
	config, pool := certified(t)
	synctest.Test(t, func(t *testing.T) {
		w := &wire{serve: h2(config, func(fr *http2.Framer, s uint32) { fr.WriteRSTStream(s, http2.ErrCodeRefusedStream) })}
		res, all := newTour(t, Options{Network: w, RootCAs: pool}).visit("https://example.com/")
		free := 0
		for _, x := range all[1:] {
			if stage(x) == StageStale {
				free++
			}
		}
		if free != 3 || len(all) > 20 || res.Page != nil || res.Outcome.Trouble != frontier.ConnectTrouble {
			t.Errorf("%d exchanges, %d of them free; outcome %+v", len(all), free, res.Outcome)
		}
	})
}

func TestAServerThatClosesUnderEachSecondRequest(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		asked := map[int]int{}
		w := &wire{}
		w.serve = answers(noRobots(func(r *request, n int) string {
			if asked[n]++; asked[n] > 1 || n == 1 {
				return ""
			}
			return page("")
		}))
		v := newTour(t, Options{Network: w})
		requests := 0
		for i := range 20 {
			res, all := v.visit(fmt.Sprintf("http://a.example/%d", i))
			requests += len(all)
			if res.Page == nil {
				t.Fatalf("page %d: %+v", i, res.Outcome)
			}
		}
		if want := 1 + 20 + 3; requests != want {
			t.Errorf("%d requests, want %d", requests, want)
		}
	})
}

func TestOneGoodAnswerOnAKeptConnectionForgivesLostOnes(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		asked := map[int]int{}
		w := &wire{}
		w.serve = answers(noRobots(func(r *request, n int) string {
			if asked[n]++; asked[n] > 2 {
				return ""
			}
			return page("")
		}))
		v := newTour(t, Options{Network: w})
		for i := range 20 {
			v.visit(fmt.Sprintf("http://a.example/%d", i))
		}
		if n := len(w.dialed); n != 10 {
			t.Errorf("%d connections, want one for two pages", n)
		}
	})
}

func TestParseRetryAfter(t *testing.T) {
	now := time.Date(2030, 1, 1, 0, 0, 0, 0, time.UTC)
	for value, want := range map[string]time.Duration{
		"3": 3 * time.Second, "120": 2 * time.Minute, " 120 ": 2 * time.Minute, `"120"`: 2 * time.Minute,
		"3.5": 3500 * time.Millisecond, "120.": 2 * time.Minute, "120s": 2 * time.Minute, "2 minutes": 2 * time.Minute, "1H": time.Hour, "1500ms": 1500 * time.Millisecond, "1d": 24 * time.Hour,
		"120, 240": 4 * time.Minute, "240,120": 4 * time.Minute, "soon, 120": 2 * time.Minute, "120; x=1": 2 * time.Minute,
		"99999999999999999999999999": maxRetryAfter, "99999999999999 days": maxRetryAfter,

		"Tue, 01 Jan 2030 00:10:00 GMT":          10 * time.Minute,
		"Tuesday, 01-Jan-30 00:10:00 GMT":        10 * time.Minute,
		"Tue Jan  1 00:10:00 2030":               10 * time.Minute,
		"Tue, 1 Jan 2030 00:10:00 GMT":           10 * time.Minute,
		"Mon, 01 Jan 2030 00:10:00 GMT":          10 * time.Minute,
		"01 Jan 2030 00:10:00":                   10 * time.Minute,
		"Tue, 01 Jan 2030 00:10:00 +0000":        10 * time.Minute,
		"Mon, 31 Dec 2029 19:10:00 EST":          10 * time.Minute,
		"Mon, 31 Dec 2029 19:10:00 -0500":        10 * time.Minute,
		"Tue, 01 Jan 2030 01:10:00 CET":          10 * time.Minute,
		"Tue, 01 Jan 2030 00:10:00 XYZ":          12*time.Hour + 10*time.Minute,
		"2030-01-01T00:10:00Z":                   10 * time.Minute,
		"2030-01-01T01:10:00+01:00":              10 * time.Minute,
		"2030-01-01T01:10:00.000+0100":           10 * time.Minute,
		"2030-01-01 00:10:00":                    10 * time.Minute,
		"2030-01-01 00:10:00 UTC":                10 * time.Minute,
		"2030-01-02":                             24 * time.Hour,
		"2030-01-01 00:10:00 z":                  10 * time.Minute,
		"Wednesday, 02-Jan-30 00:00:00 GMT":      24 * time.Hour,
		"Wednesday 2 Jan 2030 00:00:00":          24 * time.Hour,
		"79300000":                               79300000 * time.Second,
		"254040 hours":                           254040 * time.Hour,
		"254041 hours":                           254040 * time.Hour,
		strings.Repeat(" ", 1021) + "120":        2 * time.Minute,
		strings.Repeat(" ", 1022) + "120":        12 * time.Second,
		"914543999":                              maxRetryAfter - time.Second,
		"Tue, 01 Jan 2030 00:10:00 GMT, 60":      10 * time.Minute,
		"60, Tue, 01 Jan 2030 00:10:00 GMT":      10 * time.Minute,
		"Fri, 31 Dec 9999 23:59:59 GMT":          maxRetryAfter,
		strings.Repeat("x,", 1<<20) + "99999999": 0,
	} {
		if got := ParseRetryAfter(value, now); !got.Equal(now.Add(want)) && (want != 0 || !got.IsZero()) {
			t.Errorf("%.40q = %v, want %v later", value, got, want)
		}
	}
	if got := ParseRetryAfter("0", now); !got.Equal(now) {
		t.Errorf("0 = %v", got)
	}
	for _, value := range []string{"", "soon", "-3", "3x", "1.2.3", ".", "Mon, 01 Jan 2001 00:00:00 GMT", "٣", "GMT", ",", "Tue", "2029-12-31", "1e9", "Mo 1 Jan 2031 00:10:00", "Xyz 1 Jan 2031 00:10:00"} {
		if got := ParseRetryAfter(value, now); !got.IsZero() {
			t.Errorf("%q = %v, want none", value, got)
		}
	}
}

func FuzzParseRetryAfter(f *testing.F) {
	for _, s := range []string{"3", "Tue, 01 Jan 2030 00:10:00 GMT", "-1", "9999999999999999999", "1.5h, 2030-01-01T00:10:00Z", "Tue, 1 Jan 30 00:10:00 EST"} {
		f.Add(s)
	}
	now := time.Date(2030, 1, 1, 0, 0, 0, 0, time.UTC)
	f.Fuzz(func(t *testing.T, value string) {
		got := ParseRetryAfter(value, now)
		if !got.IsZero() && (got.Before(now) || got.Sub(now) > maxRetryAfter) {
			t.Errorf("%q = %v, which is out of bounds", value, got)
		}
		if later := ParseRetryAfter(value+", 60", now); later.Before(now.Add(time.Minute)) && len(value)+4 <= maxRetryValue &&
			!strings.Contains(value, ";") {
			t.Errorf("%q and a minute = %v", value, later)
		}
	})
}

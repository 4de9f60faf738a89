package fetch

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/permesso-crawler/permesso/frontier"
	"github.com/permesso-crawler/permesso/robots"
)

// ftpServer serves files by name over pipes.
type ftpServer struct {
	files  map[string]string
	refuse bool // refuses logins
	wire   *wire
	data   chan net.Conn
	mu     sync.Mutex
	cmds   []string
}

func (s *ftpServer) serve(c net.Conn, n int) {
	s.wire.mu.Lock()
	address := s.wire.dialed[n-1]
	s.wire.mu.Unlock()
	if strings.HasSuffix(address, ":1025") { // the port in the reply to PASV
		s.data <- c
		io.Copy(io.Discard, c)
		return
	}
	fmt.Fprint(c, "220 hello\r\n")
	lines := bufio.NewScanner(c)
	for lines.Scan() {
		s.mu.Lock()
		s.cmds = append(s.cmds, lines.Text())
		s.mu.Unlock()
		cmd, arg, _ := strings.Cut(lines.Text(), " ")
		switch cmd {
		case "USER":
			fmt.Fprint(c, "331 password\r\n")
		case "PASS":
			if s.refuse {
				fmt.Fprint(c, "530 no\r\n")
			} else {
				fmt.Fprint(c, "230 in\r\n")
			}
		case "TYPE":
			fmt.Fprint(c, "200 ok\r\n")
		case "PASV":
			// This reply names another address, which must not be dialled.
			fmt.Fprint(c, "227 Entering Passive Mode (10,0,0,1,4,1)\r\n")
		case "RETR":
			body, ok := s.files[arg]
			data := <-s.data
			if !ok {
				data.Close()
				fmt.Fprint(c, "550 no such file\r\n")
				continue
			}
			fmt.Fprint(c, "150 here it comes\r\n")
			io.WriteString(data, body)
			data.Close()
			fmt.Fprint(c, "226 done\r\n")
		case "QUIT":
			fmt.Fprint(c, "221 bye\r\n")
			return
		default:
			fmt.Fprint(c, "502 what\r\n")
		}
	}
}

func TestFTP(t *testing.T) {
	for _, tc := range []struct {
		name    string
		files   map[string]string
		refuse  bool
		url     string
		code    frontier.Code
		verdict robots.Access
		body    string
	}{
		{"no robots.txt", map[string]string{"/a b.html": "hello"}, false, "ftp://a.example/a%20b.html;type=i", frontier.Fetched, robots.Allow, "hello"},
		{"rules", map[string]string{"/robots.txt": "User-agent: *\nDisallow: /no", "/no": "x"}, false, "ftp://a.example/no", frontier.RobotsDisallowed, robots.Disallow, ""},
		{"no such file", nil, false, "ftp://a.example/none", frontier.Fetched, robots.Allow, ""},
		{"closed", nil, true, "ftp://a.example/x", frontier.RobotsDisallowed, robots.Disallow, ""},
		{"a command in the path", nil, false, "ftp://a.example/x%0D%0ADELE%20y", frontier.Failed, robots.Allow, ""},
		{"long", map[string]string{"/long": strings.Repeat("x", 5000)}, false, "ftp://a.example/long", frontier.Fetched, robots.Allow, strings.Repeat("x", 1000)},
	} {
		t.Run(tc.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				s := &ftpServer{files: tc.files, refuse: tc.refuse, data: make(chan net.Conn)}
				w := &wire{serve: s.serve}
				s.wire = w
				res, _ := newTour(t, Options{Network: w, Bodies: Bodies{MaxSize: 1000}}).visit(tc.url)
				if res.Outcome.Fate.Code != tc.code || res.Verdict.Access != tc.verdict {
					t.Fatalf("fate %+v, verdict %v", res.Outcome.Fate, res.Verdict.Access)
				}
				if tc.body != "" && string(res.Page.Body) != tc.body {
					t.Errorf("body %q", res.Page.Body)
				}
				w.wait.Wait()
				for _, d := range w.dialed {
					if !strings.HasPrefix(d, "16.0.0.1:") {
						t.Errorf("dialled %s", d)
					}
				}
				for _, c := range s.cmds {
					if strings.HasPrefix(c, "DELE") || strings.HasPrefix(c, "STOR") {
						t.Errorf("sent %q", c)
					}
				}
			})
		})
	}
}

func TestAnFTPServerThatDoesNotStopTalking(t *testing.T) {
	after := func(replies ...string) func(c net.Conn, in *bufio.Reader) {
		return func(c net.Conn, in *bufio.Reader) {
			for _, r := range replies {
				fmt.Fprint(c, r)
				in.ReadString('\n')
			}
		}
	}
	for _, tc := range []struct {
		name  string
		first func(c net.Conn, in *bufio.Reader)
		then  string // text that the server sends again and again after that
	}{
		{"a greeting without a line end", after(), "A"},
		{"a greeting of many lines", after(), "220-hello\r\n"},
		{"many lines after the login", after("220 hello\r\n", "331 password\r\n"), "230-welcome\r\n"},
		{"features without end", after("220 hello\r\n", "331 password\r\n", "230 in\r\n"), "211-x\r\n"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				sent := 0
				w := &wire{serve: func(c net.Conn, n int) {
					tc.first(c, bufio.NewReader(c))
					for piece := strings.Repeat(tc.then, 1<<10); sent < 16<<20; sent += len(piece) {
						if _, err := io.WriteString(c, piece); err != nil {
							return
						}
					}
				}}
				v := newTour(t, Options{Network: w})
				v.once = true
				_, all := v.visit("ftp://a.example/")
				w.wait.Wait()
				if stage(all[0]) != StageProtocol || !errors.Is(all[0].Err, errReply) {
					t.Errorf("stage %q: %v", stage(all[0]), all[0].Err)
				}
				if sent > 2*maxReply {
					t.Errorf("%d bytes were taken", sent)
				}
			})
		})
	}
}

// For site owners: "A redirect of robots.txt from the web to FTP counts as a robots.txt
// that fails."
func TestAWebSiteLeadsToNoFTP(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := &wire{serve: answers(func(r *request, n int) string {
			return "HTTP/1.1 302 Found\r\nContent-Length: 0\r\nLocation: ftp://b.example/robots.txt\r\n\r\n"
		})}
		v := newTour(t, Options{Network: w})
		v.once = true
		res, _ := v.visit("http://a.example/")
		if res.Snapshot.Failure != failRedirect || fmt.Sprint(w.dialed) != "[16.0.0.1:80]" {
			t.Errorf("failure %q, dialled %v", res.Snapshot.Failure, w.dialed)
		}
	})
}

// The budget of bytes counts pages, not a robots.txt.
func TestTheBudgetCountsForFTP(t *testing.T) {
	long := strings.Repeat("# x\n", 75<<10)
	for name, tc := range map[string]struct {
		files map[string]string
		fails bool
	}{
		"page":       {map[string]string{"/x": long}, true},
		"robots.txt": {map[string]string{"/robots.txt": long, "/x": "hello"}, false},
	} {
		synctest.Test(t, func(t *testing.T) {
			s := &ftpServer{files: tc.files, data: make(chan net.Conn)}
			w := &wire{serve: s.serve}
			s.wire = w
			f := newTour(t, Options{Network: w, Bodies: Bodies{BodyBudget: 1, TempDir: filepath.Join(t.TempDir(), "none")}}).fetcher
			err := visitWith(t.Context(), f, "ftp://a.example/x", func(*Result) {})
			if tc.fails && !errors.Is(err, os.ErrNotExist) || !tc.fails && err != nil {
				t.Errorf("%s: %v", name, err)
			}
		})
	}
}

// A session ends with QUIT. If the file is too long, the connections are closed at once.
func TestAnFTPFileThatIsTooLongIsNotWaitedFor(t *testing.T) {
	for size, want := range map[int]int{1000: 2, 1001: 1} { // one connection is for robots.txt
		synctest.Test(t, func(t *testing.T) {
			s := &ftpServer{files: map[string]string{"/x": strings.Repeat("x", size)}, data: make(chan net.Conn)}
			w := &wire{serve: s.serve}
			s.wire = w
			res, _ := newTour(t, Options{Network: w, Bodies: Bodies{MaxSize: 1000}}).visit("ftp://a.example/x")
			w.wait.Wait()
			quits := 0
			for _, c := range s.cmds {
				if c == "QUIT" {
					quits++
				}
			}
			if quits != want || res.Page == nil || len(res.Page.Body) != 1000 {
				t.Errorf("%d bytes: %d sessions were ended, want %d; outcome %+v", size, quits, want, res.Outcome)
			}
		})
	}
}

func TestFTPRepliesInTermsOfHTTP(t *testing.T) {
	for code := 100; code < 700; code++ {
		want := 404
		switch {
		case code == 530 || code == 532:
			want = 401
		case code >= 400 && code <= 499:
			want = 503
		}
		if got := statusOfReply(code); got != want {
			t.Errorf("%d is %d, want %d", code, got, want)
		}
	}
}

// The exchange for a file, and the one for a missing file, have these fields.
func TestWhatAnFTPExchangeTells(t *testing.T) {
	for target, want := range map[string]string{
		"/a.html":       "200 text/html; charset=utf-8 hello",
		"/a":            "200  hello",
		"/~":            "200  hello",
		"/%C2%80":       "200  hello",
		"/none":         "404  ",
		"/none.html":    "404  ",
		"/a;type=i":     "200  hello",
		"/a?x;y":        "200  hello",
		"/x%0Ay":        "protocol",
		"/x%7F":         "protocol",
		"/x%1f":         "protocol",
		"/%zz":          "protocol",
		"/a%20b.html":   "200 text/html; charset=utf-8 hello",
		"/robots.txt%0": "protocol",
	} {
		synctest.Test(t, func(t *testing.T) {
			s := &ftpServer{files: map[string]string{"/a.html": "hello", "/a": "hello", "/~": "hello", "/\u0080": "hello", "/a b.html": "hello"}, data: make(chan net.Conn)}
			w := &wire{serve: s.serve}
			s.wire = w
			v := newTour(t, Options{Network: w})
			_, all := v.visit("ftp://a.example" + target)
			x := all[1]
			got := string(stage(x))
			if x.Err == nil {
				got = fmt.Sprint(x.Status, " ", x.Header.Get("Content-Type"), " ", string(x.Body))
				if x.FirstByte.IsZero() || x.Ended.Before(x.FirstByte) || x.Proto != "ftp" || x.WireBytes != int64(len(x.Body)) || x.Addr.Port() != 21 {
					t.Errorf("%s: %+v", target, x)
				}
			}
			if got != want {
				t.Errorf("%s: %s, want %s: %v", target, got, want, x.Err)
			}
		})
	}
}

// The crawler waits for a silent server up to the time-out of a phase. After the file, it waits
// five seconds for the confirmation of the server.
func TestAnFTPServerThatStops(t *testing.T) {
	login := []string{"220 hello", "331 password", "230 in", "502 what", "200 ok", "502 what"}
	for _, tc := range []struct {
		name    string
		replies []string
		data    string // data of the file; empty: none
		want    Stage
		after   time.Duration
	}{
		{"greeting", nil, "", StageConnectTimeout, 30 * time.Second},
		{"name", login[:1], "", StageAnswerTimeout, 30 * time.Second},
		{"password", login[:2], "", StageAnswerTimeout, 30 * time.Second},
		{"command", login[:3], "", StageAnswerTimeout, 30 * time.Second},
		{"file", append(login[:len(login):len(login)], "227 here (10,0,0,1,4,1)", "150 it comes"), "", StageBodyTimeout, 50 * time.Second},
		{"end of the file", append(login[:len(login):len(login)], "227 here (10,0,0,1,4,1)", "150 it comes"), "hello", StageBodyTimeout, 5 * time.Second},
	} {
		t.Run(tc.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				w := &wire{}
				w.serve = func(c net.Conn, n int) {
					w.mu.Lock()
					data := strings.HasSuffix(w.dialed[n-1], ":1025")
					w.mu.Unlock()
					if data {
						if tc.data != "" {
							io.WriteString(c, tc.data)
							return
						}
						io.Copy(io.Discard, c)
						return
					}
					lines := bufio.NewReader(c)
					for i, reply := range tc.replies {
						if i > 0 {
							if line, _ := lines.ReadString('\n'); i > 3 && strings.HasPrefix(line, "TYPE") != (reply == "200 ok") {
								reply = "502 what" + reply[3:]
							}
						}
						if strings.HasPrefix(reply, "150") && tc.data == "" {
							time.Sleep(20 * time.Second)
						}
						fmt.Fprint(c, reply+"\r\n")
					}
					io.Copy(io.Discard, c)
				}
				v := newTour(t, Options{Network: w})
				v.once = true
				_, all := v.visit("ftp://a.example/")
				if x := all[0]; stage(x) != tc.want || x.Ended.Sub(x.Started) != tc.after {
					t.Errorf("stage %q after %v, want %q after %v: %v", stage(x), x.Ended.Sub(x.Started), tc.want, tc.after, x.Err)
				}
				if x := all[0]; tc.after >= 30*time.Second && !errors.Is(x.Err, errPhase) {
					t.Errorf("error %v", x.Err)
				}
				w.wait.Wait() // returns when all connections are closed
			})
		})
	}
}

// If the connection of a file breaks, the file is incomplete, even if the server confirms it.
func TestAnFTPFileThatBreaksOff(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := &ftpServer{files: map[string]string{"/x": "hello"}, data: make(chan net.Conn)}
		w := &wire{serve: s.serve}
		s.wire = w
		_, all := newTour(t, Options{Network: brittle{w}}).visit("ftp://a.example/x")
		if x := last(all); len(all) != 4 || x.Err != nil || string(x.Body) != "hello" || x.Truncated != "disconnect" {
			t.Errorf("the last try, of %d requests: %q, truncated %q: %v", len(all), x.Body, x.Truncated, x.Err)
		}
		if x := all[1]; stage(x) != StageTruncated || string(x.Body) != "hello" || x.Truncated != "disconnect" {
			t.Errorf("stage %q, body %q, truncated %q", stage(x), x.Body, x.Truncated)
		}
	})
}

// brittle is a network on which each file ends with an error.
type brittle struct{ *wire }

func (b brittle) DialContext(ctx context.Context, network, address string) (net.Conn, error) {
	c, err := b.wire.DialContext(ctx, network, address)
	if strings.HasSuffix(address, ":1025") {
		return brittleConn{c}, err
	}
	return c, err
}

type brittleConn struct{ net.Conn }

func (b brittleConn) Read(p []byte) (int, error) {
	n, err := b.Conn.Read(p)
	if err != nil {
		err = errors.New("connection reset by peer")
	}
	return n, err
}

// The limit maxReply applies to each reply separately.
func TestLongRepliesOfAnFTPServer(t *testing.T) {
	const line = "230-in\r\n"
	for _, tc := range []struct {
		name  string
		lines int // number of lines before the last one of the reply to the password
		last  string
		want  Stage
	}{
		{"long", 7000, "230 in\r\n", ""},
		{"as long as may be", 65536/len(line) - 1, "230 in\r\n", ""},
		{"too long", 65536 / len(line), "230 in\r\n", StageProtocol},
	} {
		synctest.Test(t, func(t *testing.T) {
			s := &ftpServer{data: make(chan net.Conn)}
			w := &wire{}
			s.wire = w
			w.serve = func(c net.Conn, n int) { s.serve(&wordy{c, strings.Repeat(line, tc.lines) + tc.last}, n) }
			v := newTour(t, Options{Network: w})
			v.once = true
			_, all := v.visit("ftp://a.example/")
			if x := all[0]; stage(x) != tc.want {
				t.Errorf("%s: stage %q: %v", tc.name, stage(x), x.Err)
			}
		})
	}
}

// A wordy connection adds bytes to the replies of the server, and sends the last byte separately.
type wordy struct {
	net.Conn
	welcome string
}

func (w *wordy) Write(b []byte) (int, error) {
	say := string(b)
	switch say {
	case "220 hello\r\n":
		say = strings.Repeat("220-hello\r\n", 5000) + say
	case "230 in\r\n":
		say = w.welcome
	}
	for _, piece := range []string{say[:len(say)-1], say[len(say)-1:]} {
		if _, err := io.WriteString(w.Conn, piece); err != nil {
			return 0, err
		}
	}
	return len(b), nil
}

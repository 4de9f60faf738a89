package control

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/permesso-crawler/permesso/crawler"
	"github.com/permesso-crawler/permesso/frontier"
	"github.com/permesso-crawler/permesso/internal/store"
)

// A recorder is a crawl that records its orders.
type recorder struct {
	mu     sync.Mutex // guards what follows
	orders []string
	limits crawler.Limits
	err    error
	looks  int
}

func (c *recorder) say(format string, args ...any) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.orders = append(c.orders, fmt.Sprintf(format, args...))
	return c.err
}

func (c *recorder) Status() crawler.Status {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.looks++
	return crawler.Status{Version: 1, State: crawler.StateRunning, Run: crawler.StatusRun{Pages: 7}}
}

func (c *recorder) Pause(reason string) error  { return c.say("pause %s", reason) }
func (c *recorder) Resume(reason string) error { return c.say("resume %s", reason) }
func (c *recorder) Slow(of string, delay time.Duration, reason string) error {
	return c.say("slow %s %v %s", of, delay, reason)
}
func (c *recorder) Exclude(of, reason string) error { return c.say("exclude %s %s", of, reason) }
func (c *recorder) Seed(reason string, seeds ...string) error {
	return c.say("add %d %s %s", len(seeds), seeds[0], reason)
}
func (c *recorder) Limit(reason string, change func(*crawler.Limits)) error {
	change(&c.limits)
	return c.say("limit %s", reason)
}

// opened opens a socket in dir and closes it at the end of the test.
func opened(t *testing.T, dir string, h http.Handler) *Server {
	t.Helper()
	d, err := Open(dir, h)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := d.Close(); err != nil {
			t.Error(err)
		}
	})
	return d
}

// short returns a temporary directory whose path is short enough for a socket on every
// system.
func short(t *testing.T) string {
	t.Helper()
	dir, err := os.MkdirTemp("", "d")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { os.RemoveAll(dir) })
	return dir
}

func TestWhatIsToldReachesTheCrawl(t *testing.T) {
	dir, c := short(t), new(recorder)
	opened(t, dir, Handler(c))
	for _, ask := range []struct {
		do  string
		ask Ask
	}{
		{"pause", Ask{Reason: "a call"}}, {"resume", Ask{}}, {"slow", Ask{Of: "a.example", Delay: "10s", Reason: "a mail"}}, {"exclude", Ask{Of: "http://a.example", Reason: "b"}},
		{"add", Ask{Seeds: []string{"http://a.example/", "b"}}}, {"limit", Ask{Limits: map[string]string{"limit": "5", "max-time": "1h"}}},
	} {
		if err := Tell(t.Context(), dir, ask.do, ask.ask); err != nil {
			t.Errorf("%s: %v", ask.do, err)
		}
	}
	want := []string{"pause a call", "resume ", "slow a.example 10s a mail", "exclude http://a.example b", "add 2 http://a.example/ ", "limit "}
	if !slices.Equal(c.orders, want) || c.limits.Pages != 5 || c.limits.Time != time.Hour {
		t.Errorf("%q, want %q; %+v", c.orders, want, c.limits)
	}
	if s, err := Status(t.Context(), dir); err != nil || s.Run.Pages != 7 {
		t.Errorf("%+v, %v", s, err)
	}
}

// A refusal gives the reason.
func TestWhatIsRefusedSaysWhy(t *testing.T) {
	dir, c := short(t), new(recorder)
	opened(t, dir, Handler(c))
	for _, test := range []struct {
		err   error
		do    string
		ask   Ask
		want  string
		ended bool
	}{
		{crawler.ErrEnded, "pause", Ask{}, crawler.ErrEnded.Error(), true},
		{&frontier.FasterError{Of: "a.example", Delay: 1, Least: 2}, "slow", Ask{Delay: "1ns"}, "a.example has a pause of 2ns already, 1ns would be shorter", false},
		{&crawler.OptionError{Field: "Of", Reason: "is no site"}, "exclude", Ask{}, "is no site", false},
		{errors.New("other"), "resume", Ask{}, "other", false},
		{nil, "slow", Ask{Delay: "10"}, `"10" is no duration: write it as 500ms, 10s or 1h30m`, false},
		{nil, "limit", Ask{Limits: map[string]string{"depth": "1"}}, `depth: "depth" is not one of limit, max-bytes, max-time, rate, patience, concurrency`, false},
		{nil, "nothing", Ask{}, "404 Not Found", false},
		{nil, "add", Ask{Seeds: []string{strings.Repeat("x", maxBody)}}, "that is more than 1048576 bytes at once: tell it in parts", false},
	} {
		c.err = test.err
		var no *RefusedError
		if err := Tell(t.Context(), dir, test.do, test.ask); !errors.As(err, &no) || no.Reason != test.want || no.Ended != test.ended {
			t.Errorf("%s: %v, want %s", test.do, err, test.want)
		}
	}
}

// A change that applies and is not stored was not refused.
func TestAChangeThatIsNotStoredIsNotRefused(t *testing.T) {
	dir, c := short(t), new(recorder)
	opened(t, dir, Handler(c))
	c.err = fmt.Errorf("not stored: %w", context.DeadlineExceeded)
	err := Tell(t.Context(), dir, "exclude", Ask{Of: "a.example", Reason: "x"})
	if err == nil || err.Error() != c.err.Error() || errors.As(err, new(*RefusedError)) {
		t.Errorf("%T: %v", err, err)
	}
}

func TestNobodyIsThere(t *testing.T) {
	dir := short(t)
	if _, err := Status(t.Context(), dir); !errors.Is(err, ErrNobody) {
		t.Errorf("of an empty directory: %v", err)
	}
	if err := Tell(t.Context(), filepath.Join(dir, "none"), "pause", Ask{}); !errors.Is(err, ErrNobody) {
		t.Errorf("of no directory: %v", err)
	}
	d, err := Open(dir, Handler(new(recorder)))
	if err != nil {
		t.Fatal(err)
	}
	if err := d.Close(); err != nil {
		t.Error(err)
	}
	if _, err := Status(t.Context(), dir); !errors.Is(err, ErrNobody) {
		t.Errorf("after the end: %v", err)
	}
	if names, _ := filepath.Glob(filepath.Join(dir, "*")); len(names) != 0 {
		t.Errorf("files left: %q", names)
	}
}

// The error names a process that holds the crawl but does not listen.
func TestACrawlWithoutASocket(t *testing.T) {
	dir := short(t)
	db, err := store.Open(dir, store.Options{NoPages: true})
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	var shut *ShutError
	want := fmt.Sprintf("process %d runs the crawl in %s, and does not answer: it has no control socket: it may be another command, such as crawl export, or a program of your own", os.Getpid(), dir)
	if _, err := Status(t.Context(), dir); !errors.As(err, &shut) || err.Error() != want {
		t.Errorf("%v, want %s", err, want)
	}
	// A server that does not speak HTTP.
	l, at, err := listen(dir)
	if err != nil {
		t.Fatal(err)
	}
	defer at.leave()
	defer l.Close()
	var mute sync.WaitGroup
	defer mute.Wait()
	mute.Go(func() {
		if conn, err := l.Accept(); err == nil {
			_, _ = http.ReadRequest(bufio.NewReader(conn))
			fmt.Fprint(conn, "SSH-2.0-x\r\n")
			conn.Close()
		}
	})
	if _, err := Status(t.Context(), dir); !errors.As(err, &shut) || !strings.Contains(err.Error(), "malformed HTTP") {
		t.Errorf("%v", err)
	}
}

// Only the owner of the socket may connect, from the moment it exists.
func TestTheSocketIsItsOwners(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("there the directory's permissions count")
	}
	dir := short(t)
	d := opened(t, dir, Handler(new(recorder)))
	info, err := os.Lstat(d.Where())
	if err != nil || info.Mode() != fs.ModeSocket|0o600 || d.Where() != filepath.Join(dir, "control") {
		t.Errorf("%s: %v, %v", d.Where(), info.Mode(), err)
	}
	if _, err := os.Lstat(filepath.Join(dir, private)); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("where it was made: %v", err)
	}
}

// Open replaces the socket of a killed process, and fails if the file is not a socket.
func TestASocketThatWasLeftBehind(t *testing.T) {
	dir := short(t)
	l, _, err := listen(dir)
	if err != nil {
		t.Fatal(err)
	}
	if err := l.Close(); err != nil { // the socket stays, as after a kill
		t.Fatal(err)
	}
	if err := os.Mkdir(filepath.Join(dir, private), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(dir, private, "s"), nil, 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := Status(t.Context(), dir); !errors.Is(err, ErrNobody) {
		t.Errorf("%v", err)
	}
	opened(t, dir, Handler(new(recorder)))
	if _, err := Status(t.Context(), dir); err != nil {
		t.Error(err)
	}
	other := short(t)
	if err := os.WriteFile(filepath.Join(other, Name), []byte("mine"), 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := Open(other, Handler(new(recorder))); err == nil || !strings.Contains(err.Error(), "is in the way: it is not a socket") {
		t.Errorf("%v", err)
	}
	if _, err := Status(t.Context(), other); !errors.Is(err, ErrNobody) {
		t.Errorf("%v", err)
	}
}

// Sweep removes the socket of a killed process, not that of a run, and no other file.
func TestSweepRemovesADeadSocket(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("there no file is known as a socket")
	}
	dir := short(t)
	opened(t, dir, Handler(new(recorder)))
	Sweep(dir)
	if _, err := Status(t.Context(), dir); err != nil {
		t.Errorf("of a run: %v", err)
	}
	dead := short(t)
	l, at, err := listen(dead)
	if err != nil {
		t.Fatal(err)
	}
	if err := l.Close(); err != nil {
		t.Fatal(err)
	}
	if _, err := os.Lstat(at.path); err != nil {
		t.Fatal(err)
	}
	Sweep(dead)
	if left, err := os.ReadDir(dead); err != nil || len(left) > 0 {
		t.Errorf("left are %v, %v", left, err)
	}
	file := filepath.Join(dead, Name)
	if err := os.WriteFile(file, []byte("mine"), 0o600); err != nil {
		t.Fatal(err)
	}
	Sweep(dead)
	if _, err := os.Lstat(file); err != nil {
		t.Error(err)
	}
	away, other := short(t), short(t)
	if err := os.WriteFile(filepath.Join(away, store.RunFile), fmt.Appendf(nil, `{"pid":1,"control":%q}`, filepath.Join(other, Name)), 0o600); err != nil {
		t.Fatal(err)
	}
	if l, _, err = listen(other); err != nil {
		t.Fatal(err)
	}
	if err := l.Close(); err != nil {
		t.Fatal(err)
	}
	Sweep(away)
	if _, err := os.Lstat(other); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("a socket elsewhere: %v", err)
	}
}

// A run that ends leaves the socket of the next run alone.
func TestASocketThatAnotherRunHasMade(t *testing.T) {
	dir := short(t)
	old, err := Open(dir, Handler(new(recorder)))
	if err != nil {
		t.Fatal(err)
	}
	opened(t, dir, Handler(new(recorder)))
	if err := old.Close(); err != nil {
		t.Error(err)
	}
	if _, err := Status(t.Context(), dir); err != nil {
		t.Error(err)
	}
}

// If the path is too long for a socket, the socket is made elsewhere and run.json names it.
func TestADirectoryWhosePathIsTooLong(t *testing.T) {
	base, elsewhere := short(t), short(t)
	t.Setenv("XDG_RUNTIME_DIR", elsewhere)
	dir := filepath.Join(base, strings.Repeat("x", 120))
	db, err := store.Open(dir, store.Options{NoPages: true})
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	d, err := Open(dir, Handler(new(recorder)))
	if err != nil {
		t.Fatal(err)
	}
	run, err := store.ReadRun(dir)
	if err != nil || run.Control != d.Where() || run.PID != os.Getpid() || !strings.HasPrefix(d.Where(), elsewhere) {
		t.Errorf("%+v, %v; it is at %s", run, err, d.Where())
	}
	if s, err := Status(t.Context(), dir); err != nil || s.Run.Pages != 7 {
		t.Errorf("%+v, %v", s, err)
	}
	if info, err := os.Stat(filepath.Dir(d.Where())); err != nil || runtime.GOOS != "windows" && info.Mode().Perm() != 0o700 {
		t.Errorf("%v, %v", info.Mode(), err)
	}
	if err := d.Close(); err != nil {
		t.Error(err)
	}
	if names, _ := filepath.Glob(filepath.Join(elsewhere, "*")); len(names) != 0 {
		t.Errorf("files left: %q", names)
	}
	// It is an error if the other directory's path is too long, too.
	if _, _, err := listenElsewhere(dir, []string{dir}); err == nil || !strings.Contains(err.Error(), "longer than the") {
		t.Errorf("%v", err)
	}
}

// raw sends bytes and returns the answer, up to the end of the connection.
func raw(t *testing.T, d *Server, send string) string {
	t.Helper()
	conn, err := net.Dial("unix", d.Where())
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	_, _ = io.WriteString(conn, send) // the server may close the connection before all is sent
	said, _ := io.ReadAll(conn)
	return string(said)
}

// A senseless request is refused, and the next one is served.
func TestHostileRequests(t *testing.T) {
	dir, c := short(t), new(recorder)
	d := opened(t, dir, Handler(c))
	post := func(path, body string) string {
		return fmt.Sprintf("POST %s HTTP/1.1\r\nHost: x\r\nConnection: close\r\nContent-Length: %d\r\n\r\n%s", path, len(body), body)
	}
	for _, test := range []struct{ name, send, want string }{
		{"no HTTP", "\x00\x01\x02\r\n\r\n", "400 "},
		{"a header without an end", "GET /status HTTP/1.1\r\nHost: x\r\nX: " + strings.Repeat("y", 64<<10), "431 "},
		{"many fields", "GET /status HTTP/1.1\r\nHost: x\r\n" + strings.Repeat("X: y\r\n", 20_000) + "\r\n", "431 "},
		{"another method", "DELETE /status HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n", "405 "},
		{"an order as a look", "GET /pause HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n", "405 "},
		{"no such room", post("/stop", "{}"), "404 "},
		{"a way up", post("/../../pause", "{}"), "307 "},
		{"no JSON", post("/pause", "pause"), "400 "},
		{"another shape", post("/pause", `{"reason":["x"]}`), "400 "},
		{"a field that is unknown", post("/pause", `{"reasons":"x"}`), "400 "},
		{"a large body", post("/add", `{"seeds":["`+strings.Repeat("x", 2<<20)+`"]}`), "413 "},
		{"deep JSON", post("/add", strings.Repeat("[", 100_000)), "400 "},
		{"two lengths", "POST /pause HTTP/1.1\r\nHost: x\r\nContent-Length: 2\r\nContent-Length: 3\r\n\r\n{}", "400 "},
		{"nothing", "", ""},
	} {
		t.Run(test.name, func(t *testing.T) {
			if test.send == "" {
				conn, err := net.Dial("unix", d.Where())
				if err != nil {
					t.Fatal(err)
				}
				conn.Close()
			} else if got := raw(t, d, test.send); got != "" && !strings.HasPrefix(got, "HTTP/1.1 "+test.want) && !strings.HasPrefix(got, "HTTP/1.0 "+test.want) {
				t.Errorf("answered %.80q, want %s", got, test.want)
			}
			if _, err := Status(t.Context(), dir); err != nil {
				t.Error(err)
			}
		})
	}
	if len(c.orders) != 0 {
		t.Errorf("the orders of the crawl are %q", c.orders)
	}
}

// A client that sends nothing, or does not read its answer, is cut off. Until then it takes
// one of the places.
func TestSilentClientsAreCutOff(t *testing.T) {
	dir := short(t)
	l, at, err := listen(dir)
	if err != nil {
		t.Fatal(err)
	}
	b := usual
	b.clients, b.header, b.request, b.idle = 2, 50*time.Millisecond, 50*time.Millisecond, 50*time.Millisecond
	d := serve(l, Handler(new(recorder)), b)
	d.at = at
	defer d.Close()
	for _, send := range []string{"", "GET /sta", "POST /pause HTTP/1.1\r\nHost: x\r\nContent-Length: 5\r\n\r\n{", "GET /status HTTP/1.1\r\nHost: x\r\n\r\n"} {
		conn, err := net.Dial("unix", d.Where())
		if err != nil {
			t.Fatal(err)
		}
		defer conn.Close()
		if _, err := io.WriteString(conn, send); err != nil {
			t.Fatal(err)
		}
	}
	if s, err := Status(t.Context(), dir); err != nil || s.Run.Pages != 7 {
		t.Errorf("%+v, %v", s, err)
	}
}

// Close cuts off a client whose request is being answered. A panic of a handler ends the
// answer of its own client alone.
func TestAServerClosesWhateverAClientDoes(t *testing.T) {
	dir, inside := short(t), make(chan struct{})
	mux := Handler(new(recorder))
	mux.HandleFunc("GET /slow", func(w http.ResponseWriter, r *http.Request) {
		close(inside)
		<-r.Context().Done()
	})
	mux.HandleFunc("GET /panic", func(http.ResponseWriter, *http.Request) { panic("here") })
	d, err := Open(dir, mux)
	if err != nil {
		t.Fatal(err)
	}
	if got := raw(t, d, "GET /panic HTTP/1.1\r\nHost: x\r\n\r\n"); got != "" {
		t.Errorf("%q", got)
	}
	if _, err := Status(t.Context(), dir); err != nil {
		t.Error(err)
	}
	conn, err := net.Dial("unix", d.Where())
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	if _, err := io.WriteString(conn, "GET /slow HTTP/1.1\r\nHost: x\r\n\r\n"); err != nil {
		t.Fatal(err)
	}
	<-inside
	if err := d.Close(); err != nil {
		t.Error(err)
	}
	if _, err := bufio.NewReader(conn).ReadString('\n'); err == nil {
		t.Error("the client was answered")
	}
}

// Concurrent clients share one Status.
func TestManyLooksAreOne(t *testing.T) {
	c := new(recorder)
	cache := &statusCache{crawl: c}
	var all sync.WaitGroup
	began := time.Now()
	for range 50 {
		all.Go(func() { cache.status() })
	}
	all.Wait()
	if most := 1 + int(time.Since(began)/maxAge); c.looks > most {
		t.Errorf("%d calls of Status, want at most %d", c.looks, most)
	}
}

// The address of the figures is of this machine alone, unless it names a host, and clients
// cannot steer the crawl there.
func TestTheAddressOfFigures(t *testing.T) {
	c := new(recorder)
	for _, address := range []string{"0", ":0", "127.0.0.1:0"} {
		l, err := Listen(address)
		if err != nil {
			t.Fatal(err)
		}
		d := ServeAt(l, Metrics(c.Status))
		defer d.Close()
		if !strings.HasPrefix(d.Where(), "127.0.0.1:") {
			t.Errorf("%s is %s", address, d.Where())
		}
		for path, want := range map[string]int{"/metrics": 200, "/healthz": 200, "/status": 404, "/pause": 404} {
			req, err := http.NewRequestWithContext(context.Background(), http.MethodGet, "http://"+d.Where()+path, nil)
			if err != nil {
				t.Fatal(err)
			}
			resp, err := http.DefaultClient.Do(req)
			if err != nil {
				t.Fatal(err)
			}
			resp.Body.Close()
			if resp.StatusCode != want {
				t.Errorf("%s: %s", path, resp.Status)
			}
		}
	}
	if _, err := Listen("not an address"); err == nil {
		t.Error("no error")
	}
}

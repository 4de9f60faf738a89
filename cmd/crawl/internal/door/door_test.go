package door

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
	"regexp"
	"runtime"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/permesso-crawler/permesso/crawler"
	"github.com/permesso-crawler/permesso/frontier"
	"github.com/permesso-crawler/permesso/storage"
)

// told is a crawl that writes down what it is told.
type told struct {
	mu     sync.Mutex // guards what follows
	said   []string
	limits crawler.Limits
	err    error
	looks  int
}

func (c *told) say(format string, args ...any) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.said = append(c.said, fmt.Sprintf(format, args...))
	return c.err
}

func (c *told) Status() crawler.Status {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.looks++
	return crawler.Status{Version: 1, State: crawler.StateRunning, Run: crawler.StatusRun{Pages: 7}}
}

func (c *told) Pause(reason string) error  { return c.say("pause %s", reason) }
func (c *told) Resume(reason string) error { return c.say("resume %s", reason) }
func (c *told) Slow(of string, delay time.Duration, reason string) error {
	return c.say("slow %s %v %s", of, delay, reason)
}
func (c *told) Exclude(of, reason string) error { return c.say("exclude %s %s", of, reason) }
func (c *told) Seed(reason string, seeds ...string) error {
	return c.say("add %d %s %s", len(seeds), seeds[0], reason)
}
func (c *told) Limit(reason string, change func(*crawler.Limits)) error {
	change(&c.limits)
	return c.say("limit %s", reason)
}

// opened is a door in dir that is closed at the end.
func opened(t *testing.T, dir string, h http.Handler) *Door {
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

// short is a directory whose path leaves room for a socket on every system.
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
	dir, c := short(t), new(told)
	opened(t, dir, Rooms(c))
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
	if !slices.Equal(c.said, want) || c.limits.Pages != 5 || c.limits.Time != time.Hour {
		t.Errorf("%q, want %q; %+v", c.said, want, c.limits)
	}
	if s, err := Status(t.Context(), dir); err != nil || s.Run.Pages != 7 {
		t.Errorf("%+v, %v", s, err)
	}
}

// Whatever is refused says why, and what can be done about it.
func TestWhatIsRefusedSaysWhy(t *testing.T) {
	dir, c := short(t), new(told)
	opened(t, dir, Rooms(c))
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
		{nil, "limit", Ask{Limits: map[string]string{"depth": "1"}}, `depth: "depth" is none of limit, max-bytes, max-time, rate, patience, concurrency`, false},
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

func TestNobodyIsThere(t *testing.T) {
	dir := short(t)
	if _, err := Status(t.Context(), dir); !errors.Is(err, ErrNobody) {
		t.Errorf("of an empty directory: %v", err)
	}
	if err := Tell(t.Context(), filepath.Join(dir, "none"), "pause", Ask{}); !errors.Is(err, ErrNobody) {
		t.Errorf("of no directory: %v", err)
	}
	d, err := Open(dir, Rooms(new(told)))
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
		t.Errorf("left behind: %q", names)
	}
}

// A process that runs the crawl and has no door is named.
func TestACrawlWithoutADoor(t *testing.T) {
	dir := short(t)
	db, err := storage.Open(dir, storage.Options{NoPages: true})
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	var shut *ShutError
	want := fmt.Sprintf("process %d runs the crawl in %s, and does not answer: it has no door", os.Getpid(), dir)
	if _, err := Status(t.Context(), dir); !errors.As(err, &shut) || err.Error() != want {
		t.Errorf("%v, want %s", err, want)
	}
	// One that does not speak HTTP.
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

// Only its owner may come in, and there is no moment at which anybody else could.
func TestTheDoorIsItsOwners(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("there the directory's permissions count")
	}
	dir := short(t)
	d := opened(t, dir, Rooms(new(told)))
	info, err := os.Lstat(d.Where())
	if err != nil || info.Mode() != fs.ModeSocket|0o600 || d.Where() != filepath.Join(dir, "control") {
		t.Errorf("%s: %v, %v", d.Where(), info.Mode(), err)
	}
	if _, err := os.Lstat(filepath.Join(dir, private)); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("where it was made: %v", err)
	}
}

// What a killed process has left is replaced; what is no socket is not.
func TestADoorThatWasLeftOpen(t *testing.T) {
	dir := short(t)
	l, _, err := listen(dir)
	if err != nil {
		t.Fatal(err)
	}
	if err := l.Close(); err != nil { // and the socket stays, as after a kill
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
	opened(t, dir, Rooms(new(told)))
	if _, err := Status(t.Context(), dir); err != nil {
		t.Error(err)
	}
	other := short(t)
	if err := os.WriteFile(filepath.Join(other, Name), []byte("mine"), 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := Open(other, Rooms(new(told))); err == nil || !strings.Contains(err.Error(), "is in the way: it is no socket") {
		t.Errorf("%v", err)
	}
	if _, err := Status(t.Context(), other); !errors.Is(err, ErrNobody) {
		t.Errorf("%v", err)
	}
}

// The socket of a killed process is removed by the next command that reads the crawl; that of
// a run, and what is no socket, are not.
func TestSweepRemovesADeadSocket(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("there no file is known as a socket")
	}
	dir := short(t)
	opened(t, dir, Rooms(new(told)))
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
	if err := os.WriteFile(filepath.Join(away, storage.RunFile), fmt.Appendf(nil, `{"pid":1,"control":%q}`, filepath.Join(other, Name)), 0o600); err != nil {
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

// A run that begins while another one ends has its socket left alone.
func TestADoorThatAnotherRunHasMade(t *testing.T) {
	dir := short(t)
	old, err := Open(dir, Rooms(new(told)))
	if err != nil {
		t.Fatal(err)
	}
	opened(t, dir, Rooms(new(told)))
	if err := old.Close(); err != nil {
		t.Error(err)
	}
	if _, err := Status(t.Context(), dir); err != nil {
		t.Error(err)
	}
}

// Where the path is too long for a socket it lies elsewhere, and run.json says where.
func TestADirectoryWhosePathIsTooLong(t *testing.T) {
	base, elsewhere := short(t), short(t)
	t.Setenv("XDG_RUNTIME_DIR", elsewhere)
	dir := filepath.Join(base, strings.Repeat("x", 120))
	db, err := storage.Open(dir, storage.Options{NoPages: true})
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	d, err := Open(dir, Rooms(new(told)))
	if err != nil {
		t.Fatal(err)
	}
	run, err := storage.ReadRun(dir)
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
		t.Errorf("left behind: %q", names)
	}
	// Nor is it elsewhere where that is too long, too.
	if _, _, err := listenElsewhere(dir, []string{dir}); err == nil || !strings.Contains(err.Error(), "longer than the") {
		t.Errorf("%v", err)
	}
}

// raw sends bytes and returns what is answered until the door is shut.
func raw(t *testing.T, d *Door, send string) string {
	t.Helper()
	conn, err := net.Dial("unix", d.Where())
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	_, _ = io.WriteString(conn, send) // the door may be shut before all of it is sent
	said, _ := io.ReadAll(conn)
	return string(said)
}

// Whoever sends what makes no sense is answered so, and the next one is served.
func TestHostileRequests(t *testing.T) {
	dir, c := short(t), new(told)
	d := opened(t, dir, Rooms(c))
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
	if len(c.said) != 0 {
		t.Errorf("the crawl was told %q", c.said)
	}
}

// Who comes and says nothing, or does not take his answer, is shown out; until then he
// takes the room of one.
func TestSilentVisitorsAreShownOut(t *testing.T) {
	dir := short(t)
	l, at, err := listen(dir)
	if err != nil {
		t.Fatal(err)
	}
	b := usual
	b.visitors, b.header, b.request, b.idle = 2, 50*time.Millisecond, 50*time.Millisecond, 50*time.Millisecond
	d := serve(l, Rooms(new(told)), b)
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

// The door is closed though somebody stands in it, and a crawl that panics takes the
// answer of that one visitor.
func TestTheDoorClosesWhoeverStandsInIt(t *testing.T) {
	dir, inside := short(t), make(chan struct{})
	mux := Rooms(new(told))
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
		t.Error("he was answered")
	}
}

// Many who ask at once look once.
func TestManyLooksAreOne(t *testing.T) {
	c := new(told)
	look := &looks{crawl: c}
	var all sync.WaitGroup
	began := time.Now()
	for range 50 {
		all.Go(func() { look.status() })
	}
	all.Wait()
	if most := 1 + int(time.Since(began)/asYoung); c.looks > most {
		t.Errorf("%d looks, want no more than %d", c.looks, most)
	}
}

// What is for everybody's eyes is of this machine alone, unless somebody says otherwise,
// and nobody can tell the crawl anything there.
func TestTheAddressOfFigures(t *testing.T) {
	c := new(told)
	for _, address := range []string{"0", ":0", "127.0.0.1:0"} {
		l, err := Listen(address)
		if err != nil {
			t.Fatal(err)
		}
		d := ServeAt(l, Looks(c.Status))
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
		t.Error("it is an address")
	}
}

// The figures are as Prometheus wants them: a help and a type before each name, names
// and labels in its form, counters that end in _total and nothing else that does, base
// units, and nothing twice.
func TestTheFiguresAreInTheirForm(t *testing.T) {
	text := metrics(crawler.Status{
		State: crawler.StateRunning, Run: crawler.StatusRun{
			Pages: 7, Status: map[int]int{200: 7, 404: 1}, Errors: map[string]int{"a\"b\\c\nd": 1}, SkippedURLs: map[crawler.Reason]int{crawler.SkipRobots: 3}, SkippedLinks: map[crawler.Reason]int{crawler.SkipScope: 4},
		},
		Left: map[crawler.Reason]int{crawler.SkipWaits: 2}, Polite: crawler.StatusPolite{LeastMargin: -1e-7},
		Sites:  crawler.StatusSites{Clocks: map[frontier.Clock]crawler.StatusClock{frontier.CrawlDelayClock: {Sites: 4}}},
		Memory: crawler.StatusMemory{Heap: 1 << 40}, Crawl: crawler.StatusCrawl{Done: 4, Queued: 5, Again: 6, Known: 15},
	})
	head := regexp.MustCompile(`^# HELP (permesso_[a-z_]+) [A-Z].*\.\n# TYPE (permesso_[a-z_]+) (counter|gauge)$`)
	sample := regexp.MustCompile(`^(permesso_[a-z_]+)(\{[a-z]+="(?:[^"\\\n]|\\["\\n])*"\})? -?[0-9.]+(e[-+][0-9]+)?$`)
	lines, name, kind, seen := strings.Split(strings.TrimSuffix(text, "\n"), "\n"), "", "", map[string]bool{}
	for i := 0; i < len(lines); i++ {
		if strings.HasPrefix(lines[i], "# HELP") {
			m := head.FindStringSubmatch(lines[i] + "\n" + lines[i+1])
			if m == nil || m[1] != m[2] || seen[m[1]] || (m[3] == "counter") != strings.HasSuffix(m[1], "_total") {
				t.Fatalf("%s\n%s", lines[i], lines[i+1])
			}
			name, kind = m[1], m[3]
			seen[name] = true
			i++
			continue
		}
		m := sample.FindStringSubmatch(lines[i])
		if m == nil || m[1] != name || kind == "" || seen[m[1]+m[2]] && m[2] != "" {
			t.Errorf("%q", lines[i])
		} else if m[2] != "" {
			seen[m[1]+m[2]] = true
		}
	}
	for _, want := range []string{
		"permesso_pages_total 7", `permesso_answers_total{code="404"} 1`, `permesso_errors_total{stage="a\"b\\c\nd"} 1`, `permesso_skipped_urls_total{reason="robots disallowed"} 3`, `permesso_skipped_links_total{reason="out of scope"} 4`,
		`permesso_waiting_sites{clock="crawl-delay"} 4`, "permesso_early_requests_total 0", `permesso_state{state="running"} 1`,
		"permesso_queued_urls 5", "permesso_again_urls 6",
	} {
		if !slices.Contains(lines, want) {
			t.Errorf("there is no %s in\n%s", want, text)
		}
	}
}

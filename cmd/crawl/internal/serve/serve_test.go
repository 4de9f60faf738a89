package serve_test

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/permesso-crawler/permesso/cmd/crawl/internal/control"
	"github.com/permesso-crawler/permesso/cmd/crawl/internal/serve"
	"github.com/permesso-crawler/permesso/crawler"
	"github.com/permesso-crawler/permesso/frontier"
	"github.com/permesso-crawler/permesso/internal/store"
	"golang.org/x/net/html"
)

const hostile = "<script>alert(1)</script><img/src=x/onerror=alert(1)>\"'`{{.}}"

// A fakeCrawl is a running crawl that keeps what it is told.
type fakeCrawl struct {
	control.Crawl // nil: nothing else is called

	mu     sync.Mutex
	told   []string
	err    error
	outage time.Duration
}

func (c *fakeCrawl) tell(format string, args ...any) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.err == nil {
		c.told = append(c.told, fmt.Sprintf(format, args...))
	}
	return c.err
}

func (c *fakeCrawl) Pause(reason string) error  { return c.tell("pause %s", reason) }
func (c *fakeCrawl) Resume(reason string) error { return c.tell("resume %s", reason) }
func (c *fakeCrawl) Exclude(of, reason string) error {
	return c.tell("exclude %s %s", of, reason)
}
func (c *fakeCrawl) Slow(of string, delay time.Duration, reason string) error {
	return c.tell("slow %s %s %s", of, delay, reason)
}

func (c *fakeCrawl) Status() crawler.Status {
	s := crawler.Status{Time: time.Now(), State: crawler.StateRunning, Name: "testbot", Seconds: 3}
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.outage > 0 {
		s.Outage = s.Time.Add(-c.outage)
	}
	s.Run.Requests, s.Crawl.Known, s.Crawl.Queued = 12345, 9, 4
	s.Sites.LongestFirst = []crawler.StatusSite{{Site: frontier.Site("http://" + hostile), Queued: 4, Seconds: 40}}
	s.Orders = []crawler.Order{{Do: "pause", Reason: hostile}}
	return s
}

// running makes the directory of a crawl that runs in this process.
func running(t *testing.T, name string) (dir string, c *fakeCrawl) {
	t.Helper()
	temp, err := os.MkdirTemp("", "s") // the path of a socket must be short
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { os.RemoveAll(temp) })
	dir = filepath.Join(temp, name)
	db, err := store.Open(dir, store.Options{})
	if err != nil {
		t.Fatal(err)
	}
	c = &fakeCrawl{}
	socket, err := control.Open(dir, control.Handler(c))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := errors.Join(socket.Close(), db.Close()); err != nil {
			t.Error(err)
		}
	})
	log := "2026-05-04T10:00:01.100Z 404 7 http://a.test/?" + hostile + " - - text/" + hostile + " #001 20260504100001000+100 - - start:2026-05-04T10:00:01.000000Z,ttfb:0.05,took:0.1\n"
	if err := os.WriteFile(filepath.Join(dir, store.LogFile), []byte(log), 0o600); err != nil {
		t.Fatal(err)
	}
	return dir, c
}

// served serves crawls and series.
func served(t *testing.T, o serve.Options) (at string) {
	t.Helper()
	if o.Ask == nil {
		o.Ask = func(context.Context, string, serve.Query, io.Writer) error { return errors.New("not asked") }
	}
	s := serve.New(o)
	server := httptest.NewServer(s)
	t.Cleanup(func() {
		s.Close()
		server.Close()
	})
	return server.URL
}

// A call is a request, and what is expected of the answer.
type call struct {
	method, path string
	head         map[string]string
	form         url.Values
	status       int
	says         string
}

func (c *call) make(t *testing.T, at string) (body string, head http.Header) {
	t.Helper()
	r, err := http.NewRequest(c.method, at+c.path, strings.NewReader(c.form.Encode()))
	if err != nil {
		t.Fatal(err)
	}
	if c.form != nil {
		r.Header.Set("Content-Type", "application/x-www-form-urlencoded")
	}
	for name, value := range c.head {
		if name == "Host" {
			r.Host = value
		} else {
			r.Header.Set(name, value)
		}
	}
	client := http.Client{Timeout: time.Minute, CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }}
	defer client.CloseIdleConnections()
	resp, err := client.Do(r)
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	raw, err := io.ReadAll(resp.Body)
	if err != nil {
		t.Fatal(err)
	}
	if resp.StatusCode != c.status || !strings.Contains(string(raw), c.says) {
		t.Errorf("%s %s %v %v: %s\n%s\nwant %d with %q", c.method, c.path, c.head, c.form, resp.Status, raw, c.status, c.says)
	}
	return string(raw), resp.Header
}

// Only requests from this machine and from the pages of the server are answered.
func TestRequestsFromElsewhereAreRefused(t *testing.T) {
	t.Parallel()
	dir, c := running(t, "a.crawl")
	at := served(t, serve.Options{Crawls: []string{dir}, Token: "secret"})
	port := strings.TrimPrefix(at, "http://127.0.0.1")
	form := url.Values{"token": {"secret"}}
	for _, host := range []string{"evil.test", "evil.test" + port, "127.0.0.1.evil.test", "localhost.evil.test", "10.0.0.1", "[::]", "169.254.169.254", "127.0.0.1%00"} {
		for _, path := range []string{"/", "/healthz", "/page.js", "/crawl/a.crawl/", "/crawl/a.crawl/live"} {
			(&call{"GET", path, map[string]string{"Host": host}, nil, 421, "loopback names alone"}).make(t, at)
		}
		(&call{"POST", "/crawl/a.crawl/pause", map[string]string{"Host": host}, form, 421, "loopback names alone"}).make(t, at)
	}
	for _, host := range []string{"127.0.0.1", "127.0.0.1" + port, "localhost:1234", "LOCALHOST.", "[::1]", "[::1]:80", "127.1.2.3", "[::ffff:127.0.0.1]"} {
		(&call{"GET", "/healthz", map[string]string{"Host": host}, nil, 200, "ok\n"}).make(t, at)
	}
	for _, head := range []map[string]string{
		{"Origin": "http://evil.test"}, {"Origin": "null"}, {"Origin": "http://127.0.0.1:1"}, {"Sec-Fetch-Site": "cross-site"}, {"Sec-Fetch-Site": "same-site"},
		{"Sec-Fetch-Site": "cross-site", "Sec-Fetch-Mode": "navigate", "Sec-Fetch-Dest": "document"},
	} {
		(&call{"POST", "/crawl/a.crawl/pause", head, form, 403, "a page of another origin"}).make(t, at)
	}
	for _, head := range []map[string]string{
		{"Sec-Fetch-Site": "cross-site"}, {"Sec-Fetch-Site": "same-site", "Sec-Fetch-Mode": "cors"}, {"Sec-Fetch-Site": "cross-site", "Sec-Fetch-Mode": "navigate", "Sec-Fetch-Dest": "iframe"},
	} {
		for _, path := range []string{"/", "/crawl/a.crawl/live", "/crawl/a.crawl/list"} {
			(&call{"GET", path, head, nil, 403, "a page of another origin"}).make(t, at)
		}
	}
	(&call{"GET", "/crawl/a.crawl/", map[string]string{"Sec-Fetch-Site": "cross-site", "Sec-Fetch-Mode": "navigate", "Sec-Fetch-Dest": "document"}, nil, 200, "a.crawl"}).make(t, at)
	if len(c.told) > 0 {
		t.Errorf("the crawl was told %q", c.told)
	}
}

// A crawl is changed with the token alone, by forms that are right.
func TestAFormNeedsTheToken(t *testing.T) {
	t.Parallel()
	dir, c := running(t, "a.crawl")
	at := served(t, serve.Options{Crawls: []string{dir}, Token: "secret"})
	post := func(do, token string, more ...string) *call {
		form := url.Values{}
		if token != "" {
			form.Set("token", token)
		}
		for i := 0; i < len(more); i += 2 {
			form.Set(more[i], more[i+1])
		}
		return &call{method: "POST", path: "/crawl/a.crawl/" + do, form: form, status: 403, says: "The token is missing"}
	}
	for _, do := range []string{"pause", "resume", "slow", "exclude"} {
		for _, token := range []string{"", "wrong", "secre", "secrets", "SECRET"} {
			post(do, token, "of", "a.test", "delay", "10s", "reason", "x").make(t, at)
		}
		get := post(do, "secret")
		get.method, get.status, get.says = "GET", 404, "no such page"
		get.make(t, at)
	}
	query := post("pause", "")
	query.path += "?token=secret" // addresses stand in logs
	query.make(t, at)
	if len(c.told) > 0 {
		t.Fatalf("the crawl was told %q", c.told)
	}
	for _, one := range []struct {
		call   *call
		status int
		says   string
	}{
		{post("pause", " secret\n", "reason", " a call "), 200, "Paused"},
		{post("resume", "secret"), 200, "It goes on."},
		{post("slow", "secret", "of", "a.test", "delay", "10s", "reason", "x"), 200, "Done"},
		{post("slow", "secret", "delay", "soon"), 409, `The crawl has refused it: "soon" is no duration`},
		{post("exclude", "secret", "of", "a.test", "reason", "mail"), 200, "Done"},
		{post("exclude", "secret", "of", "a.test"), 400, "Give a site or a host, and the reason"},
		{post("exclude", "secret", "reason", "mail"), 400, "Give a site or a host, and the reason"},
		{post("pause", "secret", "reason", strings.Repeat("x", 17<<10)), 400, "cannot be read"},
		{post("limit", "secret"), 404, "no such page"},
	} {
		one.call.status, one.call.says = one.status, one.says
		one.call.make(t, at)
	}
	page := post("pause", "secret")
	page.status, page.says, page.head = 303, "", map[string]string{"Accept": "text/html,*/*"}
	if _, head := page.make(t, at); head.Get("Location") != "/crawl/a.crawl/" {
		t.Errorf("the page is at %q", head.Get("Location"))
	}
	want := []string{"pause a call", "resume ", "slow a.test 10s x", "exclude a.test mail", "pause "}
	if !slices.Equal(c.told, want) {
		t.Errorf("the crawl was told %q, want %q", c.told, want)
	}
	c.err = crawler.ErrEnded
	ended := post("pause", "secret")
	ended.status, ended.says = 409, "No process runs this crawl"
	ended.make(t, at)
}

// Without a token there are no forms, and no request changes a crawl.
func TestAServerThatOnlyShows(t *testing.T) {
	t.Parallel()
	dir, c := running(t, "a.crawl")
	at := served(t, serve.Options{Crawls: []string{dir}})
	for _, token := range []string{"", "x"} {
		(&call{"POST", "/crawl/a.crawl/pause", nil, url.Values{"token": {token}}, 403, "only shows crawls"}).make(t, at)
	}
	page, _ := (&call{"GET", "/crawl/a.crawl/", nil, nil, 200, "12\u202f345"}).make(t, at)
	if strings.Contains(page, "<form") || len(c.told) > 0 {
		t.Errorf("%q\n%s", c.told, page)
	}
}

// inert fails the test if a page could run or load something of a site.
func inert(t *testing.T, page string) {
	t.Helper()
	tree, err := html.Parse(strings.NewReader(page))
	if err != nil {
		t.Fatal(err)
	}
	for n := range tree.Descendants() {
		if slices.Contains(strings.Fields("img iframe object embed style"), n.Data) && n.Type == html.ElementNode {
			t.Errorf("there is an element %s", n.Data)
		}
		for _, a := range n.Attr {
			switch {
			case strings.HasPrefix(a.Key, "on"), a.Key == "style", a.Key == "src" && a.Val != "/page.js":
				t.Errorf("<%s %s=%q>", n.Data, a.Key, a.Val)
			case a.Key == "href":
				if u, err := url.Parse(a.Val); err != nil || u.Host != "" || u.Scheme != "" {
					t.Errorf("<%s %s=%q>", n.Data, a.Key, a.Val)
				}
			}
		}
	}
}

// Texts of sites and files are texts on each page, and in the stream.
func TestWhatSitesSayIsText(t *testing.T) {
	t.Parallel()
	dir, _ := running(t, strings.ReplaceAll(hostile, "/", "")+".crawl")
	name := url.PathEscape(filepath.Base(dir))
	at := served(t, serve.Options{Crawls: []string{dir, dir + "/."}, Token: "secret", Ask: func(_ context.Context, _ string, q serve.Query, out io.Writer) error {
		switch q.URL {
		case "":
			fmt.Fprintf(out, `{"url":"javascript:%[1]s","fate":"%[1]s","reason":"%[1]s"}`+"\n", strings.ReplaceAll(hostile, `"`, `\"`))
		case "x":
			return errors.New(hostile)
		default:
			fmt.Fprintf(out, "url          %s\nfound        on http://a.test/%s, and javascript:%s\n", q.URL, hostile, hostile)
		}
		return nil
	}})
	for _, path := range []string{"/", "/crawl/" + name + "/", "/crawl/" + name + "/list?site=" + url.QueryEscape(hostile), "/crawl/" + name + "/explain?url=" + url.QueryEscape(hostile),
		"/crawl/" + name + "/explain?url=x", "/crawl/" + url.PathEscape(hostile) + "/", "/series/" + url.PathEscape(hostile) + "/"} {
		status := 200
		if strings.Contains(path, url.PathEscape(hostile)) {
			status = 404
		}
		page, head := (&call{"GET", path, map[string]string{"Accept": "text/html"}, nil, status, "<!doctype html>"}).make(t, at)
		inert(t, page)
		if status == 200 && !strings.Contains(page, "&lt;script&gt;alert(1)") {
			t.Errorf("%s does not show what was said:\n%s", path, page)
		}
		if csp := head.Get("Content-Security-Policy"); !strings.HasPrefix(csp, "default-src 'none'; script-src 'self'; style-src 'self';") || strings.Contains(csp, "unsafe") {
			t.Errorf("%s: %s", path, csp)
		}
		for name, want := range map[string]string{"X-Content-Type-Options": "nosniff", "Referrer-Policy": "no-referrer", "Cache-Control": "no-store", "Cross-Origin-Resource-Policy": "same-origin"} {
			if head.Get(name) != want {
				t.Errorf("%s: %s is %q", path, name, head.Get(name))
			}
		}
	}
}

// The page of a node says first that its database does not answer.
func TestAnOutageIsShown(t *testing.T) {
	t.Parallel()
	dir, c := running(t, "a.crawl")
	c.mu.Lock()
	c.outage = 72 * time.Second
	c.mu.Unlock()
	at := served(t, serve.Options{Crawls: []string{dir}})
	(&call{"GET", "/crawl/a.crawl/", nil, nil, 200, `<p class="warning" role="note"><bdi>The database has not answered for 1m12s. The node tries again.`}).make(t, at)
}

// A stream begins with all parts, in one event for each change, and asks pages of another layout
// to be loaded again.
func TestAStreamHasTheParts(t *testing.T) {
	t.Parallel()
	dir, _ := running(t, "a.crawl")
	at := served(t, serve.Options{Crawls: []string{dir}})
	for _, want := range []struct{ layout, first, then string }{
		{"running", "data: {\"figures\":\"", "data: {\"figures\":\""}, {"ended", "event: reload", "data: {}"},
	} {
		resp, err := http.Get(at + "/crawl/a.crawl/live?layout=" + want.layout)
		if err != nil {
			t.Fatal(err)
		}
		if kind := resp.Header.Get("Content-Type"); kind != "text/event-stream" {
			t.Errorf("it is %s", kind)
		}
		lines := bufio.NewScanner(resp.Body)
		lines.Buffer(nil, 1<<20)
		var got []string
		for len(got) < 2 && lines.Scan() {
			if text := lines.Text(); text != "" && !strings.HasPrefix(text, "retry:") {
				got = append(got, text)
			}
			if want.layout == "running" && len(got) == 1 {
				break
			}
		}
		if len(got) == 0 || !strings.HasPrefix(got[0], want.first) || !strings.HasPrefix(got[len(got)-1], want.then) {
			t.Errorf("%s: %.200q", want.layout, got)
		}
		resp.Body.Close()
	}
	http.DefaultClient.CloseIdleConnections()
	(&call{"HEAD", "/crawl/a.crawl/live", nil, nil, 405, ""}).make(t, at)
}

// There are no more streams than there may be, and the others are answered that.
func TestTheNumberOfStreamsIsBounded(t *testing.T) {
	t.Parallel()
	dir, _ := running(t, "a.crawl")
	s := serve.New(serve.Options{Crawls: []string{dir}})
	ctx, cancel := context.WithCancel(t.Context())
	var all sync.WaitGroup
	begun := make(chan struct{}, 2000)
	for range 1024 {
		all.Go(func() {
			r := httptest.NewRequestWithContext(ctx, "GET", "http://localhost/crawl/a.crawl/live", nil)
			s.ServeHTTP(&notifying{httptest.NewRecorder(), sync.OnceFunc(func() { begun <- struct{}{} })}, r)
		})
	}
	for range 1024 {
		<-begun
	}
	w := httptest.NewRecorder()
	s.ServeHTTP(w, httptest.NewRequest("GET", "http://localhost/crawl/a.crawl/live", nil))
	if w.Code != 503 || w.Header().Get("Retry-After") == "" || !strings.Contains(w.Body.String(), "1024 streams already") {
		t.Errorf("one more: %d %s", w.Code, w.Body)
	}
	w = httptest.NewRecorder()
	s.ServeHTTP(w, httptest.NewRequest("GET", "http://localhost/crawl/a.crawl/", nil))
	if w.Code != 200 || !strings.Contains(w.Body.String(), "12\u202f345") {
		t.Errorf("a page meanwhile: %d", w.Code)
	}
	cancel()
	all.Wait()
	s.Close()
}

// A notifying writer calls begun with the first bytes.
type notifying struct {
	*httptest.ResponseRecorder
	begun func()
}

func (n *notifying) Write(p []byte) (int, error) {
	n.begun()
	return len(p), nil
}

// A stream ends if its reader does not read.
func TestASlowReaderIsDropped(t *testing.T) {
	t.Parallel()
	dir, _ := running(t, "a.crawl")
	s := serve.New(serve.Options{Crawls: []string{dir}})
	defer s.Close()
	w := &stuck{header: http.Header{}}
	s.ServeHTTP(w, httptest.NewRequest("GET", "http://localhost/crawl/a.crawl/live?layout=running", nil))
	if w.deadline.IsZero() || time.Until(w.deadline) > 10*time.Second {
		t.Errorf("the deadline is %s", w.deadline)
	}
}

// A stuck writer takes some bytes, and then fails as a connection does at its deadline.
type stuck struct {
	header   http.Header
	deadline time.Time
	n        int
}

func (s *stuck) Header() http.Header                { return s.header }
func (s *stuck) WriteHeader(int)                    {}
func (s *stuck) Flush()                             {}
func (s *stuck) SetReadDeadline(time.Time) error    { return nil }
func (s *stuck) SetWriteDeadline(t time.Time) error { s.deadline = t; return nil }
func (s *stuck) Write(p []byte) (int, error) {
	if s.n += len(p); s.n > 1000 {
		return 0, os.ErrDeadlineExceeded
	}
	return len(p), nil
}

// Close ends streams, also those that wait.
func TestCloseEndsStreams(t *testing.T) {
	t.Parallel()
	dir, _ := running(t, "a.crawl")
	s := serve.New(serve.Options{Crawls: []string{dir}})
	server := httptest.NewServer(s)
	defer server.Close()
	conn, err := net.Dial("tcp", server.Listener.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	fmt.Fprint(conn, "GET /crawl/a.crawl/live?layout=running HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n")
	in := bufio.NewReader(conn)
	for line := ""; !strings.HasPrefix(line, "data: "); {
		if line, err = in.ReadString('\n'); err != nil {
			t.Fatal(err)
		}
	}
	s.Close()
	if _, err := io.Copy(io.Discard, in); err != nil {
		t.Error(err)
	}
}

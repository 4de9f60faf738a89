//go:build unix

package main

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/permesso-crawler/permesso/cmd/crawl/internal/exit"
	"github.com/permesso-crawler/permesso/cmd/crawl/internal/nodes"
	"github.com/permesso-crawler/permesso/internal/pgtest"
	"github.com/permesso-crawler/permesso/internal/store"
)

// A treeWeb is hosts with pages. Each page is linked from exactly one other page, mostly of
// another host, so that one lost link loses pages.
type treeWeb struct {
	address      string
	hosts, pages int // pages of each host

	mu       sync.Mutex
	requests int
}

func newTreeWeb(t *testing.T, hosts, pages int) *treeWeb {
	w := &treeWeb{hosts: hosts, pages: pages}
	listen, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	w.address = listen.Addr().String()
	server := &http.Server{Handler: w, ReadHeaderTimeout: time.Minute}
	served := make(chan error, 1)
	// The web. It ends with the test.
	go func() { served <- server.Serve(listen) }()
	t.Cleanup(func() {
		server.Close()
		<-served
	})
	return w
}

func (w *treeWeb) url(n int) string {
	return fmt.Sprintf("http://h%d.test/%s", n%w.hosts, w.path(n/w.hosts))
}

// path returns the path of a page. Some are forbidden, some are missing, and some are redirects.
func (w *treeWeb) path(page int) string {
	switch {
	case page == 0:
		return ""
	case page%7 == 6:
		return "private/" + strconv.Itoa(page)
	}
	return strconv.Itoa(page)
}

func (w *treeWeb) ServeHTTP(rw http.ResponseWriter, r *http.Request) {
	w.mu.Lock()
	w.requests++
	w.mu.Unlock()
	host, err := strconv.Atoi(strings.TrimSuffix(strings.TrimPrefix(r.Host, "h"), ".test"))
	if err != nil || r.URL.Path == "/robots.txt" {
		fmt.Fprint(rw, "User-agent: *\nDisallow: /private/\n")
		return
	}
	page, err := strconv.Atoi("0" + strings.TrimPrefix(r.URL.Path, "/"))
	switch {
	case err != nil || page >= w.pages:
		http.NotFound(rw, r)
		return
	case page%5 == 4: // many hosts have this page
		rw.Header().Set("Content-Type", "text/plain")
		fmt.Fprintf(rw, "%s", strings.Repeat("The same text. ", 20))
		return
	case page%5 == 3:
		http.Redirect(rw, r, "/", http.StatusFound)
		return
	}
	rw.Header().Set("Content-Type", "text/html")
	fmt.Fprintf(rw, "<title>%s</title>%s", r.Host+r.URL.Path, strings.Repeat("Text. ", 30))
	n := page*w.hosts + host
	for _, child := range []int{3*n + 1, 3*n + 2, 3*n + 3} {
		if child < w.hosts*w.pages {
			fmt.Fprintf(rw, "<a href=%q>x</a>\n", w.url(child))
		}
	}
}

func (w *treeWeb) asked() int {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.requests
}

// A collecting is a crawl of several nodes, and a directory for what is made of it.
type collecting struct {
	*testing.T
	web       *treeWeb
	state     string // connection string
	host      string // directory of the socket of the server
	dir       string
	env       []string
	processes map[int]*exec.Cmd
	said      map[int]*bytes.Buffer
}

func newCollecting(t *testing.T, hosts, pages int) *collecting {
	server, err := pgtest.Start("fsync=off")
	if errors.Is(err, pgtest.ErrNone) {
		t.Skip(err)
	}
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := server.Close(); err != nil {
			t.Error(err)
		}
	})
	c := &collecting{T: t, web: newTreeWeb(t, hosts, pages), host: server.Dir, dir: t.TempDir(), processes: map[int]*exec.Cmd{}, said: map[int]*bytes.Buffer{}}
	if c.state, err = server.Create("crawl"); err != nil {
		t.Fatal(err)
	}
	c.env = append(os.Environ(), "PGUSER=permesso", "PGPASSWORD=Geheim17", "HOME="+c.dir, "XDG_CONFIG_HOME="+c.dir)
	t.Cleanup(func() {
		for _, cmd := range c.processes {
			cmd.Process.Kill()
			cmd.Wait()
		}
	})
	return c
}

func (c *collecting) run(dir string, more ...string) []string {
	return slices.Concat([]string{"run", "--dir", dir, "--name", "testbot", "--contact", "https://example.org/testbot", "--delay", "30ms", "--allow-private",
		"--connect-to", "::" + c.web.address, "--progress", "none", "--patience", "5s", "--output", "warc,jsonl,links", "--scope", "any"}, more, []string{c.web.url(0)})
}

func (c *collecting) command(args ...string) *exec.Cmd {
	cmd := exec.Command("crawl", args...)
	cmd.Dir, cmd.Env = c.dir, c.env
	return cmd
}

// crawl runs a command, and checks its exit code.
func (c *collecting) crawl(code int, args ...string) string {
	c.Helper()
	out, err := c.command(args...).CombinedOutput()
	var ended *exec.ExitError
	is := 0
	if errors.As(err, &ended) {
		is = ended.ExitCode()
	} else if err != nil {
		c.Fatal(err)
	}
	if is != code {
		c.Errorf("crawl %s: exit code %d, want %d:\n%s", strings.Join(args, " "), is, code, out[max(0, len(out)-3000):])
	}
	if bytes.Contains(out, []byte("Geheim17")) {
		c.Errorf("crawl %s prints the password: %s", strings.Join(args, " "), out)
	}
	return string(out)
}

func (c *collecting) start(i int) {
	cmd := c.command(c.run(fmt.Sprintf("node%d.crawl", i), "--state", c.state)...)
	c.said[i] = new(bytes.Buffer)
	cmd.Stdout, cmd.Stderr = c.said[i], c.said[i]
	if err := cmd.Start(); err != nil {
		c.Fatal(err)
	}
	c.processes[i] = cmd
}

// nodes runs a number of nodes to their end. When the web has had as many requests as kills says, it
// kills one node after the other, and starts it again.
func (c *collecting) nodes(n int, kills ...int) {
	c.Helper()
	for i := range n {
		c.start(i)
		if i == 0 {
			c.asked(1)
		}
	}
	for k, at := range kills {
		c.asked(at)
		cmd := c.processes[k%n]
		cmd.Process.Kill()
		cmd.Wait()
		c.start(k % n)
	}
	for i := range n {
		for { // a node that has lost its session is started again
			err := c.processes[i].Wait()
			code := c.processes[i].ProcessState.ExitCode()
			delete(c.processes, i)
			if code == exit.Done || code == exit.Nothing {
				break
			}
			if code != exit.Later {
				c.Fatalf("node %d: %v:\n%s", i, err, c.said[i])
			}
			c.start(i)
		}
	}
}

// asked waits until the web has had a number of requests.
func (c *collecting) asked(n int) {
	c.Helper()
	for limit := time.Now().Add(time.Minute); c.web.asked() < n; time.Sleep(2 * time.Millisecond) {
		if time.Now().After(limit) {
			c.Fatalf("the web had only %d requests: %v", c.web.asked(), c.said)
		}
	}
}

func (c *collecting) nodeDirs(n int) (dirs []string) {
	for i := range n {
		dirs = append(dirs, fmt.Sprintf("node%d.crawl", i))
	}
	return dirs
}

// fates returns the fates of all URLs of a crawl.
func (c *collecting) fates(dir string) map[string]string {
	c.Helper()
	r, err := store.OpenReader(filepath.Join(c.dir, dir))
	if err != nil {
		c.Fatal(err)
	}
	defer r.Close()
	fates := map[string]string{}
	for site, err := range r.Names() {
		if err != nil {
			c.Fatal(err)
		}
		for k, err := range r.Entries(site) {
			if err != nil {
				c.Fatal(err)
			}
			fates[k.URL.String()] = fmt.Sprint(k.Fate.Code, " ", k.Fate.Status, " ", k.Fate.Digest, " ", k.Via, " ", k.Hops, " ", k.Depth)
		}
	}
	return fates
}

// report returns the figures of a report.
func (c *collecting) report(args ...string) (r map[string]json.RawMessage) {
	c.Helper()
	if err := json.Unmarshal([]byte(c.crawl(0, slices.Concat([]string{"report", "--json"}, args)...)), &r); err != nil {
		c.Fatal(err)
	}
	return r
}

func (c *collecting) lines(parts ...string) (n int) {
	c.Helper()
	f, err := os.Open(filepath.Join(append([]string{c.dir}, parts...)...))
	if err != nil {
		c.Fatal(err)
	}
	defer f.Close()
	for scan := bufio.NewScanner(f); scan.Scan(); n++ {
	}
	return n
}

func TestACollectedCrawlIsThatOfOneMachine(t *testing.T) {
	t.Parallel()
	c := newCollecting(t, 6, 24)
	c.nodes(3, 20, 40, 60)
	nodes := c.report(c.nodeDirs(3)...)
	said := c.crawl(0, slices.Concat([]string{"collect"}, c.nodeDirs(3), []string{"all.crawl"})...)
	c.readAs("all.crawl")
	whole := c.report("all.crawl")
	if len(nodes) != len(whole)+1 {
		c.Errorf("the report of nodes has %d names, that of their crawl %d", len(nodes), len(whole))
	}
	for name := range whole {
		if name != "name" && !bytes.Equal(nodes[name], whole[name]) {
			c.Errorf("report: %s is %s for the nodes, and %s for their crawl", name, nodes[name], whole[name])
		}
	}
	if s := c.status("--state", c.state); s.State != "ended" {
		c.Errorf("after the end, the status is %+v", s)
	}
	c.crawl(0, c.run("one.crawl")...)

	// The same web has the same URLs with the same fates.
	want, got := c.fates("one.crawl"), c.fates("all.crawl")
	if !maps.Equal(got, want) {
		for url := range want {
			if got[url] != want[url] {
				c.Errorf("%s: %q, want %q", url, got[url], want[url])
			}
		}
		c.Errorf("there are %d URLs, want %d", len(got), len(want))
	}
	for _, page := range []int{0, 1, 2, 5} {
		url := c.web.url(page)
		if said := c.crawl(0, "explain", "--dir", "all.crawl", url); !strings.Contains(said, url) || !strings.Contains(said, "fetched") {
			c.Errorf("explain %s: %s", url, said)
		}
	}
	if n := len(want); n < 80 {
		c.Errorf("the web has only %d URLs", n)
	}
	if want := fmt.Sprintf("all.crawl: 3 nodes, %d URLs, ", len(want)); !strings.HasPrefix(said, want) {
		c.Errorf("%q, want %q", said, want)
	}
	for _, args := range [][]string{
		{"verify", "all.crawl"}, {"audit", "all.crawl"}, {"report", "all.crawl"}, {"provenance", "all.crawl"}, {"provenance", "--verify", "all.crawl"},
		{"status", "all.crawl"}, {"list", "all.crawl"}, {"export", "all.crawl", "--format", "csv", "--output", "all.csv"}, {"index", "all.crawl"}, {"verify", "all.crawl"},
		{"repair", "--yes", "all.crawl"},
	} {
		c.crawl(0, args...)
	}
	if diff := c.crawl(0, "diff", "one.crawl", "all.crawl"); !strings.Contains(diff, fmt.Sprintf(" %d  not-modified", c.lines("one.crawl", "pages.jsonl"))) {
		c.Errorf("the pages differ from those of one machine: %s", diff)
	}
	if rows := c.lines("all.csv"); rows != len(want)+1 {
		c.Errorf("all.csv has %d lines, want a head and %d rows", rows, len(want))
	}
	if got, want := strings.Fields(c.crawl(0, "list", "all.crawl")), slices.Sorted(maps.Keys(want)); !slices.Equal(slices.Sorted(slices.Values(got)), want) {
		c.Errorf("list prints %q, want %q", got, want)
	}

	// One machine continues it, and has nothing to do.
	before := c.web.asked()
	c.crawl(0, c.run("all.crawl")...)
	if n := c.web.asked() - before; n > 0 {
		c.Errorf("a run of the collected crawl made %d requests", n)
	}
	c.crawl(0, "verify", "all.crawl")
	var done map[string]any
	if err := json.Unmarshal([]byte(c.crawl(0, slices.Concat([]string{"collect", "--json", "--state", c.state}, c.nodeDirs(3), []string{"again.crawl"})...)), &done); err != nil || done["urls"] != float64(len(want)) {
		c.Errorf("%v, %v", done, err)
	}
	c.crawl(0, "verify", "again.crawl")
	if left, _ := filepath.Glob(filepath.Join(c.dir, ".all.crawl*")); len(left) > 0 {
		c.Errorf("left: %v", left)
	}
}

// exec executes SQL in the database.
func (c *collecting) exec(sql string) {
	c.Helper()
	conn, err := pgx.Connect(c.Context(), c.state)
	if err == nil {
		_, err = conn.Exec(c.Context(), sql)
		err = errors.Join(err, conn.Close(context.Background()))
	}
	if err != nil {
		c.Fatal(err)
	}
}

// kill runs a number of nodes until the web has had some requests, and kills them.
func (c *collecting) kill(n, requests int) {
	c.Helper()
	c.begin(n, requests)
	c.running(n)
	c.killAll()
}

// begin runs a number of nodes, and returns when the web has had some requests.
func (c *collecting) begin(n, requests int) {
	c.Helper()
	for i := range n {
		c.start(i)
		if i == 0 {
			c.asked(1)
		}
	}
	c.asked(requests)
}

func (c *collecting) killAll() {
	for i, cmd := range c.processes {
		cmd.Process.Kill()
		cmd.Wait()
		delete(c.processes, i)
	}
}

// status returns the status of the whole crawl.
func (c *collecting) status(args ...string) (s struct {
	State string
	Crawl struct{ Entered, Done, Queued int }
	Run   struct{ Requests int }
	Nodes []nodes.Node
}) {
	c.Helper()
	if err := json.Unmarshal([]byte(c.crawl(0, slices.Concat([]string{"status", "--json"}, args)...)), &s); err != nil {
		c.Fatal(err)
	}
	return s
}

// running checks what the commands say of the whole crawl while a number of nodes run.
func (c *collecting) running(n int) {
	c.Helper()
	s, parts := c.status("--state", c.state), 0
	for _, n := range s.Nodes {
		if parts += n.Partitions; n.State != "running" {
			c.Errorf("while it runs, node %s is %s", n.Name, n.State)
		}
	}
	if s.State != "running" || len(s.Nodes) != n || parts == 0 || parts > 256 || s.Crawl.Entered == 0 || s.Crawl.Entered != s.Crawl.Done+s.Crawl.Queued {
		c.Errorf("while it runs, the status is %+v", s)
	}
	if said := c.crawl(0, "explain", "node0.crawl", c.web.url(0)); !strings.Contains(said, "fetched") {
		c.Errorf("explain, while it runs: %s", said)
	}
	if said := c.crawl(0, "list", "--count", "--state", c.state); !strings.Contains(said, "fetched") {
		c.Errorf("list, while it runs: %s", said)
	}
}

// readAs compares what the commands print of the state in the database with what they print of the
// same crawl in one directory.
func (c *collecting) readAs(dir string) {
	c.Helper()
	for _, args := range [][]string{
		{"list"}, {"list", "--count", "--json"}, {"list", "--json"}, {"list", "--fate", "queued,waiting"},
		{"explain", "--quick", "--json", c.web.url(0)}, {"explain", "--quick", c.web.url(3)}, {"explain", "--quick", "https://unknown.test/"},
	} {
		by := []string{"--dir", dir}
		if args[0] == "list" {
			by = []string{dir}
		}
		want := c.crawl(0, append(slices.Clone(args), by...)...)
		for _, from := range [][]string{{"--state", c.state}, {"--dir", "node1.crawl"}} {
			if args[0] == "list" && from[0] == "--dir" {
				from = []string{"node1.crawl"}
			}
			got := c.crawl(0, append(slices.Clone(args), from...)...)
			if sorted(got) != sorted(want) {
				c.Errorf("crawl %s %s:\n%s\nwant\n%s", strings.Join(args, " "), strings.Join(from, " "), got, want)
			}
		}
	}
	got, want := c.status("--state", c.state), c.status(dir)
	if got.Crawl != want.Crawl {
		c.Errorf("status: %+v, want %+v", got, want)
	}
}

// sorted returns the lines of a text in order.
func sorted(text string) string {
	lines := strings.Split(text, "\n")
	slices.Sort(lines)
	return strings.Join(lines, "\n")
}

// One machine continues a crawl whose nodes were all killed. Nothing is lost, and no rule is broken.
func TestOneMachineContinuesACollectedCrawl(t *testing.T) {
	t.Parallel()
	c := newCollecting(t, 6, 24)
	c.kill(3, 40)
	c.crawl(exit.InUse, slices.Concat([]string{"collect"}, c.nodeDirs(3), []string{"all.crawl"})...) // the sessions have leases
	c.exec("update crawl.node set until = clock_timestamp()")
	c.crawl(0, slices.Concat([]string{"collect"}, c.nodeDirs(3), []string{"all.crawl"})...)
	c.readAs("all.crawl")
	if s := c.status("--state", c.state); s.State != "killed" || s.Nodes[0].State != "killed" {
		c.Errorf("after the kills, the status is %+v", s)
	}
	if s := c.status("node2.crawl"); s.State != "killed" || len(s.Nodes) != 3 {
		c.Errorf("after the kills, the status of a node is %+v", s)
	}
	c.crawl(0, "verify", "all.crawl")
	c.crawl(0, "audit", "all.crawl")
	c.crawl(0, c.run("all.crawl")...)
	c.crawl(0, "verify", "all.crawl")
	c.crawl(0, "audit", "all.crawl")
	c.crawl(0, c.run("one.crawl")...)
	want, got := c.fates("one.crawl"), c.fates("all.crawl")
	for url := range want {
		if got[url] != want[url] {
			c.Errorf("%s: %q, want %q", url, got[url], want[url])
		}
	}
	if len(got) != len(want) {
		c.Errorf("there are %d URLs, want %d", len(got), len(want))
	}
}

// Each node of the demo fetches a part, and the result is that of one machine.
func TestTheDemoOfSeveralNodes(t *testing.T) {
	t.Parallel()
	c := newCollecting(t, 1, 1)
	c.env = append(c.env, "PGHOST="+c.host)
	said := c.crawl(0, "demo", "--nodes", "3", "--dir", "demo.crawl")
	for _, want := range []string{"demo.crawl: 3 nodes, 75 URLs, 53 pages", "demobot on 3 machines: ended: patience", "67 of 75 URLs known", "crawl report demo.crawl"} {
		if !strings.Contains(said, want) {
			c.Errorf("%q is not in %s", want, said)
		}
	}
	c.crawl(0, "verify", "demo.crawl")
	c.crawl(0, "audit", "demo.crawl")
	var requests int
	if err := json.Unmarshal(c.report("demo.crawl")["requests"], &requests); err != nil {
		t.Fatal(err)
	}
	if s := c.status("demo.crawl"); requests == 0 || s.Run.Requests != requests {
		c.Errorf("the status has %d requests of the runs of all nodes, want the %d of the log", s.Run.Requests, requests)
	}
	for i := range 3 {
		if n := c.lines(fmt.Sprintf("demo-node%d.crawl", i+1), "pages.jsonl"); n == 53 {
			c.Errorf("node %d has fetched everything", i+1)
		}
	}
	databases := 0
	conn, err := pgx.Connect(t.Context(), c.state)
	if err == nil {
		err = errors.Join(conn.QueryRow(t.Context(), "select count(*) from pg_database where datname like 'permesso%'").Scan(&databases), conn.Close(context.Background()))
	}
	if err != nil || databases != 0 {
		c.Errorf("%d databases are left, %v", databases, err)
	}
	for want, args := range map[string][]string{
		"exists: the last argument":     {"--nodes", "2", "--dir", "demo.crawl"},
		"out of range: 1 to 16":         {"--nodes", "17"},
		"no database can be made":       {"--nodes", "2", "--dir", "other.crawl"},
		"leave the password out":        {"--nodes", "2", "--dir", "other.crawl", "--state", "postgres://a:b@127.0.0.1/x"},
		"would be the directory of a n": {"--nodes", "2", "--dir", "demo", "--state", c.state},
	} {
		was := c.env
		if strings.HasPrefix(want, "no database") {
			c.env = append(slices.Clone(c.env), "PGHOST="+c.dir)
		}
		if said := c.crawl(exit.Usage, slices.Concat([]string{"demo"}, args)...); !strings.Contains(said, want) {
			c.Errorf("%q is not in %s", want, said)
		}
		c.env = was
	}
}

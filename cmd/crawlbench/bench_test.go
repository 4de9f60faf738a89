package main

import (
	"bytes"
	"context"
	"encoding/json"
	"flag"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"os/signal"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"testing"
	"time"
)

// The test binary is also the command: contestants and webs are its children.
func TestMain(m *testing.M) {
	if len(os.Args) > 1 && (os.Args[1] == "web" || os.Args[1] == childCommand || os.Args[1] == sealCommand || os.Args[1] == clientCommand) {
		ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
		defer stop()
		if err := run(ctx, os.Args[1:], os.Stdout); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		return
	}
	os.Exit(m.Run())
}

func smallCase() *benchCase {
	return &benchCase{label: "small", web: WebParams{Hosts: 2, Pages: 10, Size: 4 << 10, Links: 5}, concurrency: 4}
}

func once(t *testing.T, bc *benchCase, name string) result {
	t.Helper()
	exe, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	c, err := findContestant(name)
	if err != nil {
		t.Fatal(err)
	}
	if !bc.can(&c) {
		t.Fatalf("%s cannot take part", name)
	}
	b := bench{exe: exe, temp: t.TempDir(), timeout: time.Minute}
	r, err := b.once(t.Context(), bc, &c)
	if err != nil {
		t.Fatal(err)
	}
	return r
}

func TestContestantsGetEveryPageOnce(t *testing.T) {
	for _, name := range []string{"raw-discard", "raw-readall", "raw-tokenizer", "raw-goquery", "permesso-memory", "permesso", "permesso-warc", "permesso-pages", "permesso-snapshot"} {
		t.Run(name, func(t *testing.T) {
			bc := smallCase()
			r := once(t, bc, name)
			if w := r.Web; w.Pages != bc.expected() || w.Again != 0 || w.Forbidden != 0 || w.Missing != 0 {
				t.Errorf("%+v", w)
			}
			if r.CPU == 0 || r.WebCPU == 0 {
				t.Errorf("CPU %v, of the web %v", r.CPU, r.WebCPU)
			}
			asks := int64(0)
			if strings.HasPrefix(name, "permesso") {
				asks = 2
				if r.Report.Seen != 20 {
					t.Errorf("report %+v", r.Report)
				}
			}
			if r.Web.Robots != asks {
				t.Errorf("%d requests for robots.txt, want %d", r.Web.Robots, asks)
			}
		})
	}
}

// A crawl after another one requests each page once, and receives pages without a validator
// again.
func TestASecondCrawlIsMeasuredAlone(t *testing.T) {
	for _, validators := range []bool{true, false} {
		bc := smallCase()
		bc.web.Validators = validators
		r := once(t, bc, "permesso-again")
		if w := r.Web; w.Pages != bc.expected() || w.Requests != w.Pages || w.Again != 0 || w.Robots != 0 || (w.Bytes == 0) != validators {
			t.Errorf("with validators %t: %+v", validators, w)
		}
		c, err := findContestant("permesso-again")
		if err != nil {
			t.Fatal(err)
		}
		text := renderMarkdown([]table{{Scenario: scenario{name: "again", cases: []benchCase{*bc}}, Rounds: 1, Rows: []row{newRow(bc, &c, []result{r})}}}, "")
		if want := map[bool]string{true: "| 1.000 | 0.00 |  |", false: "| 1.000 | 4.10 |  |"}[validators]; !strings.Contains(text, want) {
			t.Errorf("want %q in\n%s", want, text)
		}
	}
}

// The column keeps of the table is true: contestants leave a state file, WARC files, and a
// crawl that another one can use.
func TestContestantsKeepWhatTheTableSays(t *testing.T) {
	for _, name := range []string{"permesso-memory", "permesso", "permesso-pages", "permesso-warc", "permesso-snapshot"} {
		t.Run(name, func(t *testing.T) {
			c, err := findContestant(name)
			if err != nil {
				t.Fatal(err)
			}
			bc := smallCase()
			w, port := serve(t, WebParams{Hosts: 2, Pages: 10, Size: 4 << 10, Links: 5, Validators: true})
			dir := t.TempDir()
			if _, err := c.run(t.Context(), newTask(bc, &c, &webHello{Port: port}, dir)); err != nil {
				t.Fatal(err)
			}
			got := []string{}
			n := w.Counts()
			if n.Robots == 2 && n.Forbidden == 0 {
				got = append(got, keepsRobots)
			}
			if n.Again == 0 {
				got = append(got, keepsSeen)
			}
			if left, _ := filepath.Glob(filepath.Join(dir, "bench.crawl", "state.db")); len(left) > 0 {
				got = append(got, keepsQueue)
			}
			if left, _ := filepath.Glob(filepath.Join(dir, "bench.crawl", "warc", "*.warc.gz")); len(left) > 0 {
				got = append(got, keepsArchive)
			}
			if w.Forget(); slices.Contains(got, keepsQueue) {
				if _, err := runPermessoAgain(t.Context(), newTask(bc, &c, &webHello{Port: port}, dir)); err != nil {
					t.Fatal(err)
				}
				if n := w.Counts(); n.Pages == bc.expected() && n.Bytes == 0 {
					got = append(got, keepsRevisit)
				}
			}
			if !slices.Equal(got, c.keeps) {
				t.Errorf("it keeps %q, the table says %q", got, c.keeps)
			}
			if (bytesIn(dir) > 0) != slices.Contains(got, keepsQueue) {
				t.Errorf("%d bytes are left", bytesIn(dir))
			}
		})
	}
}

func TestScenariosForOurselves(t *testing.T) {
	for name, change := range map[string]func(bc *benchCase){
		"tls":    func(bc *benchCase) { bc.tls = true },
		"limit":  func(bc *benchCase) { bc.limit = 7; bc.web.Tree = true; bc.concurrency = 1 },
		"names":  func(bc *benchCase) { bc.anywhere = true; bc.web.Cross = 3 },
		"paused": func(bc *benchCase) { bc.web.Delay = 10 * time.Millisecond },
		"faults": func(bc *benchCase) { bc.web.Faults = true; bc.web.Hosts = 4; bc.web.Latency = time.Millisecond },
	} {
		t.Run(name, func(t *testing.T) {
			bc := smallCase()
			change(bc)
			if w := once(t, bc, "permesso").Web; w.Pages != bc.expected() || w.Again != 0 || w.Early != 0 {
				t.Errorf("%+v, want %d pages", w, bc.expected())
			}
		})
	}
}

// All pages can be found from the root, in each shape. Dead links lead to no other page.
func TestAllPagesAreLinked(t *testing.T) {
	for _, p := range []WebParams{
		{Hosts: 1, Pages: 1, Links: 5}, {Hosts: 8, Pages: 500, Links: 50}, {Hosts: 1, Pages: 1000, Links: 10, Tree: true},
		{Hosts: 8, Pages: 300, Links: 1}, {Hosts: 10, Pages: 200, Links: 20, Faults: true},
	} {
		w, err := NewWeb(p)
		if err != nil {
			t.Fatal(err)
		}
		found := int64(0)
		for host := range p.Hosts {
			seen := map[int]bool{0: true}
			for queue := []int{0}; len(queue) > 0; queue = queue[1:] {
				page := queue[0]
				if w.dead(host, page) {
					continue
				}
				found++
				for i := range w.Links {
					if next := w.link(host, page, i); !seen[next] {
						seen[next] = true
						queue = append(queue, next)
					}
				}
			}
			if len(seen) != p.Pages {
				t.Errorf("%+v: %d pages are linked on host %d", p, len(seen), host)
			}
		}
		if found != p.Expected() {
			t.Errorf("%+v: %d pages, expected %d", p, found, p.Expected())
		}
	}
	if p := (WebParams{Hosts: 10, Pages: 200, Links: 20, Faults: true}); p.Expected() == 2000 {
		t.Error("no link is dead")
	}
}

// serve runs a web in this process.
func serve(t *testing.T, p WebParams) (w *Web, port int) {
	t.Helper()
	w, err := NewWeb(p)
	if err != nil {
		t.Fatal(err)
	}
	l, err := net.Listen("tcp", "0.0.0.0:0")
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	ended := make(chan error)
	// The web ends with the test.
	go func() { ended <- w.Serve(ctx, l) }()
	t.Cleanup(func() {
		cancel()
		if err := <-ended; err != nil {
			t.Error(err)
		}
	})
	return w, l.Addr().(*net.TCPAddr).Port
}

func get(t *testing.T, url string) (int, []byte, error) {
	t.Helper()
	res, err := http.Get(url)
	if err != nil {
		t.Fatal(err)
	}
	defer res.Body.Close()
	b, err := io.ReadAll(res.Body)
	return res.StatusCode, b, err
}

func TestWebCounts(t *testing.T) {
	w, port := serve(t, WebParams{Hosts: 10, Pages: 30, Size: 3000, Links: 4, Faults: true, Delay: time.Hour})
	url := func(host int, path string) string {
		return strings.TrimSuffix(seedURL("http", host, port), "/") + path
	}
	status, first, _ := get(t, url(0, "/p/00000001"))
	if status != 200 || len(first) != 3000 || !strings.Contains(string(first), `href="/p/0000000`) {
		t.Errorf("page: %d, %d bytes", status, len(first))
	}
	_, again, _ := get(t, url(0, "/p/00000001"))
	_, other, _ := get(t, url(1, "/p/00000001"))
	if !bytes.Equal(first, again) || bytes.Equal(first, other) {
		t.Error("a page is not the same twice, or the same on two hosts")
	}
	get(t, url(2, "/robots.txt"))
	get(t, url(2, "/private/x"))
	get(t, url(4, "/p/00000030"))
	get(t, url(4, "/p/00000000"))
	if _, _, err := get(t, url(cutHost, pagePath(cutPage))); err == nil {
		t.Error("the body is whole")
	}
	if _, b, err := get(t, url(cutHost, pagePath(cutPage))); err != nil || len(b) != 3000 {
		t.Errorf("the second time: %d bytes, %v", len(b), err)
	}
	if status, _, _ := get(t, url(deadHost, pagePath(29))); status != 404 {
		t.Errorf("a dead link answers %d", status)
	}
	n := w.Counts()
	if n.TooEarly <= 0 || n.TooEarly > time.Hour || n.Served <= 0 {
		t.Errorf("%+v", n)
	}
	n.Elapsed, n.Bytes, n.Conns, n.TooEarly, n.Served = 0, 0, 0, 0, 0
	want := WebCounts{Requests: 10, Pages: 3, Robots: 1, Again: 1, Missing: 4, Forbidden: 1, Faults: 1, Early: 4}
	if n != want {
		t.Errorf("%+v\nwant %+v", n, want)
	}
}

func TestHostNumbers(t *testing.T) {
	w, err := NewWeb(WebParams{Hosts: 70_000, Pages: 1})
	if err != nil {
		t.Fatal(err)
	}
	for _, n := range []int{0, 1, 255, 256, 65_536, 69_999} {
		for _, authority := range []string{hostAddr(n).String(), hostAddr(n).String() + ":8080", hostName(n), hostName(n) + ":80"} {
			if got := w.hostNumber(authority); got != n {
				t.Errorf("%s is host %d, want %d", authority, got, n)
			}
		}
	}
	for _, authority := range []string{"", "127.0.0.1", "h0.test", "h00070000.test", "example.org", "[::1]"} {
		if got := w.hostNumber(authority); got != -1 {
			t.Errorf("%s is host %d", authority, got)
		}
	}
}

func TestWebCommandSaysWhereItIs(t *testing.T) {
	exe, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	w, err := startWeb(exe, smallCase())
	if err != nil {
		t.Fatal(err)
	}
	if status, _, err := get(t, seedURL("http", 1, w.hello.Port)); status != 200 || err != nil {
		t.Errorf("%d, %v", status, err)
	}
	if n, err := w.counts(); err != nil || n.Pages != 1 {
		t.Errorf("%+v, %v", n, err)
	}
	if _, err := w.stop(); err != nil {
		t.Error(err)
	}
}

var update = flag.Bool("update", false, "write the golden files anew")

func TestTables(t *testing.T) {
	engine := scenarios(1)[0]
	var growth scenario
	for _, s := range scenarios(0.01) {
		if s.name == "growth" {
			growth = s
		}
	}
	paused := smallCase()
	paused.web.Delay = time.Second
	contestant := func(name string) *contestant {
		c, err := findContestant(name)
		if err != nil {
			t.Fatal(err)
		}
		return &c
	}
	run := func(cpu time.Duration, w WebCounts) result {
		w.Elapsed, w.Requests = 2*time.Second, w.Pages+w.Robots
		return result{CPU: cpu, Memory: 10 << 20, Web: w}
	}
	good, bad := WebCounts{Pages: 10_000, Robots: 20, Conns: 20}, WebCounts{Pages: 9_990, Again: 3, Forbidden: 2, Early: 1, TooEarly: 1234567, Conns: 64}
	floor := good
	floor.Robots = 0
	tables := []table{
		{Scenario: engine, Rounds: 3, Rows: []row{
			newRow(&engine.cases[0], contestant("raw-discard"), []result{run(time.Second, floor), run(3*time.Second, floor), run(2*time.Second, floor)}),
			newRow(&engine.cases[0], contestant("permesso"), []result{run(4*time.Second, good)}),
			newRow(&engine.cases[0], contestant("colly"), []result{run(5*time.Second, good), run(6*time.Second, bad), {Failed: "exit status 8"}}),
		}},
		{Scenario: scenario{name: "politeness", about: "A pause.", cases: []benchCase{*paused}}, Rounds: 1, Rows: []row{
			newRow(paused, contestant("permesso"), []result{{
				CPU: time.Second, Report: report{Goroutines: 7}, Wall: 20 * time.Second, Machine: time.Second + 3*time.Second*time.Duration(runtime.NumCPU()),
				Web: WebCounts{
					Pages: 20, Robots: 2, Requests: 22, Elapsed: 20 * time.Second, Served: 22 * time.Second,
					Late: Lateness{Requests: 20, Median: 250 * time.Microsecond, P99: 4 * time.Millisecond, Worst: 12 * time.Millisecond},
				},
				Log: &Logged{Lateness: Lateness{Requests: 20, Median: 90 * time.Microsecond, P99: time.Millisecond, Worst: 11 * time.Millisecond}, Unknown: 1},
			}}),
		}},
		{Scenario: growth, Rounds: 1, Rows: []row{
			newRow(&growth.cases[0], contestant("permesso"), []result{run(time.Second, WebCounts{Pages: 1, Robots: 1})}),
			newRow(&growth.cases[1], contestant("permesso"), []result{run(time.Second, WebCounts{Pages: 1, Robots: 1})}),
		}},
	}
	for name, got := range map[string][]byte{
		"table.md":  []byte(renderMarkdown(tables, "The machine.\n")),
		"chart.svg": renderSVG(tables),
	} {
		path := filepath.Join("testdata", name)
		if *update {
			if err := os.WriteFile(path, got, 0o644); err != nil {
				t.Fatal(err)
			}
		}
		want, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		if !bytes.Equal(got, want) {
			t.Errorf("%s (-update writes it anew):\n%s", path, got)
		}
	}
}

func TestScenariosAndContestantsAreFound(t *testing.T) {
	all := scenarios(1)
	if list, err := choose("all", all); err != nil || len(list) != len(all) {
		t.Errorf("all: %d, %v", len(list), err)
	}
	if list, err := choose("tls,engine", all); err != nil || len(list) != 2 || list[0].name != "tls" {
		t.Errorf("two: %v, %v", list, err)
	}
	if _, err := choose("engine,x", all); err == nil {
		t.Error("an unknown scenario is taken")
	}
	if _, err := takePart(&all[0], "permesso,x", ""); err == nil {
		t.Error("an unknown contestant is taken")
	}
	list, err := takePart(&all[0], "permesso,raw-discard", "")
	if err != nil || !slices.EqualFunc(list, []string{"raw-discard", "permesso"}, func(c contestant, name string) bool { return c.name == name }) {
		t.Errorf("%v, %v", list, err)
	}
}

// The JSON file has the data of the tables, and each run.
func TestResultsAreWrittenAsJSON(t *testing.T) {
	path := filepath.Join(t.TempDir(), "bench.json")
	t.Setenv("PATH", t.TempDir()) // no program can be found and asked for its version
	if err := run(t.Context(), []string{"run", "--scale", "0.004", "--rounds", "1", "--contestants", "raw-discard", "--json", path}, io.Discard); err != nil {
		t.Fatal(err)
	}
	raw, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	var got struct {
		Environment string
		Tables      []struct {
			Scenario string
			Rounds   int
			Rows     []row
		}
	}
	if err := json.Unmarshal(raw, &got); err != nil || len(got.Tables) != 1 || len(got.Tables[0].Rows) != 1 || !strings.Contains(got.Environment, runtime.Version()) {
		t.Fatalf("%s, %v", raw, err)
	}
	one := got.Tables[0]
	if r := one.Rows[0]; one.Scenario != "engine" || one.Rounds != 1 || r.Name != "raw-discard" || len(r.Runs) != 1 || r.Runs[0].Web.Pages != 40 || r.Runs[0].CPU <= 0 {
		t.Errorf("%+v", one)
	}
}

// Any flag of the command web makes a web of the user's own.
func TestAWebOfOnesOwnIsMeasured(t *testing.T) {
	parse := func(args ...string) ([]scenario, error) {
		var s selection
		f := flag.NewFlagSet("run", flag.ContinueOnError)
		s.flags(f)
		if err := f.Parse(args); err != nil {
			t.Fatal(err)
		}
		return s.scenarios()
	}
	list, err := parse("--hosts", "3", "--latency", "50ms", "--size", "9000", "--concurrency", "7")
	if err != nil || len(list) != 1 || list[0].name != "own" || !strings.Contains(list[0].about, "50ms") {
		t.Fatalf("%+v, %v", list, err)
	}
	bc := list[0].cases[0]
	if want := (WebParams{Hosts: 3, Pages: 500, Size: 9000, Links: 50, Latency: 50 * time.Millisecond}); bc.web != want || bc.concurrency != 7 || bc.anywhere {
		t.Errorf("%+v", bc)
	}
	if list, err = parse("--cross", "2"); err != nil || !list[0].cases[0].anywhere {
		t.Errorf("hosts that lead to others: %+v, %v", list, err)
	}
	if list, err = parse(); err != nil || list[0].name != "engine" {
		t.Errorf("by itself: %+v, %v", list, err)
	}
	if _, err := parse("--hosts", "3", "--scenario", "tls"); err == nil || !strings.Contains(err.Error(), "--hosts") {
		t.Errorf("both: %v", err)
	}
}

func TestCommands(t *testing.T) {
	var out bytes.Buffer
	if err := run(t.Context(), nil, &out); err != nil || !strings.Contains(out.String(), "crawlbench") {
		t.Errorf("%q, %v", out.String(), err)
	}
	if err := run(t.Context(), []string{"x"}, io.Discard); err == nil {
		t.Error("an unknown command is taken")
	}
	b, err := json.Marshal(task{})
	if err != nil || !strings.Contains(string(b), "Seeds") {
		t.Errorf("%s, %v", b, err)
	}
}

// A probe distinguishes contestants that follow a redirect to a forbidden page from those that
// do not.
func TestAProbeTellsContestantsApart(t *testing.T) {
	exe, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	at := slices.IndexFunc(probes(), func(p probe) bool { return p.name == "redirect" })
	p := probes()[at]
	p.wait = time.Minute // all of these end by themselves
	for name, want := range map[string]string{"permesso": "yes", "colly": "no"} {
		if got, err := p.run(t.Context(), exe, name); err != nil || got != want {
			t.Errorf("%s: %q, %v, want %q", name, got, err, want)
		}
	}
}

package audit_test

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"runtime/debug"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/permesso-crawler/permesso/crawler"
	"github.com/permesso-crawler/permesso/crawler/crawltest"
	"github.com/permesso-crawler/permesso/internal/audit"
	"github.com/permesso-crawler/permesso/storage/machine"
)

// An audit reports a request that only the log of the server has, or only crawl.log. The clocks
// may differ a little, and requests of other crawlers are ignored.
func TestBothLogsHaveEachRequest(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "crawl")
	var log string
	synctest.Test(t, func(t *testing.T) { log = crawlTheBait(t, dir) })
	lines := strings.SplitAfter(strings.TrimSuffix(log, "\n"), "\n")
	lines[len(lines)-1] += "\n"
	own := testIdentity.UserAgent()
	random := rand.New(rand.NewPCG(1, 2))
	shifted := func(by time.Duration) string {
		var b strings.Builder
		for _, line := range lines {
			before, rest, _ := strings.Cut(line, "[")
			date, rest, _ := strings.Cut(rest, "]")
			at, err := time.Parse("02/Jan/2006:15:04:05 -0700", date)
			if err != nil {
				t.Fatal(err)
			}
			fmt.Fprintf(&b, "%s[%s]%s", before, at.Add(by).Format("02/Jan/2006:15:04:05 -0700"), rest)
		}
		return b.String()
	}
	without := func(some func(line string) bool) string {
		return strings.Join(slices.DeleteFunc(slices.Clone(lines), some), "")
	}
	unnamed := func() string {
		var b strings.Builder
		for _, line := range lines {
			if rest, ok := strings.CutPrefix(line, "slow.example "); ok {
				b.WriteString(rest)
			}
		}
		return b.String()
	}()
	mixed := slices.Clone(lines)
	random.Shuffle(len(mixed), func(i, j int) { mixed[i], mixed[j] = mixed[j], mixed[i] })
	late := lines[slices.IndexFunc(lines, func(line string) bool { return strings.HasPrefix(line, "old.example") && strings.Contains(line, "/a3") })]
	for _, tc := range []struct {
		name, log, host   string
		server, crawl     int64
		requests, matched int64
	}{
		{"as it is", log, "", 0, 0, 146, 146},
		{"in another order", strings.Join(mixed, ""), "", 0, 0, 146, 146},
		{"a clock that is 40 s ahead", shifted(40 * time.Second), "", 0, 0, 146, 146},
		{"a clock that is 40 s behind", shifted(-40 * time.Second), "", 0, 0, 146, 146},
		{"another crawler", log + strings.ReplaceAll(log, own, "otherbot/1"), "", 0, 0, 146, 146},
		{"a line that is odd", "odd\n" + log, "", 0, 0, 146, 146},
		{"a line more", log + strings.Replace(late, "/a", "/secret", 1), "", 1, 0, 147, 146},
		{"a line twice", log + late, "", 1, 0, 147, 146},
		{"each line twice", log + log, "", 146, 0, 292, 146},
		{"a line less", without(func(line string) bool { return line == late }), "", 0, 1, 145, 145},
		{"another name", strings.ReplaceAll(log, own, "Mozilla/5.0"), "", 0, 42, 0, 0}, // the other requests are too close to the ends of the log
		{"no host", unnamed, "", 0, 0, 0, 0},
		{"one host", unnamed, "slow.example", 0, 0, 10, 10},
		{"of another host than is said", unnamed, "nowhere.example", 10, 0, 10, 0},
	} {
		r, err := audit.Dir(dir, audit.Options{Server: &audit.ServerLog{Name: "access.log", Log: strings.NewReader(tc.log), Host: tc.host}})
		if err != nil {
			t.Fatalf("%s: %v", tc.name, err)
		}
		b := r.Server
		if b.OnlyServer != tc.server || b.OnlyCrawl != tc.crawl || b.Requests != tc.requests || b.Matched != tc.matched || r.Violated != tc.server+tc.crawl {
			t.Errorf("%s: %+v, %d violations: %v", tc.name, b, r.Violated, r.Violations)
		}
	}
	// No garbage collection may run, because it would close leaked files.
	defer debug.SetGCPercent(debug.SetGCPercent(-1))
	before := openFiles()
	if _, err := audit.Dir(dir, audit.Options{Quit: func() error { return nil }}); err != nil || openFiles() > before {
		t.Errorf("%d files are open, %d were: %v", openFiles(), before, err)
	}
	enough := errors.New("enough")
	if _, err := audit.Dir(dir, audit.Options{Quit: func() error { return enough }}); !errors.Is(err, enough) {
		t.Error(err)
	}
	var line *audit.LineError
	if _, err := audit.Dir(dir, audit.Options{Server: &audit.ServerLog{Name: "access.log", Log: strings.NewReader("no log\n")}}); !errors.As(err, &line) || line.File != "access.log" {
		t.Error(err)
	}
}

// openFiles returns how many files this process has open. It returns 0 if the system cannot
// say.
func openFiles() int {
	all, _ := os.ReadDir("/proc/self/fd")
	return len(all)
}

// If too many lines of one URL wait for the other log, the first of them is reported.
func TestManyLinesOfOneURL(t *testing.T) {
	w := &written{evidence: evidence{agents: []string{testIdentity.UserAgent()}}}
	w.run(0, "begin:clean")
	w.hop(300, "http://a.example/robots.txt", "10.0.0.1")
	line := fmt.Sprintf("a.example 192.0.2.1 - - [%s] \"GET /robots.txt HTTP/1.1\" 200 1 \"-\" %q\n", day.Add(300*time.Second).Format("02/Jan/2006:15:04:05 -0700"), testIdentity.UserAgent())
	r, err := w.crawl(w.log()).Audit(audit.Options{Temp: t.TempDir(), Server: &audit.ServerLog{Name: "access.log", Log: strings.NewReader(strings.Repeat(line, 1001))}})
	if err != nil {
		t.Fatal(err)
	}
	if r.Server.Matched != 1 || r.Server.OnlyServer != 1000 || r.Server.OnlyCrawl != 0 {
		t.Errorf("%+v", r.Server)
	}
	for i, want := range []string{"by line 1 of", "by line 3 of"} {
		if got := r.Violations[i].Text; !strings.Contains(got, want) {
			t.Errorf("violation %d: %s, want %s", i, got, want)
		}
	}
	if n := len(r.Violations); n != 1000 {
		t.Errorf("%d violations are listed", n)
	}
	r, err = w.crawl(w.log()).Audit(audit.Options{Temp: t.TempDir(), Server: &audit.ServerLog{Name: "access.log", Log: strings.NewReader(strings.Repeat(line, 1002))}})
	if err != nil {
		t.Fatal(err)
	}
	if n := len(r.Violations); n != 1000 || r.Violated != 1001 || r.Server.OnlyServer != 1001 {
		t.Errorf("%d of %d violations are listed", n, r.Violated)
	}
}

// Crawls on one machine that share their clocks keep the pauses between each other. If they do
// not share the clocks, the audit reports it.
func TestSeveralCrawlsAreAuditedTogether(t *testing.T) {
	web := func(t *testing.T) *crawltest.Web {
		w := crawltest.New(t)
		for i := range 3 {
			s := w.Site(fmt.Sprintf("http://%c.example", 'a'+i)).Addr("16.0.0.1").Robots("User-agent: *\nCrawl-delay: 2\n").Latency(300 * time.Millisecond)
			for k := range 8 {
				s.Page(fmt.Sprintf("/%d", k), fmt.Sprintf("<a href=/%d>next</a>", k+1))
			}
		}
		w.Site("http://private.example").Addr("10.0.0.1").Page("/0", "<a href=/1>1</a>").Page("/1", "")
		return w
	}
	crawl := func(t *testing.T, w *crawltest.Web, dir string, table *machine.Table) {
		o := crawler.Options{
			Dir: dir, Identity: testIdentity, Wire: crawler.Wire{Network: w, AllowPrivate: true}, Budget: crawler.Budget{Patience: time.Hour}, Hooks: crawler.Hooks{Logger: quiet},
			Seeds: []string{"http://a.example/0", "http://b.example/0", "http://c.example/0", "http://private.example/0"},
		}
		if table != nil {
			o.Shared = table
		}
		c, err := crawler.New(o)
		if err == nil {
			err = c.Run(t.Context(), nil)
		}
		if err != nil {
			t.Error(err)
		}
	}
	dir := t.TempDir()
	var shared, apart []string
	for i := range 3 {
		shared, apart = append(shared, filepath.Join(dir, fmt.Sprint("shared", i))), append(apart, filepath.Join(dir, fmt.Sprint("apart", i)))
	}
	synctest.Test(t, func(t *testing.T) {
		table, err := machine.Open(filepath.Join(dir, "table"))
		if err != nil {
			t.Fatal(err)
		}
		defer table.Close()
		w := web(t)
		var all sync.WaitGroup
		for _, d := range shared {
			all.Go(func() { crawl(t, w, d, table) })
		}
		all.Wait()
	})
	for _, d := range apart { // start all crawls at once, each with its own clocks
		synctest.Test(t, func(t *testing.T) { crawl(t, web(t), d, nil) })
	}
	all, joint, err := audit.Together(shared, audit.Options{})
	if err != nil || len(all) != 3 || !joint.Clean() || joint.Checks[0].Checked < 60 || joint.Checks[1].Checked < 60 {
		t.Errorf("%+v, %v", joint, err)
	}
	all, joint, err = audit.Together(apart, audit.Options{})
	if err != nil || len(all) != 3 || joint.Clean() || !strings.Contains(joint.Violations[0].String(), apart[1]) {
		t.Errorf("%+v, %v", joint, err)
	}
	for _, c := range joint.Checks {
		if c.Violations == 0 {
			t.Errorf("%s is not found", c.Code)
		}
	}
	for _, r := range all {
		if !r.Clean() {
			t.Errorf("one by itself: %v", r.Violations)
		}
	}
	var of *audit.DirError
	if _, _, err := audit.Together([]string{shared[0], filepath.Join(dir, "none")}, audit.Options{}); !errors.As(err, &of) || of.Dir != filepath.Join(dir, "none") {
		t.Error(err)
	}
}

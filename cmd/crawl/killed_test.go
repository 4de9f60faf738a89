package main

import (
	"archive/zip"
	"bytes"
	"compress/gzip"
	"crypto/sha256"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"testing/synctest"
	"time"

	"github.com/permesso-crawler/permesso/cmd/crawl/internal/control"
	"github.com/permesso-crawler/permesso/cmd/crawl/internal/exit"
	"github.com/permesso-crawler/permesso/crawler/crawltest"
	"github.com/permesso-crawler/permesso/internal/provenance"
	"github.com/permesso-crawler/permesso/internal/series"
	"github.com/permesso-crawler/permesso/internal/store"
)

// A killedCommand is a command that writes in the directory of a crawl or a series, and is
// killed there.
type killedCommand struct {
	name  string
	start string   // the fixture that it begins with; empty if none
	week  int      // week of the web
	args  []string // CRAWL, SERIES and AT are replaced
	code  int      // exit code of the command if it is not killed
}

// killedRun returns the arguments of crawl run with more flags, or another output.
func killedRun(more ...string) []string {
	return slices.Concat([]string{"run", "-d", "CRAWL"}, killedFlags, more, weekWebSeeds)
}

// killedFlags are the flags of each run.
var killedFlags = []string{
	"--name", "testbot", "--contact", "https://example.org/testbot", "--delay", weekWebDelay.String(), "--allow-private", "--connect-to", "::WEB",
	"--progress", "none", "--patience", "5s", "--output", "warc,jsonl,links",
}

var killedCommands = []killedCommand{
	{name: "run", args: killedRun()},
	{name: "run, going on", start: "half", args: killedRun()},
	{name: "run --fresh", start: "ended", args: killedRun("--fresh")},
	{name: "run --rescan", start: "narrow", args: killedRun("--rescan")},
	{name: "run --revisit", start: "aged", week: 1, args: killedRun("--revisit", "fixed:1d"), code: exit.Later},
	{name: "run of a new series", start: "job", args: []string{"run", "--job", "SERIES/job.yaml", "--series", "SERIES", "--progress", "none"}},
	{name: "run of a series", start: "series", week: 1, args: []string{"run", "--job", "SERIES/job.yaml", "--series", "SERIES", "--progress", "none"}},
	{name: "schedule run", start: "series", week: 1, args: []string{"schedule", "run", "SERIES"}},
	{name: "optout purge", start: "ended", args: []string{"optout", "purge", "--yes", "CRAWL", "c.test", "http://a.test/2"}},
	{name: "repair", start: "damaged", args: []string{"repair", "--yes", "CRAWL"}},
	{name: "index", start: "unindexed", args: []string{"index", "CRAWL"}},
	{name: "provenance", start: "bare", args: []string{"provenance", "CRAWL"}},
	{name: "report", start: "ended", args: []string{"report", "CRAWL"}},
	{name: "audit", start: "ended", args: []string{"audit", "CRAWL"}},
	{name: "export csv", start: "ended", args: []string{"export", "--force", "--check", "--output", "AT/out.csv", "CRAWL"}},
	{name: "export jsonl", start: "ended", args: []string{"export", "--force", "--output", "AT/out.jsonl", "CRAWL"}},
	{name: "export text", start: "ended", args: []string{"export", "--force", "--check", "--format", "text", "--output", "AT/out.texts.jsonl", "CRAWL"}},
	{name: "export markdown", start: "ended", args: []string{"export", "--force", "--format", "markdown", "--output", "AT/out.markdown.jsonl", "CRAWL"}},
	{name: "export cdxj", start: "ended", args: []string{"export", "--force", "--output", "AT/out.cdxj", "CRAWL"}},
	{name: "export parquet", start: "series", args: []string{"export", "--force", "--output", "AT/out.parquet", "SERIES"}},
	{name: "export wacz", start: "ended", args: []string{"export", "--force", "--check", "--output", "AT/out.wacz", "CRAWL"}},
	{name: "verify", start: "ended", args: []string{"verify", "CRAWL"}},
}

// A killing is a test that kills commands. Each trial uses the directory at, alone.
type killing struct {
	*testing.T
	web      *weekWeb
	root, at string
	wants    map[string]string // the files after a command that is not killed, by its name
}

func newKilling(t *testing.T) *killing {
	atHome(t)
	root, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	k := &killing{t, newWeekWeb(t), root, filepath.Join(root, "at"), map[string]string{}}
	t.Setenv("TMPDIR", filepath.Join(root, "temporary"))
	if err := os.Mkdir(os.Getenv("TMPDIR"), 0o755); err != nil {
		t.Fatal(err)
	}
	k.makeFixtures()
	return k
}

func (k *killing) crawl() string { return filepath.Join(k.at, "x.crawl") }

func (k *killing) series() string { return filepath.Join(k.at, "weekly") }

func (k *killing) args(c killedCommand) []string {
	var args []string
	to := strings.NewReplacer("CRAWL", k.crawl(), "SERIES", k.series(), "AT", k.at, "WEB", k.web.address)
	for _, arg := range c.args {
		args = append(args, to.Replace(arg))
	}
	return args
}

func (k *killing) must(err error) {
	k.Helper()
	if err != nil {
		k.Fatal(err)
	}
}

// makeFixtures makes the directories that the commands begin with.
func (k *killing) makeFixtures() {
	first := time.Now().Add(-7*24*time.Hour - 10*time.Minute).UTC().Format(time.RFC3339)
	damage := func(name string, old, to []byte) {
		path := filepath.Join(k.crawl(), name)
		raw, err := os.ReadFile(path)
		k.must(err)
		if !bytes.Contains(raw, old) {
			k.Fatalf("%s does not have %q", name, old)
		}
		k.must(os.WriteFile(path, bytes.Replace(raw, old, to, 1), 0o644))
	}
	remove := func(names ...string) {
		for _, name := range names {
			k.must(os.Remove(filepath.Join(k.crawl(), name)))
		}
	}
	job := fmt.Sprintf("identity: {name: testbot, contact: https://example.org/testbot}\nseeds: [%s]\ndelay: %v\nallow-private: yes\nconnect-to: [\"::%s\"]\n"+
		"patience: 5s\noutput: [warc, jsonl, links]\nschedule: {every: 7d, catch-up: once, overlap: wait}\n", strings.Join(weekWebSeeds, ", "), weekWebDelay, k.web.address)
	for _, f := range []struct {
		name, from string
		args       []string
		make       func()
	}{
		{name: "ended", args: killedRun()},
		{name: "half", args: killedRun("--limit", "5")},
		{name: "aged", make: k.runLongAgo},
		{name: "narrow", args: killedRun("--exclude", "test/[12]$")},
		{name: "job", make: func() {
			k.must(os.Mkdir(k.series(), 0o755))
			k.must(os.WriteFile(filepath.Join(k.series(), series.JobFile), []byte(job), 0o644))
		}},
		{name: "series", from: "job", args: []string{"run", "--job", "SERIES/job.yaml", "--series", "SERIES", "--progress", "none", "--due", first}},
		{name: "damaged", from: "ended", make: func() {
			damage(store.PagesFile, []byte(`"url":"http://a.test/1"`), []byte(`"url":"http://a.test/1!`))
			damage(store.LinksFile, []byte(`"http://b.test/1"`), []byte(`"http://b.test/1!`))
		}},
		{name: "unindexed", from: "ended", make: func() { remove(store.IndexFile, "index.part") }},
		{name: "bare", from: "ended", make: func() {
			remove(provenance.File, provenance.AbsencesFile, provenance.RobotsFile, provenance.DatasheetFile)
		}},
	} {
		k.start(f.from, 0)
		if f.args != nil {
			if out, code := k.execute(k.command(killedCommand{args: f.args})); code != exit.Done {
				k.Fatalf("the fixture %s: exit code %d: %s", f.name, code, out)
			}
		}
		if f.make != nil {
			f.make()
		}
		k.must(os.RemoveAll(filepath.Join(k.at, "said")))
		k.must(os.Rename(k.at, filepath.Join(k.root, f.name)))
	}
}

// runLongAgo makes a crawl in virtual time: its pages are due to be fetched again.
func (k *killing) runLongAgo() {
	synctest.Test(k.T, func(t *testing.T) {
		web := crawltest.New(t)
		for _, seed := range weekWebSeeds {
			web.Site(strings.TrimSuffix(seed, "/")).Default(k.web.answer).Func("/robots.txt", k.web.answer)
		}
		var said bytes.Buffer
		p := &program{out: &said, err: &said, network: web}
		root := p.root()
		root.SetOut(&said)
		root.SetArgs(slices.DeleteFunc(k.args(killedCommand{args: killedRun("--revisit", "fixed:1d")}), func(arg string) bool {
			return arg == "--allow-private" || arg == "--connect-to" || strings.HasPrefix(arg, "::")
		}))
		if err := root.ExecuteContext(t.Context()); exit.Code(err) != exit.Later {
			t.Fatal(err, said.String())
		}
	})
}

// start makes the directory of a trial from a fixture.
func (k *killing) start(fixture string, week int) {
	k.Helper()
	k.web.begin(week)
	k.empty()
	if fixture != "" {
		k.must(os.CopyFS(k.at, files{os.DirFS(filepath.Join(k.root, fixture))}))
	}
}

// empty makes the directory of a trial, which may be a separate file system.
func (k *killing) empty() {
	k.Helper()
	k.must(os.MkdirAll(k.at, 0o755))
	entries, err := os.ReadDir(k.at)
	k.must(err)
	for _, e := range entries {
		k.must(os.RemoveAll(filepath.Join(k.at, e.Name())))
	}
}

func (k *killing) command(c killedCommand) *exec.Cmd {
	args := k.args(c)
	if aside, _ := filepath.Glob(k.crawl() + ".*"); len(aside) > 0 {
		args = slices.DeleteFunc(args, func(arg string) bool { return arg == "--fresh" }) // it was killed, and must continue
	}
	cmd := exec.Command("crawl", args...)
	cmd.Dir = k.root
	return cmd
}

// execute runs a command to its end.
func (k *killing) execute(cmd *exec.Cmd) (said string, code int) {
	k.Helper()
	var exit *exec.ExitError
	out, err := cmd.CombinedOutput()
	if err != nil && !errors.As(err, &exit) {
		k.Fatal(err)
	}
	return string(out), cmd.ProcessState.ExitCode()
}

// scheduled runs a scheduler until the snapshot that is due has ended, or enough returns
// true.
func (k *killing) scheduled(c killedCommand, cmd *exec.Cmd, enough func() bool) (said string, code int) {
	k.Helper()
	var out lockedText
	cmd.Stdout, cmd.Stderr = &out, &out
	k.must(cmd.Start())
	limit := time.Now().Add(10 * time.Second)
	for (out.String() == "" || !enough() && !k.seriesIsOver(c)) && time.Now().Before(limit) {
		time.Sleep(20 * time.Millisecond)
	}
	k.must(cmd.Process.Signal(syscall.SIGTERM))
	var exit *exec.ExitError
	if err := cmd.Wait(); err != nil && !errors.As(err, &exit) {
		k.Fatal(err)
	}
	if time.Now().After(limit) {
		k.Errorf("the snapshot that is due has not ended within a minute: %s", out.String())
	}
	return out.String(), cmd.ProcessState.ExitCode()
}

// snapshots returns how many snapshots a series has after the command, or 0 if it makes
// none.
func (c killedCommand) snapshots() int {
	switch {
	case c.start == "job":
		return 1
	case c.start == "series" && c.args[0] != "export":
		return 2
	}
	return 0
}

// seriesIsOver reports whether the snapshot that a command makes has ended.
func (k *killing) seriesIsOver(c killedCommand) bool {
	s, n := series.Series{Dir: k.series()}, c.snapshots()
	all, err := s.Snapshots()
	if n == 0 || err != nil || len(all) < n || s.Free() != nil {
		return false
	}
	state, err := all[n-1].State()
	return err == nil && state.Over
}

// finish runs a command for the last time, after kills kills, and checks the result. A
// snapshot that has ended before the kill is not written to again: what its run had not
// written yet, crawl provenance writes.
func (k *killing) finish(c killedCommand, kills int) {
	k.Helper()
	if kills > 0 && k.seriesIsOver(c) {
		if said, code := k.read([]string{"provenance", k.crawls()[c.snapshots()-1]}); code != exit.Done {
			k.Errorf("crawl provenance: exit code %d: %s", code, said)
		}
	} else if said, code := k.again(c, func() bool { return false }); code != c.code {
		k.Errorf("the command exits with %d, not with %d: %s", code, c.code, said)
	}
	k.ended(c, kills)
}

// again runs a command again. A scheduler is stopped after what is due has ended, or after
// enough returns true.
func (k *killing) again(c killedCommand, enough func() bool) (said string, code int) {
	k.Helper()
	if cmd := k.command(c); c.name == "schedule run" {
		return k.scheduled(c, cmd, enough)
	} else {
		return k.execute(cmd)
	}
}

// ended checks the result after a command has ended.
func (k *killing) ended(c killedCommand, kills int) {
	k.Helper()
	k.whole(c)
	k.web.notOftener(1 + kills)
	if is, want := k.outcome(c), k.wants[c.name]; is != want {
		k.Errorf("it has come to\n%s, not to\n%s", is, want)
	}
	left, err := os.ReadDir(os.Getenv("TMPDIR"))
	k.must(err)
	for _, e := range left {
		k.Errorf("a temporary file is left: %s", e.Name())
		k.must(os.RemoveAll(filepath.Join(os.Getenv("TMPDIR"), e.Name())))
	}
}

// crawls returns the directories of crawls in that of the trial.
func (k *killing) crawls() (dirs []string) {
	for _, pattern := range []string{"x.crawl*", "weekly/*.crawl"} {
		found, err := filepath.Glob(filepath.Join(k.at, pattern))
		k.must(err)
		dirs = append(dirs, found...)
	}
	return dirs
}

// whole checks that each crawl is undamaged, and was polite.
func (k *killing) whole(c killedCommand) {
	k.Helper()
	for _, dir := range k.crawls() {
		for _, args := range [][]string{{"verify", "--in-process", dir}, {"audit", "--out", "none", dir}} {
			if said, code := k.read(args); code != exit.Done {
				k.Errorf("at the end, crawl %s: exit code %d: %s", strings.Join(args, " "), code, said)
			}
		}
	}
	if c.args[0] == "provenance" || c.args[0] == "run" && c.code == exit.Done {
		if said, code := k.read([]string{"provenance", "--verify", k.crawls()[len(k.crawls())-1]}); code != exit.Done {
			k.Errorf("at the end, crawl provenance --verify: exit code %d: %s", code, said)
		}
	}
}

// read runs a command in this process.
func (k *killing) read(args []string) (said string, code int) {
	var out bytes.Buffer
	code = run(args, strings.NewReader(""), &out, &out)
	return out.String(), code
}

// unlike are files that differ each time: most contain when they were written.
var unlike = []string{store.StateFile, provenance.File, provenance.DatasheetFile, "out.wacz"}

// written matches times at which a record or a line was written, and its digests.
var written = regexp.MustCompile(`\d{4}-\d\d-\d\dT[\d:.]+Z|\d{14,}|urn:uuid:[0-9a-f-]+|sha\d+:[0-9A-Za-z]+`)

// records matches the types and URLs of the records of a WARC file.
var records = regexp.MustCompile(`\r\nWARC-(Type|Target-URI): [^\r]+`)

// sumOf returns the checksum of a file without the times at which it was written.
func sumOf(path string) (string, error) {
	raw, err := os.ReadFile(path)
	if err == nil && strings.HasSuffix(path, ".gz") {
		var z *gzip.Reader
		if z, err = gzip.NewReader(bytes.NewReader(raw)); err == nil {
			raw, err = io.ReadAll(z)
			raw = bytes.Join(records.FindAll(raw, -1), nil)
		}
	}
	return fmt.Sprintf(" %x", sha256.Sum256(written.ReplaceAll(raw, nil))), err
}

var digits = regexp.MustCompile(`[0-9]+`)

// outcome returns what is in the directory of the trial: the pages of a crawl that ran, the
// bytes of the files that another command has written, and the names of all files.
func (k *killing) outcome(c killedCommand) string {
	k.Helper()
	runs := c.args[0] == "run" || c.args[0] == "schedule"
	lines := map[string]bool{}
	k.must(filepath.WalkDir(k.at, func(path string, d fs.DirEntry, err error) error {
		if base := filepath.Base(path); err != nil || d.IsDir() || base == store.RunFile || base == control.Name { // a kill may leave these
			return err
		}
		name, err := filepath.Rel(k.at, path)
		if err != nil {
			return err
		}
		line := digits.ReplaceAllString(name, "0")
		switch base := filepath.Base(name); {
		case base == store.PagesFile && runs:
			pages, err := pagesIn(path)
			if err != nil {
				return err
			}
			line += " " + strings.Join(pages, " ")
		case !runs && !slices.Contains(unlike, base) && d.Type().IsRegular():
			sum, err := sumOf(path)
			if err != nil {
				return err
			}
			line += sum
		}
		lines[line] = true
		return nil
	}))
	all := make([]string, 0, len(lines))
	for line := range lines {
		all = append(all, line)
	}
	slices.Sort(all)
	return strings.Join(all, "\n")
}

// pagesIn lists the URLs of a pages.jsonl with their statuses, each once.
func pagesIn(path string) (pages []string, err error) {
	raw, err := os.ReadFile(path)
	if err != nil {
		return nil, err
	}
	for line := range bytes.Lines(raw) {
		var p store.PageRecord
		if err := json.Unmarshal(line, &p); err != nil {
			return nil, err
		}
		pages = append(pages, fmt.Sprint(p.URL, " ", p.Status))
	}
	slices.Sort(pages)
	return slices.Compact(pages), nil
}

// readable checks that each command that reads a crawl accepts one in which a command was
// killed: it prints that the crawl has not begun, that a purge or a repair was not
// finished, or what is there. None prints that the crawl is damaged, or was not polite.
func (k *killing) readable(c killedCommand) {
	k.Helper()
	for _, dir := range k.crawls() {
		out := filepath.Join(k.root, "read")
		for _, args := range [][]string{
			{"status", dir}, {"status", "--json", dir}, {"list", dir}, {"explain", "--dir", dir, weekWebSeeds[0]}, {"diff", dir, dir}, {"report", "--out", out + ".html", dir},
			{"audit", "--out", "none", dir}, {"verify", "--in-process", dir}, {"provenance", "--verify", dir},
			{"export", "--force", "--format", "csv", "--output", out + ".csv", dir}, {"export", "--force", "--format", "wacz", "--output", out + ".wacz", dir},
		} {
			k.judge(c, dir, args)
		}
	}
	exports, err := filepath.Glob(filepath.Join(k.at, "out.*"))
	k.must(err)
	for _, path := range exports {
		// The file has its final name: so it is complete.
		if name := filepath.Base(path); name == "out.wacz" {
			_, err = zip.OpenReader(path)
		} else if sum, _ := sumOf(path); !strings.Contains(k.wants[c.name], name+sum) {
			err = errors.New("it has other bytes than that of an export that was not killed")
		}
		if err != nil {
			k.Errorf("%s: %v", path, err)
		}
	}
	if dir := k.series(); len(k.crawls()) > 0 && filepath.Dir(k.crawls()[0]) == dir {
		for _, args := range [][]string{{"schedule", "list", dir}, {"schedule", "next", dir}, {"diff", dir}, {"export", "--force", "--format", "csv", "--output", filepath.Join(k.root, "read.csv"), dir}} {
			k.judge(c, dir, args)
		}
	}
}

func (k *killing) judge(c killedCommand, dir string, args []string) {
	k.Helper()
	said, code := k.read(args)
	ok, spoilt := false, c.start == "damaged" || c.start == "unindexed"
	switch code {
	case exit.Done:
		ok = true
	case exit.Usage:
		ok = slices.ContainsFunc([]string{"has not begun", "there is no ", "has no two crawls to compare", "has no crawl that has ended", "no answer was archived until now", "is not the directory of a crawl"}, func(words string) bool {
			return strings.Contains(said, words)
		})
	case exit.Check:
		// The provenance is older, and the output says so.
		ok = spoilt || args[0] == "provenance" && strings.Contains(said, "writes it again") || strings.Contains(said, "since it was purged") ||
			args[0] == "export" && strings.Contains(said, "or was killed (crawl run on it mends that)")
	case exit.State:
		ok = c.name == "optout purge" && strings.Contains(said, "crawl optout purge "+dir+" finishes it") ||
			strings.Contains(said, "the WARC file is not finished: the crawl was killed") || spoilt
	}
	for _, word := range []string{"damaged", "violation", "panic", "goroutine"} {
		for line := range strings.Lines(said) {
			if strings.Contains(line, word) && !strings.Contains(line, "0 violations") && !spoilt {
				ok = false
			}
		}
	}
	if !ok {
		k.Errorf("crawl %s: exit code %d: %s", strings.Join(args, " "), code, said)
	}
}

// undisturbed runs a command without a kill, and keeps its result.
func (k *killing) undisturbed(c killedCommand) (took time.Duration) {
	k.Helper()
	k.start(c.start, c.week)
	begin := time.Now()
	if said, code := k.again(c, func() bool { return false }); code != c.code {
		k.Fatalf("crawl %s: exit code %d: %s", strings.Join(k.args(c), " "), code, said)
	}
	took = time.Since(begin)
	k.wants[c.name] = k.outcome(c)
	k.whole(c)
	return took
}

// TestKillsOfEveryCommand kills each command that writes, at random moments, as often as
// $PERMESSO_KILLS says, and runs it again until it has finished. A third as many more kills
// come in the first 200 ms of a snapshot of a series.
func TestKillsOfEveryCommand(t *testing.T) {
	kills, err := strconv.Atoi(os.Getenv("PERMESSO_KILLS"))
	if err != nil {
		t.Skip("PERMESSO_KILLS=200 says how often")
	}
	seed, err := strconv.ParseUint(os.Getenv("PERMESSO_SEED"), 10, 64)
	if err != nil {
		seed = uint64(time.Now().UnixNano())
	}
	t.Logf("PERMESSO_SEED=%d", seed)
	random := rand.New(rand.NewPCG(seed, 7))
	k := newKilling(t)
	took, killed := map[string]time.Duration{}, map[string]int{}
	for _, c := range killedCommands {
		took[c.name] = k.undisturbed(c)
	}
	for n := 0; n < kills && !t.Failed(); {
		c := killedCommands[random.IntN(len(killedCommands))]
		times := k.killAt(c, 1+random.IntN(3), func() time.Duration { return time.Duration(random.Int64N(int64(took[c.name] * 11 / 10))) })
		killed[c.name] += times
		n += times
	}
	early := 0
	for _, c := range killedCommands {
		for c.start == "series" && c.args[0] == "run" && early < kills*3/10 && !t.Failed() {
			early += k.killAt(c, 1+random.IntN(3), func() time.Duration { return time.Duration(random.Int64N(int64(200 * time.Millisecond))) })
		}
	}
	t.Logf("%d kills in the first 200 ms of a snapshot; others by command: %v", early, killed)
}

// killAt kills a command up to times times, each after a while, and checks the result after
// each kill and at the end. It returns how many kills came before the command had ended.
func (k *killing) killAt(c killedCommand, times int, after func() time.Duration) (kills int) {
	k.Helper()
	k.start(c.start, c.week)
	for range times {
		cmd, d := k.command(c), after()
		cmd.Stdout, cmd.Stderr = io.Discard, io.Discard
		k.must(cmd.Start())
		time.Sleep(d)
		k.must(cmd.Process.Kill())
		var exit *exec.ExitError
		if err := cmd.Wait(); err == nil || errors.As(err, &exit) && exit.Exited() {
			if code := cmd.ProcessState.ExitCode(); code != c.code {
				k.Fatalf("%s: exit code %d after %d kills", c.name, code, kills)
			}
			k.ended(c, kills)
			return kills
		}
		kills++
		k.readable(c)
		if k.Failed() {
			k.Fatalf("%s was killed after %v, for the %dth time", c.name, d, kills)
		}
		if k.seriesIsOver(c) {
			break
		}
	}
	if k.finish(c, kills); k.Failed() {
		k.Fatalf("%s was killed %d times", c.name, kills)
	}
	return kills
}

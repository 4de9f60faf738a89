package main

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"time"
)

// A selection is the common flags of the commands that measure.
type selection struct {
	scenario, contestants, temp string
	rounds, concurrency         int
	scale                       float64
	timeout                     time.Duration
	crawl                       string
	own                         WebParams
	given                       *flag.FlagSet
}

func (s *selection) flags(f *flag.FlagSet) {
	s.given = f
	webFlags(f, &s.own)
	f.StringVar(&s.scenario, "scenario", "engine", "`names` of scenarios, separated by commas, or all")
	f.Float64Var(&s.scale, "scale", 1, "`factor` of the number of pages or hosts")
	f.IntVar(&s.concurrency, "concurrency", 0, "`requests` at once, where a contestant has the setting (default 64)")
	f.StringVar(&s.temp, "dir", "", "`directory` for what contestants write (default: that of temporary files)")
	f.DurationVar(&s.timeout, "timeout", 10*time.Minute, "`time` after which a contestant is stopped")
}

// scenarios returns the selected scenarios. If there are flags of the command web, it returns
// one scenario with that web.
func (s *selection) scenarios() ([]scenario, error) {
	shape := flag.NewFlagSet("", flag.ContinueOnError)
	webFlags(shape, &WebParams{})
	named, shaped := false, ""
	s.given.Visit(func(f *flag.Flag) {
		named = named || f.Name == "scenario"
		if shape.Lookup(f.Name) != nil {
			shaped = f.Name
		}
	})
	var list []scenario
	switch {
	case shaped != "" && named:
		return nil, fmt.Errorf("--%s describes a web of your own, and --scenario names one of ours: give one of them", shaped)
	case shaped != "":
		list = []scenario{ownScenario(s.own)}
	default:
		var err error
		if list, err = choose(s.scenario, scenarios(s.scale)); err != nil {
			return nil, err
		}
	}
	if s.concurrency > 0 {
		for _, sc := range list {
			for i := range sc.cases {
				sc.cases[i].concurrency = s.concurrency
			}
		}
	}
	return list, nil
}

// runBench measures and prints.
func runBench(ctx context.Context, args []string, out io.Writer) error {
	var s selection
	f := flag.NewFlagSet("run", flag.ContinueOnError)
	s.flags(f)
	f.StringVar(&s.contestants, "contestants", "", "`names` of contestants, separated by commas (default: all that can take part)")
	f.StringVar(&s.crawl, "crawl", "", "`path` of the command crawl, a contestant (default: that in PATH, if there is one)")
	f.IntVar(&s.rounds, "rounds", 3, "`rounds`, all contestants run once in each; medians are shown")
	markdown := f.String("markdown", "", "`file` to which the tables are written as Markdown")
	svg := f.String("svg", "", "`file` to which the bars are written as SVG")
	asJSON := f.String("json", "", "`file` to which the tables, and each single run, are written as JSON (times in nanoseconds)")
	profile := f.String("profile", "", "`path`: write profiles of contestants that are built in to path-NAME.cpu and so on")
	if err := f.Parse(args); err != nil {
		return err
	}
	if s.rounds < 1 || f.NArg() > 0 {
		return errors.New("run: rounds must be positive, and there are no arguments")
	}
	if s.crawl != "" { // contestants run in their own directories
		path, err := exec.LookPath(s.crawl)
		if err == nil {
			s.crawl, err = filepath.Abs(path)
		}
		if err != nil {
			return fmt.Errorf("run: --crawl wants a built command (go build ./cmd/crawl): %w", err)
		}
	}
	wanted, err := s.scenarios()
	if err != nil {
		return err
	}
	exe, err := os.Executable()
	if err != nil {
		return err
	}
	b := &bench{exe: exe, temp: s.temp, timeout: s.timeout, profile: *profile, crawl: s.crawl}
	var tables []table
	for _, sc := range wanted {
		t, err := b.table(ctx, sc, s.contestants, s.rounds)
		if err != nil {
			return err
		}
		tables = append(tables, t)
	}
	env := environment(s.crawl)
	text := renderMarkdown(tables, env)
	if _, err := io.WriteString(out, text); err != nil {
		return err
	}
	if *markdown != "" {
		err = os.WriteFile(*markdown, []byte(text), 0o644)
	}
	if *svg != "" {
		err = errors.Join(err, os.WriteFile(*svg, renderSVG(tables), 0o644))
	}
	if *asJSON != "" {
		err = errors.Join(err, writeJSON(*asJSON, tables, env))
	}
	return err
}

// writeJSON writes the data of renderMarkdown, and the single runs.
func writeJSON(path string, tables []table, env string) error {
	type scenarioJSON struct {
		Scenario, About string
		Rounds          int
		Rows            []row
	}
	all := struct {
		Environment string
		Tables      []scenarioJSON
	}{Environment: env}
	for i := range tables {
		t := &tables[i]
		all.Tables = append(all.Tables, scenarioJSON{t.Scenario.name, t.Scenario.about, t.Rounds, t.Rows})
	}
	raw, err := json.MarshalIndent(all, "", "\t")
	if err != nil {
		return err
	}
	return os.WriteFile(path, append(raw, '\n'), 0o644)
}

// table measures the cases of a scenario.
func (b *bench) table(ctx context.Context, s scenario, names string, rounds int) (table, error) {
	list, err := takePart(&s, names, b.crawl)
	if err != nil {
		return table{}, err
	}
	t := table{Scenario: s, Rounds: rounds}
	for i := range s.cases {
		rows, err := b.measure(ctx, &s.cases[i], list, rounds)
		if err != nil {
			return t, err
		}
		t.Rows = append(t.Rows, rows...)
	}
	return t, nil
}

func choose(names string, all []scenario) ([]scenario, error) {
	if names == "all" {
		return all, nil
	}
	var list []scenario
	for name := range strings.SplitSeq(names, ",") {
		i := slices.IndexFunc(all, func(s scenario) bool { return s.name == name })
		if i < 0 {
			var known []string
			for _, s := range all {
				known = append(known, s.name)
			}
			return nil, fmt.Errorf("no scenario is named %q; there are %s", name, strings.Join(known, ", "))
		}
		list = append(list, all[i])
	}
	return list, nil
}

// takePart returns the contestants of a scenario. crawl is the path of the command, or empty.
func takePart(s *scenario, names, crawl string) ([]contestant, error) {
	list := s.contestants
	if names != "" {
		list = strings.Split(names, ",")
	}
	var chosen []contestant
	for _, c := range contestants() {
		if c.name == "crawl" {
			c.path = crawl
		}
		if (list == nil && !c.named || slices.Contains(list, c.name)) && c.available() {
			chosen = append(chosen, c)
		}
	}
	for _, name := range list {
		if _, err := findContestant(name); err != nil {
			return nil, err
		}
	}
	return chosen, nil
}

// A bench runs contestants.
type bench struct {
	exe           string // of this program, which serves the webs
	build         string // executable that runs the built-in contestants; exe if empty
	temp, profile string
	crawl         string // path of the command; empty: the one in PATH
	timeout       time.Duration
}

// measure runs all contestants in each round, so that other load of the machine affects all of
// them.
func (b *bench) measure(ctx context.Context, bc *benchCase, list []contestant, rounds int) ([]row, error) {
	runs := map[string][]result{}
	for round := range rounds {
		for i := range list {
			c := &list[i]
			if !bc.can(c) {
				continue
			}
			fmt.Fprintf(os.Stderr, "%s, round %d of %d: %s\n", bc.label, round+1, rounds, c.name)
			r, err := b.once(ctx, bc, c)
			if ctx.Err() != nil {
				return nil, context.Cause(ctx)
			}
			if err != nil {
				fmt.Fprintf(os.Stderr, "%s: %v\n", c.name, err)
				r.Failed = err.Error()
			}
			runs[c.name] = append(runs[c.name], r)
		}
	}
	var rows []row
	for _, c := range list {
		if rs := runs[c.name]; len(rs) > 0 {
			rows = append(rows, newRow(bc, &c, rs))
		}
	}
	return rows, nil
}

// A result is one run of one contestant.
type result struct {
	CPU, WebCPU time.Duration // user and system
	Wall        time.Duration // duration of the contestant
	Machine     time.Duration // CPU of all processes in that time; 0 if the system does not report it
	Memory      int64         // maximum bytes of anonymous memory, sampled
	Disk        int64         // bytes that its files take on the disk
	Web         WebCounts
	Log         *Logged // nil without a crawl.log, or without a pause
	Report      report
	Failed      string // how it ended, if it failed
}

// once runs a contestant on a new web.
func (b *bench) once(ctx context.Context, bc *benchCase, c *contestant) (r result, err error) {
	ctx, cancel := context.WithTimeout(ctx, b.timeout)
	defer cancel()
	w, err := startWeb(b.exe, bc)
	if err != nil {
		return r, err
	}
	defer func() {
		cpu, werr := w.stop()
		r.WebCPU = cpu
		err = errors.Join(err, werr)
	}()
	dir, err := os.MkdirTemp(b.temp, "crawlbench-")
	if err != nil {
		return r, err
	}
	defer func() { err = errors.Join(err, os.RemoveAll(dir)) }()
	t := newTask(bc, c, &w.hello, dir)
	if b.profile != "" {
		t.Profile = b.profile + "-" + c.name
	}
	if c.after != "" {
		if err := b.before(ctx, w, t, c.after); err != nil {
			return r, err
		}
	}
	p := process{timeout: b.timeout}
	before := bytesIn(dir)
	began, busyBefore := time.Now(), machineTime()
	if c.command != nil {
		if p.cmd, err = c.command(t); err != nil {
			return r, err
		}
		p.cmd.Dir = dir
		err = p.run(ctx)
	} else {
		err = b.child(ctx, &p, t, &r.Report)
	}
	r.CPU, r.Memory = p.cpu, p.memory
	r.Wall, r.Machine = time.Since(began), machineTime()-busyBefore
	r.Disk = bytesIn(dir) - before
	var werr, lerr error
	r.Web, werr = w.counts()
	if bc.web.Delay > 0 {
		r.Log, lerr = readLateness(crawlLog(dir), bc.concurrency)
	}
	return r, errors.Join(err, werr, lerr)
}

// bytesIn returns how many bytes all files below a directory take on the disk. It ignores files
// that cannot be read.
func bytesIn(dir string) (n int64) {
	filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		if err == nil && d.Type().IsRegular() {
			n += onDisk(path)
		}
		return nil
	})
	return n
}

// before runs the contestant that has to run before another one.
func (b *bench) before(ctx context.Context, w *webProcess, t *task, name string) error {
	first := *t
	first.Contestant, first.Profile = name, ""
	if err := b.child(ctx, &process{timeout: b.timeout}, &first, &report{}); err != nil {
		return err
	}
	return w.forget()
}

// child runs a built-in contestant.
func (b *bench) child(ctx context.Context, p *process, t *task, rep *report) error {
	in, err := json.Marshal(t)
	if err != nil {
		return err
	}
	p.cmd = childProcess(cmp.Or(b.build, b.exe), childCommand)
	p.cmd.Stdin = bytes.NewReader(in)
	var out bytes.Buffer
	p.cmd.Stdout = &out
	if err := p.run(ctx); err != nil {
		return err
	}
	return json.Unmarshal(out.Bytes(), rep)
}

func newTask(bc *benchCase, c *contestant, hello *webHello, dir string) *task {
	t := &task{
		Contestant: c.name, Hosts: bc.web.Hosts, Pages: bc.web.Pages, Port: hello.Port, Scheme: "http", Cert: hello.Cert,
		Delay: bc.web.Delay, Concurrency: bc.concurrency, Limit: bc.limit, Anywhere: bc.anywhere, Dir: filepath.Clean(dir), Program: c.program(),
	}
	if bc.tls {
		t.Scheme = "https"
	}
	if bc.anywhere {
		t.Seeds = []string{t.Scheme + "://" + hostName(0) + "/"}
		return t
	}
	for n := range bc.web.Hosts {
		t.Seeds = append(t.Seeds, seedURL(t.Scheme, n, hello.Port))
	}
	return t
}

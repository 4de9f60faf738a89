package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"
)

// runBench measures and prints.
func runBench(ctx context.Context, args []string, out io.Writer) error {
	f := flag.NewFlagSet("run", flag.ContinueOnError)
	which := f.String("scenario", "engine", "`names` of scenarios, separated by commas, or all")
	who := f.String("contestants", "", "`names` of contestants, separated by commas (default: all that can take part)")
	rounds := f.Int("rounds", 3, "`rounds`, in each of which all contestants run once; medians are shown")
	scale := f.Float64("scale", 1, "`factor` of the number of pages or hosts")
	concurrency := f.Int("concurrency", 0, "`requests` at once, where a contestant has the setting (default 64)")
	markdown := f.String("markdown", "", "`file` to which the tables are written as Markdown")
	svg := f.String("svg", "", "`file` to which the bars are written as SVG")
	temp := f.String("dir", "", "`directory` for what contestants write (default: that of temporary files)")
	patience := f.Duration("timeout", 10*time.Minute, "`time` after which a contestant is stopped")
	profile := f.String("profile", "", "`path`: write profiles of contestants that are built in to path-NAME.cpu and so on")
	if err := f.Parse(args); err != nil {
		return err
	}
	if *rounds < 1 || f.NArg() > 0 {
		return errors.New("run: rounds must be positive, and there are no arguments")
	}
	wanted, err := choose(*which, scenarios(*scale))
	if err != nil {
		return err
	}
	exe, err := os.Executable()
	if err != nil {
		return err
	}
	b := &bench{exe: exe, temp: *temp, timeout: *patience, profile: *profile}
	var tables []table
	for _, s := range wanted {
		if *concurrency > 0 {
			for i := range s.cases {
				s.cases[i].concurrency = *concurrency
			}
		}
		t, err := b.table(ctx, s, *who, *rounds)
		if err != nil {
			return err
		}
		tables = append(tables, t)
	}
	text := renderMarkdown(tables, environment())
	if _, err := io.WriteString(out, text); err != nil {
		return err
	}
	if *markdown != "" {
		err = os.WriteFile(*markdown, []byte(text), 0o644)
	}
	if *svg != "" {
		err = errors.Join(err, os.WriteFile(*svg, renderSVG(tables), 0o644))
	}
	return err
}

// table measures the cases of a scenario.
func (b *bench) table(ctx context.Context, s scenario, who string, rounds int) (table, error) {
	list, err := takePart(&s, who)
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

// takePart are the contestants of a scenario.
func takePart(s *scenario, names string) ([]contestant, error) {
	list := s.contestants
	if names != "" {
		list = strings.Split(names, ",")
	}
	var chosen []contestant
	for _, c := range contestants() {
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
	exe, temp, profile string
	timeout            time.Duration
}

// measure runs all contestants in each round, so that what else the machine
// does falls on all of them.
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
	Memory      int64         // most bytes of anonymous memory, sampled
	Web         WebCounts
	Report      report
	Failed      string // how it ended, if not well
}

// once runs a contestant against a web of its own.
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
	var werr error
	r.Web, werr = w.counts()
	return r, errors.Join(err, werr)
}

// before runs the contestant that another one comes after.
func (b *bench) before(ctx context.Context, w *webProcess, t *task, name string) error {
	first := *t
	first.Contestant, first.Profile = name, ""
	if err := b.child(ctx, &process{timeout: b.timeout}, &first, &report{}); err != nil {
		return err
	}
	return w.forget()
}

// child runs a contestant that is built in.
func (b *bench) child(ctx context.Context, p *process, t *task, rep *report) error {
	in, err := json.Marshal(t)
	if err != nil {
		return err
	}
	p.cmd = childProcess(b.exe, childCommand)
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
		Delay: bc.web.Delay, Concurrency: bc.concurrency, Limit: bc.limit, Anywhere: bc.anywhere, Dir: filepath.Clean(dir),
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

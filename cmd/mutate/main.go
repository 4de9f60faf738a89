// Mutate tests the tests: it changes a package in one small way at a time and runs the
// package's tests against each change. A change that no test notices shows a promise without a
// test.
//
//	go run . -C ../.. -n 100 ./robots
//
// Mutants are drawn at random: conditions are negated, comparisons, && and || and arithmetic
// swapped, numbers changed by one, strings emptied, struct tags renamed, statements and fields
// of literals removed, functions left at once, errors dropped. The same seed draws the same
// mutants of the same source. A mutant whose tests do not end in time is counted separately,
// since a busy machine may be the reason. Tests run in a copy; the tree is never written to.
// Mutants that no test can kill are listed, with the reason, in equivalent.tsv; an entry is
// what -list prints, and a reason.
//
// Exit codes: 0 done, 1 fatal, 2 usage, 3 fewer were killed than -min requires.
package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync"
	"time"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	code, err := run(ctx, os.Args[1:], os.Stdout, os.Stderr)
	if err != nil {
		fmt.Fprintf(os.Stderr, "mutate: %v\n", err)
	}
	os.Exit(code)
}

// settings are the values of the flags.
type settings struct {
	root, known, tests string
	match              string
	seed               uint64
	n, jobs            int
	timeout            time.Duration
	min                float64
	list               bool
	pkg                string
}

func run(ctx context.Context, args []string, out, talk io.Writer) (int, error) {
	var s settings
	fs := flag.NewFlagSet("mutate", flag.ContinueOnError)
	fs.SetOutput(talk)
	fs.StringVar(&s.root, "C", ".", "directory of the module")
	fs.StringVar(&s.known, "equivalent", "equivalent.tsv", "list of equivalent mutants")
	fs.StringVar(&s.tests, "tests", "", "packages whose tests are run, separated by commas (default: the package itself)")
	fs.Uint64Var(&s.seed, "seed", 1, "of the draw")
	fs.IntVar(&s.n, "n", 100, "mutants to try; 0: all")
	fs.IntVar(&s.jobs, "j", 1, "mutants at once")
	fs.DurationVar(&s.timeout, "timeout", time.Minute, "of the tests of one mutant; one that takes longer is counted apart")
	fs.Float64Var(&s.min, "min", 0, "least percentage to be killed of those that are not equivalent")
	fs.StringVar(&s.match, "match", "", "try all mutants, and only those, whose entry in the list would match this regular expression")
	fs.BoolVar(&s.list, "list", false, "list the mutants that would be tried, and try none")
	if err := fs.Parse(args); err != nil {
		if errors.Is(err, flag.ErrHelp) {
			return 0, nil
		}
		return 2, nil
	}
	match, err := regexp.Compile(s.match)
	if err != nil {
		return 2, fmt.Errorf("-match: %w", err)
	}
	if fs.NArg() != 1 || s.n < 0 || s.jobs < 1 || s.timeout <= 0 {
		return 2, errors.New("give one package, such as ./robots; -n is at least 0, -j at least 1")
	}
	s.pkg = fs.Arg(0)
	r, err := newReport(ctx, &s)
	if err != nil {
		return 1, err
	}
	if s.match != "" {
		r.all = slices.DeleteFunc(r.all, func(m mutant) bool { return !match.MatchString(entry(&m, r.root)) })
		r.limit = len(r.all)
	}
	if s.list {
		for _, m := range r.drawn(len(r.all)) {
			fmt.Fprintln(out, entry(m, r.root))
		}
		return 0, nil
	}
	if err := r.tryAll(ctx, &s, talk); err != nil {
		return 1, err
	}
	percent := r.print(out, &s)
	if percent < s.min {
		return 3, fmt.Errorf("%.1f %% killed, at least %.1f %% are wanted", percent, s.min)
	}
	return 0, nil
}

// A report is what is known about the mutants of a package.
type report struct {
	root    string
	sources map[string][]byte
	all     []mutant // in the order of the draw
	limit   int
	known   []equivalent

	mu    sync.Mutex // guards next and fates: mutants are tried concurrently
	next  int        // index in all
	fates map[int]fate
}

func newReport(ctx context.Context, s *settings) (*report, error) {
	root, err := filepath.Abs(s.root)
	if err != nil {
		return nil, err
	}
	list, err := os.ReadFile(s.known)
	if err != nil && !errors.Is(err, os.ErrNotExist) {
		return nil, err
	}
	r := &report{root: root, sources: map[string][]byte{}, fates: map[int]fate{}}
	if r.known, err = readEquivalents(s.known, list); err != nil {
		return nil, err
	}
	files, err := filesOf(ctx, root, s.pkg)
	if err != nil {
		return nil, err
	}
	for _, file := range files {
		source, err := os.ReadFile(file)
		if err != nil {
			return nil, err
		}
		found, err := mutants(file, source)
		if err != nil {
			return nil, err
		}
		r.sources[file] = source
		r.all = append(r.all, found...)
	}
	draw := rand.New(rand.NewPCG(s.seed, 0))
	draw.Shuffle(len(r.all), func(i, j int) { r.all[i], r.all[j] = r.all[j], r.all[i] })
	if r.limit = s.n; s.n == 0 {
		r.limit = len(r.all)
	}
	return r, nil
}

// filesOf returns the Go files of a package for this machine, without tests.
func filesOf(ctx context.Context, root, pkg string) ([]string, error) {
	cmd := exec.CommandContext(ctx, "go", "list", "-json=Dir,GoFiles", pkg)
	cmd.Dir = root
	var stderr bytes.Buffer
	cmd.Stderr = &stderr
	raw, err := cmd.Output()
	if err != nil {
		return nil, fmt.Errorf("go list %s: %w: %s", pkg, err, bytes.TrimSpace(stderr.Bytes()))
	}
	var p struct {
		Dir     string
		GoFiles []string
	}
	if err := json.Unmarshal(raw, &p); err != nil {
		return nil, fmt.Errorf("go list %s: %w: give one package", pkg, err)
	}
	for i, name := range p.GoFiles {
		p.GoFiles[i] = filepath.Join(p.Dir, name)
	}
	return p.GoFiles, nil
}

// drawn returns the first n mutants of the draw.
func (r *report) drawn(n int) []*mutant {
	list := make([]*mutant, min(n, r.limit))
	for i := range list {
		list[i] = &r.all[i]
	}
	return list
}

// tryAll tries mutants until the wanted number of them has a fate. Mutants that do not compile
// are replaced by the next of the draw.
func (r *report) tryAll(ctx context.Context, s *settings, talk io.Writer) error {
	scratch, err := os.MkdirTemp("", "mutate")
	if err != nil {
		return err
	}
	defer os.RemoveAll(scratch)
	tests := []string{s.pkg}
	if s.tests != "" {
		tests = strings.Split(s.tests, ",")
	}
	testers := make([]*tester, s.jobs)
	for i := range testers {
		if testers[i], err = newTester(r.root, filepath.Join(scratch, fmt.Sprint(i)), tests, s.timeout); err != nil {
			return err
		}
	}
	if out, err := testers[0].test(ctx); err != nil {
		return fmt.Errorf("the tests fail without any change: %w\n%s", err, out)
	}
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	var wg sync.WaitGroup
	for _, t := range testers {
		// A worker ends after the last mutant, or at the first error.
		wg.Go(func() {
			for {
				i, ok := r.take()
				if !ok || ctx.Err() != nil {
					return
				}
				m := &r.all[i]
				f, err := t.try(ctx, m, r.sources[m.file])
				if err != nil {
					cancel(err)
					return
				}
				r.mu.Lock()
				r.fates[i] = f
				r.mu.Unlock()
				if f != unbuilt {
					fmt.Fprintf(talk, "%s:%d: %s: %s\n", relative(r.root, m.file), m.line, m.change, f)
				}
			}
		})
	}
	wg.Wait()
	return context.Cause(ctx)
}

// take returns the next mutant to try. It looks no further ahead than needed, so that the
// number of workers does not change which mutants are tried.
func (r *report) take() (int, bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	unbuiltSoFar := 0
	for _, f := range r.fates {
		if f == unbuilt {
			unbuiltSoFar++
		}
	}
	if r.next >= len(r.all) || r.next-unbuiltSoFar >= r.limit {
		return 0, false
	}
	r.next++
	return r.next - 1, true
}

// print prints the result and returns the percentage of killed mutants among those that are
// neither equivalent nor late.
func (r *report) print(out io.Writer, s *settings) float64 {
	dead, alive, same, overdue := 0, 0, 0, 0
	for i := range r.next {
		m := &r.all[i]
		why := ""
		for k := range r.known {
			if r.known[k].is(m, r.root) {
				why = r.known[k].reason
			}
		}
		switch f := r.fates[i]; {
		case f == unbuilt:
		case f == late:
			overdue++
			fmt.Fprintf(out, "late %s:%d\n\t%s\n", relative(r.root, m.file), m.line, entry(m, r.root))
		case f == survived && why != "":
			same++
		case f == survived:
			alive++
			fmt.Fprintf(out, "survived %s:%d\n\t%s\n", relative(r.root, m.file), m.line, entry(m, r.root))
		default:
			dead++
			if why != "" {
				fmt.Fprintf(out, "is listed as equivalent, and was killed: %s:%d: %s\n", relative(r.root, m.file), m.line, m.change)
			}
		}
	}
	for k := range r.known {
		if e := &r.known[k]; s.match == "" && r.ours(e) && !r.has(e) {
			fmt.Fprintf(out, "is listed as equivalent, and is no mutant: %s: %s: %s\n", e.file, e.text, e.change)
		}
	}
	percent := 100.0
	if dead+alive > 0 {
		percent = 100 * float64(dead) / float64(dead+alive)
	}
	fmt.Fprintf(out, "%s, seed %d: %d of %d mutants: %d killed, %d survived, %d equivalent, %d late: %.1f %% killed\n",
		s.pkg, s.seed, dead+alive+same+overdue, len(r.all), dead, alive, same, overdue, percent)
	return percent
}

// ours reports whether an entry of the list is about this package.
func (r *report) ours(e *equivalent) bool {
	_, ok := r.sources[filepath.Join(r.root, filepath.FromSlash(e.file))]
	return ok
}

func (r *report) has(e *equivalent) bool {
	for i := range r.all {
		if e.is(&r.all[i], r.root) {
			return true
		}
	}
	return false
}

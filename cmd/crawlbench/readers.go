package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"time"

	"github.com/permesso-crawler/permesso/crawler"
	"github.com/permesso-crawler/permesso/internal/provenance"
)

// readers returns the commands that read a whole crawl, in the order of measuring.
func readers() [][]string {
	return [][]string{
		{"report"}, {"index"}, {"provenance"}, {"provenance", "--verify"}, {"verify"}, {"audit"},
		{"export", "--format", "cdxj"}, {"export", "--format", "csv"}, {"export", "--format", "parquet", "--output", "-"}, {"export", "--format", "wacz", "--output", "-"},
		{"export", "--format", "text", "--near-duplicates"}, {"export", "--format", "markdown", "--output", "-"}, {"export", "--format", "wet", "--output", "-"},
		{"report", "--near-duplicates"},
	}
}

// sealCommand writes the provenance of a crawl as a run does at its end.
const sealCommand = "seal"

func runSeal(ctx context.Context, args []string, _ io.Writer) error {
	f := flag.NewFlagSet(sealCommand, flag.ContinueOnError)
	profile := f.String("profile", "", "`path`: write profiles to path.cpu and path.heap")
	if err := f.Parse(args); err != nil {
		return err
	}
	profiled, err := startProfile(*profile, "heap")
	if err != nil {
		return err
	}
	_, err = provenance.Write(ctx, f.Arg(0), provenance.Options{Kept: true})
	return errors.Join(err, profiled())
}

// A reading is a crawl, and the command that reads it.
type reading struct {
	web         WebParams
	dir, crawl  string
	links       bool
	concurrency int
	timeout     time.Duration
	most        int64 // maximum memory of a command in bytes; 0: no limit
}

// runReaders is the command "crawlbench readers".
func runReaders(ctx context.Context, args []string, out io.Writer) error {
	var r reading
	f := flag.NewFlagSet("readers", flag.ContinueOnError)
	webFlags(f, &r.web)
	f.StringVar(&r.dir, "dir", "", "`directory` of the crawl, which is made if it is not there and kept; empty: a temporary one")
	f.StringVar(&r.crawl, "crawl", "crawl", "`path` of the command crawl")
	f.BoolVar(&r.links, "graph", false, "the crawl has links.jsonl, too")
	most := f.Int64("most", 0, "fail if a command takes more than so many `MiB` of anonymous memory; 0: any")
	f.IntVar(&r.concurrency, "concurrency", defaultConcurrency, "`requests` at once of the crawl")
	f.DurationVar(&r.timeout, "timeout", time.Hour, "`time` after which the crawl and each command are stopped")
	if err := f.Parse(args); err != nil {
		return err
	}
	r.most = *most << 20
	if r.dir == "" {
		dir, err := os.MkdirTemp("", "crawlbench-readers-")
		if err != nil {
			return err
		}
		defer os.RemoveAll(dir)
		r.dir = filepath.Join(dir, "bench.crawl")
	}
	if _, err := os.Stat(r.dir); errors.Is(err, fs.ErrNotExist) {
		if err := r.make(ctx); err != nil {
			return err
		}
	}
	return r.measure(ctx, out)
}

// make crawls a web without pauses.
func (r *reading) make(ctx context.Context) error {
	exe, err := os.Executable()
	if err != nil {
		return err
	}
	bc := benchCase{web: r.web, concurrency: r.concurrency, anywhere: r.web.Cross > 0}
	web, err := startWeb(exe, &bc)
	if err != nil {
		return err
	}
	t := newTask(&bc, &contestant{}, &web.hello, filepath.Dir(r.dir))
	ctx, cancel := context.WithTimeout(ctx, r.timeout)
	defer cancel()
	output := []crawler.Output{crawler.OutputWARC, crawler.OutputPages}
	if r.links {
		output = append(output, crawler.OutputLinks)
	}
	_, err = runPermesso(ctx, t, crawler.Options{Dir: r.dir, Keep: crawler.Keep{Output: output}})
	_, serr := web.stop()
	return errors.Join(err, serr)
}

// measure runs each command, and prints its time and memory.
func (r *reading) measure(ctx context.Context, out io.Writer) error {
	fmt.Fprintf(out, "| command | pages | seconds | CPU s | us CPU/page | anonymous MiB |\n|---|---|---|---|---|---|\n")
	exe, err := os.Executable()
	if err != nil {
		return err
	}
	if err := r.one(ctx, out, "the end of a run", exe, sealCommand); err != nil {
		return err
	}
	for _, args := range readers() {
		if err := r.one(ctx, out, "`crawl "+strings.Join(args, " ")+"`", r.crawl, args...); err != nil {
			return err
		}
	}
	return nil
}

func (r *reading) one(ctx context.Context, out io.Writer, name, exe string, args ...string) error {
	ctx, cancel := context.WithTimeout(ctx, r.timeout)
	defer cancel()
	p := &process{cmd: exec.Command(exe, append(args, r.dir)...), timeout: r.timeout}
	var said strings.Builder
	p.cmd.Stderr = &said
	began := time.Now()
	if err := p.run(ctx); err != nil {
		return fmt.Errorf("%s: %w: %s", name, err, said.String())
	}
	pages := r.web.Expected()
	if r.most > 0 && p.memory > r.most {
		return fmt.Errorf("%s: %d MiB of anonymous memory for %d pages, where %d are the most", name, p.memory>>20, pages, r.most>>20)
	}
	_, err := fmt.Fprintf(out, "| %s | %d | %.1f | %.1f | %.1f | %.0f |\n", name, pages,
		time.Since(began).Seconds(), p.cpu.Seconds(), p.cpu.Seconds()*1e6/float64(pages), float64(p.memory)/(1<<20))
	return err
}

package main

import (
	"context"
	"crypto/sha256"
	"debug/buildinfo"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"
)

// confidence is the least confidence of the intervals of a comparison.
const confidence = 0.95

// runAB compares two builds of this program. This process serves the webs and measures. The
// builds run one contestant at a time with the command child, which each build has: an older
// build needs to know no new flag.
func runAB(ctx context.Context, args []string, out io.Writer) error {
	var s selection
	f := flag.NewFlagSet("ab", flag.ContinueOnError)
	s.flags(f)
	f.StringVar(&s.contestants, "contestants", "permesso,permesso-warc", "`names` of contestants that both builds have, separated by commas")
	f.IntVar(&s.rounds, "rounds", 12, "`rounds`, both builds run once in each")
	asJSON := f.String("json", "", "`file` to which the comparison, and each ratio, is written as JSON")
	if err := f.Parse(args); err != nil {
		return err
	}
	if s.rounds < 1 || f.NArg() != 2 {
		return errors.New("ab: rounds must be positive, and there are two arguments: the older build and the newer one, as in crawlbench ab ./old ./new")
	}
	builds := [2]build{}
	for i := range builds {
		var err error
		if builds[i], err = openBuild(f.Arg(i)); err != nil {
			return err
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
	c := comparison{bench: bench{exe: exe, temp: s.temp, timeout: s.timeout}, builds: builds}
	for i := range wanted {
		if err := c.run(ctx, &wanted[i], s.contestants, s.rounds); err != nil {
			return err
		}
	}
	if _, err := io.WriteString(out, c.markdown()+environment("")); err != nil || *asJSON == "" {
		return err
	}
	raw, err := json.MarshalIndent(c.differences, "", "\t")
	if err != nil {
		return err
	}
	return os.WriteFile(*asJSON, append(raw, '\n'), 0o644)
}

// A build is an executable of this program.
type build struct {
	path, digest, about string
}

func openBuild(path string) (build, error) {
	info, err := buildinfo.ReadFile(path)
	if err != nil {
		return build{}, err
	}
	if !strings.Contains(info.Path, "/cmd/crawlbench") {
		return build{}, fmt.Errorf("%s is a build of %s: give two builds of cmd/crawlbench", path, info.Path)
	}
	raw, err := os.ReadFile(path)
	if err != nil {
		return build{}, err
	}
	if path, err = filepath.Abs(path); err != nil { // a name without a directory would be searched in PATH
		return build{}, err
	}
	b := build{path: path, digest: fmt.Sprintf("%x", sha256.Sum256(raw)), about: info.GoVersion}
	for _, s := range info.Settings {
		switch {
		case s.Key == "vcs.revision":
			b.about += ", revision " + s.Value[:min(12, len(s.Value))]
		case s.Key == "vcs.modified" && s.Value == "true":
			b.about += ", changed since"
		}
	}
	return b, nil
}

// A comparison runs two builds in alternation.
type comparison struct {
	bench
	builds      [2]build
	rounds      int
	differences []difference
}

// A difference is the result of one measure of one contestant.
type difference struct {
	Scenario, Case, Contestant, Measure string

	Old, New   float64   // medians of each build
	Ratios     []float64 // new to old, for each pair in which both ended well, in the order of the rounds
	Ratio      float64   // their median
	Low, High  float64   // the interval that contains the median with this confidence
	Confidence float64   // 0 if there are too few pairs for an interval
	Words      string
	Remarks    []string `json:",omitempty"`
}

// run measures the cases of a scenario. In each round it runs a contestant of both builds; the
// older build is first in every other round. So other load of the machine, and what becomes
// slower over time, affects both.
func (c *comparison) run(ctx context.Context, s *scenario, names string, rounds int) error {
	list, err := takePart(s, names, "")
	if err != nil {
		return err
	}
	c.rounds = rounds
	for i := range s.cases {
		bc := &s.cases[i]
		runs := map[string]*[2][]result{}
		for round := range rounds {
			for k := range list {
				who := &list[k]
				if who.command != nil {
					return fmt.Errorf("ab: %s is a program of its own, the same for both builds: name contestants that are built in", who.name)
				}
				if !bc.can(who) {
					continue
				}
				if runs[who.name] == nil {
					runs[who.name] = new([2][]result)
				}
				if err := c.pair(ctx, bc, who, round, runs[who.name]); err != nil {
					return err
				}
			}
		}
		for k := range list {
			if rs := runs[list[k].name]; rs != nil {
				c.differences = append(c.differences, compare(s.name, bc, &list[k], rs)...)
			}
		}
	}
	return nil
}

// pair runs a contestant of both builds.
func (c *comparison) pair(ctx context.Context, bc *benchCase, who *contestant, round int, to *[2][]result) error {
	for _, which := range order(round) {
		fmt.Fprintf(os.Stderr, "%s, round %d of %d: %s of %s\n", bc.label, round+1, c.rounds, who.name, c.builds[which].path)
		b := c.bench
		b.build = c.builds[which].path
		r, err := b.once(ctx, bc, who)
		if ctx.Err() != nil {
			return context.Cause(ctx)
		}
		if err != nil {
			r.Failed = err.Error()
		}
		to[which] = append(to[which], r)
	}
	return nil
}

// order returns the order of the older build, 0, and the newer one, 1, in a round.
func order(round int) [2]int { return [2]int{round % 2, 1 - round%2} }

// A measure is a value by which two builds are compared.
type measure struct {
	name       string
	of         func(*result) float64
	less, more string // words for the new build
}

var measures = []measure{
	{"CPU s / 1,000 pages", func(r *result) float64 { return r.CPU.Seconds() * 1000 / float64(r.Web.Pages) }, "takes less", "takes more"},
	{"pages/s", func(r *result) float64 { return float64(r.Web.Pages) / r.Web.Elapsed.Seconds() }, "is slower", "is faster"},
	{"memory MiB", func(r *result) float64 { return float64(r.Memory) / (1 << 20) }, "takes less", "takes more"},
}

// compare returns the rows of one contestant.
func compare(scenario string, bc *benchCase, who *contestant, runs *[2][]result) (list []difference) {
	var notes []string
	for i, name := range []string{"old", "new"} {
		for _, remark := range remarks(bc, who, runs[i]) {
			notes = append(notes, name+" "+remark)
		}
	}
	for _, m := range measures {
		d := difference{Scenario: scenario, Case: bc.label, Contestant: who.name, Measure: m.name, Remarks: notes}
		var old, now []float64
		for i := range runs[0] {
			a, b := &runs[0][i], &runs[1][i]
			x, y := m.of(a), m.of(b)
			if a.Failed == "" && b.Failed == "" && measured(x) && measured(y) {
				old, now, d.Ratios = append(old, x), append(now, y), append(d.Ratios, y/x)
			}
		}
		slices.Sort(old)
		slices.Sort(now)
		d.Old, d.New = middle(old), middle(now)
		d.judge(&m)
		list = append(list, d)
	}
	return list
}

// measured reports whether x is a measured value, and not the result of a failed run or of a
// system that does not report it.
func measured(x float64) bool { return x > 0 && !math.IsInf(x, 0) }

// judge sets the words for the ratios.
func (d *difference) judge(m *measure) {
	sorted := slices.Sorted(slices.Values(d.Ratios))
	d.Ratio = middle(sorted)
	var ok bool
	d.Low, d.High, d.Confidence, ok = interval(sorted, confidence)
	switch {
	case !ok:
		d.Words = "too few pairs to tell"
	case d.Low <= 1 && d.High >= 1:
		d.Words = "no difference seen"
	case d.High < 1:
		d.Words = "new " + m.less
	default:
		d.Words = "new " + m.more
	}
}

func (c *comparison) markdown() string {
	var b strings.Builder
	for i, name := range []string{"old", "new"} {
		fmt.Fprintf(&b, "- %s: %s (%s, SHA-256 %.12s)\n", name, c.builds[i].path, c.builds[i].about, c.builds[i].digest)
	}
	if c.builds[0].digest == c.builds[1].digest {
		b.WriteString("\nBoth are the same file: what differs here is chance.\n")
	}
	fmt.Fprintf(&b, "\nPairs of %d rounds, the older build first in every other one. Ratios are of the new build to the old one in the same pair;\n"+
		"the interval holds their median with at least %.0f %% confidence, whatever their distribution.\n\n", c.rounds, 100*confidence)
	b.WriteString("| scenario | case | contestant | measure | old | new | new / old | interval | pairs | in words | remarks |\n" +
		"| --- | --- | --- | --- | ---: | ---: | ---: | ---: | ---: | --- | --- |\n")
	for _, d := range c.differences {
		between := "-"
		if d.Confidence > 0 {
			between = fmt.Sprintf("%.3f to %.3f", d.Low, d.High)
		}
		fmt.Fprintf(&b, "| %s | %s | %s | %s | %.3f | %.3f | %.3f | %s | %d | %s | %s |\n", d.Scenario, d.Case, d.Contestant, d.Measure,
			d.Old, d.New, d.Ratio, between, len(d.Ratios), d.Words, strings.Join(d.Remarks, ", "))
	}
	b.WriteString("\n")
	return b.String()
}

package main

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"strings"

	"github.com/permesso-crawler/permesso/robots"
	"github.com/spf13/cobra"
)

// testFlags are the flags of crawl robots test.
type testFlags struct {
	siteFlags
	agent, file, cases, dialect string
	json                        bool
}

func (p *program) robotsCommand() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "robots",
		Short: "test, check and show robots.txt files",
		Args: func(cmd *cobra.Command, args []string) error {
			if len(args) > 0 {
				return usage("unknown command %q: crawl robots --help lists them", args[0])
			}
			return nil
		},
		RunE: func(cmd *cobra.Command, args []string) error { return cmd.Help() },
	}
	var f testFlags
	test := &cobra.Command{
		Use:   "test --agent TOKEN (--file robots.txt | --site URL) URL-or-path ... | test --cases FILE.jsonl",
		Short: "say which URLs a robots.txt allows, and by which line",
		Long: `test prints a verdict for each URL or path, with the line and the rule that
decide. It exits with 0 if all are allowed, with 3 otherwise.

With --cases it runs a file of regression cases, a JSON object on each line:
{"id", "dialect", "robots" or "robots_b64", "agent", "url", "allow"}. It prints
each case that fails, and "N passed, M failed".`,
		RunE: func(cmd *cobra.Command, args []string) error {
			if f.cases != "" {
				return p.robotsCases(&f, args)
			}
			return p.robotsTest(cmd.Context(), &f, args)
		},
	}
	fs := test.Flags()
	fs.StringVar(&f.agent, "agent", "", "product token to test for")
	fs.StringVar(&f.file, "file", "", "robots.txt to test (- for standard input)")
	fs.StringVar(&f.cases, "cases", "", "file of regression cases")
	fs.StringVar(&f.dialect, "dialect", "rfc9309", "how to read it: rfc9309, google, koster1996")
	fs.BoolVar(&f.json, "json", false, "print one JSON object per line")
	f.siteFlags.register(fs)
	cmd.AddCommand(test, p.lintCommand(), p.showCommand())
	return cmd
}

// robotsTest answers for each URL or path.
func (p *program) robotsTest(ctx context.Context, f *testFlags, args []string) error {
	if f.agent == "" {
		return usage("--agent: which product token? such as --agent mybot")
	}
	if err := robots.CheckToken(f.agent); err != nil {
		return usage("--agent: %v", err)
	}
	if (f.file == "") == (f.site == "") {
		return usage("give either --file robots.txt or --site URL")
	}
	if len(args) == 0 {
		return usage("give at least one URL or path to test")
	}
	dialect, err := robots.ParseDialect(f.dialect)
	if err != nil {
		return usage("--dialect: %v", err)
	}
	groupOf, err := p.groupToTest(ctx, f, dialect)
	if err != nil {
		return err
	}
	all := true
	for _, arg := range args {
		target, err := robots.Target(absolute(arg))
		if err != nil {
			return usage("%v", err)
		}
		group := groupOf(arg)
		v := group.Match(target)
		all = all && v.Allowed()
		if err := p.verdict(arg, v, group, f.json); err != nil {
			return err
		}
	}
	if !all {
		return &exit{exitCheck, nil}
	}
	return nil
}

// groupToTest finds the group that applies to the agent, for each URL, in a
// file or at a site.
func (p *program) groupToTest(ctx context.Context, f *testFlags, dialect robots.Dialect) (func(url string) *robots.Group, error) {
	if f.file != "" {
		body, err := p.readFile(f.file)
		if err != nil {
			return nil, usage("--file: %v", err)
		}
		return func(url string) *robots.Group { return parseFor(url, body, dialect).Group(f.agent) }, nil
	}
	s, err := p.snapshot(ctx, &f.siteFlags)
	if err != nil {
		return nil, err
	}
	if !s.Reachable() {
		return nil, &exit{exitNothing, fmt.Errorf("%s is unreachable: %s: a crawler must ask again later", s.URL, answered(s))}
	}
	g := s.Group(robots.Policy{Dialect: dialect, Token: f.agent}, s.Fetched)
	return func(string) *robots.Group { return g }, nil
}

func (p *program) readFile(name string) ([]byte, error) {
	if name == "-" {
		return io.ReadAll(p.in)
	}
	return os.ReadFile(name)
}

// absolute makes a URL of a path, so that both are read alike.
func absolute(urlOrPath string) string {
	if strings.HasPrefix(urlOrPath, "/") && !strings.HasPrefix(urlOrPath, "//") {
		return "http://host.invalid" + urlOrPath
	}
	return urlOrPath
}

func (p *program) verdict(url string, v robots.Verdict, g *robots.Group, asJSON bool) error {
	group := strings.Join(g.Names(), ", ")
	if asJSON {
		return json.NewEncoder(p.out).Encode(struct {
			URL   string `json:"url"`
			Allow bool   `json:"allow"`
			Rule  string `json:"rule"`
			Line  int    `json:"line"`
			Group string `json:"group"`
		}{url, v.Allowed(), ruleText(v), v.Rule.Line, group})
	}
	by := v.Reason.String()
	if v.Rule.Line > 0 {
		by = fmt.Sprintf("line %d: %s", v.Rule.Line, ruleText(v))
	}
	if group != "" {
		by += " (group " + group + ")"
	}
	_, err := fmt.Fprintf(p.out, "%-8s %s  %s\n", v.Access, printable(url), printable(by))
	return err
}

func ruleText(v robots.Verdict) string {
	switch {
	case v.Rule.Line == 0:
		return ""
	case v.Rule.Allow:
		return "Allow: " + v.Rule.Pattern
	}
	return "Disallow: " + v.Rule.Pattern
}

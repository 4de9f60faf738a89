package main

import (
	"bytes"
	"context"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"strings"

	"github.com/permesso-crawler/permesso/cmd/crawl/internal/exit"
	"github.com/permesso-crawler/permesso/cmd/crawl/internal/seeds"
	"github.com/permesso-crawler/permesso/cmd/crawl/internal/settings"
	"github.com/permesso-crawler/permesso/cmd/crawl/internal/words"
	"github.com/permesso-crawler/permesso/crawler"
	"github.com/permesso-crawler/permesso/frontier"
	"github.com/permesso-crawler/permesso/robots"
	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
)

// testFlags are the flags of crawl robots test.
type testFlags struct {
	siteFlags
	readFlags
	file, cases string
	json        bool
}

// readFlags are the flags that say how to read a robots.txt, and for which agent.
type readFlags struct {
	agent string
	as    crawler.Options // settings for reading it
}

func (f *readFlags) register(fs *pflag.FlagSet, agent string) {
	fs.StringVar(&f.agent, "agent", "", agent)
	settings.Borrow(fs, &f.as, "", "alias", "dialect")
}

// policy returns the policy that the flags set. The agent may still be missing.
func (f *readFlags) policy() (robots.Policy, error) {
	dialect := f.as.Dialect
	if f.agent != "" {
		if err := dialect.CheckToken(f.agent); err != nil {
			return robots.Policy{}, exit.Usagef("--agent: %v", err)
		}
	}
	for _, alias := range f.as.Aliases {
		if err := dialect.CheckToken(alias); err != nil {
			return robots.Policy{}, exit.Usagef("--alias: %v", err)
		}
	}
	return robots.Policy{Dialect: dialect, Token: f.agent, Aliases: f.as.Aliases}, nil
}

// overrides returns a function that changes a policy. The function replaces those parts of the
// policy for which the user has given a flag of fs.
func (f *readFlags) overrides(fs *pflag.FlagSet) func(robots.Policy) (robots.Policy, error) {
	return func(of robots.Policy) (robots.Policy, error) {
		given, err := f.policy()
		if fs.Changed("agent") {
			of.Token, of.Aliases = given.Token, nil
		}
		if fs.Changed("alias") {
			of.Aliases = given.Aliases
		}
		if fs.Changed("dialect") {
			of.Dialect = given.Dialect
		}
		return of, err
	}
}

func (p *program) robotsCommand() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "robots",
		Short: "test, check and show robots.txt files",
		Long: `robots shows which URLs a robots.txt allows, what is wrong with it, and which one was
in force for a crawl.`,
		Example: `  crawl robots test --file robots.txt --agent mybot /private/
  crawl robots lint robots.txt
  crawl robots show news.crawl example.org`,
		Args: noCommand,
		RunE: func(cmd *cobra.Command, args []string) error { return cmd.Help() },
	}
	var f testFlags
	test := &cobra.Command{
		Use:   "test --agent TOKEN (--file robots.txt | --site URL) URL-or-path ... | test --cases FILE.jsonl",
		Short: "say which URLs a robots.txt allows, and by which line",
		Long: `test prints a verdict for each URL or path, with the line and the rule that
decide. It exits with 0 if all are allowed, with 3 otherwise. A URL is matched as
a crawl would request it: /é as /%C3%A9.

With --site the URLs must be of that site: another site has a robots.txt of its
own.

With --cases it runs a file of regression cases, a JSON object on each line:
{"id", "dialect", "robots" or "robots_b64", "agent", "url", "allow"}. Their URLs
are matched as written. It prints each case that fails, and "N passed, M
failed".`,
		Example: `  crawl robots test --agent mybot --file robots.txt / /private/
  crawl robots test --agent mybot --site https://example.org/ /private/
  crawl robots test --cases robots-cases.jsonl`,
		RunE: func(cmd *cobra.Command, args []string) error {
			if f.cases != "" {
				return p.robotsCases(&f, args)
			}
			return p.robotsTest(cmd.Context(), &f, args)
		},
	}
	fs := test.Flags()
	f.readFlags.register(fs, "product `token` to test for")
	fs.StringVar(&f.file, "file", "", "robots.txt `file` to test (- for standard input)")
	fs.StringVar(&f.cases, "cases", "", "`file` of regression cases")
	fs.BoolVar(&f.json, "json", false, "print one JSON object per line")
	f.siteFlags.register(fs)
	cmd.AddCommand(test, p.lintCommand(), p.showCommand())
	return cmd
}

// robotsTest prints the verdict for each URL or path.
func (p *program) robotsTest(ctx context.Context, f *testFlags, args []string) error {
	if f.agent == "" {
		return exit.Usagef("--agent: which product token? such as --agent mybot")
	}
	policy, err := f.policy()
	if err != nil {
		return err
	}
	if (f.file == "") == (f.site == "") {
		return exit.Usagef("give either --file robots.txt or --site URL")
	}
	if len(args) == 0 {
		return exit.Usagef("give at least one URL or path to test")
	}
	targets := make([]string, len(args))
	for i, arg := range args {
		if targets[i], err = f.target(arg); err != nil {
			return err
		}
	}
	groupOf, err := p.groupToTest(ctx, f, policy)
	if err != nil {
		return err
	}
	all := true
	for i, arg := range args {
		group := groupOf(arg)
		v := group.Match(targets[i])
		all = all && v.Allowed()
		if err := p.verdict(arg, v, group, f.json); err != nil {
			return err
		}
	}
	if !all {
		return exit.With(exit.Check, nil)
	}
	return nil
}

// target returns what a crawl would request for a URL or path. With --site, a URL must be
// on that site.
func (f *testFlags) target(arg string) (string, error) {
	if f.site != "" && !isPath(arg) {
		site, err := seeds.URL(f.site)
		if err != nil {
			return "", exit.Usagef("--site: %v", err)
		}
		u, err := site.Resolve(arg)
		if err != nil {
			return "", exit.Usagef("%v", err)
		}
		of, err := robots.Locate(u.String())
		if own, owned := robots.Locate(site.String()); err != nil || owned != nil || of != own {
			return "", exit.Usagef("%s is of another site than --site %s, whose robots.txt says nothing about it: test it with --site %s/", arg, site.Site(), u.Site())
		}
	}
	if u, err := frontier.ParseURL(absolute(arg)); err == nil {
		return u.Target(), nil
	}
	target, err := robots.Target(absolute(arg)) // no crawl requests this path, but a rule may match it
	if err != nil {
		return "", exit.Usagef("%v", err)
	}
	return target, nil
}

// groupToTest returns a function. The function returns the group of rules for the agent and
// a URL, from a file or from a site.
func (p *program) groupToTest(ctx context.Context, f *testFlags, policy robots.Policy) (func(url string) *robots.Group, error) {
	if f.file != "" {
		body, err := p.readFile(f.file)
		if err != nil {
			return nil, exit.Usagef("--file: %v", err)
		}
		return func(url string) *robots.Group {
			return parseFor(url, body, policy.Dialect).Group(policy.Token, policy.Aliases...)
		}, nil
	}
	s, err := p.snapshot(ctx, &f.siteFlags)
	if err != nil {
		return nil, err
	}
	g := s.Group(policy, s.Fetched)
	if g.Match("/").Access == robots.Defer {
		return nil, exit.With(exit.Nothing, fmt.Errorf("%s is unreachable: %s: a crawler must ask again later", s.URL, words.Answered(s)))
	}
	return func(string) *robots.Group { return g }, nil
}

func (p *program) readFile(name string) ([]byte, error) {
	if name == "-" {
		return io.ReadAll(p.in)
	}
	return os.ReadFile(name)
}

// absolute returns a path as a URL, so that paths and URLs are read in the same way.
func absolute(urlOrPath string) string {
	if isPath(urlOrPath) {
		return "http://host.invalid" + urlOrPath
	}
	return urlOrPath
}

func isPath(arg string) bool { return strings.HasPrefix(arg, "/") && !strings.HasPrefix(arg, "//") }

func (p *program) verdict(url string, v robots.Verdict, g *robots.Group, asJSON bool) error {
	group := strings.Join(g.Names(), ", ")
	if asJSON {
		return p.object(struct {
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
	return p.say("%-8s %s  %s", v.Access, url, by)
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

// A testCase is a line of a file of cases.
type testCase struct {
	ID      string  `json:"id"`
	Dialect string  `json:"dialect"`
	Robots  string  `json:"robots"`
	Base64  *string `json:"robots_b64"` // the exact bytes; overrides Robots
	Agent   string  `json:"agent"`
	URL     string  `json:"url"`
	Allow   *bool   `json:"allow"`
}

// robotsCases runs a file of cases.
func (p *program) robotsCases(f *testFlags, args []string) error {
	if len(args) > 0 {
		return exit.Usagef("--cases takes its URLs from the file, not from %q", args[0])
	}
	if f.file != "" || f.site != "" {
		return exit.Usagef("--cases goes with neither --file nor --site")
	}
	all, err := p.readFile(f.cases)
	if err != nil {
		return exit.Usagef("--cases: %v", err)
	}
	passed, failed, n := 0, 0, 0
	for line := range bytes.Lines(bytes.TrimPrefix(all, []byte("\ufeff"))) {
		n++
		if len(bytes.TrimSpace(line)) == 0 {
			continue
		}
		got, c, err := runCase(line, f.as.Dialect)
		switch {
		case err != nil: // a case that cannot be run counts as failed
			failed++
			err = p.say("%s:%d: %v", f.cases, n, err)
		case got.Allowed() == *c.Allow:
			passed++
		default:
			failed++
			err = p.failedCase(f, n, c, got)
		}
		if err != nil {
			return err
		}
	}
	if err := p.say("%d passed, %d failed", passed, failed); err != nil {
		return err
	}
	if failed > 0 {
		return exit.With(exit.Check, nil)
	}
	return nil
}

func runCase(line []byte, usual robots.Dialect) (robots.Verdict, *testCase, error) {
	c := &testCase{Dialect: usual.String()}
	if err := json.Unmarshal(line, c); err != nil {
		return robots.Verdict{}, nil, err
	}
	if c.Allow == nil {
		return robots.Verdict{}, nil, fmt.Errorf(`case %q has no "allow"`, c.ID)
	}
	dialect, err := robots.ParseDialect(c.Dialect)
	if err != nil {
		return robots.Verdict{}, nil, err
	}
	body := []byte(c.Robots)
	if c.Base64 != nil {
		if body, err = base64.StdEncoding.DecodeString(*c.Base64); err != nil {
			return robots.Verdict{}, nil, err
		}
	}
	target, err := robots.Target(absolute(c.URL))
	if err != nil {
		return robots.Verdict{}, nil, err
	}
	return parseFor(c.URL, body, dialect).Group(c.Agent).Match(target), c, nil
}

// parseFor parses a robots.txt for the site of url. If url is a URL and not a path, rules
// that are written as URLs apply only if they are of the same site.
func parseFor(url string, body []byte, d robots.Dialect) *robots.File {
	at, err := robots.Locate(url)
	if err != nil {
		return robots.Parse(body, d)
	}
	return robots.ParseFor(at, body, d)
}

func (p *program) failedCase(f *testFlags, n int, c *testCase, got robots.Verdict) error {
	if f.json {
		return p.object(struct {
			ID    string `json:"id"`
			Line  int    `json:"case_line"`
			URL   string `json:"url"`
			Agent string `json:"agent"`
			Allow bool   `json:"allow"`
			Want  bool   `json:"want"`
			Rule  string `json:"rule"`
			At    int    `json:"line"`
		}{c.ID, n, c.URL, c.Agent, got.Allowed(), *c.Allow, ruleText(got), got.Rule.Line})
	}
	want := "disallow"
	if *c.Allow {
		want = "allow"
	}
	return p.say("%s:%d: %s: %s for %s: got %s (line %d: %s), want %s",
		f.cases, n, c.ID, c.URL, c.Agent, got.Access, got.Rule.Line, ruleText(got), want)
}

func (p *program) lintCommand() *cobra.Command {
	var f siteFlags
	var asJSON bool
	var dialectName string
	cmd := &cobra.Command{
		Use:   "lint FILE ... | lint --site URL",
		Short: "name the mistakes in a robots.txt",
		Long: `lint prints what the owner of a robots.txt should know: rules that never
match, unknown keys, lines that are ignored. Each problem has its line and
column, a stable code, and how to correct it. It exits with 3 if there are any.

The problems are those of RFC 9309. With --dialect google or koster1996 it also
names the rules at which such a reader decides differently (read-otherwise).`,
		Example: `  crawl robots lint robots.txt
  crawl robots lint --dialect google --site https://example.org/`,
		RunE: func(cmd *cobra.Command, args []string) error {
			dialect, err := robots.ParseDialect(dialectName)
			if err != nil {
				return exit.Usagef("--dialect: %v", err)
			}
			if (len(args) == 0) == (f.site == "") {
				return exit.Usagef("give either files (- for standard input) or --site URL")
			}
			found := 0
			if f.site != "" {
				s, err := p.snapshot(cmd.Context(), &f)
				if err != nil {
					return err
				}
				if s.Status/100 != 2 || s.Failure != "" {
					return exit.With(exit.Nothing, fmt.Errorf("%s: there is no file to check: %s", s.URL, words.Answered(s)))
				}
				found, err = p.lint(s.URL, s.File(robots.RFC9309), dialect, asJSON)
				if err != nil {
					return err
				}
			}
			for _, name := range args {
				body, err := p.readFile(name)
				if err != nil {
					return exit.Usagef("%v", err)
				}
				n, err := p.lint(name, robots.Parse(body, robots.RFC9309), dialect, asJSON)
				if err != nil {
					return err
				}
				found += n
			}
			if found > 0 {
				return exit.With(exit.Check, nil)
			}
			return nil
		},
	}
	fs := cmd.Flags()
	f.register(fs)
	fs.BoolVar(&asJSON, "json", false, "print one JSON object per line")
	dialectName = robots.RFC9309.String()
	settings.Choose(fs, &dialectName, "dialect", "", "reader to compare with; rfc9309: no comparison", "rfc9309", "google", "koster1996")
	return cmd
}

// lint prints the problems of a file, and returns how many there are. A rule for which the
// dialect d and RFC 9309 give different verdicts is a problem, too. If d is RFC 9309, lint notes
// for how many rules each other dialect differs, and does not count them as problems.
func (p *program) lint(name string, f *robots.File, d robots.Dialect, asJSON bool) (int, error) {
	problems := append(f.Problems(), f.Differences(d)...)
	if d == robots.RFC9309 {
		for _, other := range []robots.Dialect{robots.Google, robots.Koster1996} {
			if n := len(f.Differences(other)); n > 0 {
				p.note("crawl: %s: a reader by %s decides differently at %d of its rules: --dialect %s names them", name, other, n, other)
			}
		}
	}
	for _, pr := range problems {
		var err error
		if asJSON {
			err = p.object(struct {
				File    string `json:"file"`
				Line    int    `json:"line"`
				Column  int    `json:"column"`
				Code    string `json:"code"`
				Message string `json:"message"`
				Hint    string `json:"hint,omitempty"`
			}{name, pr.Line, pr.Column, pr.Code, pr.Message, pr.Hint})
		} else {
			hint := ""
			if pr.Hint != "" {
				hint = "; " + pr.Hint
			}
			err = p.say("%s:%d:%d: %s: %s%s", name, pr.Line, pr.Column, pr.Code, pr.Message, hint)
		}
		if err != nil {
			return 0, err
		}
	}
	if len(problems) == 0 && !asJSON {
		return 0, p.say("%s: no problems", name)
	}
	return len(problems), nil
}

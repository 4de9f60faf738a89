package main

import (
	"bufio"
	"context"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"strings"

	"github.com/permesso-crawler/permesso/crawler"
	"github.com/permesso-crawler/permesso/fetch"
	"github.com/permesso-crawler/permesso/frontier"
	"github.com/permesso-crawler/permesso/robots"
	"github.com/spf13/cobra"
)

// testFlags are the flags of crawl robots test.
type testFlags struct {
	agent, file, site, cases, dialect, name, contact string
	json, allowPrivate                               bool
	connectTo                                        []string
}

func (p *program) robotsCommand() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "robots",
		Short: "test robots.txt files",
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
	fs.StringVar(&f.site, "site", "", "site whose robots.txt is to be fetched and tested")
	fs.StringVar(&f.cases, "cases", "", "file of regression cases")
	fs.StringVar(&f.dialect, "dialect", "rfc9309", "how to read it: rfc9309, google, koster1996")
	fs.BoolVar(&f.json, "json", false, "print one JSON object per line")
	fs.StringVar(&f.name, "name", "", "with --site: product token to ask under")
	fs.StringVar(&f.contact, "contact", "", "with --site: URL or e-mail address to ask under")
	fs.BoolVar(&f.allowPrivate, "allow-private", false, "with --site: talk to private addresses, too")
	fs.StringArrayVar(&f.connectTo, "connect-to", nil, "with --site: HOST1:PORT1:HOST2:PORT2, as in curl")
	cmd.AddCommand(test)
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
	var group *robots.Group
	if f.file != "" {
		body, err := p.readFile(f.file)
		if err != nil {
			return usage("--file: %v", err)
		}
		group = robots.Parse(body, dialect).Group(f.agent)
	} else if group, err = p.siteGroup(ctx, f, dialect); err != nil {
		return err
	}
	all := true
	for _, arg := range args {
		target, err := robots.Target(absolute(arg))
		if err != nil {
			return usage("%v", err)
		}
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

func (p *program) readFile(name string) ([]byte, error) {
	if name == "-" {
		return io.ReadAll(p.in)
	}
	return os.ReadFile(name)
}

// absolute makes a URL of a path, so that both are read alike.
func absolute(urlOrPath string) string {
	if strings.HasPrefix(urlOrPath, "/") {
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
	_, err := fmt.Fprintf(p.out, "%-8s %s  %s\n", v.Access, url, by)
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

// siteGroup asks a site for its robots.txt, as a crawl would.
func (p *program) siteGroup(ctx context.Context, f *testFlags, dialect robots.Dialect) (*robots.Group, error) {
	id, err := p.identity(f.name, f.contact)
	if err != nil {
		return nil, err
	}
	seeds, bad, err := crawler.ReadSeeds(strings.NewReader(f.site), "--site")
	if err != nil || len(bad) > 0 || len(seeds) != 1 {
		return nil, usage("--site: %q is no URL: write it as https://example.org/", f.site)
	}
	opts := fetch.Options{
		Policy: robots.Policy{Dialect: dialect, Token: f.agent}, UserAgent: id.UserAgent(), AllowPrivate: f.allowPrivate,
	}
	for _, s := range f.connectTo {
		c, err := fetch.ParseConnectTo(s)
		if err != nil {
			return nil, usage("%v", err)
		}
		opts.ConnectTo = append(opts.ConnectTo, c)
	}
	fetcher, err := fetch.New(opts)
	if err != nil {
		return nil, err
	}
	defer fetcher.Close()
	front, err := frontier.New(frontier.NewMemory(), frontier.Options{})
	if err != nil {
		return nil, err
	}
	u, err := seedURL(seeds[0])
	if err != nil {
		return nil, usage("--site: %v", err)
	}
	if err := front.Add(frontier.Entry{URL: u}); err != nil {
		return nil, err
	}
	// Each turn makes one request; a robots.txt that is redirected takes more.
	for {
		turn, err := front.Next(ctx)
		if err != nil {
			return nil, err
		}
		res, err := fetcher.Get(ctx, turn)
		if _, ferr := turn.Finish(res.Outcome); err == nil {
			err = ferr
		}
		switch {
		case err != nil:
			return nil, err
		case res.Rules != nil && res.Rules.Reachable():
			return res.Rules.Group(robots.Policy{Dialect: dialect, Token: f.agent}, res.Rules.Fetched), nil
		case res.Rules != nil:
			return nil, &exit{exitNothing, fmt.Errorf("%s: robots.txt is unreachable: %s: a crawler must ask again later", u.Site(), res.Outcome.Fate.Detail)}
		case !res.Outcome.Again:
			return nil, &exit{exitNothing, fmt.Errorf("%s: %s", u.Site(), res.Outcome.Fate.Detail)}
		}
	}
}

func seedURL(seed string) (frontier.URL, error) {
	u, err := frontier.ParseURL(seed)
	if err != nil && !strings.Contains(seed, "://") {
		u, err = frontier.ParseURL("https://" + seed)
	}
	return u, err
}

// A testCase is a line of a file of cases.
type testCase struct {
	ID      string  `json:"id"`
	Dialect string  `json:"dialect"`
	Robots  string  `json:"robots"`
	Base64  *string `json:"robots_b64"` // wins: the exact bytes
	Agent   string  `json:"agent"`
	URL     string  `json:"url"`
	Allow   *bool   `json:"allow"`
}

// robotsCases runs a file of cases.
func (p *program) robotsCases(f *testFlags, args []string) error {
	if len(args) > 0 {
		return usage("--cases takes its URLs from the file, not from %q", args[0])
	}
	file, err := os.Open(f.cases)
	if err != nil {
		return usage("--cases: %v", err)
	}
	defer file.Close()
	passed, failed := 0, 0
	s := bufio.NewScanner(file)
	s.Buffer(nil, 16<<20)
	for n := 1; s.Scan(); n++ {
		if strings.TrimSpace(s.Text()) == "" {
			continue
		}
		got, c, err := runCase(s.Bytes())
		if err != nil {
			return usage("%s:%d: %v", f.cases, n, err)
		}
		if got.Allowed() == *c.Allow {
			passed++
			continue
		}
		failed++
		if err := p.failedCase(f, n, c, got); err != nil {
			return err
		}
	}
	if err := s.Err(); err != nil {
		return usage("%s: %v", f.cases, err)
	}
	if _, err := fmt.Fprintf(p.out, "%d passed, %d failed\n", passed, failed); err != nil {
		return err
	}
	if failed > 0 {
		return &exit{exitCheck, nil}
	}
	return nil
}

func runCase(line []byte) (robots.Verdict, *testCase, error) {
	c := &testCase{Dialect: "rfc9309"}
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
	return robots.Parse(body, dialect).Group(c.Agent).Match(target), c, nil
}

func (p *program) failedCase(f *testFlags, n int, c *testCase, got robots.Verdict) error {
	if f.json {
		return json.NewEncoder(p.out).Encode(struct {
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
	_, err := fmt.Fprintf(p.out, "%s:%d: %s: %s for %s: got %s (line %d: %s), want %s\n",
		f.cases, n, c.ID, c.URL, c.Agent, got.Access, got.Rule.Line, ruleText(got), want)
	return err
}

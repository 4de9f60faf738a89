package main

import (
	"bytes"
	"encoding/base64"
	"encoding/json"
	"fmt"

	"github.com/permesso-crawler/permesso/cmd/crawl/internal/exit"
	"github.com/permesso-crawler/permesso/robots"
)

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

// parseFor parses a robots.txt for the site of url. If url is not a path, rules written as
// URLs count only for their own site.
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

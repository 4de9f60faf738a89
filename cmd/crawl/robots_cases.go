package main

import (
	"bufio"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"os"
	"strings"

	"github.com/permesso-crawler/permesso/robots"
)

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

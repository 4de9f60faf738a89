package main

import (
	"fmt"

	"github.com/permesso-crawler/permesso/cmd/crawl/internal/exit"
	"github.com/permesso-crawler/permesso/cmd/crawl/internal/settings"
	"github.com/permesso-crawler/permesso/robots"
	"github.com/spf13/cobra"
)

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
					return exit.With(exit.Nothing, fmt.Errorf("%s: there is no file to check: %s", s.URL, answered(s)))
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

// lint prints the problems of a file, with the rules at which a reader by the dialect
// decides differently, and returns their number. If d is RFC 9309, differences of other
// readers are not problems but are noted.
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

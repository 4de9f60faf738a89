package main

import (
	"fmt"
	"strings"
	"time"

	"github.com/permesso-crawler/permesso/cmd/crawl/internal/exit"
	"github.com/permesso-crawler/permesso/cmd/crawl/internal/say"
	"github.com/permesso-crawler/permesso/robots"
	"github.com/spf13/cobra"
)

func (p *program) showCommand() *cobra.Command {
	var f siteFlags
	var read readFlags
	var kept keptFlags
	var asJSON bool
	cmd := &cobra.Command{
		Use:   "show --site URL [--agent TOKEN] [--dialect NAME] | show DIR SITE [--at TIME] [--raw]",
		Short: "show a site's robots.txt, now or as a crawl saw it, and what it means",
		Long: `show fetches the robots.txt of a site, as a crawl would, and prints the
result: the answer, the group that applies, the pause it requires, its sitemaps, and when
a crawl fetches it again. With --json the file itself is in "body".

With the directory of a crawl and a site it fetches nothing: it shows the last copy that
the crawl has fetched, or with --at the one that was in force at a time, by the name
and the dialect of the crawl. A crawl keeps all copies.`,
		Example: `  crawl robots show --site https://example.org/
  crawl robots show news.crawl example.org
  crawl robots show news.crawl example.org --at 2026-07-01T12:00:00Z --raw`,
		RunE: func(cmd *cobra.Command, args []string) error {
			switch {
			case f.site != "":
				if err := noArgs(cmd, args); err != nil {
					return err
				}
				if kept != (keptFlags{}) {
					return exit.Usagef("--at and --raw are for what a crawl has kept: give its directory and a site instead of --site")
				}
			case len(args) == 2:
				return p.robotsKept(args[0], args[1], &kept, read.overrides(cmd.Flags()), asJSON)
			case len(args) > 0:
				return exit.Usagef("give the directory of a crawl and one site, as news.crawl example.org; or --site URL to ask a site")
			default:
				return exit.Usagef("--site: which site? such as --site https://example.org/")
			}
			policy, err := read.policy()
			if err != nil {
				return err
			}
			s, err := p.snapshot(cmd.Context(), &f)
			if err != nil {
				return err
			}
			if policy.Token == "" {
				id, err := p.identity(f.name, f.contact)
				if err != nil {
					return err
				}
				policy.Token = id.Token
			}
			return p.show(s, policy, asJSON)
		},
	}
	fs := cmd.Flags()
	f.register(fs)
	read.register(fs, "product `token` whose group is shown (default: that of --name)")
	kept.register(fs)
	fs.BoolVar(&asJSON, "json", false, "print a JSON object")
	return cmd
}

// shown is what show prints. The names of its fields are never changed.
type shown struct {
	URL        string    `json:"url"`
	Final      string    `json:"final,omitempty"`
	Fetched    time.Time `json:"fetched"`
	Status     int       `json:"status"`
	Failure    string    `json:"failure,omitempty"`
	Access     string    `json:"access"` // of "/"
	Reason     string    `json:"reason"`
	Agent      string    `json:"agent"`
	Dialect    string    `json:"dialect"`
	Group      []string  `json:"group,omitempty"`
	GroupLine  int       `json:"group_line,omitempty"`
	CrawlDelay float64   `json:"crawl_delay_seconds,omitempty"`
	Rate       float64   `json:"request_rate_seconds,omitempty"`
	VisitTime  []string  `json:"visit_time,omitempty"`
	Sitemaps   []string  `json:"sitemaps,omitempty"`
	Problems   int       `json:"problems"`
	Expires    time.Time `json:"expires"`
	Size       int       `json:"size"`
	Cut        bool      `json:"cut,omitempty"`
	Body       string    `json:"body,omitempty"`
}

// shownOf returns what show prints about a snapshot, and the verdict on "/".
func shownOf(s *robots.Snapshot, policy robots.Policy) (shown, robots.Verdict) {
	g := s.Group(policy, s.Fetched)
	v := g.Match("/")
	out := shown{
		URL: s.URL, Final: s.Final, Fetched: s.Fetched.UTC(), Status: s.Status, Failure: s.Failure,
		Access: v.Access.String(), Reason: v.Reason.String(), Agent: policy.Token, Dialect: policy.Dialect.String(), Group: g.Names(), GroupLine: g.Line(),
		Expires: s.Expires(policy).UTC(), Size: len(s.Body), Cut: s.Cut, Body: string(s.Body),
	}
	if d, ok := g.CrawlDelay(); ok {
		out.CrawlDelay = d.Seconds()
	}
	if d, ok := g.RequestRate(); ok {
		out.Rate = d.Seconds()
	}
	if windows, ok := g.VisitTime(); ok {
		for _, w := range windows {
			out.VisitTime = append(out.VisitTime, fmt.Sprintf("%02d:%02d-%02d:%02d UTC", w.Start/60, w.Start%60, w.End/60, w.End%60))
		}
	}
	if f := s.File(policy.Dialect); f != nil && s.Status/100 == 2 {
		out.Sitemaps, out.Problems = f.Sitemaps(), len(f.Problems())
	}
	return out, v
}

func (p *program) show(s *robots.Snapshot, policy robots.Policy, asJSON bool) error {
	out, v := shownOf(s, policy)
	if asJSON {
		return p.object(out)
	}
	w := &say.Lines{W: p.out}
	robotsLines(w, &out, v, s, policy, "crawl robots lint --site")
	fileLines(w, out.Body)
	return w.Err
}

// robotsLines prints everything except the file itself. lint is the command that names its
// problems.
func robotsLines(w *say.Lines, out *shown, v robots.Verdict, s *robots.Snapshot, policy robots.Policy, lint string) {
	w.Line("asked", "%s at %s", out.URL, out.Fetched.Format(time.RFC3339))
	if out.Final != "" {
		w.Line("redirected", "to %s", out.Final)
	}
	w.Line("answered", "%s, %s", answered(s), say.Size(int64(len(s.Body))))
	switch {
	case v.Access == robots.Defer:
		w.Line("means", "nothing of the site may be fetched before it answers")
	case len(out.Group) > 0:
		w.Line("group", "line %d: %s", out.GroupLine, strings.Join(out.Group, ", "))
	default:
		w.Line("means", "%s everything: %s", v.Access, out.Reason)
	}
	if policy.Dialect != robots.RFC9309 {
		w.Line("read by", "%s", policy.Dialect)
	}
	if out.CrawlDelay > 0 {
		w.Line("crawl-delay", "%gs", out.CrawlDelay)
	}
	if out.Rate > 0 {
		w.Line("rate", "a request in %gs", out.Rate)
	}
	if out.VisitTime != nil {
		w.Line("visit-time", "%s", strings.Join(out.VisitTime, ", "))
	}
	for _, m := range out.Sitemaps {
		w.Line("sitemap", "%s", m)
	}
	if out.Problems > 0 {
		w.Line("problems", "%d: %s names them", out.Problems, lint)
	}
	w.Line("asked again", "after %s", out.Expires.Format(time.RFC3339))
}

// fileLines prints a robots.txt after a blank line.
func fileLines(w *say.Lines, body string) {
	if body != "" && w.Err == nil {
		_, w.Err = fmt.Fprintf(w.W, "\n%s\n", strings.TrimRight(say.Printable(body), "\n"))
	}
}

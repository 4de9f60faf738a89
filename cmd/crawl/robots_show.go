package main

import (
	"fmt"
	"strings"
	"time"

	"github.com/permesso-crawler/permesso/robots"
	"github.com/spf13/cobra"
)

func (p *program) showCommand() *cobra.Command {
	var f siteFlags
	var read readFlags
	var asJSON bool
	cmd := &cobra.Command{
		Use:   "show --site URL [--agent TOKEN] [--dialect NAME]",
		Short: "show what a site answers for its robots.txt, and what that means",
		Long: `show asks a site for its robots.txt, as a crawl would, and prints what came of
it: the answer, the group that applies, the pause it asks, its sitemaps, and when
a crawl asks again. With --json the file itself is in "body".`,
		Args: noArgs,
		RunE: func(cmd *cobra.Command, args []string) error {
			if f.site == "" {
				return usage("--site: which site? such as --site https://example.org/")
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
	read.register(fs, "product token whose group is shown (default: the one that asks)")
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

// shownOf is what show prints of a snapshot, and the verdict on "/".
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
	w := &lines{w: p.out}
	w.line("asked", "%s at %s", out.URL, out.Fetched.Format(time.RFC3339))
	if out.Final != "" {
		w.line("redirected", "to %s", out.Final)
	}
	w.line("answered", "%s, %s", answered(s), size(int64(out.Size)))
	switch {
	case v.Access == robots.Defer:
		w.line("means", "nothing of the site may be fetched before it answers")
	case len(out.Group) > 0:
		w.line("group", "line %d: %s", out.GroupLine, strings.Join(out.Group, ", "))
	default:
		w.line("means", "%s everything: %s", v.Access, out.Reason)
	}
	if policy.Dialect != robots.RFC9309 {
		w.line("read by", "%s", policy.Dialect)
	}
	if out.CrawlDelay > 0 {
		w.line("crawl-delay", "%gs", out.CrawlDelay)
	}
	if out.Rate > 0 {
		w.line("rate", "a request in %gs", out.Rate)
	}
	if out.VisitTime != nil {
		w.line("visit-time", "%s", strings.Join(out.VisitTime, ", "))
	}
	for _, m := range out.Sitemaps {
		w.line("sitemap", "%s", m)
	}
	if out.Problems > 0 {
		w.line("problems", "%d: crawl robots lint --site names them", out.Problems)
	}
	w.line("asked again", "after %s", out.Expires.Format(time.RFC3339))
	if len(s.Body) > 0 && w.err == nil {
		_, w.err = fmt.Fprintf(p.out, "\n%s\n", strings.TrimRight(printable(string(s.Body)), "\n"))
	}
	return w.err
}

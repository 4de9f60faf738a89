package main

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"path/filepath"
	"strings"
	"time"

	"github.com/permesso-crawler/permesso/crawler"
	"github.com/permesso-crawler/permesso/crawler/audit"
	"github.com/permesso-crawler/permesso/frontier"
	"github.com/permesso-crawler/permesso/internal/outfile"
	"github.com/spf13/cobra"
)

// auditFlags are the flags of crawl audit.
type auditFlags struct {
	json                   bool
	out, temp, site        string
	accessLog, heritrixLog string
	agent, robots, delay   string
	host                   string
	as                     crawler.Options // how a robots.txt is read
	given                  func(name string) bool
}

// certificateFile is what a certificate is called in the directory of its crawl.
const certificateFile = "audit.json"

func (p *program) auditCommand() *cobra.Command {
	var f auditFlags
	cmd := &cobra.Command{
		Use:   "audit [flags] DIR | audit --access-log FILE --agent NAME [--host HOST] [--robots FILE]",
		Short: "check whether a crawl was polite, and name what was not",
		Long: `audit recomputes from crawl.log and the stored copies of robots.txt, and from
nothing else that the crawl believed: each pause against all that was asked, how
many requests were under way at once, each URL against the robots.txt in force at
that moment, how old that was, rests after 429, 503 and Retry-After, and the name
that requests went out under. Each violation is named with its line and the rule,
and the command exits with 3. What was checked, with the digests of the evidence,
goes to audit.json in the directory: the same evidence makes the same file. No
crawl may run in the directory.

With --site it answers a complaint: what was asked of a host, when, by which rule,
and at which pace.

With --access-log it is for who owns a site, and for any crawler: it reads the log
of nginx or Apache. Docs: docs/audit.md.`,
		Example: `  crawl audit news.crawl
  crawl audit news.crawl --site www.example.com
  crawl audit --access-log a.log --agent bot --host example.com --robots r.txt`,
		RunE: func(cmd *cobra.Command, args []string) error {
			f.given = func(name string) bool { return cmd.Flags().Changed(name) }
			return p.runAudit(&f, args)
		},
	}
	flags := cmd.Flags()
	flags.BoolVar(&f.json, "json", false, "print what was found as JSON")
	flags.StringVarP(&f.out, "out", "o", "", "`file` for the certificate; none: no file (default: audit.json in DIR)")
	flags.StringVar(&f.temp, "temp", "", "`directory` for temporary files, some 1,200 bytes a request (default: the system's)")
	flags.StringVar(&f.site, "site", "", "`host` of which all requests are told")
	flags.StringVar(&f.accessLog, "access-log", "", "log `file` of nginx or Apache in the combined format, with the host first or without (- for standard input)")
	flags.StringVar(&f.heritrixLog, "heritrix-log", "", "crawl.log `file` of Heritrix (- for standard input)")
	flags.StringVar(&f.agent, "agent", "", "`name` of the crawler, a word of its User-Agent in the access log")
	flags.StringVar(&f.host, "host", "", "`host` that the log is of: lines that name another are left out")
	flags.StringVar(&f.robots, "robots", "", "robots.txt `file` of --host that was in force")
	flags.StringVar(&f.delay, "delay", "", "`duration` of the pause that was asked, as 2s, in place of that of --robots")
	borrow(flags, &f.as, "", "dialect")
	return cmd
}

// runAudit sorts out which audit is meant.
func (p *program) runAudit(f *auditFlags, args []string) error {
	logs := f.accessLog != "" || f.heritrixLog != ""
	only := func(names ...string) string {
		for _, n := range names {
			if f.given(n) {
				return n
			}
		}
		return ""
	}
	switch {
	case f.accessLog != "" && f.heritrixLog != "":
		return usage("give either --access-log or --heritrix-log")
	case logs && len(args) > 0:
		return usage("a log is audited without a directory: %q is one argument too many", args[0])
	case logs && only("out", "site", "temp") != "":
		return usage("--%s is for the audit of a directory", only("out", "site", "temp"))
	case f.accessLog != "" && f.agent == "":
		return usage("--agent: which crawler? its name, as its User-Agent in the log has it, such as --agent somebot")
	case f.robots != "" && f.agent == "":
		return usage("--agent: whose group of %s counts? such as --agent somebot", f.robots)
	case f.robots != "" && f.host == "":
		return usage("--host: the robots.txt of which host is %s? such as --host www.example.com", f.robots)
	case logs:
		return p.auditLog(f)
	case only("agent", "host", "robots", "delay", "dialect") != "":
		return usage("--%s is for --access-log and --heritrix-log: a crawl has kept what was asked of it", only("agent", "host", "robots", "delay", "dialect"))
	case len(args) != 1:
		return usage("crawl audit takes one argument, the directory of a crawl")
	case !exists(args[0]):
		return noDirectory(args[0])
	case newestIn(args[0]) != "":
		return noCrawlIn(args[0])
	case f.site != "":
		return p.auditSite(f, args[0])
	}
	return p.auditDir(f, args[0])
}

// auditError names the exit code of what ended an audit.
func auditError(dir string, err error) error {
	var line *audit.LineError
	if errors.As(err, &line) {
		return &exit{exitState, fmt.Errorf("%w: crawl verify says what else is damaged", err)}
	}
	return meanwhileOf(dir, err)
}

// broken is how an audit ends that has found something.
func broken(n int64) error {
	if n == 0 {
		return nil
	}
	return &exit{exitCheck, nil}
}

func (p *program) auditDir(f *auditFlags, dir string) error {
	if f.out != "" && f.out != "none" {
		if err := checkOutput("--out", f.out); err != nil {
			return err
		}
	}
	var r *audit.Report
	var err error
	p.meanwhile(reading("audit", dir), func() { r, err = audit.Dir(dir, audit.Options{Temp: f.temp}) })
	if err != nil {
		return auditError(dir, err)
	}
	out, err := p.certify(f, dir, r)
	if err != nil {
		return err
	}
	if f.json {
		err = p.object(certificateOf(r))
	} else {
		err = p.audited(dir, out, r)
	}
	return errors.Join(err, broken(r.Violated))
}

// A certificate is a report, and what made it.
type certificate struct {
	Format  string `json:"format"`
	Program string `json:"program"`
	*audit.Report
}

func certificateOf(r *audit.Report) certificate {
	return certificate{"permesso-audit/1", "permesso/" + crawler.Version, r}
}

// certify writes the certificate, and returns the name of its file. That of a directory
// that cannot be written is left out, unless it was asked for by name.
func (p *program) certify(f *auditFlags, dir string, r *audit.Report) (string, error) {
	path := cmp.Or(f.out, filepath.Join(dir, certificateFile))
	if f.out == "none" {
		return "", nil
	}
	text, err := json.MarshalIndent(certificateOf(r), "", "  ")
	if err != nil {
		return "", err
	}
	err = outfile.Write(path, []byte(escaped(string(text))+"\n"))
	if err != nil && f.out == "" {
		p.note("crawl: no certificate was written: %v; --out names another file", err)
		return "", nil
	}
	return path, outputError("--out", path, err)
}

// told is line, of what others have written: it stays one line.
func (l *lines) told(label, format string, args ...any) {
	l.line(label, "%s", oneLine(fmt.Sprintf(format, args...)))
}

// audited tells a report.
func (p *program) audited(dir, out string, r *audit.Report) error {
	w := &lines{w: p.out, width: terminalWidth(p.out)}
	killed := ""
	if r.Killed > 0 {
		killed = fmt.Sprintf(", %d of them killed", r.Killed)
	}
	w.told("audited", "%s of %s: %s, %s, to %s in %s%s", dir, r.Token, plural(int(r.Requests), "request"), ofThem(int(r.RobotsRequests), int(r.UseRequests)), plural(int(r.Sites), "site"), plural(r.Runs, "run"), killed)
	if r.Requests > 0 {
		w.told("from", "%s to %s", r.First.Format(time.RFC3339), r.Last.Format(time.RFC3339))
	}
	w.told("evidence", "%s, %s, sha256 %s", r.Log, plural(int(r.LogLines), "line"), r.LogSHA256)
	w.told("", "%s of robots.txt, sha256 %s", copies(int(r.Copies)), r.CopiesSHA256)
	w.checks(r.Checks)
	for _, m := range r.Margins {
		w.told("least margin", "%s: %s beyond what it asked, of %s (line %d)", m.Clock, inSeconds(m.Least), plural(int(m.Requests), "request"), m.Line)
	}
	for i, u := range r.Unproven {
		if i == maxProblems {
			w.told("", "and %d more", r.UnprovenLines-maxProblems)
			break
		}
		w.told("unproven", "line %d: %s", u.Line, u.Why)
	}
	for _, text := range r.Remarks {
		w.told("remark", "%s", text)
	}
	w.violations(r.Log, r.Violations, r.Violated)
	w.result(r.Violated)
	if out != "" {
		w.told("certificate", "%s", out)
	}
	return w.err
}

// ofThem says how many requests were for what has to be known before a page.
func ofThem(robots, use int) string {
	text := fmt.Sprintf("%d of them for robots.txt", robots)
	if use > 0 {
		text += fmt.Sprintf(", %d for tdmrep.json and licenses", use)
	}
	return text
}

// checks tells what each rule was held against.
func (l *lines) checks(all []audit.Check) {
	for _, c := range all {
		text := "nothing to hold it against"
		switch {
		case c.Violations > 0:
			text = fmt.Sprintf("broken %s of %d", often(c.Violations), c.Checked)
		case c.Checked > 0:
			text = "kept " + often(c.Checked)
		}
		l.told(string(c.Code), "%s: %s", c.Rule, text)
	}
}

// violations tells the first of them.
func (l *lines) violations(log string, list []audit.Violation, all int64) {
	for i := range list {
		if i == maxProblems {
			break
		}
		text := list[i].String()
		if len(list[i].Lines) > 0 {
			text = log + ":" + text
		}
		l.told("VIOLATION", "%s", text)
	}
	if more := all - int64(min(len(list), maxProblems)); more > 0 {
		l.told("", "and %d more", more)
	}
}

func (l *lines) result(violated int64) {
	if violated == 0 {
		l.told("result", "no rule was broken")
		return
	}
	l.told("result", "%s", plural(int(violated), "violation"))
}

// inSeconds is a time in seconds as people read it.
func inSeconds(s float64) string {
	d := time.Duration(s * float64(time.Second)).Round(time.Microsecond)
	if d.Abs() >= time.Second {
		d = d.Round(time.Millisecond)
	}
	return d.String()
}

// hostOf is the host name that a flag means, which may be a URL.
func hostOf(flag, text string) (string, error) {
	raw := text
	if !strings.Contains(raw, "://") {
		raw = "http://" + raw + "/"
	}
	u, err := frontier.ParseURL(raw)
	if err != nil {
		return "", usage("--%s: %v", flag, err)
	}
	return u.Host(), nil
}

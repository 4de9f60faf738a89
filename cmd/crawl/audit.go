package main

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"path/filepath"
	"strings"
	"time"

	"github.com/permesso-crawler/permesso/cmd/crawl/internal/crawldir"
	"github.com/permesso-crawler/permesso/cmd/crawl/internal/exit"
	"github.com/permesso-crawler/permesso/cmd/crawl/internal/say"
	"github.com/permesso-crawler/permesso/cmd/crawl/internal/settings"
	"github.com/permesso-crawler/permesso/crawler"
	"github.com/permesso-crawler/permesso/frontier"
	"github.com/permesso-crawler/permesso/internal/audit"
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
	as                     crawler.Options // settings for reading a robots.txt
	given                  func(name string) bool
}

// certificateFile is the name of the certificate in the directory of its crawl.
const certificateFile = "audit.json"

func (p *program) auditCommand() *cobra.Command {
	var f auditFlags
	cmd := &cobra.Command{
		Use:   "audit [flags] DIR... | audit --access-log FILE --agent NAME [--host HOST] [--robots FILE]",
		Short: "check whether a crawl was polite, and name what was not",
		Long: `audit recomputes from crawl.log and the stored copies of robots.txt, and from
nothing else that the crawl believed: each pause against all that was asked, how
many requests were under way at once, each URL against the robots.txt in force at
that moment, how old that was, rests after 429, 503 and Retry-After, and the name
that requests went out under. Each violation is named with its line and the rule,
and the command exits with 3. What was checked, with the digests of the evidence,
goes to audit.json in the directory: the same evidence makes the same file. No
crawl may run in the directory.

Several directories of one machine are audited each by itself and together: crawls
of the same hosts share clocks. With DIR and --access-log, the log of a server
that was crawled, each request of the crawl has to be in both logs.

With --site it answers a complaint: which requests a host got, when, by which rule,
and at which pace.

With --access-log alone it is for site owners, and for any crawler: it reads the log
of nginx or Apache. Docs: docs/reference/audit.md.`,
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
	flags.StringVar(&f.temp, "temp", "", "`directory` for temporary files, some 1,300 bytes a request (default: the system's)")
	flags.StringVar(&f.site, "site", "", "`host` to list all requests of")
	flags.StringVar(&f.accessLog, "access-log", "", "log `file` of nginx or Apache in the combined format, with the host first or without (- for standard input)")
	flags.StringVar(&f.heritrixLog, "heritrix-log", "", "crawl.log `file` of Heritrix (- for standard input)")
	flags.StringVar(&f.agent, "agent", "", "`name` of the crawler, a word of its User-Agent in the access log")
	flags.StringVar(&f.host, "host", "", "`host` of the log: lines that name another are left out")
	flags.StringVar(&f.robots, "robots", "", "robots.txt `file` of --host that was in force")
	flags.StringVar(&f.delay, "delay", "", "`duration` of the required pause, as 2s, in place of that of --robots")
	settings.Borrow(flags, &f.as, "", "dialect")
	return cmd
}

// runAudit runs the audit that the flags choose.
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
		return exit.Usagef("give either --access-log or --heritrix-log")
	case len(args) > 0:
		return p.runAuditDirs(f, args, only)
	case logs && only("out", "site", "temp") != "":
		return exit.Usagef("--%s is for the audit of a directory", only("out", "site", "temp"))
	case f.accessLog != "" && f.agent == "":
		return exit.Usagef("--agent: which crawler? its name, as its User-Agent in the log has it, such as --agent somebot")
	case f.robots != "" && f.agent == "":
		return exit.Usagef("--agent: whose group of %s counts? such as --agent somebot", f.robots)
	case f.robots != "" && f.host == "":
		return exit.Usagef("--host: the robots.txt of which host is %s? such as --host www.example.com", f.robots)
	case logs:
		return p.auditLog(f)
	}
	return exit.Usagef("crawl audit takes the directories of crawls as arguments")
}

// runAuditDirs runs the audit of directories that the flags choose.
func (p *program) runAuditDirs(f *auditFlags, dirs []string, only func(names ...string) string) error {
	several := len(dirs) > 1
	switch name := only("agent", "robots", "delay", "dialect", "heritrix-log"); {
	case name == "heritrix-log":
		return exit.Usagef("--heritrix-log is audited without a directory: %q is one argument too many", dirs[0])
	case name != "":
		return exit.Usagef("--%s is for the audit of a log without a directory: a crawl has kept what was asked of it", name)
	case f.host != "" && f.accessLog == "":
		return exit.Usagef("--host is for --access-log")
	case f.site != "" && f.accessLog != "":
		return exit.Usagef("give either --site or --access-log")
	case several && (f.site != "" || f.accessLog != ""):
		return exit.Usagef("--%s is for the audit of one directory", only("site", "access-log"))
	case several && f.out != "" && f.out != "none":
		return exit.Usagef("--out names one file, and there is a certificate for each of %d directories", len(dirs))
	}
	seen := map[string]bool{}
	for _, dir := range dirs {
		switch name, err := filepath.EvalSymlinks(dir); {
		case !crawldir.Exists(dir) || err != nil:
			return crawldir.Missing(dir)
		case crawldir.Newest(dir) != "":
			return crawldir.NoCrawl(dir)
		case seen[name]:
			return exit.Usagef("%s is given twice", dir)
		default:
			seen[name] = true
		}
	}
	if f.site != "" {
		return p.auditSite(f, dirs[0])
	}
	return p.auditDirs(f, dirs)
}

// auditError adds the exit code to the error of an audit.
func auditError(f *auditFlags, dir string, err error) error {
	var line *audit.LineError
	if errors.As(err, &line) {
		if f.accessLog != "" && line.File == filepath.Base(f.accessLog) {
			return exit.Usagef("%v", err)
		}
		return exit.With(exit.State, fmt.Errorf("%w: crawl verify says what else is damaged", err))
	}
	return exit.Meanwhile(dir, err)
}

// broken returns the error of an audit that has found n violations.
func broken(n int64) error {
	if n == 0 {
		return nil
	}
	return exit.With(exit.Check, nil)
}

// A certificate is a report, and the program that made it.
type certificate struct {
	Format  string `json:"format"`
	Program string `json:"program"`
	*audit.Report
}

func certificateOf(r *audit.Report) certificate {
	return certificate{"permesso-audit/1", "permesso/" + crawler.Version, r}
}

// certify writes the certificate, and returns the name of its file. If the directory of the
// crawl is not writable it writes none, unless --out names a file.
func (p *program) certify(f *auditFlags, dir string, r *audit.Report) (string, error) {
	path := cmp.Or(f.out, filepath.Join(dir, certificateFile))
	if f.out == "none" {
		return "", nil
	}
	text, err := json.MarshalIndent(certificateOf(r), "", "  ")
	if err != nil {
		return "", err
	}
	err = outfile.Write(path, []byte(say.Escaped(string(text))+"\n"))
	if err != nil && f.out == "" {
		p.note("crawl: no certificate was written: %v; --out names another file", err)
		return "", nil
	}
	return path, outputError("--out", path, err)
}

// audited prints a report.
func (p *program) audited(dir, out string, r *audit.Report) error {
	w := p.lines()
	killed := ""
	if r.Killed > 0 {
		killed = fmt.Sprintf(", %d of them killed", r.Killed)
	}
	w.Told("audited", "%s of %s: %s, %s, to %s in %s%s", dir, r.Token, say.Plural(int(r.Requests), "request"), ofThem(int(r.RobotsRequests), int(r.UseRequests)), say.Plural(int(r.Sites), "site"), say.Plural(r.Runs, "run"), killed)
	if r.Requests > 0 {
		w.Told("from", "%s to %s", r.First.Format(time.RFC3339), r.Last.Format(time.RFC3339))
	}
	w.Told("evidence", "%s, %s, sha256 %s", r.Log, say.Plural(int(r.LogLines), "line"), r.LogSHA256)
	w.Told("", "%s of robots.txt, sha256 %s", copies(int(r.Copies)), r.CopiesSHA256)
	if r.Server != nil {
		besideLine(w, r.Server)
	}
	checkLines(w, r.Checks)
	for _, m := range r.Margins {
		w.Told("least margin", "%s: %s beyond what it asked, of %s (line %d)", m.Clock, say.InSeconds(m.Least), say.Plural(int(m.Requests), "request"), m.Line)
	}
	for i, u := range r.Unproven {
		if i == maxProblems {
			w.Told("", "and %d more", r.UnprovenLines-maxProblems)
			break
		}
		w.Told("unproven", "line %d: %s", u.Line, u.Why)
	}
	for _, text := range r.Remarks {
		w.Told("remark", "%s", text)
	}
	violationLines(w, r.Log, r.Violations, r.Violated)
	resultLine(w, r.Violated)
	if out != "" {
		w.Told("certificate", "%s", out)
	}
	return w.Err
}

// ofThem returns how many requests were for files that are read before pages.
func ofThem(robots, use int) string {
	text := fmt.Sprintf("%d of them for robots.txt", robots)
	if use > 0 {
		text += fmt.Sprintf(", %d for tdmrep.json and licenses", use)
	}
	return text
}

// checkLines prints what each rule was checked against.
func checkLines(l *say.Lines, all []audit.Check) {
	for _, c := range all {
		text := "nothing to hold it against"
		switch {
		case c.Violations > 0:
			text = fmt.Sprintf("broken %s of %d", say.Often(c.Violations), c.Checked)
		case c.Checked > 0:
			text = "kept " + say.Often(c.Checked)
		}
		l.Told(string(c.Code), "%s: %s", c.Rule, text)
	}
}

// violationLines tells the first of them.
func violationLines(l *say.Lines, log string, list []audit.Violation, all int64) {
	for i := range list {
		if i == maxProblems {
			break
		}
		text := list[i].String()
		if len(list[i].Lines) > 0 {
			text = log + ":" + text
		}
		l.Told("VIOLATION", "%s", text)
	}
	if more := all - int64(min(len(list), maxProblems)); more > 0 {
		l.Told("", "and %d more", more)
	}
}

func resultLine(l *say.Lines, violated int64) {
	if violated == 0 {
		l.Told("result", "no rule was broken")
		return
	}
	l.Told("result", "%s", say.Plural(int(violated), "violation"))
}

// hostOf is the host name that a flag means, which may be a URL.
func hostOf(flag, text string) (string, error) {
	raw := text
	if !strings.Contains(raw, "://") {
		raw = "http://" + raw + "/"
	}
	u, err := frontier.ParseURL(raw)
	if err != nil {
		return "", exit.Usagef("--%s: %v", flag, err)
	}
	return u.Host(), nil
}

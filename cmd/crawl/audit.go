package main

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"

	"github.com/permesso-crawler/permesso/cmd/crawl/internal/crawldir"
	"github.com/permesso-crawler/permesso/cmd/crawl/internal/exit"
	"github.com/permesso-crawler/permesso/cmd/crawl/internal/output"
	"github.com/permesso-crawler/permesso/cmd/crawl/internal/say"
	"github.com/permesso-crawler/permesso/cmd/crawl/internal/settings"
	"github.com/permesso-crawler/permesso/cmd/crawl/internal/show"
	"github.com/permesso-crawler/permesso/crawler"
	"github.com/permesso-crawler/permesso/frontier"
	"github.com/permesso-crawler/permesso/internal/audit"
	"github.com/permesso-crawler/permesso/internal/gauge"
	"github.com/permesso-crawler/permesso/internal/outfile"
	"github.com/permesso-crawler/permesso/robots"
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

// certificateFile is the name of the file with the result of an audit. The file is in the
// directory of the audited crawl.
const certificateFile = "audit.json"

func (p *program) auditCommand() *cobra.Command {
	var f auditFlags
	cmd := &cobra.Command{
		Use:   "audit [flags] DIR... | audit --access-log FILE --agent NAME [--host HOST] [--robots FILE]",
		Short: "check whether a crawl was polite, and name what was not",
		Long: `audit checks from crawl.log and the stored copies of robots.txt whether a crawl
was polite. It checks each pause, the number of requests at the same time, each
URL against the robots.txt that was in force, the age of that robots.txt, the
waits after 429, 503 and Retry-After, and the name in the requests. It uses
nothing else that the crawl has recorded. Each violation is printed with its line
and the rule, and the command exits with 3. audit.json in the directory gets the
results and the digests of the evidence: the same evidence makes the same file.
No crawl may run in the directory.

Several directories of one machine are audited each by itself, and together,
because crawls of the same hosts share their pauses. With DIR and --access-log,
the log of a server, each request of the crawl to that server must be in both
logs.

With --site it lists all requests to one host, with their times, pauses and
rules, for instance to answer a complaint.

With --access-log alone it is for site owners: it reads the log of nginx or
Apache, and judges any crawler. Docs: docs/reference/audit.md.`,
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
	flags.StringVar(&f.delay, "delay", "", "`duration` of the pause that was required, such as 2s, instead of that of --robots")
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
		return exit.Usagef("--host is missing: give the host of %s, as --host www.example.com", f.robots)
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
		case crawldir.IsOther(dir):
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

// broken returns the error of an audit that has found n violations, or nil if n is 0.
func broken(n int64) error {
	if n == 0 {
		return nil
	}
	return exit.With(exit.Check, nil)
}

// A certificate is what is written to the file of an audit: the report, and before it the
// format of the file and the program that made the audit.
type certificate struct {
	Format  string `json:"format"`
	Program string `json:"program"`
	*audit.Report
}

func certificateOf(r *audit.Report) certificate {
	return certificate{"permesso-audit/2", "permesso/" + crawler.Version, r}
}

// certify writes the certificate, and returns the name of its file. If the directory of the
// crawl is not writable, it writes no certificate and returns "", unless --out names a
// file.
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
	return path, output.Error("--out", path, err)
}

// hostOf returns the host name that a user has given to a flag, alone or in a URL.
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

// auditDirs audits the crawls in directories. If there is one directory, it audits that crawl,
// perhaps with the log of a server. Several crawls must be of one machine: it audits each by
// itself, and then all together.
func (p *program) auditDirs(f *auditFlags, dirs []string) error {
	if f.out != "" && f.out != "none" {
		if err := output.Check("--out", f.out); err != nil {
			return err
		}
	}
	o := audit.Options{Temp: f.temp, Gauge: new(gauge.Gauge)}
	if f.accessLog != "" {
		done, err := p.serverLog(f, &o)
		if err != nil {
			return err
		}
		defer done()
	}
	if len(dirs) == 1 {
		var r *audit.Report
		var err error
		p.meanwhile(reading("audit", dirs[0], o.Gauge), func() { r, err = audit.Dir(dirs[0], o) })
		if err != nil {
			return auditError(f, dirs[0], err)
		}
		return errors.Join(p.judged(f, dirs[0], r), broken(r.Violated))
	}
	var all []*audit.Report
	var joint *audit.Joint
	var err error
	p.meanwhile(reading("audit", strings.Join(dirs, ", "), o.Gauge), func() { all, joint, err = audit.Together(dirs, o) })
	var of *audit.DirError
	if errors.As(err, &of) {
		return auditError(f, of.Dir, err)
	}
	if err != nil {
		return err
	}
	violated := joint.Violated
	for i, r := range all {
		if err := p.judged(f, dirs[i], r); err != nil {
			return err
		}
		violated += r.Violated
	}
	return errors.Join(p.together(f, joint), broken(violated))
}

// serverLog opens the log of a server for the audit of a directory. The caller must call
// done after the audit.
func (p *program) serverLog(f *auditFlags, o *audit.Options) (done func(), err error) {
	o.Server = &audit.ServerLog{Name: filepath.Base(f.accessLog), Log: p.in}
	if f.host != "" {
		if o.Server.Host, err = hostOf("host", f.host); err != nil {
			return nil, err
		}
	}
	if f.accessLog == "-" {
		return func() {}, nil
	}
	file, err := os.Open(f.accessLog)
	if err != nil {
		return nil, exit.Usagef("%v", err)
	}
	o.Server.Log = file
	return func() { file.Close() }, nil
}

// judged writes the certificate of the crawl in dir, and prints the report r of its audit.
func (p *program) judged(f *auditFlags, dir string, r *audit.Report) error {
	out, err := p.certify(f, dir, r)
	if err != nil {
		return err
	}
	if f.json {
		return p.object(certificateOf(r))
	}
	return show.Audit(p.lines(), dir, out, r)
}

// together prints what an audit of several crawls found about their requests taken together.
func (p *program) together(f *auditFlags, joint *audit.Joint) error {
	if f.json {
		return p.object(struct {
			Together *audit.Joint `json:"together"`
		}{joint})
	}
	return show.Together(p.lines(), joint)
}

// auditLog audits the requests that a crawler, which may be any program, has made to one
// server. It reads them from the access log of the server.
func (p *program) auditLog(f *auditFlags) error {
	v, err := p.visitor(f)
	if err != nil {
		return err
	}
	name := cmp.Or(f.accessLog, f.heritrixLog)
	in := p.in
	if name != "-" {
		file, err := os.Open(name)
		if err != nil {
			return exit.Usagef("%v", err)
		}
		defer file.Close()
		in = file
	}
	read := func(name string, in io.Reader) (*audit.Visited, error) { return v.Access(name, in) }
	if f.heritrixLog != "" {
		read = v.Heritrix
	}
	var r *audit.Visited
	p.meanwhile(readingLog(name), func() { r, err = read(name, in) })
	var line *audit.LineError
	if errors.As(err, &line) {
		return exit.Usagef("%v", err)
	}
	if err != nil {
		return err
	}
	if f.json {
		err = p.object(r)
	} else {
		err = show.Visited(p.lines(), r)
	}
	return errors.Join(err, broken(r.Violated))
}

// visitor returns the crawler to audit, with the rules that the flags set for it.
func (p *program) visitor(f *auditFlags) (audit.Visitor, error) {
	v := audit.Visitor{Agent: strings.TrimSpace(f.agent)}
	if f.given("agent") && v.Agent == "" {
		return v, exit.Usagef("--agent: the name is empty")
	}
	if f.host != "" {
		host, err := hostOf("host", f.host)
		if err != nil {
			return v, err
		}
		v.Host = host
	}
	if f.delay != "" {
		var o crawler.Options
		for _, s := range o.Settings() {
			if s.Name == "delay" {
				if err := s.Set(f.delay); err != nil {
					return v, exit.Usagef("--delay: %v", err)
				}
			}
		}
		v.Delay = max(0, o.Delay)
	}
	if f.robots != "" {
		body, err := p.readFile(f.robots)
		if err != nil {
			return v, exit.Usagef("--robots: %v", err)
		}
		v.Robots = robots.Parse(body, f.as.Dialect)
		if v.Token = tokenOf(v.Agent, f.as.Dialect); v.Token != v.Agent {
			p.note("crawl: %q is not a product token (RFC 9309, section 2.2.1): of %s counts the group for %q, or the one for all", v.Agent, f.robots, v.Token)
		}
	}
	return v, nil
}

// tokenOf returns the longest product token that a name begins with, such as "MJ" of "MJ12bot".
// The names of crawlers in a robots.txt are cut in the same way.
func tokenOf(name string, d robots.Dialect) string {
	for len(name) > 0 && d.CheckToken(name) != nil {
		name = name[:len(name)-1]
	}
	return name
}

// auditSite prints all requests of a crawl to one host.
func (p *program) auditSite(f *auditFlags, dir string) error {
	host, err := hostOf("site", f.site)
	if err != nil {
		return err
	}
	s := show.NewSite(p.lines(), host, f.json)
	var r *audit.Report
	err = p.whileQuiet(reading("audit", dir, nil), func(out io.Writer) (err error) {
		s.W.W = out
		r, err = audit.Dir(dir, audit.Options{Temp: f.temp, Site: host, Request: s.Request, Copy: s.Copy, Violation: s.Violation})
		return err
	})
	if err != nil {
		return auditError(f, dir, err)
	}
	return errors.Join(s.End(r), broken(s.Violations()))
}

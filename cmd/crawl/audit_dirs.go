package main

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"github.com/permesso-crawler/permesso/cmd/crawl/internal/exit"
	"github.com/permesso-crawler/permesso/cmd/crawl/internal/say"
	"github.com/permesso-crawler/permesso/internal/audit"
)

// auditDirs audits the crawls in directories: one, perhaps with the log of a server, or
// several of one machine, each by itself and all together.
func (p *program) auditDirs(f *auditFlags, dirs []string) error {
	if f.out != "" && f.out != "none" {
		if err := checkOutput("--out", f.out); err != nil {
			return err
		}
	}
	o := audit.Options{Temp: f.temp}
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
		p.meanwhile(reading("audit", dirs[0]), func() { r, err = audit.Dir(dirs[0], o) })
		if err != nil {
			return auditError(f, dirs[0], err)
		}
		return errors.Join(p.judged(f, dirs[0], r), broken(r.Violated))
	}
	var all []*audit.Report
	var joint *audit.Joint
	var err error
	p.meanwhile(reading("audit", strings.Join(dirs, ", ")), func() { all, joint, err = audit.Together(dirs, o) })
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

// judged writes the certificate of a crawl, and prints what was found.
func (p *program) judged(f *auditFlags, dir string, r *audit.Report) error {
	out, err := p.certify(f, dir, r)
	if err != nil {
		return err
	}
	if f.json {
		return p.object(certificateOf(r))
	}
	return p.audited(dir, out, r)
}

// together prints what was found between crawls.
func (p *program) together(f *auditFlags, joint *audit.Joint) error {
	if f.json {
		return p.object(struct {
			Together *audit.Joint `json:"together"`
		}{joint})
	}
	w := p.lines()
	w.Told("together", "%s", strings.Join(joint.Crawls, ", "))
	checkLines(w, joint.Checks)
	for i := range joint.Violations {
		if i == maxProblems {
			w.Told("", "and %d more", joint.Violated-maxProblems)
			break
		}
		w.Told("VIOLATION", "%s", &joint.Violations[i])
	}
	resultLine(w, joint.Violated)
	return w.Err
}

// besideLine prints how the log of a server agrees with crawl.log.
func besideLine(l *say.Lines, b *audit.Beside) {
	text := fmt.Sprintf("%s: %d of %s are of the crawl, %d of them with a line of crawl.log", b.Log, b.Requests, say.Plural(int(b.Lines), "line"), b.Matched)
	if b.Unnamed > 0 {
		text += fmt.Sprintf("; %d more name no host: --host says which one the log is of", b.Unnamed)
	}
	if b.Unread > 0 {
		text += fmt.Sprintf("; %d are in another form", b.Unread)
	}
	l.Told("server", "%s", text)
}

package show

import (
	"fmt"
	"strings"
	"time"

	"github.com/permesso-crawler/permesso/cmd/crawl/internal/looks"
	"github.com/permesso-crawler/permesso/cmd/crawl/internal/say"
	"github.com/permesso-crawler/permesso/internal/audit"
)

// Audit prints the report of the crawl in dir. certificate is the file that has the
// report, or "" if none exists.
func Audit(w *say.Lines, dir, certificate string, r *audit.Report) error {
	w.Verdict(judged(r.Violated), looks.Span{Style: looks.Strong, Text: " in " + looks.Whole(say.Plural(int(r.Requests), "request")) + " to " + looks.Whole(say.Plural(int(r.Sites), "site"))})
	killed := ""
	if r.Killed > 0 {
		killed = fmt.Sprintf(", %d of them killed", r.Killed)
	}
	w.Told("audited", "%s of %s: %s, %s, to %s in %s%s", dir, r.Token, say.Plural(int(r.Requests), "request"), ofThem(int(r.RobotsRequests), int(r.UseRequests)), say.Plural(int(r.Sites), "site"), say.Plural(r.Runs, "run"), killed)
	if r.Requests > 0 {
		w.Told("from", "%s to %s", r.First.Format(time.RFC3339), r.Last.Format(time.RFC3339))
	}
	w.Told("evidence", "%s, %s, sha256 %s", r.Log, say.Plural(int(r.LogLines), "line"), r.LogSHA256)
	w.Told("", "%s of robots.txt, sha256 %s", say.Copies(int(r.Copies)), r.CopiesSHA256)
	if r.Server != nil {
		besideLine(w, r.Server)
	}
	checkLines(w, r.Checks)
	for _, m := range r.Margins {
		w.Told("least margin", "%s: %s more than required, of %s (line %d)", m.Clock, say.InSeconds(m.Least), say.Plural(int(m.Requests), "request"), m.Line)
	}
	for i, u := range r.Unproven {
		if i == say.MaxProblems {
			w.Told("", "and %d more", r.UnprovenLines-say.MaxProblems)
			break
		}
		w.Row(looks.Span{Style: looks.Wait, Text: "unproven"}, looks.Line(say.OneLine(fmt.Sprintf("line %d: %s", u.Line, u.Why))))
	}
	for _, text := range r.Remarks {
		w.Told("remark", "%s", text)
	}
	violationLines(w, r.Log, r.Violations, r.Violated)
	resultLine(w, r.Violated)
	if certificate != "" {
		w.Told("certificate", "%s", certificate)
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

// checkLines prints, for each rule, how much was checked.
func checkLines(l *say.Lines, all []audit.Check) {
	for _, c := range all {
		label, what := looks.Span{Text: string(c.Code)}, looks.Span{Text: "nothing to check"}
		switch {
		case c.Violations > 0:
			label.Style = looks.Bad
			what = looks.Span{Style: looks.Bad, Text: fmt.Sprintf("broken %s of %d", say.Often(c.Violations), c.Checked)}
		case c.Checked > 0:
			what = looks.Span{Style: looks.Good, Text: "kept " + say.Often(c.Checked)}
		}
		l.Row(label, looks.Text{{Text: say.OneLine(c.Rule) + ": "}, what})
	}
}

// violationLines prints the violations in list, and says how many more there are.
func violationLines(l *say.Lines, log string, list []audit.Violation, all int64) {
	for i := range list {
		if i == say.MaxProblems {
			break
		}
		text := list[i].String()
		if len(list[i].Lines) > 0 {
			text = log + ":" + text
		}
		violationLine(l, text)
	}
	if more := all - int64(min(len(list), say.MaxProblems)); more > 0 {
		l.Told("", "and %d more", more)
	}
}

func violationLine(l *say.Lines, text string) {
	l.Row(looks.Span{Style: looks.Bad, Text: "VIOLATION"}, looks.Line(say.OneLine(text)))
}

func resultLine(l *say.Lines, violated int64) {
	l.Row(looks.Span{Text: "result"}, looks.Text{judged(violated)})
}

// judged returns the result of an audit that has found so many violations.
func judged(violated int64) looks.Span {
	if violated == 0 {
		return looks.Span{Style: looks.Good, Text: "no rule was broken"}
	}
	return looks.Span{Style: looks.Bad, Text: say.Plural(int(violated), "violation")}
}

// Together prints what an audit of several crawls of one machine has found about their requests
// taken together.
func Together(w *say.Lines, joint *audit.Joint) error {
	w.Told("together", "%s", strings.Join(joint.Crawls, ", "))
	checkLines(w, joint.Checks)
	for i := range joint.Violations {
		if i == say.MaxProblems {
			w.Told("", "and %d more", joint.Violated-say.MaxProblems)
			break
		}
		violationLine(w, fmt.Sprint(&joint.Violations[i]))
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

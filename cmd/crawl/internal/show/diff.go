package show

import (
	"fmt"
	"path/filepath"
	"strings"

	"github.com/permesso-crawler/permesso/cmd/crawl/internal/crawldir"
	"github.com/permesso-crawler/permesso/cmd/crawl/internal/looks"
	"github.com/permesso-crawler/permesso/cmd/crawl/internal/say"
	"github.com/permesso-crawler/permesso/internal/diff"
)

// The values of crawl diff --list that are about robots.txt, and are not a diff.Kind.
const (
	ListDisallowed = "newly-disallowed"
	ListAllowed    = "newly-allowed"
)

// shownSites is the maximum number of sites whose figures are shown.
const shownSites = 20

// A diffText prints for people what has changed between two crawls.
type diffText struct {
	say.Lines
	*diff.Result
}

// Diff prints for people what has changed between two crawls.
func Diff(w *say.Lines, r *diff.Result) error { return (&diffText{*w, r}).print() }

func (t *diffText) print() error {
	t.Verdict(t.verdict()...)
	t.crawl("was", t.Was)
	t.crawl("is", t.Is)
	t.caution()
	t.figures()
	t.eachSite()
	for _, k := range diff.Kinds() {
		if k.IsChange() {
			t.list(k)
		}
	}
	for i := range t.Robots {
		t.robots(&t.Robots[i])
	}
	return t.Err
}

// verdict returns what has changed, in one sentence.
func (t *diffText) verdict() looks.Text {
	n := t.Counts.Changes()
	if n == 0 {
		return looks.Text{{Style: looks.Strong, Text: "nothing has changed"}}
	}
	var parts []string
	for _, k := range diff.Kinds() {
		if of := t.Counts.Of(k); k.IsChange() && of > 0 {
			parts = append(parts, looks.Whole(fmt.Sprintf("%d %s", of, k)))
		}
	}
	return looks.Text{{Style: looks.Strong, Text: looks.Whole(say.Plural(int(n), "changed URL")) + ":"}, {Text: " " + strings.Join(parts, ", ")}}
}

// kindStyle returns the style of a kind: whether something is there now, or no longer.
func kindStyle(k diff.Kind) looks.Style {
	switch k {
	case diff.New, diff.Recovered, diff.Allowed:
		return looks.Good
	case diff.Gone, diff.Failing:
		return looks.Bad
	case diff.Modified, diff.SameText, diff.Moved, diff.Redirected:
		return looks.Wait
	}
	return looks.Plain
}

// crawl prints the line of one of the crawls.
func (t *diffText) crawl(label string, s diff.Snapshot) {
	when := ""
	if !s.First.IsZero() {
		when = " of " + s.First.Format(diff.MomentForm)
	}
	t.Line(label, "%s%s: %s, %d there", filepath.Base(s.Dir), when, say.Plural(int(s.URLs), "URL"), s.There)
}

// caution prints which differences may be caused by the crawls, and not by the web.
func (t *diffText) caution() {
	for _, s := range t.Settings {
		t.Line("not the web", "%s: %s -> %s: the settings of the crawls differ", s.Name, s.Was, s.Is)
	}
	if n := t.Seeds.Added + t.Seeds.Removed; n > 0 {
		t.Line("not the web", "seeds: %d more, %d less: %s", t.Seeds.Added, t.Seeds.Removed, strings.Join(t.Seeds.First, " "))
	}
	for _, s := range []diff.Snapshot{t.Was, t.Is} {
		switch {
		case s.Waiting > 0 && crawldir.Over(s.Dir):
			t.Line("not fetched", "%s is over, and has not fetched %s: it might have found more", filepath.Base(s.Dir), say.Plural(int(s.Waiting), "URL"))
		case s.Waiting > 0:
			t.Line("not ended", "%s may still fetch %s, and find more", filepath.Base(s.Dir), say.Plural(int(s.Waiting), "URL"))
		}
	}
	if t.Texts.Unknown > 0 {
		t.Line("texts", "of %s with another body the texts could not be compared: they count as modified", say.Plural(int(t.Texts.Unknown), "page"))
	}
}

// row prints a line.
func (t *diffText) row(indent int, format string, args ...any) {
	t.Print(looks.Line(say.OneLine(strings.Repeat(" ", indent)+fmt.Sprintf(format, args...))), indent+2)
}

func (t *diffText) blank() { t.Print(nil, 0) }

// figures prints the number of URLs of each kind.
func (t *diffText) figures() {
	t.blank()
	t.row(0, "%9s  %s", "URLs", "what became of them")
	for _, k := range diff.Kinds() {
		if n := t.Counts.Of(k); n > 0 {
			name := append(looks.Text{{Style: kindStyle(k), Text: string(k)}}.Padded(12, false), looks.Span{Text: " " + k.Words()})
			t.Print(append(looks.Line(fmt.Sprintf("%9d  ", n)), name...), 2)
		}
	}
	if t.Disallowed+t.Allowed > 0 {
		t.row(0, "%9d  %-12s %s", t.Disallowed, "disallowed", "by a robots.txt that allowed it, fetched or not")
		t.row(0, "%9d  %-12s %s", t.Result.Allowed, "permitted", "by a robots.txt that disallowed it, fetched or not")
	}
}

// eachSite prints the figures of the sites in which something has changed.
func (t *diffText) eachSite() {
	if len(t.Sites) < 2 {
		return
	}
	t.blank()
	for _, s := range t.Sites[:min(len(t.Sites), shownSites)] {
		var parts []string
		for _, k := range diff.Kinds() {
			if n := s.Counts.Of(k); n > 0 {
				parts = append(parts, fmt.Sprintf("%d %s", n, k))
			}
		}
		t.row(0, "%s: %s", s.Site, strings.Join(parts, ", "))
	}
	if more := len(t.Sites) - shownSites; more > 0 {
		t.row(0, "and %d sites more: --json has all", more)
	}
}

// list prints the first URLs of a kind.
func (t *diffText) list(k diff.Kind) {
	rows := t.First[k]
	if len(rows) == 0 {
		return
	}
	t.blank()
	t.Print(looks.Text{{Style: looks.Strong, Text: string(k)}, {Text: ": " + k.Words()}}, 2)
	for i := range rows {
		t.row(2, "%s", rows[i].URL)
		if text := rows[i].Words(); text != "" {
			t.row(6, "%s", text)
		}
	}
	if more := t.Counts.Of(k) - int64(len(rows)); more > 0 {
		t.row(2, "and %d more: --list %s has all", more, k)
	}
}

// robots prints how one robots.txt has changed.
func (t *diffText) robots(r *diff.Robots) {
	t.blank()
	t.Print(looks.Text{{Style: looks.Strong, Text: say.OneLine(fmt.Sprintf("robots.txt of %s has changed", r.Site))}}, 2)
	t.row(2, "was %s", r.Was.Words())
	t.row(2, "is  %s", r.Is.Words())
	if r.Disallowed+r.Allowed+r.Unclear == 0 {
		t.row(2, "no known URL is newly allowed or forbidden by that")
	} else {
		t.row(2, "newly disallowed: %d; newly allowed: %d", r.Disallowed, r.Allowed)
	}
	if r.Unclear > 0 {
		t.row(2, "of %s one of the two says nothing", say.Plural(int(r.Unclear), "URL"))
	}
	for i := range r.First {
		e := &r.First[i]
		word := "disallowed"
		if e.Allowed {
			word = "allowed"
		}
		t.row(4, "%s %s", word, e.URL)
		t.row(8, "%s; was: %s", e.Is, e.Was)
	}
	if more := r.Disallowed + r.Allowed - int64(len(r.First)); more > 0 {
		t.row(4, "and %d more: --list %s,%s has all", more, ListDisallowed, ListAllowed)
	}
}

package report

import (
	"errors"
	"fmt"
	"path/filepath"
	"strings"

	"github.com/permesso-crawler/permesso/internal/diff"
	"github.com/permesso-crawler/permesso/internal/store"
)

// compare finds what has changed since another crawl: Options.Since, or the crawl before this
// one.
func (r *reporter) compare() error {
	if len(r.Nodes) > 0 {
		return r.compareNodes()
	}
	if r.Running {
		if r.Options.Since != "" {
			r.NotCompared = &NotCompared{r.Options.Since, "this crawl runs", "make the report again when it has ended"}
		}
		return nil
	}
	o := diff.Options{Temp: r.Temp, Most: mostRows}
	if r.Options.Since != "" {
		d, err := diff.Compare(r.ctx, r.Options.Since, r.dirs[0], o)
		r.Report.Since = d
		return err
	}
	before, err := diff.Before(r.state)
	if err != nil || before == "" {
		return err
	}
	d, err := diff.Compare(r.ctx, before, r.dirs[0], o)
	if r.NotCompared = unusable(before, err); r.NotCompared != nil {
		return nil // make the report without a comparison, because Options.Since did not ask for one
	}
	r.Report.Since = d
	return err
}

// unusable returns why the crawl in dir cannot be compared, if the state of that crawl is the
// cause of err. It returns nil if the cause is another one; then the report fails with err.
func unusable(dir string, err error) *NotCompared {
	const again = "bring it back, or name another one"
	var inUse *store.InUseError
	var damaged *store.DamagedError
	var version *store.VersionError
	switch {
	case errors.Is(err, store.ErrNoCrawl):
		return &NotCompared{dir, "there is no crawl", again}
	case errors.As(err, &inUse):
		return &NotCompared{dir, err.Error(), "make the report again when that has ended"}
	case errors.As(err, &damaged):
		return &NotCompared{dir, err.Error(), again}
	case errors.As(err, &version):
		return &NotCompared{dir, err.Error(), "name another one"}
	}
	return nil
}

// Words returns a sentence that says what the report leaves out, why, and what to do.
func (n *NotCompared) Words() string {
	return fmt.Sprintf("changes since %s are not reported: %s: %s", n.Dir, n.Why, n.Mend)
}

// changes has the texts and tables of the page about the changes since another crawl.
type changes struct {
	Notes, Warnings []string
	Tables          []section
}

// changes returns nil if r has no comparison.
func (r *Report) changes() *changes {
	d := r.Since
	if d == nil {
		return nil
	}
	c := &changes{Notes: []string{visible(fmt.Sprintf("Since %s: %s there then, %s now. A URL is there where it was answered without an error.",
		since(&d.Was), plural(d.Was.There, "URL"), grouped(d.Is.There)))}}
	for _, s := range d.Settings {
		c.Warnings = append(c.Warnings, visible(fmt.Sprintf("The settings of the crawls differ: %s: %s then, %s now. Changes that follow from this are not changes of the web.", s.Name, s.Was, s.Is)))
	}
	if n := d.Seeds.Added + d.Seeds.Removed; n > 0 {
		c.Warnings = append(c.Warnings, visible(fmt.Sprintf("The seeds of the crawls differ: %s more, %s less: %s", grouped(d.Seeds.Added), grouped(d.Seeds.Removed), strings.Join(d.Seeds.First, " "))))
	}
	for _, s := range []*diff.Snapshot{&d.Was, &d.Is} {
		if s.Waiting > 0 {
			c.Warnings = append(c.Warnings, visible(fmt.Sprintf("%s has not fetched %s: what became of them is not known.", filepath.Base(s.Dir), plural(s.Waiting, "URL"))))
		}
	}
	if d.Texts.Unknown > 0 {
		c.Warnings = append(c.Warnings, fmt.Sprintf("For %s with another body it is not known whether the visible text differs.", plural(d.Texts.Unknown, "page")))
	}
	c.Tables = []section{
		{"kinds", "What became of URLs", "Each URL that either crawl knows is of one kind.", "Neither crawl knows a URL.", kindTable(d)},
		{"changed-sites", "Changes by site", "Those with most changes come first.", "Nothing has changed.", changedSiteTable(d)},
		{"changed", "URLs that have changed", "The first of each kind, in the order of their hosts. “crawl diff” lists all.", "Nothing has changed.", changedTable(d)},
		{"robots-changed", "robots.txt that have changed", "The figures are numbers of known URLs, requested or not, that the new robots.txt newly allows or forbids.", "No robots.txt is another one than it was.", robotsTable(d)},
		{"robots-effect", "URLs that robots.txt decides otherwise", "The first URL of each site, with the line of the copy that decides.", "There are none.", effectTable(d)},
	}
	return c
}

// since returns the name of a crawl and the time when it began, as text.
func since(s *diff.Snapshot) string {
	if s.First.IsZero() {
		return filepath.Base(s.Dir)
	}
	return filepath.Base(s.Dir) + " of " + moment(s.First)
}

func kindTable(d *diff.Result) table {
	t := table{Caption: "URLs by what became of them", Head: []string{"kind", "what it is", "URLs"}, Text: 2}
	for _, k := range diff.Kinds() {
		if n := d.Counts.Of(k); n > 0 {
			t.add(string(k), k.Words(), grouped(n))
		}
	}
	return t
}

func changedSiteTable(d *diff.Result) table {
	shown := []diff.Kind{diff.New, diff.Modified, diff.SameText, diff.Moved, diff.Gone, diff.LeftOut, diff.Failing, diff.Refused}
	t := table{Head: []string{"site", "changes"}, Text: 1, Kinds: []string{Site}}
	for _, k := range shown {
		t.Head = append(t.Head, string(k))
	}
	rows := top[diff.Site]{most: mostSites, order: func(a, b diff.Site) int {
		if n := b.Counts.Changes() - a.Counts.Changes(); n != 0 {
			return int(max(-1, min(1, n)))
		}
		return strings.Compare(string(a.Site), string(b.Site))
	}}
	for _, s := range d.Sites {
		rows.add(s)
	}
	all := rows.table()
	t.Caption = "Sites with changes" + first(all)
	for _, s := range all.Rows {
		cells := []string{string(s.Site), grouped(s.Counts.Changes())}
		for _, k := range shown {
			cells = append(cells, grouped(s.Counts.Of(k)))
		}
		t.add(cells...)
	}
	return t
}

func changedTable(d *diff.Result) table {
	t := table{Caption: "URLs that have changed", Head: []string{"kind", "URL", "what became of it"}, Text: 3, Kinds: []string{"", URLs}}
	n := int64(0)
	for _, k := range diff.Kinds() {
		for _, c := range d.First[k] {
			n++
			t.add(string(k), c.URL, c.Words())
		}
	}
	if all := d.Counts.Changes(); n < all {
		t.Caption += fmt.Sprintf(" (%s of %s)", grouped(n), grouped(all))
	}
	return t
}

func robotsTable(d *diff.Result) table {
	t := table{Head: []string{"site", "was", "is", "newly disallowed", "newly allowed", "unclear"}, Text: 3, Kinds: []string{Site}}
	rows := Table[diff.Robots]{All: int64(len(d.Robots)), Rows: d.Robots[:min(len(d.Robots), mostSites)]}
	t.Caption = "robots.txt that have changed" + first(rows)
	for i := range rows.Rows {
		s := &rows.Rows[i]
		t.add(string(s.Site), s.Was.Words(), s.Is.Words(), grouped(s.Disallowed), grouped(s.Allowed), grouped(s.Unclear))
	}
	return t
}

func effectTable(d *diff.Result) table {
	t := table{Caption: "URLs that robots.txt decides otherwise", Head: []string{"URL", "now", "by", "before"}, Text: 4, Kinds: []string{URLs}}
	for i := range d.Robots {
		for _, e := range d.Robots[i].First {
			if len(t.Rows) == mostErrors {
				break
			}
			now := "disallowed"
			if e.Allowed {
				now = "allowed"
			}
			t.add(e.URL, now, e.Is.String(), e.Was.String())
		}
	}
	if all := d.Disallowed + d.Allowed; int64(len(t.Rows)) < all {
		t.Caption += fmt.Sprintf(" (%s of %s)", grouped(int64(len(t.Rows))), grouped(all))
	}
	return t
}

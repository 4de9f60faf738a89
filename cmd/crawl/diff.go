package main

import (
	"bufio"
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"path/filepath"
	"slices"
	"strings"

	"github.com/permesso-crawler/permesso/cmd/crawl/internal/crawldir"
	"github.com/permesso-crawler/permesso/cmd/crawl/internal/exit"
	"github.com/permesso-crawler/permesso/cmd/crawl/internal/say"
	"github.com/permesso-crawler/permesso/cmd/crawl/internal/settings"
	"github.com/permesso-crawler/permesso/cmd/crawl/internal/show"
	"github.com/permesso-crawler/permesso/cmd/crawl/internal/terminal"
	"github.com/permesso-crawler/permesso/internal/diff"
	"github.com/permesso-crawler/permesso/internal/series"
	"github.com/permesso-crawler/permesso/internal/store"
	"github.com/spf13/cobra"
)

// diffFlags are the flags of crawl diff.
type diffFlags struct {
	lists, sites   []string
	from, to, temp string
	json, noText   bool
	most           int
	unread         int // crawls of a series that could not be read
}

func (p *program) diffCommand() *cobra.Command {
	var f diffFlags
	var known strings.Builder
	for _, w := range diffLists() {
		fmt.Fprintf(&known, "  %-17s %s\n", w.name, w.words)
	}
	cmd := &cobra.Command{
		Use:   "diff [flags] DIR DIR | diff [flags] DIR|SERIES",
		Short: "show what has changed between two crawls",
		Long: `diff compares two crawls of the same sites, the earlier crawl first: each URL that
at least one of them knows, and what robots.txt permits. If you name one crawl, it
is compared with its earlier crawl (crawl run --previous). If DIR is a series (a
directory with many crawls), its last two crawls that have ended are compared.

A page with the same bytes is unchanged. If the bytes differ and are archived, the
texts that readers see are compared. For each robots.txt that has changed, diff
prints which known URLs it newly forbids or allows, and by which line. First it
prints the settings that differ between the crawls, because their effects are not
changes of the web.

--list prints the URLs of some kinds, one on each line, sorted by host:

` + known.String() + `
--json prints an object on each line: what is compared, each change, each robots.txt, and
the figures. Docs: docs/reference/diff.md.

No crawl may run in either directory.`,
		Example: `  crawl diff last.crawl news.crawl
  crawl diff --list gone,moved last.crawl news.crawl
  crawl diff --from 2026-11-20 weekly
  crawl diff --json weekly | jq -r 'select(.change == "gone").url'`,
		RunE: func(cmd *cobra.Command, args []string) error { return p.diff(cmd.Context(), &f, args) },
	}
	flags := cmd.Flags()
	flags.StringSliceVar(&f.lists, "list", nil, "print the URLs of these `kinds`, with commas between them, and nothing else")
	if err := flags.SetAnnotation("list", settings.ChoicesKey, diffListNames()); err != nil {
		panic(err) // the flag does not exist
	}
	flags.StringArrayVar(&f.sites, "site", nil, "only this `site`, such as https://example.org, or this host; may be repeated")
	flags.StringVar(&f.from, "from", "", "of a series: compare with the last crawl of this `day`, such as 2026-11-20 (default: the one before)")
	flags.StringVar(&f.to, "to", "", "of a series: compare the last crawl of this `day` (default: the last one)")
	flags.BoolVar(&f.json, "json", false, "print JSON, an object on each line")
	flags.IntVar(&f.most, "most", 10, "how many URLs of each kind are shown; --list has all")
	flags.BoolVar(&f.noText, "no-text", false, "read no bodies: all pages with other bytes count as modified")
	flags.StringVar(&f.temp, "temp", "", "`directory` for temporary files, some 500 bytes for each URL of either crawl (default: the system's)")
	return cmd
}

// A diffList is a value of --list.
type diffList struct{ name, words string }

// diffLists returns the values of --list: the kinds of changes, and then the lists of URLs that
// robots.txt newly forbids or allows.
func diffLists() (all []diffList) {
	for _, k := range diff.Kinds() {
		if k.IsChange() {
			all = append(all, diffList{string(k), k.Words()})
		}
	}
	return append(all, diffList{show.ListDisallowed, "robots.txt forbids it now, whether it was fetched or not"},
		diffList{show.ListAllowed, "robots.txt no longer forbids it"})
}

func diffListNames() (names []string) {
	for _, l := range diffLists() {
		names = append(names, l.name)
	}
	return names
}

// check returns an error if a flag has an invalid value.
func (f *diffFlags) check() error {
	if err := settings.EachOf("list", "list", f.lists, diffListNames()); err != nil {
		return err
	}
	if f.most < 0 {
		return exit.Usagef("--most: %d is out of range: the least value is 0", f.most)
	}
	return nil
}

// crawls returns the two directories to compare.
func (p *program) crawls(f *diffFlags, args []string) (was, is string, err error) {
	switch {
	case len(args) == 2 && f.from+f.to != "":
		return "", "", exit.Usagef("--from and --to choose crawls of a series, and two directories are given")
	case len(args) == 2:
		was, is = args[0], args[1]
	case len(args) == 1 && !crawldir.Exists(args[0]):
		return "", "", crawldir.Missing(args[0])
	case len(args) == 1 && crawldir.Exists(filepath.Join(args[0], store.StateFile)):
		if was, err = beforeThat(args[0]); err != nil {
			return "", "", err
		}
		if is = args[0]; !crawldir.Exists(was) {
			return "", "", exit.Usagef("the crawl before %s is %s, which is missing: bring it back, or name another one: crawl diff OTHER %[1]s", is, was)
		}
	case len(args) == 1:
		if was, is, err = p.ofSeries(f, args[0]); err != nil {
			return "", "", err
		}
	default:
		return "", "", exit.Usagef("crawl diff takes two arguments, the directories of two crawls, or one, that of a series")
	}
	for _, dir := range []string{was, is} {
		switch {
		case !crawldir.Exists(dir):
			return "", "", crawldir.Missing(dir)
		case !crawldir.Exists(filepath.Join(dir, store.StateFile)):
			return "", "", crawldir.NoCrawl(dir)
		}
	}
	return was, is, nil
}

// The crawl in dir may have recorded which crawl came before it. beforeThat returns the
// directory of that earlier crawl. If none is recorded, the error says what to do.
func beforeThat(dir string) (was string, err error) {
	r, _, err := crawldir.Open(dir)
	if err != nil {
		return "", err
	}
	defer func() { err = errors.Join(err, r.Close()) }()
	if was, err = diff.Before(r); err == nil && was == "" {
		err = exit.Usagef("%s knows no crawl before it: crawl diff takes two, the earlier one first, or a series of them", dir)
	}
	return was, err
}

// ofSeries returns the directories of the two snapshots to compare. A snapshot is one crawl of
// the series in dir.
func (p *program) ofSeries(f *diffFlags, dir string) (was, is string, err error) {
	s, err := series.Open(dir)
	if errors.Is(err, series.ErrNoSeries) {
		return "", "", exit.Usagef("%s is neither a crawl nor a series of crawls: crawl diff takes the directories of two crawls, or that of a series", dir)
	}
	if err != nil {
		return "", "", err
	}
	all, err := s.Snapshots()
	if err != nil {
		return "", "", err
	}
	ended, unread := p.endedOf(all)
	f.unread = len(unread)
	to := len(ended) - 1
	if f.to != "" {
		if to, err = snapshotOf(ended, "--to", f.to); err != nil {
			return "", "", err
		}
	}
	from := to - 1
	if f.from != "" {
		if from, err = snapshotOf(ended, "--from", f.from); err != nil {
			return "", "", err
		}
	}
	switch {
	case from < 0 && len(unread) > 0:
		return "", "", exit.With(exit.State, fmt.Errorf("%s has no two crawls to compare: %s of %d ended, %d could not be read", dir, say.Plural(len(ended), "crawl"), len(all), len(unread)))
	case from < 0:
		return "", "", exit.Usagef("%s has no two crawls to compare: %s of %d ended", dir, say.Plural(len(ended), "crawl"), len(all))
	case from >= to:
		return "", "", exit.Usagef("--from: %s is not before %s", filepath.Base(ended[from].Dir), filepath.Base(ended[to].Dir))
	}
	return ended[from].Dir, ended[to].Dir, nil
}

// endedOf returns the snapshots that are over, which means that no run continues them. It also
// returns the snapshots that cannot be read, and prints their names.
func (p *program) endedOf(all []series.Snapshot) (ended, unread []series.Snapshot) {
	for _, s := range all {
		switch state, err := s.State(); {
		case err != nil:
			p.note("crawl: %s cannot be read, and is left out: %s", s.Dir, say.WithoutPackages(exit.WithMend(err, false)))
			unread = append(unread, s)
		case state.Over:
			ended = append(ended, s)
		}
	}
	return ended, unread
}

// unreadError is the error of a command that has left out n snapshots because it could not read
// them.
func unreadError(n int) error {
	if n == 0 {
		return nil
	}
	return exit.With(exit.Check, fmt.Errorf("%s of the series could not be read (crawl verify says more)", say.Plural(n, "snapshot")))
}

// snapshotOf returns the index of the last snapshot whose name begins with the time that the
// user has written.
func snapshotOf(all []series.Snapshot, flag, when string) (int, error) {
	stamp := strings.NewReplacer("-", "", ":", "").Replace(strings.TrimSpace(when))
	for i := len(all) - 1; i >= 0; i-- {
		if strings.HasPrefix(filepath.Base(all[i].Dir), stamp) {
			return i, nil
		}
	}
	return 0, exit.Usagef("%s: no crawl of the series that has ended began on %s: write a day as 2026-11-20, or the name of a crawl", flag, when)
}

func (p *program) diff(ctx context.Context, f *diffFlags, args []string) error {
	if err := f.check(); err != nil {
		return err
	}
	was, is, err := p.crawls(f, args)
	if err != nil {
		return err
	}
	return p.whileQuiet(reading("diff", was+" and "+is, nil), func(to io.Writer) error {
		of := *p
		out := bufio.NewWriterSize(to, 64<<10)
		of.out = out
		if terminal.Is(p.out) && len(f.lists) > 0 {
			of.out = to
		}
		width := min(cmp.Or(terminal.Width(p.out), 80), 100)
		err := of.compare(ctx, f, was, is, width, terminal.Colours(p.out))
		if late := out.Flush(); err == nil {
			err = late
		}
		if err == nil {
			err = unreadError(f.unread)
		}
		return err
	})
}

// compare compares two crawls, and prints what the flags choose.
func (p *program) compare(ctx context.Context, f *diffFlags, was, is string, width int, colours bool) error {
	of, err := (&listQuery{Sites: f.sites}).siteFilter()
	if err != nil {
		return err
	}
	o := diff.Options{Temp: f.temp, Most: f.most, NoText: f.noText, Site: of}
	if f.most == 0 {
		o.Most = -1
	}
	f.print(p, &o)
	r, err := diff.Compare(ctx, was, is, o)
	if err != nil {
		return err
	}
	if len(f.sites) > 0 && r.Was.URLs+r.Is.URLs == 0 {
		return exit.Usagef("neither of the crawls has a URL of %s", strings.Join(f.sites, ", "))
	}
	if r.OtherLines > 0 {
		p.note("crawl: %s of %s could not be read, and are ignored", say.Plural(int(r.OtherLines), "line"), store.PagesFile)
	}
	switch {
	case len(f.lists) > 0:
		return nil
	case f.json:
		return p.diffEnd(r)
	}
	return show.Diff(&say.Lines{W: p.out, Width: width, Colours: colours}, r)
}

// print sets the functions of o so that changes are printed as they are found, if the flags
// choose JSON or lists.
func (f *diffFlags) print(p *program, o *diff.Options) {
	wants := func(list string) bool { return len(f.lists) == 0 || slices.Contains(f.lists, list) }
	switch {
	case f.json:
		o.Begin = func(r *diff.Result) error {
			if len(f.lists) > 0 {
				return nil
			}
			return p.object(diffBegin{"begin", r.Format, r.Was.Dir, r.Is.Dir, r.Was.Token, r.Is.Token, r.Settings})
		}
		o.Change = func(c *diff.Change) error {
			if !wants(string(c.Kind)) {
				return nil
			}
			return p.object(diffChange{"change", *c})
		}
		o.Effect = func(e *diff.Effect) error {
			if !wants(effectList(e)) {
				return nil
			}
			return p.object(diffEffect{"robots-effect", *e})
		}
	case len(f.lists) > 0:
		o.Change = func(c *diff.Change) error {
			if !wants(string(c.Kind)) {
				return nil
			}
			return p.say("%s", c.URL)
		}
		o.Effect = func(e *diff.Effect) error {
			if !wants(effectList(e)) {
				return nil
			}
			return p.say("%s", e.URL)
		}
	}
}

// effectList returns the name of the list for a URL about which robots.txt has changed its
// decision.
func effectList(e *diff.Effect) string {
	if e.Allowed {
		return show.ListAllowed
	}
	return show.ListDisallowed
}

// The lines of crawl diff --json. The names of their fields are never changed.
type (
	diffBegin struct {
		Type     string         `json:"type"` // begin
		Format   string         `json:"format"`
		Was      string         `json:"was"`
		Is       string         `json:"is"`
		WasToken string         `json:"was_token"`
		IsToken  string         `json:"is_token"`
		Settings []diff.Setting `json:"settings"`
	}
	diffChange struct {
		Type string `json:"type"` // change
		diff.Change
	}
	diffEffect struct {
		Type string `json:"type"` // robots-effect
		diff.Effect
	}
	diffRobots struct {
		Type string `json:"type"` // robots
		diff.Robots
		First *struct{} `json:"first,omitempty"` // left out: each URL has a line of its own
	}
	diffSum struct {
		Type string `json:"type"` // sum
		*diff.Result
		First  *struct{} `json:"first,omitempty"`
		Robots *struct{} `json:"robots,omitempty"`
	}
)

// diffEnd prints the number of changes of each kind, after the changes themselves.
func (p *program) diffEnd(r *diff.Result) error {
	for _, s := range r.Robots {
		if err := p.object(diffRobots{Type: "robots", Robots: s}); err != nil {
			return err
		}
	}
	return p.object(diffSum{Type: "sum", Result: r})
}

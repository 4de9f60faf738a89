package report_test

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"testing/synctest"

	"github.com/google/go-cmp/cmp"

	"github.com/permesso-crawler/permesso/crawler"
	"github.com/permesso-crawler/permesso/crawler/crawltest"
	"github.com/permesso-crawler/permesso/frontier"
	"github.com/permesso-crawler/permesso/internal/diff"
	"github.com/permesso-crawler/permesso/internal/report"
	"github.com/permesso-crawler/permesso/internal/store"
)

// hostileChanges returns a comparison in which every text has elements, scripts or hidden
// characters.
func hostileChanges() *diff.Result {
	state := diff.State{Fate: frontier.Failed, Digest: hostile, Location: hostile, Reason: hostile, Via: hostile}
	d := &diff.Result{
		Was: diff.Snapshot{Dir: hostile, Waiting: 1}, Is: diff.Snapshot{Dir: hostile, Waiting: 1},
		Settings: []diff.Setting{{Name: hostile, Was: hostile, Is: hostile}}, Seeds: diff.Seeds{Added: 1, First: []string{"+" + hostile}},
		Texts: diff.Texts{Unknown: 1}, First: map[diff.Kind][]diff.Change{},
		Robots: []diff.Robots{{
			Site: hostile, Was: diff.Copy{Outcome: diff.Unreachable, Failure: hostile}, Is: diff.Copy{Outcome: diff.File, Signals: []string{hostile}},
			First: []diff.Effect{{URL: hostile, Site: hostile, Was: diff.Decision{Line: 1, Rule: hostile}, Is: diff.Decision{Rule: hostile}}},
		}},
	}
	site := diff.Site{Site: hostile}
	for i, k := range diff.Kinds() {
		d.Counts[i], site.Counts[i] = 1, 1
		d.First[k] = []diff.Change{{URL: hostile, Site: hostile, Kind: k, Was: state, Is: state, Target: &diff.Target{URL: hostile, Fate: frontier.Failed}}}
	}
	d.Sites = []diff.Site{site}
	return d
}

// twice crawls a web, changes it, and crawls it again. It returns the directories of both
// crawls.
func twice(t *testing.T, with ...func(o *crawler.Options)) (was, is string) {
	t.Helper()
	was, is = filepath.Join(t.TempDir(), "was.crawl"), filepath.Join(t.TempDir(), "is.crawl")
	for i, web := range []func(w *crawltest.Web){
		func(w *crawltest.Web) {
			w.Site("http://a.example").Robots("User-agent: *\nAllow: /\n").Page("/", "<a href=/b></a><a href=/c></a><a href=/no></a>").Page("/b", "b").Page("/c", "c").Page("/no", "no")
		},
		func(w *crawltest.Web) {
			w.Site("http://a.example").Robots("User-agent: *\nDisallow: /no\n").Page("/", "<a href=/b></a><a href=/d></a><a href=/no></a>").Page("/b", "B").Page("/d", "d")
		},
	} {
		dir := []string{was, is}[i]
		synctest.Test(t, func(t *testing.T) {
			w := crawltest.New(t)
			web(w)
			o := crawler.Options{Identity: testIdentity, Seeds: []string{"http://a.example/"}, Wire: crawler.Wire{Network: w}, Dir: dir}
			if dir == is {
				o.Depth = 7
				for _, f := range with {
					f(&o)
				}
			}
			c, err := crawler.New(o)
			if err != nil {
				t.Fatal(err)
			}
			if err := c.Run(t.Context(), crawler.HandlerFunc(func(context.Context, *crawler.Page) error { return nil })); err != nil {
				t.Fatal(err)
			}
		})
	}
	return was, is
}

// The changes in a report equal the result of diff, and the page has them as tables.
func TestAReportTellsWhatHasChangedSinceAnotherCrawl(t *testing.T) {
	was, is := twice(t)
	r, err := report.Dir(t.Context(), is, report.Options{Temp: t.TempDir(), Since: was})
	if err != nil {
		t.Fatal(err)
	}
	want, err := diff.Compare(t.Context(), was, is, diff.Options{Temp: t.TempDir()})
	if err != nil {
		t.Fatal(err)
	}
	if d := cmp.Diff(want, r.Since); d != "" || want.Counts.Changes() != 5 {
		t.Errorf("%d changes; -want +got\n%s", want.Counts.Changes(), d)
	}
	_, tree := pageOf(t, r)
	var rows []string
	for _, section := range all(tree, "section") {
		if id := attr(section, "aria-labelledby"); id == "kinds" || strings.Contains(id, "changed") || id == "robots-effect" {
			for _, row := range all(section, "tr") {
				var cells []string
				for _, cell := range all(row, "th", "td") {
					cells = append(cells, strings.TrimSpace(text(cell)))
				}
				rows = append(rows, strings.Join(cells, " | "))
			}
		}
	}
	for _, row := range []string{
		"new | " + diff.New.Words() + " | 1", "modified | " + diff.Modified.Words() + " | 1", "refused | " + diff.Refused.Words() + " | 1",
		"http://a.example | 5 | 1 | 1 | 1 | 0 | 0 | 1 | 0 | 1",
		"new | http://a.example/d | 200, found on http://a.example/", "left-out | http://a.example/c | was 200, found on http://a.example/",
		"http://a.example/no | disallowed | line 2: Disallow: /no | line 2: Allow: /",
	} {
		if !slices.Contains(rows, row) {
			t.Errorf("no row %q in\n%s", row, strings.Join(rows, "\n"))
		}
	}
	said := text(tree)
	for _, text := range []string{"Since was.crawl of 2000-01-01", "The settings of the crawls differ: depth: none then, 7 now."} {
		if !strings.Contains(said, text) {
			t.Errorf("the page does not say %q", text)
		}
	}
}

// A report has no changes if Options.Since is empty and the crawl names no previous crawl, or
// if the crawl is running.
func TestAReportTellsNoChangesUnasked(t *testing.T) {
	was, is := twice(t)
	r, err := report.Dir(t.Context(), is, report.Options{})
	if err != nil || r.Since != nil {
		t.Errorf("unasked: %v, %v", r.Since, err)
	}
	if raw, _ := pageOf(t, r); strings.Contains(raw, "What has changed") {
		t.Error("the page has changes that were not requested")
	}
	if _, err := report.Dir(t.Context(), is, report.Options{Since: t.TempDir()}); !errors.Is(err, store.ErrNoCrawl) {
		t.Errorf("since no crawl: %v", err)
	}
	db, err := store.Open(is, store.Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	r, err = report.Dir(t.Context(), is, report.Options{Since: was})
	if err != nil || r.Since != nil || !r.Running {
		t.Errorf("while it runs: %v", err)
	}
	notCompared(t, r, was, "this crawl runs: make the report again when it has ended")
}

// If a crawl names its previous crawl and that still exists, the report compares the two.
func TestAReportTellsWhatHasChangedSinceTheCrawlBefore(t *testing.T) {
	root := t.TempDir()
	previous := func(o *crawler.Options) { o.Previous = filepath.Join(root, "was.crawl") }
	was, is := twice(t)
	if err := os.Rename(was, filepath.Join(root, "was.crawl")); err != nil {
		t.Fatal(err)
	}
	if err := os.RemoveAll(is); err != nil {
		t.Fatal(err)
	}
	_, is = twice(t, previous)
	r, err := report.Dir(t.Context(), is, report.Options{})
	if err != nil || r.Since == nil || r.Since.Counts.Changes() != 5 || len(r.Since.Settings) != 1 {
		t.Fatalf("%+v, %v", r.Since, err)
	}
	moved := filepath.Join(t.TempDir(), "is.crawl")
	if err := errors.Join(os.Rename(is, moved), os.Rename(filepath.Join(root, "was.crawl"), filepath.Join(filepath.Dir(moved), "was.crawl"))); err != nil {
		t.Fatal(err)
	}
	if r, err := report.Dir(t.Context(), moved, report.Options{}); err != nil || r.Since == nil || r.NotCompared != nil {
		t.Errorf("both were moved: %v", err)
	}
	held, err := store.Open(filepath.Join(filepath.Dir(moved), "was.crawl"), store.Options{})
	if err != nil {
		t.Fatal(err)
	}
	if r, err = report.Dir(t.Context(), moved, report.Options{}); err != nil || r.Since != nil {
		t.Errorf("the one before runs: %v, %v", r, err)
	}
	notCompared(t, r, filepath.Join(filepath.Dir(moved), "was.crawl"), ": make the report again when that has ended")
	if err := held.Close(); err != nil {
		t.Fatal(err)
	}
	state := filepath.Join(filepath.Dir(moved), "was.crawl", store.StateFile)
	if err := os.WriteFile(state, make([]byte, 32<<10), 0o644); err != nil {
		t.Fatal(err)
	}
	damaged := filepath.Dir(state)
	r, err = report.Dir(t.Context(), moved, report.Options{})
	if err != nil || r.Since != nil {
		t.Errorf("the one before is damaged: %v, %v", r, err)
	}
	notCompared(t, r, damaged, "is damaged")
	notCompared(t, r, damaged, ": bring it back, or name another one")
	if err := os.RemoveAll(filepath.Dir(state)); err != nil {
		t.Fatal(err)
	}
	r, err = report.Dir(t.Context(), moved, report.Options{})
	if err != nil || r.Since != nil {
		t.Errorf("the one before is gone: %v, %v", r, err)
	}
	notCompared(t, r, filepath.Join(root, "was.crawl"), "there is no crawl: bring it back")
}

// notCompared checks that a report and its page have the directory of the crawl that was not
// compared, the reason, and what the user can do.
func notCompared(t *testing.T, r *report.Report, dir, why string) {
	t.Helper()
	if r.NotCompared == nil || r.NotCompared.Dir != dir || !strings.Contains(r.NotCompared.Words(), why) {
		t.Errorf("%+v, not of %s: %s", r.NotCompared, dir, why)
		return
	}
	_, tree := pageOf(t, r)
	if said := text(tree); !strings.Contains(said, "Changes since "+dir+" are not reported: ") || !strings.Contains(said, why) {
		t.Errorf("the page does not say it: %s", why)
	}
}

// A table of changes shows only its first rows, and has the number of all rows.
func TestTablesOfChangesAreBounded(t *testing.T) {
	r, err := report.Dir(t.Context(), written(t, nil), report.Options{})
	if err != nil {
		t.Fatal(err)
	}
	d := hostileChanges()
	d.Counts[0], d.Disallowed = 1000, 500
	for i := range 100 {
		s := diff.Site{Site: frontier.Site("http://" + strings.Repeat("a", i+1) + ".example")}
		s.Counts[0] = int64(i)
		d.Sites = append(d.Sites, s)
		d.Robots = append(d.Robots, diff.Robots{Site: s.Site, First: []diff.Effect{{}, {}, {}}})
	}
	r.Since = d
	_, tree := pageOf(t, r)
	for _, want := range []string{"(the first 50 of 101)", "(14 of 1\u202f011)", "(200 of 500)"} {
		if !strings.Contains(text(tree), want) {
			t.Errorf("no caption says %s", want)
		}
	}
}

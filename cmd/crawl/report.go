package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"path/filepath"
	"strings"

	"github.com/permesso-crawler/permesso/cmd/crawl/internal/crawldir"
	"github.com/permesso-crawler/permesso/cmd/crawl/internal/exit"
	"github.com/permesso-crawler/permesso/cmd/crawl/internal/output"
	"github.com/permesso-crawler/permesso/cmd/crawl/internal/say"
	"github.com/permesso-crawler/permesso/internal/gauge"
	"github.com/permesso-crawler/permesso/internal/outfile"
	"github.com/permesso-crawler/permesso/internal/report"
	"github.com/permesso-crawler/permesso/internal/store"
	"github.com/spf13/cobra"
)

// reportFile is the name of a report in the directory of its crawl.
const reportFile = "report.html"

// reportFlags are the flags of crawl report.
type reportFlags struct {
	json, near       bool
	out, temp, since string
}

func (p *program) reportCommand() *cobra.Command {
	var f reportFlags
	cmd := &cobra.Command{
		Use:   "report [flags] DIR",
		Short: "write a report of a crawl: one page with charts",
		Long: `report writes one HTML file about a crawl, DIR/report.html. It shows whether the
required delays were kept, pages and bytes over time, the queue, the answers, the
URLs that were not fetched with the reasons, errors and the pages that link to
them, redirects, the slowest sites, the largest pages, and duplicates. Each chart
has its figures as a table. The file makes no request and has no script, so it can
be sent, kept and printed.

The figures come from crawl.log, pages.jsonl, links.jsonl and the state of the
crawl, and nothing is changed. While a crawl runs, its state cannot be read, so the
figures of the queue are missing. Lines of the log that cannot be read are counted.

--near-duplicates also compares the main texts of pages, which it reads from the
archive. --since names an earlier crawl of the same sites: the report then also
shows what has changed since, as crawl diff does. --json prints the same figures
for programs. Docs: docs/reference/report.md.`,
		Example: `  crawl report news.crawl
  crawl report --out - news.crawl > /var/www/news.html
  crawl report --since last.crawl news.crawl
  crawl report --json news.crawl | jq .politeness`,
		RunE: func(cmd *cobra.Command, args []string) error {
			if len(args) != 1 {
				return exit.Usagef("crawl report takes one argument, the directory of a crawl")
			}
			return p.report(cmd.Context(), &f, args[0])
		},
	}
	flags := cmd.Flags()
	flags.BoolVar(&f.json, "json", false, "print the figures as JSON in place of the page")
	flags.StringVarP(&f.out, "out", "o", "", "file for the page; - for standard output (default: report.html in DIR)")
	flags.BoolVar(&f.near, "near-duplicates", false, "show pages with nearly the same text; it reads the archive, some 3 ms a page")
	flags.StringVar(&f.since, "since", "", "`directory` of an earlier crawl: show what has changed since")
	flags.StringVar(&f.temp, "temp", "", "directory for temporary files, some 800 bytes a request and what links.jsonl has (default: the system's)")
	return cmd
}

func (p *program) report(ctx context.Context, f *reportFlags, dir string) error {
	switch {
	case f.json && f.out != "" && f.out != "-":
		return exit.Usagef("--json prints to standard output: --out is for the page")
	case !crawldir.Exists(dir):
		return crawldir.Missing(dir)
	case !crawldir.Exists(filepath.Join(dir, store.StateFile)):
		return crawldir.NoCrawl(dir)
	case f.since != "" && !crawldir.Exists(filepath.Join(f.since, store.StateFile)):
		return exit.Usagef("--since: there is no crawl in %s: it has no %s", f.since, store.StateFile)
	}
	if f.out != "" && f.out != "-" {
		if err := output.Check("--out", f.out); err != nil {
			return err
		}
	}
	var r *report.Report
	var err error
	g := new(gauge.Gauge)
	p.meanwhile(reading("report", dir, g), func() {
		r, err = report.Dir(gauge.With(ctx, g), dir, report.Options{Temp: f.temp, Since: f.since, Near: f.near})
	})
	if errors.Is(err, report.ErrNoArchive) {
		return exit.Usagef("--near-duplicates: %w: crawl with --output warc,jsonl", err)
	}
	if err != nil {
		return err
	}
	if r.Running {
		p.note("crawl: this is of a crawl that runs: what %s says so far", filepath.Join(dir, store.LogFile))
	}
	if r.NotCompared != nil {
		p.note("crawl: %s%s", r.NotCompared.Words(), sinceOther(r.NotCompared, dir))
	}
	for _, o := range r.Other {
		p.note("crawl: line %d of %s could not be read, and is left out: %s", o.Line, filepath.Join(dir, store.LogFile), o.Why)
	}
	if more := r.Others - int64(len(r.Other)); more > 0 {
		p.note("crawl: and %d more", more)
	}
	if f.json {
		text, err := json.Marshal(r)
		if err != nil {
			return err
		}
		_, err = p.out.Write([]byte(say.Escaped(string(text)) + "\n"))
		return err
	}
	return p.writeReport(f, dir, r)
}

// sinceOther returns a colon and the command that compares with a crawl that the user names. It
// returns "" if naming another crawl would not help.
func sinceOther(n *report.NotCompared, dir string) string {
	if !strings.Contains(n.Mend, "another one") {
		return ""
	}
	return ": crawl report --since OTHER " + dir
}

// writeReport writes the page, and prints where it is.
func (p *program) writeReport(f *reportFlags, dir string, r *report.Report) error {
	var text bytes.Buffer
	if err := r.WriteHTML(&text); err != nil {
		return err
	}
	if f.out == "-" {
		_, err := p.out.Write(text.Bytes())
		return err
	}
	path := f.out
	if path == "" {
		path = filepath.Join(dir, reportFile)
	}
	if err := output.Error("--out", path, outfile.Write(path, text.Bytes())); err != nil {
		return err
	}
	w := p.lines()
	w.Told("report", "%s (%s)", path, say.Size(int64(text.Len())))
	pages := say.Plural(int(r.Pages), "page")
	if r.NotModified > 0 {
		pages += fmt.Sprintf(" (%d of them by a 304)", r.NotModified)
	}
	w.Told("of", "%s of %s, %s", pages, say.Plural(int(r.Sites), "site"), say.Plural(int(r.Requests), "request"))
	if r.Since != nil {
		w.Told("since", "%s: %s", r.Since.Was.Dir, say.Plural(int(r.Since.Counts.Changes()), "changed URL"))
	}
	if near := r.Near; near != nil {
		w.Told("duplicates", "pages that are near-duplicates of others: %d, in %s", near.Pages, say.Plural(int(near.Groups.All), "group"))
		if near.Unread > 0 {
			w.Told("", "not compared, since they cannot be read: %d (crawl verify says more)", near.Unread)
		}
	}
	w.Told("politeness", "early requests: %d; least margin: %s", r.Polite.Early, say.InSeconds(r.Polite.Margin()))
	return w.Err
}

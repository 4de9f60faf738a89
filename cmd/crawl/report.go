package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"strings"

	"github.com/permesso-crawler/permesso/cmd/crawl/internal/crawldir"
	"github.com/permesso-crawler/permesso/cmd/crawl/internal/exit"
	"github.com/permesso-crawler/permesso/cmd/crawl/internal/nodes"
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
	json, near              bool
	out, temp, since, state string
}

func (p *program) reportCommand() *cobra.Command {
	var f reportFlags
	cmd := &cobra.Command{
		Use:   "report [flags] DIR...",
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
for programs.

For a crawl on several machines (crawl run --state), name the directories of its
nodes. The page is then about their part of the crawl, as it is now, and about the
whole queue, which comes from the database that the first node names, or --state.
Docs: docs/reference/report.md.`,
		Example: `  crawl report news.crawl
  crawl report --out - news.crawl > /var/www/news.html
  crawl report --since last.crawl news.crawl
  crawl report --json news.crawl | jq .politeness
  crawl report --out news.html node1.crawl node2.crawl node3.crawl`,
		RunE: func(cmd *cobra.Command, args []string) error {
			if len(args) == 0 {
				return exit.Usagef("crawl report takes the directory of a crawl, or those of the nodes of a crawl on several machines")
			}
			return p.report(cmd.Context(), &f, args)
		},
	}
	flags := cmd.Flags()
	flags.BoolVar(&f.json, "json", false, "print the figures as JSON in place of the page")
	flags.StringVarP(&f.out, "out", "o", "", "file for the page; - for standard output (default: report.html in the first DIR)")
	flags.BoolVar(&f.near, "near-duplicates", false, "show pages with nearly the same text; it reads the archive, some 3 ms a page")
	flags.StringVar(&f.since, "since", "", "`directory` of an earlier crawl: show what has changed since")
	stateFlag(flags, &f.state)
	flags.StringVar(&f.temp, "temp", "", "directory for temporary files, some 800 bytes a request and what links.jsonl has (default: the system's)")
	return cmd
}

func (p *program) report(ctx context.Context, f *reportFlags, dirs []string) error {
	for _, dir := range dirs {
		if !crawldir.Exists(dir) {
			return crawldir.Missing(dir)
		}
	}
	dir, several := dirs[0], f.state != "" || len(dirs) > 1 || nodes.Is(dirs[0])
	switch {
	case f.json && f.out != "" && f.out != "-":
		return exit.Usagef("--json prints to standard output: --out is for the page")
	case several && f.near:
		return exit.Usagef("--near-duplicates reads the archive of one directory: name the one that crawl collect makes of the nodes")
	case !several && !crawldir.Exists(filepath.Join(dir, store.StateFile)):
		return crawldir.NoCrawl(dir)
	case f.since != "" && !crawldir.Exists(filepath.Join(f.since, store.StateFile)):
		return fmt.Errorf("--since: %w", crawldir.NoCrawl(f.since))
	}
	if f.out != "" && f.out != "-" {
		if err := output.Check("--out", f.out); err != nil {
			return err
		}
	}
	var r *report.Report
	var err error
	g, o := new(gauge.Gauge), report.Options{Temp: f.temp, Since: f.since, Near: f.near}
	p.meanwhile(reading("report", strings.Join(dirs, ", "), g), func() {
		if several {
			r, err = reportNodes(gauge.With(ctx, g), f.state, dirs, o)
		} else {
			r, err = report.Dir(gauge.With(ctx, g), dir, o)
		}
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
	if missing := r.NodeNames(func(n *report.Node) bool { return n.Dir == "" }); len(missing) > 0 {
		p.note("crawl: the report is without the requests and pages of the nodes %s: name their directories, too", strings.Join(missing, ", "))
	}
	if r.NotCompared != nil {
		p.note("crawl: %s%s", r.NotCompared.Words(), sinceOther(r.NotCompared, dir))
	}
	log := filepath.Join(dir, store.LogFile)
	if several {
		log = "the logs of the nodes, merged by time,"
	}
	for _, o := range r.Other {
		p.note("crawl: line %d of %s could not be read, and is left out: %s", o.Line, log, o.Why)
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

// reportNodes reports on a crawl on several machines, whose state the flag --state names or, if it
// is empty, the first of the directories.
func reportNodes(ctx context.Context, flag string, dirs []string, o report.Options) (r *report.Report, err error) {
	state, err := nodes.Find(flag, dirs[0])
	if err != nil {
		return nil, err
	}
	all, err := nodes.Of(ctx, state)
	if err != nil {
		return nil, err
	}
	of := make([]report.Node, len(all))
	for i, n := range all {
		of[i] = report.Node{Name: n.Name, State: n.State}
	}
	for _, dir := range dirs {
		name, err := nodes.Name(dir)
		if err != nil {
			return nil, err
		}
		i := slices.IndexFunc(of, func(n report.Node) bool { return n.Name == name })
		switch {
		case i < 0:
			return nil, exit.Usagef("%s is the directory of the node %s, which this crawl does not have", dir, name)
		case of[i].Dir != "":
			return nil, exit.Usagef("%s and %s are both of the node %s: name one of them", of[i].Dir, dir, name)
		}
		of[i].Dir = dir
	}
	reader, _, err := crawldir.OpenWhole(flag, dirs[0])
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, reader.Close()) }()
	return report.Nodes(ctx, reader, of, o)
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
	closest := ""
	if r.Polite.Judged > 0 {
		closest = "; " + say.Closest(r.Polite.Margin())
	}
	w.Told("politeness", "early requests: %d%s", r.Polite.Early, closest)
	return w.Err
}

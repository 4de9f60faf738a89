package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/permesso-crawler/permesso/cmd/crawl/internal/crawldir"
	"github.com/permesso-crawler/permesso/cmd/crawl/internal/exit"
	"github.com/permesso-crawler/permesso/cmd/crawl/internal/optout"
	"github.com/permesso-crawler/permesso/cmd/crawl/internal/say"
	"github.com/permesso-crawler/permesso/frontier"
	"github.com/permesso-crawler/permesso/internal/export/corpus"
	"github.com/permesso-crawler/permesso/internal/places"
	"github.com/permesso-crawler/permesso/internal/provenance"
	"github.com/permesso-crawler/permesso/internal/purge"
	"github.com/permesso-crawler/permesso/internal/store"
	"github.com/spf13/cobra"
)

func (p *program) optOutCommand() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "optout",
		Short: "keep the list of sites that no crawl of this user contacts",
		Long: `optout keeps the list of hosts and URLs that no crawl of this user contacts,
not even for robots.txt, regardless of its seeds, scope and settings. It is the file
permesso/opt-out.txt in the directory of the configuration, and may be edited by hand.
A crawl reads it when a run begins. For a running crawl use crawl exclude.`,
		Example: `  crawl optout add --reason "mail of 3 May" example.org
  crawl optout list
  crawl optout purge --dry-run news.crawl`,
		Args: noCommand,
		RunE: func(cmd *cobra.Command, args []string) error { return cmd.Help() },
	}
	cmd.AddCommand(p.optOutAddCommand(), p.optOutListCommand(), p.optOutPurgeCommand())
	return cmd
}

func (p *program) optOutAddCommand() *cobra.Command {
	var reason string
	cmd := &cobra.Command{
		Use:   "add [flags] HOST|URL ...",
		Short: "add hosts, or URLs with all that begins with them, to the list",
		Long: `add puts hosts on the list, each with all hosts below it, and every scheme and port;
or URLs, and all of a site that begins with one. What is on the list is not added
again. What was captured before stays: crawl optout purge removes it from a crawl.`,
		Example: `  crawl optout add --reason "mail of 3 May" example.org
  crawl optout add https://example.org/~joe/`,
		Args: cobra.ArbitraryArgs,
		RunE: func(cmd *cobra.Command, args []string) error {
			if len(args) == 0 {
				return exit.Usagef("crawl optout add needs a host, such as example.org, or a URL, such as https://example.org/~joe/")
			}
			return p.optOutAdd(args, reason)
		},
	}
	cmd.Flags().StringVar(&reason, "reason", "", "why, for the readers of the list")
	return cmd
}

func (p *program) optOutListCommand() *cobra.Command {
	var asJSON bool
	cmd := &cobra.Command{
		Use:     "list",
		Short:   "print the list",
		Long:    "list prints the hosts and URLs on the list, with their lines in the file.",
		Example: "  crawl optout list",
		Args:    noArgs,
		RunE:    func(cmd *cobra.Command, args []string) error { return p.optOutList(asJSON) },
	}
	cmd.Flags().BoolVar(&asJSON, "json", false, "a JSON object for each")
	return cmd
}

// optOutAdd appends places (hosts or URLs) to the opt-out list, except the places that are
// already on it.
func (p *program) optOutAdd(places []string, reason string) error {
	path, err := optout.Path()
	if err != nil {
		return err
	}
	raw, list, err := optout.Read(path)
	if err != nil {
		return err
	}
	if strings.ContainsAny(reason, "\r\n") {
		return exit.Usagef("--reason: give it in one line")
	}
	var text strings.Builder
	if len(raw) > 0 && raw[len(raw)-1] != '\n' {
		text.WriteByte('\n')
	}
	added := 0
	for _, place := range places {
		entry, err := optout.Place(place)
		if err != nil {
			return err
		}
		if list.Has(entry.Place) {
			p.note("crawl: %s is on the list", place)
			continue
		}
		added++
		note := "added " + time.Now().UTC().Format(time.DateOnly)
		if reason != "" {
			note += ": " + reason
		}
		fmt.Fprintf(&text, "%s # %s\n", strings.TrimSpace(place), note)
	}
	if added > 0 {
		if err := optout.Append(path, text.String()); err != nil {
			return fmt.Errorf("the opt-out list: %w", err)
		}
	}
	return p.say("%s added to %s: no run that begins from now on contacts it", say.Plural(added, "place"), path)
}

// An optOutEntry is a line of crawl optout list --json. The names of its fields are never
// changed.
type optOutEntry struct {
	Place string `json:"place"`
	File  string `json:"file"`
	Line  int    `json:"line"`
	Note  string `json:"note,omitempty"`
}

func (p *program) optOutList(asJSON bool) error {
	path, err := optout.Path()
	if err != nil {
		return err
	}
	_, list, err := optout.Read(path)
	if err != nil {
		return err
	}
	entries := list.Entries()
	for _, e := range entries {
		if asJSON {
			err = p.object(optOutEntry{e.Place, path, e.Line, e.Comment})
		} else if e.Comment != "" {
			err = p.say("%s  # %s", e.Place, e.Comment)
		} else {
			err = p.say("%s", e.Place)
		}
		if err != nil {
			return err
		}
	}
	if len(entries) == 0 && !asJSON {
		p.note("crawl: the list is empty: %s", path)
	}
	return nil
}

// purgeFlags are the flags of crawl optout purge.
type purgeFlags struct{ dryRun, yes, json bool }

func (p *program) optOutPurgeCommand() *cobra.Command {
	var f purgeFlags
	cmd := &cobra.Command{
		Use:   "purge [flags] DIR [HOST|URL ...]",
		Short: "remove from a crawl what was captured of the sites on the list",
		Long: `purge removes from a crawl what was captured of the sites on the list, or of the hosts and
URLs that are given: records of the WARC files, pages with their text, the links that
were found on them, and their lines of the index. It cannot be undone. Each record
is replaced by one of the same length that says so; nothing else moves.

What stays: crawl.log, and the copies of robots.txt, which prove to the owner which
requests were made; and URLs, if other pages link to them. Make exports and reports of
the crawl anew. If the crawl goes on, it contacts again those sites that are not on the
list. A body that several pages share is archived once. If it is removed, the pages of
other hosts that repeat it lose it, too: they are counted, by host. A later crawl of a
series that repeats it loses it as well: purge each by itself; those that know this
one are named.

No crawl may run in the directory. A purge that was interrupted is finished by the same
command; until then the crawl cannot go on.`,
		Example: `See what would be removed, then remove it:
  crawl optout purge --dry-run news.crawl
  crawl optout purge news.crawl

Of one owner, without a question:
  crawl optout purge --yes news.crawl example.org`,
		Args: cobra.ArbitraryArgs,
		RunE: func(cmd *cobra.Command, args []string) error {
			if len(args) == 0 {
				return exit.Usagef("crawl optout purge takes the directory of a crawl, as news.crawl, and hosts or URLs, if not all on the list")
			}
			switch {
			case !crawldir.Exists(args[0]):
				return crawldir.Missing(args[0])
			case !crawldir.Exists(filepath.Join(args[0], store.StateFile)):
				return crawldir.NoCrawl(args[0])
			}
			return p.optOutPurge(cmd.Context(), args[0], args[1:], f)
		},
	}
	flags := cmd.Flags()
	flags.BoolVar(&f.dryRun, "dry-run", false, "print what would be removed, and change nothing")
	flags.BoolVar(&f.yes, "yes", false, "do not ask")
	flags.BoolVar(&f.json, "json", false, "print what is removed as a JSON object")
	return cmd
}

func (p *program) optOutPurge(ctx context.Context, dir string, named []string, f purgeFlags) error {
	list, err := p.toPurge(named)
	if err != nil {
		return err
	}
	purging := &purge.Purge{Dir: dir, Places: list, Problem: func(err error) { p.note("crawl: %v", err) }}
	if !f.dryRun {
		if err := p.finishPurge(ctx, purging); err != nil {
			return err
		}
	}
	if f.dryRun || !f.yes {
		var planned store.Purged
		p.patiently(ctx, "purge", dir, func(ctx context.Context) { planned, err = purging.Plan(ctx) })
		if err != nil {
			return interrupted(err)
		}
		if f.dryRun || planned.None() {
			return p.purged(dir, list, &planned, f)
		}
		if err := p.allowed(dir, &planned); err != nil {
			return err
		}
	}
	var done store.Purged
	p.patiently(ctx, "purge", dir, func(ctx context.Context) { done, err = purging.Run(ctx) })
	if err != nil {
		return interrupted(err)
	}
	return p.purged(dir, list, &done, f)
}

// toPurge returns the places to remove from a crawl: those that the user has named or, if the
// user has named none, all places on the opt-out list. It prints which of the named places are
// not on the list.
func (p *program) toPurge(named []string) (*places.List, error) {
	path, err := optout.Path()
	if err != nil {
		return nil, err
	}
	_, known, err := optout.Read(path)
	if err != nil {
		return nil, err
	}
	if len(named) == 0 {
		if known.Len() == 0 {
			return nil, exit.Usagef("the list %s is empty: crawl optout add adds to it, or name a host or URL after the directory", path)
		}
		return known, nil
	}
	for _, place := range named {
		entry, err := optout.Place(place)
		if err != nil {
			return nil, err
		}
		text := entry.Place
		if !strings.Contains(text, "://") {
			text = "http://" + hostInURL(text) + "/"
		}
		if u, err := frontier.ParseURL(text); err == nil && known.Why(u) == "" {
			p.note("crawl: %s is not on the list, so a crawl that goes on contacts it again: crawl optout add %s", place, place)
		}
	}
	return places.Read(strings.NewReader(strings.Join(named, "\n")), "argument")
}

// hostInURL returns a host as it is written in a URL.
func hostInURL(host string) string {
	if strings.Contains(host, ":") {
		return "[" + strings.Trim(host, "[]") + "]"
	}
	return host
}

// finishPurge finishes a purge that was interrupted. It does not ask the user again.
func (p *program) finishPurge(ctx context.Context, purging *purge.Purge) error {
	broken, done, err := purging.Finish(ctx)
	if broken == nil || err != nil {
		return err
	}
	p.note("crawl: a purge of %s that began at %s was interrupted, and is finished now: %s", strings.Join(broken.Places, ", "), say.Stamp(broken.Time), optedOutNow(done.Entries))
	return nil
}

// allowed asks the user whether to go on with the purge.
func (p *program) allowed(dir string, planned *store.Purged) error {
	if !p.interactive() {
		return exit.Usagef("this would remove %s from %s permanently, and there is no terminal to confirm it on: give --yes, or --dry-run to see more", takenInWords(planned.Taken), dir)
	}
	if lost := bodilessInWords(planned.Bodiless); lost != "" {
		p.note("crawl: %s", lost)
	}
	fmt.Fprintf(p.err, "Permanently remove %s from %s? [y/N] ", takenInWords(planned.Taken), say.Printable(dir))
	return p.confirmed()
}

// purgedLine is what crawl optout purge prints with --json. The names of its fields are
// never changed.
type purgedLine struct {
	Dir      string           `json:"dir"`
	DryRun   bool             `json:"dry_run"`
	Total    takenJSON        `json:"total"`
	Places   []takenJSON      `json:"places"`
	URLs     int              `json:"urls"` // URLs that count as opted out now; 0 with --dry-run
	Moved    map[string]int64 `json:"moved,omitempty"`
	Bodiless int64            `json:"bodiless"`                   // records that stay but lose their body
	By       map[string]int64 `json:"bodiless_by_host,omitempty"` // the number in Bodiless, by the host of the URL
	Others   []string         `json:"others,omitempty"`
	Behind   []string         `json:"behind,omitempty"` // directories of crawls that may refer to what is removed
	Problems int              `json:"problems"`
}

type takenJSON struct {
	Place       string `json:"place,omitempty"`
	Records     int64  `json:"records"`
	RecordBytes int64  `json:"record_bytes"`
	Pages       int64  `json:"pages"`
	PageBytes   int64  `json:"page_bytes"`
	Links       int64  `json:"links"`
	LinkBytes   int64  `json:"link_bytes"`
	Captures    int64  `json:"captures"`
}

func takenAs(place string, t store.Taken) takenJSON {
	return takenJSON{place, t.Records, t.RecordBytes, t.Pages, t.PageBytes, t.Links, t.LinkBytes, t.Captures}
}

// purged prints what was removed or, with --dry-run, what would be removed.
func (p *program) purged(dir string, list *places.List, done *store.Purged, f purgeFlags) error {
	var err error
	if f.json {
		line := purgedLine{Dir: dir, DryRun: f.dryRun, Total: takenAs("", done.Taken), Places: []takenJSON{}, URLs: done.Entries, Moved: done.Moved, By: done.Bodiless, Problems: done.Problems}
		for _, n := range done.Bodiless {
			line.Bodiless += n
		}
		line.Others, line.Behind = derived(dir), store.Behind(dir)
		for _, place := range slices.Sorted(maps.Keys(done.By)) {
			line.Places = append(line.Places, takenAs(place, done.By[place]))
		}
		err = p.object(line)
	} else {
		err = p.purgedText(dir, list, done, f.dryRun)
	}
	if err == nil && done.Problems > 0 {
		err = exit.With(exit.Check, errors.New(say.Plural(done.Problems, "part")+" of the crawl cannot be read, and may still have something: crawl verify names all that is wrong"))
	}
	return err
}

func (p *program) purgedText(dir string, list *places.List, done *store.Purged, dryRun bool) error {
	var text []string
	for _, place := range slices.Sorted(maps.Keys(done.By)) {
		text = append(text, fmt.Sprintf("%s: %s", place, takenInWords(done.By[place])))
	}
	for _, name := range slices.Sorted(maps.Keys(done.Moved)) {
		text = append(text, fmt.Sprintf("%s was moved away; removed from the index: %s", name, say.Plural(int(done.Moved[name]), "answer")))
	}
	if lost := bodilessInWords(done.Bodiless); lost != "" {
		text = append(text, lost)
	}
	switch {
	case done.None():
		text = append(text, fmt.Sprintf("%s: nothing was captured of %s", dir, say.Plural(list.Len(), "place")))
	case dryRun:
		text = append(text, fmt.Sprintf("%s: nothing was changed; this would be removed: %s", dir, takenInWords(done.Taken)))
	default:
		text = append(text, fmt.Sprintf("%s: %s; gone: %s", dir, optedOutNow(done.Entries), takenInWords(done.Taken)))
	}
	if others := derived(dir); len(others) > 0 && !done.None() {
		text = append(text, "these files may still have removed pages; make them again: "+strings.Join(others, ", "))
	}
	if path := filepath.Join(dir, provenance.File); crawldir.Exists(path) && !done.None() {
		text = append(text, fmt.Sprintf("%s describes the crawl before this purge: crawl provenance %s writes it again", path, dir))
	}
	if later := store.Behind(dir); len(later) > 0 && !done.None() {
		text = append(text, "later crawls may have captured the same pages, and records in them that repeat a removed body have lost it: "+
			strings.Join(later, ", ")+": run crawl optout purge on each of them, too")
	}
	return p.sayAll(text)
}

// bodilessInWords returns a sentence that says which records would stay in the archive but lose
// their body, or "" if there are none. hosts has the number of such records by host.
func bodilessInWords(hosts map[string]int64) string {
	const most = 10
	var total int64
	for _, n := range hosts {
		total += n
	}
	if total == 0 {
		return ""
	}
	names := slices.SortedFunc(maps.Keys(hosts), func(a, b string) int {
		return cmp.Or(cmp.Compare(hosts[b], hosts[a]), cmp.Compare(a, b))
	})
	var parts []string
	for _, name := range names[:min(len(names), most)] {
		parts = append(parts, fmt.Sprintf("%s %d", name, hosts[name]))
	}
	if more := len(names) - len(parts); more > 0 {
		parts = append(parts, "and "+say.Plural(more, "host")+" more")
	}
	return fmt.Sprintf("records of other pages that lose their body, because it is the same as a removed one: %d (%s)", total, strings.Join(parts, ", "))
}

func optedOutNow(urls int) string {
	if urls == 1 {
		return "1 URL counts as opted out now"
	}
	return fmt.Sprintf("%d URLs count as opted out now", urls)
}

func takenInWords(t store.Taken) string {
	return fmt.Sprintf("%s of WARC files (%s), %s (%s), %s (%s)", say.Plural(int(t.Records), "record"), say.Size(t.RecordBytes),
		say.Plural(int(t.Pages), "page"), say.Size(t.PageBytes), say.Plural(int(t.Links), "link"), say.Size(t.LinkBytes))
}

// derived returns the files in the directory of a crawl that are made from the data of the crawl,
// such as exports, and the directories of Markdown.
func derived(dir string) (paths []string) {
	entries, err := os.ReadDir(dir)
	if err != nil {
		return nil // reading the crawl reports the error
	}
	own := []string{store.PagesFile, store.LinksFile, store.IndexFile, provenance.AbsencesFile, provenance.RobotsFile} // the last two contain nothing from a page
	for _, e := range entries {
		suffix := filepath.Ext(e.Name())
		if e.IsDir() && crawldir.Exists(filepath.Join(dir, e.Name(), corpus.IndexFile)) {
			paths = append(paths, filepath.Join(dir, e.Name()))
		}
		if !e.IsDir() && !slices.Contains(own, e.Name()) && slices.Contains([]string{".wacz", ".csv", ".parquet", ".cdxj", ".jsonl", ".html"}, suffix) {
			paths = append(paths, filepath.Join(dir, e.Name()))
		}
	}
	return paths
}

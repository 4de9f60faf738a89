package main

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/permesso-crawler/permesso/cmd/crawl/internal/crawldir"
	"github.com/permesso-crawler/permesso/cmd/crawl/internal/exit"
	"github.com/permesso-crawler/permesso/cmd/crawl/internal/nodes"
	"github.com/permesso-crawler/permesso/cmd/crawl/internal/say"
	"github.com/permesso-crawler/permesso/cmd/crawl/internal/seal"
	"github.com/permesso-crawler/permesso/crawler"
	"github.com/permesso-crawler/permesso/internal/provenance"
	"github.com/permesso-crawler/permesso/internal/store"
	"github.com/spf13/cobra"
)

// repairFlags are the flags of crawl repair.
type repairFlags struct {
	dryRun, yes, json, moved, rewind bool
	temp                             string
}

func (p *program) repairCommand() *cobra.Command {
	var f repairFlags
	cmd := &cobra.Command{
		Use:   "repair [flags] DIR",
		Short: "repair a damaged crawl, and print what is lost",
		Long: `repair makes a damaged crawl usable again. A single bit that flipped is turned
back, by the checksums of state.db. Lines that cannot be read are left out of pages.jsonl,
links.jsonl and crawl.log. A WARC record that cannot be read is replaced by one of the
same length that says so; all others stay where they are. The index is made again. A URL
whose page or answer is lost is fetched again by the next run.

First everything is made beside the crawl, in DIR/repair.new, and what would change is
printed. Then the files that differ are replaced; the old ones are kept in DIR/damaged-*
until you delete them. A repair that was killed is finished by the same
command; a full disk changes nothing. A crawl that is not damaged is not changed.

If state.db cannot be read, nothing is repaired: the archive, pages and links can still
be read and exported, but no run can go on. No crawl may run in the directory. The
command exits with 6 if something stays damaged. Docs: docs/reference/repair.md.

With --rewind, DIR is the directory of a node of a crawl on several machines whose database
is older than its files, because a backup was restored. The next crawl run then goes on
with that database: it fetches again what the database lacks, and keeps what the node has
of it in DIR/forgotten-*.`,
		Example: `  crawl repair --dry-run news.crawl
  crawl repair news.crawl`,
		RunE: func(cmd *cobra.Command, args []string) error {
			switch {
			case len(args) != 1:
				return exit.Usagef("crawl repair takes one argument, the directory of a crawl")
			case !crawldir.Exists(args[0]):
				return crawldir.Missing(args[0])
			case f.rewind:
				return p.rewind(args[0], f)
			case crawldir.IsOther(args[0]):
				return crawldir.NoCrawl(args[0])
			}
			return p.repair(cmd.Context(), args[0], f)
		},
	}
	flags := cmd.Flags()
	flags.BoolVar(&f.dryRun, "dry-run", false, "print what would change, and change nothing")
	flags.BoolVar(&f.yes, "yes", false, "do not ask")
	flags.BoolVar(&f.json, "json", false, "print what was done as a JSON object")
	flags.BoolVar(&f.moved, "moved", false, "WARC files that are missing were moved away on purpose: their records are not lost")
	flags.BoolVar(&f.rewind, "rewind", false, "let a node go on with a database that is older than its files")
	flags.StringVar(&f.temp, "temp", "", "`directory` for temporary files, some 300 bytes a URL (default: the system's)")
	return cmd
}

func (p *program) repair(ctx context.Context, dir string, f repairFlags) (err error) {
	if !f.dryRun {
		aside, err := store.FinishRepair(dir)
		if err != nil {
			return err
		}
		if aside != "" {
			p.note("crawl: a repair that was interrupted is finished: the old files are in %s", aside)
		}
	}
	var r *store.Repair
	p.patiently(ctx, "repair", dir, func(ctx context.Context) {
		r, err = store.NewRepair(ctx, dir, store.RepairOptions{
			Moved: f.moved, Temp: f.temp, Writer: crawler.ArchiveWriter,
			Beside: seal.Files(),
		})
		if err == nil && r.Sound {
			if err = seal.Mend(ctx, dir, f.moved, r); err != nil {
				err = errors.Join(err, r.Discard())
			}
		}
	})
	if err != nil {
		return interrupted(err)
	}
	if len(r.Changed) == 0 || f.dryRun {
		return errors.Join(r.Discard(), p.repaired(dir, r, f))
	}
	if !f.yes {
		if err := p.mayRepair(dir, r); err != nil {
			return errors.Join(err, r.Discard())
		}
	}
	if err := r.Commit(); err != nil {
		return err
	}
	return p.repaired(dir, r, f)
}

// rewind lets a node go on with a database that is older than its files.
func (p *program) rewind(dir string, f repairFlags) error {
	if f != (repairFlags{rewind: true}) {
		return exit.Usagef("--rewind takes no other flag: it changes no output, and deletes nothing")
	}
	state, err := nodes.StateOf(dir)
	if err != nil {
		return err
	}
	node, ok := state.(interface{ Rewind(dir string) error })
	if !ok {
		return errors.New("this state is not that of several machines")
	}
	if err := node.Rewind(dir); err != nil {
		return err
	}
	return p.say("%s: the next crawl run goes on with the database as it is, and keeps in %s/forgotten-* what the database lacks", dir, dir)
}

// mayRepair asks the user whether to replace the files.
func (p *program) mayRepair(dir string, r *store.Repair) error {
	if !p.interactive() {
		return exit.Usagef("nothing was changed: --yes replaces %s of %s, --dry-run says more", say.Plural(len(r.Changed), "file"), dir)
	}
	for _, line := range repairLines(r) {
		fmt.Fprintln(p.err, say.Printable(line))
	}
	fmt.Fprintf(p.err, "Replace %s of %s, and keep the old ones? [y/N] ", say.Plural(len(r.Changed), "file"), say.Printable(dir))
	return p.confirmed()
}

// repairLines returns lines that say what a repair changes, and what is lost.
func repairLines(r *store.Repair) (text []string) {
	for _, line := range r.Mended {
		text = append(text, "mended  "+line)
	}
	for _, line := range r.Lost {
		text = append(text, "lost    "+line)
	}
	if r.Again > 0 {
		text = append(text, fmt.Sprintf("again   the next run fetches %s whose page or answer is lost: %s", say.Plural(r.Again, "URL"), strings.Join(r.Examples, ", ")))
	}
	for _, line := range r.Left[:min(len(r.Left), say.MaxProblems)] {
		text = append(text, "stays   "+line)
	}
	return text
}

// A repairedLine is what crawl repair prints with --json. The names of its fields are never
// changed.
type repairedLine struct {
	Dir      string   `json:"dir"`
	DryRun   bool     `json:"dry_run"`
	Sound    bool     `json:"sound"`
	Problems int      `json:"problems"`
	Mended   []string `json:"mended"`
	Lost     []string `json:"lost"`
	Again    int      `json:"again"` // URLs that will be fetched again
	Examples []string `json:"examples"`
	Left     []string `json:"left"` // problems that remain
	Changed  []string `json:"changed"`
	Aside    string   `json:"aside,omitempty"`
}

// repaired prints what was repaired or, with --dry-run, what would be repaired.
func (p *program) repaired(dir string, r *store.Repair, f repairFlags) error {
	if f.json {
		all := func(s []string) []string { return append([]string{}, s...) }
		err := p.object(repairedLine{
			dir, f.dryRun, r.Sound, r.Problems, all(r.Mended), all(r.Lost), r.Again, all(r.Examples), all(r.Left), all(r.Changed), r.Aside,
		})
		if err != nil {
			return err
		}
		return p.staysDamaged(dir, r)
	}
	text := repairLines(r)
	switch {
	case r.Sound:
		text = append(text, dir+": no damage found: nothing was changed")
	case len(r.Changed) == 0:
		text = append(text, dir+": nothing was changed")
	case f.dryRun:
		text = append(text, fmt.Sprintf("%s: nothing was changed; these files would be replaced: %s", dir, strings.Join(r.Changed, ", ")))
	default:
		text = append(text, fmt.Sprintf("%s: replaced %s; the old ones are in %s: delete it when you are sure that nothing is missing", dir, strings.Join(r.Changed, ", "), r.Aside))
	}
	if len(r.Changed) > 0 && !f.dryRun && (!r.Restored || slices.Contains(r.Changed, provenance.File)) {
		text = append(text, "make exports and reports of the crawl again: crawl provenance "+dir)
	}
	if err := p.sayAll(text); err != nil {
		return err
	}
	return p.staysDamaged(dir, r)
}

func (p *program) staysDamaged(dir string, r *store.Repair) error {
	if len(r.Left) == 0 {
		return nil
	}
	return exit.With(exit.State, errors.New(say.Plural(len(r.Left), "problem")+" cannot be repaired: restore the whole directory from a copy, or start again with crawl run --fresh"))
}

package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"iter"
	"os"
	"os/signal"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"time"

	"github.com/permesso-crawler/permesso/cmd/crawl/internal/crawldir"
	"github.com/permesso-crawler/permesso/cmd/crawl/internal/exit"
	"github.com/permesso-crawler/permesso/cmd/crawl/internal/output"
	"github.com/permesso-crawler/permesso/cmd/crawl/internal/say"
	"github.com/permesso-crawler/permesso/cmd/crawl/internal/settings"
	"github.com/permesso-crawler/permesso/cmd/crawl/internal/terminal"
	"github.com/permesso-crawler/permesso/crawler"
	"github.com/permesso-crawler/permesso/internal/export"
	"github.com/permesso-crawler/permesso/internal/export/corpus"
	"github.com/permesso-crawler/permesso/internal/export/parquet"
	"github.com/permesso-crawler/permesso/internal/gauge"
	"github.com/permesso-crawler/permesso/internal/series"
	"github.com/permesso-crawler/permesso/internal/store"
	"github.com/permesso-crawler/permesso/internal/wacz"
	"github.com/permesso-crawler/permesso/storage/warc"
	"github.com/spf13/cobra"
	"golang.org/x/text/runes"
	"golang.org/x/text/transform"
)

// exportFlags are the flags of crawl export, as they were given.
type exportFlags struct {
	format, output, title, main, temp string
	force, check, exact               bool
	purpose                           string
	whole, near                       bool
}

func (p *program) exportCommand() *cobra.Command {
	var f exportFlags
	cmd := &cobra.Command{
		Use:   "export [flags] DIR|SERIES",
		Short: "export a crawl as a table, as text or Markdown, as WACZ, or as an index",
		Long: `export reads pages.jsonl and warc/ in the directory of a crawl and writes

  jsonl, csv   a row for each capture, which is one answer to one request
  parquet      the same, in the columns of Common Crawl's index
  cdxj         the index of the WARC files
  wacz         the WARC files with index and pages, for ReplayWeb.page
  text         the row of each page with its main text, as JSON lines
  markdown     the main content of each page as a file of Markdown, in a
               directory; JSON lines if --output is - or ends with .jsonl
  wet          the main text of each page as WARC conversion records

jsonl, csv, cdxj and text go to standard output, all others to a file or directory named
after DIR; --output names another. A file gets its name only when it is complete. Docs:
docs/reference/exports.md.

text, markdown and wet leave out the pages whose owner refuses the purpose of the crawl, or
that of --purpose, and name them in FILE.refused.jsonl.

If DIR is a series (a directory with many crawls), all formats except cdxj and wacz have the
rows of all crawls that have ended, and one more column, the first: snapshot, when the crawl
began.

Parts that cannot be read are printed and left out, and the command exits with 3. It
also exits with 3 if a WACZ lacks bodies to which its records refer, because they
were purged or are in another crawl.`,
		Example: `  crawl export news.crawl --format csv --output news.csv
  crawl export news.crawl --format parquet --check
  crawl export weekly --format parquet
  crawl export news.crawl --format jsonl | jq .title
  crawl export news.crawl --format text --purpose ai-train -o texts.jsonl
  crawl export news.crawl --format markdown --output news`,
		RunE: func(cmd *cobra.Command, args []string) error {
			if len(args) != 1 {
				return exit.Usagef("crawl export takes one argument, the directory of a crawl, or of a series of them")
			}
			return p.export(cmd.Context(), &f, args[0])
		},
	}
	flags := cmd.Flags()
	settings.Choose(flags, &f.format, "format", "f", "format (default: by the end of --output)", formatNames()...)
	flags.StringVarP(&f.output, "output", "o", "", "`file` to write; - is standard output")
	flags.BoolVar(&f.force, "force", false, "overwrite an existing file, or a directory that has nothing but an export to markdown")
	flags.BoolVar(&f.check, "check", false, "read the file again before it gets its name")
	flags.BoolVar(&f.exact, "exact", false, "csv: no apostrophe before texts that a spreadsheet would read as formulas")
	flags.StringVar(&f.title, "title", "", "wacz: `title` (default: the name of the directory)")
	flags.StringVar(&f.main, "main", "", "wacz: `URL` of the page to open first (default: that of the first seed)")
	settings.Choose(flags, &f.purpose, "purpose", "", "text, markdown, wet: leave out pages whose owner refuses this purpose (default: the purpose of the crawl)", purposeNames()...)
	flags.BoolVar(&f.whole, "whole", false, "text, markdown, wet: the whole page, not only its main content")
	flags.BoolVar(&f.near, "near-duplicates", false, "text, markdown, wet: name the first page with nearly the same text")
	flags.StringVar(&f.temp, "temp", "", "`directory` for temporary files, some 700 bytes a capture (default: the system's)")
	return cmd
}

// A format is a value of --format.
type format struct {
	name   string
	binary bool
	warc   bool   // the export reads the WARC files of the crawl
	text   bool   // the export has the content of pages
	unit   string // singular noun for what the export counts, such as row
	write  func(context.Context, *exported, io.Writer, *exportFlags) (int64, error)
	check  func(*os.File) (int64, error) // counts the units in an exported file
}

// An exported is what an export reads: one crawl, or all crawls of a series. For a series,
// Source is nil.
type exported struct {
	*export.Source
	series export.Series // nil if it is one crawl
	unread int           // crawls of the series that cannot be read
	texts  *texts        // nil unless the export has the content of pages
}

// rows returns the rows of the crawl, or of all crawls of the series.
func (x *exported) rows(ctx context.Context) iter.Seq2[*export.Row, error] {
	if x.series != nil {
		return x.series.Rows(ctx)
	}
	return x.Rows(ctx)
}

func (x *exported) read() int64 {
	if x.series != nil {
		return x.series.Read()
	}
	return x.Read()
}

func (x *exported) size() (int64, error) {
	if x.series != nil {
		return x.series.Size()
	}
	return x.Size()
}

// sources returns the crawls.
func (x *exported) sources() []*export.Source {
	if x.series == nil {
		return []*export.Source{x.Source}
	}
	var all []*export.Source
	for _, of := range x.series {
		all = append(all, of.Source)
	}
	return all
}

var formats = []format{
	{"cdxj", false, true, false, "line",
		func(ctx context.Context, s *exported, w io.Writer, f *exportFlags) (int64, error) {
			return s.WriteCDXJ(ctx, w)
		},
		func(f *os.File) (int64, error) { return export.CheckCDXJ(f) }},
	{"wacz", true, true, false, "listed page",
		func(ctx context.Context, s *exported, w io.Writer, f *exportFlags) (int64, error) {
			return s.WriteWACZ(ctx, w, wacz.Package{
				Title: f.title, MainPageURL: f.main, Created: time.Now(), Software: "permesso " + crawler.Version,
			})
		},
		nil},
	{"jsonl", false, false, false, "row",
		func(ctx context.Context, s *exported, w io.Writer, f *exportFlags) (int64, error) {
			return export.WriteJSONL(w, s.rows(ctx))
		},
		func(f *os.File) (int64, error) { return export.CheckJSONL(f) }},
	{"csv", false, false, false, "row",
		func(ctx context.Context, s *exported, w io.Writer, f *exportFlags) (int64, error) {
			return export.CSV{Exact: f.exact, Snapshots: s.series != nil}.Write(w, s.rows(ctx))
		},
		func(f *os.File) (int64, error) { return export.CheckCSV(f) }},
	{"parquet", true, false, false, "row",
		func(ctx context.Context, s *exported, w io.Writer, f *exportFlags) (int64, error) {
			return parquet.Write(w, s.rows(ctx), parquet.Options{Segment: f.title, Version: crawler.Version, Snapshots: s.series != nil})
		},
		func(f *os.File) (int64, error) {
			info, err := f.Stat()
			if err != nil {
				return 0, err
			}
			return parquet.Check(f, info.Size())
		}},
	{"text", false, true, true, "page", writeTexts, func(f *os.File) (int64, error) { return corpus.CheckLines(f) }},
	{"markdown", true, true, true, "page", writeMarkdown, func(f *os.File) (int64, error) { return corpus.CheckLines(f) }},
	{"wet", true, true, true, "conversion record", writeWET, func(f *os.File) (int64, error) { return corpus.CheckWET(f) }},
}

// formatNames returns the names of the formats.
func formatNames() (names []string) {
	for _, f := range formats {
		names = append(names, f.name)
	}
	return names
}

// resolve completes the flags for a directory, and returns the format.
func (f *exportFlags) resolve(dir string) (*format, error) {
	name := f.format
	if name == "" {
		name = strings.TrimPrefix(filepath.Ext(f.output), ".")
	}
	i := slices.IndexFunc(formats, func(f format) bool { return f.name == name })
	switch {
	case f.format == "" && i < 0:
		return nil, exit.Usagef("which format? --format cdxj, wacz, jsonl, csv, parquet, text, markdown or wet")
	case i < 0:
		return nil, exit.Usagef("--format: %q is not one of %s", name, strings.Join(formatNames(), ", "))
	case (f.purpose != "" || f.whole || f.near) && !formats[i].text:
		return nil, exit.Usagef("--purpose, --whole and --near-duplicates are for text, markdown and wet: %s has no content of pages", name)
	case f.exact && name != "csv":
		return nil, exit.Usagef("--exact is for csv: %s has every text as it is", name)
	case (f.title != "" || f.main != "") && name != "wacz":
		return nil, exit.Usagef("--title and --main are for wacz: %s has no place for them", name)
	}
	abs, err := filepath.Abs(dir)
	if err != nil {
		return nil, err
	}
	crawl := strings.TrimSuffix(filepath.Base(abs), ".crawl")
	if f.title == "" {
		f.title = crawl
	}
	if f.output == "" {
		if f.output = "-"; formats[i].binary {
			f.output = crawl + "." + name
		}
		if name == "wet" {
			f.output = crawl + ".warc.wet.gz"
		}
	}
	if f.isTree(formats[i].name) && f.check {
		return nil, exit.Usagef("--check is for files, and markdown is a directory: give --output FILE.jsonl for one file")
	}
	return &formats[i], nil
}

func (p *program) export(ctx context.Context, f *exportFlags, dir string) error {
	kind, err := f.resolve(dir)
	if err != nil {
		return err
	}
	source, err := p.openExported(dir, kind)
	if err != nil {
		return err
	}
	damaged := p.reportDamage(source, f)
	if kind.text {
		if source.texts, err = p.newTexts(dir, source, f); err != nil {
			return err
		}
		defer source.texts.discard()
	}
	out, err := p.target(f, kind)
	if err != nil {
		return err
	}
	defer out.Discard()

	// Until here an interrupt ends the process, also while a named pipe waits for its
	// reader. From here on the first interrupt ends the export, which removes what it has
	// written; a second interrupt ends the process.
	ctx, stop := signal.NotifyContext(ctx, os.Interrupt, syscall.SIGTERM)
	defer stop()
	defer context.AfterFunc(ctx, stop)()
	n, err := p.tell(source, out, func() (int64, error) { return kind.write(ctx, source, out, f) })
	if err == nil && f.check {
		err = out.Check(n, kind.unit, kind.check)
	}
	if err == nil && ctx.Err() == nil {
		if err = source.texts.commit(); err == nil { // no export without the file of its refused pages
			err = out.Commit()
		}
	}
	switch {
	case err == nil && ctx.Err() == nil:
	case ctx.Err() != nil:
		return exit.With(exit.Forced, errors.New("interrupted: the export is not whole, and a file is not written; the same command does it again"))
	default:
		return exportError(dir, err)
	}
	var missing export.Missing
	if source.Source != nil {
		missing = source.Missing
	}
	return p.exportedTo(f, kind, n, out, *damaged+source.unread, missing, source.texts)
}

// reportDamage sets what is done with damaged parts: the first ones are printed. The result is
// their number, when the export has ended.
func (p *program) reportDamage(source *exported, f *exportFlags) *int {
	damaged, away := new(int), 0
	for _, s := range source.sources() {
		s.Temp = f.temp
		s.Damaged = func(d *export.Damage) error {
			if errors.As(d, new(*store.MissingAnswerError)) { // all such records are counted in Missing
				if away++; away <= say.MaxProblems {
					p.note("crawl: %v", d)
				}
				return nil
			}
			if *damaged++; *damaged <= say.MaxProblems {
				p.note("crawl: %v; this is left out", d)
			}
			return nil
		}
	}
	return damaged
}

// exportedTo prints the result of an export. It returns an error if damaged parts could not be
// read, or if records were exported without their body. The error has the number of each.
func (p *program) exportedTo(f *exportFlags, kind *format, n int64, out *output.Target, damaged int, missing export.Missing, texts *texts) error {
	checked := ""
	if f.check {
		checked = "; read again, and whole"
	}
	name := f.output
	if name == "-" {
		name = "standard output"
	}
	p.note("crawl: %s and %s of %s in %s%s", say.Plural(int(n), kind.unit), say.Size(out.Size()), kind.name, name, checked)
	if damaged > say.MaxProblems {
		p.note("crawl: and %d more", damaged-say.MaxProblems)
	}
	lacks := p.endTexts(texts)
	if damaged > 0 {
		lacks = append(lacks, say.Plural(damaged, "part")+" could not be read")
	}
	if missing.Purged > 0 {
		lacks = append(lacks, fmt.Sprintf("records without their body, since it was purged: %d", missing.Purged))
	}
	if missing.Away > 0 {
		lacks = append(lacks, fmt.Sprintf("records without their body, since it is in a crawl that is missing: %d", missing.Away))
	}
	if len(lacks) == 0 {
		return nil
	}
	return exit.With(exit.Check, fmt.Errorf("%s; everything else is exported (crawl verify says more)", strings.Join(lacks, "; ")))
}

// openExported opens the crawl, or the crawls of the series, in dir.
func (p *program) openExported(dir string, kind *format) (*exported, error) {
	of, err := series.Open(dir)
	if err != nil || crawldir.Exists(filepath.Join(dir, store.StateFile)) || crawldir.Exists(filepath.Join(dir, store.PagesFile)) || crawldir.Exists(filepath.Join(dir, store.ArchiveDir)) {
		source, err := openCrawl(dir, kind)
		return &exported{Source: source}, err
	}
	if kind.unit != "row" && !kind.text {
		return nil, exit.Usagef("%s is a series of crawls, and %s is of one: export each of them, as %s", dir, kind.name, filepath.Join(dir, "20261120T030000Z.crawl"))
	}
	all, err := of.Snapshots()
	if err != nil {
		return nil, err
	}
	ended, unread := p.endedOf(all)
	x := &exported{series: export.Series{}, unread: len(unread)}
	for _, s := range all {
		if slices.Contains(unread, s) {
			continue
		}
		if !slices.Contains(ended, s) {
			p.note("crawl: %s has not ended, and is left out", s.Dir)
			continue
		}
		source, err := export.Open(s.Dir)
		if errors.Is(err, export.ErrNoCrawl) {
			p.note("crawl: in %s nothing was written: it is left out", s.Dir)
			continue
		}
		if err != nil {
			return nil, err
		}
		x.series = append(x.series, export.Snapshot{Start: s.Start, Source: source})
	}
	if len(x.series) == 0 {
		return nil, exit.Usagef("%s has no crawl that has ended and has written something", dir)
	}
	return x, nil
}

// openCrawl opens the files that a format needs.
func openCrawl(dir string, kind *format) (*export.Source, error) {
	source, err := export.Open(dir)
	switch {
	case errors.Is(err, fs.ErrNotExist), errors.Is(err, syscall.ENOTDIR):
		return nil, crawldir.Missing(dir)
	case errors.Is(err, export.ErrNoCrawl) && crawldir.Exists(filepath.Join(dir, store.ArchiveDir)):
		return nil, exit.Usagef("%s has neither pages nor WARC files: no answer was archived until now", dir)
	case errors.Is(err, export.ErrNoCrawl) && crawldir.Exists(filepath.Join(dir, store.StateFile)):
		return nil, exit.Usagef(`%s has neither pages nor WARC files: the crawl was run without "--output jsonl" and "--output warc"; crawl list --json lists its URLs`, dir)
	case errors.Is(err, export.ErrNoCrawl):
		return nil, exit.Usagef("%s has neither pages.jsonl nor %s: it is not the directory of a crawl", dir, filepath.Join("warc", "*.warc.gz"))
	case err != nil:
		return nil, err
	case kind.warc && len(source.WARCs) == 0:
		if crawldir.Exists(filepath.Join(dir, store.ArchiveDir)) {
			return nil, exit.Usagef("%s has no WARC files, and %s is made of them: no answer was archived until now", dir, kind.name)
		}
		return nil, exit.Usagef(`%s has no WARC files, and %s is made of them: the crawl was run without "--output warc". `+
			`"crawl run --output jsonl,warc --fresh ..." crawls again and archives every answer; without --fresh, those that are still to come`,
			dir, kind.name)
	}
	return source, nil
}

// exportError adds the exit code to the error of an export.
func exportError(dir string, err error) error {
	var bad *warc.Error
	switch {
	case errors.Is(err, export.ErrOpen):
		if run, held := store.Holder(dir); held {
			return fmt.Errorf("%w: %w", err, &store.InUseError{Dir: dir, Run: run})
		}
		return exit.With(exit.State, fmt.Errorf("%w: the crawl was killed. The command that began it goes on with it, and finishes the file", err))
	case errors.As(err, &bad):
		return exit.With(exit.State, fmt.Errorf("%w; a WACZ holds whole files, so this one cannot be packed: crawl verify says more", err))
	}
	return err
}

// tell runs f. If f takes long, tell prints how far the export is.
func (p *program) tell(s *exported, out *output.Target, f func() (int64, error)) (int64, error) {
	whole, err := s.size()
	if err != nil {
		return 0, err
	}
	var n int64
	p.meanwhile(func(took time.Duration) string {
		var g gauge.Gauge
		g.Set(s.read(), whole)
		return fmt.Sprintf("export: %s; %s written", far(&g, took), say.Size(out.Size()))
	}, func() { n, err = f() })
	return n, err
}

// target returns the file or output that the flags name.
func (p *program) target(f *exportFlags, kind *format) (*output.Target, error) {
	switch {
	case f.isTree(kind.name):
		return output.Stdout(io.Discard), nil // it counts the bytes
	case f.output != "-":
		t, err := output.Create(f.output, f.force)
		if err == nil && f.check && t.InPlace() {
			t.Discard()
			return nil, exit.Usagef("--check reads the file again, and %s is not a regular file: give another --output", f.output)
		}
		return t, err
	case f.check:
		return nil, exit.Usagef("--check reads the file again, and standard output is not a file: give --output FILE")
	case kind.binary && kind.name != "markdown" && terminal.Is(p.out):
		return nil, exit.Usagef("%s is binary and standard output is a terminal: give --output FILE, or a pipe", kind.name)
	case terminal.Is(p.out): // a title may have control sequences; a file or a pipe gets every byte
		return output.Stdout(transform.NewWriter(p.out, runes.Remove(runes.Predicate(say.Steers)))), nil
	}
	return output.Stdout(p.out), nil
}

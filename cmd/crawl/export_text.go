package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"iter"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/permesso-crawler/permesso/cmd/crawl/internal/crawldir"
	"github.com/permesso-crawler/permesso/cmd/crawl/internal/exit"
	"github.com/permesso-crawler/permesso/cmd/crawl/internal/output"
	"github.com/permesso-crawler/permesso/cmd/crawl/internal/say"
	"github.com/permesso-crawler/permesso/crawler"
	"github.com/permesso-crawler/permesso/internal/account"
	"github.com/permesso-crawler/permesso/internal/export"
	"github.com/permesso-crawler/permesso/internal/export/corpus"
	"github.com/permesso-crawler/permesso/internal/outfile"
	"github.com/permesso-crawler/permesso/internal/store"
	"github.com/permesso-crawler/permesso/robots"
)

// purposeNames returns the values of --purpose.
func purposeNames() []string {
	names := []string{"none"}
	for _, p := range robots.Purposes() {
		names = append(names, string(p))
	}
	return names
}

// isTree reports whether the export is a directory of files. An output that exists and is a file,
// a device or a pipe, or a link to one of these, gets JSON lines. So does a link to nothing with
// --force, because then a file is made that the link leads to.
func (f *exportFlags) isTree(format string) bool {
	if format != "markdown" || f.output == "-" || strings.HasSuffix(f.output, ".jsonl") {
		return false
	}
	info, err := os.Stat(f.output)
	if err == nil {
		return info.IsDir()
	}
	_, missing := os.Lstat(f.output)
	return missing != nil || !f.force
}

// A texts is an export of the content of pages.
type texts struct {
	purpose  robots.Purpose
	declared [][]robots.Purpose    // of the runs of each crawl
	side     *output.Target        // the file with the pages that were left out; nil if none exists
	path     string                // of side
	end      func(keep bool) error // ends the directory of files; nil if none exists
	refused  int64                 // pages that were left out
	near     int64                 // near-duplicates of other pages
	failed   int64                 // pages without content, or with the text of the whole page in place of it
	first    string                // the first of them, with its error
}

// newTexts finds out for which purpose the pages are exported, and makes the side file.
func (p *program) newTexts(dir string, source *exported, f *exportFlags) (*texts, error) {
	t := &texts{purpose: robots.Purpose(f.purpose)}
	if f.purpose == "none" {
		t.purpose, t.declared = "", make([][]robots.Purpose, len(source.sources()))
		return t, nil
	}
	for i, s := range source.sources() {
		at := dir
		if source.series != nil {
			at = filepath.Dir(filepath.Dir(s.WARCs[0]))
		}
		declared, err := purposesOf(at)
		if err != nil {
			return nil, err
		}
		if f.purpose == "" && i == 0 {
			t.purpose = declared[0]
		}
		switch {
		case f.purpose == "" && t.purpose != declared[0]:
			return nil, exit.Usagef("the crawls of %s have different purposes: give --purpose", dir)
		case mines(t.purpose) && slices.ContainsFunc(declared, func(p robots.Purpose) bool { return !mines(p) }):
			return nil, exit.Usagef("owners may refuse %s in a tdmrep.json, and the crawl in %s has not requested that file, because it had another purpose or none: crawl again with --purpose %s",
				t.purpose, at, t.purpose)
		}
		t.declared = append(t.declared, declared)
	}
	// There is no place for a file beside a device or a pipe, such as /dev/fd/63.
	if _, inPlace, err := outfile.Resolve(f.output); t.purpose == "" || f.output == "-" || err == nil && inPlace {
		return t, nil
	}
	t.path = strings.TrimRight(f.output, string(filepath.Separator)) + ".refused.jsonl"
	var err error
	t.side, err = output.Create(t.path, f.force)
	return t, err
}

// mines reports whether a purpose is text and data mining.
func mines(p robots.Purpose) bool { return slices.Contains(p.Uses(), robots.UseTDM) }

// purposesOf returns the purposes that the runs of the crawl in dir have declared: that of the
// last run first. It is the empty purpose alone for a directory without state.
func purposesOf(dir string) ([]robots.Purpose, error) {
	if !crawldir.Exists(filepath.Join(dir, store.StateFile)) {
		return []robots.Purpose{""}, nil
	}
	r, stored, err := crawldir.Open(dir)
	if err != nil {
		return nil, err
	}
	all := []robots.Purpose{stored.Options.Purpose}
	if err := r.Close(); err != nil {
		return nil, err
	}
	earlier, err := account.ChangedPurposes(dir)
	return append(all, earlier...), err
}

// documents returns the pages of all crawls with their content.
func (x *exported) documents(ctx context.Context, f *exportFlags, markdown bool) iter.Seq2[*corpus.Document, error] {
	t := x.texts
	return func(yield func(*corpus.Document, error) bool) {
		for i, s := range x.sources() {
			rows := s.Rows(ctx)
			if x.series != nil {
				rows = export.Series{x.series[i]}.Rows(ctx)
			}
			o := corpus.Options{Whole: f.whole, Markdown: markdown, Near: f.near, Purpose: t.purpose, Declared: t.declared[i], Refused: t.refuse}
			for d, err := range corpus.Documents(ctx, s, rows, o) {
				if err == nil && d.Near != "" {
					t.near++
				}
				if err == nil && d.Error != "" {
					if t.failed++; t.first == "" {
						t.first = d.URL + ": " + d.Error
					}
				}
				if !yield(d, err) || err != nil {
					return
				}
			}
		}
	}
}

// refuse counts a page that is left out, and adds it to the side file.
func (t *texts) refuse(r *corpus.Refusal) error {
	t.refused++
	if t.side == nil {
		return nil
	}
	enc := json.NewEncoder(t.side)
	enc.SetEscapeHTML(false)
	return enc.Encode(r)
}

// commit gives the side file and the directory of files their names.
func (t *texts) commit() error {
	if t == nil {
		return nil
	}
	if t.side != nil {
		if err := t.side.Commit(); err != nil {
			return err
		}
	}
	if end := t.end; end != nil {
		t.end = nil
		return end(true)
	}
	return nil
}

func (t *texts) discard() {
	if t.end != nil {
		_ = t.end(false)
	}
	if t.side != nil {
		t.side.Discard()
	}
}

// endTexts prints how many pages were left out, and returns what the export lacks.
func (p *program) endTexts(t *texts) (lacks []string) {
	if t == nil {
		return nil
	}
	if t.refused > 0 {
		named := "give --output FILE to have their names"
		switch {
		case t.path != "":
			named = t.path + " names them"
		case t.purpose == "":
			named = "an export for a purpose names them"
		}
		p.note("crawl: %s left out, since their owners refuse %s: %s", say.Plural(int(t.refused), "page"), purposeWords(t.purpose), named)
	}
	if t.near > 0 {
		p.note("crawl: near-duplicates of other pages: %s; near_duplicate_of names the first page", say.Plural(int(t.near), "page"))
	}
	if t.failed > 0 {
		lacks = append(lacks, fmt.Sprintf("%s with an error, such as %s", say.Plural(int(t.failed), "page"), say.Printable(t.first)))
	}
	return lacks
}

func purposeWords(p robots.Purpose) string {
	if p == "" {
		return "the purpose of the crawl"
	}
	return string(p)
}

func writeTexts(ctx context.Context, x *exported, w io.Writer, f *exportFlags) (int64, error) {
	return corpus.WriteLines(w, x.documents(ctx, f, false))
}

func writeMarkdown(ctx context.Context, x *exported, w io.Writer, f *exportFlags) (int64, error) {
	docs := x.documents(ctx, f, true)
	if !f.isTree("markdown") {
		return corpus.WriteLines(w, docs)
	}
	n, end, err := corpus.WriteTree(f.output, f.force, w, docs)
	x.texts.end = end
	if errors.Is(err, fs.ErrExist) {
		err = exit.Usagef("%s exists: give another --output, or remove it (--force replaces a directory that has nothing but an export)", f.output)
	}
	return n, output.Error("--output", f.output, err)
}

func writeWET(ctx context.Context, x *exported, w io.Writer, f *exportFlags) (int64, error) {
	return corpus.WET{Name: f.output, Crawl: f.title, Software: "permesso/" + crawler.Version, Date: time.Now()}.Write(w, x.documents(ctx, f, false))
}

// exportContents exports the content of the pages of a crawl into its directory. crawled is the
// error with which the crawl has ended, or nil. exportContents returns it or, if it is nil, the
// first error of an export. It prints the other errors. After an interrupt it begins no export.
func (p *program) exportContents(ctx context.Context, dir string, crawled error, names []string) error {
	if exit.Code(crawled) == exit.Forced {
		return crawled // the user wants everything to end
	}
	for _, name := range names {
		f := &exportFlags{format: name, output: contentsPath(dir, name), force: true}
		source, err := export.Open(dir)
		if err == nil && len(source.WARCs) == 0 {
			p.note("crawl: no answer is archived: %s is not written", f.output)
			continue
		}
		if other(f.output, name) {
			err = exit.Usagef("something else has that name: remove it, and the same command writes the export")
		} else if err = p.export(ctx, f, dir); err == nil {
			continue
		}
		if exit.Code(err) == exit.Usage { // the arguments of the export are not those of the user
			err = exit.With(exit.Check, fmt.Errorf("%s is not written: %w", f.output, err))
		}
		if crawled == nil {
			crawled = err
		} else {
			p.note("crawl: %v", err)
		}
		if exit.Code(err) == exit.Forced {
			break
		}
	}
	return crawled
}

// other reports whether path is something that the export must not replace.
func other(path, name string) bool {
	info, err := os.Lstat(path)
	return err == nil && (name == "markdown" && !corpus.IsTree(path) || name != "markdown" && info.IsDir())
}

// contentsPath returns the path of an export in the directory of its crawl.
func contentsPath(dir, name string) string {
	if name == "text" {
		name = "text.jsonl"
	}
	return filepath.Join(dir, name)
}

// contentsMissing returns those of names whose exports do not exist, or are older than the last
// request of the crawl.
func contentsMissing(dir string, names []string) (missing []string) {
	log, err := os.Stat(filepath.Join(dir, store.LogFile))
	for _, name := range names {
		path := contentsPath(dir, name)
		if name == "markdown" {
			path = filepath.Join(path, corpus.IndexFile)
		}
		done, gone := os.Stat(path)
		if err != nil || gone != nil || done.IsDir() || done.ModTime().Before(log.ModTime()) {
			missing = append(missing, name)
		}
	}
	return missing
}

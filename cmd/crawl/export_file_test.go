package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/permesso-crawler/permesso/cmd/crawl/internal/exit"
	"github.com/permesso-crawler/permesso/cmd/crawl/internal/output"
	"github.com/permesso-crawler/permesso/cmd/crawl/internal/say"
	"github.com/permesso-crawler/permesso/internal/store"
)

// only fails the test if a directory has other files than want.
func only(t *testing.T, dir string, want ...string) {
	t.Helper()
	entries, err := os.ReadDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	var names []string
	for _, e := range entries {
		names = append(names, e.Name())
	}
	if !slices.Equal(names, want) {
		t.Errorf("%s has %q, want %q", dir, names, want)
	}
}

// A file that differs from what was written gets no name, if it is read again.
func TestAFileThatIsNotWholeGetsNoName(t *testing.T) {
	for _, kind := range formats {
		if kind.check == nil {
			continue // a WACZ has digests: internal/wacz reads them
		}
		for name, lie := range map[string]func(w io.Writer, f *exportFlags, s *exported) (int64, error){
			"one is missing": func(w io.Writer, f *exportFlags, s *exported) (int64, error) {
				n, err := kind.write(context.Background(), s, w, f)
				return n + 1, err
			},
			"it is cut": func(w io.Writer, f *exportFlags, s *exported) (int64, error) {
				var whole bytes.Buffer
				n, err := kind.write(context.Background(), s, &whole, f)
				if err == nil {
					_, err = w.Write(whole.Bytes()[:whole.Len()-15])
				}
				return n, err
			},
		} {
			was := slices.Clone(formats)
			t.Cleanup(func() { copy(formats, was) })
			i := slices.IndexFunc(formats, func(f format) bool { return f.name == kind.name })
			formats[i].write = func(ctx context.Context, s *exported, w io.Writer, f *exportFlags) (int64, error) {
				return lie(w, f, s)
			}
			dir, to := t.TempDir(), t.TempDir()
			if err := writeArchive(dir); err != nil {
				t.Fatal(err)
			}
			var said bytes.Buffer
			path := filepath.Join(to, "file.jsonl") // one file, also of Markdown
			code := run([]string{"export", dir, "--format", kind.name, "--output", path, "--check"}, nil, &said, &said)
			if code != exit.Check || !strings.HasPrefix(said.String(), "crawl: "+path+" differs from what was written, and is removed: ") {
				t.Errorf("%s, %s: exit %d: %s", kind.name, name, code, said.String())
			}
			only(t, to)
			copy(formats, was)
		}
	}
}

// A file keeps its old content until the new one is complete. A file that was made
// meanwhile is not overwritten, except with --force.
func TestAFileThatExistsIsKept(t *testing.T) {
	for _, c := range []struct {
		before, meanwhile, force, fails bool
		code                            int
		want                            string
	}{
		{false, false, false, false, exit.Done, "new"}, {false, false, true, false, exit.Done, "new"}, {true, false, true, false, exit.Done, "new"},
		{false, true, false, false, exit.Usage, "old"}, {false, true, true, false, exit.Done, "new"}, {true, false, true, true, exit.Done, "old"},
	} {
		dir := t.TempDir()
		path := filepath.Join(dir, "file.csv")
		write := func() {
			if err := os.WriteFile(path, []byte("old"), 0o644); err != nil {
				t.Fatal(err)
			}
		}
		if c.before {
			write()
		}
		out, err := output.Create(path, c.force)
		if err != nil {
			t.Fatal(err)
		}
		fmt.Fprint(out, "new")
		if out.Size() != 3 {
			t.Errorf("%d bytes are written", out.Size())
		}
		if c.meanwhile {
			write()
		}
		if !c.fails {
			if err := out.Commit(); exit.Code(err) != c.code || err != nil && !strings.Contains(err.Error(), "exists by now: give another --output, or --force") {
				t.Errorf("%+v: %v", c, err)
			}
		}
		out.Discard()
		if got, err := os.ReadFile(path); string(got) != c.want {
			t.Errorf("%+v: %q, %v", c, got, err)
		}
		only(t, dir, "file.csv")
	}
}

// If the file of refused pages cannot get its name, the export gets none, either.
func TestNoExportWithoutItsRefusedPages(t *testing.T) {
	was := slices.Clone(formats)
	t.Cleanup(func() { copy(formats, was) })
	i := slices.IndexFunc(formats, func(f format) bool { return f.name == "text" })
	formats[i].write = func(ctx context.Context, s *exported, w io.Writer, f *exportFlags) (int64, error) {
		if err := os.WriteFile(f.output+".refused.jsonl", nil, 0o644); err != nil { // of another export
			return 0, err
		}
		return was[i].write(ctx, s, w, f)
	}
	dir, to := t.TempDir(), t.TempDir()
	if err := writeArchive(dir); err != nil {
		t.Fatal(err)
	}
	var said bytes.Buffer
	code := run([]string{"export", dir, "--format", "text", "--purpose", "search", "--output", filepath.Join(to, "a.jsonl")}, nil, &said, &said)
	if code != exit.Usage || !strings.Contains(said.String(), "a.jsonl.refused.jsonl exists by now") {
		t.Errorf("exit %d: %s", code, said.String())
	}
	only(t, to, "a.jsonl.refused.jsonl")
}

// An interrupt ends the exports of a run, and not only the one that is being written.
func TestAnInterruptEndsAllExportsOfARun(t *testing.T) {
	dir := t.TempDir()
	if err := writeArchive(dir); err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	for _, crawled := range []error{nil, exit.With(exit.Nothing, errors.New("nothing"))} {
		var said bytes.Buffer
		err := (&program{out: &said, err: &said}).exportContents(ctx, dir, crawled, []string{"text", "markdown"})
		if n := strings.Count(said.String(), "interrupted"); crawled == nil && (exit.Code(err) != exit.Forced || n > 0) || crawled != nil && (err != crawled || n != 1) {
			t.Errorf("%v: exit %d, %s", crawled, exit.Code(err), said.String())
		}
	}
	only(t, dir, store.PagesFile, store.ArchiveDir)
}

// A hundred problems are listed, and all are counted.
func TestManyProblemsAreCounted(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "a.crawl")
	db, err := store.Open(dir, store.Options{})
	if err != nil {
		t.Fatal(err)
	}
	if err := db.Close(); err != nil {
		t.Fatal(err)
	}
	if err := writeArchive(dir); err != nil {
		t.Fatal(err)
	}
	for i := range 105 {
		if err := os.WriteFile(filepath.Join(dir, "warc", fmt.Sprintf("b-%05d.warc.gz", i)), []byte("odd"), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	var out, said bytes.Buffer
	code := run([]string{"export", dir, "--format", "cdxj", "--output", filepath.Join(t.TempDir(), "a.cdxj")}, nil, &out, &said)
	if n := strings.Count(said.String(), "this is left out\n"); code != exit.Check || n != say.MaxProblems ||
		!strings.HasSuffix(said.String(), "crawl: and 5 more\ncrawl: 105 parts could not be read; everything else is exported (crawl verify says more)\n") {
		t.Errorf("export: exit %d, %d lines, at the end %s", code, n, said.Bytes()[max(0, said.Len()-200):])
	}
	said.Reset()
	code = run([]string{"index", dir}, nil, &out, &said)
	if n := strings.Count(said.String(), "\n"); code != exit.Check || n != say.MaxProblems+1 || !strings.Contains(said.String(), "\ncrawl: 105 parts of the archive cannot be read and is left out") {
		t.Errorf("index: exit %d, %d lines, at the end %s", code, n, said.Bytes()[max(0, said.Len()-200):])
	}
	out.Reset()
	code = run([]string{"verify", "--in-process", dir}, nil, &out, &said)
	all := strings.Split(strings.TrimSuffix(out.String(), "\n"), "\n")
	var more, problems int
	if len(all) != say.MaxProblems+2 {
		t.Fatalf("verify: exit %d, %d lines", code, len(all))
	}
	_, err = fmt.Sscanf(all[say.MaxProblems], "and %d more", &more)
	_, text, _ := strings.Cut(all[say.MaxProblems+1], " in WARC files: ")
	if _, err2 := fmt.Sscanf(text, "%d problems", &problems); code != exit.State || err != nil || err2 != nil || problems != more+say.MaxProblems || problems < 105 {
		t.Errorf("verify: exit %d: %q", code, all[say.MaxProblems:])
	}
	out.Reset()
	code = run([]string{"verify", "--json", "--in-process", dir}, nil, &out, &said)
	if list := strings.Count(out.String(), "warc.gz: state.db does not know") + strings.Count(out.String(), "warc.gz: WARC record") + strings.Count(out.String(), "bytes long where"); code != exit.State || list != say.MaxProblems || !strings.Contains(out.String(), fmt.Sprintf(`"problems":%d,"list":[`, problems)) {
		t.Errorf("verify --json: exit %d: %d in the list; %.300s", code, list, out.String())
	}
}

// An export that is interrupted, before its first byte or after its last, leaves no file,
// and reports it.
func TestAnInterruptedExportLeavesNoFile(t *testing.T) {
	dir := t.TempDir()
	if err := writeArchive(dir); err != nil {
		t.Fatal(err)
	}
	was := slices.Clone(formats)
	t.Cleanup(func() { copy(formats, was) })
	for _, kind := range was {
		for _, late := range []bool{false, true} {
			ctx, cancel := context.WithCancel(t.Context())
			defer cancel()
			if i := slices.IndexFunc(formats, func(f format) bool { return f.name == kind.name }); late {
				formats[i].write = func(ctx context.Context, s *exported, w io.Writer, f *exportFlags) (int64, error) {
					n, err := kind.write(ctx, s, w, f)
					cancel()
					<-ctx.Done()
					return n, err
				}
			} else {
				cancel()
			}
			to := t.TempDir()
			var out, said bytes.Buffer
			err := (&program{out: &out, err: &said}).export(ctx, &exportFlags{format: kind.name, output: filepath.Join(to, "file")}, dir)
			if exit.Code(err) != exit.Forced || !strings.Contains(err.Error(), "interrupted: the export is not whole") || strings.Contains(said.String(), " of "+kind.name+" in ") {
				t.Errorf("%s, late: %v: %v; said %s", kind.name, late, err, said.String())
			}
			only(t, to)
		}
	}
}

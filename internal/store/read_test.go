package store

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"iter"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/permesso-crawler/permesso/internal/disk"
	"github.com/permesso-crawler/permesso/storage/cdxj"
)

// ReadPages and ReadLinks return the records without bodies. For a line that is not a record
// they return an error with the line's number.
func TestPagesAndLinksAreReadPastWhatIsNone(t *testing.T) {
	dir := t.TempDir()
	for name, text := range map[string]string{
		PagesFile: `{"url":"http://a.test/","title":"A","body":"long"}` + "\n[]\n{}\n" + `{"url":"http://a.test/b"}` + "\n" + `{"url":"http://a.test/to`,
		LinksFile: `{"from":"http://a.test/","to":"http://a.test/b"}` + "\n\n" + `{"from":"http://a.test/"}` + "\n",
	} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	for _, c := range []struct {
		file  string
		all   iter.Seq2[string, error]
		want  []string
		lines []string // beginnings of the expected errors
		torn  bool
	}{
		{PagesFile, texts(ReadPages(t.Context(), dir), pageText), []string{"http://a.test/A", "http://a.test/b"}, []string{"line 2: json: ", `line 3: it has no "url"`, "line 5: unexpected EOF: "}, true},
		{PagesFile, texts(ReadBodies(t.Context(), dir), pageText), []string{"http://a.test/Along", "http://a.test/b"}, []string{"line 2: json: ", `line 3: it has no "url"`, "line 5: unexpected EOF: "}, true},
		{LinksFile, texts(ReadLinks(t.Context(), dir), linkText), []string{"http://a.test/ http://a.test/b"}, []string{"line 2: ", `line 3: it has no "to"`}, false},
	} {
		var got []string
		var wrong []error
		for text, err := range c.all {
			if err != nil {
				wrong = append(wrong, err)
				continue
			}
			got = append(got, text)
		}
		if !slices.Equal(got, c.want) || len(wrong) != len(c.lines) {
			t.Fatalf("%s: got %q, %v", c.file, got, wrong)
		}
		for i, err := range wrong {
			var damaged *DamagedError
			if !errors.As(err, &damaged) || damaged.Path != filepath.Join(dir, c.file) || !strings.HasPrefix(damaged.Err.Error(), c.lines[i]) {
				t.Errorf("got %v, want %q", err, c.lines[i])
			}
			if torn := errors.Is(err, io.ErrUnexpectedEOF); torn != (c.torn && i == len(wrong)-1) {
				t.Errorf("%v: incomplete: %v", err, torn)
			}
		}
	}
}

func pageText(p *PageRecord) string { return p.URL + p.Title + string(p.Body) }

func linkText(l *LinkRecord) string { return l.From + " " + l.To }

// texts yields the text of each value, and "" for a pair with an error.
func texts[T any](all iter.Seq2[*T, error], text func(*T) string) iter.Seq2[string, error] {
	return func(yield func(string, error) bool) {
		for v, err := range all {
			s := ""
			if v != nil {
				s = text(v)
			}
			if (v != nil) == (err != nil) || !yield(s, err) {
				return
			}
		}
	}
}

// A loop over ReadPages or ReadLinks may end at any pair, and the file is then closed. An error
// that ends the iteration comes once. This includes the error of a context that ends before the
// loop or in it.
func TestLoopsOverFilesEnd(t *testing.T) {
	dir := mixedCrawl(t, 1, 20, disk.Disk{}, false).dir
	if err := os.WriteFile(filepath.Join(dir, LinksFile), bytes.Repeat([]byte(`{"from":"http://a.test/","to":"http://a.test/b"}`+"\n"), 5), 0o644); err != nil {
		t.Fatal(err)
	}
	files, err := ArchiveFiles(dir)
	if err != nil || len(files) == 0 {
		t.Fatal(files, err)
	}
	var archived []byte
	for _, file := range files {
		raw, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		archived = append(archived, raw...)
	}
	empty := t.TempDir()
	for name, read := range map[string]func(ctx context.Context, dir string) iter.Seq2[string, error]{
		PagesFile: func(ctx context.Context, dir string) iter.Seq2[string, error] {
			return texts(ReadPages(ctx, dir), pageText)
		},
		PagesFile + " body": func(ctx context.Context, dir string) iter.Seq2[string, error] {
			return texts(ReadBodies(ctx, dir), pageText)
		},
		LinksFile: func(ctx context.Context, dir string) iter.Seq2[string, error] {
			return texts(ReadLinks(ctx, dir), linkText)
		},
		"index": func(ctx context.Context, of string) iter.Seq2[string, error] {
			var in io.Reader = bytes.NewReader(archived)
			if of == empty {
				in = failingReader{}
			}
			return texts(cdxj.Index(ctx, in, "a.warc.gz"), func(e *cdxj.Entry) string { return e.URL })
		},
	} {
		t.Run(name, func(t *testing.T) {
			ended, cancel := context.WithCancel(t.Context())
			cancel()
			for want, all := range map[error]iter.Seq2[string, error]{context.Canceled: read(ended, dir), fs.ErrNotExist: read(t.Context(), empty)} {
				if pairs := collect(all); len(pairs) != 1 || !errors.Is(pairs[0], want) {
					t.Errorf("%v, want one %v", pairs, want)
				}
			}
			if pairs := collect(read(nil, dir)); len(pairs) != 1 || pairs[0] == nil || !strings.Contains(fmt.Sprint(pairs[0]), "context is nil") {
				t.Errorf("%v of a nil context", pairs)
			}
			ctx, stop := context.WithCancel(t.Context())
			defer stop()
			var pairs []error
			for _, err := range read(ctx, dir) {
				if pairs = append(pairs, err); len(pairs) == 2 {
					stop()
				}
			}
			if len(pairs) != 3 || pairs[0] != nil || pairs[1] != nil || !errors.Is(pairs[2], context.Canceled) {
				t.Errorf("canceled in the loop: %v", pairs)
			}
			for _, err := range read(t.Context(), dir) {
				if err != nil {
					t.Error(err)
				}
				break
			}
		})
	}
	for _, name := range []string{PagesFile, LinksFile} { // some systems cannot remove a file that is open
		if err := os.Rename(filepath.Join(dir, name), filepath.Join(dir, name+".moved")); err != nil {
			t.Error(err)
		}
	}
}

// collect returns the errors of all pairs.
func collect[T any](all iter.Seq2[T, error]) (errs []error) {
	for _, err := range all {
		errs = append(errs, err)
	}
	return errs
}

// A failingReader fails with fs.ErrNotExist.
type failingReader struct{}

func (failingReader) Read([]byte) (int, error) { return 0, fs.ErrNotExist }

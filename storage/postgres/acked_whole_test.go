//go:build unix

package postgres_test

import (
	"bufio"
	"encoding/json"
	"fmt"
	"io/fs"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/permesso-crawler/permesso/crawler"
	"github.com/permesso-crawler/permesso/crawler/crawltest"
	"github.com/permesso-crawler/permesso/internal/store"
	"github.com/permesso-crawler/permesso/storage/postgres"
)

// A backup is a copy of a database.
type backup struct{ admin, name string }

// backUp makes a backup of the database with the connection string url.
func backUp(t *testing.T, url string) backup {
	t.Helper()
	before, name, _ := strings.Cut(url, "dbname=")
	b := backup{before + "dbname=postgres", name}
	execute(t, b.admin, fmt.Sprintf("create database %s_backup template %s", name, name))
	return b
}

// restore replaces the database with the backup.
func (b backup) restore(t *testing.T) {
	t.Helper()
	execute(t, b.admin, "drop database "+b.name)
	execute(t, b.admin, fmt.Sprintf("create database %s template %s_backup", b.name, b.name))
}

// chain returns a function that returns the options of a node. The node crawls a chain of pages,
// each with a link to the next one. The link of the last page leads to a missing page.
func chain(t *testing.T, url, dir string, pages int) func() crawler.Options {
	t.Helper()
	web := crawltest.New(t)
	site := web.Site("http://a.example")
	for i := range pages {
		path := fmt.Sprintf("/%d", i)
		if i == 0 {
			path = "/"
		}
		site.Page(path, fmt.Sprintf("<a href=/%d>next</a>", i+1))
	}
	return func() crawler.Options {
		o := options(t, url, dir)
		o.Network, o.MaxArchive = web, 1 // MaxArchive is 1 byte, so each visit has its own WARC file
		return o
	}
}

// files returns the content of each file below dir, by its path.
func files(t *testing.T, dir string) map[string]string {
	t.Helper()
	all := map[string]string{}
	err := fs.WalkDir(os.DirFS(dir), ".", func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		raw, err := os.ReadFile(filepath.Join(dir, path))
		all[path] = string(raw)
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return all
}

// pagesOf returns the number of lines for each URL in a file of pages.
func pagesOf(t *testing.T, path string) map[string]int {
	t.Helper()
	f, err := os.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	all := map[string]int{}
	for scan := bufio.NewScanner(f); scan.Scan(); {
		var page struct{ URL string }
		if err := json.Unmarshal(scan.Bytes(), &page); err != nil {
			t.Fatal(err)
		}
		all[page.URL]++
	}
	return all
}

// age changes the record of the node in dir, as if two hours had passed between its other commits
// and the last one.
func age(t *testing.T, dir string) {
	t.Helper()
	path := filepath.Join(dir, "acked.json")
	raw, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	var note map[string]json.RawMessage
	if err := json.Unmarshal(raw, &note); err != nil {
		t.Fatal(err)
	}
	last := fmt.Sprintf(`,{"committed":%s,"at":%q}]`, note["committed"], time.Now().Add(-2*time.Hour).Format(time.RFC3339))
	note["recent"] = json.RawMessage(strings.TrimSuffix(string(note["recent"]), "]") + last)
	if raw, err = json.Marshal(note); err == nil {
		err = os.WriteFile(path, raw, 0o644)
	}
	if err != nil {
		t.Fatal(err)
	}
}

// After a backup of the database was restored, a node continues if only the last minutes are
// missing. Otherwise the node is refused, and nothing is changed, until the user permits it. Pages
// that the database lacks are fetched again. The node keeps a copy of its old files.
func TestABackupThatIsRestored(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		old, nothing bool
	}{"minutes": {}, "hours": {old: true}, "before the first commit": {nothing: true}} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			url, dir := postgres.NewDatabase(t), filepath.Join(t.TempDir(), "node.crawl")
			next := chain(t, url, dir, 6)
			var before backup
			if test.nothing {
				before = backUp(t, url)
			}
			first := next()
			first.Limit = 2
			if err := run(t, first); err != nil {
				t.Fatal(err)
			}
			if !test.nothing {
				before = backUp(t, url)
			}
			if err := run(t, next()); err != nil {
				t.Fatal(err)
			}
			before.restore(t)
			if test.old {
				age(t, dir)
				was := files(t, dir)
				err := run(t, next())
				if err == nil || !strings.Contains(err.Error(), "the database is older than the files of "+dir) {
					t.Fatal(err)
				}
				if now := files(t, dir); len(now) != len(was) {
					t.Errorf("the refusal changed the files: %d, now %d", len(was), len(now))
				} else {
					for name := range was {
						if now[name] != was[name] {
							t.Errorf("the refusal changed %s", name)
						}
					}
				}
				if err := postgres.Rewind(t, url, dir); err != nil {
					t.Fatal(err)
				}
			}
			was := files(t, dir)
			o, said := next(), new(strings.Builder)
			o.Logger = slog.New(slog.NewTextHandler(said, nil))
			if err := run(t, o); err != nil || !strings.Contains(said.String(), "the database has lost its last commits") {
				t.Fatal(err, said)
			}
			kept, err := filepath.Glob(filepath.Join(dir, "forgotten-*"))
			if err != nil || len(kept) != 1 {
				t.Fatal(kept, err)
			}
			all := pagesOf(t, filepath.Join(dir, store.PagesFile))
			again := pagesOf(t, filepath.Join(kept[0], store.PagesFile))
			want := 5
			if test.nothing {
				want = 7
			}
			if len(all) != 7 || len(again) != want {
				t.Errorf("pages %v, kept %v", all, again)
			}
			for u, n := range all {
				if n != 1 {
					t.Errorf("%s is there %d times", u, n)
				}
			}
			// All data that was acknowledged is still there: in the files, or in the copy.
			now := files(t, dir)
			for name, text := range was {
				if name != store.PagesFile && !strings.HasSuffix(name, ".warc.gz") {
					continue
				}
				tail := now[filepath.Join(filepath.Base(kept[0]), name)]
				if !strings.HasPrefix(text, now[name][:min(len(now[name]), len(text)-len(tail))]) || !strings.HasSuffix(text, tail) || tail == "" && now[name] != text {
					t.Errorf("%s: %d bytes; now %d, and %d kept", name, len(text), len(now[name]), len(tail))
				}
			}
			// The next run has nothing to fetch, and the crawl can be read.
			if err := run(t, next()); err != nil {
				t.Fatal(err)
			}
			state, err := postgres.New(url)
			if err != nil {
				t.Fatal(err)
			}
			into := filepath.Join(t.TempDir(), "all.crawl")
			done, err := postgres.Collect(t.Context(), state, []string{dir}, into)
			if err != nil || len(done.Damaged) > 0 || done.Pages != 7 {
				t.Fatal(done, err)
			}
			if _, err := store.Verify(t.Context(), into, func(err error) { t.Error(err) }); err != nil {
				t.Error(err)
			}
		})
	}
}

package main

import (
	"archive/zip"
	"bytes"
	"encoding/binary"
	"encoding/csv"
	"errors"
	"fmt"
	"io/fs"
	"net/http"
	"os"
	"os/signal"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/permesso-crawler/permesso/cmd/crawl/internal/exit"
	"github.com/permesso-crawler/permesso/crawler/crawltest"
	"github.com/permesso-crawler/permesso/internal/store"
	"go.etcd.io/bbolt"
)

// Of each layout that docs/reference/outputs.md promises to read, testdata/layouts keeps three crawls
// of keptWeb, which a version of that layout made: one that ended, one that was killed, and
// one that knows the first as the one before and fetched its pages again.
const (
	firstPromised = 10
	endedCrawl    = "ended.crawl"
	killedCrawl   = "killed.crawl"
	againCrawl    = "again.crawl"
)

// keptWeb is the web of the kept crawls. It only grows: crawls of every layout continue in
// it. unchanged counts the answers with status 304.
func keptWeb(t *testing.T) (w *crawltest.Web, unchanged *int) {
	w, unchanged = crawltest.New(t), new(int)
	visits := 0
	w.Site("http://a.example").Robots("User-agent: *\nCrawl-delay: 5\nDisallow: /private/\n").
		Page("/", `<title>Home</title><a href=/1>1</a><a href=/copy>2</a><a href=/moved>3</a><a href=/gone>4</a><a href=/private/x>5</a><a href=/tagged>6</a><a href=/news>7</a>`).
		Page("/1", "<title>One</title>"+strings.Repeat("A text that is said twice. ", 20)).
		Page("/copy", "<title>One</title>"+strings.Repeat("A text that is said twice. ", 20)).
		Redirect("/moved", "/1").Status("/gone", http.StatusGone).
		Func("/news", func(rw http.ResponseWriter, r *http.Request) {
			visits++
			rw.Header().Set("Content-Type", "text/html")
			fmt.Fprintf(rw, "<title>News</title>visit %d", visits)
		}).
		Func("/tagged", func(rw http.ResponseWriter, r *http.Request) {
			rw.Header().Set("Content-Type", "text/html")
			rw.Header().Set("ETag", `"1"`)
			if r.Header.Get("If-None-Match") == `"1"` {
				*unchanged++
				rw.WriteHeader(http.StatusNotModified)
				return
			}
			fmt.Fprint(rw, "<title>Tagged</title>")
		})
	w.Site("http://b.example").Page("/", `<title>B</title><a href=/1>1</a>`).Page("/1", "<title>B 1</title>")
	w.Site("http://c.example").Page("/", "<title>C</title>")
	return w, unchanged
}

// keptFetched are the URLs of keptWeb that its seeds lead to and that answer.
var keptFetched = []string{
	"http://a.example/", "http://a.example/1", "http://a.example/copy", "http://a.example/gone", "http://a.example/moved",
	"http://a.example/news", "http://a.example/tagged", "http://b.example/", "http://b.example/1",
}

// runKept is crawl run in a web of a test.
func runKept(t *testing.T, w *crawltest.Web, dir string, args ...string) (code int, said string) {
	t.Helper()
	return runIn(t, w, append([]string{
		"run", "--name", "testbot", "--contact", "https://example.org/testbot", "--progress", "none", "--output", "warc,jsonl,links", "-d", dir,
		"http://a.example/", "http://b.example/",
	}, args...)...)
}

// runIn is a command in a web of a test.
func runIn(t *testing.T, w *crawltest.Web, args ...string) (code int, said string) {
	t.Helper()
	var out bytes.Buffer
	p := &program{out: &out, err: &out, network: w}
	root := p.root()
	root.SetOut(&out)
	root.SetErr(&out)
	root.SetArgs(args)
	err := root.ExecuteContext(t.Context())
	return exit.Code(err), fmt.Sprint(&out, err)
}

// atHome gives crawls a home of their own and a working directory, and keeps the goroutine
// that waits for signals out of bubbles.
func atHome(t *testing.T) {
	t.Helper()
	t.Setenv("HOME", t.TempDir())
	t.Setenv("XDG_STATE_HOME", "")
	t.Setenv("XDG_CONFIG_HOME", "")
	t.Chdir(t.TempDir())
	first := make(chan os.Signal, 1)
	signal.Notify(first, os.Interrupt)
	t.Cleanup(func() { signal.Stop(first) })
}

// makeKept makes the crawls that are kept, in the working directory.
func makeKept(t *testing.T) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		w, _ := keptWeb(t)
		if code, said := runKept(t, w, endedCrawl); code != exit.Done {
			t.Fatalf("exit %d: %s", code, said)
		}
		time.Sleep(24 * time.Hour)
		done := make(chan struct{})
		go func() { // it ends with the crawl that it runs
			defer close(done)
			if code, said := runKept(t, w, "whole.crawl"); code != exit.Done {
				t.Errorf("exit %d: %s", code, said)
			}
		}()
		time.Sleep(17 * time.Second)
		synctest.Wait()
		if err := os.CopyFS(killedCrawl, os.DirFS("whole.crawl")); err != nil {
			t.Fatal(err)
		}
		<-done
		if err := os.RemoveAll("whole.crawl"); err != nil {
			t.Fatal(err)
		}
		time.Sleep(24 * time.Hour)
		if code, said := runKept(t, w, againCrawl, "--previous", endedCrawl, "--revisit", "fixed:1d", "--patience", "48h", "--max-time", "60h"); code != exit.Later {
			t.Fatalf("exit %d: %s", code, said)
		}
	})
}

// stateVersion returns the layout of the crawl in dir, and sets it to set, if that is not
// 0.
func stateVersion(t *testing.T, dir string, set uint64) (v uint64) {
	t.Helper()
	db, err := bbolt.Open(filepath.Join(dir, store.StateFile), 0o644, nil)
	if err != nil {
		t.Fatal(err)
	}
	err = db.View(func(tx *bbolt.Tx) error {
		v = binary.BigEndian.Uint64(tx.Bucket([]byte("meta")).Get([]byte("version")))
		return nil
	})
	if set != 0 {
		err = errors.Join(err, db.Update(func(tx *bbolt.Tx) error {
			return tx.Bucket([]byte("meta")).Put([]byte("version"), binary.BigEndian.AppendUint64(nil, set))
		}))
	}
	if err := errors.Join(err, db.Close()); err != nil {
		t.Fatal(err)
	}
	return v
}

// currentLayout returns the layout that this version writes.
func currentLayout(t *testing.T) uint64 {
	t.Helper()
	return stateVersion(t, hostileCrawl(t), 0)
}

// keptLayouts returns the files of the kept crawls, in the order of their layouts.
func keptLayouts(t *testing.T) (files []string) {
	t.Helper()
	return keptFiles(t, ".zip", makeKept)
}

// keptFiles returns the files with a suffix, in the order of their layouts: one for each layout
// that this version promises to read. -rewrite makes that of a layout that has none, and changes
// no other: the files of an older version cannot be made again.
func keptFiles(t *testing.T, suffix string, make func(*testing.T)) (files []string) {
	t.Helper()
	current := currentLayout(t)
	for n := uint64(firstPromised); n <= current; n++ {
		file, err := filepath.Abs(filepath.Join("testdata", "layouts", fmt.Sprint(n, suffix)))
		if err != nil {
			t.Fatal(err)
		}
		_, err = os.Stat(file)
		if err != nil && *rewrite && n == current {
			err = keep(t, file, make)
		}
		if err != nil {
			t.Fatalf("layout %d has no kept crawls, though docs/reference/outputs.md promises that it is read (%v): before a version of it is out, go test ./cmd/crawl -run Kept -rewrite", n, err)
		}
		files = append(files, file)
	}
	return files
}

// keep makes the crawls of this layout and writes them to a file.
func keep(t *testing.T, file string, make func(*testing.T)) error {
	kept := false
	t.Run("keep", func(t *testing.T) {
		atHome(t)
		make(t)
		var b bytes.Buffer
		z := zip.NewWriter(&b)
		if err := errors.Join(z.AddFS(os.DirFS(".")), z.Close(), os.MkdirAll(filepath.Dir(file), 0o755), os.WriteFile(file, b.Bytes(), 0o644)); err != nil {
			t.Fatal(err)
		}
		kept = true
	})
	if !kept {
		return errors.New("they could not be made")
	}
	return nil
}

// unpack extracts kept crawls into the working directory.
func unpack(t *testing.T, file string) {
	t.Helper()
	z, err := zip.OpenReader(file)
	if err != nil {
		t.Fatal(err)
	}
	defer z.Close()
	if err := os.CopyFS(".", z); err != nil {
		t.Fatal(err)
	}
}

// assertWhole fails the test unless a crawl is undamaged.
func assertWhole(t *testing.T, dir string) {
	t.Helper()
	if _, err := store.Verify(t.Context(), dir, func(err error) { t.Errorf("%s: %v", dir, err) }); err != nil {
		t.Errorf("%s: %v", dir, err)
	}
}

// fetchedIn returns the URLs that crawl list prints as fetched.
func fetchedIn(t *testing.T, dir string) []string {
	t.Helper()
	urls := strings.Fields(said(t, "list", "--fate", "fetched", dir))
	slices.Sort(urls)
	return urls
}

// A crawl of each layout from 10 on can be read by every command, and continued.
func TestKeptCrawlsAreReadAndGoOn(t *testing.T) {
	for _, file := range keptLayouts(t) {
		t.Run(strings.TrimSuffix(filepath.Base(file), ".zip"), func(t *testing.T) {
			atHome(t)
			unpack(t, file)
			for _, dir := range []string{endedCrawl, killedCrawl, againCrawl} {
				before := stateVersion(t, dir, 0)
				readKept(t, dir)
				if v := stateVersion(t, dir, 0); v != before {
					t.Errorf("%s: commands that read have changed the layout from %d to %d", dir, before, v)
				}
			}
			if got := fetchedIn(t, endedCrawl); !slices.Equal(got, keptFetched) {
				t.Errorf("fetched are %q, want %q", got, keptFetched)
			}
			if got := said(t, "diff", "--list", "modified", endedCrawl, againCrawl); !strings.Contains(got, "http://a.example/news") {
				t.Errorf("crawl diff does not tell that the news have changed: %s", got)
			}
			endedGoesOn(t)
			killedGoesOn(t)
			againGoesOn(t)
			for _, dir := range []string{endedCrawl, killedCrawl, againCrawl} {
				readKept(t, dir)
				if v := stateVersion(t, dir, 0); v != currentLayout(t) {
					t.Errorf("%s went on and has layout %d, want %d", dir, v, currentLayout(t))
				}
			}
		})
	}
}

// readKept reads a crawl with the library and with each command.
func readKept(t *testing.T, dir string) {
	t.Helper()
	const home = "http://a.example/"
	assertWhole(t, dir)
	r, err := store.OpenReader(dir)
	if err != nil {
		t.Fatal(err)
	}
	if err := r.Close(); err != nil {
		t.Error(err)
	}
	if _, err := os.Stat(filepath.Join(dir, "provenance.json")); err == nil {
		said(t, "provenance", "--verify", dir)
	} else if dir != killedCrawl {
		t.Errorf("%s: %v", dir, err)
	}
	fetched := fetchedIn(t, dir)
	for _, c := range []struct {
		want string
		args []string
	}{
		{"http://a.example/private/x", []string{"list", "--json", dir}},
		{"fetched", []string{"list", "--count", dir}},
		{"status 200", []string{"explain", "--dir", dir, home}},
		{"<title>Home</title>", []string{"explain", "--body", dir, home}},
		{"Disallow: /private/", []string{"robots", "show", dir, "a.example"}},
		{"politeness", []string{"report", "--json", "--out", "-", dir}},
		{"testbot", []string{"status", dir}},
		{"", []string{"index", dir}},
		{"", []string{"audit", dir}},
		{"", []string{"verify", "--in-process", dir}},
	} {
		if got := said(t, c.args...); !strings.Contains(got, c.want) {
			t.Errorf("crawl %q does not say %q: %s", c.args, c.want, got)
		}
	}
	if n := exportedRows(t, dir); n < len(fetched) || len(fetched) == 0 {
		t.Errorf("%s: %d rows of %d URLs", dir, n, len(fetched))
	}
}

// exportedRows returns how many rows crawl export writes for a crawl.
func exportedRows(t *testing.T, dir string) int {
	t.Helper()
	var out, said bytes.Buffer
	code := run([]string{"export", "--format", "csv", dir}, nil, &out, &said)
	rows, err := csv.NewReader(&out).ReadAll()
	if code != exit.Done || err != nil {
		t.Fatalf("crawl export %s: exit %d, %v: %s", dir, code, err, &said)
	}
	return len(rows) - 1
}

// goOn runs a crawl in keptWeb, long after it was made.
func goOn(t *testing.T, code int, dir string, args ...string) (w *crawltest.Web, unchanged int) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		time.Sleep(30 * 24 * time.Hour)
		var n *int
		w, n = keptWeb(t)
		if got, said := runKept(t, w, dir, args...); got != code {
			t.Errorf("%s: exit %d: %s", dir, got, said)
		}
		w.AssertPolite()
		unchanged = *n
	})
	return w, unchanged
}

// No URL is left: only a new seed is fetched.
func endedGoesOn(t *testing.T) {
	w, _ := goOn(t, exit.Done, endedCrawl, "http://c.example/")
	w.AssertFetched("http://c.example/")
	w.AssertNeverFetched(keptFetched...)
}

// The remaining URLs are fetched, and no fetched URL again.
func killedGoesOn(t *testing.T) {
	before := fetchedIn(t, killedCrawl)
	if len(before) == 0 || len(before) == len(keptFetched) {
		t.Fatalf("the kill came when %d of %d URLs were fetched", len(before), len(keptFetched))
	}
	w, _ := goOn(t, exit.Done, killedCrawl)
	w.AssertNeverFetched(before...)
	w.AssertFetched(slices.DeleteFunc(slices.Clone(keptFetched), func(u string) bool { return slices.Contains(before, u) })...)
	if got := fetchedIn(t, killedCrawl); !slices.Equal(got, keptFetched) {
		t.Errorf("fetched are %q, want %q", got, keptFetched)
	}
}

// Pages are fetched again, with the validators that were kept.
func againGoesOn(t *testing.T) {
	w, unchanged := goOn(t, exit.Later, againCrawl, "--previous", endedCrawl, "--revisit", "fixed:1d", "--patience", "48h", "--max-time", "30h")
	if n := w.Fetched("http://a.example/tagged"); n == 0 || unchanged != n {
		t.Errorf("asked %d times for a page that has not changed, which was said %d times", n, unchanged)
	}
}

// A crawl of a layout that is not read is refused with its exit code, and is not changed.
func TestACrawlOfAnUnreadLayoutIsRefusedAndNotTouched(t *testing.T) {
	files := keptLayouts(t)
	for _, layout := range []uint64{firstPromised - 1, currentLayout(t) + 1} {
		t.Run(fmt.Sprint(layout), func(t *testing.T) {
			atHome(t)
			unpack(t, files[len(files)-1])
			stateVersion(t, endedCrawl, layout)
			before := bytesOf(t, endedCrawl)
			w, _ := keptWeb(t)
			if code, said := runKept(t, w, endedCrawl, "http://c.example/"); code != exit.Layout || !strings.Contains(said, fmt.Sprint("layout ", layout)) {
				t.Errorf("crawl run: exit %d: %s", code, said)
			}
			w.AssertNeverFetched("http://c.example/robots.txt", "http://c.example/")
			for _, args := range [][]string{
				{"list", endedCrawl}, {"verify", "--in-process", endedCrawl}, {"explain", "--dir", endedCrawl, "http://a.example/"}, {"report", endedCrawl},
				{"index", endedCrawl}, {"audit", endedCrawl}, {"provenance", endedCrawl},
				{"diff", endedCrawl, againCrawl}, {"diff", againCrawl, endedCrawl}, {"repair", endedCrawl}, {"robots", "show", endedCrawl, "a.example"},
			} {
				var out, said bytes.Buffer
				if code := run(args, nil, &out, &said); code != exit.Layout || !strings.Contains(said.String(), fmt.Sprint("layout ", layout)) {
					t.Errorf("crawl %q: exit %d: %s%s", args, code, &out, &said)
				}
			}
			if n := exportedRows(t, endedCrawl); n < len(keptFetched) { // it reads no state
				t.Errorf("crawl export: %d rows", n)
			}
			if after := bytesOf(t, endedCrawl); !slices.Equal(after, before) {
				t.Error("files of the crawl were changed")
			}
		})
	}
}

// bytesOf returns the names below a directory, each with the content of the file.
func bytesOf(t *testing.T, dir string) (files []string) {
	t.Helper()
	err := filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			files = append(files, path)
			return err
		}
		raw, err := os.ReadFile(path)
		files = append(files, path+"\n"+string(raw))
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return files
}

package provenance_test

import (
	"errors"
	"io/fs"
	"log/slog"
	"maps"
	"os"
	"path/filepath"
	"testing"
	"testing/synctest"

	"github.com/permesso-crawler/permesso/crawler"
	"github.com/permesso-crawler/permesso/crawler/crawltest"
	"github.com/permesso-crawler/permesso/frontier"
	"github.com/permesso-crawler/permesso/internal/provenance"
	"github.com/permesso-crawler/permesso/internal/store"
)

// provenance.json lists a file in warc/ that the crawl has not written. From then on the file
// must not change.
func TestAnotherFileInTheArchiveIsSealed(t *testing.T) {
	t.Parallel()
	dir := once(t, "x", func(*crawler.Options) {})
	path := filepath.Join(dir, "warc", "mine.warc.gz")
	if err := os.WriteFile(path, []byte("mine"), 0o644); err != nil {
		t.Fatal(err)
	}
	for range 2 {
		write(t, dir, provenance.Options{NoAudit: true})
	}
	spoil(t, path, func([]byte) []byte { return []byte("hers") })
	var damaged *store.DamagedError
	if _, err := provenance.Write(t.Context(), dir, provenance.Options{NoAudit: true, Temp: t.TempDir()}); !errors.As(err, &damaged) || damaged.Path != path {
		t.Error(err)
	}
}

// If a file is not as the crawl has written it, Write fails with its name and writes nothing.
// This holds with and without recorded digests, and with and without an earlier
// provenance.json.
func TestDamageIsNotSealed(t *testing.T) {
	t.Parallel()
	whole := crawled(t)
	archive, err := fs.Glob(os.DirFS(whole), "warc/*.gz")
	if err != nil || len(archive) == 0 {
		t.Fatal(archive, err)
	}
	flip := func(b []byte) []byte { b[len(b)/2] ^= 1; return b }
	cut := func(b []byte) []byte { return b[:len(b)-1] }
	more := func(b []byte) []byte { return append(b, '\n') }
	for _, name := range []string{archive[0], store.PagesFile, store.LinksFile, store.LogFile, store.IndexFile, "index.part"} {
		for what, change := range map[string]func([]byte) []byte{"flip": flip, "cut": cut, "more": more, "gone": nil} {
			for _, before := range []bool{false, true} {
				dir := filepath.Join(t.TempDir(), "copy")
				if err := os.CopyFS(dir, os.DirFS(whole)); err != nil {
					t.Fatal(err)
				}
				if before {
					write(t, dir, provenance.Options{})
				}
				path := filepath.Join(dir, name)
				if change != nil {
					spoil(t, path, change)
				} else if err := os.Remove(path); err != nil {
					t.Fatal(err)
				}
				was := directory(t, dir)
				for _, kept := range []bool{false, true} {
					if what == "gone" && name == archive[0] || what == "flip" && kept {
						continue // the file is listed with its recorded digest
					}
					var damaged *store.DamagedError
					_, err := provenance.Write(t.Context(), dir, provenance.Options{Kept: kept, Temp: t.TempDir()})
					if !errors.As(err, &damaged) || damaged.Path != path {
						t.Errorf("%s of %s, before %v, kept %v: %v", what, name, before, kept, err)
					}
					if !maps.Equal(was, directory(t, dir)) {
						t.Errorf("%s of %s: files were changed", what, name)
					}
				}
			}
		}
	}
}

// With Options.Kept the digests are those that the crawl has recorded. Verify then finds the
// files that have changed, and names a WARC file that was moved away.
func TestKeptDigestsAreOfWhatWasWritten(t *testing.T) {
	t.Parallel()
	dir := crawled(t)
	read := write(t, dir, provenance.Options{}).Outputs
	kept := write(t, dir, provenance.Options{Kept: true}).Outputs
	if len(read) < 6 || len(read) != len(kept) {
		t.Fatalf("%+v, %+v", read, kept)
	}
	for i := range read {
		if read[i] != kept[i] {
			t.Errorf("%+v, %+v", read[i], kept[i])
		}
	}
	archive, err := fs.Glob(os.DirFS(dir), "warc/*.gz")
	if err != nil || len(archive) == 0 {
		t.Fatal(archive, err)
	}
	spoil(t, filepath.Join(dir, archive[0]), func(b []byte) []byte { b[len(b)/2] ^= 1; return b })
	write(t, dir, provenance.Options{Kept: true})
	if v := verified(t, dir, provenance.Check{}); len(v.Differences) != 1 || v.Differences[0].File != archive[0] {
		t.Errorf("%+v", v.Differences)
	}
	if err := os.Remove(filepath.Join(dir, archive[0])); err != nil {
		t.Fatal(err)
	}
	write(t, dir, provenance.Options{})
	if v := verified(t, dir, provenance.Check{}); len(v.Differences) != 1 || v.Differences[0].Why != "is missing" {
		t.Errorf("%+v", v.Differences)
	}
}

// Before a run begins, it is known whether the run has nothing to do. It has something to do if
// a setting or a seed is new, a file has another length, or URLs are left.
func TestARunWithNothingToDoIsKnownBefore(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		w := crawltest.New(t)
		w.Site("http://a.example").Page("/", "<a href=/1>1</a>").Page("/1", "x")
		dir := filepath.Join(t.TempDir(), "done.crawl")
		try := func(change func(*crawler.Options)) (*crawler.Crawler, bool) {
			o := crawler.Options{Identity: testIdentity, Seeds: []string{"http://a.example/"}, Wire: crawler.Wire{Network: w}, Dir: dir, Hooks: crawler.Hooks{Logger: slog.New(slog.DiscardHandler)}}
			change(&o)
			c, err := crawler.New(o)
			if err != nil {
				t.Fatal(err)
			}
			return c, c.Idle()
		}
		run := func(change func(*crawler.Options)) {
			c, idle := try(change)
			if idle {
				t.Error("it has nothing to do")
			}
			if err := c.Run(t.Context(), nil); err != nil {
				t.Fatal(err)
			}
		}
		usual := func(*crawler.Options) {}
		run(func(o *crawler.Options) { o.Limit = 1 })
		run(usual) // with another limit, so that a page is left
		was := directory(t, dir)
		c, idle := try(usual)
		if s := c.Summary(); !idle || s.End != crawler.EndDone || s.Frontier.Spent.Pages != 2 || s.Frontier.Done != 2 || s.Sites != 1 || s.Requests != 0 {
			t.Errorf("%v, %+v", idle, s)
		}
		if !maps.Equal(was, directory(t, dir)) {
			t.Error("a file was changed")
		}
		for name, change := range map[string]func(*crawler.Options){
			"a seed":     func(o *crawler.Options) { o.Seeds = append(o.Seeds, "http://a.example/2") },
			"a setting":  func(o *crawler.Options) { o.Depth = 3 },
			"identity":   func(o *crawler.Options) { o.Identity.Token = "otherbot" },
			"a mail":     func(o *crawler.Options) { o.Identity.Mail = "" },
			"rescan":     func(o *crawler.Options) { o.Rescan = true },
			"lift":       func(o *crawler.Options) { o.Lift = []string{"all"} },
			"elsewhere":  func(o *crawler.Options) { o.Dir = filepath.Join(t.TempDir(), "new.crawl") },
			"no outputs": func(o *crawler.Options) { o.Output = []crawler.Output{} },
		} {
			if _, idle := try(change); idle {
				t.Errorf("with %s it has nothing to do", name)
			}
		}
		if err := os.Truncate(filepath.Join(dir, store.LogFile), 10); err != nil {
			t.Fatal(err)
		}
		if _, idle := try(usual); idle {
			t.Error("crawl.log was cut, and no run says so")
		}
	})
}

// If the opt-out list is removed, the URLs that it excluded are queued again, so the run has
// something to do.
func TestWhatIsPutAsideIsSomethingToDo(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		w := crawltest.New(t)
		w.Site("http://a.example").Page("/", "x")
		w.Site("http://b.example").Page("/", "x")
		o := crawler.Options{
			Identity: testIdentity, Seeds: []string{"http://a.example/", "http://b.example/"}, Wire: crawler.Wire{Network: w}, Hooks: crawler.Hooks{Logger: slog.New(slog.DiscardHandler)},
			Dir: filepath.Join(t.TempDir(), "aside.crawl"),
			OptOut: func(u frontier.URL) string {
				if u.Host() == "b.example" {
					return "by mail"
				}
				return ""
			},
		}
		c, err := crawler.New(o)
		if err != nil {
			t.Fatal(err)
		}
		if err := c.Run(t.Context(), nil); err != nil {
			t.Fatal(err)
		}
		o.OptOut = nil
		if c, err = crawler.New(o); err != nil || c.Idle() {
			t.Errorf("%v: it has nothing to do", err)
		}
	})
}

package main

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/permesso-crawler/permesso/cmd/crawl/internal/exit"
	"github.com/permesso-crawler/permesso/cmd/crawl/internal/show"
	"github.com/permesso-crawler/permesso/crawler"
	"github.com/permesso-crawler/permesso/crawler/crawltest"
	"github.com/permesso-crawler/permesso/internal/diff"
)

// twoCrawls makes two crawls of a small web that has changed in between, with everything
// that crawl diff shows. They are was.crawl and is.crawl in the directory.
func twoCrawls(t *testing.T, dir string) {
	t.Helper()
	page := func(title, text, noise string) string {
		return "<title>" + title + "</title><p>" + text + "<!-- " + noise + " -->"
	}
	links := func(names string) (html string) {
		for name := range strings.FieldsSeq(names) {
			html += fmt.Sprintf("<a href=/%s>.</a>", name)
		}
		return html
	}
	moved := func(to string) http.HandlerFunc {
		return func(w http.ResponseWriter, r *http.Request) { http.Redirect(w, r, to, http.StatusMovedPermanently) }
	}
	for name, web := range map[string]func(w *crawltest.Web){
		"was.crawl": func(w *crawltest.Web) {
			a := w.Site("http://a.example").Robots("User-agent: *\nDisallow: /drafts/\n").
				Page("/", links("same text other gone moved away left fails heals private drafts/1 temporary"))
			for _, name := range []string{"same", "text", "other", "gone", "moved", "away", "left", "fails", "private", "temporary"} {
				a.Page("/"+name, page(name, name+" was here", "1"))
			}
			a.Status("/heals", http.StatusNotImplemented).Page("/drafts/1", "draft")
			w.Site("http://b.example").Robots("").Page("/", "b").Page("/old", "old")
		},
		"is.crawl": func(w *crawltest.Web) {
			a := w.Site("http://a.example").Robots("User-agent: *\nCrawl-delay: 2\nContent-Signal: ai-train=no\nAllow: /drafts/\nDisallow: /private\n").
				Page("/", links("same text other gone moved away new fails heals private drafts/1 temporary"))
			a.Page("/same", page("same", "same was here", "1")).Page("/text", page("text", "text  was here", "2")).
				Page("/other", page("other", "something else", "1")).Status("/gone", http.StatusGone).
				Func("/moved", moved("/moved/here")).Page("/moved/here", page("moved", "moved was here", "1")).
				Func("/away", moved("http://elsewhere.example/away")).Page("/new", "new").Status("/fails", http.StatusNotImplemented).
				Page("/heals", "healed").Page("/drafts/1", "draft").Redirect("/temporary", "/same")
			w.Site("http://b.example").Robots("").Page("/", `b<a href=/n1>1</a><a href=/n2>2</a>`).Page("/n1", "1").Page("/n2", "2")
		},
	} {
		synctest.Test(t, func(t *testing.T) {
			w := crawltest.New(t)
			web(w)
			o := crawler.Options{
				Identity: crawler.Identity{Token: "testbot", Contact: "me@example.org"},
				Seeds:    []string{"http://a.example/", "http://b.example/"}, Wire: crawler.Wire{Network: w}, Dir: filepath.Join(dir, name), Budget: crawler.Budget{Patience: time.Hour},
			}
			if name == "is.crawl" {
				time.Sleep(7 * 24 * time.Hour)
				o.Depth = 3
			}
			c, err := crawler.New(o)
			if err != nil {
				t.Fatal(err)
			}
			if err := c.Run(t.Context(), crawler.HandlerFunc(func(context.Context, *crawler.Page) error { return nil })); err != nil {
				t.Fatal(err)
			}
		})
	}
}

// said returns the output of a command, which must succeed.
func said(t *testing.T, args ...string) string {
	t.Helper()
	var out, errs bytes.Buffer
	if code := run(args, nil, &out, &errs); code != exit.Done || errs.Len() > 0 {
		t.Fatalf("%q: exit %d: %s", args, code, errs.String())
	}
	return out.String()
}

// The output for people and for programs is as it was reviewed.
func TestTheDifferenceOfTwoSmallCrawlsIsAsItWasLookedAt(t *testing.T) {
	t.Chdir(t.TempDir())
	wd, err := os.Getwd()
	if err != nil {
		t.Fatal(err)
	}
	twoCrawls(t, wd)
	for name, text := range map[string]string{
		"diff.txt": said(t, "diff", "--most", "3", "was.crawl", "is.crawl"), "diff.jsonl": said(t, "diff", "--json", "was.crawl", "is.crawl"),
	} {
		golden := filepath.Join(filepath.Dir(questionsFile), "..", "..", "cmd", "crawl", "testdata", name)
		if *rewrite {
			if err := os.WriteFile(golden, []byte(text), 0o644); err != nil {
				t.Fatal(err)
			}
		}
		want, err := os.ReadFile(golden)
		if err != nil || string(want) != text {
			t.Errorf("%s: %v; -rewrite writes what it says now:\n%s", name, err, text)
		}
		for line := range strings.Lines(text) {
			if strings.HasSuffix(name, ".jsonl") && !json.Valid([]byte(line)) {
				t.Errorf("no JSON: %s", line)
			}
			if strings.HasSuffix(name, ".txt") && len(strings.TrimSuffix(line, "\n")) > 80 {
				t.Errorf("wider than 80 columns: %s", line)
			}
		}
	}
}

// Lists have URLs alone, one on each line.
func TestListsOfADifferenceAreURLs(t *testing.T) {
	t.Chdir(t.TempDir())
	wd, err := os.Getwd()
	if err != nil {
		t.Fatal(err)
	}
	twoCrawls(t, wd)
	for args, want := range map[string]string{
		"--list gone,moved":                  "http://a.example/away http://a.example/gone http://a.example/moved",
		"--list newly-disallowed":            "http://a.example/private",
		"--list newly-allowed":               "http://a.example/drafts/1",
		"--list new --site b.example":        "http://b.example/n1 http://b.example/n2",
		"--list New --site http://a.example": "http://a.example/moved/here http://a.example/new",
		"--list recovered,allowed":           "http://a.example/drafts/1 http://a.example/heals",
		"--list not-asked":                   "",
		"--list same-text --no-text":         "",
	} {
		text := said(t, append(append([]string{"diff"}, strings.Fields(args)...), "was.crawl", "is.crawl")...)
		if got := strings.Join(strings.Fields(text), " "); got != want {
			t.Errorf("%s: %q, want %q", args, got, want)
		}
	}
	if text := said(t, "diff", "--json", "--list", "gone,newly-allowed", "was.crawl", "is.crawl"); strings.Count(text, "\n") != 2 ||
		!strings.Contains(text, `"change":"gone"`) || !strings.Contains(text, `"type":"robots-effect"`) {
		t.Errorf("%s", text)
	}
	if text := said(t, "diff", "--most", "0", "was.crawl", "is.crawl"); strings.Contains(text, "/gone") || !strings.Contains(text, "1  gone ") {
		t.Errorf("%s", text)
	}
}

// docs/reference/diff.md describes each kind, and each line of JSON.
func TestEachKindOfChangeStandsInTheDocument(t *testing.T) {
	text := document(t, "docs/reference/diff.md")
	names := []string{"begin", "change", "robots-effect", "robots", "sum"}
	for _, k := range diff.Kinds() {
		names = append(names, string(k))
	}
	for _, name := range names {
		if strings.Count(text, "\n| `"+name+"` |") != 1 {
			t.Errorf("docs/reference/diff.md has no row for %s", name)
		}
	}
	for _, name := range []string{show.ListDisallowed, show.ListAllowed, diff.Format} {
		if !strings.Contains(text, "`"+name+"`") {
			t.Errorf("docs/reference/diff.md does not name %s", name)
		}
	}
}

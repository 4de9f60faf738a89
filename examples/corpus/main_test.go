package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"github.com/permesso-crawler/permesso/crawler"
	"github.com/permesso-crawler/permesso/crawler/crawltest"
)

func web(t *testing.T) *crawltest.Web {
	w := crawltest.New(t)
	page := func(title, text, links string) string {
		return fmt.Sprintf("<title>%s</title><script>x()</script><p>%s</p>%s", title, text, links)
	}
	w.Site("https://a.example").
		Robots("User-agent: *\nContent-Signal: search=yes\nContent-Signal: /docs/closed ai-train=no\nContent-Signal: /docs/open ai-train=yes\nSitemap: /map.txt").
		File("/map.txt", "text/plain", "https://a.example/docs/open\nhttps://a.example/news/2\n").
		Page("/news/", page("News", "All<br>the <b>n</b>ews", `<a href="1">first  news</a> <a href="meta">2</a> <a href="header">3</a> <a href="/docs/">docs</a> <a href="/about">about</a>`)).
		Page("/news/1", page("One", "It is &lt; 1", `<a href="2">second</a>`)).Page("/news/2", page("Two", "It is 2", "")).
		Page("/news/meta", "<meta name=robots content=noai>"+page("Meta", "no", "")).
		Func("/news/header", func(rw http.ResponseWriter, _ *http.Request) {
			rw.Header().Set("Content-Signal", "ai-train=no")
			fmt.Fprint(rw, page("Header", "no", ""))
		}).
		Page("/docs/", page("Docs", "How", `<a href="open">open</a> <a href="closed">closed</a>`)).Page("/docs/open", page("Open", "yes", "")).
		Page("/docs/closed", page("Closed", "no", "")).Page("/about", page("About", "outside", ""))
	w.Site("https://b.example").Robots("User-agent: *\nContent-Usage: train-ai=n").Page("/", page("B", "no", ""))
	return w
}

func read(t *testing.T, file string) (all []line) {
	t.Helper()
	raw, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	for text := range bytes.Lines(raw) {
		var l line
		if err := json.Unmarshal(text, &l); err != nil {
			t.Fatalf("%q: %v", text, err)
		}
		all = append(all, l)
	}
	return all
}

// Each page is in the corpus with its tag and what its owner says, except those whose owner
// refuses the training of models. That is so whenever the program is killed, even within a line.
func TestTheCorpus(t *testing.T) {
	for killed := range 8 {
		synctest.Test(t, func(t *testing.T) {
			w, dir := web(t), t.TempDir()
			file := filepath.Join(dir, "pages.jsonl")
			opts := crawler.Options{
				Identity: crawler.Identity{Token: "corpusbot", Contact: "https://example.org/corpusbot"},
				Seeds:    []string{"https://a.example/news/\t" + data{Section: "news"}.tag(), "https://a.example/docs/\t" + data{Section: "docs"}.tag(), "https://b.example/"},
				Wire:     crawler.Wire{Network: w, RootCAs: w.RootCAs()},
			}
			if killed > 0 {
				ctx, kill := context.WithTimeout(t.Context(), time.Duration(killed)*1100*time.Millisecond)
				defer kill()
				if err := write(ctx, dir, opts); !errors.Is(err, context.DeadlineExceeded) {
					t.Errorf("the error is %v", err)
				}
				whole, err := os.ReadFile(file)
				if err == nil {
					err = os.WriteFile(file, append(whole, `{"url":"https://a.ex`...), 0o666)
				}
				if err != nil {
					t.Fatal(err)
				}
			}
			if err := write(t.Context(), dir, opts); err != nil {
				t.Fatal(err)
			}
			var got []string
			for _, l := range read(t, file) {
				got = append(got, fmt.Sprint(l.URL, "|", l.Title, "|", l.Text, "|", string(l.Tag), "|", l.Usage, "|", l.Time.Year()))
			}
			slices.Sort(got)
			search := "line 2: Content-Signal: search=yes"
			want := []string{
				`https://a.example/docs/open|Open|yes|{"section":"docs","link":"open"}|[line 4: Content-Signal: ai-train=yes]|2000`,
				`https://a.example/docs/|Docs|How open closed|{"section":"docs"}|[` + search + `]|2000`,
				`https://a.example/news/1|One|It is < 1 second|{"section":"news","link":"first news"}|[` + search + `]|2000`,
				`https://a.example/news/2|Two|It is 2|{"section":"news","link":"second"}|[` + search + `]|2000`,
				`https://a.example/news/|News|All the news first news 2 3 docs about|{"section":"news"}|[` + search + `]|2000`,
			}
			if once := slices.Compact(got); !slices.Equal(once, want) {
				t.Errorf("kill %d: the lines are\n%q, want\n%q", killed, once, want)
			}
			w.AssertNeverFetched("https://a.example/docs/closed", "https://a.example/about", "https://b.example/")
			w.AssertPolite()
		})
	}
}

package main

import (
	"bytes"
	"context"
	"encoding/csv"
	"encoding/json"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"testing"
	"testing/synctest"

	"github.com/permesso-crawler/permesso/crawler"
	"github.com/permesso-crawler/permesso/crawler/crawltest"
)

// shop has books on several pages, links that are not books, and a sitemap, which does not say
// which pages are books.
func shop(t *testing.T) (w *crawltest.Web, want []book) {
	w = crawltest.New(t)
	site := w.Site("https://shop.example").Robots("User-agent: *\nDisallow: /basket\nCrawl-delay: 3\nSitemap: /map.txt").
		Page("/", `<a href="/list?page=2">more</a> <a href="/about">about us</a> <a href="/basket">basket</a> <a href="/book/0" rel=item>0</a>`).
		Page("/list?page=2", `<a href="/book/1" rel=item>1</a> <a href="/book/2" rel=item>2</a> <a href="/book/gone" rel=item>3</a>`).
		Page("/about", "<title>About</title>").
		Func("/map.txt", func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Type", "text/plain")
			for i := range 3 {
				fmt.Fprintf(w, "https://shop.example/book/%d\n", i)
			}
		})
	for i := range 3 {
		b := book{fmt.Sprintf("https://shop.example/book/%d", i), fmt.Sprintf("Book, %d", i), fmt.Sprintf("%d €", 7*i)}
		site.Page(fmt.Sprintf("/book/%d", i), fmt.Sprintf(`<title>%s</title><p class=price>%s</p><a href="/">home</a>`, b.Title, b.Price))
		want = append(want, b)
	}
	return w, want
}

func read(t *testing.T, table, lines string) (inTable, inLines []book) {
	t.Helper()
	raw, err := os.ReadFile(table)
	if err != nil {
		t.Fatal(err)
	}
	rows, err := csv.NewReader(bytes.NewReader(raw)).ReadAll()
	if err != nil {
		t.Fatal(err)
	}
	for _, r := range rows {
		inTable = append(inTable, book{r[0], r[1], r[2]})
	}
	if raw, err = os.ReadFile(lines); err != nil {
		t.Fatal(err)
	}
	for line := range bytes.Lines(raw) {
		var b book
		if err := json.Unmarshal(line, &b); err != nil {
			t.Fatal(err)
		}
		inLines = append(inLines, b)
	}
	return inTable, inLines
}

// Both files have all books once, also after a second run.
func TestTheBooksOfAShop(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w, want := shop(t)
		dir := t.TempDir()
		opts := crawler.Options{
			Identity: crawler.Identity{Token: "bookbot", Contact: "https://example.org/bookbot"},
			Seeds:    []string{"https://shop.example/"}, Dir: filepath.Join(dir, "crawl"), Wire: crawler.Wire{Network: w, RootCAs: w.RootCAs()},
		}
		for _, limit := range []int{3, 0} {
			opts.Limit = limit
			if err := run(context.Background(), dir, opts); err != nil {
				t.Fatal(err)
			}
		}
		inTable, inLines := read(t, filepath.Join(dir, "books.csv"), filepath.Join(dir, "books.jsonl"))
		if !slices.Equal(inTable, want) || !slices.Equal(inLines, want) {
			t.Errorf("the table has %q, the lines %q, want %q", inTable, inLines, want)
		}
		w.AssertPolite()
		w.AssertNeverFetched("https://shop.example/basket")
	})
}

// parse follows the items of a list. A list is not a book. No crawl is needed to test that.
func TestParse(t *testing.T) {
	ctx := context.Background()
	list := crawltest.Page(t, "https://shop.example/", `<a href="/1" rel=item>1</a> <a href="/about">about</a>`)
	if books, err := parse(ctx, list); err != nil || len(books) > 0 || len(list.Followed()) != 2 {
		t.Errorf("%v, %v; followed %+v", books, err, list.Followed())
	}
	for i, want := range []string{"book", ""} {
		if got := list.Followed()[i]; got.Tag != want {
			t.Errorf("%s is followed as %q, want %q", got.URL, got.Tag, want)
		}
	}
	page := crawltest.Page(t, "https://shop.example/1", `<title>One</title><a href="/">home</a>`)
	page.Entry.Tag = "book"
	if books, err := parse(ctx, page); err != nil || !slices.Equal(books, []book{{"https://shop.example/1", "One", ""}}) || page.Followed()[0].Tag != "" {
		t.Errorf("%v, %v; followed %+v", books, err, page.Followed())
	}
	gone := crawltest.Answer(t, "https://shop.example/1", 404, nil, "no such book")
	gone.Entry.Tag = "book"
	if books, err := parse(ctx, gone); err != nil || len(books) > 0 {
		t.Errorf("%v, %v", books, err)
	}
}

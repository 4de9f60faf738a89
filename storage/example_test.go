package storage_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log"
	"os"

	"github.com/permesso-crawler/permesso/frontier"
	"github.com/permesso-crawler/permesso/storage"
	"github.com/permesso-crawler/permesso/storage/warc"
)

// OpenReader gives access to the state of a crawl that is not running: its entries, sites and
// snapshots.
func ExampleOpenReader() {
	dir, remove := smallCrawl()
	defer remove()
	r, err := storage.OpenReader(dir)
	if err != nil {
		log.Fatal(err)
	}
	defer r.Close()
	fmt.Println(r.Unclean(), r.LastCommit().IsZero())
	for state, err := range r.Sites() {
		if err != nil {
			log.Fatal(err)
		}
		site := state.Site
		fmt.Println(site, state.Known, state.Left())
		for e, err := range r.Entries(site) {
			fmt.Println(e.URL, e.Fate.Code, e.Fate.Status, err)
		}
		for e, err := range r.Queued(site) { // entries that have not ended
			fmt.Println(e.URL, err)
		}
		copied, err := r.Snapshot(site) // the last stored copy of robots.txt
		fmt.Println("robots.txt:", copied, err)
		for earlier, err := range r.Snapshots(site) {
			fmt.Println(earlier, err)
		}
	}
	// Output:
	// false false
	// https://example.org 1 0
	// https://example.org/ fetched 200 <nil>
	// robots.txt: <nil> <nil>
}

// Sites can be used to count the URLs that a crawl has not fetched yet.
func ExampleReader_Sites() {
	dir, remove := smallCrawl()
	defer remove()
	r, err := storage.OpenReader(dir)
	if err != nil {
		log.Fatal(err)
	}
	defer r.Close()
	left := 0
	for state, err := range r.Sites() {
		if err != nil {
			log.Fatal(err)
		}
		left += state.Left()
	}
	fmt.Println(left)
	// Output: 0
}

// Entry says how a URL was found and how it ended.
func ExampleReader_Entry() {
	dir, remove := smallCrawl()
	defer remove()
	r, err := storage.OpenReader(dir)
	if err != nil {
		log.Fatal(err)
	}
	defer r.Close()
	for _, raw := range []string{"https://example.org/", "https://example.org/never"} {
		u, err := frontier.ParseURL(raw)
		if err != nil {
			log.Fatal(err)
		}
		entry, ok, err := r.Entry(u)
		state, _ := r.State(u.Site())
		fmt.Println(entry.Fate.Code, entry.Depth, ok, err, state.Known)
	}
	// Output:
	// fetched 0 true <nil> 1
	// undecided 0 false <nil> 1
}

// ReadPages and ReadLinks return the lines of pages.jsonl and links.jsonl, also while the crawl
// runs.
func ExampleReadPages() {
	dir, remove := smallCrawl()
	defer remove()
	ctx := context.Background()
	for p, err := range storage.ReadPages(ctx, dir) {
		var damaged *storage.DamagedError
		switch {
		case errors.As(err, &damaged):
			fmt.Println(damaged) // this line is not a record; the loop continues
		case err != nil:
			log.Fatal(err)
		default:
			fmt.Println(p.URL, p.Status, p.WARC != "")
		}
	}
	for l, err := range storage.ReadLinks(ctx, dir) {
		if err != nil {
			log.Fatal(err) // any error ends this loop, also one of a damaged line
		}
		fmt.Println(l.From, "->", l.To)
	}
	// Output:
	// https://example.org/ 200 true
	// https://example.org/ -> https://example.org/a
}

// Capture returns the last archived answer to a URL, from this crawl or from an earlier crawl that has
// the body.
func ExampleOpenPast() {
	dir, remove := smallCrawl()
	defer remove()
	past, err := storage.OpenPast(dir)
	if err != nil {
		log.Fatal(err)
	}
	u, err := frontier.ParseURL("https://example.org/")
	if err != nil {
		log.Fatal(err)
	}
	c, err := past.Capture(u)
	if err != nil || c == nil {
		log.Fatal("no capture ", err)
	}
	resp, err := c.Open()
	if err != nil {
		log.Fatal(err)
	}
	defer resp.Body.Close()
	body, err := io.ReadAll(resp.Body)
	fmt.Printf("%d %s %v\n", c.Status, body, err)
	// Output: 200 hello <nil>
}

// ReadBodies returns the bodies of pages that a crawl keeps in pages.jsonl.
func ExampleReadBodies() {
	dir, remove := smallCrawl() // keeps its bodies in the archive alone
	defer remove()
	for p, err := range storage.ReadBodies(context.Background(), dir) {
		if err != nil {
			log.Fatal(err)
		}
		fmt.Println(p.URL, len(p.Body), len(p.Base64))
	}
	// Output: https://example.org/ 0 0
}

// ArchiveFiles returns the paths of a crawl's WARC files.
func ExampleArchiveFiles() {
	dir, remove := smallCrawl()
	defer remove()
	paths, err := storage.ArchiveFiles(dir)
	if err != nil {
		log.Fatal(err)
	}
	for _, path := range paths {
		f, err := os.Open(path)
		if err != nil {
			log.Fatal(err)
		}
		defer f.Close()
		for r := warc.NewReader(f); ; {
			rec, err := r.Next()
			if err == io.EOF {
				break
			}
			if err != nil {
				log.Fatal(err)
			}
			fmt.Println(rec.Type, rec.Size > 0)
		}
	}
	// Output:
	// warcinfo true
	// response true
}

package storage_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log"
	"path/filepath"

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
	fmt.Println(filepath.Base(r.Dir()), r.Unclean(), r.LastCommit().IsZero())
	for site, err := range r.Names() {
		if err != nil {
			log.Fatal(err)
		}
		state, err := r.State(site)
		fmt.Println(site, state.Known, state.Left(), err)
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
	// example.crawl false false
	// https://example.org 1 0 <nil>
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

// Fate says how a URL ended.
func ExampleReader_Fate() {
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
		fate, ok, err := r.Fate(u)
		fmt.Println(fate.Code, ok, err)
		entry, ok, err := r.Entry(u) // the entry also says how the URL was found
		fmt.Println(entry.Depth, ok, err)
	}
	// Output:
	// fetched true <nil>
	// 0 true <nil>
	// undecided false <nil>
	// 0 false <nil>
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
	path, _ := c.Place()
	fmt.Println(past.Remembers(), filepath.Base(filepath.Dir(path)), c.TextDigest() == "", c.Check())
	// Output:
	// 200 hello <nil>
	// true warc true <nil>
}

// The bodies of some pages are in pages.jsonl. PastOf gives access to the archived answers of the
// others, also while the crawl runs.
func ExamplePastOf() {
	dir, remove := smallCrawl()
	defer remove()
	past := storage.PastOf(dir)
	for p, err := range storage.ReadBodies(context.Background(), dir) {
		if err != nil {
			log.Fatal(err)
		}
		if p.Body != nil || p.Base64 != nil {
			continue
		}
		c, err := past.Answer(p)
		if err != nil {
			log.Fatal(err)
		}
		fmt.Println(p.URL, c != nil)
	}
	// Output: https://example.org/ true
}

// ArchiveFiles returns the paths of a crawl's WARC files.
func ExampleArchiveFiles() {
	dir, remove := smallCrawl()
	defer remove()
	paths, err := storage.ArchiveFiles(dir)
	if err != nil {
		log.Fatal(err)
	}
	past := storage.PastOf(dir)
	for _, path := range paths {
		f, err := storage.OpenArchive(path)
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
			if rec.Type == warc.Revisit { // the body is in an earlier record
				c, err := past.Original(rec)
				fmt.Println(c != nil, err)
			}
		}
	}
	// Output:
	// warcinfo true
	// response true
}

// ParseUsage reads a statement about the use of a page, as it is in the archive.
func ExampleParseUsage() {
	u, ok := storage.ParseUsage("ai-train=n by line 5: Content-Signal: ai-train=no")
	fmt.Println(u.Use, u.Granted, ok)
	fmt.Println(u)
	// Output:
	// ai-train false true
	// ai-train=n by line 5: Content-Signal: ai-train=no
}

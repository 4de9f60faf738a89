package storage_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log"
	"net/http"
	"os"
	"path/filepath"
	"time"

	"github.com/permesso-crawler/permesso/frontier"
	"github.com/permesso-crawler/permesso/robots"
	"github.com/permesso-crawler/permesso/storage"
	"github.com/permesso-crawler/permesso/storage/warc"
)

// tempDir returns a new directory and a function that removes it.
func tempDir() (dir string, remove func()) {
	dir, err := os.MkdirTemp("", "")
	if err != nil {
		log.Fatal(err)
	}
	return dir, func() { os.RemoveAll(dir) }
}

// smallCrawl makes a crawl with one page in a new directory.
func smallCrawl() (dir string, remove func()) {
	temp, remove := tempDir()
	dir = filepath.Join(temp, "example.crawl")
	db, err := storage.Open(dir, storage.Options{Links: true, Archive: &storage.Archive{}})
	if err != nil {
		log.Fatal(err)
	}
	u, err := frontier.ParseURL("https://example.org/")
	if err != nil {
		log.Fatal(err)
	}
	queue, err := frontier.New(db, frontier.Options{Delay: -1, Patience: -1})
	if err != nil {
		log.Fatal(err)
	}
	if err := queue.Add(frontier.Entry{URL: u}); err != nil {
		log.Fatal(err)
	}
	turn, err := queue.Next(context.Background())
	if err != nil {
		log.Fatal(err)
	}
	if err := store(db, turn, "hello"); err != nil {
		log.Fatal(err)
	}
	if err := db.Close(); err != nil {
		log.Fatal(err)
	}
	return dir, remove
}

// store writes the visit of a turn, and then finishes the turn.
func store(db *storage.DB, turn *frontier.Turn, body string) error {
	u, began := turn.Entry().URL, time.Date(2030, 1, 2, 3, 4, 5, 0, time.UTC)
	answer := &warc.Exchange{
		URL: u.String(), Date: began,
		Response: &warc.HTTP{StartLine: warc.StatusLine(200), Header: http.Header{"Content-Type": {"text/plain"}}, Body: []byte(body), Coding: warc.Decoded},
	}
	v := &storage.Visit{
		Exchanges: []*warc.Exchange{answer}, Answer: answer,
		Page:  &storage.PageRecord{URL: u.String(), Time: began, Status: 200, Type: "text/plain", Size: int64(len(body))},
		Links: []storage.LinkRecord{{From: u.String(), To: "https://example.org/a", Hop: "L", Where: "a/href"}},
	}
	refused, err := db.PutVisit(v) // before the turn is finished
	for _, e := range refused {
		err = errors.Join(err, e)
	}
	if err != nil {
		return err
	}
	now := time.Now()
	_, err = turn.Finish(frontier.Outcome{
		Request: &frontier.Request{Started: now, FirstByte: now, Ended: now},
		Fate:    frontier.Fate{Code: frontier.Fetched, Status: 200, Answer: v.Place},
	})
	return err
}

// A crawler with a frontier of its own keeps its crawl in a DB, which is the backlog of the
// frontier and the store of the robots.txt files. The function store in this file writes a visit.
func ExampleOpen() {
	temp, remove := tempDir()
	defer remove()
	db, err := storage.Open(filepath.Join(temp, "example.crawl"), storage.Options{Archive: &storage.Archive{}})
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(db.Cluster() == nil, db.Unclean(), db.Restarted().IsZero()) // after a kill, sites rest from Restarted on
	if err := db.Put("note", "a value of the program"); err != nil {
		log.Fatal(err)
	}
	if err := db.PutSnapshot("https://example.org", &robots.Snapshot{Fetched: time.Now(), Status: 404}); err != nil {
		log.Fatal(err)
	}
	var note string
	ok, err := db.Get("note", &note)
	fmt.Println(note, ok, err)
	db.Hasten() // the run ends: submit without waiting
	fmt.Println(db.Close())
	// Output:
	// true false true
	// a value of the program true <nil>
	// <nil>
}

// The records of URLs and sites in a crawl that is not running.
func ExampleRecords() {
	dir, remove := smallCrawl()
	defer remove()
	r, err := storage.OpenReader(dir)
	if err != nil {
		log.Fatal(err)
	}
	defer r.Close()
	for site, err := range r.Names() {
		if err != nil {
			log.Fatal(err)
		}
		state, err := r.State(site)
		fmt.Println(site, state.Known, state.Left(), err)
		for e, err := range r.Entries(site) {
			fmt.Println(e.URL, e.Fate.Code, e.Fate.Status, err)
		}
		copied, err := r.Snapshot(site) // Snapshots has the earlier ones, too
		fmt.Println("robots.txt:", copied, err)
	}
	// Output:
	// https://example.org 1 0 <nil>
	// https://example.org/ fetched 200 <nil>
	// robots.txt: <nil> <nil>
}

// What became of one URL.
func ExampleRecords_Fate() {
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
		entry, ok, err := r.Entry(u) // how it was found, too
		fmt.Println(entry.Depth, ok, err)
	}
	// Output:
	// fetched true <nil>
	// 0 true <nil>
	// undecided false <nil>
	// 0 false <nil>
}

// The lines of a crawl's pages and links, also while it runs.
func ExampleReadPages() {
	dir, remove := smallCrawl()
	defer remove()
	ctx := context.Background()
	for p, err := range storage.ReadPages(ctx, dir) {
		var damaged *storage.DamagedError
		switch {
		case errors.As(err, &damaged):
			fmt.Println(damaged) // a line that is not a record: the loop goes on
		case err != nil:
			log.Fatal(err)
		default:
			fmt.Println(p.URL, p.Status, p.WARC != "")
		}
	}
	for l, err := range storage.ReadLinks(ctx, dir) {
		if err != nil {
			log.Fatal(err) // also a damaged line
		}
		fmt.Println(l.From, "->", l.To)
	}
	// Output:
	// https://example.org/ 200 true
	// https://example.org/ -> https://example.org/a
}

// The last answer to a URL, with its body. A body that a record repeats is read from the earlier
// crawl that has it.
func ExampleOpenPast() {
	dir, remove := smallCrawl()
	defer remove()
	if _, err := storage.MakeIndex(context.Background(), dir, nil); err != nil { // if it is damaged or missing
		log.Fatal(err)
	}
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
	defer c.Release()
	resp, err := c.Open()
	if err != nil {
		log.Fatal(err)
	}
	defer resp.Body.Close()
	body, err := io.ReadAll(resp.Body)
	fmt.Printf("%d %s %v\n", c.Status, body, err)
	path, _ := c.Place()
	fmt.Println(past.Remembers(), past.Dir() == dir, filepath.Base(filepath.Dir(path)), c.Check())
	// Output:
	// 200 hello <nil>
	// true true warc <nil>
}

// The WARC files of a crawl.
func ExampleArchiveFiles() {
	dir, remove := smallCrawl()
	defer remove()
	paths, err := storage.ArchiveFiles(dir)
	if err != nil {
		log.Fatal(err)
	}
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
		}
	}
	// Output:
	// warcinfo true
	// response true
}

// A crawl is checked, and a damaged one is repaired.
func ExampleNewRepair() {
	dir, remove := smallCrawl()
	defer remove()
	if err := os.WriteFile(filepath.Join(dir, storage.PagesFile), []byte("damaged\n"), 0o644); err != nil {
		log.Fatal(err)
	}
	found, err := storage.Verify(context.Background(), dir, func(error) {})
	fmt.Println(found.Problems > 0, err)
	r, err := storage.NewRepair(context.Background(), dir, storage.RepairOptions{}) // FinishRepair finishes one that was killed
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(r.Sound, r.Again, r.Left)
	if err := r.Commit(); err != nil { // or Discard, which changes nothing
		log.Fatal(err)
	}
	found, err = storage.Check{Problem: func(err error) { fmt.Println(err) }}.Verify(context.Background(), dir)
	fmt.Println(found.Problems, err)
	// Output:
	// true <nil>
	// false 1 []
	// 0 <nil>
}

// The captures of a host are removed from a crawl, at the wish of its owner.
func ExamplePurge() {
	dir, remove := smallCrawl()
	defer remove()
	p := storage.Purge{
		Places: []string{"example.org"},
		Why: func(url string) string {
			if u, err := frontier.ParseURL(url); err == nil && u.Host() == "example.org" {
				return "its owner wrote to us"
			}
			return ""
		},
	}
	plan, err := p.Plan(context.Background(), dir)
	fmt.Println(plan.Records, plan.Pages, plan.None(), err)
	done, err := p.Run(context.Background(), dir)
	fmt.Println(done.Entries, err)
	unfinished, err := storage.UnfinishedPurge(dir) // after a kill, Run is called again with its Places
	fmt.Println(unfinished, err)
	// Output:
	// 1 1 false <nil>
	// 1 <nil>
	// <nil> <nil>
}

// Which process runs a crawl.
func ExampleHolder() {
	dir, remove := smallCrawl()
	defer remove()
	_, running := storage.Holder(dir)
	_, err := storage.ReadRun(dir)
	fmt.Println(running, errors.Is(err, os.ErrNotExist))
	db, err := storage.Open(dir, storage.Options{})
	if err != nil {
		log.Fatal(err)
	}
	defer db.Close()
	run, running := storage.Holder(dir)
	fmt.Println(running, run.PID == os.Getpid())
	// Output:
	// false true
	// true true
}

// A crawl that repeats another one refers to its answers.
func ExamplePrevious() {
	dir, remove := smallCrawl()
	defer remove()
	later := filepath.Join(filepath.Dir(dir), "later.crawl")
	db, err := storage.Open(later, storage.Options{})
	if err != nil {
		log.Fatal(err)
	}
	if err := db.PutPrevious(dir); err != nil {
		log.Fatal(err)
	}
	if err := db.Close(); err != nil {
		log.Fatal(err)
	}
	fmt.Println(filepath.Base(storage.Previous(later)))
	for _, path := range storage.Behind(dir) { // needed as long as these exist
		fmt.Println(filepath.Base(path))
	}
	// Output:
	// example.crawl
	// later.crawl
}

// After 304 (not modified) the stored header gets the new fields.
func ExampleUpdatedHeader() {
	kept := http.Header{"Content-Type": {"text/html"}, "Etag": {`"1"`}}
	by := http.Header{"Etag": {`"2"`}, "Content-Type": {"text/plain"}}
	fmt.Println(storage.UpdatedHeader(kept, by))
	// Output: map[Content-Type:[text/html] Etag:["2"]]
}

// A statement about the use of a page, in pages.jsonl and in the archive.
func ExampleParseUsage() {
	u, ok := storage.ParseUsage("ai-train=n by line 5: Content-Signal: ai-train=no")
	fmt.Println(u.Use, u.Granted, ok)
	fmt.Println(u)
	// Output:
	// ai-train false true
	// ai-train=n by line 5: Content-Signal: ai-train=no
}

package store_test

import (
	"context"
	"errors"
	"fmt"
	"log"
	"net/http"
	"os"
	"path/filepath"
	"time"

	"github.com/permesso-crawler/permesso/frontier"
	"github.com/permesso-crawler/permesso/internal/store"
	"github.com/permesso-crawler/permesso/robots"
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
	db, err := store.Open(dir, store.Options{Links: true, Archive: &store.Archive{}})
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
	if err := visit(db, turn, "hello"); err != nil {
		log.Fatal(err)
	}
	if err := db.Close(); err != nil {
		log.Fatal(err)
	}
	return dir, remove
}

// visit writes the visit of a turn, and then finishes the turn.
func visit(db *store.DB, turn *frontier.Turn, body string) error {
	u, began := turn.Entry().URL, time.Date(2030, 1, 2, 3, 4, 5, 0, time.UTC)
	answer := &warc.Exchange{
		URL: u.String(), Date: began,
		Response: &warc.HTTP{StartLine: warc.StatusLine(200), Header: http.Header{"Content-Type": {"text/plain"}}, Body: []byte(body), Coding: warc.Decoded},
	}
	v := &store.Visit{
		Exchanges: []*warc.Exchange{answer}, Answer: answer,
		Page:  &store.PageRecord{URL: u.String(), Time: began, Status: 200, Type: "text/plain", Size: int64(len(body))},
		Links: []store.LinkRecord{{From: u.String(), To: "https://example.org/a", Hop: "L", Where: "a/href"}},
	}
	refused, err := db.PutVisit(v) // call PutVisit before the turn is finished
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
// frontier and the store of the robots.txt files. The function visit in this file writes a visit.
func ExampleOpen() {
	temp, remove := tempDir()
	defer remove()
	db, err := store.Open(filepath.Join(temp, "example.crawl"), store.Options{Archive: &store.Archive{}})
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(db.Cluster() == nil, db.Unclean(), db.Restarted().IsZero()) // if Unclean is true, sites rest, beginning at Restarted
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

// Find the last answer to a URL, with its body. If a record repeats an earlier answer, the body
// is read from the earlier record.
func ExampleNewRepair() {
	dir, remove := smallCrawl()
	defer remove()
	if err := os.WriteFile(filepath.Join(dir, store.PagesFile), []byte("damaged\n"), 0o644); err != nil {
		log.Fatal(err)
	}
	found, err := store.Verify(context.Background(), dir, func(error) {})
	fmt.Println(found.Problems > 0, err)
	r, err := store.NewRepair(context.Background(), dir, store.RepairOptions{}) // if the process is killed, call FinishRepair
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(r.Sound, r.Again, r.Left)
	if err := r.Commit(); err != nil { // or Discard, which changes nothing
		log.Fatal(err)
	}
	found, err = store.Check{Problem: func(err error) { fmt.Println(err) }}.Verify(context.Background(), dir)
	fmt.Println(found.Problems, err)
	// Output:
	// true <nil>
	// false 1 []
	// 0 <nil>
}

// Remove the captures of a host from a crawl, because its owner wants that.
func ExamplePurge() {
	dir, remove := smallCrawl()
	defer remove()
	p := store.Purge{
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
	unfinished, err := store.UnfinishedPurge(dir) // after a kill, call Run again with these Places
	fmt.Println(unfinished, err)
	// Output:
	// 1 1 false <nil>
	// 1 <nil>
	// <nil> <nil>
}

// Find the process that runs a crawl.
func ExampleHolder() {
	dir, remove := smallCrawl()
	defer remove()
	_, running := store.Holder(dir)
	_, err := store.ReadRun(dir)
	fmt.Println(running, errors.Is(err, os.ErrNotExist))
	db, err := store.Open(dir, store.Options{})
	if err != nil {
		log.Fatal(err)
	}
	defer db.Close()
	run, running := store.Holder(dir)
	fmt.Println(running, run.PID == os.Getpid())
	// Output:
	// false true
	// true true
}

// Make a crawl that refers to the answers of an earlier crawl.
func ExamplePrevious() {
	dir, remove := smallCrawl()
	defer remove()
	later := filepath.Join(filepath.Dir(dir), "later.crawl")
	db, err := store.Open(later, store.Options{})
	if err != nil {
		log.Fatal(err)
	}
	if err := db.PutPrevious(dir); err != nil {
		log.Fatal(err)
	}
	if err := db.Close(); err != nil {
		log.Fatal(err)
	}
	fmt.Println(filepath.Base(store.Previous(later)))
	for _, path := range store.Behind(dir) { // the earlier crawl is needed while the crawls in this list exist
		fmt.Println(filepath.Base(path))
	}
	// Output:
	// example.crawl
	// later.crawl
}

// Update a stored header with the fields of a 304 answer (not modified).
func ExampleUpdatedHeader() {
	kept := http.Header{"Content-Type": {"text/html"}, "Etag": {`"1"`}}
	by := http.Header{"Etag": {`"2"`}, "Content-Type": {"text/plain"}}
	fmt.Println(store.UpdatedHeader(kept, by))
	// Output: map[Content-Type:[text/html] Etag:["2"]]
}

package storage_test

import (
	"context"
	"errors"
	"log"
	"net/http"
	"os"
	"path/filepath"
	"time"

	"github.com/permesso-crawler/permesso/frontier"
	"github.com/permesso-crawler/permesso/internal/store"
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
	refused, err := db.PutVisit(v) // the visit is stored before the turn is finished
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

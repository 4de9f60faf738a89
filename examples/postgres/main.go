// Command postgres keeps the pages of a crawl in a table of PostgreSQL.
//
//	go run . "host=/run/postgresql dbname=crawl" DIRECTORY https://example.org/
//
// Killed at any moment, or left alone by its database, it goes on with the same command:
// each page comes at least once, and stands in the table once.
package main

import (
	"context"
	"crypto/sha256"
	"fmt"
	"log"
	"os"
	"strings"

	"github.com/jackc/pgx/v5"

	"github.com/permesso-crawler/permesso/crawler"
)

func main() {
	if len(os.Args) < 4 {
		log.Fatal("usage: postgres DATABASE DIRECTORY URL...")
	}
	err := run(context.Background(), os.Args[1], crawler.Options{
		Identity: crawler.Identity{Token: "tablebot", Contact: "https://example.org/tablebot"},
		Seeds:    os.Args[3:],
		Dir:      os.Args[2],
	})
	if err != nil {
		log.Fatal(err)
	}
}

type row struct {
	url, title string
	status     int
}

// An index entry has 2,704 bytes at most, and a URL may have more: the key is its digest.
const (
	create = `CREATE TABLE IF NOT EXISTS pages (
		key bytea PRIMARY KEY, url text NOT NULL, status integer NOT NULL, title text NOT NULL)`
	put = `INSERT INTO pages (key, url, status, title) VALUES ($1, $2, $3, $4)
		ON CONFLICT (key) DO UPDATE SET status = excluded.status, title = excluded.title`
)

// run puts the pages of a crawl into a database.
func run(ctx context.Context, database string, opts crawler.Options) error {
	db, err := pgx.Connect(ctx, database)
	if err != nil {
		return fmt.Errorf("the database: %w", err)
	}
	defer db.Close(context.WithoutCancel(ctx))
	if _, err := db.Exec(ctx, create); err != nil {
		return fmt.Errorf("the table: %w", err)
	}
	c, err := crawler.New(opts)
	if err != nil {
		return err
	}
	for rows, err := range crawler.Batches(ctx, c, 100, 0, parse) {
		if err == nil {
			err = insert(ctx, db, rows)
		}
		if err != nil {
			return err // these rows are not lost: they come again
		}
	}
	return nil
}

// parse makes the row of a page. PostgreSQL has no text with a zero byte.
func parse(_ context.Context, p *crawler.Page) ([]row, error) {
	title := strings.ReplaceAll(p.Title(), "\x00", "\uFFFD")
	return []row{{p.URL.String(), title, p.Status}}, nil
}

// insert sends a batch at once. It is one transaction: all of it, or nothing.
func insert(ctx context.Context, db *pgx.Conn, rows []row) error {
	var b pgx.Batch
	for _, r := range rows {
		key := sha256.Sum256([]byte(r.url))
		b.Queue(put, key[:], r.url, r.status, r.title)
	}
	return db.SendBatch(ctx, &b).Close()
}

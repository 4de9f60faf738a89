// Command postgres keeps the pages of a crawl in a table of PostgreSQL.
//
//	go run . "host=/run/postgresql dbname=crawl" DIRECTORY https://example.org/
//
// After a kill, or if the database fails, the same command continues: each page is delivered
// at least once, and is in the table once.
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

// The key is a digest of the URL, because an index entry of PostgreSQL has at most 2,704 bytes,
// and a URL may be longer.
const (
	create = `CREATE TABLE IF NOT EXISTS pages (
		key bytea PRIMARY KEY, url text NOT NULL, status integer NOT NULL, title text NOT NULL)`
	put = `INSERT INTO pages (key, url, status, title) VALUES ($1, $2, $3, $4)
		ON CONFLICT (key) DO UPDATE SET status = excluded.status, title = excluded.title`
)

// run writes the pages of a crawl into a database.
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
			return err // these rows are not lost: the next run delivers them again
		}
	}
	return nil
}

// parse returns the row of a page. PostgreSQL allows no zero byte in a text.
func parse(_ context.Context, p *crawler.Page) ([]row, error) {
	title := strings.ReplaceAll(p.Title(), "\x00", "\uFFFD")
	return []row{{p.URL.String(), title, p.Status}}, nil
}

// insert sends a batch in one transaction: all rows are stored, or none.
func insert(ctx context.Context, db *pgx.Conn, rows []row) error {
	var b pgx.Batch
	for _, r := range rows {
		key := sha256.Sum256([]byte(r.url))
		b.Queue(put, key[:], r.url, r.status, r.title)
	}
	return db.SendBatch(ctx, &b).Close()
}

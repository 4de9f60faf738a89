//go:build unix

package main

import (
	"errors"
	"fmt"
	"io"
	"maps"
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"strings"
	"testing"

	"github.com/jackc/pgx/v5/pgconn"

	"github.com/permesso-crawler/permesso/crawler"
)

// crawl crawls a site that has only a home page.
func crawl(t *testing.T, dir, database string, home http.HandlerFunc) error {
	t.Helper()
	site := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/robots.txt" {
			http.NotFound(w, r)
			return
		}
		w.Header().Set("Content-Type", "text/html")
		home(w, r)
	}))
	defer site.Close()
	opts, err := options(dir, strings.TrimPrefix(site.URL, "http://"))
	if err != nil {
		t.Fatal(err)
	}
	opts.Seeds, opts.Delay = []string{"http://a.test/"}, crawler.NoDelay
	return run(t.Context(), database, opts)
}

// Any URL or title of a site can be stored, and another crawl of the same pages changes their
// rows.
func TestEachPageHasOneRow(t *testing.T) {
	sockets := postgres(t)
	var long strings.Builder // which can hardly be compressed
	for i := range 1320 {
		fmt.Fprintf(&long, "%06x", i*i*7919%(1<<24))
	}
	path := "/" + long.String()[:7900]
	for i, status := range []int{200, 404} {
		err := crawl(t, filepath.Join(t.TempDir(), "crawl"), at(sockets), func(w http.ResponseWriter, r *http.Request) {
			switch r.URL.Path {
			case "/":
				fmt.Fprintf(w, `<title>Home %d</title><a href="%s">1</a> <a href="/bytes">2</a> <a href="/feed">3</a>`, i, path)
			case "/bytes":
				io.WriteString(w, "<title>a\x00b</title>")
			case "/feed":
				w.Header().Set("Content-Type", "application/feed+json")
				io.WriteString(w, `{"version": "https://jsonfeed.org/version/1.1", "title": "a\u0000b"}`)
			default:
				w.WriteHeader(status)
			}
		})
		if err != nil {
			t.Fatal(err)
		}
		want := map[string]row{}
		for _, r := range []row{
			{"http://a.test/", fmt.Sprintf("Home %d", i), 200}, {"http://a.test" + path, "", status},
			{"http://a.test/bytes", "a\uFFFDb", 200}, {"http://a.test/feed", "a\uFFFDb", 200},
		} {
			want[r.url] = r
		}
		if table := contents(t, sockets); !maps.Equal(table, want) {
			t.Errorf("the table has %+v, want %+v", table, want)
		}
	}
}

// A row that the database refuses ends the crawl, and is delivered again.
func TestRefusedRowsAreDeliveredAgain(t *testing.T) {
	sockets := postgres(t)
	dir := filepath.Join(t.TempDir(), "crawl")
	home := func(w http.ResponseWriter, _ *http.Request) { io.WriteString(w, "<title>Home</title>") }
	db := connect(t, sockets)
	if _, err := db.Exec(t.Context(), create+"; ALTER TABLE pages ADD CONSTRAINT none CHECK (status = 0)"); err != nil {
		t.Fatal(err)
	}
	var refused *pgconn.PgError
	if err := crawl(t, dir, at(sockets), home); !errors.As(err, &refused) || refused.ConstraintName != "none" {
		t.Errorf("the error is %v", err)
	}
	if _, err := db.Exec(t.Context(), "ALTER TABLE pages DROP CONSTRAINT none"); err != nil {
		t.Fatal(err)
	}
	if err := crawl(t, dir, at(sockets), home); err != nil {
		t.Error(err)
	}
	if table := contents(t, sockets); len(table) != 1 || table["http://a.test/"].title != "Home" {
		t.Errorf("the table has %+v", table)
	}
	if err := crawl(t, dir, "host="+dir+" user=permesso", home); err == nil || !strings.HasPrefix(err.Error(), "the database: ") {
		t.Errorf("without a database the error is %v", err)
	}
}

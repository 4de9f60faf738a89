package store_test

import (
	"fmt"
	"log"
	"os"
	"path/filepath"

	"github.com/permesso-crawler/permesso/frontier"
	"github.com/permesso-crawler/permesso/internal/store"
)

// List the entries that a crawl has not fetched yet, and the keys of the program's values, while
// the crawl is not running.
func ExampleOpenReader() {
	temp, err := os.MkdirTemp("", "")
	if err != nil {
		log.Fatal(err)
	}
	defer os.RemoveAll(temp)
	dir := filepath.Join(temp, "example.crawl")
	db, err := store.Open(dir, store.Options{})
	if err != nil {
		log.Fatal(err)
	}
	u, _ := frontier.ParseURL("https://example.org/")
	if err := db.Submit(frontier.Completion{Links: []frontier.Entry{{URL: u}}}); err != nil {
		log.Fatal(err)
	}
	if err := db.Put("note of Monday", "a value of the program"); err != nil {
		log.Fatal(err)
	}
	if err := db.Close(); err != nil {
		log.Fatal(err)
	}

	r, err := store.OpenReader(dir)
	if err != nil {
		log.Fatal(err)
	}
	defer r.Close()
	for st, err := range r.Sites() {
		if err != nil {
			log.Fatal(err)
		}
		for e, err := range r.Queued(st.Site) {
			if err != nil {
				log.Fatal(err)
			}
			fmt.Println(e.URL)
		}
	}
	for of, err := range r.Keys("note of ") {
		fmt.Println(of, err)
	}
	// Output:
	// https://example.org/
	// Monday <nil>
}

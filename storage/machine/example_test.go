package machine_test

import (
	"fmt"
	"log"
	"os"
	"path/filepath"
	"time"

	"github.com/permesso-crawler/permesso/storage/machine"
)

// Two processes open the same table. While one of them has reserved a name, the other must wait.
func ExampleOpen() {
	dir, err := os.MkdirTemp("", "")
	if err != nil {
		log.Fatal(err)
	}
	defer os.RemoveAll(dir)
	path := filepath.Join(dir, "clocks")
	one, err := machine.Open(path)
	if err != nil {
		log.Fatal(err)
	}
	defer one.Close()
	other, err := machine.Open(path)
	if err != nil {
		log.Fatal(err)
	}
	defer other.Close()

	now := time.Now()
	_, ok := one.Reserve("http://a.example", now, now.Add(time.Minute))
	fmt.Println(ok)
	taken, ok := other.Reserve("http://a.example", now, now.Add(time.Minute))
	fmt.Println(ok, taken.Until.After(now))
	one.Release("http://a.example", now) // the pause ends at once
	_, ok = other.Reserve("http://a.example", now.Add(time.Second), now.Add(time.Minute))
	fmt.Println(ok)
	// Output:
	// true
	// false true
	// true
}

// A program that opens the table at DefaultPath shares its clocks with the crawls of the command
// crawl. The table is a value for crawler.Options.Shared.
func ExampleDefaultPath() {
	path, err := machine.DefaultPath()
	if err != nil {
		log.Fatal(err)
	}
	table, err := machine.Open(path)
	if err != nil {
		log.Fatal(err)
	}
	defer table.Close()
}

// trafilatura DIR MAIN.jsonl WHOLE.jsonl prints, for each directory of pages in DIR, which words
// of go-trafilatura are in the main text and in the whole text of the same pages, and which
// words of these are in go-trafilatura. go-trafilatura is a port of trafilatura.
package main

import (
	"bufio"
	"encoding/json"
	"fmt"
	"log"
	"maps"
	"net/url"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"

	"github.com/markusmobius/go-trafilatura"
)

// A row is a line of crawl export --format text.
type row struct {
	URL  string `json:"url"`
	Text string `json:"text"`
}

// An agreement is a sum over pages.
type agreement struct{ pages, precision, recall float64 }

func main() {
	log.SetFlags(0)
	if len(os.Args) != 4 {
		log.Fatal("usage: trafilatura DIR MAIN.jsonl WHOLE.jsonl")
	}
	texts := []map[string]string{read(os.Args[2]), read(os.Args[3])}
	groups := map[string]*[2]agreement{}
	for path := range texts[0] {
		want := extract(os.Args[1], path)
		if len(want) == 0 {
			continue // trafilatura finds nothing
		}
		for _, name := range []string{strings.Split(path, "/")[1], "~all"} { // ~all is the last one
			if groups[name] == nil {
				groups[name] = &[2]agreement{}
			}
			for i, text := range texts {
				groups[name][i].add(want, words(text[path]))
			}
		}
	}
	fmt.Print("| pages | number | main text: precision | recall | whole text: precision | recall |\n|---|---:|---:|---:|---:|---:|\n")
	for _, name := range slices.Sorted(maps.Keys(groups)) {
		g := groups[name]
		fmt.Printf("| %s | %.0f |", strings.TrimPrefix(name, "~"), g[0].pages)
		for _, a := range g {
			fmt.Printf(" %.1f | %.1f |", 100*a.precision/a.pages, 100*a.recall/a.pages)
		}
		fmt.Println()
	}
}

// read returns the texts of an export by the paths of their pages.
func read(name string) map[string]string {
	file, err := os.Open(name)
	if err != nil {
		log.Fatal(err)
	}
	defer file.Close()
	all := map[string]string{}
	in := bufio.NewScanner(file)
	in.Buffer(nil, 64<<20)
	for in.Scan() {
		var r row
		if err := json.Unmarshal(in.Bytes(), &r); err != nil {
			log.Fatalf("%s: %v", name, err)
		}
		u, err := url.Parse(r.URL)
		if err != nil {
			log.Fatalf("%s: %v", name, err)
		}
		all[u.Path] = r.Text
	}
	if err := in.Err(); err != nil {
		log.Fatalf("%s: %v", name, err)
	}
	return all
}

// extract returns the words that trafilatura finds in a page, each with its number.
func extract(dir, path string) map[string]int {
	file, err := os.Open(filepath.Join(dir, filepath.FromSlash(path)))
	if err != nil {
		log.Fatal(err)
	}
	defer file.Close()
	found, err := trafilatura.Extract(file, trafilatura.Options{
		OriginalURL: &url.URL{Scheme: "http", Host: "docs.test", Path: path}, ExcludeComments: true, EnableFallback: true,
	})
	if err != nil || found == nil {
		return nil
	}
	return words(found.ContentText)
}

var word = regexp.MustCompile(`[\p{L}\p{N}]+`)

func words(text string) map[string]int {
	counts := map[string]int{}
	for _, w := range word.FindAllString(strings.ToLower(text), -1) {
		counts[w]++
	}
	return counts
}

func (a *agreement) add(want, got map[string]int) {
	both, inWant, inGot := 0, 0, 0
	for w, n := range want {
		both += min(n, got[w])
		inWant += n
	}
	for _, n := range got {
		inGot += n
	}
	a.pages++
	a.precision += float64(both) / float64(max(1, inGot))
	a.recall += float64(both) / float64(inWant)
}

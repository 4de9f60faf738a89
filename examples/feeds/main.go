// Command feeds prints the items of RSS and Atom feeds that it has not printed before. Run it
// every hour, for instance by cron: what it knows is in the directory feeds.state.
//
//	go run ./examples/feeds https://example.org/feed.xml https://example.com/atom.xml
package main

import (
	"encoding/json"
	"encoding/xml"
	"errors"
	"fmt"
	"io/fs"
	"log"
	"net/http"
	"os"
	"path/filepath"

	"github.com/permesso-crawler/permesso/fetch"
)

func main() {
	const dir = "feeds.state"
	client, err := fetch.NewClient(fetch.ClientOptions{
		Token: "feedbot", Contact: "https://example.org/feedbot", Dir: dir,
	})
	if err != nil {
		log.Fatal(err)
	}
	defer client.Close()
	if err := read(&http.Client{Transport: client}, filepath.Join(dir, "feeds.json"), os.Args[1:]); err != nil {
		log.Fatal(err)
	}
}

// A feed is what is known of a feed.
type feed struct {
	ETag, Modified string          // of the last answer
	Items          map[string]bool // links of the items that were printed
}

// read prints the new items of the feeds. A feed that fails does not stop the others.
func read(client *http.Client, file string, urls []string) error {
	feeds := map[string]*feed{}
	raw, err := os.ReadFile(file)
	if err == nil {
		err = json.Unmarshal(raw, &feeds)
	}
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	var failed []error
	for _, url := range urls {
		if feeds[url] == nil {
			feeds[url] = &feed{Items: map[string]bool{}}
		}
		if err := feeds[url].read(client, url); err != nil {
			failed = append(failed, fmt.Errorf("%s: %w", url, err))
		}
		if err := save(file, feeds); err != nil {
			return errors.Join(append(failed, err)...)
		}
	}
	return errors.Join(failed...)
}

// save writes the feeds. If the process is killed in the middle of it, the file stays as it was.
func save(file string, feeds map[string]*feed) error {
	raw, err := json.Marshal(feeds)
	if err != nil {
		return err
	}
	if err := os.WriteFile(file+".new", raw, 0o644); err != nil {
		return err
	}
	return os.Rename(file+".new", file)
}

// read requests the feed, if it has changed, and prints its new items.
func (f *feed) read(client *http.Client, url string) error {
	req, err := http.NewRequest(http.MethodGet, url, nil)
	if err != nil {
		return err
	}
	if f.ETag != "" {
		req.Header.Set("If-None-Match", f.ETag)
	}
	if f.Modified != "" {
		req.Header.Set("If-Modified-Since", f.Modified)
	}
	resp, err := client.Do(req)
	if err != nil {
		return err
	}
	defer resp.Body.Close()
	if resp.StatusCode == http.StatusNotModified {
		return nil
	}
	if resp.StatusCode != http.StatusOK {
		return errors.New(resp.Status)
	}
	var doc struct {
		RSS []struct {
			Title string `xml:"title"`
			Link  string `xml:"link"`
		} `xml:"channel>item"`
		Atom []struct {
			Title string `xml:"title"`
			Link  struct {
				Href string `xml:"href,attr"`
			} `xml:"link"`
		} `xml:"entry"`
	}
	if err := xml.NewDecoder(resp.Body).Decode(&doc); err != nil {
		return err
	}
	for _, item := range doc.RSS {
		f.print(item.Title, item.Link)
	}
	for _, entry := range doc.Atom {
		f.print(entry.Title, entry.Link.Href)
	}
	f.ETag, f.Modified = resp.Header.Get("ETag"), resp.Header.Get("Last-Modified")
	return nil
}

func (f *feed) print(title, link string) {
	if !f.Items[link] {
		f.Items[link] = true
		fmt.Println(title, link)
	}
}

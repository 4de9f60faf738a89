// Command feeds prints the items of RSS and Atom feeds that it has not printed before.
package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"log"
	"net/http"
	"os"

	"github.com/gocolly/colly/v2"
)

// A feed is what is known of a feed.
type feed struct {
	ETag, Modified string          // of the last answer
	Items          map[string]bool // links of the items that were printed
}

func main() {
	feeds := map[string]*feed{}
	raw, err := os.ReadFile("feeds.json")
	if err == nil {
		err = json.Unmarshal(raw, &feeds)
	}
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		log.Fatal(err)
	}

	c := colly.NewCollector()
	c.IgnoreRobotsTxt = false
	c.OnRequest(func(r *colly.Request) {
		f := feeds[r.URL.String()]
		if f.ETag != "" {
			r.Headers.Set("If-None-Match", f.ETag)
		}
		if f.Modified != "" {
			r.Headers.Set("If-Modified-Since", f.Modified)
		}
	})
	c.OnResponse(func(r *colly.Response) {
		f := feeds[r.Request.URL.String()]
		f.ETag, f.Modified = r.Headers.Get("ETag"), r.Headers.Get("Last-Modified")
	})
	c.OnXML("//item | //entry", func(e *colly.XMLElement) {
		f, link := feeds[e.Request.URL.String()], e.ChildText("link")
		if link == "" {
			link = e.ChildAttr("link", "href")
		}
		if !f.Items[link] {
			f.Items[link] = true
			fmt.Println(e.ChildText("title"), link)
		}
	})
	c.OnError(func(r *colly.Response, err error) {
		if r.StatusCode != http.StatusNotModified {
			log.Println(r.Request.URL, err)
		}
	})
	for _, path := range []string{"1", "2", "3", "4"} {
		url := "http://shop.test/feed/" + path
		if feeds[url] == nil {
			feeds[url] = &feed{Items: map[string]bool{}}
		}
		c.Visit(url)
	}

	if raw, err = json.Marshal(feeds); err == nil {
		err = os.WriteFile("feeds.json", raw, 0o644)
	}
	if err != nil {
		log.Fatal(err)
	}
}

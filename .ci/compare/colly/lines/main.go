// Command lines keeps the pages of a crawl as JSON lines.
package main

import (
	"encoding/json"
	"log"
	"os"
	"strings"

	"github.com/gocolly/colly/v2"
)

type row struct {
	URL    string `json:"url"`
	Status int    `json:"status"`
	Title  string `json:"title"`
}

func main() {
	f, err := os.OpenFile("items.jsonl", os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o666)
	if err != nil {
		log.Fatal(err)
	}
	defer f.Close()
	objects := json.NewEncoder(f)

	// With a cache, a collector that is restarted requests no page twice.
	c := colly.NewCollector(colly.AllowedDomains("shop.test"), colly.CacheDir("cache"), colly.ParseHTTPErrorResponse())
	c.IgnoreRobotsTxt = false
	c.OnHTML("html", func(e *colly.HTMLElement) {
		err := objects.Encode(row{e.Request.URL.String(), e.Response.StatusCode, strings.TrimSpace(e.ChildText("title"))})
		if err != nil {
			log.Fatal(err)
		}
	})
	c.OnHTML("a[href]", func(e *colly.HTMLElement) {
		e.Request.Visit(e.Attr("href"))
	})
	if err := c.Visit("http://shop.test/"); err != nil {
		log.Fatal(err)
	}
}

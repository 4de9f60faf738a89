// Command catalogue writes the books of a shop, links with rel=item, as CSV and JSON lines.
package main

import (
	"encoding/csv"
	"encoding/json"
	"log"
	"os"

	"github.com/gocolly/colly/v2"
)

type book struct {
	URL   string `json:"url"`
	Title string `json:"title"`
	Price string `json:"price,omitempty"`
}

func main() {
	table := open("books.csv")
	defer table.Close()
	lines := open("books.jsonl")
	defer lines.Close()
	rows, objects := csv.NewWriter(table), json.NewEncoder(lines)

	// With a cache, a collector that is restarted requests no page twice.
	c := colly.NewCollector(colly.AllowedDomains("shop.test"), colly.CacheDir("cache"))
	c.IgnoreRobotsTxt = false
	items := c.Clone()
	follow := func(e *colly.HTMLElement) {
		url := e.Request.AbsoluteURL(e.Attr("href"))
		if e.Attr("rel") == "item" {
			items.Visit(url)
		} else {
			c.Visit(url)
		}
	}
	c.OnHTML("a[href]", follow)
	items.OnHTML("a[href]", follow)
	items.OnHTML("html", func(e *colly.HTMLElement) {
		b := book{e.Request.URL.String(), e.ChildText("title"), e.ChildText(".price")}
		rows.Write([]string{b.URL, b.Title, b.Price})
		if rows.Flush(); rows.Error() != nil {
			log.Fatal(rows.Error())
		}
		if err := objects.Encode(b); err != nil {
			log.Fatal(err)
		}
	})
	if err := c.Visit("http://shop.test/"); err != nil {
		log.Fatal(err)
	}
}

func open(name string) *os.File {
	f, err := os.OpenFile(name, os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o666)
	if err != nil {
		log.Fatal(err)
	}
	return f
}

// Command linkcheck prints the broken links of a site.
package main

import (
	"fmt"
	"log"
	"os"

	"github.com/gocolly/colly/v2"
	"github.com/gocolly/colly/v2/extensions"
)

func main() {
	broken := 0
	c := colly.NewCollector(colly.AllowedDomains("shop.test"))
	c.IgnoreRobotsTxt = false
	extensions.Referer(c)
	c.OnError(func(r *colly.Response, err error) {
		broken++
		fmt.Printf("%s, on %s: %v\n", r.Request.URL, r.Request.Headers.Get("Referer"), err)
	})
	c.OnHTML("a[href]", func(e *colly.HTMLElement) {
		e.Request.Visit(e.Attr("href"))
	})
	if err := c.Visit("http://shop.test/"); err != nil {
		log.Fatal(err)
	}
	if broken > 0 {
		os.Exit(1)
	}
}

// Command colly follows all links of one site with colly and its default settings, on many
// goroutines. record.sh runs it within the module of crawlbench.
package main

import (
	"log"
	"net/url"
	"os"

	"github.com/gocolly/colly/v2"
)

func main() {
	seed, err := url.Parse(os.Args[1])
	if err != nil {
		log.Fatal(err)
	}
	c := colly.NewCollector(colly.Async(true), colly.AllowedDomains(seed.Hostname()))
	c.OnHTML("a[href]", func(e *colly.HTMLElement) {
		_ = e.Request.Visit(e.Attr("href")) // an error for a URL that was visited before
	})
	if err := c.Visit(seed.String()); err != nil {
		log.Fatal(err)
	}
	c.Wait()
}

// Command colly follows all links of one site with colly, as it is without settings, on as
// many goroutines as it takes. It is run by record.sh, within the module of crawlbench.
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
		_ = e.Request.Visit(e.Attr("href")) // what was visited is an error there
	})
	if err := c.Visit(seed.String()); err != nil {
		log.Fatal(err)
	}
	c.Wait()
}

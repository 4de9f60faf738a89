// Command sitemap lists the pages that a site's sitemap names, with their titles.
package main

import (
	"fmt"
	"log"

	"github.com/gocolly/colly/v2"
)

func main() {
	c := colly.NewCollector(colly.AllowedDomains("shop.test"))
	c.IgnoreRobotsTxt = false
	pages := c.Clone()
	c.OnXML("//urlset/url/loc", func(e *colly.XMLElement) {
		pages.Visit(e.Text)
	})
	pages.OnHTML("title", func(e *colly.HTMLElement) {
		fmt.Printf("%s\t%s\n", e.Request.URL, e.Text)
	})
	if err := c.Visit("http://shop.test/sitemap.xml"); err != nil {
		log.Fatal(err)
	}
}

// Command titles prints the titles of a site's pages.
package main

import (
	"fmt"
	"log"
	"strings"

	"github.com/gocolly/colly/v2"
)

func main() {
	c := colly.NewCollector(colly.AllowedDomains("shop.test"), colly.MaxRequests(50))
	c.IgnoreRobotsTxt = false
	c.OnHTML("title", func(e *colly.HTMLElement) {
		fmt.Println(e.Response.StatusCode, e.Request.URL, strings.TrimSpace(e.Text))
	})
	c.OnHTML("a[href]", func(e *colly.HTMLElement) {
		e.Request.Visit(e.Attr("href"))
	})
	if err := c.Visit("http://shop.test/"); err != nil {
		log.Fatal(err)
	}
}

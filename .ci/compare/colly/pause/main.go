// Command pause prints the titles of a site's pages, with the pause that its author has
// read in the site's robots.txt.
package main

import (
	"fmt"
	"log"
	"strings"
	"time"

	"github.com/gocolly/colly/v2"
)

func main() {
	c := colly.NewCollector(colly.AllowedDomains("shop.test"), colly.MaxRequests(50))
	c.IgnoreRobotsTxt = false
	if err := c.Limit(&colly.LimitRule{DomainGlob: "*", Parallelism: 1, Delay: 2 * time.Second}); err != nil {
		log.Fatal(err)
	}
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

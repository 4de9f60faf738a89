// Command canonical prints each page of a site once, even if its links add parameters to
// the URL.
package main

import (
	"fmt"
	"log"
	"net/url"
	"strings"

	"github.com/gocolly/colly/v2"
)

func main() {
	c := colly.NewCollector(colly.AllowedDomains("shop.test"), colly.MaxRequests(1000))
	c.IgnoreRobotsTxt = false
	c.OnHTML("html", func(e *colly.HTMLElement) {
		original := e.Request.AbsoluteURL(e.ChildAttr(`link[rel="canonical"]`, "href"))
		if original != "" && original != e.Request.URL.String() {
			e.Request.Visit(original)
		} else {
			fmt.Println(e.Request.URL)
		}
	})
	c.OnHTML("a[href]", func(e *colly.HTMLElement) {
		u, err := url.Parse(e.Request.AbsoluteURL(e.Attr("href")))
		if err != nil {
			return
		}
		query := u.Query()
		for name := range query {
			if strings.HasPrefix(name, "utm_") || name == "fbclid" || name == "gclid" {
				query.Del(name)
			}
		}
		u.RawQuery = query.Encode()
		u.Path = strings.TrimSuffix(u.Path, "index.html")
		e.Request.Visit(u.String())
	})
	if err := c.Visit("http://shop.test/"); err != nil {
		log.Fatal(err)
	}
}

// Command api prints the names of all items of a JSON API, page by page. If the site demands
// a pause, the command waits.
package main

import (
	"encoding/json"
	"fmt"
	"log"
	"strconv"
	"time"

	"github.com/gocolly/colly/v2"
)

func main() {
	c := colly.NewCollector()
	c.IgnoreRobotsTxt = false
	c.OnResponse(func(r *colly.Response) {
		var page struct {
			Items []struct{ Name string }
			Next  string
		}
		if err := json.Unmarshal(r.Body, &page); err != nil {
			log.Fatal(err)
		}
		for _, item := range page.Items {
			fmt.Println(item.Name)
		}
		if page.Next != "" {
			r.Request.Visit(page.Next)
		}
	})
	c.OnError(func(r *colly.Response, err error) {
		if r.StatusCode != 429 && r.StatusCode != 503 {
			log.Fatal(err)
		}
		seconds, _ := strconv.Atoi(r.Headers.Get("Retry-After"))
		time.Sleep(time.Duration(max(seconds, 1)) * time.Second)
		r.Request.Retry()
	})
	if err := c.Visit("http://shop.test/items"); err != nil {
		log.Fatal(err)
	}
}

// Command corpus writes the texts of sections of a site as JSON lines, for the training of a
// model. It leaves out pages with noai.
package main

import (
	"encoding/json"
	"log"
	"os"
	"regexp"
	"strings"
	"time"

	"github.com/gocolly/colly/v2"
)

type tag struct {
	Section string `json:"section"`
	Link    string `json:"link"`
}

type line struct {
	URL   string    `json:"url"`
	Title string    `json:"title"`
	Text  string    `json:"text"`
	Time  time.Time `json:"time"`
	Tag   tag       `json:"tag"`
}

func main() {
	f, err := os.OpenFile("items.jsonl", os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o666)
	if err != nil {
		log.Fatal(err)
	}
	defer f.Close()
	objects := json.NewEncoder(f)

	// With a cache, a collector that is restarted requests no page twice.
	c := colly.NewCollector(colly.CacheDir("cache"), colly.URLFilters(regexp.MustCompile(`^http://shop\.test/(docs/|news/|robots\.txt$)`)))
	c.IgnoreRobotsTxt = false
	c.OnHTML("html", func(e *colly.HTMLElement) {
		refused := e.ChildAttr("meta[name=robots]", "content") + "," + e.Response.Headers.Get("X-Robots-Tag")
		if !strings.Contains(refused, "noai") {
			l := line{URL: e.Request.URL.String(), Title: e.ChildText("title"), Time: time.Now().UTC()}
			l.Tag = tag{e.Response.Ctx.Get("section"), e.Response.Ctx.Get("link")}
			body := e.DOM.Find("body").Clone()
			body.Find("script, style, noscript, template, iframe").Remove()
			l.Text = strings.Join(strings.Fields(body.Text()), " ")
			if err := objects.Encode(l); err != nil {
				log.Fatal(err)
			}
		}
	})
	c.OnHTML("a[href]", func(e *colly.HTMLElement) {
		ctx := colly.NewContext()
		ctx.Put("section", e.Response.Ctx.Get("section"))
		ctx.Put("link", strings.TrimSpace(e.Text))
		c.Request("GET", e.Request.AbsoluteURL(e.Attr("href")), nil, ctx, nil)
	})
	for _, section := range []string{"docs", "news"} {
		ctx := colly.NewContext()
		ctx.Put("section", section)
		if err := c.Request("GET", "http://shop.test/"+section+"/", nil, ctx, nil); err != nil {
			log.Fatal(err)
		}
	}
}

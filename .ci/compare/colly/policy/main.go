// Command policy crawls a hundred pages of a news site: new articles first, then older ones,
// and archives last.
package main

import (
	"container/heap"
	"fmt"
	"log"
	"regexp"

	"github.com/gocolly/colly/v2"
)

type link struct{ url, day string }

// A queue has the newest link at its top.
type queue []link

func (q queue) Len() int           { return len(q) }
func (q queue) Less(i, j int) bool { return q[i].day > q[j].day }
func (q queue) Swap(i, j int)      { q[i], q[j] = q[j], q[i] }
func (q *queue) Push(x any)        { *q = append(*q, x.(link)) }
func (q *queue) Pop() any {
	last := (*q)[len(*q)-1]
	*q = (*q)[:len(*q)-1]
	return last
}

var (
	dated   = regexp.MustCompile(`/(\d{4})[/-](\d\d)[/-](\d\d)\b`)
	archive = regexp.MustCompile(`(?i)\b(archives?|older|previous)\b`)
)

func main() {
	c := colly.NewCollector(colly.AllowedDomains("shop.test"), colly.MaxRequests(100))
	c.IgnoreRobotsTxt = false
	q := &queue{}
	known := map[string]bool{}
	day := "9999" // of the page that is requested: main pages come first
	c.OnHTML("html", func(e *colly.HTMLElement) {
		fmt.Println(e.Request.URL, e.ChildText("title"))
		if shown := e.ChildAttr("time", "datetime"); len(shown) >= 10 {
			day = shown[:10]
		}
		e.ForEach("a[href]", func(_ int, a *colly.HTMLElement) {
			l := link{e.Request.AbsoluteURL(a.Attr("href")), day}
			if m := dated.FindStringSubmatch(l.url); m != nil {
				l.day = m[1] + "-" + m[2] + "-" + m[3]
			}
			if archive.MatchString(a.Text) {
				l.day = ""
			}
			if !known[l.url] {
				known[l.url] = true
				heap.Push(q, l)
			}
		})
	})
	if err := c.Visit("http://shop.test/"); err != nil {
		log.Fatal(err)
	}
	for q.Len() > 0 {
		l := heap.Pop(q).(link)
		day = l.day
		c.Visit(l.url)
	}
}

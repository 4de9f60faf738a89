// Command focused crawls pages about a topic, the most promising links first.
package main

import (
	"container/heap"
	"fmt"
	"log"
	"os"
	"strings"

	"github.com/gocolly/colly/v2"
)

type link struct {
	url  string
	rank int
}

// A queue has the best link at its top.
type queue []link

func (q queue) Len() int           { return len(q) }
func (q queue) Less(i, j int) bool { return q[i].rank > q[j].rank }
func (q queue) Swap(i, j int)      { q[i], q[j] = q[j], q[i] }
func (q *queue) Push(x any)        { *q = append(*q, x.(link)) }
func (q *queue) Pop() any {
	last := (*q)[len(*q)-1]
	*q = (*q)[:len(*q)-1]
	return last
}

func main() {
	words := os.Args[1:]
	c := colly.NewCollector(colly.AllowedDomains("shop.test"), colly.MaxRequests(100))
	c.IgnoreRobotsTxt = false
	q := &queue{{url: "http://shop.test/"}}
	known := map[string]bool{}
	c.OnHTML("html", func(e *colly.HTMLElement) {
		score := count(string(e.Response.Body), words)
		fmt.Println(score, e.Request.URL, e.ChildText("title"))
		e.ForEach("a[href]", func(_ int, a *colly.HTMLElement) {
			url := e.Request.AbsoluteURL(a.Attr("href"))
			if known[url] {
				return
			}
			known[url] = true
			heap.Push(q, link{url, 20*count(url, words) + score})
		})
	})
	if err := c.Visit(heap.Pop(q).(link).url); err != nil {
		log.Fatal(err)
	}
	for q.Len() > 0 {
		c.Visit(heap.Pop(q).(link).url)
	}
}

func count(text string, words []string) (n int) {
	for _, w := range words {
		n += strings.Count(strings.ToLower(text), strings.ToLower(w))
	}
	return n
}

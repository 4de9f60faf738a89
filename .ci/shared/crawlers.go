// Crawlers runs five crawls of the same seeds in one process. They share the clocks of the
// process, or those of the machine.
//
//	crawlers process|machine DIR PROXY SEED...
//
// Their directories are DIR1 to DIR5, their names bota to bote. An empty PROXY means no
// proxy.
package main

import (
	"context"
	"fmt"
	"log"
	"os"
	"sync"
	"time"

	"github.com/permesso-crawler/permesso/crawler"
	"github.com/permesso-crawler/permesso/fetch"
	"github.com/permesso-crawler/permesso/storage/machine"
)

func main() {
	log.SetFlags(0)
	o := crawler.Options{Seeds: os.Args[4:], Pace: crawler.Pace{Delay: 300 * time.Millisecond}, Wire: crawler.Wire{AllowPrivate: true}}
	if os.Args[1] == "machine" {
		path, err := machine.DefaultPath()
		check(err)
		table, err := machine.Open(path)
		check(err)
		defer table.Close()
		o.Shared = table
	}
	if os.Args[3] != "" {
		var err error
		o.Proxy, err = fetch.ParseProxy(os.Args[3])
		check(err)
	}
	var all sync.WaitGroup
	for i := 1; i <= 5; i++ {
		o.Dir = fmt.Sprint(os.Args[2], i)
		o.Identity = crawler.Identity{Token: "bot" + string(rune('a'+i-1)), Contact: "mailto:ci@example.org"}
		c, err := crawler.New(o)
		check(err)
		// It ends with the crawl, before main does.
		all.Go(func() { check(c.Run(context.Background(), nil)) })
	}
	all.Wait()
}

func check(err error) {
	if err != nil {
		log.Fatal(err)
	}
}

// Command ownfetcher crawls a site with a client of net/http that has its own dialer.
package main

import (
	"context"
	"fmt"
	"log"
	"net"
	"net/http"
	"sync"

	"github.com/gocolly/colly/v2"
)

func main() {
	c := colly.NewCollector(colly.AllowedDomains("shop.test"), colly.MaxRequests(100))
	c.IgnoreRobotsTxt = false
	c.WithTransport(&http.Transport{DialContext: dial})
	c.OnResponse(func(r *colly.Response) {
		fmt.Println(r.Request.URL, r.StatusCode)
	})
	c.OnError(func(r *colly.Response, err error) {
		fmt.Println(r.Request.URL, r.StatusCode, err)
	})
	c.OnHTML("a[href]", func(e *colly.HTMLElement) {
		e.Request.Visit(e.Attr("href"))
	})
	if err := c.Visit("http://shop.test/"); err != nil {
		log.Fatal(err)
	}
}

var addresses sync.Map // by host

// dial connects to the same address of a host in the whole run.
func dial(ctx context.Context, network, address string) (net.Conn, error) {
	host, port, err := net.SplitHostPort(address)
	if err != nil {
		return nil, err
	}
	known, ok := addresses.Load(host)
	if !ok {
		found, err := net.DefaultResolver.LookupHost(ctx, host)
		if err != nil {
			return nil, err
		}
		known, _ = addresses.LoadOrStore(host, found[0])
	}
	return new(net.Dialer).DialContext(ctx, network, net.JoinHostPort(known.(string), port))
}

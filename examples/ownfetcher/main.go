// Command ownfetcher crawls sites with package frontier and a fetcher of its own, a client of
// net/http. Package frontier decides which URL is requested next, and when.
//
//	go run ./examples/ownfetcher https://example.org/ https://example.com/
//
// The fetcher is stricter than RFC 9309 in one point: a site whose robots.txt redirects gets no
// other request. Queue and clocks are in memory, so nothing survives a kill.
package main

import (
	"context"
	"fmt"
	"log"
	"net"
	"net/http"
	"net/netip"
	"os"
	"sync"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/permesso-crawler/permesso/frontier"
	"github.com/permesso-crawler/permesso/robots"
)

func main() {
	if len(os.Args) < 2 {
		log.Fatal("usage: ownfetcher URL...")
	}
	c := newCrawl("ownbot", net.DefaultResolver.LookupNetIP, func(e frontier.Entry, f frontier.Fate) {
		fmt.Println(e.URL, f.Code, f.Status, f.Detail)
	})
	c.client.Transport = &http.Transport{DialContext: c.dial}
	if err := c.run(context.Background(), frontier.Options{Limit: 100}, os.Args[1:]); err != nil {
		log.Fatal(err)
	}
}

type crawl struct {
	policy robots.Policy
	client http.Client
	lookup func(ctx context.Context, network, host string) ([]netip.Addr, error)
	addrs  sync.Map // netip.Addr by host
	rules  sync.Map // *robots.Snapshot by frontier.Site; only the turn of a site uses its snapshot
	tell   func(frontier.Entry, frontier.Fate)
}

func newCrawl(token string, lookup func(context.Context, string, string) ([]netip.Addr, error), tell func(frontier.Entry, frontier.Fate)) *crawl {
	c := &crawl{policy: robots.Policy{Token: token}, lookup: lookup, tell: tell}
	c.client.Timeout = 30 * time.Second
	c.client.CheckRedirect = func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse } // each request needs a turn
	return c
}

// run requests the seeds, and what they link to on their sites. It calls tell for each URL that
// has ended, several at the same time.
func (c *crawl) run(ctx context.Context, opts frontier.Options, seeds []string) error {
	f, err := frontier.New(frontier.NewMemory(), opts)
	if err != nil {
		return err
	}
	for _, seed := range seeds {
		u, err := frontier.ParseURL(seed)
		if err != nil {
			return err
		}
		if err := f.Add(frontier.Entry{URL: u}); err != nil {
			return err
		}
	}
	group, ctx := errgroup.WithContext(ctx)
	for range 8 {
		// These goroutines visit several sites at a time. They end with the run of the frontier.
		group.Go(func() error { return c.work(ctx, f) })
	}
	return group.Wait()
}

// work visits URLs until none is left.
func (c *crawl) work(ctx context.Context, f *frontier.Frontier) error {
	for {
		turn, err := f.Next(ctx)
		if err == frontier.ErrEnd {
			return nil
		}
		if err != nil {
			return err // for instance frontier.ErrLimit, or ErrUnasked if a site did not answer
		}
		p, outcome := c.visit(ctx, turn)
		outcome.Hold = true
		fate, err := turn.Finish(outcome) // from now on the site may be due again
		if err == nil && turn.Held() {
			c.tell(turn.Entry(), fate)
			err = turn.Done(c.links(p, turn.Entry())...)
		}
		if err != nil {
			return err
		}
	}
}

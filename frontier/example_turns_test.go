package frontier_test

import (
	"context"
	"errors"
	"fmt"
	"log"
	"net/netip"
	"time"

	"github.com/permesso-crawler/permesso/frontier"
)

// queueOf returns a frontier without pauses, and its backlog, which has queued the given URLs.
func queueOf(urls ...string) (*frontier.Frontier, frontier.Memory) {
	backlog := frontier.NewMemory()
	f, err := frontier.New(backlog, frontier.Options{Delay: -1, Patience: -1})
	if err != nil {
		log.Fatal(err)
	}
	for _, raw := range urls {
		u, err := frontier.ParseURL(raw)
		if err != nil {
			log.Fatal(err)
		}
		if err := f.Add(frontier.Entry{URL: u}); err != nil {
			log.Fatal(err)
		}
	}
	return f, backlog
}

// answered returns the outcome of a request that is answered at once.
func answered() frontier.Outcome {
	now := time.Now()
	return frontier.Outcome{
		Request: &frontier.Request{Started: now, FirstByte: now, Ended: now, Bytes: 100},
		Fate:    frontier.Fate{Code: frontier.Fetched, Status: 200},
	}
}

// The steps of a request are the address (Bind), the pause that robots.txt sets (Pace), the bytes
// (Received) and the end (Finish). If Bind or Pace returns a *NotYet, no request is made, and the
// entry is handed out again.
func ExampleTurn() {
	f, _ := queueOf("https://example.org/")
	turn, err := f.Next(context.Background())
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(turn.Site(), turn.Entry().URL.Target(), turn.Rested().IsZero())
	err = turn.Bind(netip.MustParseAddr("127.0.0.1"), false)
	if err == nil {
		err = turn.Pace(frontier.Gap{For: 10 * time.Second, By: frontier.CrawlDelayClock})
	}
	var notYet *frontier.NotYet
	if errors.As(err, &notYet) {
		_, err = turn.Finish(frontier.Outcome{Again: true})
		fmt.Println("later, because of", notYet.By, err)
		return
	}
	fmt.Println(turn.Asked().By == frontier.NoClock, turn.Due().After(time.Now()), turn.First().IsZero())
	if turn.Received(100) <= 0 {
		fmt.Println("the budget is spent: cut the answer here")
	}
	fate, err := turn.Finish(answered())
	fmt.Println(fate.Code, err)
	// Output:
	// https://example.org / true
	// true false false
	// fetched <nil>
}

// With Hold, Finish ends the request, so that the site can have its next turn. Done ends the entry
// later, and queues the links of its page.
func ExampleTurn_Done() {
	f, backlog := queueOf("https://example.org/")
	turn, err := f.Next(context.Background())
	if err != nil {
		log.Fatal(err)
	}
	outcome := answered()
	outcome.Hold = true
	if _, err := turn.Finish(outcome); err != nil {
		log.Fatal(err)
	}
	fmt.Println(turn.Held())
	link, err := turn.Entry().URL.Resolve("/a") // a slow handler has found this link
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(turn.Done(turn.Entry().Found(link, frontier.HopLink)))
	for e, err := range backlog.Queued(turn.Site()) {
		fmt.Println(e.URL, e.Depth, err)
	}
	// Output:
	// true
	// <nil>
	// https://example.org/a 1 <nil>
}

// The robots.txt of a site redirects to another site, which needs a turn of its own.
func ExampleTurn_Hop() {
	f, _ := queueOf("http://example.org/")
	turn, err := f.Next(context.Background())
	if err != nil {
		log.Fatal(err)
	}
	other, err := turn.Hop("https://example.org")
	var notYet *frontier.NotYet
	switch {
	case errors.As(err, &notYet):
		_, err = turn.Finish(frontier.Outcome{Again: true}) // the entry is handed out again when the other site is due
	case err == nil:
		fmt.Println(other.Site())
		if _, err = other.Finish(answered()); err == nil {
			turn.Forgo() // the turn needs no further site
			_, err = turn.Finish(answered())
		}
	}
	fmt.Println(err)
	// Output:
	// https://example.org
	// <nil>
}

// While a crawl runs, a program can show its state and change its limits and pauses.
func ExampleFrontier_Stats() {
	f, _ := queueOf("https://a.example/", "https://b.example/", "https://c.example/")
	if err := f.Exclude("b.example", "its owner wrote to us"); err != nil {
		log.Fatal(err)
	}
	if err := f.Slow("", time.Minute); err != nil {
		log.Fatal(err)
	}
	fmt.Println(f.Slow("c.example", time.Second)) // Slow never shortens a pause
	if err := f.Allow(func(l *frontier.Limits) { l.Pages = 1000 }); err != nil {
		log.Fatal(err)
	}
	f.Settle(context.Background()) // after Settle the numbers are exact
	stats := f.Stats()
	fmt.Println(stats.Entries, stats.Sites, stats.Polite.Early)
	if s, ok := f.Status("https://b.example"); ok {
		fmt.Println(s.Site, s.Left(), s.Excluded)
	}
	sites := 0
	for range f.Sites() {
		sites++
	}
	_, waits := f.Longest(time.Now())
	fmt.Println(sites, waits)
	f.Stop()
	// Output:
	// frontier: c.example has a pause of 1m0s already, 1s would be shorter
	// 3 3 0
	// https://b.example 1 its owner wrote to us
	// 3 false
}

// A run does not end while entries are held. Idle tells a program that waits for more entries
// before it calls Done that no more will come.
func ExampleFrontier_Idle() {
	f, _ := queueOf("https://example.org/")
	turn, err := f.Next(context.Background())
	if err != nil {
		log.Fatal(err)
	}
	outcome := answered()
	outcome.Hold = true
	if _, err := turn.Finish(outcome); err != nil {
		log.Fatal(err)
	}
	next := make(chan error)
	go func() { // this goroutine ends after Done
		_, err := f.Next(context.Background())
		next <- err
	}()
	<-f.Idle()
	fmt.Println("only held entries are left")
	fmt.Println(turn.Done(), <-next)
	// Output:
	// only held entries are left
	// <nil> frontier: nothing is left to request
}

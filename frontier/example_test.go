package frontier_test

import (
	"context"
	"fmt"
	"time"

	"github.com/permesso-crawler/permesso/frontier"
)

func ExampleParseURL() {
	u, err := frontier.ParseURL("HTTP://Example.org:80/a/../%7Eb?q=1#top")
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println(u)
	fmt.Println(u.Key())
	fmt.Println(u.Site(), u.Target())
	// Output:
	// http://example.org/%7Eb?q=1
	// http://example.org/~b?q=1
	// http://example.org /%7Eb?q=1
}

func ExampleURL_Resolve() {
	u, err := frontier.ParseURL("https://example.org/docs/intro")
	if err != nil {
		fmt.Println(err)
		return
	}
	next, err := u.Resolve("../about?lang=en")
	fmt.Println(next, err)
	// Output: https://example.org/about?lang=en <nil>
}

// Next returns a turn, which is used for one request and ended by Finish.
func ExampleFrontier() {
	f, err := frontier.New(frontier.NewMemory(), frontier.Options{Delay: -1, Patience: -1})
	if err != nil {
		fmt.Println(err)
		return
	}
	u, err := frontier.ParseURL("https://example.org/")
	if err != nil {
		fmt.Println(err)
		return
	}
	if err := f.Add(frontier.Entry{URL: u}); err != nil {
		fmt.Println(err)
		return
	}
	for {
		turn, err := f.Next(context.Background())
		if err != nil {
			fmt.Println(err)
			return
		}
		now := time.Now()
		fate, err := turn.Finish(frontier.Outcome{
			Request: &frontier.Request{Started: now, FirstByte: now, Ended: now},
			Fate:    frontier.Fate{Code: frontier.Fetched, Status: 200},
		})
		fmt.Println(turn.Entry().URL, fate.Code, err)
	}
	// Output:
	// https://example.org/ fetched <nil>
	// frontier: nothing is left to request
}

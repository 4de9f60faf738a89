package fetch_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log"
	"net/http"
	"time"

	"github.com/permesso-crawler/permesso/fetch"
)

// A program that makes only a few requests needs no crawler. Each request waits for its turn.
func ExampleClient() {
	client, err := fetch.NewClient(fetch.ClientOptions{Token: "feedbot", Contact: "https://example.org/feedbot"})
	if err != nil {
		log.Fatal(err)
	}
	defer client.Close()
	resp, err := client.Get(context.Background(), "https://example.org/feed.xml")
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(resp.Status, resp.Header.Get("Content-Type"), len(resp.Body), "bytes from", resp.URL)
}

// Get returns a *RefusedError or a *NotYetError if the request must not be made, or not yet.
func ExampleClient_Get() {
	client, err := fetch.NewClient(fetch.ClientOptions{
		Token: "feedbot", Contact: "https://example.org/feedbot",
		Delay: 5 * time.Second,
		Dir:   "feedbot.state", // keeps the pauses for the next process of this program
	})
	if err != nil {
		log.Fatal(err)
	}
	defer client.Close()
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	_, err = client.Get(ctx, "https://example.org/feed.xml")
	var refused *fetch.RefusedError
	var later *fetch.NotYetError
	switch {
	case errors.As(err, &refused):
		fmt.Println("never:", refused.Detail) // the rule of robots.txt with its line
	case errors.As(err, &later):
		fmt.Println("not before", later.Until, "because of", later.By)
	case err != nil:
		log.Fatal(err)
	}
}

// A Client can be the transport of an http.Client. It makes the requests of an existing program
// polite.
func ExampleClient_RoundTrip() {
	client, err := fetch.NewClient(fetch.ClientOptions{Token: "feedbot", Contact: "https://example.org/feedbot"})
	if err != nil {
		log.Fatal(err)
	}
	defer client.Close()
	polite := &http.Client{Transport: client}
	resp, err := polite.Get("https://example.org/feed.xml")
	if err != nil {
		log.Fatal(err)
	}
	defer resp.Body.Close()
	body, err := io.ReadAll(resp.Body)
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(resp.Status, len(body))
}

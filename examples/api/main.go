// Command api prints the names of all items of a JSON API, page by page, at the pace that the
// site asks for.
//
//	go run ./examples/api https://api.example.org/items
package main

import (
	"context"
	"encoding/json"
	"fmt"
	"log"
	"os"

	"github.com/permesso-crawler/permesso/fetch"
	"github.com/permesso-crawler/permesso/frontier"
)

func main() {
	if len(os.Args) != 2 {
		log.Fatal("usage: api URL")
	}
	client, err := fetch.NewClient(fetch.ClientOptions{
		Token: "itembot", Contact: "https://example.org/itembot", Patience: frontier.Forever,
	})
	if err != nil {
		log.Fatal(err)
	}
	defer client.Close()
	err = items(context.Background(), client, os.Args[1], func(name string) { fmt.Println(name) })
	if err != nil {
		log.Fatal(err)
	}
}

// items calls tell for each item. An answer has the items of a page, and the URL of the next
// page, which may be relative.
func items(ctx context.Context, client *fetch.Client, url string, tell func(name string)) error {
	for url != "" {
		resp, err := patiently(ctx, client, url)
		if err != nil {
			return err
		}
		var page struct {
			Items []struct{ Name string }
			Next  string
		}
		if err := json.Unmarshal(resp.Body, &page); err != nil {
			return fmt.Errorf("%s: status %d: %w", url, resp.Status, err)
		}
		for _, item := range page.Items {
			tell(item.Name)
		}
		url = ""
		if page.Next != "" {
			next, err := resp.URL.Resolve(page.Next)
			if err != nil {
				return err
			}
			url = next.String()
		}
	}
	return nil
}

// patiently requests url. If the answer is 429 or 503, with or without Retry-After, the site
// demands a pause: patiently requests url again, and the client, which has no limit of its
// patience, waits for the end of the pause.
func patiently(ctx context.Context, client *fetch.Client, url string) (*fetch.Response, error) {
	for {
		resp, err := client.Get(ctx, url)
		if err != nil || resp.Status != 429 && resp.Status != 503 {
			return resp, err
		}
	}
}

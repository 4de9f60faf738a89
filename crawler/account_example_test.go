package crawler_test

import (
	"fmt"
	"log"
	"time"

	"github.com/permesso-crawler/permesso/frontier"
	"github.com/permesso-crawler/permesso/internal/account"
	"github.com/permesso-crawler/permesso/internal/store"
)

// After the crawl has ended, Account.Explain gives the reason why a URL was not fetched.
func ExampleAccount_Explain() {
	const dir = "news.crawl"
	r, err := store.OpenReader(dir)
	if err != nil {
		log.Fatal(err)
	}
	defer r.Close()
	account, err := account.New(&r.Records, time.Now())
	if err != nil {
		log.Fatal(err)
	}
	u, err := frontier.ParseURL("https://example.org/private/x")
	if err != nil {
		log.Fatal(err)
	}
	x, err := account.Explain(u)
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(x.Code, x.Reason)
	for _, step := range x.Found {
		fmt.Println("found by way of", step.URL)
	}
	if x.Robots != nil {
		fmt.Println(x.Robots.Verdict.Rule, "in the robots.txt of", x.Robots.Fetched)
	}
}

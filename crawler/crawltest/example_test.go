package crawltest_test

import (
	"context"
	"fmt"
	"log"
	"net/http"
	"testing"

	"github.com/permesso-crawler/permesso/crawler"
	"github.com/permesso-crawler/permesso/crawler/crawltest"
)

// ofATest replaces the *testing.T of a test, because an example has none.
type ofATest struct {
	testing.TB
	end func()
}

func (*ofATest) Helper()            {}
func (t *ofATest) Cleanup(f func()) { t.end = f }

// This example runs a job against a web in memory. Inside testing/synctest the job takes no
// time, even with long pauses.
func ExampleNew() {
	t := &ofATest{} // a test has a *testing.T here
	w := crawltest.New(t)
	defer t.end()
	w.Site("http://a.example").Addr("127.0.0.1").
		Robots("User-agent: *\nDisallow: /private/").
		Page("/", `<a href="/about">about</a> <a href="/private/x">private</a>`).
		Page("/about", "<title>About</title>")
	c, err := crawler.New(crawler.Options{
		Identity: crawler.Identity{Token: "mybot", Contact: "https://example.org/mybot"},
		Seeds:    []string{"http://a.example/"},
		Wire:     crawler.Wire{Network: w, AllowPrivate: true}, Pace: crawler.Pace{Delay: crawler.NoDelay}, // needed because the example runs outside of testing/synctest
	})
	if err != nil {
		log.Fatal(err)
	}
	if err := c.Run(context.Background(), nil); err != nil {
		log.Fatal(err)
	}
	w.AssertPolite()
	w.AssertNeverFetched("http://a.example/private/x")
	for _, r := range w.Log() {
		fmt.Println(r.URL(), r.Status)
	}
	// Output:
	// http://a.example/robots.txt 200
	// http://a.example/ 200
	// http://a.example/about 200
}

// This example tests a handler alone, with a page that was not fetched.
func ExamplePage() {
	t := &ofATest{} // a test has a *testing.T here
	handler := crawler.HandlerFunc(func(_ context.Context, p *crawler.Page) error {
		return p.FollowTag("/item/1", "item")
	})
	p := crawltest.Page(t, "https://a.example/list", "<title>List</title>")
	if err := handler.Handle(context.Background(), p); err != nil {
		log.Fatal(err)
	}
	for _, e := range p.Followed() {
		fmt.Println(p.Title(), e.URL, e.Tag)
	}
	// Output: List https://a.example/item/1 item
}

// Answer makes pages with other statuses and types than those of Page.
func ExampleAnswer() {
	t := &ofATest{} // a test has a *testing.T here
	p := crawltest.Answer(t, "https://a.example/old", http.StatusFound, http.Header{"Location": {"/new"}}, "")
	fmt.Println(p.Status, p.Location)
	// Output: 302 https://a.example/new
}

package extract_test

import (
	"fmt"

	"github.com/permesso-crawler/permesso/crawler/extract"
	"github.com/permesso-crawler/permesso/frontier"
)

func ExampleHTML() {
	u, err := frontier.ParseURL("https://example.org/docs/")
	if err != nil {
		fmt.Println(err)
		return
	}
	const page = `<title>Docs</title><a href="intro">Intro</a> <a rel="nofollow" href="/ads">Ads</a>`
	d := extract.HTML([]byte(page), u, "text/html", extract.Options{Token: "titlebot"})
	fmt.Println(d.Title)
	for _, l := range d.Links {
		fmt.Println(l.URL, l.Where, l.NoFollow)
	}
	// Output:
	// Docs
	// https://example.org/docs/intro a/href false
	// https://example.org/ads a/href true
}

package extract_test

import (
	"fmt"
	"strings"

	"github.com/permesso-crawler/permesso/crawler/extract"
	"github.com/permesso-crawler/permesso/frontier"
)

func ExampleCSS() {
	u, err := frontier.ParseURL("https://example.org/css/main.css")
	if err != nil {
		fmt.Println(err)
		return
	}
	const sheet = `@import "reset.css"; /* url(no) */ body { background: url( '../img/sky\20 blue.png' ) }`
	for _, l := range extract.CSS([]byte(sheet), u, extract.Options{}).Links {
		fmt.Println(l.Where, l.URL)
	}
	// Output:
	// css/@import https://example.org/css/reset.css
	// css/url https://example.org/img/sky%20blue.png
}

func ExampleSitemap() {
	u, err := frontier.ParseURL("https://example.org/sitemap.xml")
	if err != nil {
		fmt.Println(err)
		return
	}
	const sitemap = `<urlset xmlns="http://www.sitemaps.org/schemas/sitemap/0.9">
		<url><loc>https://example.org/?a=1&amp;b=2</loc><lastmod>2005-01</lastmod></url>
		<url><loc>https://example.org/news</loc><changefreq>daily</changefreq><priority>0.8</priority></url>`
	for e, err := range extract.Sitemap(strings.NewReader(sitemap), u) {
		if err != nil {
			fmt.Println(err)
			break
		}
		fmt.Println(e.URL, e.LastMod.Year(), e.ChangeFreq, e.Priority)
	}
	// Output:
	// https://example.org/?a=1&b=2 2005  0.5
	// https://example.org/news 1 daily 0.8
	// sitemap https://example.org/sitemap.xml, after 2 entries: it ends without </urlset>: unexpected EOF
}

func ExampleFeed() {
	u, err := frontier.ParseURL("https://example.org/feed")
	if err != nil {
		fmt.Println(err)
		return
	}
	const feed = `<rss><channel><title>News</title><item><link>/1</link><comments>https://example.org/1#talk</comments></item></channel></rss>`
	d := extract.Feed([]byte(feed), u, "application/rss+xml", extract.Options{})
	fmt.Println(d.Title)
	for _, l := range d.Links {
		fmt.Println(l.Where, l.URL)
	}
	// Output:
	// News
	// item/link https://example.org/1
	// item/comments https://example.org/1
}

func ExampleLinkHeader() {
	u, err := frontier.ParseURL("https://example.org/list?page=2")
	if err != nil {
		fmt.Println(err)
		return
	}
	fields := []string{`<?page=3>; rel="next"; title="more, please", <?page=1>; rel=prev`, `</about>; rel=author; anchor="/other"`}
	for _, l := range extract.LinkHeader(fields, u, extract.Options{}) {
		fmt.Println(l.Rel, l.URL)
	}
	// Output:
	// next https://example.org/list?page=3
	// prev https://example.org/list?page=1
}

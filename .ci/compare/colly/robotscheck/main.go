// Command robotscheck prints for each URL of a list whether robots.txt allows a crawler to
// request it, with the parser that colly uses.
package main

import (
	"bufio"
	"fmt"
	"log"
	"net/url"
	"os"
	"path/filepath"

	"github.com/temoto/robotstxt"
)

func main() {
	token, dir := "examplebot", "sites"
	groups := map[string]*robotstxt.Group{} // by host
	urls := bufio.NewScanner(os.Stdin)
	for urls.Scan() {
		u, err := url.Parse(urls.Text())
		if err != nil {
			log.Fatal(err)
		}
		if groups[u.Host] == nil {
			body, err := os.ReadFile(filepath.Join(dir, u.Scheme, u.Host, "robots.txt"))
			if err != nil {
				log.Fatal(err)
			}
			data, err := robotstxt.FromBytes(body)
			if err != nil {
				log.Fatal(err)
			}
			groups[u.Host] = data.FindGroup(token)
		}
		verdict := "disallow"
		if groups[u.Host].Test(u.RequestURI()) {
			verdict = "allow"
		}
		fmt.Println(verdict, u)
	}
	if err := urls.Err(); err != nil {
		log.Fatal(err)
	}
}

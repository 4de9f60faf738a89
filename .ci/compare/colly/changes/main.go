// Command changes prints which pages of a sitemap are new, modified or gone since the last run.
package main

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"log"
	"os"
	"strings"

	"github.com/gocolly/colly/v2"
)

func main() {
	before, now := map[string]string{}, map[string]string{} // digests of texts, by URL
	raw, err := os.ReadFile("changes.json")
	if err == nil {
		err = json.Unmarshal(raw, &before)
	}
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		log.Fatal(err)
	}

	c := colly.NewCollector(colly.AllowedDomains("shop.test"))
	c.IgnoreRobotsTxt = false
	pages := c.Clone()
	c.OnXML("//urlset/url/loc", func(e *colly.XMLElement) {
		pages.Visit(e.Text)
	})
	pages.OnHTML("body", func(e *colly.HTMLElement) {
		e.DOM.Find("script, style").Remove()
		sum := sha256.Sum256([]byte(strings.Join(strings.Fields(e.DOM.Text()), " ")))
		url, digest := e.Request.URL.String(), hex.EncodeToString(sum[:])
		now[url] = digest
		switch before[url] {
		case digest:
		case "":
			fmt.Println("new", url)
		default:
			fmt.Println("modified", url)
		}
	})
	if err := c.Visit("http://shop.test/sitemap.xml"); err != nil {
		log.Fatal(err)
	}
	for url := range before {
		if now[url] == "" {
			fmt.Println("gone", url)
		}
	}

	if raw, err = json.Marshal(now); err == nil {
		err = os.WriteFile("changes.json", raw, 0o644)
	}
	if err != nil {
		log.Fatal(err)
	}
}

// Command sitesettings crawls sites, some of them with their own settings.
//
//	go run ./examples/sitesettings sites.json https://slow.example/ https://mine.example/
//
// The file has settings by host, or by site:
//
//	{
//	  "slow.example": {"delay": "10s", "pages": 100},
//	  "https://mine.example": {"robots-forbidden": "allow", "reason": "it is ours"}
//	}
//
// A delay can only make the pause of a site longer. If a setting allows more requests to a site
// than to other sites, it needs a reason. Without the reason it is an error, and no request is
// sent.
package main

import (
	"context"
	"encoding/json"
	"fmt"
	"log"
	"os"
	"time"

	"github.com/permesso-crawler/permesso/crawler"
)

func main() {
	if len(os.Args) < 3 {
		log.Fatal("usage: sitesettings FILE URL...")
	}
	file, err := os.ReadFile(os.Args[1])
	if err != nil {
		log.Fatal(err)
	}
	err = run(context.Background(), crawler.Options{
		Identity: crawler.Identity{Token: "titlebot", Contact: "https://example.org/titlebot"},
		Seeds:    os.Args[2:],
	}, file, func(p *crawler.Page) { fmt.Println(p.URL, p.Title()) })
	if err != nil {
		log.Fatal(err)
	}
}

// A row has the settings of one host or site in the file.
type row struct {
	Delay  string `json:"delay"`
	Pages  int    `json:"pages"`
	Robots string `json:"robots-forbidden"`
	Reason string `json:"reason"`
}

// run crawls with the settings in file, and calls tell for each page.
func run(ctx context.Context, opts crawler.Options, file []byte, tell func(*crawler.Page)) error {
	var rows map[string]row
	if err := json.Unmarshal(file, &rows); err != nil {
		return err
	}
	table := map[string]crawler.SiteOptions{}
	for key, r := range rows {
		o := crawler.SiteOptions{MaxPages: r.Pages, AllowForbidden: r.Robots == "allow", Reason: r.Reason}
		if r.Delay != "" {
			var err error
			if o.Delay, err = time.ParseDuration(r.Delay); err != nil {
				return fmt.Errorf("%s: delay: %w", key, err)
			}
		}
		if err := opts.CheckSite(o); err != nil {
			return fmt.Errorf("%s: %w", key, err)
		}
		table[key] = o
	}
	var err error
	if opts.Site, err = crawler.SitesByHost(table); err != nil {
		return err
	}
	c, err := crawler.New(opts)
	if err != nil {
		return err
	}
	return c.Run(ctx, crawler.HandlerFunc(func(_ context.Context, p *crawler.Page) error {
		tell(p)
		return nil
	}))
}
